"""Experiments about remarks, readings and rankers, on small data."""

from dataclasses import replace

import numpy as np
import pytest

from tests.research.experiments.test_tables import FEW, record
from tupi.embedding.graphs import Graph
from tupi.embedding.prepared import Prepared
from tupi.inputs.problem import make_problem
from tupi.methods.coconut import Coconut
from tupi.research.experiments.invdyn import InvDyn, extra_columns
from tupi.research.experiments.networks import Networks
from tupi.research.experiments.protocol import split_of
from tupi.research.experiments.readings import CoconutByView, graphs_by_view, mean_graph
from tupi.research.experiments.remarks import Remarks, effective
from tupi.research.experiments.runner import records, run
from tupi.research.experiments.sources import SARCOS_VIEWS, dataset_of, source_of
from tupi.research.experiments.store import Cell

QUICK = Remarks(
    method=FEW,
    joint=replace(FEW, joint=True),
    finer=replace(FEW, rank=30),
    narrow=FEW,
    wide=replace(FEW, sigma_w2=1.0, n_iter=5),
)


def found_by(experiment, store, dataset, tmp_path):
    run([experiment], store, [dataset], range(2), 1)
    found = records(experiment, store, [dataset], range(2))
    return found, experiment.section(found, tmp_path)


def test_true_attributes_of_the_others_are_views(shoes, store, protocol, tmp_path):
    quick = replace(QUICK, protocol=protocol)
    cell = Cell(quick.label, "shoes", "open", 0)
    views = quick.true_views(cell)
    assert len(views) == 9
    assert "open" not in views
    items = split_of(cell, protocol).items
    truth = source_of("shoes").truth(dataset_of("shoes"), "shiny").values
    np.testing.assert_array_equal(views["shiny"][:, 0], truth[items])
    found, text = found_by(quick, store, "shoes", tmp_path)
    assert set(found[0]["result"]["accuracy"]) == {"initial", "usual", "finer", "truths", "truths joint"}
    for words in ("**K = 200 against K = 50.**", "**True attributes as views.**", "**sigma_w2 and T as complements.**"):
        assert words in text
    assert "AwA" not in text


def test_complements_are_the_nearest_steps_of_two_paths(trial):
    prepared = trial.prepared()
    same = replace(QUICK, wide=replace(FEW, n_iter=5)).complements(prepared)
    assert (same["t"], same["alike"]) == (3, pytest.approx(1.0))  # one path: its third step is itself
    assert same["alike_at_same_t"] == same["alike"]
    other = QUICK.complements(prepared)
    assert -1 <= other["alike_at_same_t"] <= other["alike"] <= 1
    assert 1 <= other["views"] <= other["views_at_start"] <= 3
    assert effective(np.array([0.5, 0.5, 0.0])) == pytest.approx(2.0)


def test_rank_table_counts_significant_differences(tmp_path):
    rows = [record("fou", seed, initial=80.0, usual=81.0, finer=81.5 + 0.01 * seed) for seed in range(3)]
    text = Remarks().section(rows, tmp_path)
    assert "| MFeat | +1.00 (0.00) | +1.51 (0.01) | 1 (1 to 1) | 0 (0 to 0) | 0 (0 to 0) |" in text
    assert "| one seed: no test |" in Remarks().section(rows[:1], tmp_path)


def test_one_graph_per_view_has_the_mean_laplacian(trial):
    prepared = trial.prepared()
    graphs = graphs_by_view(prepared, 5)
    assert len(graphs) == 3
    laplacians = [np.diag(one.degrees) - one.weights.toarray() for one in graphs]
    mean = mean_graph(graphs)
    assert isinstance(mean, Graph)
    np.testing.assert_allclose(np.diag(mean.degrees) - mean.weights.toarray(), np.mean(laplacians, axis=0), atol=1e-12)
    (found,) = CoconutByView(n_neighbors=5).solutions(prepared, [3.0])
    expected = np.linalg.solve(np.eye(150) + 3.0 / 5 * np.mean(laplacians, axis=0), prepared.f)
    np.testing.assert_allclose(found, expected, atol=1e-8)
    alone = Prepared(make_problem(trial.initial, {"a": trial.views["a"]}, trial.labels))
    one, joint = (method.fit(alone, trial.labels).columns for method in (CoconutByView(), Coconut()))
    np.testing.assert_allclose(one, joint, atol=1e-8)  # with one view both are the same


@pytest.fixture
def sarcos(data_folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(140, 21))
    np.savez(data_folder / "sarcos.npz", X=X, Y=X @ rng.normal(size=(21, 7)) + 0.1 * rng.normal(size=(140, 7)))
    return X


def test_invdyn_in_four_readings(sarcos, store, protocol, tmp_path):
    assert extra_columns("fixed", 0) == extra_columns("fixed", 1) == SARCOS_VIEWS
    drawn = [extra_columns("anew", seed) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(set(drawn[0])) == 6
    experiment = InvDyn(protocol, methods=(("coconut", Coconut(lam=1.0, n_neighbors=5)), ("tupi", FEW)))
    found, text = found_by(experiment, store, "sarcos", tmp_path)
    assert len(found) == 14
    assert len(found[0]["result"]["accuracy"]) == 2 + 2 * 2 * 2
    for row in ("fixed, one view", "fixed, six views", "anew, one view", "anew, six views"):
        assert text.count(f"| {row} |") == 2


def test_rankers_are_compared_with_the_paper_s(mfeat, store, protocol, tmp_path):
    experiment = Networks(protocol, rankers=("svm",))
    found, text = found_by(experiment, store, "mfeat", tmp_path)
    assert len(found) == 12
    assert "| **paper** | 77.85 (2.26) | 79.28 (1.23) |" in text
    assert "| svm | " in text
