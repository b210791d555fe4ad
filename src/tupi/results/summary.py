"""A result in words: what was done, which views counted, and what the labels say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tupi.embedding.relevance import LEVEL
from tupi.inputs.labels import amount
from tupi.judging.catalogue import axis_of, words_of
from tupi.judging.evidence import EXPLAINS, LEAST_CONFIRMED, MIN_LABELS, Evidence
from tupi.results.outcome import Outcome
from tupi.results.readable import shortened, three_digits

N_NAMES = 5  # more names than that are counted, not listed
EVEN = 1.25  # weights within this factor are about the same
NOUNS = {"ranking": "scores", "regression": "predictions", "classification": "class scores"}
ENOUGH = 30  # labels that usually show a large gain; small ones take more, see docs/labels.md
MOST_MORE = 1_000  # nobody labels more than that to settle a small difference
POWER = ((1.96 + 0.84) / 1.96) ** 2  # as many more labels as make an interval exclude zero four times in five

# What each metric says, for somebody who has never heard of it.
MEANINGS = {
    "pairwise accuracy": "Pairwise accuracy is the share of pairs of items that are in the right order: tossing a coin "
    "gets 50%, and a perfect ranking 100%.",
    "accuracy": "Accuracy is the share of items whose most likely class is the right one.",
    "R²": "R² is the share of the differences between labels that the predictions explain: 1 is perfect, and 0 is no "
    "better than the same value for every item.",
    "RMSE": "RMSE is the typical error in the labels' units, in which large errors count most; less is better.",
    "MAE": "MAE is the mean size of the errors in the labels' units; less is better.",
    "AUC": "AUC is the share of pairs of a positive and a negative item in which the positive one has the higher "
    "probability: tossing a coin gets 50%.",
    "balanced accuracy": "Balanced accuracy is the share of right items of each class, averaged over classes.",
    "log loss": "Log loss is how surprised the probabilities are by the labels; less is better, and 0 is perfect.",
    "Brier score": "The Brier score is the mean squared error of the probabilities; less is better.",
    "calibration error": "Calibration error is how far probabilities are from the shares of items that turn out so; "
    "less is better.",
    "MAP": "MAP is the mean, over relevant items, of the share of relevant ones among all that rank at least as high.",
    "NDCG": "NDCG says how much of the relevance that a perfect ranking has in its first places this one has there: "
    "1 is perfect.",
}


@dataclass(frozen=True)
class Verdict:
    """What to do with a result.

    Attributes
    ----------
    kind : {"use", "care", "leave", "label"}
        Use the new predictions, use them with care, leave the old ones as they are, or get labels first.
    head : str
        The same as a short sentence.
    step : str
        What to do next, as a sentence that begins with a small letter.
    """

    kind: str
    head: str
    step: str


def summary(result: Outcome) -> list[str]:
    """Return three sentences for a person in a hurry: what was done, which views counted, what the labels say.

    What views are worth takes a while to compute; it is told if somebody has looked already.
    """
    return [what_changed(result), views_worth(result) or _views(result), judgement(result.evidence, result.changed)]


def five_lines(result: Outcome) -> list[str]:
    """Return what somebody who prints a result wants to see: what it is, three sentences, and what to do next.

    Of a result that was saved without its items, what it is and what the labels say is all there is.
    """
    if not len(result.initial):
        head = f"A model for new items, {result.task} by method {result.method!r}, saved without its own items"
        return [head, judgement(result.evidence), "What to do next: predict new items."]
    step = next_step(result)
    head = f"{len(result.initial):,} items, {result.task} by method {result.method!r}"
    return [head, *summary(result), f"What to do next: {step}"]


def noun_of(result: Outcome) -> str:
    """Return what the predictions are called."""
    return "probabilities" if result.binary else NOUNS[result.task]


def key_figures(result: Outcome) -> list[tuple[str, str]]:
    """Return the few figures to know, each with what it is."""
    figures = [("items", f"{len(result.initial):,}"), ("views", f"{len(result.dependence)}")]
    if result.changed and result.initial.ndim == 2:
        figures.append(("items with a new class", f"{_new_classes(result):,}"))
    elif result.changed:
        figures.append(_typical_change(result))
    else:
        figures.append(("predictions", "unchanged"))
    if result.evidence is None:
        figures.append(("labels", "none"))
    elif judged(result.evidence):
        metric = result.evidence.metric
        what = "gain" if result.changed else "gain of the candidate that was turned down,"
        figures.append((f"{what} in {axis_of(metric)}", words_of(metric).difference(result.evidence.gain)))
    else:
        figures.append((f"{result.evidence.noun}s", f"{result.evidence.n_labels}, too few to judge"))
    return figures


def _typical_change(result: Outcome, share: float = 1.0) -> tuple[str, str]:
    """Return how far the item in the middle moved, with what that is: in places of a ranking, or in the units.

    If the result has a share of the items only, each of them stands for several places.
    """
    if result.task != "ranking":
        change = float(np.median(np.abs(result.predictions - result.initial)))
        return "median change", three_digits(change)
    table = result.table()
    places = int(np.median((table["rank_before"] - table["rank_after"]).abs()))
    return "median move, places", _in_all(places, share)


def _in_all(count: int, share: float) -> str:
    """Return a count; if it comes from a share of the items, what that makes of all, in two digits."""
    return f"{count if share == 1 else int(float(f'{count / share:.2g}')):,}"


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
    return verdict(result).step


def verdict(result: Outcome) -> Verdict:
    """Return whether to use the new predictions, and what to do next."""
    evidence, noun = result.evidence, noun_of(result)
    use, leave = f"Use the new {noun}", f"Leave the {noun} as they are."
    if evidence is None and not result.changed:
        step = f"keep the {noun} that you have; without labels nothing was found that speaks for a change."
        return Verdict("leave", leave, f"{step} About {ENOUGH} labels of items drawn at random may find more.")
    if evidence is None:
        step = (
            f"label about {ENOUGH} items drawn at random and run this again with those labels: nothing else tells "
            f"whether the new {noun} are better."
        )
        return Verdict("label", f"Get about {ENOUGH} labels first.", step)
    if left_aside(result):
        step = (
            f"check whether the {evidence.noun}s belong to these items, since they agree with the predictions and the "
            f"views no better than chance would. Until then keep the {noun} that you have."
        )
        return Verdict("leave", leave, step)
    if not judged(evidence):
        more = max(ENOUGH - evidence.n_labels, MIN_LABELS)
        drawn = " of items drawn at random" if evidence.noun == "label" else ""
        step = f"add about {more} {evidence.noun}s{drawn}, which are enough to judge the change, and run this again."
        return Verdict("label", f"Get about {more} more {evidence.noun}s first.", step)
    if not result.changed or not evidence.accepted:
        step = f"keep the {noun} that you have; other features, or more labels, may change that."
        return Verdict("leave", leave, step)
    if evidence.low > 0:
        return Verdict("use", f"{use}.", f"use the new {noun}.")
    if evidence.high < 0:
        step = f'keep the {noun} that you have, or try another method, such as "auto".'
        return Verdict("leave", leave, step)
    if evidence.gain <= 0:
        step = f"keep the {noun} that you have, or add {evidence.noun}s: so far they show no gain."
        return Verdict("leave", leave, step)
    step = f"use the new {noun} with care, or "
    unlabelled = result.initial.shape[0] - evidence.n_labels if evidence.noun == "label" else MOST_MORE
    if (more := labels_needed(evidence)) > MOST_MORE:
        step += f"keep the old ones: the gain, if there is one, is too small for {evidence.noun}s to show."
    elif more > unlabelled:
        step += f"keep the old ones: these items are too few for {evidence.noun}s to show whether the gain is real."
    else:
        step += f"add about {more:,} {evidence.noun}s, which would probably tell whether these are better."
    return Verdict("care", f"{use} with care.", step)


def left_aside(result: Outcome) -> bool:
    """Return whether a method that asks so took the labels for those of other items, and did not use them."""
    return bool(result.params.get("guard")) and result.params.get("confirmed", 1.0) < LEAST_CONFIRMED


def labels_needed(evidence: Evidence) -> int:
    """Return about how many more labels would confirm a gain like that so far, four times in five.

    Intervals narrow with the square root of the number of labels.
    """
    half = (evidence.high - evidence.low) / 2
    with np.errstate(over="ignore"):
        more = (evidence.n_judging or evidence.n_labels) * (POWER * np.square(half / evidence.gain) - 1)
    return int(10 * np.ceil(np.clip(more, 1, 10 * MOST_MORE) / 10))


def what_changed(result: Outcome, some: Outcome | None = None) -> str:
    """Return what was done, and how much changed, as a sentence.

    Parameters
    ----------
    result : Outcome
        The result.
    some : Outcome, optional
        The same for some of the items, spread evenly over all: where these are on a cluster, it says about how much
        changed.
    """
    n, noun, views = result.initial.shape[0], noun_of(result), list(result.dependence.index)
    kind = "a set of features" if len(views) == 1 else "sets of features"
    seen = f"{amount(len(views), 'view')} ({kind} that the predictor never saw: {_names(views)})"
    if not result.changed:
        return f"The {noun} of all {n:,} items were compared with {seen} and left exactly as they were."
    start = f"The {noun} of {n:,} items were adjusted with {seen}; "
    looked_at = result if some is None else some
    share = len(looked_at.initial) / n
    about = "about " if share < 1 else ""
    if result.task == "classification":
        if result.binary:
            start += f"half of them changed by at most {about}{_typical_change(looked_at)[1]}, and "
        if not (new := _new_classes(looked_at)):
            return f"{start}no item has another most likely class than before."
        items = "item" if (count := _in_all(new, share)) == "1" else "items"
        return f"{start}the most likely class changed for {about}{count} {items} ({100 * new / (share * n):.1f}%)."
    if result.task == "regression":
        return start + f"half of them changed by at most {about}{_typical_change(looked_at)[1]}."
    places = _typical_change(looked_at, share)[1]
    return (
        start + f"half of the items moved by at most {about}{places} {'place' if places == '1' else 'places'} in the "
        "ranking."
    )


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


def views_worth(result: Outcome) -> str:
    """Return what the views are worth in a sentence, the greatest worth first; empty if nobody has looked yet."""
    gains = result.known_gains
    if gains is None or not (told := gains.dropna().sort_values("gain", ascending=False, kind="stable")).size:
        return ""
    rest = f", and {amount(len(gains) - N_NAMES, 'other')}" if len(gains) > N_NAMES else ""
    metric = "" if result.evidence is None else result.evidence.metric
    parts = [f"{shortened(str(row.Index))} {worth_of(row, metric)}" for row in told[:N_NAMES].itertuples()]
    if told["kind"].iloc[0] == EXPLAINS:
        return (
            "How much of the differences between the initial predictions each view alone explains (with 95% "
            f"intervals): {', '.join(parts)}{rest}. Only labels tell whether that helps."
        )
    unit = words_of(metric).unit
    none_sure = bool(((told["low"] <= 0) & (told["high"] >= 0)).all())
    doubt = " No view makes a difference that the labels can tell from zero." if none_sure else ""
    if none_sure and len(told) > 1:
        doubt += " Views that say the same can stand in for one another."
    return (
        f"How much better the answer is with each view than without it, in {f'{unit} of ' if unit else ''}{metric} "
        f"(with 95% intervals): {', '.join(parts)}{rest}.{doubt}"
    )


def worth_of(row: Any, metric: str) -> str:
    """Return what a view is worth in the units of a metric, or the share that it explains, with the interval if known.

    Parameters
    ----------
    row : tuple with gain, low, high and kind
        One row of `tupi.Denoised.view_gains`.
    metric : str
        The name of the metric.
    """
    if not np.isfinite(row.gain):
        return "unknown"
    said = (lambda share: f"{100 * share:.0f}%") if row.kind == EXPLAINS else words_of(metric).difference
    return f"{said(row.gain)} ({said(row.low)} to {said(row.high)})" if np.isfinite(row.low) else said(row.gain)


def judgement(evidence: Evidence | None, changed: bool = True) -> str:
    """Return what the labels say, as a sentence."""
    if evidence is None and not changed:
        return "There were no labels to look for a gain with."
    if evidence is None:
        return "There were no labels, so whether the result is better cannot be told from these data."
    if not judged(evidence):
        return f"{evidence_verdict(evidence)}."
    words = words_of(evidence.metric)
    change = words.change(evidence.before, evidence.after, evidence.gain, evidence.low, evidence.high)
    went = "went" if evidence.accepted else "would have gone"
    return (
        f"On {evidence.judges}, each held out in turn, {evidence.metric} {went} from "
        f"{change}: {evidence_verdict(evidence)}. {evidence.others}"
    ).strip()


def _new_classes(result: Outcome) -> int:
    before, after = (one > 0.5 if result.binary else one.argmax(axis=1) for one in (result.initial, result.predictions))
    return int((before != after).sum())


def _names(names: Sequence[str]) -> str:
    listed, rest = [shortened(name) for name in names[:N_NAMES]], len(names) - N_NAMES
    if rest > 0:
        listed.append(f"{rest} more")
    return " and ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)
