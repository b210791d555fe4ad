"""What `tupi.denoise` returns: an outcome with the methods that people call."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.inputs.labels import Labels
from tupi.inputs.numbers import check_positive
from tupi.inputs.types import Column, FeaturesLike, Table
from tupi.results.coverage import class_sets, interval
from tupi.results.decisions import Decisions, decide
from tupi.results.drift import Drift, drift
from tupi.results.outcome import Outcome, without_items
from tupi.results.plots import draw, figures_of
from tupi.results.predicted import predict
from tupi.results.reasons import Reasons, position_of
from tupi.results.report import write_report
from tupi.results.saving import save_outcome
from tupi.results.summary import five_lines
from tupi.results.writing import check_output, write_result
from tupi.runtime.errors import InputError


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
        Names of class columns; of one probability per item, the two values of the labels, the negative class first.
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
        Absolute errors of labels that were left out, in units of their uncertainty, see `interval`; of classes one
        minus the probability of the true one, or how far its score is below the highest, see `class_sets`.
    columns : DataFrame
        What became of each column of the views that were not all numbers: ``view``, ``column``, ``kind``, what it
        ``became`` and a ``note``; no rows if all were numbers.
    library : str
        The dataframe library that the input was of, in which `to_frame` answers.
    groups : ndarray of shape (n,) or None
        The group of each item, if items were compared within groups only.
    seen : Seen or None
        At most 2,000 of the items, with which `drift` compares those that come later.
    model : Model or None
        The answer as a function of an item, for `predict`; from "auto", "fuse", "smooth" and "tupi".
    origin : Origin or None
        The problem that it came from, for `update`, `reasons` and `view_gains`; in the process that made it.
    raters : DataFrame or None
        Where the labels name their raters, a row for each: how many ``answers``; to how many answers of others on the
        same question theirs were compared (``common``) and in which share both ``agree``; and the ``error`` that was
        found: the share of wrong answers or, of values, the deviation of errors in their units.
    agreement : DataFrame or None
        A row for each two raters with a question in ``common``: how many, and the share in which they ``agree``. Values
        agree where they rank two items alike.
    in_blocks : callable or None
        What `predict` asks about items on Dask.
    kept_gains : DataFrame or None
        What was known of `view_gains` when the result was saved or copied.
    view_gains : DataFrame or None
        What each view is worth, computed when somebody looks: one row per view, with ``gain``, its 95 per cent interval
        from ``low`` to ``high``, and ``kind``. Of kind "gain" it is the gain in the metric of ``evidence`` over the
        answer of the same method without the view, both judged by labels that were held out; above zero the view helps.
        Without labels, or with too few to judge, it is of kind "explains": the share, from 0 to 1, of the differences
        between the initial predictions that the view explains by itself. Each view takes one fit, or as many as there
        are folds of the labels with methods other than "auto" and "fuse"; of more than 20 views, those with the
        greatest weights are left out in turn, and the others are NaN.
    """

    def __repr__(self) -> str:
        """Return the result in five lines."""
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        """Return the same five lines for a notebook."""
        head, *sentences = map(escape, self._lines())
        return f"<p><b>{head}</b></p>" + "".join(f"<p>{sentence}</p>" for sentence in sentences)

    def _lines(self) -> list[str]:
        return five_lines(self)

    def interval(self, level: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return bounds between which the label of each item is expected with a given probability.

        They reach as many uncertainties from the prediction as the errors of labels that were left out say, whatever
        their distribution (`tupi.judging.conformal`). That takes at least level / (1 - level) labels, 19 for 0.95; with
        fewer, errors are taken to be normal, and bounds are at least as wide as the largest error asks for.

        Parameters
        ----------
        level : float
            The probability, between 0 and 1.

        Returns
        -------
        low, high : ndarray of shape (n,)
            Bounds, in the units of the labels; NaN for items without any view.
        """
        center = self.expected if self.task == "ranking" else self.predictions
        return interval(level, center, self.uncertainty, self.left_out_errors, self.method, self.task)

    def class_sets(self, level: float = 0.95, empty: bool = True) -> pd.DataFrame:
        """Return for each item the classes among which its true one is with a given probability.

        They are all classes whose probability is at least that which so many labels gave their true class when they
        were left out (`tupi.judging.conformal`). With fewer than level / (1 - level) labels they are all classes.

        Parameters
        ----------
        level : float
            The probability, between 0 and 1.
        empty : bool
            Whether a set may be empty: one of an item that no class fits as well as it does the labels. Without that,
            the likeliest class is always there, and where predictions are mostly right, more sets than asked for hold
            the true class.

        Returns
        -------
        DataFrame of bool
            One row for each item, by its id, and one column for each class, by its name.
        """
        known = self.left_out_errors, self.classes, self.index
        return class_sets(level, self.predictions, *known, empty, self.method, self.task)

    def predict(
        self, predictions: Table, features: FeaturesLike, details: bool = False, groups: Column | None = None
    ) -> Any:
        """Return better predictions of items that came later, without looking at the earlier ones again.

        Items that are far from all earlier ones keep their own prediction, to a degree that ``details`` shows as
        ``familiar``; so do items without any view.

        Parameters
        ----------
        predictions : array_like, Series or DataFrame
            Their predictions by the same predictor; one item will do. Dask collections and Zarr arrays, as predictions
            or as views, are predicted block by block, when somebody computes what comes back.
        features : dict, list, array_like or DataFrame
            Their views, under the names that they had. Views may be missing: an item lacks those that are not there,
            and those of which its row is NaN. Columns of tables are found by their names.
        details : bool
            Whether to return a `tupi.results.predicted.Predicted`, which has more to say of each item.
        groups : array_like of shape (n,) or Series, optional
            Their groups, if this result has groups and counts items relative to them: each new group with all its
            items, since these make its mean.

        Returns
        -------
        ndarray, Series, DataFrame or Predicted
            Predictions in the form and scale of those that came in. For items on Dask a Dask array, Series or
            DataFrame, and with details a Dask DataFrame.
        """
        return predict(self, predictions, features, details, groups)

    def update(
        self,
        labels: Labels | Sequence[Labels] | Column | None = None,
        predictions: Table | None = None,
        features: FeaturesLike | None = None,
    ) -> Denoised:
        """Return the result with more labels, or with more items; what is known already is used again.

        Parameters
        ----------
        labels : Values, Pairs, Series or array_like of shape (n,), optional
            More labels. A new value of an item takes the place of its old one; where there are values and pairs,
            values become comparisons.
        predictions : array_like, Series or DataFrame, optional
            Predictions of more items, which come after those that are there.
        features : dict, list, array_like or DataFrame, optional
            Views of these items.

        Returns
        -------
        Denoised
            A new result of all items and labels.
        """
        if self.origin is None:
            raise InputError(
                "update: found a result that was loaded or copied, without the features of its items; accepted: the "
                "result of tupi.denoise, in the process that made it."
            )
        return cast(Denoised, self.origin.update(labels, predictions, features))

    def reasons(self, item: Any) -> Reasons:
        """Return what moved an item: parts that add up to its change, and the labelled items nearest to it.

        A view's part is how much the answer for the item changes once the view is known, on average over the orders in
        which its views may become known (Shapley's value); all orders of up to eight views, and 64 of more. What the
        answer for the item without any view differs by from its initial prediction is the part of that prediction.

        Parameters
        ----------
        item : object
            An id, or a position where there are no ids or ids are no numbers.

        Returns
        -------
        Reasons
            Its text is a sentence; its ``parts`` and ``neighbours`` are tables.

        Examples
        --------
        >>> import numpy as np, tupi
        >>> rng = np.random.default_rng(0)
        >>> truth = rng.normal(size=300)
        >>> views = {"clean": truth[:, None] + rng.normal(scale=0.1, size=(300, 2)), "junk": rng.normal(size=(300, 3))}
        >>> result = tupi.denoise(truth + rng.normal(size=300), views, labels=tupi.Values(range(30), truth[:30]))
        >>> reasons = result.reasons(7)
        >>> list(reasons.parts["part"])
        ['own prediction', 'clean', 'junk']
        >>> bool(np.isclose(reasons.parts["amount"].sum(), reasons.change))
        True
        """
        position = position_of(item, len(self.initial), self.index)
        if self.origin is None:
            raise InputError(
                "reasons: found a result that was loaded or copied, without the features of its items; accepted: the "
                "result of tupi.denoise, in the process that made it."
            )
        found = self.origin.reasons(position)
        if found is None:
            raise InputError(
                f"reasons: method {self.method!r} does not tell why an item moved; accepted: results of 'auto', 'fuse' "
                "and 'smooth'."
            )
        return cast(Reasons, found)

    def plot(self, name: str | None = None) -> Any:
        """Return figures of the report for a notebook, as figures of plotly.

        Parameters
        ----------
        name : str, optional
            Which one: "gain", "scatter", "changes", "classes", "hsic" or "weights", as far as the result has it. None
            gives the first ones that there are.

        Returns
        -------
        plotly.graph_objects.Figure or dict
            The figure; without a name, up to three of them by name.
        """
        if name is not None:
            return draw(self, name)
        return {some: draw(self, some) for some in list(figures_of(self))[:3]}

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
        check_positive("k", k, whole=True, least=1, optional=False)
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

    def drift(self, predictions: Table, features: FeaturesLike) -> Drift:
        """Return whether items that came later still look like those that this result was made on.

        The initial predictions and each view are compared by the maximum mean discrepancy, with a test that reports a
        drift of unchanged items once in twenty times, all views together. At most 2,000 items of either side are looked
        at. A drift says that the new items are different, and not that their predictions are worse: only labels tell.

        Parameters
        ----------
        predictions : array_like, Series or DataFrame
            Predictions of at least ten new items by the same predictor, in the form in which they came before.
        features : dict, list, array_like or DataFrame
            Their views by the same names, in the same columns. To lack a view more often than before is a drift, too.

        Returns
        -------
        Drift
            Its text is a sentence, and its ``table`` has a row for the predictions and one for each view.

        Examples
        --------
        >>> import numpy as np, tupi
        >>> rng = np.random.default_rng(0)
        >>> items = rng.normal(size=(300, 3))
        >>> result = tupi.denoise(items[:, 0] + rng.normal(size=300), {"view": items}, method="tupi", n_iter=1)
        >>> later = rng.normal(size=(100, 3)) + [0, 1, 0]
        >>> found = result.drift(later[:, 0] + rng.normal(size=100), {"view": later})
        >>> found.table["drifted"].to_dict()
        {'predictions': False, 'view': True}
        """
        return drift(self, predictions, features)

    def decide(self, cost_fp: float, cost_fn: float) -> Decisions:
        """Return which of two classes to take each item for, so that mistakes are expected to cost least.

        The positive class is that of ``classes`` which is named last; of two columns, the first one if that is positive
        by convention (1, True, "yes") and the second is not. The sentence of the outcome names it.

        An item is taken for the positive class if its probability p is at least ``cost_fp / (cost_fp + cost_fn)``: from
        there on the cost of a false alarm, (1 - p) ``cost_fp``, is at most that of a miss, p ``cost_fn``. That holds as
        far as the probabilities are right; ``evidence`` has their log loss and calibration error.

        Parameters
        ----------
        cost_fp : float
            What it costs to take an item of the negative class for a positive one: a false alarm.
        cost_fn : float
            What it costs to take an item of the positive class for a negative one: a miss.

        Returns
        -------
        Decisions
            The decisions, the threshold, the expected cost of an item, and a sentence.
        """
        return decide(self, cost_fp, cost_fn)

    def report(self, path: str | Path) -> Path:
        """Write a self-contained HTML report that opens offline, and return its path."""
        if not len(self.initial):
            raise InputError("report: found a result that was saved without its items; accepted: one with items.")
        return write_report(self, Path(path))

    def write(self, path: str | Path, escape_formulas: bool = False) -> Path:
        """Write the predictions into a CSV, TSV, Parquet, NPY or NPZ file, as `tupi denoise` does; return its path.

        Tables have the ids, if there are any, as their first column, and then what `to_frame` returns. In text files,
        ``escape_formulas`` puts a ' before ids that a spreadsheet would take for formulas.
        """
        if not len(self.initial):
            raise InputError("write: found a result that was saved without its items; accepted: one with items.")
        check_output("path", Path(path))
        return write_result(self, path, escape_formulas)

    def save(self, path: str | Path, items: bool = True) -> Path:
        """Write everything, also what `predict` needs, into one .npz file, whole or not at all, for `tupi.load`.

        Parameters
        ----------
        path : str or Path
            The file.
        items : bool
            Whether to keep what belongs to single items, such as their predictions. Without it the file is as small for
            millions of items as for thousands, and what `tupi.load` reads of it has no items but can `predict`.
        """
        return save_outcome(self if items else without_items(self), Path(path))
