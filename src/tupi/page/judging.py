"""What answers about pairs drawn at random say of a gain, each left out of the labels behind what it judges.

Values from a file judge beside them, as they do where nobody has answered anything yet.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t

from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Pairs, amount, entries, subset
from tupi.judging.evidence import MIN_LABELS, Evidence, pair_gain, shares_of
from tupi.judging.folds import Fold
from tupi.judging.metrics import COMPARISONS, ranked_right
from tupi.methods.base import Fit, Method
from tupi.page.knowledge import Knowledge

METRIC = COMPARISONS.name
N_FOLDS = 10
LEVEL = 0.95
PSEUDO = 2.0  # answers added for the interval: half a one of each kind, right or wrong before and after
Array = NDArray[np.float64]


def judge_answers(
    method: Method, prepared: Prepared, known: Knowledge, changed: bool, fit: Fit | None = None
) -> Evidence:
    """Return what the answers about random pairs, and the values of a file, say of a method's gain.

    Parameters
    ----------
    method : Method
        The method, as it is shown.
    prepared : Prepared
        The problem with all labels.
    known : Knowledge
        The labels, and which answers judge.
    changed : bool
        Whether the method's predictions with all labels differ from the initial ones.
    fit : Fit, optional
        What the method made of all labels. If that tells what it says of each pair without all that is known of its two
        items, nothing is fitted again: it is exact for the variances that the fit has, and takes no time.
    """
    nan = float("nan")
    pairs = known.judges
    k = 0 if pairs is None else len(pairs.higher)
    if not changed:
        # The gain is known then, whatever fits to fewer labels would do.
        right = nan if pairs is None else COMPARISONS.score(prepared.problem.initial, pairs)
        sentence = f"With {known.words} the scores stay as they are, so nothing is gained and nothing lost."
        return Evidence(METRIC, right, right, 0.0, 0.0, False, k, sentence)
    if known.implied is not None and fit is not None:
        together = joined(pairs, known.implied)
        judged = _left_out(prepared, together, fit)
        if judged is not None and known.n_values >= MIN_LABELS <= len(judged[0]):
            return _of_values(*judged, known, k)
    if pairs is None or k < MIN_LABELS:
        return Evidence(METRIC, nan, nan, nan, nan, True, k, _not_yet(k, known.n_answers))
    judged = None if fit is None else _left_out(prepared, pairs, fit)
    if judged is None or len(judged[0]) < MIN_LABELS:
        predict = method.predictor(prepared)
        rounds = ([(fold.held, predict(fold.train))] for fold in _folds(prepared, known, pairs))
        used, before, after, _ = shares_of(COMPARISONS, rounds, prepared.problem.initial, pairs)
        assert isinstance(used, Pairs)
        judged = before, after, used
    before, after, used = judged
    k = len(before)
    if k < MIN_LABELS:
        return Evidence(METRIC, nan, nan, nan, nan, True, k, _not_yet(k, known.n_answers))
    low, high = gain_interval(before, after, used)
    words = COMPARISONS.words
    gain = after.mean() - before.mean()
    sentence = (
        f"Judged on {k} answers about pairs drawn at random, of {known.n_answers} answers, each left out in turn: "
        f"{before.sum():g} of {k} ranked right before and {after.sum():g} after. Gain {words.difference(gain)} points, "
        f"{100 * LEVEL:.0f}% interval for all pairs {words.difference(low)} to {words.difference(high)}."
    )
    return Evidence(METRIC, float(before.mean()), float(after.mean()), low, high, True, k, sentence)


def joined(pairs: Pairs | None, implied: Pairs) -> Pairs:
    """Return both, of which one may be missing."""
    if pairs is None:
        return implied
    ends = (np.concatenate([getattr(one, side) for one in (pairs, implied)]) for side in ("higher", "lower"))
    groups = None
    if pairs.groups is not None and implied.groups is not None:
        groups = np.concatenate([pairs.groups, implied.groups])
    return Pairs(*ends, groups=groups)


def _of_values(before: Array, after: Array, used: Pairs, known: Knowledge, n_random: int) -> Evidence:
    """Return what the pairs of labelled items say, with those of the random answers among them.

    The interval is that of `tupi.judging.evidence.stated`, as it was before anybody answered: pairs of the same items
    vary together, so it takes their error by the jackknife over items, and as many labels as there are.
    """
    items, ends = np.unique(np.concatenate([used.higher, used.lower]), return_inverse=True)
    first, second = np.split(ends, 2)
    groups = None if used.groups is None else np.unique(used.groups, return_inverse=True)[1]
    found = pair_gain(before - 0.5, after - 0.5, first, second, len(items), groups)
    count = known.n_values + n_random
    half = float(t.ppf((1 + LEVEL) / 2, count - 1)) * np.hypot(found.error, COMPARISONS.unseen / np.sqrt(count))
    gain = found.after - found.before
    low, high = max(gain - half, -1.0), min(gain + half, 1.0)
    change = COMPARISONS.words.change(found.before, found.after, gain, low, high)
    answers = f" and on {amount(n_random, 'answer')} about pairs drawn at random" if n_random else ""
    sentence = (
        f"Judged on the pairs of {amount(known.n_values, 'labelled item')}{answers}, of {known.n_answers} answers in "
        f"all, each pair left out in turn: {METRIC} went from {change}."
    )
    return Evidence(METRIC, found.before, found.after, low, high, True, count, sentence)


def _left_out(prepared: Prepared, pairs: Pairs, fit: Fit) -> tuple[Array, Array, Pairs] | None:
    """Return whether pairs were ranked right before, and are by a fit that did not see their items; and which pairs."""
    found = None if fit.left_out_pairs is None else fit.left_out_pairs()
    if found is None:
        return None
    n, initial = prepared.problem.n, prepared.problem.initial
    keys = prepared.items[found[0]] * n + prepared.items[found[1]]
    _, there, here = np.intersect1d(keys, pairs.higher * n + pairs.lower, return_indices=True)
    used = entries(pairs, here)
    assert isinstance(used, Pairs)
    before = ranked_right(initial[used.higher] - initial[used.lower])
    return before, ranked_right(found[2][there]), used


def gain_interval(before: Array, after: Array, pairs: Pairs) -> tuple[float, float]:
    """Return an interval for the gain in all pairs, from few of them that were drawn at random.

    The interval of Agresti and Min (2005) for matched shares: half an answer of each of the four kinds is added, so
    that ten answers which see no difference do not pass for certainty. Answers that share an item vary together, which
    can only widen it. It is cut off at what is possible: no ranking gains more than was wrong before. How much that is
    in all pairs is known from these answers only, so the ends of that share's own interval bound the gain.

    Parameters
    ----------
    before, after : ndarray of shape (k,)
        Whether each pair is ranked right, see `tupi.judging.metrics.ranked_right`.
    pairs : Pairs
        Which they are.
    """
    gain, k = after - before, len(before)
    mean = gain.sum() / (k + PSEUDO)
    variance = ((np.sum(gain**2) + PSEUDO / 2) / (k + PSEUDO) - mean**2) / (k + PSEUDO)
    error = max(np.sqrt(variance), COMPARISONS.error(gain, pairs))
    half = float(t.ppf((1 + LEVEL) / 2, k - 1)) * error
    lowest, highest = _share_interval(before.sum(), k)
    least, most = COMPARISONS.bounds
    return float(max(mean - half, least - highest)), float(min(mean + half, most - lowest))


def _share_interval(right: float, k: int) -> tuple[float, float]:
    """Return Wilson's interval for a share of which ``right`` of k were seen."""
    z2 = float(norm.ppf((1 + LEVEL) / 2)) ** 2
    centre = (right + z2 / 2) / (k + z2)
    half = np.sqrt(z2 * (right * (k - right) / k + z2 / 4)) / (k + z2)
    return float(centre - half), float(centre + half)


def _folds(prepared: Prepared, known: Knowledge, pairs: Pairs) -> Iterator[Fold]:
    """Yield some pairs that judge, each time with the labels about other items; folds without such are skipped."""
    order = np.random.default_rng(prepared.random_state).permutation(len(pairs.higher))
    for held in np.array_split(order, min(N_FOLDS, len(order))):
        touched = np.concatenate([pairs.higher[held], pairs.lower[held]])
        assert known.labels is not None
        train = subset(known.labels, np.setdiff1d(prepared.items, touched))
        if train is not None:
            yield Fold(train, held)


def _not_yet(k: int, n_answers: int) -> str:
    return (
        "The gain is not known yet: only answers about pairs drawn at random judge it, about every second question. "
        f"There are {k} of them among {amount(n_answers, 'answer')}; it takes {MIN_LABELS - k} more."
    )
