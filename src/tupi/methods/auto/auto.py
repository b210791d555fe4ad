"""The default method, from top to bottom.

An item has a prediction f and rows of views. What comes back for it is one explicit function of these:

1. **Which views count** (`tupi.embedding.relevance`): those that depend on the predictions, by a test on a sample.
   Copies count once; the rest may still be useful, but only labels can tell.
2. **Who is alike** (`tupi.methods.auto.layout`, `tupi.embedding.anchors`): every item has a few nearest anchors by the
   views that count.
3. **The label-free answer** (`tupi.methods.auto.labelfree`): the average of f over alike items, shrunk towards f by the
   share of signal in their difference, which views that are left out in turn reveal (`tupi.methods.auto.signal`).
   Without labels that is all, and f itself where the views give no good reason to move it.
4. **What labels add** (`tupi.methods.auto.fitting`): a Gaussian process around the label-free answer, whose kernels
   (`tupi.methods.auto.kernels`) are made of f, of the anchors and of the views' own columns. Beside it stand a plain
   process of f and the views alone, for tables whose items form no groups, and with labels enough trees
   (`tupi.methods.auto.experts`).
5. **The guard** (`tupi.methods.auto.guard`): labels that were left out say whether they belong to the items at all, and
   how likely the new predictions are better; new predictions, label-free answer and f are blended accordingly
   (by kind of label `tupi.methods.auto.answers`, `tupi.methods.auto.binary_answer`, `tupi.methods.auto.class_answer`).
6. **What to ask next** (`tupi.methods.auto.design`): labels that would lower the uncertainty of all items most.

Whatever touches all items is a pass over blocks (`tupi.blocks.home`); the rest is small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.denoiser import Step
from tupi.algorithm.trajectory import Watch
from tupi.blocks.home import Home, Kept
from tupi.blocks.memory import Memory
from tupi.embedding.anchors import MOST
from tupi.embedding.prepared import Prepared
from tupi.embedding.relevance import Relations
from tupi.inputs.labels import Labels, relabel, subset
from tupi.inputs.new_items import Known
from tupi.judging.gain import Gain
from tupi.methods.auto.answering import fitted
from tupi.methods.auto.answers import INITIAL, NEW, Answer, ComparisonAnswer, RegressionAnswer
from tupi.methods.auto.class_answer import as_sure_as_before
from tupi.methods.auto.design import suggest_first, suggest_items, suggest_pairs
from tupi.methods.auto.guard import Blend
from tupi.methods.auto.labelfree import LabelFree, label_free, view_relations
from tupi.methods.auto.model import ClassMixture, Mixture, mixture_of, model_of
from tupi.methods.auto.notes import describe_labels, describe_share, describe_views, why
from tupi.methods.auto.passes import based_on
from tupi.methods.auto.reasons import Explanation
from tupi.methods.auto.scale import Scale
from tupi.methods.base import Fit, Method
from tupi.methods.supervised import known_items
from tupi.runtime.errors import InputError
from tupi.runtime.threads import one_blas_thread

BYTES_OF_ANCHORS, BYTES_OF_COLUMNS = 240, 100  # that each item takes, and each of its columns of predictions
BYTES_OF_TABLES = 75  # that every two anchors take
SURE = (
    " Without labels nothing tells how sure the new probabilities may be: they are as sure as the initial ones, or "
    "somewhat surer if classes lie further apart now, and their calibration error may be larger than before."
)
Array = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Solution:
    """What comes back, with the blocks of items.

    Attributes
    ----------
    columns : kept arrays of shape (items, c), or None
        New columns, standardised; None if the predictions stay as they are.
    params : dict
        What was found.
    note : str
        A sentence for a person.
    calibrated : bool
        Whether columns are values in the units of the predictions.
    gain : Gain, optional
        By labels that were left out.
    uncertainty : callable, optional
        Returns kept arrays of shape (items,), see `tupi.methods.base.Fit`.
    expected : kept arrays of shape (items,), optional
        See there.
    left_out_errors : ndarray, optional
        See there.
    suggested : callable, optional
        Returns items, or pairs, to label next.
    left_out : tuple of ndarray, optional
        Labelled items and predictions of them, each without its label, see there.
    left_out_pairs : callable, optional
        Returns pairs of items, and predicted differences between them, see there.
    answer : Answer, optional
        What the labels made of the problem.
    blend : Blend, optional
        How much of it came back.
    labelled : ndarray of int, optional
        The labelled items that it was made of.
    """

    columns: Kept | None
    params: dict[str, Any]
    note: str
    calibrated: bool
    gain: Gain | None = None
    uncertainty: Callable[[], Kept] | None = None
    expected: Kept | None = None
    left_out_errors: Array | None = None
    suggested: Callable[[], Positions] | None = None
    left_out: tuple[Positions, Array] | None = None
    left_out_pairs: Callable[[], tuple[Positions, Positions, Array] | None] | None = None
    answer: Answer | None = None
    blend: Blend | None = None
    labelled: Positions | None = None

    def mixture(self, base: LabelFree, scale: Scale) -> Mixture | ClassMixture | None:
        """Return how columns come about; None if the predictions stay as they are."""
        if self.columns is None:
            return None
        return mixture_of(base, scale, self.answer, self.blend, without_labels(base, scale))

    @property
    def rater_errors(self) -> dict[str, float] | None:
        """The share of wrong answers of each rater, see `tupi.methods.base.Fit`."""
        return None if self.answer is None else self.answer.rater_errors()


@dataclass(frozen=True, kw_only=True)
class Auto(Method):
    """Everything automatic: averages over alike items without labels, a guarded Gaussian process with them.

    Labels are values or pairs. Of more than 2,000 labelled items (fewer beyond 67,000 items, but at least 200) a part
    is used, evenly spread over their values.

    Parameters
    ----------
    guard : bool
        With labels: return (1 - w) f + w g, with w the probability of a gain judged by labels that were left out, and f
        itself where a gain is not credible; as far as the labels are not confirmed by predictions that did not see
        them, what comes back without labels. Without the guard, g.
    """

    name: ClassVar[str] = "auto"

    guard: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.guard, (bool, np.bool_)):
            raise InputError(f"guard: found {self.guard!r}; accepted: True or False.")

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Return better columns, and say whether labels were used."""
        found = self.in_memory(prepared, labels, watch)
        useful = None if labels is None else subset(labels, prepared.items)
        chosen = Smooth.name if useful is None else Fuse.name
        return replace(found, params={"chosen": chosen} | found.params, notes=(why(labels, useful) + found.notes[0],))

    def in_memory(self, prepared: Prepared, labels: Labels | None, watch: Watch | None) -> Fit:
        """Return better columns of a problem in this process."""
        problem = prepared.problem
        useful = None if labels is None else subset(labels, prepared.items)
        among = None if useful is None else relabel(useful, prepared.items)
        scale = scale_of(prepared)

        def veto(rows: Positions, predictions: Array) -> str | None:
            asked = prepared.veto
            return asked(problem, useful, prepared.items[rows], predictions) if asked and useful else None

        with one_blas_thread():  # several would round differently, and the answer must not depend on how many there are
            base = label_free_of(prepared)
            # Fits to some of the labels only judge; suggestions are for a person.
            told = problem.names, labels is problem.labels, prepared.progress
            found = self.solve(base, among, scale, *told, veto)
        columns = prepared.f if found.columns is None else scale.both(base.home.joined(found.columns))

        return Fit(
            columns,
            self.params() | found.params,
            steps_of(base, (prepared.f, columns), (prepared.f[base.sample], columns[base.sample]), watch),
            [],
            (found.note,),
            gain=found.gain,
            uncertainty=None if found.uncertainty is None else partial(_joined, base.home, found.uncertainty),
            expected=None if found.expected is None else base.home.joined(found.expected),
            left_out_errors=found.left_out_errors,
            suggested=found.suggested,
            left_out=None if found.left_out is None else (prepared.items[found.left_out[0]], found.left_out[1]),
            left_out_pairs=found.left_out_pairs,
            calibrated=found.calibrated,
            rater_errors=found.rater_errors,
            model=lambda: model_of(
                Known.of(problem), prepared.f, base, scale, found.mixture(base, scale), found.answer
            ),
            moved=Explanation(
                prepared,
                base,
                scale,
                columns,
                partial(found.mixture, base, scale),
                found.answer,
                found.blend,
                found.labelled,
            ).moved,
        )

    def solve(
        self,
        base: LabelFree,
        labels: Labels | None,
        scale: Scale,
        names: list[str],
        suggest: bool,
        progress: Callable[[str], None],
        veto: Callable[[Positions, Array], str | None] | None = None,
    ) -> Solution:
        """Return better columns of items wherever they are.

        Parameters
        ----------
        base : LabelFree
            The problem without labels.
        labels : Values, Pairs or None
            Labels that may be used; items are numbered as in ``base.home``.
        scale : Scale
            What predictions are.
        names : list of str
            Names of the views.
        suggest : bool
            Whether to say which labels would teach most.
        progress : callable
            Called with a sentence whenever something long begins.
        veto : callable, optional
            Gets labelled items and predictions of them, each without its label; returns why these may not come back.
        """
        if labels is None:
            return self._without_labels(base, scale, names, suggest)
        progress("Learning from the labels")
        answer, rows = fitted(base, labels, scale)
        progress("Asking the labels that were left out")
        blend, probability, confirmed = answer.guarded()
        if not self.guard:
            blend = NEW
        changed = blend.new > 0 or (blend.label_free > 0 and base.moves)
        judged = blend if changed else NEW
        left_out = answer.left_out(judged)
        against = veto(rows, left_out) if veto and changed and self.guard and left_out is not None else None
        if against is not None:
            blend, changed = INITIAL, False
        params = {
            "weight": blend.new,
            "confirmed": confirmed,
            "plain_share": answer.fused.plain_share,
            "trees_share": answer.fused.forest_share,
        }
        made = describe_labels(answer, labels, (blend, probability, confirmed), changed, self.guard, against)

        def suggested() -> Positions:
            with one_blas_thread():
                if isinstance(answer, ComparisonAnswer):
                    asked = rows[np.column_stack([answer.higher, answer.lower])]
                    return suggest_pairs(base, answer.fused, asked, scale.groups)
                return suggest_items(base, answer.fused, answer.fused.noise, rows)

        def left_out_pairs() -> tuple[Positions, Positions, Array] | None:
            pairs = answer.left_out_pairs(judged)
            return None if pairs is None else (rows[pairs[0]], rows[pairs[1]], pairs[2])

        return Solution(
            answer.columns(blend) if changed else None,
            {"signal_share": base.share.c} | params,
            f"{describe_views(base, names)} {made}",
            isinstance(answer, RegressionAnswer) and changed,
            answer.gain(judged),
            answer.uncertainty,
            answer.expected(),
            answer.left_out_errors(blend),
            suggested if suggest else None,
            None if left_out is None else (rows, left_out),
            left_out_pairs,
            answer,
            blend,
            rows,
        )

    def _without_labels(self, base: LabelFree, scale: Scale, names: list[str], suggest: bool) -> Solution:
        """Return the label-free answer where the views give good reason to move f."""
        moved = base.home.each(based_on, base.base, coefficients=without_labels(base, scale)) if base.moves else None
        return Solution(
            moved,
            {"signal_share": base.share.c},
            describe_views(base, names)
            + " "
            + describe_share(base)
            + (SURE if base.moves and scale.probabilities else ""),
            scale.task == "regression" and base.moves,
            suggested=(lambda: suggest_first(base)) if suggest else None,
        )


