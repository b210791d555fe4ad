"""Comparisons: one Gaussian process learns them (`tupi.methods.auto.preferences`), and what it says becomes scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from tupi.embedding.relevance import evenly
from tupi.inputs.labels import Pairs, labelled_items
from tupi.methods.auto.answers import OrderAnswer
from tupi.methods.auto.fused import Fused, Process
from tupi.methods.auto.guard import OF_CLASSES, Doubt
from tupi.methods.auto.hypotheses import FEW, REVERSAL
from tupi.methods.auto.items import Scale, slope
from tupi.methods.auto.kernels import Features, Kernels, Linear, expected, kernels, pick_features
from tupi.methods.auto.labelfree import LabelFree
from tupi.methods.auto.preferences import Answers, fit_preferences, left_out_comparisons
from tupi.methods.auto.process import JITTER, LeftOut, PriorProcess

MAX_JUDGED = 500  # comparisons that judge the gain
LEAST_SLOPE = 0.25  # of the expected one: what labels that say so with less certainty are allowed
MANY = 1000  # answers that are followed nearly as far as right ones, see `ComparisonAnswer.honesty`
DOUBTED = 100  # answers beyond which the share of wrong ones is believed, half of it with twice as many
Array = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ComparisonAnswer(OrderAnswer):
    """Scores from comparisons, numbered within the compared items; ``raters`` are the names of who compared them."""

    doubt: ClassVar[Doubt] = OF_CLASSES
    higher: Positions
    lower: Positions
    raters: NDArray[Any] | None = None

    def _pairs(self) -> tuple[Positions, Positions, Array]:
        """Return pairs neither of whose items was seen in any comparison."""
        return self.higher[self.fused.judged], self.lower[self.fused.judged], self.fused.differences

    def agreement(self) -> tuple[float, float]:
        """Return Pearson's correlation for the share of right comparisons (Greiner), and as how many values they count.

        Comparisons of the same item are not independent, so that there are at most as many as items. The share of right
        ones among k has variance 1 / 4k by chance, and so arctanh of that correlation, sin(pi (share - 1/2)), has
        pi^2 / 4k: that of 4k / pi^2 + 3 values, see `tupi.methods.auto.guard.confirmation`.

        Answers that are turned around, a share e of them, agree less than the items do: of right ones the share would
        be 1/2 + (share - 1/2) / (1 - 2e), and n answers count as n (1 - 2e)^2. Few answers tell little about e, and
        those that belong to other items look like wrong ones: of n answers beyond the first `DOUBTED`, e is taken for
        n / (n + `DOUBTED`) of what it seems.
        """
        assert self.fused.answers is not None
        worth, wrong = self._sure(self.higher, self.lower), self.fused.answers.wrong[self.fused.judged]
        n = worth.sum() ** 2 / (worth**2).sum()
        beyond = max(n - DOUBTED, 0.0)
        told = 1 - 2 * np.average(wrong, weights=worth) * beyond / (beyond + DOUBTED)
        right = np.average(0.5 * (1 + np.sign(self.fused.differences)), weights=worth)
        above = np.clip((right - 0.5) / told, -0.5, 0.5)
        k = min(n * told**2, len(self.fused.labelled.base))
        return float(np.sin(np.pi * above)), 4 * k / np.pi**2 + 3

    def _sure(self, first: Positions, second: Positions) -> Array:
        """Return what the answer about each pair that judges is worth: those of raters who guess judge nothing."""
        assert self.fused.answers is not None
        return self.fused.answers.value[self.fused.judged]

    def rater_errors(self) -> dict[str, float] | None:
        """Return the share of wrong answers of each rater who has a name."""
        if self.raters is None:
            return None
        assert self.fused.answers is not None
        return dict(zip(self.raters.tolist(), self.fused.answers.flips.tolist(), strict=True))

    def honesty(self) -> float:
        """Return how far answers were followed, as a share of how far right ones would have been, to the power 3/2.

        With e the share of wrong answers, n of them are worth n (1 - 2e)^2 right ones. A few are followed by as much
        less, and random answers, which are taken for wrong, change little. Many are followed nearly as far as right
        ones. Answers count by what they are worth: raters who guess do not make the others' answers doubtful.
        """
        assert self.fused.answers is not None
        worth = self.fused.answers.value
        n, share = worth.sum() ** 2 / (worth**2).sum(), float(np.average(worth, weights=worth))
        many = (n / MANY) ** 2
        return float((share * (many + 1) / (many * share + 1)) ** 1.5)


def from_pairs(base: LabelFree, labels: Pairs, scale: Scale, most: int) -> ComparisonAnswer:
    """Return what is made of labels that are comparisons, of which at most so many items are used."""
    higher, lower = base.place[labels.higher], base.place[labels.lower]
    order = np.lexsort([lower, higher])
    if len(labelled_items(labels)) > most:
        order = order[evenly(len(order), most // 2)]
    higher, lower = higher[order], lower[order]
    compared = np.unique(np.concatenate([higher, lower]))
    higher, lower = np.searchsorted(compared, higher), np.searchsorted(compared, lower)
    rows = base.order[compared]
    groups = None if scale.groups is None else np.unique(scale.groups.numbers[rows], return_inverse=True)[1]
    weights = None if labels.weights is None else labels.weights[order]
    names, raters = _who(labels, order)
    answers = Answers.of(higher, lower, weights, raters)
    fused = fit_pairs(base, pick_features(base, rows), answers, groups)
    return ComparisonAnswer(base, scale, fused, len(higher), rows, higher, lower, names)


def _who(labels: Pairs, order: Positions) -> tuple[NDArray[Any] | None, Positions | None]:
    """Return names and numbers of who compared; what values imply is said by one who is nobody else."""
    if labels.raters is None and labels.implied is None:
        return None, None
    who = np.full(len(order), "") if labels.raters is None else labels.raters[order]
    implied = np.zeros(len(order), bool) if labels.implied is None else labels.implied[order]
    names, numbers = np.unique(who, return_inverse=True)
    return np.append(names, "values") if implied.any() else names, np.where(implied, len(names), numbers)


def fit_pairs(problem: LabelFree, labelled: Features, answers: Answers, groups: Positions | None = None) -> Fused:
    """Fit the process to comparisons among the labelled items, within which they are numbered."""
    found = kernels(problem, labelled)
    columns, shared = found.of_columns(labelled), found.within()
    label_free = columns[:, 0].T
    function = expected(problem.columns[:, 0], label_free)
    mean = function(labelled.base)[:, 0]
    after = fit_preferences(columns[0], shared, found.prior, mean, answers)
    against = _against(label_free, after.v[0], after.dual[:, None])
    if against.any() and (len(mean) < FEW or _odds_of_reversal(mean, answers.higher, answers.lower) < REVERSAL):
        found, columns = _held(found, columns, against)
        function, mean = Linear(LEAST_SLOPE * function.coefficients), LEAST_SLOPE * mean
        after = fit_preferences(columns[0], shared, found.prior, mean, answers)
    K = PriorProcess(columns, shared, JITTER * np.eye(len(mean)), found.prior).covariance(after.v, 0)
    judged = evenly(len(answers.higher), MAX_JUDGED)
    process = Process(function, found.columns, 0, columns, after.v, after.dual[:, None], 0.0)
    differences = left_out_comparisons(after, K, judged)
    known = LeftOut.nothing(), differences, judged
    return Fused(found, process, [after.middle], 0.0, *known, groups=groups, answers=after.answers)


def _against(answers: Array, variance: float, duals: Array) -> NDArray[np.bool_]:
    """Return for which outputs the slope of the label-free answer came out too low, or negative."""
    hoped = np.array([slope(one) for one in answers.T])
    return hoped + variance * np.einsum("ij,ij->j", answers, duals) < LEAST_SLOPE * hoped


def _odds_of_reversal(answer: Array, higher: Positions, lower: Positions) -> float:
    """Return the log odds of comparisons that contradict the label-free answer against a coin.

    Comparisons of the same item are not independent, so that they count as at most as many as there are items.
    """
    wrong = np.mean(answer[higher] < answer[lower])
    if wrong <= 0.5:
        return 0.0
    return float(min(len(higher), len(answer)) * (np.log(2) - entr(wrong) - entr(1 - wrong)))


def _held(found: Kernels, columns: Array, outputs: NDArray[np.bool_]) -> tuple[Kernels, Array]:
    """Return the kernels without that of the label-free answer, for some outputs: its slope is then fixed."""
    made, at_labels = found.columns.copy(), columns.copy()
    made[outputs, 0] = at_labels[outputs, 0] = 0.0
    return replace(found, columns=made), at_labels
