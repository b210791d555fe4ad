"""The default method on a real cluster of two processes, against the same in memory."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax

import tupi
from tests.cluster.conftest import make_items
from tupi.runtime.errors import InputError

da = pytest.importorskip("dask.array")
TRUTH, SCORES, VIEWS = make_items(6_000)
KNOWN = np.arange(0, 6_000, 120)
FIRST, SECOND = KNOWN[:25], KNOWN[25:]
CLASSES = np.digitize(TRUTH, [-0.7, 0.7])
SHARES = softmax(-((SCORES[:, None] - [-1.5, 0, 1.5]) ** 2) / 2, axis=1)
LABELS = {
    "none": None,
    "values": tupi.Values(KNOWN, TRUTH[KNOWN]),
    "pairs": tupi.Pairs(*np.where(TRUTH[FIRST] > TRUTH[SECOND], [FIRST, SECOND], [SECOND, FIRST])),
}


@pytest.mark.parametrize(
    ("labels", "task"), [("none", "ranking"), ("values", "ranking"), ("pairs", "ranking"), ("values", "regression")]
)
def test_the_answer_is_that_of_memory(client, labels, task):
    settings = {"labels": LABELS[labels], "task": task}
    expected = tupi.denoise(SCORES, VIEWS, **settings)
    blocks = {name: da.from_array(X, chunks=(2500, -1)) for name, X in VIEWS.items()}
    seen = []
    found = tupi.denoise(
        da.from_array(SCORES, chunks=4000), blocks, client=client, callback=lambda step: seen.append(step.t), **settings
    )
    np.testing.assert_allclose(found.compute(), expected.predictions, atol=1e-8)
    assert found.changed == expected.changed
    assert found.notes == expected.notes
    assert seen == [0, 1]
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-8)
    np.testing.assert_allclose(found.dependence["p_value"], expected.dependence["p_value"])
    # By a sample of the items there, and by all of them here.
    np.testing.assert_allclose(
        found.dependence[["before", "after"]], expected.dependence[["before", "after"]], atol=0.02
    )
    if labels == "none":
        assert found.evidence is None
    else:
        assert found.evidence.sentence == expected.evidence.sentence
    if labels == "values":
        before, after = (tupi.pairwise_accuracy(f[1::7], TRUTH[1::7]) for f in (SCORES, found.compute()))
        assert after > before + 0.05


def test_items_without_any_view_keep_their_prediction(client):
    blocks = {name: da.from_array(X, chunks=(2500, -1)) for name, X in VIEWS.items()}
    found = tupi.denoise(SCORES, blocks, labels=LABELS["values"], client=client)
    alone = np.isnan(VIEWS["a"]).all(axis=1) & np.isnan(VIEWS["b"]).all(axis=1)
    assert alone.any()
    assert np.array_equal(found.compute()[alone], SCORES[alone])


def test_labels_that_repeat_make_the_same_clouds(client):
    settings = {"labels": tupi.Values(KNOWN, np.digitize(TRUTH[KNOWN], [-1, 0, 1]))}
    expected = tupi.denoise(SCORES, VIEWS, **settings)
    found = tupi.denoise(da.from_array(SCORES, chunks=4000), in_blocks(), client=client, **settings)
    assert expected.params["clouds_share"] > 0.1
    assert found.params["clouds_share"] == pytest.approx(expected.params["clouds_share"], abs=1e-8)
    np.testing.assert_allclose(found.compute(), expected.predictions, atol=1e-8)
    assert found.notes == expected.notes


def in_blocks():
    return {name: da.from_array(X, chunks=(2500, -1)) for name, X in VIEWS.items()}


@pytest.mark.parametrize(
    ("kind", "labelled"),
    [("probabilities", False), ("probabilities", True), ("scores", True), ("one probability", True)],
)
def test_classes_are_those_of_memory(client, kind, labelled):
    truth = (TRUTH > 0).astype(int) if kind == "one probability" else CLASSES
    given = {"probabilities": SHARES, "scores": 4 + 3 * np.log(SHARES), "one probability": expit(2 * SCORES)}[kind]
    settings = {"labels": tupi.Values(KNOWN, truth[KNOWN]) if labelled else None, "task": "classification"}
    expected = tupi.denoise(given, VIEWS, **settings)
    found = tupi.denoise(da.from_array(given, chunks=(4000, -1)[: given.ndim]), in_blocks(), client=client, **settings)
    assert found.predictions.shape == given.shape
    np.testing.assert_allclose(found.compute(), expected.predictions, atol=1e-8)
    np.testing.assert_allclose(found.initial.compute(scheduler=client), given)
    assert found.notes == expected.notes
    assert found.classes == expected.classes
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-8)
    np.testing.assert_allclose(found.dependence["before"], expected.dependence["before"], atol=0.02)
    if not labelled:
        assert found.evidence is None
        return
    assert found.evidence.sentence == expected.evidence.sentence
    sets = found.class_sets(0.8)
    pd.testing.assert_frame_equal(sets.compute(scheduler=client), expected.class_sets(0.8))
    with pytest.raises(InputError, match="accepted: class_sets"):
        found.interval(0.8)


def test_names_of_classes_and_tables_of_them(client, tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    names = ["low", "middle", "high"]
    table = pd.DataFrame(SHARES, columns=names)
    labels = tupi.Values(KNOWN, np.array(names)[CLASSES[KNOWN]])
    found = tupi.denoise(
        dd.from_pandas(table, npartitions=3), in_blocks(), labels=labels, task="classification", client=client
    )
    expected = tupi.denoise(SHARES, VIEWS, labels=tupi.Values(KNOWN, CLASSES[KNOWN]), task="classification")
    np.testing.assert_allclose(found.compute(), expected.predictions, atol=1e-8)
    assert found.classes == tuple(names)
    assert list(found.class_sets(0.9).columns) == names
    written = pd.concat(map(pd.read_parquet, sorted(found.to_parquet(tmp_path / "out").glob("*.parquet"))))
    assert list(written) == [f"{kind}_{name}" for kind in ("initial", "prediction") for name in names]
    np.testing.assert_allclose(written.to_numpy()[:, 3:], expected.predictions, atol=1e-8)
    np.testing.assert_allclose(found.to_frame().compute(scheduler=client), written, atol=1e-12)


@pytest.mark.parametrize(("labels", "task"), [("values", "ranking"), ("pairs", "ranking"), ("values", "regression")])
def test_how_sure_it_is_comes_back_too(client, labels, task):
    settings = {"labels": LABELS[labels], "task": task}
    expected = tupi.denoise(SCORES, VIEWS, **settings)
    found = tupi.denoise(SCORES, in_blocks(), client=client, **settings)
    np.testing.assert_allclose(found.uncertainty.compute(scheduler=client), expected.uncertainty, rtol=1e-6)
    np.testing.assert_array_equal(found.suggest(7), expected.suggest(7))
    if labels == "pairs":
        assert found.expected is expected.expected is None
        return
    if task == "ranking":
        np.testing.assert_allclose(found.expected.compute(scheduler=client), expected.expected, atol=1e-8)
    for one, other in zip(found.interval(0.8), expected.interval(0.8), strict=True):
        np.testing.assert_allclose(one.compute(scheduler=client), other, rtol=1e-6, atol=1e-8)


def test_without_labels_there_are_suggestions_and_no_uncertainty(client):
    expected = tupi.denoise(SCORES, VIEWS)
    found = tupi.denoise(SCORES, in_blocks(), client=client)
    assert found.uncertainty is None
    np.testing.assert_array_equal(found.suggest(5), expected.suggest(5))
    with pytest.raises(InputError, match="interval: found a result of method 'auto' without errors"):
        found.interval(0.8)
    with pytest.raises(InputError, match="k: found 0"):
        found.suggest(0)
