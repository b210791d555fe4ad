"""Items that came later, compared with those that a result was made on."""

import pickle

import numpy as np
import pandas as pd
import pytest

import tupi
from tests.conftest import make_problem_arrays
from tupi.inputs import seen
from tupi.inputs.problem import make_problem
from tupi.inputs.seen import Seen
from tupi.runtime.errors import InputError

TRUTH, SCORES, VIEWS = make_problem_arrays(600)
N = 400
OLD = {name: view[:N] for name, view in VIEWS.items()}
NEW = {name: view[N:] for name, view in VIEWS.items()}
RESULT = tupi.denoise(SCORES[:N], OLD, method="tupi", n_iter=1)


def test_items_from_the_same_source_do_not_drift():
    found = RESULT.drift(SCORES[N:], NEW)
    assert not found.drifted
    assert not found.ask_for_labels
    assert found.table.index.tolist() == ["predictions", "near", "bent", "junk"]
    assert str(found).startswith("The 200 new items look like the 400 that the result was made on")
    assert str(found).endswith("no reason to ask for new labels.")
    assert str(found) in repr(found)


def test_what_moved_is_named():
    found = RESULT.drift(SCORES[N:] + 1, NEW | {"bent": NEW["bent"] + [0, 0.5, 0]})
    assert found.table["drifted"].to_dict() == {"predictions": True, "near": False, "bent": True, "junk": False}
    assert found.drifted
    assert found.ask_for_labels
    assert "in their predictions and in view bent (p-values below 0.05" in str(found)
    assert str(found).endswith("ask for labels of some of them, and denoise again with these.")
    assert found.table.loc["bent", "shift"] > 0.3


def test_false_alarms_of_all_views_together_are_rare():
    alarms = 0
    for seed in range(30):
        _, scores, views = make_problem_arrays(160, seed)
        result = tupi.denoise(scores[:100], {k: v[:100] for k, v in views.items()}, method="tupi", n_iter=1)
        alarms += result.drift(scores[100:], {k: v[100:] for k, v in views.items()}).drifted
    assert alarms <= 4  # of 30, where 1.5 are expected


def test_a_view_that_new_items_lack_is_a_drift():
    found = RESULT.drift(SCORES[N:], {name: NEW[name] for name in ("near", "junk")})
    assert found.table["drifted"].to_dict() == {"predictions": False, "near": False, "bent": True, "junk": False}
    assert found.table.loc["bent", "missing_now"] == 1
    assert found.table.loc["bent", "missing_before"] == 0


def test_a_view_that_the_result_does_not_use_is_no_reason_to_ask():
    unused = pickle.loads(pickle.dumps(RESULT))
    unused.weights.loc[:, "junk"] = 0.0
    found = unused.drift(SCORES[N:], NEW | {"junk": NEW["junk"] + 1})
    assert found.drifted
    assert not found.ask_for_labels
    assert "the result does not use what differs" in str(found)


def test_tables_of_any_kind_are_compared_as_they_were_encoded():
    rng = np.random.default_rng(0)
    ids = [f"item {k}" for k in range(600)]
    frame = pd.DataFrame({"color": rng.choice(["red", "blue", "green"], 600), "price": rng.normal(size=600)}, ids)
    scores = pd.Series(SCORES, ids)
    result = tupi.denoise(scores[:N], {"table": frame[:N]}, method="tupi", n_iter=1)
    assert not result.drift(scores[N:], {"table": frame[N:].sample(frac=1, random_state=0)}).drifted
    redder = frame[N:].assign(color=np.where(rng.random(200) < 0.5, "red", frame["color"][N:]))
    found = result.drift(scores[N:], {"table": redder})
    assert found.table["drifted"].to_dict() == {"predictions": False, "table": True}


