import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import tupi
from tests.conftest import make_problem_arrays
from tests.methods.rows import class_problem
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Pairs, Values
from tupi.inputs.problem import make_problem
from tupi.judging.metrics import pairwise_accuracy
from tupi.methods.auto import fitting
from tupi.methods.auto.answers import LABEL_FREE, NEW
from tupi.methods.auto.auto import Fuse, label_free_of
from tupi.methods.auto.fitting import fitted
from tupi.methods.auto.guard import Blend
from tupi.methods.auto.items import Scale
from tupi.methods.auto.process import labelled_model
from tupi.results.summary import summary
from tupi.runtime.errors import InputError

N = 400
TRUTH, SCORES, VIEWS = make_problem_arrays(N)
ITEMS = np.random.default_rng(3).permutation(N)
LABELLED, UNSEEN = ITEMS[:40], ITEMS[40:]
KNOWN, JUDGING = Values(LABELLED, TRUTH[LABELLED]), Values(UNSEEN, TRUTH[UNSEEN])
JUNK = {f"junk{k}": np.random.default_rng(k).normal(size=(N, 4)) for k in range(3)}


def fuse(labels=KNOWN, scores=SCORES, views=None, **options):
    return tupi.denoise(scores, VIEWS if views is None else views, labels=labels, method="fuse", **options)


def answer_to(labels, task="ranking", scores=SCORES):
    """Return the answer to labels, the items it was fitted to, and the problem."""
    prepared = Prepared(make_problem(scores, VIEWS, labels, task))
    scale = Scale(task, prepared.scale, prepared.shift, probabilities=False)
    answer = fitted(label_free_of(prepared), labels, scale)
    return answer, answer.rows, prepared


def comparisons(items, k=80, seed=0):
    rng = np.random.default_rng(seed)
    first, second = rng.choice(items, k), rng.choice(items, k)
    keep = TRUTH[first] != TRUTH[second]
    first, second = first[keep], second[keep]
    up = TRUTH[first] > TRUTH[second]
    return Pairs(np.where(up, first, second), np.where(up, second, first))


def test_labels_help_and_evidence_says_so():
    found = fuse()
    gain = pairwise_accuracy(found.predictions, JUDGING) - pairwise_accuracy(SCORES, JUDGING)
    assert gain > 0.08
    assert found.evidence.accepted
    assert found.evidence.low > 0
    assert abs(found.evidence.gain - gain) < 0.06
    assert found.evidence.before == pytest.approx(pairwise_accuracy(SCORES, KNOWN))
    assert found.evidence.sentence.startswith("On 40 labels, each held out in turn, pairwise accuracy")


def test_evidence_does_not_see_the_labels_it_is_judged_by():
    """Labels without any relation to anything show no gain, however well the process fits them."""
    rng = np.random.default_rng(0)
    gains = []
    for seed in range(5):
        labels = Values(ITEMS[:40], np.random.default_rng(seed).normal(size=40))
        gains.append(fuse(labels, rng.normal(size=N), guard=False).evidence.gain)
    assert abs(np.mean(gains)) < 0.08


def test_pure_noise_leaves_the_predictions_alone():
    found = fuse(views=JUNK)
    np.testing.assert_array_equal(found.predictions, SCORES)
    assert not found.evidence.accepted
    assert found.evidence.sentence.endswith("The initial predictions were returned unchanged.")
    assert "pairwise accuracy would have gone from" in found.evidence.sentence
    assert "no credible gain" in found.notes[0]
    assert found.params["weight"] == 0
    assert (found.weights == 0).all(axis=None)  # what is not used has no weight


