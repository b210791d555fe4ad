"""What "auto" says about itself, in sentences."""

from __future__ import annotations

from tupi.inputs.labels import Labels, Values
from tupi.methods.auto.answers import Answer
from tupi.methods.auto.guard import LEAST_CONFIRMED, Blend
from tupi.methods.auto.labelfree import LabelFree


def why(labels: Labels | None, useful: Labels | None) -> str:
    """Return a sentence on why labels were used, or not."""
    if useful is not None:
        return "Chose 'fuse' because there are labels. "
    why = "there are no labels" if labels is None else "no labelled items with features differ in their label"
    return f"Chose 'smooth' because {why}. "


def describe_views(base: LabelFree, names: list[str]) -> str:
    """Return a sentence on which views were used."""
    found = base.relations
    said = f"{len(found.related) - len(found.through)} of {len(names)} views depend on the predictions"
    for numbers, what in (
        (found.through, "on one of those views"),
        (base.layout.rest, "unrelated"),
        (found.copies, "copies"),
    ):
        if numbers:
            listed = ", ".join(names[k] for k in numbers[:5]) + (", ..." if len(numbers) > 5 else "")
            said += f"; {what}: {listed}"
    return said + "."


def describe_share(base: LabelFree) -> str:
    """Return a sentence on how far averages of alike items are trusted."""
    if not base.layout.related:
        return "Nothing to learn from without labels: the predictions stay as they are."
    if base.moves:
        return (
            f"Of what alike items do not share, {100 * base.share.c:.0f}% is taken to be signal and kept, "
            "the rest is averaged away."
        )
    if base.share.c == 1.0 and len(base.layout.related) == 1:
        return "The one view that depends on them does not tell error from signal: the predictions stay as they are."
    if base.share.c == 1.0:
        why = "each view adds to what the others explain, so nothing is known to be error"
    else:
        why = "nothing shows that what the views agree about is what is predicted"
    return f"Without labels {why}: the predictions stay as they are."


def describe_labels(
    answer: Answer,
    labels: Labels,
    found: tuple[Blend, float, float],
    changed: bool,
    guard: bool,
    against: str | None = None,
) -> str:
    """Return a sentence on what was made of the labels, and what became of that.

    ``found`` is what the guard found, and ``against`` what the metric that was asked for says against new predictions.
    """
    blend, probability, confirmed = found
    kind = "labels" if isinstance(labels, Values) else "comparisons"
    given = len(labels.values) if isinstance(labels, Values) else len(labels.higher)
    used = f"{answer.n_used:,} {kind}" if answer.n_used == given else f"{answer.n_used:,} of {given:,} {kind}"
    plain = round(100 * answer.fused.plain_share)
    said = f"A Gaussian process on {used} made new predictions, "
    trees = round(100 * answer.fused.forest_share)
    if plain:
        said += f"{plain}% of them by a plain process of the predictions and the views' columns, "
    if trees:
        said += f"{trees}% by trees, "
    if guard and confirmed < LEAST_CONFIRMED:  # labels that are left aside say nothing of a gain
        instead = "the answer without labels" if changed else "the initial predictions"
        return said + (
            f"but the {kind} agree with nothing better than chance would (do their ids match those of the "
            f"predictions?), so they are left aside, and {instead} came back."
        )
    said += f"better with probability {probability:.2f} by the {kind} left out and by what such views usually gain; "
    if not guard:
        return said + "they came back as they are, since the guard is off."
    if against is not None:
        return said + against
    if not changed:
        return said + "no credible gain, so the initial predictions stay as they are."
    return said + f"they make up {100 * blend.new:.0f}% of what came back."