@dataclass(frozen=True, kw_only=True)
class Fuse(Auto):
    """The default with labels: what "auto" does with them, and an error without."""

    name: ClassVar[str] = "fuse"

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Return better columns; complain where no labels can be used."""
        known_items(self, prepared, labels)  # complains
        return self.in_memory(prepared, labels, watch)


@dataclass(frozen=True, kw_only=True)
class Smooth(Method):
    """The default without labels: averages over alike items, shrunk towards f. Labels are not used."""

    name: ClassVar[str] = "smooth"

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Return better columns."""
        found = Auto().in_memory(prepared, None, watch)
        return replace(found, params={name: value for name, value in found.params.items() if name != "guard"})


def _joined(home: Home, columns: Callable[[], Kept]) -> Array:
    """Return columns that nobody has computed yet."""
    return home.joined(columns())


def label_free_of(prepared: Prepared) -> LabelFree:
    """Return the label-free answer of a problem in this process, computed once."""
    views, items = prepared.problem.views, prepared.items
    ranked = prepared.problem.task == "ranking"
    each = BYTES_OF_ANCHORS + BYTES_OF_COLUMNS * prepared.f.shape[1]
    limit, needed = prepared.memory_limit, BYTES_OF_TABLES * min(len(items), MOST) ** 2 + len(items) * each
    if limit is not None and needed > limit:
        raise InputError(
            f"memory_limit: found {limit:,} bytes, and method 'auto' keeps about {needed:,} for {len(items):,} items "
            'beside their views; accepted: at least that, or method "tupi".'
        )
    f = scale_of(prepared).worked_on(prepared.f)
    given = prepared.problem.columns[items]
    return prepared.once("label-free", lambda: label_free(Memory(views, items), given, f, ranked, prepared.progress))


