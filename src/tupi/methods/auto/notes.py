"""What "auto" says about itself, in sentences."""

from __future__ import annotations

from tupi.inputs.labels import Labels
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
