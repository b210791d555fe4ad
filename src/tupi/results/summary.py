"""A result in words: what was done, which views counted, and what the labels say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tupi.embedding.relevance import LEVEL
from tupi.judging.evidence import Evidence, amount
from tupi.judging.metrics import metric_named
from tupi.results.outcome import Outcome

N_NAMES = 5  # more names than that are counted, not listed
EVEN = 1.25  # weights within this factor are about the same
NOUNS = {"ranking": "scores", "regression": "predictions", "classification": "class scores"}


def summary(result: Outcome) -> list[str]:
    """Return three sentences for a person in a hurry: what was done, which views counted, what the labels say."""
    return [_done(result), _views(result), _judgement(result.evidence)]


def five_lines(result: Outcome) -> list[str]:
    """Return what somebody who prints a result wants to see: what it is, three sentences, and what to do next.

    Of a result that was saved without its items, what it is and what the labels say is all there is.
    """
    if not len(result.initial):
        head = f"A model for new items, {result.task} by method {result.method!r}, saved without its own items"
        return [head, _judgement(result.evidence), "What to do next: predict new items."]
    step = next_step(result)
    head = f"{len(result.initial):,} items, {result.task} by method {result.method!r}"
    return [head, *summary(result), f"What to do next: {step}"]


def key_figures(result: Outcome) -> list[tuple[str, str]]:
    """Return the few figures to know, each with what it is."""
    figures = [("items", f"{len(result.initial):,}"), ("views", f"{len(result.dependence)}")]
    if result.changed and result.initial.ndim == 2:
        figures.append(("items with a new class", f"{_new_classes(result):,}"))
    elif result.changed:
        figures.append(("rank correlation, old with new", three_decimals(rank_correlation(result))))
    else:
        figures.append(("predictions", "unchanged"))
    if result.evidence is None:
        figures.append(("labels", "none"))
    elif judged(result.evidence):
        metric = metric_named(result.evidence.metric)
        what = "gain" if result.changed else "gain of the candidate that was turned down,"
        figures.append((f"{what} in {metric.axis}", metric.words.difference(result.evidence.gain)))
    else:
        figures.append((f"{result.evidence.noun}s", f"{result.evidence.n_labels}, too few to judge"))
    return figures


def rank_correlation(result: Outcome) -> float:
    """Return Spearman's correlation of the predictions before and after; NaN if either is constant."""
    before, after = (pd.Series(values).rank() for values in (result.initial, result.predictions))
    return float(before.corr(after))


def judged(evidence: Evidence) -> bool:
    """Return whether the labels sufficed for a figure."""
    return bool(np.isfinite([evidence.before, evidence.after, evidence.low, evidence.high]).all())


def evidence_verdict(evidence: Evidence) -> str:
    """Return what to make of the evidence, as the main clause of a sentence."""
    if not judged(evidence):
        labels = amount(evidence.n_labels, evidence.noun)
        different = ", with different values," if evidence.noun == "label" else ""
        return f"{labels} could not judge the change; more of them{different} would"
    if evidence.low == evidence.high == 0:
        return "the labels see no difference between old and new"
    if evidence.low > 0:
        confirm = "confirm a gain" if evidence.accepted else "would have confirmed a gain"
        return f"the labels {confirm}, since the whole interval is above zero"
    if evidence.high < 0:
        return "the labels advise against this method here, since the whole interval is below zero"
    return "the labels cannot tell whether this method helps or harms here, since the interval includes zero"


def next_step(result: Outcome) -> str:
    """Return what to do with the result, as a sentence."""
    evidence = result.evidence
    if evidence is None:
        return (
            "label a few dozen items drawn at random and run this again with those labels: nothing else tells whether "
            "the new predictions are better."
        )
    if not judged(evidence):
        return f"add {evidence.noun}s, until there are enough to judge the change, and run this again."
    if not result.changed or not evidence.accepted:
        return "keep the predictions that you have; other features, or more labels, may change that."
    if evidence.low > 0:
        return "use the new predictions."
    if evidence.high < 0:
        return 'keep the predictions that you have, or try another method, such as "auto".'
    return "use the new predictions with care, or add labels until they tell whether these are better."