def scale_of(prepared: Prepared) -> Scale:
    """Return what the predictions are; of two classes' probabilities, what those of the second are."""
    groups = None if prepared.problem.groups is None else prepared.problem.groups.among(prepared.items)
    return Scale.of(prepared.problem, prepared.scale, prepared.shift, groups)


def relations_of(prepared: Prepared) -> Relations:
    """Return what a sample says about each view, by the test that decides which views count."""

    def compute() -> Relations:
        problem, items = prepared.problem, prepared.items
        f = scale_of(prepared).worked_on(prepared.f)
        return view_relations(Memory(problem.views, items), problem.columns[items], f, problem.task == "ranking")[3]

    if prepared.has("label-free"):
        return label_free_of(prepared).relations
    found: Relations = prepared.once("relations", compute)
    return found


def without_labels(base: LabelFree, scale: Scale) -> Array:
    """Return how what comes back without labels is made of [1, base columns]."""
    # Averages vary less than scores. For regression f's units stay, and so do those of class scores.
    if scale.task == "ranking":
        return base.unit(base.careful)
    return as_sure_as_before(base, scale) if scale.probabilities and base.moves else base.careful


def steps_of(base: LabelFree, columns: Sequence[Any], sampled: Sequence[Array], watch: Watch | None) -> list[Step]:
    """Return two steps, f and the answer, weighted by what each view explains in either.

    Parameters
    ----------
    base : LabelFree
        The problem.
    columns : sequence
        The columns of all items, before and after.
    sampled : sequence of ndarray
        Those of the items in the sample.
    watch : callable, optional
        Called with each step.
    """
    unknown = np.full(base.home.n_views, np.nan)
    steps = [
        Step(t, one, base.view_shares(some), unknown)
        for t, (one, some) in enumerate(zip(columns, sampled, strict=True))
    ]
    if watch is not None:
        for step in steps:
            watch(step)
    return steps
