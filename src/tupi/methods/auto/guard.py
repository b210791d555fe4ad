"""How far to believe the labels, and what was made of them.

Two questions are answered apart. Do the labels belong to these items at all? Labels that were matched to the wrong ids
agree with nothing, and whatever is learned from them is harmful. `confirmation` compares the labels with predictions
that did not see them. And are the new predictions better than the initial ones? `probability_of_gain` compares both on
labels that were left out. Labels that are not confirmed are left aside, and the label-free answer comes back.

How much of each of two predictions to take is said by labels that were left out, too (`mean_shares`). The share has a
Beta distribution before any label. Errors of the combination are normal with an unknown variance, so that m labels give
shares the likelihood (SSE + slack)^-(m + PRIOR_LABELS) / 2, with SSE the sum of squared errors. What is used are means
of the shares under both together: predictions that err alike leave the prior as it is, and one that errs clearly more
gets next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, expit, log_ndtr, log_softmax, ndtr, softmax

from tupi.judging.evidence import LEAST_CONFIRMED, Gain

# Labels from which on the whole cost of a change counts, and with fewer a part of it in proportion: ids go astray in
# files, seldom in answers that are typed in.
FULL_COST = 40
EXPECTED, EXPECTED_SD = 1.0, 0.25  # arctanh of the correlation of labels with predictions that did not see them
MOST = 1.5  # in some problems any arctanh from 0 to this is as likely
# From the first of these probabilities of a gain on the share of new predictions rises evenly to 1 at the second.
LEAST, ENOUGH = 0.4, 0.8
# The same for the label-free answer, which no label has taught and which views speak for already.
LEAST_OF_FREE, ENOUGH_OF_FREE = 0.2, 0.6
# Below this probability a share is not simply the probability, and from how many labels on: fewer measure a gain so
# badly that a low probability says less, in proportion.
LEAST_IN_DOUBT, MANY_LABELS = 0.5, 100
LEAST_UNRELATED = 0.95  # below, nothing changes where no view depends on the predictions: only labels speak for a gain
# Unless predictions are weak, and labels speak for the views: up to the first of these products of both probabilities
# nothing changes all the same, and from the second on new predictions come back.
LEAST_OF_VIEWS, ENOUGH_OF_VIEWS = 0.5, 0.7
# Log odds, before any label, that views explain something beyond the predictions, by what they promise; and how much
# less they are for a ranking of which less than usual is wrong, with ten labels, and in proportion less with more.
FOR_VIEWS, LESS_OF_STRONG = {1.0: 50.0, 0.5: 1.0, 0.0: 0.0}, 2.0
WIDER = 5.0  # than elsewhere is what is expected there: views that only labels can connect gain nothing, or a lot
# For squared errors and probabilities of classes: the share of new predictions that is expected before any label where
# views promise all of the usual gain, half of it or none; as how many labels that counts; and the share below which
# nothing changes.
EXPECTED_SHARES, LABELS_OF_SHARE, LEAST_SHARE = {1.0: 0.7, 0.5: 0.4, 0.0: 0.1}, 3.0, 0.1
USUALLY_WRONG, USUAL_LABELS = 0.25, 20  # share of wrong pairs or classes, and as how many labels that counts
FEW_LABELS = 10  # with so many a strong predictor is changed less, in proportion to what is wrong; fewer count as these
TRIED = 200  # shares, each as likely as any other before labels
PRIOR_LABELS, PRIOR_VARIANCE = 2.0, 0.3  # the errors' variance is expected to be this, in that of the labels
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Expectation:
    """What is known of a gain before any label: views that depend on the predictions usually help.

    Attributes
    ----------
    mean : float
        Of a normal distribution, in per cent of what is wrong before: a strong predictor leaves little to gain.
    sd : float
        Its deviation, in hundredths.
    least_error : float
        No few labels know the gain better than that, in hundredths.
    """

    mean: float
    sd: float
    least_error: float


OF_SHARES = Expectation(8.0, 2.0, 1.0)  # of pairs, or of classes
OF_ERRORS = Expectation(10.0, 20.0, 5.0)  # of the squared error


def wrong_before(gain: Gain, size: int) -> float:
    """Return the share that is wrong before, as far as so many labels tell: a few may all be right by chance."""
    return (size * (1 - gain.before) + USUAL_LABELS * USUALLY_WRONG) / (size + USUAL_LABELS)


def probability_of_gain(gain: Gain, promise: float, prior: Expectation = OF_SHARES, wrong: float = 1.0) -> float:
    """Return P(gain > 0 | labels): the prior of the gain times the likelihood of what was measured, both normal.

    Parameters
    ----------
    gain : Gain
        What was measured.
    promise : float
        How much of the usual gain the views promise, from 0 to 1, see `tupi.methods.auto.labelfree.LabelFree.promise`.
        If it is 0, no gain is expected, and a large one not ruled out.
    prior : Expectation
        What is usual.
    wrong : float
        The share that is wrong before, see `wrong_before`.
    """
    precision = 1 / (prior.sd if promise else WIDER * prior.sd) ** 2
    total = precision * promise * prior.mean * wrong
    if np.isfinite(gain.error):
        weight = 1 / max(100 * gain.error, prior.least_error) ** 2
        precision, total = precision + weight, total + weight * gain.points
    return float(ndtr(total / np.sqrt(precision)))


@dataclass(frozen=True)
class Doubt:
    """How far labels are taken to belong to the items before they are compared with anything.

    Attributes
    ----------
    odds : float
        Log odds that they do.
    cost : float
        A change must be as credible as it is large: so much is taken off these odds for new predictions that are
        uncorrelated with the label-free answer, and twice as much for reversed ones.
    weak : float
        Share of problems in which labels need not agree with predictions as far as is usual, see `MOST`.
    slight : float
        What is taken off however small the change is, as if it were larger by that.
    power : float
        To which changes of less than one are raised: with two, new predictions halfway there cost a quarter.
    of_views : float
        Share of the log odds by which labels speak for the views that is added, see `odds_of_views`.
    """

    odds: float
    cost: float
    weak: float
    slight: float = 0.0
    power: float = 1.0
    of_views: float = 0.0


OF_ORDER = Doubt(3.7, 10.0, 0.03, 0.12, 2.0)  # of rankings by values, and of two classes
# Wrong labels soon make values worse than predictions that are left alone.
OF_VALUES = Doubt(0.0, 4.0, 0.3, power=2.0, of_views=0.5)
OF_CLASSES = Doubt(3.5, 10.0, 0.05)  # three or more, and comparisons


def _log_density(distance: float, sd: float) -> float:
    """Return the logarithm of a normal density, so far from its mean."""
    return float(-0.5 * (distance / sd) ** 2 - np.log(sd * np.sqrt(2 * np.pi)))


def confirmation(
    correlation: float, size: float, change: float, given: int, doubt: Doubt = OF_ORDER, for_views: float = 0.0
) -> float:
    """Return the probability that the labels belong to the items, as far as the new predictions depend on it.

    By Fisher's transformation, arctanh of the correlation of unrelated labels with predictions that did not see them is
    normal with mean 0 and variance 1 / (size - 3). For labels that belong to the items it is expected to be near
    `EXPECTED`, in some problems anywhere up to `MOST`, and never below 0.

    Parameters
    ----------
    correlation : float
        Of labels with predictions that did not see them.
    size : float
        How many labels; of comparisons, as how many values they count.
    change : float
        One minus the correlation of the new predictions with the label-free answer: 0 for the same, 2 for reversed.
    given : int
        How many labels of whatever kind there are.
    doubt : Doubt
        What is known before.
    for_views : float
        Log odds by which labels speak for the views, see `tupi.methods.auto.fused.Fused`.
    """
    cost = doubt.cost * (doubt.slight + min(change, max(change, 0.0) ** doubt.power))
    odds = doubt.odds - cost * min(1.0, max(given, FEW_LABELS) / FULL_COST) + doubt.of_views * for_views
    if size > 3:
        z, error = np.arctanh(np.clip(correlation, -0.999, 0.999)), 1 / np.sqrt(size - 3)
        expected = np.log(1 - doubt.weak) + _log_density(z - EXPECTED, np.hypot(EXPECTED_SD, error))
        # Times the chance that it is above 0, given z: else the wider distribution would have the likelier lower tail.
        expected += log_ndtr((EXPECTED / EXPECTED_SD**2 + z / error**2) / np.hypot(1 / EXPECTED_SD, 1 / error))
        lower = min(z, MOST - z)  # in whose tail differences of probabilities keep their digits
        inside, above = log_ndtr(lower / error), log_ndtr((lower - MOST) / error)
        weak = np.log(doubt.weak / MOST) + inside + np.log1p(-np.exp(above - inside))
        odds += np.logaddexp(expected, weak) - _log_density(z, error)
    return float(expit(odds))


@dataclass(frozen=True)
class Blend:
    """What comes back, as shares of three predictions.

    Attributes
    ----------
    new, initial, label_free : float
        Shares of the process's predictions, of the initial ones and of the label-free answer; they sum to one.
    """

    new: float
    initial: float
    label_free: float

    def of(self, new: Array, initial: Array, label_free: Array) -> Array:
        """Return the blend of predictions that are measured alike."""
        return self.new * new + self.initial * initial + self.label_free * label_free


def blend_of(new: float, label_free: float, confirmed: float) -> Blend:
    """Return the blend for what the labels say.

    Parameters
    ----------
    new, label_free : float
        How far the new predictions, and the label-free answer, are trusted to be better than the initial ones.
    confirmed : float
        The probability that the labels belong to the items; otherwise the label-free answer is all there is.
    """
    if confirmed < LEAST_CONFIRMED:
        confirmed = 0.0
    elif new == label_free == 0.0 and confirmed > 0.5:  # the labels speak, and say that nothing was gained
        confirmed = 1.0
    rest = confirmed * (1 - new)
    return Blend(confirmed * new, rest * (1 - label_free), 1 - confirmed + rest * label_free)


def odds_of_views(for_views: float | None, promise: float) -> float | None:
    """Return the log odds that views explain something beyond the predictions; None where nothing tells.

    Labels say how likely they are under hypotheses whose views do, and under the same ones whose views do not. Where
    views move the predictions already without labels, that is taken for granted.
    """
    return None if for_views is None else for_views + FOR_VIEWS[promise]


def share_of_new(
    before: Array,
    after: Array,
    promise: float,
    probability: float,
    classes: NDArray[np.int64] | None = None,
    views: float | None = None,
) -> float:
    """Return the share of new predictions in what comes back, by squared errors or probabilities of labels left out.

    A mean of two predictions errs less than the two do on average, so that some of the new ones is worth taking also
    where a gain is in doubt: what is asked is how much.

    Parameters
    ----------
    before, after : ndarray of shape (m,) or (m, c)
        Errors of the initial values and of the new ones, in deviations of the labels; of classes, logarithms of their
        probabilities, up to a constant in each row.
    promise, probability : float
        What the views promise, and the probability of a gain, see `probability_of_gain`.
    classes : ndarray of shape (m,), optional
        The labels, if they are classes.
    views : float, optional
        The log odds that views explain something beyond the predictions, see `odds_of_views`. As likely as they do,
        new predictions are taken.
    """
    taken = 1.0 if views is None else float(expit(views))
    if promise == 0 and probability < LEAST_UNRELATED:
        taken = _of_unrelated(probability, views)
    if not taken:
        return 0.0
    # What is expected of unrelated views is little unless labels speak for them, which then is asked apart.
    expected = EXPECTED_SHARES[promise if views is None else max(promise, 0.5)], LABELS_OF_SHARE
    if classes is None:
        share = float(mean_shares(np.array([before, after]), *expected)[1])
    else:
        share = mean_share_of_logs(before, after, classes, *expected)
    return taken * share if taken * share >= LEAST_SHARE else 0.0


def _of_unrelated(probability: float, views: float | None) -> float:
    """Return how much to take where no view depends on the predictions and labels alone do not make a gain certain."""
    return 0.0 if views is None else rising(probability * expit(views), LEAST_OF_VIEWS, ENOUGH_OF_VIEWS)


def weight_of(probability: float, promise: float, wrong: float, size: float, views: float | None = None) -> float:
    """Return the share of the new predictions in what comes back.

    It is the probability of a gain, or 0 where that is too low. A mean of two good predictions is seldom worse than
    both, so that some of the new ones is worth taking in doubt. From a probability of `LEAST` on the share also rises
    evenly to 1 at `ENOUGH`, and the larger of both counts. A predictor of which less than `USUALLY_WRONG` is wrong has
    more to lose: there the share is the probability at most, times that of views which explain something. And a few
    labels teach little: it is less by the ratio of both with ten labels, and hardly less with fifty.

    Parameters
    ----------
    probability, promise : float
        P(gain > 0), and what the views promise, see `probability_of_gain`.
    wrong, size : float
        The share that is wrong before, see `wrong_before`, and how many labels the new predictions were learned from.
    views : float, optional
        The log odds that views explain something beyond the predictions, see `odds_of_views`.
    """
    if promise == 0 and probability < LEAST_UNRELATED:
        return 0.0 if wrong < USUALLY_WRONG else _of_unrelated(probability, views)
    weak = max(_in_doubt(probability, size), rising(probability, LEAST, ENOUGH))
    return weak if wrong >= USUALLY_WRONG else _of_strong(probability, wrong, size, views)


def _in_doubt(probability: float, size: float) -> float:
    """Return the probability of a gain, or 0 where that is too low for so many labels."""
    return probability if probability >= LEAST_IN_DOUBT * min(1.0, size / MANY_LABELS) else 0.0


def _of_strong(probability: float, wrong: float, size: float, views: float | None) -> float:
    """Return the share where less than usual is wrong."""
    few = min(FEW_LABELS / size, 1.0)
    known = 1.0 if views is None else float(expit(views - LESS_OF_STRONG * few))
    return known * _in_doubt(probability, size) * (wrong / USUALLY_WRONG) ** few


def rising(probability: float, least: float, enough: float) -> float:
    """Return a share that is 0 up to one probability, and rises evenly to 1 at another."""
    return float(np.clip((probability - least) / (enough - least), 0.0, 1.0))


def mean_shares(errors: Array, expected: float, weight: float = 1.0) -> Array:
    """Return the mean share of each of two predictions, shape (2, ...).

    Parameters
    ----------
    errors : ndarray of shape (2, m, ...)
        Errors of labels left out, in deviations of the labels; NaN for those that must not count. What follows the
        second axis are separate questions.
    expected : float
        The share of the second before any label, between 0 and 1.
    weight : float
        As how many labels that expectation counts.
    """
    counts = np.isfinite(errors[0]).sum(axis=0)
    known = np.nan_to_num(errors)
    return shares_by(np.einsum("ai...,bi...->ab...", known, known), counts, expected, weight)


def shares_by(products: Array, counts: Array | int, expected: float, weight: float = 1.0) -> Array:
    """Return the same, given the sums of products of errors, shape (2, 2, ...), and over how many labels they are."""
    s = _quantiles(weight * expected, weight * (1 - expected), TRIED)
    tried = np.stack([1 - s, s])
    sse = np.maximum(np.einsum("at,ab...,bt->t...", tried, products, tried, optimize=True), 0.0)
    logs = -0.5 * (counts + PRIOR_LABELS) * np.log(sse + PRIOR_LABELS * PRIOR_VARIANCE)
    likely = np.exp(logs - logs.max(axis=0))
    found: Array = np.einsum("at,t...->a...", tried, likely) / likely.sum(axis=0)
    return found


def mean_share_of_logs(
    before: Array, after: Array, classes: NDArray[np.int64], expected: float, weight: float
) -> float:
    """Return the mean share of the second of two predictions of classes, by the likelihood of the labels.

    Parameters
    ----------
    before, after : ndarray of shape (m, c)
        Logarithms of the probabilities of classes for labels left out, up to a constant in each row.
    classes : ndarray of shape (m,)
        The labels.
    expected, weight : float
        See `mean_shares`.
    """
    tried, each = _quantiles(weight * expected, weight * (1 - expected), TRIED), np.arange(len(classes))
    logs = np.array([log_softmax(before + s * (after - before), axis=1)[each, classes].sum() for s in tried])
    likely = np.exp(logs - logs.max())
    return float(tried @ likely / likely.sum())


def mean_shares_of_mixture(chances: Array, expected: float) -> Array:
    """Return the mean share of the second of two experts, by how likely their mixture makes labels.

    Parameters
    ----------
    chances : ndarray of shape (2, m)
        How likely either makes each label; above 0.
    expected : float
        The share of the second before any label, which counts as one label.

    Returns
    -------
    ndarray of shape (m + 1,)
        By all labels, and by all but each one.
    """
    s = _quantiles(expected, 1 - expected, TRIED)
    each = np.log(np.outer(1 - s, chances[0]) + np.outer(s, chances[1]))
    total = each.sum(axis=1, keepdims=True)
    likely = softmax(np.hstack([total, total - each]), axis=0)
    return np.asarray(s @ likely)


def _quantiles(a: float, b: float, k: int) -> Array:
    """Return k values, each as likely as any other under a Beta distribution."""
    return np.asarray(betaincinv(a, b, (np.arange(k) + 0.5) / k))