def test_classes_are_compared_together():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet([2, 2, 2], size=600)
    result = tupi.denoise(shares[:N], {"near": OLD["near"]}, task="classification", method="tupi", n_iter=1)
    assert not result.drift(shares[N:], {"near": NEW["near"]}).drifted
    found = result.drift(rng.dirichlet([4, 2, 2], size=200), {"near": NEW["near"]})
    assert found.table["drifted"].to_dict() == {"predictions": True, "near": False}


def test_the_sample_is_small(monkeypatch):
    problem = make_problem(SCORES, {"wide": np.tile(VIEWS["near"], 3), "text": np.where(TRUTH > 0, "yes!", "no!")})
    monkeypatch.setattr(seen, "VALUES", 7 * 150)
    sample = Seen.of(problem, problem.initial)
    assert len(sample.predictions) == 150
    assert [rows.shape for rows in sample.rows] == [(150, 6), (150, 1)]
    assert {rows.dtype for rows in sample.rows} == {np.dtype("float32")}


def test_a_result_that_was_saved_still_sees_drift(tmp_path):
    ids = pd.RangeIndex(600)
    words = pd.Series(np.where(TRUTH > 0, "yes!", "no!"), ids)
    result = tupi.denoise(
        SCORES[:N], {"near": VIEWS["near"][:N], "text": words[:N].to_numpy()}, method="tupi", n_iter=1
    )
    later = {"near": VIEWS["near"][N:] + 0.5, "text": words[N:].to_numpy()}
    result.save(tmp_path / "run.npz")
    found = tupi.load(tmp_path / "run.npz").drift(SCORES[N:], later)
    pd.testing.assert_frame_equal(found.table, result.drift(SCORES[N:], later).table)
    assert found.table["drifted"]["near"]


def test_numbers_far_from_zero_keep_their_differences():
    when = 1.7e9 + np.arange(600.0)[:, None]
    result = tupi.denoise(SCORES, {"when": when}, method="tupi", n_iter=1)
    np.testing.assert_allclose(np.diff(result.seen.rows[0][:, 0]), 1.0, atol=1e-3)


