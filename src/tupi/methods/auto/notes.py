"""What "auto" says about itself, in sentences."""

from __future__ import annotations

from tupi.inputs.labels import Labels, Values
from tupi.methods.auto.answers import Answer
from tupi.methods.auto.guard import LEAST_CONFIRMED, Blend
from tupi.methods.auto.labelfree import LabelFree


def why(labels: Labels | None, useful: Labels | None) -> str:
    """Return a sentence on why labels were used, or not."""
    if useful is not None:
        return "Method 'fuse' was chosen, because there are labels. "
    why = "there are no labels" if labels is None else "no two labelled items with features differ in their label"
    return f"Method 'smooth' was chosen, because {why}. "


def describe_views(base: LabelFree, names: list[str]) -> str:
    """Return sentences on which views were used."""
    found = base.relations
    direct = len(found.related) - len(found.through)
    said = f"{direct} of {len(names)} {_view(len(names))} {'depends' if direct == 1 else 'depend'} on the predictions."
    for numbers, one, several in (
        (found.through, "does not, but depends on a view that does", "do not, but depend on a view that does"),
        (base.layout.rest, "shows no relation to them", "show no relation to them"),
        (found.copies, "repeats the predictions or another view", "repeat the predictions or other views"),
    ):
        if numbers:
            listed = ", ".join(names[k] for k in numbers[:5]) + (", ..." if len(numbers) > 5 else "")
            said += f" {_view(len(numbers)).capitalize()} {listed} {one if len(numbers) == 1 else several}."
    return said


def _view(count: int) -> str:
    return "view" if count == 1 else "views"


def describe_share(base: LabelFree) -> str:
    """Return a sentence on how far averages of alike items are trusted."""
    if not base.layout.related:
        return "Without labels there is nothing to learn from, so the predictions stay as they are."
    if base.moves:
        return (
            f"Of what sets an item apart from alike items, {100 * base.share.c:.0f}% is taken for truth and kept, and "
            "the rest is taken for error and averaged away."
        )
    if base.share.c == 1.0 and len(base.layout.related) == 1:
        return "One such view alone cannot tell error from truth, so the predictions stay as they are."
    if base.share.c == 1.0:
        why = "each view adds to what the others explain, so nothing is known to be error"
    else:
        why = "nothing shows that what the views agree about is what the predictions are about"
    return f"Without labels {why}, and the predictions stay as they are."


def describe_labels(
    answer: Answer, labels: Labels, found: tuple[Blend, float, float], changed: bool, guard: bool
) -> str:
    """Return sentences on what was made of the labels, and what became of that; ``found`` is what the guard found."""
    blend, probability, confirmed = found
    kind = "labels" if isinstance(labels, Values) else "comparisons"
    given = len(labels.values) if isinstance(labels, Values) else len(labels.higher)
    used = f"{answer.n_used:,} {kind}" if answer.n_used == given else f"{answer.n_used:,} of {given:,} {kind}"
    plain, trees = (round(100 * share) for share in (answer.fused.plain_share, answer.fused.forest_share))
    learners = {
        "by a plain regression on the predictions and the columns of the views": plain,
        "by decision trees": trees,
    }
    others = [f"{share}% {learner}" for learner, share in learners.items() if share]
    shares = f", {100 - plain - trees}% of them by a Gaussian process"
    by = f"{shares}, {' and '.join(others)}" if others else " by a Gaussian process"
    said = f"New predictions were learned from {used}{by}. "
    if guard and confirmed < LEAST_CONFIRMED:  # labels that are left aside say nothing of a gain
        instead = "the answer without labels" if changed else "the initial predictions"
        return said + (
            f"But the {kind} agree with the predictions and the views no better than chance would; do their ids match "
            f"those of the predictions? They were left aside, and {instead} came back."
        )
    said += (
        f"They are better than the initial ones with probability {probability:.2f}, by the {kind} that were left out "
        "and by what such views usually gain. "
    )
    if not guard:
        return said + "They came back as they are, since the guard is off."
    if not changed:
        return said + "That is no credible gain, so the initial predictions stay as they are."
    return said + f"They make up {100 * blend.new:.0f}% of what came back."