@pytest.mark.parametrize("n", [5, 30])
def test_comparisons_are_not_called_labels(n):
    """They were: "80 labels" for 80 comparisons."""
    first, second = ITEMS[:n], ITEMS[n : 2 * n]
    up = TRUTH[first] > TRUTH[second]
    found = fuse(Pairs(np.where(up, first, second), np.where(up, second, first)))
    assert found.evidence.noun == "comparison"
    assert found.evidence.sentence.startswith(f"On {n} comparisons" if n == 30 else "5 comparisons are too few")
    assert f"learned from {n} comparisons by a Gaussian process" in found.notes[0]
    assert f"{n} comparisons" in summary(found)[2]
    assert "label" not in found.evidence.sentence


def test_a_method_that_was_asked_for_does_not_say_that_it_was_chosen():
    """Of comparisons it says that there are labels, and 'smooth' that there are none where there are."""
    assert "label" not in fuse(comparisons(LABELLED)).notes[0]
    assert "was chosen" not in tupi.denoise(SCORES, VIEWS, labels=KNOWN, method="smooth").notes[0]


def test_without_the_guard_predictions_change():
    assert fuse(views=JUNK, guard=False).changed


def test_a_view_that_only_labels_can_connect_is_used():
    """The view knows the other half of the target, of which the scores know nothing."""
    rng = np.random.default_rng(0)
    other = rng.normal(size=N)
    target = SCORES + 1.5 * other
    found = fuse(Values(LABELLED, target[LABELLED]), views={"other": np.column_stack([other, rng.normal(size=N)])})
    judging = Values(UNSEEN, target[UNSEEN])
    assert pairwise_accuracy(SCORES, judging) < 0.9
    assert pairwise_accuracy(found.predictions, judging) > 0.98


def test_few_labels_do_not_turn_the_ranking_over():
    for seed in range(5):
        items = np.random.default_rng(seed).permutation(N)[:2]
        found = fuse(Values(items, -SCORES[items]))  # labels that contradict the scores altogether
        assert np.corrcoef(found.predictions, SCORES)[0, 1] > 0
        assert np.isnan(found.evidence.gain)


@pytest.mark.parametrize("size", [2, 3, 5, 200])
def test_any_number_of_labels(size):
    found = fuse(Values(ITEMS[:size], TRUTH[ITEMS[:size]]))
    assert pairwise_accuracy(found.predictions, JUDGING) > pairwise_accuracy(SCORES, JUDGING) - 0.01
    assert np.isfinite(found.uncertainty).all()


def test_of_many_labels_some_are_used(monkeypatch):
    monkeypatch.setattr(fitting, "MAX_LABELS", 15)
    found = fuse()
    assert "15 of 40 labels" in found.notes[0]
    assert pairwise_accuracy(found.predictions, JUDGING) > pairwise_accuracy(SCORES, JUDGING)
    found = fuse(comparisons(LABELLED))
    assert "7 of" in found.notes[0]


def test_pairs_help():
    pairs = comparisons(LABELLED, 150)
    found = fuse(pairs)
    assert pairwise_accuracy(found.predictions, JUDGING) > pairwise_accuracy(SCORES, JUDGING) + 0.05
    assert found.evidence.metric == "pairwise accuracy"
    assert found.evidence.before == pytest.approx(pairwise_accuracy(SCORES, pairs))
    assert np.isfinite(found.uncertainty).all()


def test_comparisons_count_as_the_values_whose_correlation_is_as_uncertain():
    """By chance, arctanh of the correlation made from their share of right ones has the variance of so many values."""
    pairs = Pairs(ITEMS[:60], ITEMS[60:120])
    answer, _, _ = answer_to(pairs)
    right, (correlation, size) = np.mean(answer.fused.differences > 0), answer.agreement()
    assert correlation == pytest.approx(np.sin(np.pi * (right - 0.5)))
    shares = np.random.default_rng(0).binomial(60, 0.5, 100_000) / 60
    assert 1 / (size - 3) == pytest.approx(np.var(np.arctanh(np.sin(np.pi * (shares - 0.5)))), rel=0.1)


def test_one_pair():
    found = fuse(Pairs([0], [1]))
    assert np.isfinite(found.predictions).all()


