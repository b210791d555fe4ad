"""The default method on a real cluster of two processes, against the same in memory."""

import numpy as np
import pytest

import tupi
from tests.cluster.conftest import make_items

da = pytest.importorskip("dask.array")
TRUTH, SCORES, VIEWS = make_items(6_000)
KNOWN = np.arange(0, 6_000, 120)
FIRST, SECOND = KNOWN[:25], KNOWN[25:]
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
