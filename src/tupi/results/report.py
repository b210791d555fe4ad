"""The HTML report of a result: one file that explains it to a person and opens offline."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import date
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.relevance import LEVEL
from tupi.inputs.labels import Pairs, Values, amount
from tupi.judging.catalogue import axis_of, words_of
from tupi.judging.evidence import EXPLAINS
from tupi.judging.metrics import usual_metrics
from tupi.results import plots
from tupi.results.html import command, paragraphs, plot, side_by_side, table
from tupi.results.outcome import Outcome
from tupi.results.readable import decimals_for, fixed, significant, three_decimals
from tupi.results.reasons import main_parts
from tupi.results.summary import MEANINGS, judged, key_figures, noun_of, summary, verdict, worth_of
from tupi.runtime.atomic import write_atomically
from tupi.runtime.errors import InputError

PACKAGES = ("tupi", "numpy", "scipy", "scikit-learn", "numba", "pandas")
N_CLASS_CHANGES = 10
N_SUGGESTED = 10
LEAST_STEPS = 3  # two points make no line worth drawing

Facts = Sequence[tuple[str, str]]

# The browser itself then refuses to fetch anything: whatever a report shows is inside its file.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"


def write_report(result: Outcome, path: Path, origin: Facts = ()) -> Path:
    """Write a self-contained HTML report, whole or not at all, and return its path.

    Parameters
    ----------
    result : Outcome
        What to report on.
    path : Path
        The file to write.
    origin : sequence of pairs of str
        Where the result comes from, such as files and the command: what each thing is, and its name.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise InputError(
            f"path: the folder {str(path.parent)!r} does not exist; accepted: a file in a folder that does."
        )
    if path.is_dir():
        raise InputError(f"path: {str(path)!r} is a folder; accepted: the name of a file to write.")
    # Ids may hold lone surrogates, such as file names that are not text; they are shown by their number.
    return write_atomically(path, render(result, origin).encode("utf-8", "backslashreplace"))


def render(result: Outcome, origin: Facts = ()) -> str:
    """Return the report as HTML text."""
    worth = _worth(result)  # first, since sentences tell it if it is known
    sections = (
        ("Verdict", _verdict(result)),
        ("Gain", _gain(result)),
        ("Before and after", _before_after(result)),
        ("Views", worth + _views(result)),
        ("Uncertainty", _uncertainty(result)),
        ("Label next", _label_next(result)),
        ("Biggest movers", _movers(result)),
        ("Settings and origin", _settings(result, origin)),
    )
    anchors = {heading: heading.lower().replace(" ", "-") for heading, _ in sections}
    links = "".join(f'<li><a href="#{anchor}">{heading}</a></li>' for heading, anchor in anchors.items())
    body = "\n".join(
        f'<section aria-labelledby="{anchors[heading]}">\n'
        f'<h2 id="{anchors[heading]}">{heading}</h2>\n{content}</section>'
        for heading, content in sections
    )
    title = f"tupi report: {len(result.initial):,} items, {amount(len(result.dependence), 'view')}"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{_asset("colors.css")}{_asset("report.css")}</style>
<script>
{plotly_script()}
</script>
</head>
<body>
<header>
<h1>{title}</h1>
<nav aria-label="Sections"><ul>{links}</ul></nav>
<noscript><p>The plots need JavaScript. Everything else can be read without.</p></noscript>
</header>
<main>
{body}
</main>
<script>
{_asset("report.js")}</script>
</body>
</html>
"""


def _asset(name: str) -> str:
    return (files("tupi.results") / "report_assets" / name).read_text(encoding="utf-8")


def plotly_script() -> str:
    """Return plotly's script as its package ships it."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise ImportError('The report needs plotly: run `pip install "tupi[report]"`.') from None
    return get_plotlyjs()


def _verdict(result: Outcome) -> str:
    found = verdict(result)
    done, views, judgement = summary(result)
    step = "" if found.kind == "use" else f"What to do: {found.step}"
    meaning = "" if result.evidence is None else MEANINGS.get(result.evidence.metric.partition("@")[0], "")
    reasons = paragraphs(*filter(None, (f"{judgement[0].upper()}{judgement[1:]}", step, meaning)))
    key = "".join(f"<div><dt>{escape(what)}</dt><dd>{escape(value)}</dd></div>" for what, value in key_figures(result))
    notes = "".join(f"<li>{escape(note)}</li>" for note in result.notes)
    return (
        f'<div class="verdict {found.kind}">\n<p class="head">{escape(found.head)}</p>\n{reasons}</div>\n'
        f'<dl class="key">{key}</dl>\n{paragraphs(done, views)}'
        + (f"<p>From the method:</p>\n<ul>{notes}</ul>\n" if notes else "")
    )