def test_regression_comes_back_in_the_units_of_the_labels():
    labels = Values(LABELLED, 100 + 20 * TRUTH[LABELLED])
    found = fuse(labels, task="regression")  # the scores have other units altogether
    truth = 100 + 20 * TRUTH[UNSEEN]
    assert 1 - np.var(found.predictions[UNSEEN] - truth) / np.var(truth) > 0.75
    assert found.evidence.metric == "R²"
    inside = np.abs(found.predictions[UNSEEN] - truth) < 1.28 * found.uncertainty[UNSEEN]
    assert 0.7 < inside.mean() < 0.95  # of 80 per cent intervals


def test_intervals_hold_their_share_on_average_over_draws_of_labels():
    """The share within one interval varies with the 40 labels that it was made of, by about five points."""
    shares = []
    for seed in range(20):
        items = np.random.default_rng(seed).permutation(N)
        found = fuse(Values(items[:40], TRUTH[items[:40]]), task="regression")
        bounds = [found.interval(level) for level in (0.5, 0.8, 0.95)]
        truth = TRUTH[items[40:]]
        shares.append([np.mean((low[items[40:]] < truth) & (truth < high[items[40:]])) for low, high in bounds])
    np.testing.assert_allclose(np.mean(shares, axis=0), [0.5, 0.8, 0.95], atol=0.04)


def test_intervals_hold_for_errors_that_are_not_normal():
    """Four fifths of the left-out errors and of one more, which may be any, are within reach."""
    found = fuse(task="regression")
    errors = np.sort(found.left_out_errors)
    low, high = found.interval(0.8)
    np.testing.assert_allclose((low + high) / 2, found.predictions)
    within = errors[int(np.ceil(0.8 * (len(errors) + 1))) - 1]
    np.testing.assert_allclose((high - low) / 2 / found.uncertainty, within)


def test_left_out_errors_are_those_of_what_came_back():
    """In units of the deviation of a label given all others, which the process says."""
    answer, rows, prepared = answer_to(KNOWN, "regression")
    K = np.linalg.inv(answer.fused.middles[0])
    kept = np.arange(1, len(K))
    variance = K[0, 0] - K[0, kept] @ np.linalg.solve(K[np.ix_(kept, kept)], K[kept, 0])
    deviation = np.sqrt(variance) * answer.values.std()
    f = prepared.f[rows[0], 0] * prepared.scale[0] + prepared.shift[0]
    assert answer.values[0] == TRUTH[rows[0]]
    g = answer.fused.left_out.held_out[0, 0] * answer.values.std() + answer.values.mean()
    expected = abs(0.3 * f + 0.7 * g - answer.values[0]) / deviation
    assert answer.left_out_errors(Blend(0.7, 0.3, 0.0))[0] == pytest.approx(expected)


def test_no_intervals_without_errors():
    with pytest.raises(InputError, match="interval: found a result of method 'knn'"):
        tupi.denoise(SCORES, VIEWS, method="knn").interval()
    with pytest.raises(InputError, match="interval: found a result of method 'fuse'"):
        fuse(comparisons(LABELLED)).interval()
    with pytest.raises(InputError, match="level: found 95"):
        fuse().interval(95)


@pytest.mark.parametrize("logits", [False, True])
def test_classes(logits):
    chances, views, truth = class_problem(400)
    scores = 3 * np.log(chances) + 5 if logits else chances
    found = fuse(Values(np.arange(40), truth[:40]), scores, views, task="classification")
    before, after = (np.mean(p[40:].argmax(axis=1) == truth[40:]) for p in (chances, found.predictions))
    assert after > before + 0.1
    assert found.evidence.metric == "accuracy"
    assert found.uncertainty.shape == (400,)
    if not logits:
        np.testing.assert_allclose(found.predictions.sum(axis=1), 1)


def test_a_class_without_labels():
    chances, views, truth = class_problem(400)
    items = np.flatnonzero(truth != 2)[:30]
    found = fuse(Values(items, truth[items]), chances, views, task="classification")
    assert np.isfinite(found.predictions).all()


