"""Items that come later: what `result.predict` says of them, and how it agrees with what was said of earlier ones."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tupi
from tupi.inputs.new_items import LaterView
from tupi.methods.auto import model
from tupi.runtime.errors import InputError

N, SEEN, LABELS = 700, 400, 40


def make(seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=N)
    views = {f"v{k}": np.hstack([truth[:, None] + rng.normal(size=(N, 3)), rng.normal(size=(N, 2))]) for k in range(3)}
    return truth, truth + rng.normal(size=N), views


TRUTH, SCORES, VIEWS = make()
CLASSES = np.digitize(TRUTH, [-0.5, 0.5])
CHANCES = np.exp(-((SCORES[:, None] - np.array([-1.0, 0.0, 1.0])) ** 2))
CHANCES /= CHANCES.sum(axis=1, keepdims=True)
PAIRS = np.random.default_rng(1).permutation(SEEN)[:80].reshape(2, 40)
HIGHER, LOWER = np.where(TRUTH[PAIRS[0]] > TRUTH[PAIRS[1]], PAIRS, PAIRS[::-1])
KNOWN = tupi.Values(np.arange(LABELS), TRUTH[:LABELS])
CASES = {
    "ranking": (SCORES, KNOWN, "ranking"),
    "comparisons": (SCORES, tupi.Pairs(HIGHER, LOWER), "ranking"),
    "regression": (5 + 2 * SCORES, tupi.Values(np.arange(LABELS), 5 + 2 * TRUTH[:LABELS]), "regression"),
    "classes": (CHANCES, tupi.Values(np.arange(LABELS), CLASSES[:LABELS]), "classification"),
    "class scores": (7 * CHANCES - 3, tupi.Values(np.arange(LABELS), CLASSES[:LABELS]), "classification"),
}


def some(rows, views=VIEWS):
    return {name: values[rows] for name, values in views.items()}


FIRST, LATER = slice(0, SEEN), slice(SEEN, N)


@pytest.fixture(scope="module")
def results():
    return {
        name: tupi.denoise(predictions[FIRST], some(FIRST), labels, task=task)
        for name, (predictions, labels, task) in CASES.items()
    }


@pytest.mark.parametrize("case", CASES)
def test_items_of_the_fit_nearly_get_what_they_got(case, results):
    result = results[case]
    assert result.changed
    again = result.predict(CASES[case][0][FIRST], some(FIRST))
    assert np.corrcoef(again.ravel(), result.predictions.ravel())[0, 1] > 0.99
    rng = np.random.default_rng(0)
    moved = {name: values[FIRST] + 0.01 * rng.normal(size=values[FIRST].shape) for name, values in VIEWS.items()}
    near = result.predict(CASES[case][0][FIRST], moved)
    assert np.abs(near - again).max() < 0.15 * again.std()


@pytest.mark.parametrize("case", CASES)
def test_new_items_gain_nearly_what_all_together_gain(case, results):
    predictions, labels, task = CASES[case]
    new = results[case].predict(predictions[LATER], some(LATER))
    together = tupi.denoise(predictions, VIEWS, labels, task=task).predictions[LATER]

    def score(f):
        if f.ndim == 2:
            return np.mean(f.argmax(axis=1) == CLASSES[LATER])
        return tupi.pairwise_accuracy(f, TRUTH[LATER])

    before = score(predictions[LATER])
    assert score(together) > before + 0.05
    assert score(new) - before > 0.85 * (score(together) - before)


def test_regression_keeps_the_units_of_the_labels(results):
    new = results["regression"].predict(CASES["regression"][0][LATER], some(LATER))
    before, after = (np.mean((f - 5 - 2 * TRUTH[LATER]) ** 2) for f in (CASES["regression"][0][LATER], new))
    assert after < 0.3 * before


def test_probabilities_stay_probabilities(results):
    new = results["classes"].predict(CHANCES[LATER], some(LATER))
    np.testing.assert_allclose(new.sum(axis=1), 1.0)
    with pytest.raises(InputError, match="no probabilities"):
        results["classes"].predict(2 * CHANCES[LATER], some(LATER))


@pytest.mark.parametrize("case", CASES)
def test_each_item_is_predicted_by_itself(case, results):
    predictions = CASES[case][0]
    together = results[case].predict(predictions[LATER], some(LATER))
    alone = results[case].predict(predictions[SEEN + 3 : SEEN + 4], some(slice(SEEN + 3, SEEN + 4)))
    np.testing.assert_allclose(alone, together[3:4], rtol=1e-9, atol=1e-9)


def test_predictions_that_stay_stay_for_new_items_too(monkeypatch):
    rng = np.random.default_rng(0)
    result = tupi.denoise(SCORES[FIRST], {"junk": rng.normal(size=(SEEN, 4))})
    assert not result.changed
    junk = {"junk": rng.normal(size=(N - SEEN, 4))}
    familiar = result.predict(SCORES[LATER], junk, details=True).familiar
    assert familiar.min() > 0.1
    monkeypatch.setattr(model, "met", lambda *_, **__: pytest.fail("looked for"))  # nobody asks where they are
    np.testing.assert_array_equal(result.predict(SCORES[LATER], junk), SCORES[LATER])


@pytest.mark.parametrize("case", CASES)
def test_views_are_read_once_if_they_are_small(case, results, monkeypatch):
    predictions = CASES[case][0][LATER]
    expected = results[case].predict(predictions, some(LATER), details=True)
    read, rows = [], LaterView.rows
    monkeypatch.setattr(
        LaterView, "rows", lambda self, items, *more: read.append(self.name) or rows(self, items, *more)
    )
    for room, times in ((model.AT_HAND, 1), (0, 2)):
        monkeypatch.setattr(model, "AT_HAND", room)
        read.clear()
        found = results[case].predict(predictions, some(LATER), details=True)
        np.testing.assert_array_equal(found.predictions, expected.predictions)
        np.testing.assert_array_equal(found.uncertainty, expected.uncertainty)
        assert sorted(read) == sorted(list(VIEWS) * times)


@pytest.mark.parametrize("case", CASES)
def test_items_far_from_all_keep_their_own_prediction(case, results):
    predictions = CASES[case][0]
    order = [predictions[LATER].ravel().argsort()]
    told = [results[case].predict(predictions[LATER], some(LATER), details=True)]
    for times in (3, 100):
        far = {name: times * values[LATER] for name, values in VIEWS.items()}
        told.append(results[case].predict(predictions[LATER], far, details=True))
    familiar = [one.familiar.mean() for one in told]
    assert familiar[0] > 0.98 > 0.6 > familiar[1] > 0.01 > familiar[2]
    moved = [np.corrcoef(one.predictions.ravel(), predictions[LATER].ravel())[0, 1] for one in told]
    assert max(0.99, moved[0]) < moved[2]
    if case != "ranking" and case != "comparisons":  # scores are on the scale of their ranks
        np.testing.assert_allclose(told[2].predictions, predictions[LATER], atol=1e-3 * predictions.std())
    else:
        np.testing.assert_array_equal(told[2].predictions.argsort(), order[0])


def test_a_far_row_of_an_unrelated_view_counts_too():
    rng = np.random.default_rng(0)
    views = VIEWS | {"junk": rng.normal(size=(N, 3))}
    result = tupi.denoise(SCORES[FIRST], some(FIRST, views), KNOWN)
    far = some(LATER, views)
    far["junk"][:5] *= 1000
    told = result.predict(SCORES[LATER], far, details=True)
    assert told.familiar[:5].max() < 0.01 < 0.9 < told.familiar[5:].mean()


def test_missing_views(results):
    result, scores = results["ranking"], SCORES[LATER]
    full = result.predict(scores, some(LATER))
    np.testing.assert_array_equal(result.predict(scores, {}), scores)
    without = some(LATER) | {"v1": np.full((N - SEEN, 5), np.nan)}
    left_out = {name: values for name, values in some(LATER).items() if name != "v1"}
    np.testing.assert_array_equal(result.predict(scores, without), result.predict(scores, left_out))
    for first in ("v0", "v1"):
        fewer = result.predict(scores, {first: VIEWS[first][LATER]})
        accuracies = [tupi.pairwise_accuracy(f, TRUTH[LATER]) for f in (scores, fewer, full)]
        assert accuracies[0] + 0.01 < accuracies[1] < accuracies[2]
    mixed = some(LATER)
    mixed["v0"] = mixed["v0"].copy()
    mixed["v0"][::2] = np.nan
    found = result.predict(scores, mixed)
    np.testing.assert_allclose(found[1::2], full[1::2], rtol=1e-9)  # those with all views are as they were
    assert np.corrcoef(found, full)[0, 1] > 0.9


def test_intervals_of_new_items_hold(results):
    for case in ("ranking", "regression"):
        truth = TRUTH if case == "ranking" else 5 + 2 * TRUTH
        told = results[case].predict(CASES[case][0][LATER], some(LATER), details=True)
        bounds = (results[case].interval(0.9), truth[FIRST]), (told.interval(0.9), truth[LATER])
        before, after = (np.mean((low < targets) & (targets < high)) for (low, high), targets in bounds)
        assert before - 0.05 < after < 0.99
    with pytest.raises(InputError, match="interval: found a result of method 'auto'"):
        results["comparisons"].predict(SCORES[LATER], some(LATER), details=True).interval()


def test_what_comes_back_is_of_the_kind_that_came_in(results):
    ids = pd.Index([f"i{k}" for k in range(N - SEEN)], name="item")
    plain = results["ranking"].predict(SCORES[LATER], some(LATER))
    frames = {
        name: pd.DataFrame(values, index=ids).sample(frac=1, random_state=0) for name, values in some(LATER).items()
    }
    series = results["ranking"].predict(pd.Series(SCORES[LATER], ids, name="score"), frames)
    assert series.name == "score"
    assert series.index.equals(ids)
    np.testing.assert_allclose(series.to_numpy(), plain)
    table = results["classes"].predict(pd.DataFrame(CHANCES[LATER], ids, list("abc")), some(LATER))
    assert list(table.columns) == list("abc")
    assert table.index.equals(ids)
    told = results["ranking"].predict(pd.Series(SCORES[LATER], ids), some(LATER), details=True).to_frame()
    assert list(told.columns) == ["initial", "prediction", "familiar"]
    assert told.index.equals(ids)
    told = results["classes"].predict(CHANCES[LATER], some(LATER), details=True).to_frame()
    assert list(told.columns)[2:4] == ["initial_2", "prediction_0"]


def test_columns_of_other_libraries_come_back_as_such(results):
    plain = results["ranking"].predict(SCORES[LATER], some(LATER))
    column = results["ranking"].predict(pl.Series("score", SCORES[LATER]), some(LATER))
    assert isinstance(column, pl.Series)
    assert column.name == "score"
    np.testing.assert_array_equal(column.to_numpy(), plain)
    chunked = results["ranking"].predict(pa.chunked_array([SCORES[LATER]]), some(LATER))
    assert isinstance(chunked, pa.ChunkedArray)
    np.testing.assert_array_equal(chunked.to_numpy(), plain)
    shares = results["classes"].predict(CHANCES[LATER], some(LATER))
    table = results["classes"].predict(pl.DataFrame(CHANCES[LATER], list("abc")), some(LATER))
    assert isinstance(table, pl.DataFrame)
    assert table.columns == list("abc")
    np.testing.assert_array_equal(table.to_numpy(), shares)


def test_class_columns_are_found_by_name():
    names = ["low", "middle", "high"]
    labels = tupi.Values(np.arange(LABELS), [names[k] for k in CLASSES[:LABELS]])
    result = tupi.denoise(pd.DataFrame(CHANCES[FIRST], columns=names), some(FIRST), labels, task="classification")
    table = pd.DataFrame(CHANCES[LATER], columns=names)
    straight = result.predict(table, some(LATER))
    pd.testing.assert_frame_equal(result.predict(table[names[::-1]], some(LATER)), straight)
    with pytest.raises(InputError, match="predictions: found columns low, middle"):
        result.predict(table[names[:2]], some(LATER))


def test_columns_of_tables_are_found_by_name():
    tables = {name: pd.DataFrame(values, columns=list("abcde")) for name, values in VIEWS.items()}
    first, later = (
        {name: table.iloc[rows].reset_index(drop=True) for name, table in tables.items()} for rows in (FIRST, LATER)
    )
    result = tupi.denoise(SCORES[FIRST], first, KNOWN)
    straight = result.predict(SCORES[LATER], later)
    turned = {name: table[list("edcba")].assign(more=1.0) for name, table in later.items()}
    np.testing.assert_array_equal(result.predict(SCORES[LATER], turned), straight)
    with pytest.raises(InputError, match="view 'v1': has no column 'c'"):
        result.predict(SCORES[LATER], later | {"v1": later["v1"].drop(columns="c")})


@pytest.mark.parametrize(
    ("predictions", "features", "said"),
    [
        (SCORES[LATER], {"v9": VIEWS["v0"][LATER]}, "found a view 'v9'; accepted: views that were there before, 'v0'"),
        (SCORES[LATER], {"v0": VIEWS["v0"][LATER, :4]}, "view 'v0' has 4 columns; accepted: 5"),
        (SCORES[LATER], {"v0": VIEWS["v0"][:7]}, "view 'v0' has 7 rows for 300 predictions"),
        (np.append(SCORES[LATER][1:], np.nan), some(LATER), "1 value(s) are NaN or infinite"),
        (SCORES[:0], {}, "found no items"),
        (CHANCES[LATER], some(LATER), "found shape (300, 3) for task 'ranking'"),
    ],
)
def test_refusals(predictions, features, said, results):
    with pytest.raises(InputError) as refusal:
        results["ranking"].predict(predictions, features)
    assert said in str(refusal.value)


def test_single_missing_values_are_treated_as_in_the_fit(results):
    later = some(LATER)
    later["v0"] = later["v0"].copy()
    later["v0"][0, 0] = np.nan
    with pytest.raises(InputError, match=r"view 'v0' lacks 1 single value"):
        results["ranking"].predict(SCORES[LATER], later)
    filling = tupi.denoise(SCORES[FIRST], some(FIRST), KNOWN, impute="median")
    found, full = (filling.predict(SCORES[LATER], one) for one in (later, some(LATER)))
    np.testing.assert_allclose(found[1:], full[1:], rtol=1e-9)
    assert 0 < abs(found[0] - full[0]) < full.std()


def test_other_methods_name_those_that_can():
    result = tupi.denoise(SCORES[FIRST], some(FIRST), method="knn")
    with pytest.raises(InputError, match=r"found a result of method 'knn'.*'auto', 'fuse', 'smooth' and 'tupi'"):
        result.predict(SCORES[LATER], some(LATER))


def test_a_result_that_was_pickled_still_predicts(results):
    copy = pickle.loads(pickle.dumps(results["ranking"]))
    new = results["ranking"].predict(SCORES[LATER], some(LATER))
    np.testing.assert_allclose(copy.predict(SCORES[LATER], some(LATER)), new)


@pytest.fixture(scope="module")
def moved():
    return {
        "ranking": tupi.denoise(SCORES[FIRST], some(FIRST), method="tupi"),
        "regression": tupi.denoise(5 + 2 * SCORES[FIRST], some(FIRST), method="tupi", task="regression"),
        "classes": tupi.denoise(CHANCES[FIRST], some(FIRST), method="tupi", task="classification"),
    }


@pytest.mark.parametrize("case", ["ranking", "regression", "classes"])
def test_what_the_papers_method_did_is_a_function_of_an_item(case, moved, tmp_path):
    result, predictions = moved[case], CASES[case][0]
    again = result.predict(predictions[FIRST], some(FIRST))
    change, repeated = (f - predictions[FIRST] for f in (result.predictions, again))
    assert np.corrcoef(change.ravel(), repeated.ravel())[0, 1] > 0.9
    new = result.predict(predictions[LATER], some(LATER))
    np.testing.assert_allclose(
        tupi.load(result.save(tmp_path / "saved.npz")).predict(predictions[LATER], some(LATER)), new
    )
    alone = result.predict(predictions[SEEN : SEEN + 1], some(slice(SEEN, SEEN + 1)))
    np.testing.assert_allclose(alone, new[:1], rtol=1e-6)
    far = {name: 100 * values[LATER] for name, values in VIEWS.items()}
    told = result.predict(predictions[LATER], far, details=True)
    assert told.familiar.max() < 0.01
    np.testing.assert_allclose(told.predictions, predictions[LATER], atol=0.01 * predictions.std())


def test_new_items_gain_by_the_papers_method_too(moved):
    new = moved["ranking"].predict(SCORES[LATER], some(LATER))
    together = tupi.denoise(SCORES, VIEWS, method="tupi").predictions[LATER]
    before, apart, whole = (tupi.pairwise_accuracy(f, TRUTH[LATER]) for f in (SCORES[LATER], new, together))
    assert whole > before + 0.03
    assert apart - before > 0.8 * (whole - before)
    fewer = moved["ranking"].predict(SCORES[LATER], {"v1": VIEWS["v1"][LATER]})
    assert before < tupi.pairwise_accuracy(fewer, TRUTH[LATER]) < apart


def test_the_papers_method_that_changed_nothing_changes_no_new_items():
    labels = tupi.Values(np.arange(60), SCORES[:60])  # the predictions themselves: nothing can score better
    result = tupi.denoise(SCORES[FIRST], some(FIRST), labels, method="tupi", n_iter=2, lam=0.3, sigma_w2=0.1)
    assert not result.changed
    np.testing.assert_array_equal(result.predict(SCORES[LATER], some(LATER)), SCORES[LATER])


def test_predictions_beyond_all_others_are_refused(results):
    """Their squares, and with them the uncertainty, would be no numbers."""
    with pytest.raises(InputError, match=r"predictions: found -5e\+299 \(item 1\), .* standard deviations from"):
        results["ranking"].predict(np.array([0.1, -5e299]), some(slice(SEEN, SEEN + 2)))
    far = results["ranking"].predict(np.array([0.1, -5e9]), some(slice(SEEN, SEEN + 2)), details=True)
    assert np.isfinite(far.predictions).all()
    assert np.isfinite(far.uncertainty).all()


@pytest.mark.parametrize("method", ["tupi", "auto"])
@pytest.mark.parametrize("value", [1.7e308, -1e300, 1e40])
def test_items_beyond_all_others_keep_their_prediction(method, value):
    params = {"lam": 0.3, "sigma_w2": 0.1, "n_iter": 2} if method == "tupi" else {}
    result = tupi.denoise(SCORES[FIRST], some(FIRST), method=method, **params)
    views = {name: np.array(values[SEEN : SEEN + 2]) for name, values in VIEWS.items()}
    for values in views.values():
        values[0, 0] = value
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = result.predict(SCORES[SEEN : SEEN + 2], views, details=True)
    assert found.familiar[0] == 0
    assert found.familiar[1] > 0.5
    assert found.predictions[0] == pytest.approx(SCORES[SEEN], abs=0.1)  # on the scale of ranks, for "auto"


def test_probabilities_that_are_called_by_the_other_class_are_refused():
    chance = pd.Series(1 / (1 + np.exp(-SCORES)), name="bad")
    labels = tupi.Values(np.arange(LABELS), np.where(TRUTH[:LABELS] > 0, "bad", "good"))
    result = tupi.denoise(chance[:SEEN], some(FIRST), labels, task="classification")
    later = chance[LATER], some(LATER)
    plain = result.predict(chance[LATER].to_numpy(), some(LATER))
    np.testing.assert_array_equal(result.predict(*later), plain)
    np.testing.assert_array_equal(result.predict(chance[LATER].rename("p"), some(LATER)), plain)
    np.testing.assert_array_equal(np.ravel(result.predict(chance[LATER].to_frame(), some(LATER))), plain)
    for call in (result.predict, result.drift):
        with pytest.raises(InputError, match="found a column called 'good', which is the other class; accepted: prob"):
            call((1 - chance[LATER]).rename("good"), some(LATER))


@pytest.mark.parametrize("kind", ["numbers", "any kind"])
def test_columns_of_the_same_name_are_told_apart_by_their_order_or_refused(kind):
    table = pd.DataFrame(VIEWS["v0"][:, :3], columns=["p", "p", "q"])
    if kind == "any kind":  # two columns of one name are refused from the start
        table = table.set_axis(["o", "p", "q"], axis=1).assign(word=np.where(TRUTH > 0, "x", "y"))
    result = tupi.denoise(SCORES[:SEEN], {"v0": table[:SEEN]}, KNOWN)
    found = result.predict(SCORES[LATER], {"v0": table[LATER]})
    turned = pd.concat([table, table.iloc[:, [0]].set_axis(["p"], axis=1)], axis=1)[LATER]
    if kind == "numbers":
        plain = tupi.denoise(SCORES[:SEEN], {"v0": table[:SEEN].to_numpy()}, KNOWN)
        np.testing.assert_array_equal(found, plain.predict(SCORES[LATER], {"v0": table[LATER].to_numpy()}))
        turned = table.iloc[LATER, ::-1]
    for call in (result.predict, result.drift):
        with pytest.raises(InputError, match="view 'v0': has 2 columns 'p'; accepted: one of each name, or"):
            call(SCORES[LATER], {"v0": turned})


def test_classes_that_come_twice_are_refused(results):
    names = ["a", "b", "c"]
    named = pd.DataFrame(CHANCES, columns=names)
    result = tupi.denoise(
        named[:SEEN], some(FIRST), tupi.Values(range(LABELS), np.array(names)[CLASSES[:LABELS]]), task="classification"
    )
    turned = named[names[::-1]][SEEN:].set_axis(range(N - SEEN))
    np.testing.assert_array_equal(
        result.predict(turned, some(LATER)), results["classes"].predict(CHANCES[LATER], some(LATER))
    )
    with pytest.raises(InputError, match="predictions: found columns a, b, c, c; accepted: those of before, a, b, c"):
        result.predict(pd.concat([named, named["c"]], axis=1)[SEEN:], some(LATER))
