"""`tupi.denoise` as its users see it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

import tupi
from tests.conftest import make_problem_arrays
from tupi.results.summary import judgement

N = 120
TRUTH, SCORES, VIEWS = make_problem_arrays(N)
QUICK = {"method": "tupi", "lam": 0.3, "sigma_w2": 0.1, "n_iter": 4}
KNOWN = tupi.Values(np.arange(40), TRUTH[:40])


def standard(f):
    return (f - f.mean()) / f.std()


def run(scores=SCORES, views=VIEWS, **params):
    return tupi.denoise(scores, views, **{**QUICK, **params}).predictions


BASE = {kernel: run(kernel=kernel) for kernel in ("gaussian", "diffusion")}
kernels = pytest.mark.parametrize("kernel", ["gaussian", "diffusion"])
# The fused engine stores float32; what changes the order of its sums within a row changes the last digits.
engines = pytest.mark.parametrize(("engine", "rounding"), [("reference", 1e-6), ("fused", 1e-5)])


@given(shift=st.floats(-1e3, 1e3), scale=st.floats(1e-3, 1e3))
@settings(max_examples=8)
def test_shift_and_scale_of_the_predictions(shift, scale):
    np.testing.assert_allclose(run(SCORES * scale + shift), BASE["gaussian"] * scale + shift, atol=1e-5 * scale)


@kernels
@engines
def test_reflection_of_the_predictions(kernel, engine, rounding):
    base = run(kernel=kernel, engine=engine)
    np.testing.assert_allclose(run(-SCORES, kernel=kernel, engine=engine), -base, atol=rounding)


@kernels
def test_order_of_items(kernel):
    order = np.random.default_rng(1).permutation(N)
    shuffled = run(SCORES[order], {name: values[order] for name, values in VIEWS.items()}, kernel=kernel)
    np.testing.assert_allclose(shuffled, BASE[kernel][order], atol=1e-6)


@kernels
@engines
@given(order=st.permutations(list(VIEWS)))
@settings(max_examples=4)
def test_order_of_views(kernel, engine, rounding, order):
    expected = run(kernel=kernel, engine=engine)
    other = run(views={name: VIEWS[name] for name in order}, kernel=kernel, engine=engine)
    np.testing.assert_allclose(other, expected, atol=rounding)


def test_a_copy_of_the_data():
    twice = run(np.tile(SCORES, 2), {name: np.tile(values, (2, 1)) for name, values in VIEWS.items()})
    np.testing.assert_allclose(twice, np.tile(BASE["gaussian"], 2), atol=1e-6)


@kernels
@given(seed=st.integers(0, 1000))
@settings(max_examples=5)
def test_a_rotated_view(kernel, seed):
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(4, 4)))[0]
    rotated = {**VIEWS, "junk": VIEWS["junk"] @ rotation}
    # Columns are not scaled one by one here: that would not commute with a rotation.
    expected = run(scaling="view", kernel=kernel)
    np.testing.assert_allclose(run(views=rotated, scaling="view", kernel=kernel), expected, atol=1e-6)


@pytest.mark.parametrize("engine", ["fused", "reference", "exact"])
def test_same_seed_same_result(engine):
    first, second = (tupi.denoise(SCORES, VIEWS, labels=KNOWN, method="tupi", n_iter=3, engine=engine) for _ in "ab")
    assert first.predictions.tobytes() == second.predictions.tobytes()
    pd.testing.assert_frame_equal(first.weights, second.weights)
    assert first.evidence == second.evidence


def test_engines_agree():
    results = {engine: run(engine=engine, rank=N) for engine in ("fused", "reference", "exact")}
    assert np.corrcoef(results["fused"], results["reference"])[0, 1] > 0.99999
    assert np.corrcoef(results["exact"], results["reference"])[0, 1] > 0.99999


@pytest.mark.slow
def test_exact_and_low_rank_agree_on_2000_items_and_differ_by_the_rank_alone():
    truth, scores, views = make_problem_arrays(2000)
    exact = run(scores, views, engine="exact", n_iter=3)
    gaps = [1 - spearmanr(exact, run(scores, views, engine="reference", n_iter=3, rank=k))[0] for k in (10, 50, 400)]
    assert gaps[1] < 0.01
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-4
    assert tupi.pairwise_accuracy(exact, truth) > tupi.pairwise_accuracy(scores, truth)


def test_better_on_average_and_says_why():
    result = tupi.denoise(SCORES, VIEWS, method="tupi", lam=0.3, sigma_w2=0.05, n_iter=10)
    assert tupi.pairwise_accuracy(result.predictions, TRUTH) > tupi.pairwise_accuracy(SCORES, TRUTH) + 0.03
    assert result.weights.shape == (11, 3)
    np.testing.assert_allclose(result.weights.sum(axis=1), 1)
    assert result.weights.iloc[-1].idxmin() == "junk"
    assert result.dependence.loc["near", "after"] > result.dependence.loc["near", "before"]
    assert result.dependence.loc["near", "p_value"] < 1e-4 < 0.01 < result.dependence.loc["junk", "p_value"]
    assert result.evidence is None
    assert (result.history["energy_end"] <= result.history["energy_start"])[1:].all()


def test_a_negated_view_is_as_good_as_the_truth():
    straight = tupi.denoise(SCORES, {"v": TRUTH}, **QUICK).predictions
    negated = tupi.denoise(SCORES, {"v": -TRUTH}, **QUICK).predictions
    np.testing.assert_allclose(straight, negated, atol=1e-6)
    assert tupi.pairwise_accuracy(negated, TRUTH) > tupi.pairwise_accuracy(SCORES, TRUTH) + 0.05


def test_labels_choose_and_are_not_the_ones_that_judge():
    result = tupi.denoise(SCORES, VIEWS, labels=KNOWN, method="tupi")
    assert result.evidence.accepted
    assert result.evidence.n_labels == 40
    assert result.evidence.low < result.evidence.gain < result.evidence.high
    assert "pairwise accuracy went from" in result.evidence.sentence
    assert result.params["n_iter"] == len(result.history) - 1
    assert result.history["score"].idxmax() == len(result.history) - 1  # the best step, not the last one tried
    unseen = slice(40, None)
    before, after = (tupi.pairwise_accuracy(f[unseen], TRUTH[unseen]) for f in (SCORES, result.predictions))
    assert after > before + 0.03


def test_forms_of_labels_agree():
    array = np.where(np.arange(N) < 40, TRUTH, np.nan)
    by_array = tupi.denoise(SCORES, VIEWS, labels=array, method="tupi", n_iter=5)
    by_values = tupi.denoise(SCORES, VIEWS, labels=KNOWN, method="tupi", n_iter=5)
    np.testing.assert_array_equal(by_array.predictions, by_values.predictions)
    higher, lower = np.nonzero(TRUTH[:40, None] > TRUTH[None, :40])
    by_pairs = tupi.denoise(SCORES, VIEWS, labels=tupi.Pairs(higher, lower), method="tupi", n_iter=5)
    np.testing.assert_array_equal(by_pairs.predictions, by_values.predictions)  # all pairs say what the values say


def test_useless_views_leave_the_predictions_alone():
    junk = np.random.default_rng(5).normal(size=(N, 3))
    result = tupi.denoise(TRUTH, {"junk": junk}, labels=KNOWN, method="tupi")
    np.testing.assert_array_equal(result.predictions, TRUTH)
    assert not result.changed
    assert not result.evidence.accepted
    assert "unchanged" in result.evidence.sentence
    assert "None of" in result.notes[0]


def test_items_without_a_view():
    views = {name: values.copy() for name, values in VIEWS.items()}
    for values in views.values():
        values[:5] = np.nan  # these items have no view at all
    views["near"][5:40] = np.nan  # these lack one
    result = tupi.denoise(SCORES, views, **QUICK)
    np.testing.assert_array_equal(result.predictions[:5], SCORES[:5])
    alone = tupi.denoise(SCORES[5:], {name: values[5:] for name, values in views.items()}, **QUICK)
    np.testing.assert_allclose(result.predictions[5:], alone.predictions, atol=1e-6)
    assert tupi.pairwise_accuracy(result.predictions, TRUTH) > tupi.pairwise_accuracy(SCORES, TRUTH)


def test_callback_sees_steps_and_can_stop():
    seen = []
    result = tupi.denoise(SCORES, VIEWS, callback=lambda step: seen.append(step.t) or step.t == 2, **QUICK)
    assert seen == [0, 1, 2]
    assert len(result.history) == 3
    assert result.changed
    stopped = tupi.denoise(SCORES, VIEWS, labels=KNOWN, method="tupi", callback=lambda step: True)
    assert not stopped.changed


def test_save_and_load(tmp_path):
    index = pd.Index([f"id{k}" for k in range(N)], name="item")
    result = tupi.denoise(pd.Series(SCORES, index=index), VIEWS, labels=KNOWN, **QUICK)
    back = tupi.load(result.save(tmp_path / "run.npz"))
    np.testing.assert_array_equal(back.predictions, result.predictions)
    np.testing.assert_array_equal(back.initial, result.initial)
    pd.testing.assert_frame_equal(back.weights, result.weights, check_index_type=False)
    pd.testing.assert_frame_equal(back.dependence, result.dependence, rtol=1e-9, check_index_type=False)
    pd.testing.assert_frame_equal(back.history, result.history, check_index_type=False)
    pd.testing.assert_frame_equal(back.to_frame(), result.to_frame())
    assert back.evidence == result.evidence
    assert back.params == result.params
    assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]
    (tmp_path / "other.npz").write_bytes(b"not a result")
    with pytest.raises(tupi.InputError, match="not a result saved by tupi"):
        tupi.load(tmp_path / "other.npz")


def test_dates_as_ids_are_saved(tmp_path):
    days = pd.DatetimeIndex(np.datetime64("2024-01-01") + np.arange(len(SCORES)), name="day")
    frames = {name: pd.DataFrame(view, index=days) for name, view in VIEWS.items()}
    result = tupi.denoise(pd.Series(SCORES, days), frames, **QUICK)
    loaded = tupi.load(result.save(tmp_path / "result.npz"))
    pd.testing.assert_index_equal(loaded.index, days)


def test_ids_of_several_levels_are_saved(tmp_path):
    queries, ranks = np.arange(len(SCORES)) // 5, [f"d{k % 5}" for k in range(len(SCORES))]
    for names in (["query", "document"], [None, "document"]):
        index = pd.MultiIndex.from_arrays([queries, ranks], names=names)
        result = tupi.denoise(pd.Series(SCORES, index=index), VIEWS, **QUICK)
        loaded = tupi.load(result.save(tmp_path / "result.npz"))
        pd.testing.assert_index_equal(loaded.index, index)
        pd.testing.assert_frame_equal(loaded.to_frame(), result.to_frame())


@pytest.mark.parametrize("meta", ["{}", "[]", '{"format": 1}', '{"format": "new"}', '{"format": 2}'])
def test_files_that_are_no_results_get_a_sentence(tmp_path, meta):
    saved = tupi.denoise(SCORES, VIEWS, **QUICK).save(tmp_path / "result.npz")
    with np.load(saved) as file:
        arrays = dict(file)
    np.savez(tmp_path / "other.npz", **arrays | {"meta": np.array(meta)})
    with pytest.raises(
        tupi.InputError, match=r"path: 'other\.npz' (is not a result saved by tupi|was saved by a newer)"
    ):
        tupi.load(tmp_path / "other.npz")


@pytest.mark.parametrize("engine", ["fused", "reference", "exact"])
@kernels
def test_equal_items_stay_equal(kernel, engine):
    """A third item has room for ten neighbours, and may list one of two equal ones only."""
    items = np.random.default_rng(0).permutation(np.concatenate([np.arange(60), np.arange(20)]))
    views = {name: values[items] for name, values in VIEWS.items()}
    found = run(SCORES[items], views, kernel=kernel, engine=engine)
    assert max(np.ptp(found[items == item]) for item in range(20)) < 1e-6
    assert np.abs(found - SCORES[items]).max() > 0.01


def test_too_few_labels_are_said_to_be_too_few():
    result = tupi.denoise(SCORES, VIEWS, labels=tupi.Values([0, 1, 2], TRUTH[:3]), method="tupi", n_iter=2)
    assert "too few" in result.evidence.sentence
    assert np.isnan(result.evidence.gain)


def test_regression_keeps_scale_and_lowers_the_error():
    result = tupi.denoise(
        50 + 10 * SCORES,
        VIEWS,
        labels=tupi.Values(np.arange(40), 50 + 10 * TRUTH[:40]),
        method="tupi",
        task="regression",
    )
    error_before = np.sqrt(np.mean((50 + 10 * SCORES[40:] - (50 + 10 * TRUTH[40:])) ** 2))
    error_after = np.sqrt(np.mean((result.predictions[40:] - (50 + 10 * TRUTH[40:])) ** 2))
    assert error_after < 0.95 * error_before
    assert result.evidence.metric == "R²"


def test_classification_gives_probabilities_again():
    rng = np.random.default_rng(0)
    classes = np.digitize(TRUTH, [-0.5, 0.5])
    logits = 1.5 * np.eye(3)[classes] + rng.normal(size=(N, 3))
    weak = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    result = tupi.denoise(
        weak, VIEWS, labels=tupi.Values(np.arange(40), classes[:40]), task="classification", method="tupi", n_iter=10
    )
    np.testing.assert_allclose(result.predictions.sum(axis=1), 1)
    assert (result.predictions >= 0).all()
    before, after = (np.mean(p[40:].argmax(axis=1) == classes[40:]) for p in (weak, result.predictions))
    assert after >= before
    raw = tupi.denoise(logits, VIEWS, task="classification", method="tupi", n_iter=3)
    assert raw.predictions.shape == (N, 3)
    assert raw.to_frame().shape == (N, 6)


def test_the_evidence_counts_the_labels_that_judged(monkeypatch):
    """Of very many labels only some are used, and the sentence told of all of them."""
    truth, scores, views = make_problem_arrays(200)
    everything = tupi.denoise(scores, views, tupi.Values(range(100), truth[:100])).evidence
    assert (everything.n_labels, everything.n_judging) == (100, None)
    assert everything.sentence.startswith("On 100 labels, each held out")
    monkeypatch.setattr("tupi.methods.auto.fitting.MAX_LABELS", 60)
    monkeypatch.setattr("tupi.methods.auto.comparisons.MAX_JUDGED", 30)
    some = tupi.denoise(scores, views, tupi.Values(range(100), truth[:100])).evidence
    assert (some.n_labels, some.n_judging) == (100, 60)
    assert some.sentence.startswith("On 60 of 100 labels, each held out")
    assert judgement(some).startswith("On 60 of 100 labels, each held out")
    alone = tupi.denoise(scores, {"near": views["near"]}, tupi.Values(range(100), truth[:100]))
    worth = alone.view_gains.loc["near", ["gain", "low", "high"]].astype(float)
    np.testing.assert_allclose(worth, [alone.evidence.gain, alone.evidence.low, alone.evidence.high], atol=1e-9)
    order = np.argsort(-truth[:50])
    pairs = tupi.denoise(scores, views, tupi.Pairs(order[:-5], order[5:])).evidence
    assert pairs.sentence.startswith("On 30 of 45 comparisons, each held out")
    assert pairs.high - pairs.low > 4 * 0.1 / np.sqrt(30)  # the interval is that of as many