def _gain(result: Outcome) -> str:
    evidence = result.evidence
    if evidence is None:
        return paragraphs("There were no labels, so nothing here says whether the new predictions are better.")
    figures = []
    if judged(evidence):
        whose = "" if evidence.accepted else " of the candidate that was turned down"
        caption = f"The gain{whose} on {evidence.noun}s that were held out, with its 95% interval. "
        caption += "To the right of the dotted line, the new predictions are better."
        figures.append(plot("gain", f"Gain on held-out {evidence.noun}s", plots.gain_interval(evidence), caption))
    if "score" in result.history and len(result.history) >= LEAST_STEPS:
        caption = (
            "These are the very labels that chose the setting and the number of steps, so the score is a little too "
            "good. Judge by the gain on held-out labels."
        )
        # What chose is the first metric of the task, whatever else the gain is told in.
        chose = usual_metrics(result.task)[Values if evidence.noun == "label" else Pairs].name
        figures.append(plot("steps", "Score along the steps", plots.score_steps(result, chose), caption))
    beside = [(name, *(words_of(name).level(value) for value in both)) for name, both in evidence.beside.items()]
    others = table("Other figures on the same labels", ("metric", "before", "after"), beside) if beside else ""
    return paragraphs(evidence.sentence) + others + side_by_side(*figures)


def _before_after(result: Outcome) -> str:
    if not result.changed:
        return (
            f"<p>All {len(result.initial):,} predictions are exactly what came in: there is nothing to compare.</p>\n"
        )
    if result.initial.ndim == 2:
        return _class_changes(result)
    n, shown = len(result.initial), plots.MAX_POINTS
    sample = f"{shown:,} of {n:,} items are drawn, evenly spaced along the initial order. " if n > shown else ""
    moved = "Places gained or lost in the ranking" if result.task == "ranking" else "Change of the predictions"
    return side_by_side(
        plot(
            "scatter",
            f"Old against new {noun_of(result)}",
            plots.score_scatter(result),
            f"{sample}Items on the dotted line are unchanged. Diamonds are the items in the table of movers.",
        ),
        plot(
            "changes",
            moved,
            plots.change_histogram(result),
            "Blue items went up, orange items went down, and grey items did not change, or next to nothing.",
        ),
    )


def _class_changes(result: Outcome) -> str:
    changed = plots.class_changes(result)
    counts = changed.to_numpy()
    moved = int(counts.sum() - np.trace(counts))
    first = f"<p>{moved:,} of {int(counts.sum()):,} items changed their most likely class.</p>\n"
    sizes = table(
        "Items by most likely class",
        ("class", "before", "after"),
        zip(changed.index, changed.sum(axis=1), changed.sum(axis=0), strict=True),
    )
    if not moved:
        return first + sizes
    flat = np.where(np.eye(len(changed), dtype=bool), 0, counts).ravel()
    largest = [divmod(k, len(changed)) for k in np.argsort(-flat, kind="stable")[:N_CLASS_CHANGES] if flat[k]]
    changes = table(
        "Most common changes of class",
        ("from", "to", "items"),
        ((changed.index[i], changed.index[j], counts[i, j]) for i, j in largest),
        n_text=2,
    )
    caption = "How many items changed from the class of a row to the class of a column."
    return (
        first + side_by_side(plot("classes", "Who changed class", plots.class_matrix(result), caption), changes) + sizes
    )