@pytest.mark.parametrize("labels", [KNOWN, comparisons(LABELLED)], ids=["values", "pairs"])
def test_the_order_of_items_and_views_does_not_matter(labels):
    expected = fuse(labels)
    shuffle = np.random.default_rng(0).permutation(N)
    place = np.argsort(shuffle)
    if isinstance(labels, Values):
        moved = Values(place[labels.index], labels.values)
    else:
        moved = Pairs(place[labels.higher], place[labels.lower])
    views = {name: VIEWS[name][shuffle] for name in reversed(VIEWS)}
    found = fuse(moved, SCORES[shuffle], views)
    np.testing.assert_allclose(found.predictions, expected.predictions[shuffle], atol=1e-6)
    np.testing.assert_allclose(found.uncertainty, expected.uncertainty[shuffle], atol=1e-6)


@pytest.mark.parametrize("labels", [None, comparisons(LABELLED)], ids=["none", "pairs"])
def test_for_ranking_only_the_order_of_the_scores_counts(labels):
    expected, found = (tupi.denoise(scores, VIEWS, labels=labels) for scores in (SCORES, np.exp(3 * SCORES)))
    np.testing.assert_array_equal(np.argsort(found.predictions), np.argsort(expected.predictions))
    assert found.predictions.mean() == pytest.approx(np.exp(3 * SCORES).mean())
    assert found.predictions.std() == pytest.approx(np.exp(3 * SCORES).std())


def test_values_may_follow_the_scores_as_they_came():
    """That is what likelihood decides: scores that only have the right order are worth what normal scores are."""
    usual, bent, coarse = (
        tupi.denoise(scores, VIEWS, labels=KNOWN) for scores in (SCORES, np.exp(3 * SCORES), np.arctan(9 * SCORES))
    )
    assert spearmanr(bent.predictions, usual.predictions)[0] > 0.99
    assert spearmanr(coarse.predictions, usual.predictions)[0] > 0.99
    assert not np.array_equal(np.argsort(bent.predictions), np.argsort(usual.predictions))


def test_a_truth_that_is_linear_in_scores_and_views_is_found(monkeypatch):
    """Normal scores of what is far from normal leave a curve, which no view explains."""
    rng = np.random.default_rng(0)
    scores, view = rng.exponential(size=400) ** 2, rng.normal(size=(400, 3))
    truth = scores + view @ [1.0, -1.0, 1.0]
    found = []
    for likely in (fitting.AS_THEY_CAME, 0.0):
        monkeypatch.setattr(fitting, "AS_THEY_CAME", likely)
        after = fuse(tupi.Values(np.arange(40), truth[:40]), scores, {"view": view}).predictions
        found.append(pairwise_accuracy(after[40:], truth[40:]))
    assert found[0] > 0.96
    assert found[0] > found[1] + 0.02


def test_same_seed_same_result():
    first, second = fuse(random_state=3), fuse(random_state=3)
    np.testing.assert_array_equal(first.predictions, second.predictions)
    np.testing.assert_array_equal(first.suggest(20), second.suggest(20))


def test_missing_views():
    views = {name: view.copy() for name, view in VIEWS.items()}
    views["near"][::4] = np.nan
    for view in views.values():
        view[UNSEEN[0]] = np.nan
        view[LABELLED[0]] = np.nan
    found = fuse(views=views)
    assert found.predictions[UNSEEN[0]] == SCORES[UNSEEN[0]]
    assert np.isnan(found.uncertainty[UNSEEN[0]])
    assert pairwise_accuracy(found.predictions, JUDGING) > pairwise_accuracy(SCORES, JUDGING) + 0.05


def left_out_slowly(model, v, residuals, items):
    """Return predictions of some residuals from all others, under given variances."""
    K = model.covariance(v, 0)  # the noise of items that are left out is not between them and others
    kept = np.setdiff1d(np.arange(len(K)), items)
    return K[np.ix_(items, kept)] @ np.linalg.solve(K[np.ix_(kept, kept)], residuals[kept])