@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_views_in_files_are_sampled_and_compared(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("tupi.inputs.features.IN_MEMORY", 0)
    for name, rows in {"old": OLD["near"], "new": NEW["near"]}.items():
        if kind == "npy":
            np.save(tmp_path / f"{name}.npy", rows)
        else:
            pd.DataFrame(rows, columns=["a", "b"]).to_parquet(tmp_path / f"{name}.parquet", index=False)
    result = tupi.denoise(SCORES[:N], {"near": tmp_path / f"old.{kind}"}, method="tupi", n_iter=1)
    np.testing.assert_allclose(result.seen.rows[0], OLD["near"] - OLD["near"].mean(axis=0), atol=1e-6)
    assert not result.drift(SCORES[N:], {"near": tmp_path / f"new.{kind}"}).drifted


@pytest.mark.parametrize(
    ("predictions", "features", "sentence"),
    [
        (SCORES[N:], NEW | {"nera": NEW["near"]}, "found a view 'nera'.*Did you mean 'near'"),
        (SCORES[N:], NEW | {"near": NEW["junk"]}, "'near' has 4 columns; accepted: 2"),
        (SCORES[N:], OLD, "'near' has 400 rows for 200 predictions"),
        (SCORES[:5], {"near": OLD["near"][:5]}, r"found shape \(5,\)"),
        (np.full(200, np.nan), NEW, "all finite: False"),
        (np.zeros((200, 3)), NEW, r"found shape \(200, 3\)"),
        (SCORES[N:], NEW | {"near": np.full((200, 2), np.inf)}, "'near' holds infinite values"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(predictions, features, sentence):
    with pytest.raises(tupi.InputError, match=sentence):
        RESULT.drift(predictions, features)


def test_a_result_without_its_items_says_so(tmp_path):
    loaded = tupi.load(RESULT.save(tmp_path / "result.npz"))
    if loaded.seen is None:
        with pytest.raises(tupi.InputError, match="drift: found a result without a sample of its items"):
            loaded.drift(SCORES[N:], NEW)
    else:
        assert str(loaded.drift(SCORES[N:], NEW)) == str(RESULT.drift(SCORES[N:], NEW))


@pytest.mark.parametrize("predictions", [3.0, np.array(5.0), None, "text"])
def test_predictions_that_are_no_column_are_refused(predictions):
    rng = np.random.default_rng(0)
    result = tupi.denoise(rng.normal(size=30), {"a": rng.normal(size=(30, 2))})
    with pytest.raises(InputError, match="predictions"):
        result.drift(predictions, {"a": np.zeros((12, 2))})


@pytest.mark.parametrize("values", [np.zeros((60, 2, 1)), 3.0, [[1], [1, 2]]])
def test_views_that_are_no_tables_are_refused(values):
    kinds = pd.DataFrame({"kind": np.where(TRUTH[:60] > 0, "x", "y"), "size": TRUTH[:60]})
    result = tupi.denoise(SCORES[:60], {"a": kinds})
    assert not result.drift(SCORES[:60], {"a": kinds}).drifted
    with pytest.raises(InputError, match="features"):
        result.drift(SCORES[:60], {"a": values})


def test_columns_of_tables_are_found_by_their_headings():
    """As `predict` finds them; by position, columns in another order were a drift."""
    headings = ["a", "b", "c"]
    old, new = (
        pd.DataFrame(VIEWS["bent"][rows] * [1, 10, 100], columns=headings) for rows in (slice(N), slice(N, 600))
    )
    result = tupi.denoise(SCORES[:N], {"bent": old}, method="tupi", n_iter=1)
    found = result.drift(SCORES[N:], {"bent": new})
    for turned in (new[["c", "a", "b"]], new.assign(more=1.0)[["b", "more", "c", "a"]]):
        pd.testing.assert_frame_equal(result.drift(SCORES[N:], {"bent": turned}).table, found.table)
    with pytest.raises(InputError, match="has no column 'b'"):
        result.drift(SCORES[N:], {"bent": new[["a", "c"]]})


def test_class_columns_are_found_by_their_names():
    chances = pd.DataFrame({"low": 1 / (1 + np.exp(SCORES)), "mid": 0.1, "high": 1 / (1 + np.exp(-SCORES))})
    chances = chances.div(chances.sum(axis=1), axis=0)
    result = tupi.denoise(chances[:N], OLD, method="knn", task="classification")
    new = chances[N:].reset_index(drop=True)
    found = result.drift(new, NEW).table
    pd.testing.assert_frame_equal(result.drift(new[["high", "low", "mid"]], NEW).table, found)
    with pytest.raises(InputError, match="predictions: found columns low, mid; accepted: those of before"):
        result.drift(new[["low", "mid"]], NEW)


def test_rows_of_other_ids_are_no_drift_but_a_mistake():
    old, new = [f"i{k}" for k in range(N)], [f"n{k}" for k in range(len(SCORES) - N)]
    tables = {"near": pd.DataFrame(OLD["near"], old), "still": np.ones((N, 1))}
    with pytest.warns(UserWarning, match="View 'still' is constant"):
        result = tupi.denoise(pd.Series(SCORES[:N], old), tables, method="tupi", n_iter=1)
    scores, rows = pd.Series(SCORES[N:], new), pd.DataFrame(NEW["near"], new)
    found = result.drift(
        scores, {"near": rows[::-1], "still": np.ones((len(new), 1))}
    )  # a view that was dropped before
    pd.testing.assert_frame_equal(found.table, result.drift(SCORES[N:], {"near": NEW["near"]}).table)
    for wrong in (rows.add_prefix("m", axis=0), rows.reset_index(drop=True)):
        with pytest.raises(InputError, match="view 'near': none of its ids is among those of the predictions"):
            result.drift(scores, {"near": wrong})
    with pytest.raises(InputError, match="occur more than once"):
        result.drift(scores, {"near": rows.set_axis(["n0"] * len(rows))})
