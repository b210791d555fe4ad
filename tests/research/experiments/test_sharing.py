"""What cells of a seed share changes none of their results."""

import gc
import weakref

import numpy as np
import pytest

from tupi.algorithm.trajectory import Trajectory
from tupi.embedding.embedding import EmbeddingOptions, gaussian_features
from tupi.inputs.problem import make_problem
from tupi.methods.coconut import Coconut
from tupi.methods.graph_ssl import GraphSSL
from tupi.methods.tupi import Tupi
from tupi.research.experiments import sharing
from tupi.research.experiments.accuracy import Accuracy
from tupi.research.experiments.protocol import make_trial
from tupi.research.experiments.readings import Readings, TupiWithGrid
from tupi.research.experiments.runner import by_seed, missing, run
from tupi.research.experiments.sharing import Common, Latest, Sharing
from tupi.research.experiments.table2 import Table2

FEW = Tupi(lam=0.4, sigma_w2=0.3, n_iter=3, rank=20)
GRID = TupiWithGrid(lams=(0.1, 0.4), widths=(0.3,), rank=20)


@pytest.fixture
def experiments(protocol):
    return [
        Table2(protocol, methods=(("published", FEW), ("discount", Tupi(n_iter=2, discount=True))), copies=(2,)),
        Readings(protocol, methods=(("grid", GRID), ("patient", Tupi(rank=20, lam=0.4, sigma_w2=0.3, patience=50))),
                 coconuts=(("tuned", Coconut(lam=1.0)),)),
    ]  # fmt: skip


def test_cells_have_the_same_results_alone_as_after_others(mfeat, store, experiments, tmp_path, monkeypatch):
    run(experiments, store, ["mfeat"], [0], 1)
    for experiment in experiments:
        for cell in experiment.cells(["mfeat"], [0])[1:3]:
            monkeypatch.setattr("tupi.research.experiments.protocol.LATEST", Latest())  # as in a new process
            alone = experiment.compute(cell, store)
            kept = store.read(cell, experiment.settings("mfeat"))["result"]
            assert alone["accuracy"] == pytest.approx(kept["accuracy"], abs=1e-9)


def test_the_cells_of_a_seed_are_computed_together_and_those_of_a_trial_one_after_the_other(mfeat, store, experiments):
    jobs = [job for job in missing(experiments, store, ["mfeat"], [0, 1]) if job.experiment is not None]
    seeds = by_seed(jobs)
    assert [{job.cell.seed for job in some} for some in seeds] == [{0}, {1}]
    assert sum(map(len, seeds)) == len(jobs)
    for some in seeds:
        targets = [job.cell.target for job in some]
        assert targets == [target for target in dict.fromkeys(targets) for _ in range(2)]
        assert [job.experiment.name for job in some] == ["table2", "readings"] * (len(some) // 2)


def test_features_of_a_view_are_found_once(monkeypatch):
    made = []
    monkeypatch.setattr(sharing, "gaussian_features", lambda *given: made.append(given) or gaussian_features(*given))
    rng, common = np.random.default_rng(0), Common()
    one, other = rng.normal(size=(60, 3)), rng.normal(size=(60, 3))
    f = rng.normal(size=60)
    options = EmbeddingOptions(rank=8)
    for views in ({"a": one, "b": other}, {"b": other}, {"c": one.copy()}):
        prepared = Sharing(make_problem(f, views), common)
        prepared.embedding(options)
    assert len(made) == 2
    Sharing(make_problem(f, {"a": one}), common).embedding(EmbeddingOptions(rank=9))
    assert len(made) == 3
    Sharing(make_problem(f, {"a": one.reshape(-1, 1)[:60]}), common).embedding(options)
    assert len(made) == 4


def test_graphs_are_shared_between_trials_with_the_same_views_alone(mfeat, monkeypatch):
    rng, common = np.random.default_rng(0), Common()
    views, labels = {"a": rng.normal(size=(80, 4))}, None
    graphs = [
        Coconut(n_neighbors=5, lam=1.0).fit(prepared, labels) and prepared.once(("graph", 5), lambda: None)
        for prepared in (
            Sharing(make_problem(rng.normal(size=80), views), common, "same"),
            Sharing(make_problem(rng.normal(size=80), views), common, "same"),
            Sharing(make_problem(rng.normal(size=80), views), common),
        )
    ]
    assert graphs[0] is graphs[1]
    assert graphs[0] is not graphs[2]


def test_what_a_trial_computed_is_let_go_of_at_once_and_not_when_circles_are_looked_for(mfeat, store, protocol):
    """Else the trials of a long run stay in memory."""
    grid = Readings(protocol, methods=(("grid", GRID),), coconuts=(("tuned", Coconut(lam=1.0)),))
    copies = Table2(protocol, methods=(("published", FEW),), copies=(2,))
    run([grid], store, ["mfeat"], [0], 1)
    name, other = grid.targets("mfeat")[:2]
    trial = make_trial("mfeat", name, 0, store, protocol)
    gc.collect()
    of_other_tests = {id(one) for one in gc.get_objects() if type(one) is Trajectory}
    gc.disable()
    try:
        grid.run(trial)
        copies.run(trial)
        found = (one for one in gc.get_objects() if type(one) is Trajectory)
        kept = [weakref.ref(one) for one in found if id(one) not in of_other_tests]
        assert len(kept) > 2
        trial.forget_others()
        own = sum(one() is not None for one in kept)
        assert 0 < own < len(kept)
        make_trial("mfeat", other, 0, store, protocol)  # takes its place
        assert not any(one() for one in kept)
    finally:
        gc.enable()


def test_only_the_latest_is_kept():
    latest, made = Latest(), []
    for key in ("a", "a", "b", "a"):
        latest.of("trial", key, lambda key=key: made.append(key) or key)
    assert made == ["a", "b", "a"]


def test_a_trial_is_kept_for_the_next_experiment_on_it(shoes, store, protocol):
    experiment = Accuracy(protocol, methods=(("graph-ssl", GraphSSL(alpha=0.9, n_neighbors=5)), ("tupi", FEW)))
    run([experiment], store, ["shoes"], [0], 1)
    first, second = experiment.targets("shoes")[:2]
    one = make_trial("shoes", first, 0, store, protocol)
    assert make_trial("shoes", first, 0, store, protocol) is one
    assert one.prepared() is one.prepared()
    assert one.prepared(one.views) is not one.prepared()
    other = make_trial("shoes", second, 0, store, protocol)
    assert other is not one
    assert other.common is one.common
    assert other.same_views is None  # rankers of other attributes: each trial has views of its own
