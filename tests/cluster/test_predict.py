"""Items that come later on a real cluster of two processes, against the same in memory."""

import numpy as np
import pandas as pd
import pytest

import tupi
from tests.cluster.conftest import make_items
from tupi.runtime.errors import InputError

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
TRUTH, SCORES, VIEWS = make_items(3_000)
FIRST, LATER = slice(0, 2_400), slice(2_400, 3_000)
LABELS = tupi.Values(np.arange(0, 2_400, 60), TRUTH[0:2_400:60])


def some(rows):
    return SCORES[rows], {name: view[rows] for name, view in VIEWS.items()}


RESULT = tupi.denoise(*some(FIRST), labels=LABELS)


def blocks(rows, size):
    scores, views = some(rows)
    return da.from_array(scores, chunks=size), {
        name: da.from_array(X, chunks=(size + 31, -1)) for name, X in views.items()
    }


def test_arrays_give_what_memory_gives(client):
    found = RESULT.predict(*blocks(LATER, 170))
    assert isinstance(found, da.Array)
    assert found.shape == (600,)
    expected = RESULT.predict(*some(LATER))
    np.testing.assert_allclose(found.compute(), expected, rtol=1e-12)
    np.testing.assert_allclose(client.compute(found).result(), expected, rtol=1e-12)
    with client.as_current():  # what all blocks share is sent once
        found = RESULT.predict(SCORES[LATER], blocks(LATER, 170)[1])
    np.testing.assert_allclose(client.compute(found).result(), expected, rtol=1e-12)


def test_what_views_have_in_common_is_read_once():
    scores, views = some(LATER)
    together, read = np.column_stack([scores, *views.values()]), []

    def rows_of(block_info):
        first, last = block_info[None]["array-location"][0]
        read.append(int(first))
        return together[first:last]

    chunks = ((200, 200, 200), together.shape[1])
    items = da.map_blocks(rows_of, chunks=chunks, dtype=float, meta=np.empty((0, 0)))
    ends = np.cumsum([1, *(view.shape[1] for view in views.values())])
    later = {name: items[:, a:b] for name, a, b in zip(views, ends, ends[1:], strict=False)}
    found = RESULT.predict(items[:, 0], later).compute(scheduler="sync")
    np.testing.assert_allclose(found, RESULT.predict(scores, views), rtol=1e-12)
    assert sorted(read) == [0, 200, 400]


def test_details_are_a_table():
    found = RESULT.predict(*blocks(LATER, 200), details=True).compute()
    expected = RESULT.predict(*some(LATER), details=True).to_frame()
    pd.testing.assert_frame_equal(found.reset_index(drop=True), expected)


def test_tables_keep_their_headings_and_ids():
    """Columns of any kind, in another order, cut into other partitions than the predictions."""
    table = pd.DataFrame({"kind": np.where(TRUTH > 0, "good", "poor"), "size": VIEWS["b"][:, 0]})
    table = table.fillna({"size": 0.0}).set_index("i" + table.index.astype(str))
    scores = pd.Series(SCORES, table.index, name="score")
    result = tupi.denoise(scores[FIRST], {"sheet": table[FIRST]}, labels=pd.Series(TRUTH, table.index)[FIRST][::60])
    expected = result.predict(scores[LATER], {"sheet": table[LATER]})
    turned = dd.from_pandas(table[LATER][["size", "kind"]], npartitions=4, sort=False)
    found = result.predict(dd.from_pandas(scores[LATER], npartitions=3, sort=False), {"sheet": turned})
    pd.testing.assert_series_equal(found.compute(), expected, check_index_type=False)  # Dask has a text type of its own


def test_classes_have_a_column_each():
    chances = pd.DataFrame({"low": 1 / (1 + np.exp(SCORES)), "mid": 0.2, "high": 1 / (1 + np.exp(-SCORES))})
    chances = chances.div(chances.sum(axis=1), axis=0)
    result = tupi.denoise(chances[FIRST], some(FIRST)[1], task="classification")
    later = chances[LATER].reset_index(drop=True)
    expected = result.predict(later, some(LATER)[1])
    found = result.predict(dd.from_pandas(later, npartitions=2), some(LATER)[1])
    pd.testing.assert_frame_equal(found.compute(), expected)
    found = result.predict(da.from_array(later.to_numpy(), chunks=(250, -1)), some(LATER)[1])
    np.testing.assert_allclose(found.compute(), expected, rtol=1e-12)


def test_a_result_of_a_cluster_predicts_and_is_saved(client, tmp_path):
    found = tupi.denoise(*blocks(FIRST, 900), labels=LABELS, client=client)
    expected = RESULT.predict(*some(LATER), details=True)
    told = found.predict(*some(LATER), details=True)
    np.testing.assert_allclose(told.predictions, expected.predictions, atol=1e-6)
    np.testing.assert_allclose(told.interval(0.9), expected.interval(0.9), atol=1e-5)
    again = tupi.load(found.save(tmp_path / "run.npz"))
    np.testing.assert_allclose(again.predict(*blocks(LATER, 250)).compute(), expected.predictions, atol=1e-5)


def test_what_cannot_be_done_is_said():
    scores, views = blocks(LATER, 200)
    with pytest.raises(InputError, match="'a' has 600 rows for 400 predictions"):
        RESULT.predict(scores[:400], views)
    with pytest.raises(InputError, match="groups: found with Dask"):
        RESULT.predict(scores, views, groups=np.arange(600))
    with pytest.raises(InputError, match="method 'knn' that has no function of new items"):
        tupi.denoise(*some(FIRST), method="knn").predict(scores, views)
