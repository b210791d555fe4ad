"""What `tupi.denoise` returns: an outcome with the methods that people call."""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from tupi.results.outcome import Outcome
from tupi.results.report import write_report
from tupi.results.saving import read_outcome, save_outcome
from tupi.results.summary import five_lines
from tupi.runtime.errors import InputError

NORMAL = 20  # labels as much as which a normal distribution counts in `Denoised.interval`


class Denoised(Outcome):
    """The result of `tupi.denoise`.

    Attributes
    ----------
    predictions : ndarray of shape (n,) or (n, c)
        The improved predictions, in the input's order and scale.
    initial : ndarray of the same shape
        What came in.
    weights : DataFrame
        One row per step, one column per view: how much each view counts; zero if the predictions came back unchanged.
    dependence : DataFrame
        One row per view: how strongly it depends on the predictions ``before`` and ``after``, by
        ``tupi.hsic(view, predictions, normalized=True)``, and the ``p_value`` of independence from the initial ones,
        times the number of views: below 0.01 a view is said to depend on them. The test sees kernels of median width
        and at most 1,000 items, without columns that repeat the predictions.
    evidence : Evidence or None
        With labels: what they say about the gain.
    method : str
        The method that was used.
    params : dict
        All its settings, chosen ones included.
    history : DataFrame
        One row per step: energies and, with labels, the score on them.
    task : str
        What the predictions are for.
    index : pandas.Index or None
        The items' ids.
    classes : tuple or None
        Names of class columns.
    notes : tuple of str
        What the method wants a person to know, such as which setting was chosen and why.
    uncertainty : ndarray of shape (n,) or None
        From "fuse" and "auto" with labels: standard deviation of the label that each item would get, in the units of
        the labels (of the predictions if labels are comparisons, of a class's share for classification); NaN for items
        without any view.
    expected : ndarray of shape (n,) or None
        From "fuse" and "auto" for ranking, if labels are values: the label that each item is expected to get. Scores
        have a scale of their own, so this is what `interval` is built around.
    suggested : ndarray of shape (k,) or (k, 2), or None
        Items, or pairs, to label next, see `suggest`.
    left_out_errors : ndarray or None
        Absolute errors of labels that were left out, in units of their uncertainty, see `interval`.
    columns : DataFrame
        What became of each column of the views that were not all numbers: ``view``, ``column``, ``kind``, what it
        ``became`` and a ``note``; no rows if all were numbers.
    library : str
        The dataframe library that the input was of, in which `to_frame` answers.
    groups : ndarray of shape (n,) or None
        The group of each item, if items were compared within groups only.
    """

    def __repr__(self) -> str:
        """Return the result in five lines."""
        return "\n".join(five_lines(self))

    def _repr_html_(self) -> str:
        """Return the same five lines for a notebook."""
        head, *sentences = map(escape, five_lines(self))
        return f"<p><b>{head}</b></p>" + "".join(f"<p>{sentence}</p>" for sentence in sentences)

    def interval(self, level: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return bounds between which the label of each item is expected with a given probability.

        They are as many uncertainties from the prediction as that share of the labels were when left out, so they hold
        for errors that are not normal. With few labels they come close to those of a normal distribution, which counts
        as much as `NORMAL` labels.

        Parameters
        ----------
        level : float
            The probability, between 0 and 1.

        Returns
        -------
        low, high : ndarray of shape (n,)
            Bounds, in the units of the labels; NaN for items without any view.
        """
        if not isinstance(level, (int, float, np.number)) or isinstance(level, bool) or not 0 < level < 1:
            raise InputError(f"level: found {level!r}; accepted: a number between 0 and 1.")
        center = self.expected if self.task == "ranking" else self.predictions
        if self.left_out_errors is None or self.uncertainty is None or center is None:
            raise InputError(
                f"interval: found a result of method {self.method!r} without errors of left-out labels; accepted: one "
                "of 'auto' or 'fuse' for ranking or regression, whose labels are values."
            )
        normal = norm.ppf(0.5 + (np.arange(NORMAL) + 0.5) / (2 * NORMAL))
        reach = np.quantile(np.concatenate([self.left_out_errors, normal]), level) * self.uncertainty
        return center - reach, center + reach

    def suggest(self, k: int = 10) -> NDArray[np.int64]:
        """Return the items to label next: those whose labels would lower the uncertainty of all items most.

        The first one is best alone, the next one best after it, and so on; two alike items do not come together.

        Parameters
        ----------
        k : int
            How many.

        Returns
        -------
        ndarray of shape (k,) or (k, 2)
            Positions of items; of pairs to compare, if the labels were pairs. Fewer if there are no more, and without
            labels at most 100.
        """
        if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or k < 1:
            raise InputError(f"k: found {k!r}; accepted: a whole number of at least 1.")
        if self.suggested is None:
            raise InputError(
                f"suggest: method {self.method!r} does not know how sure it is; accepted: method 'auto' or 'fuse', "
                "or 'smooth' without labels."
            )
        if len(self.suggested) >= k or self.suggested.ndim == 2 or self.uncertainty is None:
            return self.suggested[:k]
        others = np.setdiff1d(np.flatnonzero(np.isfinite(self.uncertainty)), self.suggested)
        others = others[np.argsort(-self.uncertainty[others], kind="stable")]
        return np.concatenate([self.suggested, others])[:k]

    def report(self, path: str | Path) -> Path:
        """Write a self-contained HTML report that opens offline, and return its path."""
        return write_report(self, Path(path))

    def save(self, path: str | Path) -> Path:
        """Write everything into one .npz file, whole or not at all; `tupi.load` reads it."""
        return save_outcome(self, Path(path))


def load(path: str | Path) -> Denoised:
    """Read a result that `Denoised.save` wrote."""
    return Denoised(**read_outcome(Path(path)))
