import numpy as np
import pytest

from tests.methods.dense import assert_order_free, fitted, laplacian, weight_matrix, with_gaps
from tests.methods.rows import COMPARED, JUDGING, KNOWN, SCORES, VIEWS, class_problem, prepare
from tupi.inputs.labels import Values
from tupi.judging.metrics import pairwise_accuracy
from tupi.methods.coconut import Coconut
from tupi.methods.combine import Select, TupiCoconut
from tupi.methods.tupi import Tupi
from tupi.runtime.errors import InputError

SETTING = {"lam": 0.4, "sigma_w2": 0.1, "lam_c": 3.0, "n_neighbors_c": 10, "n_iter": 2}


PREPARED = prepare(None)
START = PREPARED.f[PREPARED.order, 0]


def objective_of(method):
    """Return the first step's energy as a function of f in the engine's order."""
    engine = method._engine(PREPARED, 0)
    return engine.descent([engine.begin(START)], [np.full(3, 1 / 3)], [0.4])._objectives[0]


def test_energy_adds_the_charge_for_differences_between_neighbours():
    f = np.random.default_rng(0).normal(size=120)
    alone, joint = (objective_of(kind(engine="exact", **s)) for kind, s in ((Tupi, {}), (TupiCoconut, SETTING)))
    L = laplacian(weight_matrix(list(VIEWS.values()), 10))
    mine = f[PREPARED.order]
    assert joint(mine)[0] == pytest.approx(alone(mine)[0] + 3.0 / (10 * 120) * f @ L @ f)


@pytest.mark.parametrize("engine", ["exact", "reference"])
def test_gradient_passes_finite_differences(engine):
    rng = np.random.default_rng(0)
    objective = objective_of(TupiCoconut(engine=engine, **SETTING))
    f = START + 0.1 * rng.normal(size=120)
    gradient = objective(f)[1]
    for _ in range(10):
        direction = rng.normal(size=120)
        slope = (objective(f + 1e-5 * direction)[0] - objective(f - 1e-5 * direction)[0]) / 2e-5
        assert gradient @ direction == pytest.approx(slope, rel=1e-5, abs=1e-9)


def test_energy_never_rises_within_a_step():
    fit = TupiCoconut(**SETTING | {"n_iter": 5}).fit(prepare(None), None)
    for step in fit.steps[1:]:
        assert (np.diff(step.energies) <= 0).all()


def test_without_smoothing_it_is_the_method_alone():
    settings = {"lam": 0.4, "sigma_w2": 0.1, "n_iter": 3}
    joint = TupiCoconut(lam_c=1e-12, n_neighbors_c=10, **settings).fit(prepare(None), None).columns
    np.testing.assert_allclose(joint, Tupi(**settings).fit(prepare(None), None).columns, atol=1e-6)


def test_both_share_one_engine():
    prepared = prepare(None)
    TupiCoconut(**SETTING).fit(prepared, None)
    engines = sum(1 for key in prepared._cache if isinstance(key, tuple) and key[0] == "engine")
    TupiCoconut(**SETTING | {"lam": 1.0}).fit(prepared, None)
    Tupi(lam=0.1, sigma_w2=0.1, n_iter=1).fit(prepared, None)
    assert engines == sum(1 for key in prepared._cache if isinstance(key, tuple) and key[0] == "engine")


@pytest.mark.parametrize("labels", [KNOWN, COMPARED, None], ids=["values", "pairs", "none"])
@pytest.mark.parametrize("views", [VIEWS, with_gaps(VIEWS)], ids=["complete", "gaps"])
def test_improves(labels, views):
    new = fitted(TupiCoconut(), labels, views=views)
    assert pairwise_accuracy(new, JUDGING) > pairwise_accuracy(SCORES, JUDGING) + 0.02


def test_order_does_not_matter_with_whole_kernels():
    assert_order_free(TupiCoconut(**SETTING | {"engine": "exact"}), None)


def test_labels_choose_all_four_parameters():
    prepared = prepare(KNOWN)
    fit = TupiCoconut().fit(prepared, prepared.problem.labels)
    assert len(TupiCoconut().settings(True)) == 6 * len(Tupi().settings(True))
    assert fit.scores[-1] == pytest.approx(pairwise_accuracy(fit.columns[:, 0], prepared.problem.labels))
    assert all(fit.params[name] is not None for name in ("lam", "sigma_w2", "lam_c", "n_neighbors_c"))
    assert f"lam_c={fit.params['lam_c']:g}" in fit.notes[-1]


@pytest.mark.parametrize("labels", [KNOWN, COMPARED], ids=["values", "pairs"])
@pytest.mark.parametrize("task", ["ranking", "regression"])
def test_select_returns_the_one_that_scores_better(labels, task):
    prepared = prepare(labels, task=task)
    candidates = {m.name: m.fit(prepared, prepared.problem.labels) for m in (Tupi(), Coconut())}
    fit = Select().fit(prepared, prepared.problem.labels)
    best = max(candidates, key=lambda name: candidates[name].scores[-1])
    assert fit.params["selected"] == best
    np.testing.assert_array_equal(fit.columns, candidates[best].columns)
    assert type(fit) is type(candidates[best])
    assert best in fit.notes[0]


def test_select_selects_either():
    rng = np.random.default_rng(0)
    _, views, truth = class_problem(150)
    labels = Values(np.arange(60), truth[:60].astype(float))
    clusters = prepare(labels, truth + rng.normal(size=150), views)
    assert Select().fit(clusters, labels).params["selected"] == "coconut"
    values = rng.normal(size=150)  # one view says all, but the others keep it from choosing the neighbours
    views = {"near": values[:, None], **{f"junk{i}": rng.normal(size=(150, 30)) for i in range(6)}}
    labels = Values(np.arange(60), values[:60])
    drowned = prepare(labels, values + rng.normal(size=150), views)
    assert Select().fit(drowned, labels).params["selected"] == "tupi"


def test_bad_input_gets_a_sentence():
    with pytest.raises(InputError, match="labels: found none, and method 'select'"):
        fitted(Select(), None)
    with pytest.raises(InputError, match="lam_c: found 0"):
        TupiCoconut(lam_c=0)
    with pytest.raises(InputError, match=r"n_neighbors_c: found 2\.5"):
        TupiCoconut(n_neighbors_c=2.5)
    with pytest.raises(InputError, match="engine"):
        TupiCoconut(engine="warp")