def values_with_model(labels):
    """Return the answer to labels, their model before its variances are known, the mean function and residuals."""
    answer, _, _ = answer_to(labels)
    kernels = answer.fused.kernels
    columns = kernels.of_columns(answer.fused.labelled)
    model = labelled_model(columns, kernels.within(), kernels.prior)
    prior = columns[0, 0]
    mean = (prior - prior.mean()) / np.sqrt(prior.var() + (1 - 0.8**2) / 0.8**2)
    z = (answer.values - answer.values.mean()) / answer.values.std()
    return answer, model, mean, z - mean


def test_weights_are_shares_of_views():
    found = fuse()
    assert list(found.weights.columns) == ["near", "bent", "junk"]
    np.testing.assert_allclose(found.weights.sum(axis=1), 1)
    assert (found.weights["junk"] == 0).all()


def test_suggestions_and_uncertainty_are_saved(tmp_path):
    found = fuse()
    back = tupi.load(found.save(tmp_path / "run.npz"))
    np.testing.assert_array_equal(back.uncertainty, found.uncertainty)
    np.testing.assert_array_equal(back.interval(0.8), found.interval(0.8))
    np.testing.assert_array_equal(back.suggest(7), found.suggest(7))
    many = found.suggest(300)
    assert len(np.unique(many)) == 300
    assert not np.isin(found.suggest(100), LABELLED).any()


def test_suggested_pairs():
    pairs = comparisons(LABELLED)
    found = fuse(pairs).suggest(10)
    assert found.shape == (10, 2)
    assert (found[:, 0] != found[:, 1]).all()


@pytest.mark.parametrize("task", ["ranking", "regression"])
def test_labels_of_all_items(task):
    """Nothing is left to suggest; the predictions come back all the same."""
    found = tupi.denoise(SCORES[:60], {name: view[:60] for name, view in VIEWS.items()}, labels=TRUTH[:60], task=task)
    assert np.isfinite(found.predictions).all()


def test_without_labels_there_are_first_suggestions():
    found = tupi.denoise(SCORES, VIEWS).suggest(30)
    assert len(np.unique(found)) == 30
    np.testing.assert_array_equal(found, tupi.denoise(SCORES, VIEWS, method="smooth").suggest(30))


def test_other_methods_suggest_nothing():
    found = tupi.denoise(SCORES, VIEWS, method="knn")
    assert found.uncertainty is None
    with pytest.raises(InputError, match="suggest: method 'knn' does not know"):
        found.suggest(3)
    with pytest.raises(InputError, match="k: found 0"):
        fuse().suggest(0)


def test_pandas_input():
    index = pd.Index([f"id{k}" for k in range(N)])
    labels = pd.Series(np.nan, index=index)
    labels.iloc[LABELLED] = TRUTH[LABELLED]
    found = tupi.denoise(pd.Series(SCORES, index=index), VIEWS, labels=labels, method="fuse")
    np.testing.assert_allclose(found.predictions, fuse().predictions)


def test_bad_input():
    with pytest.raises(InputError, match="labels: found none, and method 'fuse' is fitted to labels"):
        fuse(None)
    with pytest.raises(InputError, match="guard: found 'yes'"):
        Fuse(guard="yes")


def test_few_labels_speak_against_what_they_taught_alone():
    """Of a strong predictor ten labels change less, but the label-free answer was taught by none."""
    items = np.argsort(TRUTH)[5::40]
    strong = TRUTH + 0.02 * np.random.default_rng(0).normal(size=N)
    answer = answer_to(Values(items, TRUTH[items]), scores=strong)[0]
    assert answer.gain(NEW).before == 1
    assert answer.share(NEW, 0.8) < 0.75
    assert [answer.share(LABEL_FREE, p) for p in (0.2, 0.4, 0.6)] == pytest.approx([0.0, 0.5, 1.0])
