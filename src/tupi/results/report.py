"""The HTML report of a result: one file that explains it to a person and opens offline."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from tupi.embedding.relevance import LEVEL
from tupi.inputs.labels import Pairs, Values
from tupi.judging.catalogue import words_of
from tupi.judging.evidence import amount
from tupi.judging.metrics import usual_metrics
from tupi.results import plots
from tupi.results.outcome import Outcome
from tupi.results.summary import evidence_verdict, judged, key_figures, noun_of, significant, summary, three_decimals
from tupi.runtime.atomic import write_atomically
from tupi.runtime.errors import InputError

PACKAGES = ("tupi", "numpy", "scipy", "scikit-learn", "numba", "pandas")
N_CLASS_CHANGES = 10

# The browser itself then refuses to fetch anything: whatever a report shows is inside its file.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"


def write_report(result: Outcome, path: Path) -> Path:
    """Write a self-contained HTML report, whole or not at all, and return its path.

    Parameters
    ----------
    result : Outcome
        What to report on.
    path : Path
        The file to write.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise InputError(
            f"path: the folder {str(path.parent)!r} does not exist; accepted: a file in a folder that does."
        )
    if path.is_dir():
        raise InputError(f"path: {str(path)!r} is a folder; accepted: the name of a file to write.")
    # Ids may hold lone surrogates, such as file names that are not text; they are shown by their number.
    return write_atomically(path, render(result).encode("utf-8", "backslashreplace"))