def _views(result: Outcome) -> str:
    weights, dependence = result.weights, result.dependence
    many = (
        f" The {plots.MAX_VIEWS} largest of {len(dependence)} are drawn." if len(dependence) > plots.MAX_VIEWS else ""
    )
    said = f"How much the predictions depend on each view, from 0 to 1, before and after.{many}"
    figures = [plot("hsic", "Dependence before and after", plots.dependence_bars(result), said)]
    if len(weights) >= LEAST_STEPS and result.changed:
        caption = f"A heavier view counts more.{many}"
        figures.insert(0, plot("weights", "Weights along the steps", plots.weight_lines(result), caption))
    rows = [
        (
            view,
            three_decimals(weights[view].iloc[-1]) if result.changed else "unused",
            *(three_decimals(row[when]) for when in ("before", "after")),
            "<0.001" if row["p_value"] < 0.001 else three_decimals(row["p_value"]),
            "yes" if row["p_value"] < LEVEL else "no sign of it",
        )
        for view, row in dependence.iterrows()
    ]
    header = ("view", "weight", "HSIC before", "HSIC after", "p-value", "related to the predictions")
    return (
        paragraphs(
            "A view is a set of features of the items that the predictor never saw. Its weight says how much it "
            "counted. Normalised HSIC measures any kind of dependence between the predictions and a view: 0 is none, "
            "and 1 is the most. The p-value says how often chance alone would show as much dependence as the initial "
            f"predictions do, times the number of views; if it is below {LEVEL}, the view is related to them."
        )
        + table("Views: weight and dependence", header, rows)
        + side_by_side(*figures)
    )


def _worth(result: Outcome) -> str:
    """Return what each view is worth; that of many items or slow methods only if somebody has looked already."""
    gains = result.quick_gains
    if gains is None:
        return ""
    metric = "" if result.evidence is None else result.evidence.metric
    if bool((gains["kind"] == EXPLAINS).all()):
        said = (
            "The table says how much of the differences between the initial predictions each view explains by itself. "
            "That says which views are about the same thing, and not whether they help; only labels tell."
        )
        caption, title = "What each view explains", "explains"
    else:
        said = (
            "What a view is worth is how much better the answer is with it than without it, on labels that were held "
            "out. Two views that say the same are worth little each, since either can stand in for the other."
        )
        caption, title = "What each view is worth", f"gain in {axis_of(metric)}"
    rows = [(row.Index, worth_of(row, metric)) for row in gains.itertuples()]
    return paragraphs(said) + table(caption, ("view", f"{title} (95% interval)"), rows)


def _uncertainty(result: Outcome) -> str:
    if result.uncertainty is None:
        return paragraphs(
            f"Method {result.method!r} gives none here. With labels, method 'auto' says how far each item's label may "
            "be from what is expected."
        )
    known = result.uncertainty[np.isfinite(result.uncertainty)]
    if not len(known):
        return paragraphs("No item has a view, so that none has a figure.")
    compared = result.evidence is not None and result.evidence.noun == "comparison"
    unit = "of the predictions" if compared else "of the labels"
    if result.task == "classification":
        unit = "of a class's share"
    quantiles = np.quantile(known, (0.1, 0.5, 0.9))
    low, middle, high = (fixed(value, decimals_for(quantiles)) for value in quantiles)
    rows = (
        ("the surest tenth of the items", f"at most {low}"),
        ("half of the items", f"at most {middle}"),
        ("the least sure tenth of the items", f"at least {high}"),
    )
    lacking = len(result.uncertainty) - len(known)
    rest = f" {amount(lacking, 'item')} without any view have none." if lacking else ""
    return paragraphs(
        "The uncertainty of an item says how far its label may be from what is expected: about two labels in three "
        f"will be closer than that. (It is the standard deviation of the label that the item would get.){rest}"
    ) + table(f"Uncertainty, in the units {unit}", ("which items", "uncertainty"), rows)


def _label_next(result: Outcome) -> str:
    if result.suggested is None or not len(result.suggested):
        return paragraphs(f"Method {result.method!r} does not say which items to label; method 'auto' does.")
    chosen = result.suggested[:N_SUGGESTED]
    key = "item" if result.index is None else str(result.index.name or "id")
    said = "They are not drawn at random: they teach more than random ones, but judge a gain less fairly."
    if chosen.ndim == 2:
        pairs = zip(*(plots.item_names(result, side) for side in chosen.T), strict=True)
        first = "These are the pairs whose comparison (“which of the two is higher?”) would teach most, the best first."
        return paragraphs(f"{first} {said}") + table("Pairs to compare next", (key, "or"), pairs, n_text=2)
    columns: dict[str, Any] = {key: plots.item_names(result, chosen)}
    if result.initial.ndim == 1:
        columns["prediction now"] = result.predictions[chosen]
    if result.uncertainty is not None:
        columns["uncertainty"] = result.uncertainty[chosen]
    first = "These are the items whose labels are expected to teach most, the best first."
    rows = zip(*columns.values(), strict=True)
    return paragraphs(f"{first} {said}") + table("Items to label next", tuple(columns), rows)


