"""Several people: who agrees with whom, and one label per item from what all of them said.

Of values, a rater's answer is the item's value, plus how much higher than the others this rater says (a bias), plus an
error whose deviation is the rater's own. Of classes, a rater is right with a probability of the rater's own, and else
says any other class (Dawid and Skene's model with one number for each rater). Both are found by expectation
maximisation from items that more than one rater spoke of, under a prior by which raters of few answers are like the
others. Of comparisons, the method itself finds how many answers of each rater are wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

PRIOR_ANSWERS = 4.0  # as how many answers it counts that a rater is like the others
EXPECTED_RIGHT = 0.9  # share of right classes before any answer
ROUNDS, TOL = 100, 1e-9
Array = NDArray[Any]
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Opinions:
    """What people said, each answer by itself.

    Attributes
    ----------
    raters : ndarray of str
        Who gave each answer.
    items : ndarray of int
        What each answer is about: the same number for the same item, or for the same two items.
    answers : ndarray
        Values, numbers of classes, or for two items 1 if the first is higher, 0 if neither, -1 if the second is.
    kind : {"values", "classes", "pairs"}
        Which of these.
    """

    raters: Array
    items: Positions
    answers: Array
    kind: str

    @classmethod
    def of_pairs(cls, raters: Array, higher: Positions, lower: Positions, tied: Array | None) -> Opinions:
        """Return the opinions of comparisons."""
        ends = np.sort(np.column_stack([higher, lower]), axis=1)
        pair = np.unique(ends, axis=0, return_inverse=True)[1].ravel()
        sign = np.where(higher < lower, 1, -1)
        return cls(raters, pair, sign if tied is None else np.where(tied, 0, sign), "pairs")

    def and_more(self, more: Opinions | None) -> Opinions:
        """Return both; of two items, only if both are numbered alike."""
        if more is None:
            return self
        raters, items, answers = (
            np.concatenate([getattr(self, name), getattr(more, name)]) for name in ("raters", "items", "answers")
        )
        return Opinions(raters, items, answers, self.kind)

    def agreement(self) -> pd.DataFrame:
        """Return for each two raters how many ``common`` questions they have, and the share in which they ``agree``.

        Two values agree with two others if they rank the items alike, ties counting half; that takes two items.
        """
        said = pd.DataFrame({"rater": self.raters, "item": self.items, "said": self.answers})
        said = said.groupby(["rater", "item"])[["said"]].mean().reset_index()  # of who repeats an answer
        both = said.merge(said.rename(columns={"rater": "other", "said": "heard"}), on="item")
        both = both[both["rater"] < both["other"]]
        rows = [
            (rater, other, len(own), self._alike(own["said"].to_numpy(), own["heard"].to_numpy()))
            for (rater, other), own in both.groupby(["rater", "other"])
        ]
        return pd.DataFrame(rows, columns=["rater", "other", "common", "agree"])

    def _alike(self, said: Array, heard: Array) -> float:
        if self.kind == "pairs":
            return float(np.mean(1 - np.abs(said - heard) / 2))
        if self.kind == "classes":
            return float(np.mean(said == heard))
        first, second = np.triu_indices(len(said), 1)
        signs = np.sign(said[first] - said[second]) * np.sign(heard[first] - heard[second])
        return float(np.mean(0.5 + 0.5 * signs)) if len(signs) else float("nan")

    def table(self, errors: dict[str, float] | None) -> pd.DataFrame:
        """Return a row for each rater: how many answers, how far others agree, and the error that was found.

        Parameters
        ----------
        errors : dict of str to float, optional
            The share of wrong answers of each rater; of values, the deviation of their errors.
        """
        between = self.agreement()
        turned = between.rename(columns={"rater": "other", "other": "rater"})
        known = pd.concat([between, turned]).dropna()
        known["right"] = known["agree"] * known["common"]
        sums = known.groupby("rater")[["common", "right"]].sum()
        names, counts = np.unique(self.raters, return_counts=True)
        found = pd.DataFrame({"answers": counts}, index=pd.Index(names, name="rater")).join(sums)
        found["common"] = pd.to_numeric(found["common"]).fillna(0).astype(np.int64)
        found["agree"] = found.pop("right") / found["common"].where(found["common"] > 0)
        found["error"] = [float("nan") if errors is None else errors.get(name, float("nan")) for name in names]
        return found


@dataclass(frozen=True, eq=False)
class Weighed:
    """One label per item, from all answers.

    Attributes
    ----------
    index : ndarray of int
        The items.
    values : ndarray
        Their labels.
    weights : ndarray
        As how many answers of a usual rater each counts.
    errors : ndarray
        Of each rater: the deviation of errors, or the share of wrong classes.
    """

    index: Positions
    values: Array
    weights: NDArray[np.float64]
    errors: NDArray[np.float64]


def weighed_values(index: Positions, values: Array, weights: Array, raters: Positions) -> Weighed:
    """Return the mean of the values of each item, less the biases of raters and weighed by how far they err.

    Parameters
    ----------
    index, values : ndarray of shape (k,)
        The answers.
    weights : ndarray of shape (k,)
        As how many answers each counts.
    raters : ndarray of int
        Who gave each, numbered from 0.
    """
    items, place = np.unique(index, return_inverse=True)
    n_raters = int(raters.max(initial=0)) + 1
    shared = _of_several(place)
    own, by, y, w = place[shared], raters[shared], values[shared], weights[shared]
    least = max(1e-9 * float(np.var(values)), np.finfo(float).tiny ** 0.5)
    inside = y - (np.bincount(own, w * y, len(items)) / np.maximum(np.bincount(own, w, len(items)), least))[own]
    bias, variance = np.zeros(n_raters), np.full(n_raters, max(float(np.mean(inside**2)) if len(y) else 1.0, least))
    for _ in range(ROUNDS if len(y) else 0):
        precision = w / variance[by]
        total = np.bincount(own, precision, len(items))
        known = np.bincount(own, precision * (y - bias[by]), len(items)) / np.where(total > 0, total, 1.0)
        left = y - known[own]
        # The item's value is only known as well as its answers tell, which adds to every squared error.
        square = (left - bias[by]) ** 2 + 1 / total[own]
        counts = np.bincount(by, w, n_raters)
        new_bias = np.bincount(by, w * left, n_raters) / (counts + PRIOR_ANSWERS)
        squares = np.bincount(by, w * square, n_raters)
        asked = counts > 0
        logs = np.log(np.maximum(squares[asked] / counts[asked], least))
        usual = np.exp(np.average(logs, weights=counts[asked]))  # that of most, however far a few err
        new_variance = (squares + PRIOR_ANSWERS * usual) / (counts + PRIOR_ANSWERS)
        change = np.abs(new_bias - bias).max() + np.abs(new_variance - variance).max()
        bias, variance = new_bias, new_variance
        if change < TOL * usual:
            break
    precision = weights / variance[raters]
    precision *= weights.sum() / precision.sum()  # the usual answer counts once
    total = np.bincount(place, precision)
    found = np.bincount(place, precision * (values - bias[raters])) / total
    errors = np.sqrt(variance) if len(y) else np.full(n_raters, np.nan)
    return Weighed(items, found, total.astype(np.float64), errors)


def weighed_classes(index: Positions, values: Positions, weights: Array, raters: Positions) -> Weighed:
    """Return the class of each item that raters say it is, each vote weighed by how often the rater is right.

    Items whose votes cancel out have weight 0. Parameters are those of `weighed_values`.
    """
    items, place = np.unique(index, return_inverse=True)
    classes, number = np.unique(values, return_inverse=True)
    n_raters, others = int(raters.max(initial=0)) + 1, max(len(classes) - 1, 1)
    shared = _of_several(place)
    right = np.full(n_raters, EXPECTED_RIGHT)
    for _ in range(ROUNDS if len(shared) else 0):
        logs = _votes(place, number, weights * _log_odds(right, others)[raters], (len(items), len(classes)))
        likely = np.exp(logs - logs.max(axis=1, keepdims=True))
        likely /= likely.sum(axis=1, keepdims=True)
        w, by = weights[shared], raters[shared]
        agreed = np.bincount(by, w * likely[place[shared], number[shared]], n_raters)
        usual = (agreed.sum() + PRIOR_ANSWERS * EXPECTED_RIGHT) / (w.sum() + PRIOR_ANSWERS)
        new = (agreed + PRIOR_ANSWERS * usual) / (np.bincount(by, w, n_raters) + PRIOR_ANSWERS)
        change, right = np.abs(new - right).max(), new
        if change < TOL:
            break
    odds = np.maximum(_log_odds(right, others), 0.0)[raters]
    odds *= weights.sum() / max(weights @ odds, np.finfo(float).tiny)
    votes = _votes(place, number, weights * odds, (len(items), len(classes)))
    best = votes.argmax(axis=1)
    second = np.sort(votes, axis=1)[:, -2] if len(classes) > 1 else np.zeros(len(items))
    margin = votes.max(axis=1) - second
    margin[margin < 1e-9 * votes.max(axis=1)] = 0.0
    errors = 1 - right if len(shared) else np.full(n_raters, np.nan)
    return Weighed(items, classes[best], margin, errors)


def _of_several(place: Positions) -> Positions:
    """Return which answers are about items that more than one answer is about: only those tell how far raters err."""
    counts = np.bincount(place)
    return np.flatnonzero(counts[place] > 1)


def _log_odds(right: NDArray[np.float64], others: int) -> NDArray[np.float64]:
    """Return the log odds of a class that a rater says against any other."""
    found: NDArray[np.float64] = np.log(right * others / np.maximum(1 - right, 1e-6))
    return found


def _votes(place: Positions, number: Positions, votes: Array, shape: tuple[int, int]) -> NDArray[np.float64]:
    flat = np.bincount(place * shape[1] + number, votes, shape[0] * shape[1])
    return flat.reshape(shape).astype(np.float64)