def render(result: Outcome) -> str:
    """Return the report as HTML text."""
    sections = (
        ("Summary", _summary(result)),
        ("Before and after", _before_after(result)),
        ("Views", _views(result)),
        ("Biggest movers", _movers(result)),
        ("Evidence", _evidence(result)),
        ("Settings", _settings(result)),
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


def _summary(result: Outcome) -> str:
    key = "".join(f"<div><dt>{escape(what)}</dt><dd>{escape(value)}</dd></div>" for what, value in key_figures(result))
    notes = "".join(f"<li>{escape(note)}</li>" for note in result.notes)
    return (
        f'<div class="summary">{"".join(f"<p>{escape(sentence)}</p>" for sentence in summary(result))}</div>\n'
        f'<dl class="key">{key}</dl>\n' + (f"<p>From the method:</p>\n<ul>{notes}</ul>\n" if notes else "")
    )


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
    return _pair(
        _plot(
            "scatter",
            f"Old against new {noun_of(result)}",
            plots.score_scatter(result),
            f"{sample}Items on the dotted line are unchanged; diamonds are those of the table of movers.",
        ),
        _plot(
            "changes",
            moved,
            plots.change_histogram(result),
            "Blue: up. Orange: down. Grey: no change, or next to none.",
        ),
    )


def _class_changes(result: Outcome) -> str:
    table = plots.class_changes(result)
    counts = table.to_numpy()
    moved = int(counts.sum() - np.trace(counts))
    first = f"<p>{moved:,} of {int(counts.sum()):,} items changed their most likely class.</p>\n"
    sizes = _table(
        "Items by most likely class",
        ("class", "before", "after"),
        zip(table.index, table.sum(axis=1), table.sum(axis=0), strict=True),
    )
    if not moved:
        return first + sizes
    flat = np.where(np.eye(len(table), dtype=bool), 0, counts).ravel()
    largest = [divmod(k, len(table)) for k in np.argsort(-flat, kind="stable")[:N_CLASS_CHANGES] if flat[k]]
    changes = _table(
        "Most common changes of class",
        ("from", "to", "items"),
        ((table.index[i], table.index[j], counts[i, j]) for i, j in largest),
        n_text=2,
    )
    caption = "How many items changed from the class of a row to the class of a column."
    return first + _pair(_plot("classes", "Who changed class", plots.class_matrix(result), caption), changes) + sizes


def _views(result: Outcome) -> str:
    weights, dependence = result.weights, result.dependence
    many = (
        f" The {plots.MAX_VIEWS} largest of {len(dependence)} are drawn." if len(dependence) > plots.MAX_VIEWS else ""
    )
    figures = [_plot("hsic", "Dependence before and after", plots.dependence_bars(result), f"Normalised HSIC.{many}")]
    if len(weights) > 1 and result.changed:  # a single step has no line to draw; the table says all
        caption = f"A heavier view counts more.{many}"
        figures.insert(0, _plot("weights", "Weights along the steps", plots.weight_lines(result), caption))
    rows = [
        (
            view,
            *(three_decimals(weights[view].iloc[step]) if result.changed else "unused" for step in (0, -1)),
            *(three_decimals(row[when]) for when in ("before", "after")),
            "<0.001" if row["p_value"] < 0.001 else three_decimals(row["p_value"]),
        )
        for view, row in dependence.iterrows()
    ]
    header = ("view", "weight at the start", "weight at the end", "HSIC before", "HSIC after", "p-value")
    return (
        "<p>A view's weight says how much it counts for the next step. Normalised HSIC measures any kind of dependence "
        "between predictions and a view: 0 is none, 1 the most. The p-value is how often independent data would show "
        "as much as the initial predictions do, times the number of views; below "
        f"{LEVEL} a view is said to depend on them.</p>\n"
        + _pair(*figures)
        + _table("Views: weight and dependence", header, rows)
    )


def _movers(result: Outcome) -> str:
    items = plots.movers(result)
    if not len(items):
        return "<p>No item moved.</p>"
    names, key = plots.item_names(result, items), "item" if result.index is None else str(result.index.name or "id")
    if result.initial.ndim == 2:
        classes = np.array(plots.class_names(result), dtype=object)
        before, after = result.initial[items], result.predictions[items]
        titles = (key, "class before", "class after", "its score before", "its score after")
        new, rows_of = after.argmax(axis=1), np.arange(len(items))
        rows: Any = zip(
            names, classes[before.argmax(axis=1)], classes[new], before[rows_of, new], after[rows_of, new], strict=True
        )
        caption = f"The {amount(len(items), 'item')} whose class scores changed most, with the score of the class after"
        return _table(caption, titles, rows, n_text=3)
    table = result.table().iloc[items]
    header = (key, "score before", "score after", "rank before", "rank after", "places")
    rows = zip(
        names,
        table["initial"],
        table["prediction"],
        table["rank_before"],
        table["rank_after"],
        (f"{int(places):+,}" for places in table["rank_before"] - table["rank_after"]),
        strict=True,
    )
    measure = "rank" if result.task == "ranking" else "prediction"
    caption = f"The {amount(len(items), 'item')} whose {measure} changed most; rank 1 is the highest score"
    return _table(caption, header, rows)


def _evidence(result: Outcome) -> str:
    evidence = result.evidence
    if evidence is None:
        return (
            "<p>There were no labels, so nothing here says whether the new predictions are better. A few dozen known "
            "values or comparisons, passed as labels, would.</p>"
        )
    verdict = evidence_verdict(evidence)
    text = f"{verdict[0].upper()}{verdict[1:]}."
    figures = []
    if judged(evidence):
        text = f"{evidence.sentence} {text}"
        whose = "" if evidence.accepted else " of the candidate that was turned down"
        caption = f"The gain{whose} on {evidence.noun}s that did not choose anything, with its 95% interval. "
        caption += "Right of the line is better."
        figures.append(_plot("gain", f"Gain on held-out {evidence.noun}s", plots.gain_interval(evidence), caption))
    if "score" in result.history and len(result.history) > 1:
        caption = (
            "On the very labels that chose the setting and the number of steps, and so a little too good; "
            "judge by held-out labels."
        )
        # What chose is the first metric of the task, whatever else the gain is told in.
        chose = usual_metrics(result.task)[Values if evidence.noun == "label" else Pairs].name
        figures.append(_plot("steps", "Score along the steps", plots.score_steps(result, chose), caption))
    beside = [(name, *(words_of(name).level(value) for value in both)) for name, both in evidence.beside.items()]
    table = _table("Other figures on the same labels", ("metric", "before", "after"), beside) if beside else ""
    return f"<p>{escape(text)}</p>\n" + table + _pair(*figures)


def _settings(result: Outcome) -> str:
    settings = [("method", result.method), ("task", result.task)]
    settings += [(name, _setting(value)) for name, value in result.params.items()]
    versions = [("Python", platform.python_version()), *((name, version(name)) for name in PACKAGES)]
    return _pair(
        _table("Settings, chosen ones included", ("setting", "value"), settings, n_text=2),
        _table("Versions when this report was written", ("package", "version"), versions, n_text=2),
    )


def _setting(value: Any) -> str:
    return str(value.item() if isinstance(value, np.generic) else value)


def _pair(*parts: str) -> str:
    return f'<div class="pair">\n{"".join(parts)}</div>\n'


def _plot(name: str, heading: str, figure: plots.Figure, caption: str) -> str:
    """Return a figure with its data beside it, its text alternative and its caption."""
    alt, height = escape(figure["layout"]["meta"]["alt"]), figure["layout"]["height"]
    # "<" could end the script element early; JSON may write it as an escape instead.
    data = json.dumps(figure | {"config": plots.CONFIG}, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<figure aria-labelledby="plot-{name}-heading">\n<h3 id="plot-{name}-heading">{escape(heading)}</h3>\n'
        f'<div role="img" aria-label="{alt}" data-figure="data-{name}" style="height:{height}px"></div>\n'
        f"<figcaption>{escape(caption)}</figcaption>\n</figure>\n"
        f'<script type="application/json" id="data-{name}">{data}</script>\n'
    )


def _table(caption: str, header: Sequence[str], rows: Iterable[Iterable[Any]], n_text: int = 1) -> str:
    """Return a table that scrolls by itself in a narrow window; a row's first cell is its heading.

    The first ``n_text`` columns are text, the others numbers.
    """
    kinds = [""] * n_text + [' class="number"'] * (len(header) - n_text)
    head = "".join(f'<th scope="col"{kind}>{escape(name)}</th>' for name, kind in zip(header, kinds, strict=True))
    body = ""
    for first, *others in rows:
        cells = "".join(f"<td{kind}>{_cell(value)}</td>" for value, kind in zip(others, kinds[1:], strict=True))
        body += f'<tr><th scope="row">{_cell(first)}</th>{cells}</tr>\n'
    return (
        f'<div class="table" role="region" aria-label="{escape(caption)}" tabindex="0"><table>\n'
        f"<caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>\n"
    )


def _cell(value: Any) -> str:
    if isinstance(value, (int, np.integer)):
        return f"{value:,}"
    return significant(float(value)) if isinstance(value, (float, np.floating)) else escape(str(value))