def _movers(result: Outcome) -> str:
    items = plots.movers(result)
    if not len(items):
        return "<p>No item moved.</p>"
    names, key = plots.item_names(result, items), "item" if result.index is None else str(result.index.name or "id")
    if result.initial.ndim == 2:
        classes = np.array(plots.class_names(result), dtype=object)
        before, after = result.initial[items], result.predictions[items]
        new, rows_of = after.argmax(axis=1), np.arange(len(items))
        columns: dict[str, Any] = {
            key: names,
            "class before": classes[before.argmax(axis=1)],
            "class after": classes[new],
            "its score before": before[rows_of, new],
            "its score after": after[rows_of, new],
        }
        caption = f"The {amount(len(items), 'item')} whose class scores changed most, with the score of the class after"
        return _with_reasons(result, items, caption, columns, 3)
    moved = result.table().iloc[items]
    word = {"ranking": "score", "regression": "value"}.get(result.task, "probability")
    places = {
        "places": [f"{int(places):+,}" for places in moved["rank_before"] - moved["rank_after"]],
        "rank before": moved["rank_before"],
        "rank after": moved["rank_after"],
    }
    levels = {f"{word} before": moved["initial"], f"{word} after": moved["prediction"]}
    if result.task == "ranking":
        columns = {key: names} | places | levels
    else:
        changes = moved["prediction"] - moved["initial"]
        change = [fixed(change, decimals_for(changes), "+") for change in changes]
        columns = {key: names, "change": change} | levels | places
    measure = "rank" if result.task == "ranking" else "prediction"
    caption = f"The {amount(len(items), 'item')} whose {measure} changed most; rank 1 is the highest score"
    return _with_reasons(result, items, caption, columns, 1)


def _with_reasons(result: Outcome, items: NDArray[np.int64], caption: str, columns: dict[str, Any], n_text: int) -> str:
    """Return a table of items with the main reasons why each moved, where these are known."""
    reasons = [None if result.origin is None else result.origin.reasons(int(item)) for item in items]
    said = ""
    if all(one is not None for one in reasons):
        known = [one for one in reasons if one is not None]
        decimals = decimals_for(amount for one in known for amount in (one.change, *one.parts["amount"]))
        told = {"main reasons": [main_parts(one, decimals) for one in known]}
        # Who moved and how far comes first, and then why, which a phone shows without scrolling.
        columns = {name: columns[name] for name in list(columns)[: max(n_text, 2)]} | told | columns
        odds = reasons[0] is not None and "odds" in reasons[0].unit
        adding = (
            "Parts of a probability do not add up, but those of its log odds do, so they are told in log odds of a "
            "class: 0 stands for a probability of 0.5, 1 for 0.73, and 2 for 0.88."
            if odds
            else "The parts have the units of the predictions and add up to the change."
        )
        said = (
            "The main reasons are the largest parts of an item's change. One part is that of its own prediction, and "
            f"each view has a part: what it adds once it is known. {adding} In Python, result.reasons(item) tells all "
            "parts of an item."
        )
    rows = zip(*columns.values(), strict=True)
    return paragraphs(said) * bool(said) + table(caption, tuple(columns), rows, n_text, text=("main reasons",))


def _settings(result: Outcome, origin: Facts) -> str:
    settings = [("method", result.method), ("task", result.task)]
    settings += [(name, _setting(value)) for name, value in result.params.items()]
    versions = [("Python", platform.python_version()), *((name, version(name)) for name in PACKAGES)]
    told = [(what, command(name) if what == "command" else name) for what, name in origin]
    return side_by_side(
        table("Settings, chosen ones included", ("setting", "value"), settings, n_text=2),
        table("Versions when this report was written", ("package", "version"), versions, n_text=2),
    ) + table("Where it comes from", ("what", "name"), [*told, ("date", date.today().isoformat())], n_text=2)


def _setting(value: Any) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    return significant(value) if isinstance(value, float) else str(value)