def significant(value: float) -> str:
    """Return a number with four significant digits."""
    return f"{value:.4g}"


def three_decimals(value: float) -> str:
    """Return a share or weight with three decimals, in words where it is not known."""
    return "unknown" if pd.isna(value) else f"{value:.3f}"


def shortened(name: str, longest: int = 40) -> str:
    """Return a name without its middle if it is too long: names often differ only at one end."""
    head = longest // 2
    return name if len(name) <= longest else f"{name[:head]}…{name[len(name) - (longest - head - 1) :]}"


def _done(result: Outcome) -> str:
    n, noun, views = len(result.initial), NOUNS[result.task], list(result.dependence.index)
    seen = f"{amount(len(views), 'view')} of them that the predictor never saw ({_names(views)})"
    if not result.changed:
        return f"The {noun} of all {n:,} items were compared with {seen} and left exactly as they were."
    start = f"The {noun} of {n:,} items were adjusted with {seen}; "
    if result.task == "classification":
        new = _new_classes(result)
        return start + f"the most likely class changed for {new:,} items ({100 * new / n:.1f}%)."
    if result.task == "regression":
        typical = float(np.median(np.abs(result.predictions - result.initial)))
        return start + f"half of them changed by at most {significant(typical)}."
    table = result.table()
    places = int(np.median((table["rank_before"] - table["rank_after"]).abs()))
    return start + f"half of the items moved by at most {amount(places, 'place')} in the ranking."


def _views(result: Outcome) -> str:
    weights, dependence = result.weights.iloc[-1], result.dependence
    top = str(dependence["after"].fillna(0.0).idxmax())
    if not result.changed and len(dependence) == 1:
        start = f"The only view, {shortened(top)}, was not used"
    elif not result.changed:
        start = f"No view was used; the one that the predictions depend on most is {shortened(top)}"
    elif len(dependence) == 1:
        start = f"The only view was {shortened(top)}"
    elif weights.isna().any():
        start = f"The view that the predictions depend on most is {shortened(top)}"
    elif weights.max() <= EVEN * weights.min():
        start = f"All views counted about the same (weights {weights.min():.2f} to {weights.max():.2f})"
    else:
        heaviest = weights.sort_values(ascending=False, kind="stable")[:2]
        top = str(heaviest.index[0])
        counted = " and ".join(
            f"{shortened(view)} ({weight:.2f})" for view, weight in zip(heaviest.index, heaviest, strict=True)
        )
        start = f"Most weight went to {counted}"
    before, after = (float(dependence[when][top]) for when in ("before", "after"))
    link = f"the link between {shortened(top)} and the predictions (normalised HSIC, from 0 to 1) "
    link += f"went from {before:.2f} to {after:.2f}" if result.changed else f"is {before:.2f}"
    doubtful = list(dependence.index[dependence["p_value"] >= LEVEL])
    doubt = f"; no sign of a link was found for {_names(doubtful)} (p of at least {LEVEL})" if doubtful else ""
    return f"{start}; {link}{doubt}."


def _judgement(evidence: Evidence | None) -> str:
    if evidence is None:
        return "There were no labels, so whether the result is better cannot be told from these data."
    if not judged(evidence):
        return f"{evidence_verdict(evidence)}."
    words = metric_named(evidence.metric).words
    change = words.change(evidence.before, evidence.after, evidence.gain, evidence.low, evidence.high)
    went = "went" if evidence.accepted else "would have gone"
    return (
        f"On {amount(evidence.n_labels, evidence.noun)}, each held out in turn, {evidence.metric} {went} from "
        f"{change}: {evidence_verdict(evidence)}."
    )


def _new_classes(result: Outcome) -> int:
    return int((result.initial.argmax(axis=1) != result.predictions.argmax(axis=1)).sum())


def _names(names: Sequence[str]) -> str:
    listed, rest = [shortened(name) for name in names[:N_NAMES]], len(names) - N_NAMES
    if rest > 0:
        listed.append(f"{rest} more")
    return " and ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)
