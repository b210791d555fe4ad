"""The default method, from top to bottom.

An item has a prediction f and rows of views. What comes back for it is one explicit function of these:

1. **Which views count** (`tupi.embedding.relevance`): those that depend on the predictions, by a test on a sample.
   Copies count once; the rest may still be useful, but only labels can tell.
2. **Who is alike** (`tupi.methods.auto.items`, `tupi.embedding.anchors`): every item has a few nearest anchors by the
   views that count.
3. **The label-free answer** (`tupi.methods.auto.labelfree`): the average of f over alike items, shrunk towards f by the
   share of signal in their difference, which views that are left out in turn reveal (`tupi.methods.auto.signal`).
   Without labels that is all, and f itself where the views give no good reason to move it.
4. **What labels add** (`tupi.methods.auto.fitting`): values are learned under many explicit hypotheses at once
   (`tupi.methods.auto.hypotheses`), which say how far labels follow the predictions, and whether the rest is shared by
   alike items or a plain function of the views' own columns (`tupi.methods.auto.kernels`). With labels enough trees
   (`tupi.methods.auto.trees`) have a part, and so have clouds of items around labels of the same value
   (`tupi.methods.auto.clouds`). Classes and comparisons are learned by one Gaussian process
   (`tupi.methods.auto.class_fitting`, `tupi.methods.auto.comparisons`).
5. **The guard** (`tupi.methods.auto.guard`): labels that were left out say whether they belong to the items at all, and
   how likely the new predictions are better; new predictions, label-free answer and f are blended accordingly
   (by kind of label, `tupi.methods.auto.answers`, `tupi.methods.auto.class_answers`, `tupi.methods.auto.comparisons`).
6. **What to ask next** (`tupi.methods.auto.design`): labels that would lower the uncertainty of all items most.

Whatever touches all items is a pass over blocks (`tupi.blocks.home`); the rest is small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.denoiser import Step
from tupi.algorithm.trajectory import Watch
from tupi.blocks.home import Memory
from tupi.embedding.anchors import MOST
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Labels, Values, relabel, subset
from tupi.inputs.new_items import Known
from tupi.judging.evidence import LEAST_CONFIRMED
from tupi.methods.auto.answers import INITIAL, NEW, Answer, RegressionAnswer
from tupi.methods.auto.design import suggest_first, suggest_next
from tupi.methods.auto.fitting import fitted
from tupi.methods.auto.guard import Blend
from tupi.methods.auto.items import Scale, scale_of
from tupi.methods.auto.labelfree import LABEL_FREE, LabelFree, based_on, label_free
from tupi.methods.auto.model import mixture_of, model_of
from tupi.methods.auto.reasons import Explanation
from tupi.methods.auto.signal import view_shares
from tupi.methods.auto.surer import without_labels
from tupi.methods.base import Fit, Method, check_related
from tupi.methods.supervised import known_items
from tupi.runtime.computing import one_blas_thread
from tupi.runtime.errors import InputError

BYTES_OF_ANCHORS, BYTES_OF_COLUMNS = 240, 120  # that each item takes, and each of its columns of predictions
BYTES_OF_TABLES = 75  # that every two anchors take
KEPT = 1 << 28  # bytes of views that are kept for labels still to come
# What `python experiments/without_labels.py` prints: nothing surer is known of a change that no label has judged.
MOVED_ELSEWHERE = (
    "No label has judged this: of 84 rankings of other data that were moved in this way, 66 became better and 11 worse."
)
SURE = (
    " Without labels nothing tells how sure the new probabilities may be: they are as sure as the initial ones, or "
    "somewhat surer if classes lie further apart now, and their calibration error may be larger than before."
)
Array = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Auto(Method):
    """Everything automatic: averages over alike items without labels, and guarded Gaussian processes with them.

    Labels are values or pairs. Of more than 2,000 labelled items (fewer beyond 67,000 items, but at least 200) a part
    is used, evenly spread over their values.

    Parameters
    ----------
    guard : bool
        With labels: return (1 - w) f + w g, with a share w that rises with the probability of a gain, judged by labels
        that were left out, and f itself where a gain is not credible; as far as the labels are not confirmed by
        predictions that did not see them, what comes back without labels. Without the guard, g.
    """

    name: ClassVar[str] = "auto"

    guard: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.guard, (bool, np.bool_)):
            raise InputError(f"guard: found {self.guard!r}; accepted: True or False.")

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Return better columns, and say whether labels were used."""
        found = self.in_memory(prepared, labels, watch)
        chosen = Smooth.name if found.gain is None else Fuse.name
        return replace(found, params={"chosen": chosen} | found.params, notes=(why(labels, found) + found.notes[0],))

    def in_memory(self, prepared: Prepared, labels: Labels | None, watch: Watch | None) -> Fit:
        """Return better columns of a problem in this process."""
        problem, f, scale = prepared.problem, prepared.f, scale_of(prepared)
        useful = None if labels is None else subset(labels, prepared.items)
        suggest = labels is problem.labels  # fits to some of the labels only judge; suggestions are for a person
        with one_blas_thread():  # several would round differently, and the answer must not depend on how many there are
            base = label_free_of(prepared)
            veto = None if prepared.veto is None else partial(prepared.veto, problem)
            found, answer, blend = self.solve(
                base, useful, prepared.items, scale, problem.names, suggest, prepared.progress, veto
            )
        joined: Callable[[Any], Array] = base.home.joined
        uncertainty, expected = found.uncertainty, found.expected
        columns = f if found.columns is None else scale.both(joined(found.columns))
        how: Callable[[], Any] = (
            partial(mixture_of, base, scale, answer, blend) if found.columns is not None else lambda: None
        )
        return replace(
            found,
            columns=columns,
            steps=steps_of(base, (f, columns), (f[base.sample], columns[base.sample]), watch),
            uncertainty=None if uncertainty is None else lambda: joined(uncertainty()),
            expected=None if expected is None else joined(expected),
            model=lambda: model_of(Known.of(problem), f, base, scale, how(), answer),
            moved=Explanation(prepared, base, scale, columns, how, answer, blend).moved,
        )

    def solve(
        self,
        base: LabelFree,
        labels: Labels | None,
        items: Positions,
        scale: Scale,
        names: list[str],
        suggest: bool,
        progress: Callable[[str], None],
        veto: Callable[[Labels, Positions, Array], str | None] | None = None,
    ) -> tuple[Fit, Answer | None, Blend | None]:
        """Return better columns of items wherever they are.

        Parameters
        ----------
        base : LabelFree
            The problem without labels.
        labels : Values, Pairs or None
            Labels that may be used, all of items that take part.
        items : ndarray of int
            The items that take part, which are those of ``base.home``.
        scale : Scale
            What predictions are.
        names : list of str
            Names of the views.
        suggest : bool
            Whether to say which labels would teach most.
        progress : callable
            Called with a sentence whenever something long begins.
        veto : callable, optional
            Gets labels, labelled items and predictions of them, each without its label; returns why these may not come
            back.

        Returns
        -------
        Fit
            What was found, but for steps. Columns, uncertainties and expected labels are with the blocks of
            ``base.home``; there are no columns if the predictions stay as they are.
        Answer, Blend
            What the labels made of the problem, and how much of that came back; None without labels.
        """
        if labels is None:
            return self._without_labels(base, scale, names, suggest), None, None
        if len(scale.scale) > 1:  # what is learned of classes is on one scale
            with np.errstate(over="ignore"):
                check_related(scale.scale.max() / scale.scale, scale.scale, scale.scale.max())
        progress("Learning from the labels")
        answer = fitted(base, relabel(labels, items), scale)
        progress("Asking the labels that were left out")
        blend, probability, confirmed = answer.guarded()
        if not self.guard:
            blend = NEW
        changed = blend.new > 0 or (blend.label_free > 0 and base.moves)
        judged = blend if changed else NEW
        left_out = answer.left_out(judged)
        against = None
        if veto is not None and left_out is not None and changed and self.guard:
            against = veto(labels, items[answer.rows], left_out)
        if against is not None:
            blend, changed = INITIAL, False
        params = {
            "guard": self.guard,
            "signal_share": base.share.c,
            "weight": blend.new,
            "confirmed": confirmed,
            **answer.fused.shares,
        }
        made = describe_labels(answer, labels, (blend, probability, confirmed), changed, self.guard, against)

        def left_out_pairs() -> tuple[Positions, Positions, Array] | None:
            pairs = answer.left_out_pairs(judged)
            return None if pairs is None else (answer.rows[pairs[0]], answer.rows[pairs[1]], pairs[2])

        found = Fit(
            cast(Any, answer.columns(blend) if changed else None),
            params,
            [],
            [],
            (f"{describe_views(base, names)} {made}",),
            gain=answer.gain(judged),
            uncertainty=cast(Any, answer.uncertainty),
            expected=cast(Any, answer.expected()),
            left_out_errors=answer.left_out_errors(blend),
            suggested=partial(suggest_next, answer) if suggest else None,
            left_out=None if left_out is None else (items[answer.rows], left_out),
            left_out_pairs=left_out_pairs,
            calibrated=isinstance(answer, RegressionAnswer) and changed,
            rater_errors=answer.rater_errors(),
        )
        return found, answer, blend

    def _without_labels(self, base: LabelFree, scale: Scale, names: list[str], suggest: bool) -> Fit:
        """Return the label-free answer where the views give good reason to move f."""
        moved = base.home.each(based_on, base.base, coefficients=without_labels(base, scale)) if base.moves else None
        sure = SURE if base.moves and scale.probabilities else ""
        return Fit(
            cast(Any, moved),
            {"guard": self.guard, "signal_share": base.share.kept if base.moves else base.share.c},
            [],
            [],
            (f"{describe_views(base, names)} {describe_share(base)}{sure}",),
            suggested=partial(suggest_first, base) if suggest else None,
            calibrated=scale.task == "regression" and base.moves,
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
    spare = KEPT if limit is None and not any(view.on_disk for view in views) else 0
    return prepared.once(
        LABEL_FREE, lambda: label_free(Memory(views, items), given, f, ranked, prepared.progress, spare)
    )


def steps_of(base: LabelFree, columns: Sequence[Any], sampled: Sequence[Array], watch: Watch | None) -> list[Step]:
    """Return two steps, f and the answer, weighted by what each view explains in either; show them to who watches.

    Columns of all items, and of the sample's, come before and after.
    """
    unknown = np.full(base.home.n_views, np.nan)
    steps = [
        Step(t, one, view_shares(base.by_view, base.home.n_views, some), unknown)
        for t, (one, some) in enumerate(zip(columns, sampled, strict=True))
    ]
    if watch is not None:
        for step in steps:
            watch(step)
    return steps


def why(labels: Labels | None, found: Fit) -> str:
    """Return a sentence on why labels were used, or not."""
    if found.gain is not None:
        return "The labels were used to learn how far to trust the predictions, and what the views add to them. "
    why = "There are no labels" if labels is None else "No two labelled items with features differ in their label"
    return f"{why}, so only the predictions and the views were looked at. "


def describe_views(base: LabelFree, names: list[str]) -> str:
    """Return sentences on which views were used."""
    found = base.relations
    direct = len(found.related) - len(found.through)
    view = "view" if len(names) == 1 else "views"
    said = f"{direct} of {len(names)} {view} {'depends' if direct == 1 else 'depend'} on the predictions."
    for numbers, one, several in (
        (
            found.through,
            "View {} does not, but depends on a view that does",
            "Views {} do not, but depend on a view that does",
        ),
        (base.layout.rest, "View {} shows no relation to them", "Views {} show no relation to them"),
        (
            found.copies,
            "View {} repeats the predictions or another view",
            "Views {} repeat the predictions or other views",
        ),
    ):
        if numbers:
            listed = ", ".join(names[k] for k in numbers[:5]) + (", ..." if len(numbers) > 5 else "")
            said += f" {(one if len(numbers) == 1 else several).format(listed)}."
    return said


def describe_share(base: LabelFree) -> str:
    """Return a sentence on how far averages of alike items are trusted."""
    if not base.layout.related:
        return "Without labels there is nothing to learn from, so the predictions stay as they are."
    if base.moves:
        return (
            f"Of what sets an item apart from alike items, {100 * base.share.kept:.0f}% is taken for truth and kept, "
            f"and the rest is taken for error and averaged away. {MOVED_ELSEWHERE}"
        )
    if base.share.c == 1.0 and not base.share.coarse and len(base.layout.related) == 1:
        return "One such view alone cannot tell error from truth, so the predictions stay as they are."
    if base.share.coarse:
        why = "averages over alike items are too coarse, since the nearest few items explain the predictions better"
    elif base.share.c == 1.0:
        why = "each view adds to what the others explain, so nothing is known to be error"
    else:
        why = "nothing shows that what the views agree about is what the predictions are about"
    return f"Without labels {why}, and the predictions stay as they are."


def _learners(answer: Answer) -> str:
    """Return in words how much of what was learned is by what."""
    plain, trees, clouds = (round(100 * share) for share in answer.fused.shares.values())
    plain = min(plain, 100 - trees - clouds)  # three rounded shares may be more than all
    learners = {
        "by what alike items have in common": 100 - plain - trees - clouds,
        "by a plain regression on the predictions and the columns of the views": plain,
        "by decision trees": trees,
        "by clouds of items around labels of the same value": clouds,
    }
    *first, last = (f"{share}% {learner}" for learner, share in learners.items() if share)
    return f"{', '.join(first)} and {last}" if first else last.split("% ", 1)[1]


def describe_labels(
    answer: Answer,
    labels: Labels,
    found: tuple[Blend, float, float],
    changed: bool,
    guard: bool,
    against: str | None = None,
) -> str:
    """Return sentences on what was made of the labels, and what became of that.

    ``found`` is what the guard found, and ``against`` what the metric that was asked for says against new predictions.
    """
    blend, probability, confirmed = found
    kind = "labels" if isinstance(labels, Values) else "comparisons"
    given = len(labels.values) if isinstance(labels, Values) else len(labels.higher)
    used = f"{answer.n_used:,} {kind}" if answer.n_used == given else f"{answer.n_used:,} of {given:,} {kind}"
    several = answer.fused.average, answer.fused.forest, answer.fused.clouds
    by = f": {_learners(answer)}" if any(one is not None for one in several) else " by a Gaussian process"
    said = f"New predictions were learned from {used}{by}. "
    if guard and confirmed < LEAST_CONFIRMED:  # labels that are left aside say nothing of a gain
        instead = "the answer without labels" if changed else "the initial predictions"
        return said + (
            f"But the {kind} agree with the predictions and the views no better than chance would; do their ids match "
            f"those of the predictions? They were left aside, and {instead} came back."
        )
    sure = "a probability above 0.99" if probability > 0.99 else f"probability {probability:.2f}"
    said += (
        f"They are better than the initial ones with {sure}, by the {kind} that were left out "
        "and by what such views usually gain. "
    )
    if not guard:
        return said + "They came back as they are, since the guard is off."
    if against is not None:
        return said + against
    if not changed:
        return said + "That is no credible gain, so the initial predictions stay as they are."
    whole = round(100 * blend.new) == 100
    return said + ("They are what came back." if whole else f"They make up {100 * blend.new:.0f}% of what came back.")
