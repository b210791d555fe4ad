"""Pieces of the report in HTML: figures with their data, tables, and lists of figures to know."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from tupi.results import plots
from tupi.results.readable import decimals_for, fixed


def paragraphs(*sentences: str) -> str:
    """Return sentences as paragraphs; what looks like markup in them is text."""
    return "".join(f"<p>{escape(sentence)}</p>\n" for sentence in sentences)


def side_by_side(*parts: str) -> str:
    """Return parts that stand beside each other where the window is wide enough."""
    return f'<div class="pair">\n{"".join(parts)}</div>\n' if parts else ""


def plot(name: str, heading: str, figure: plots.Figure, caption: str) -> str:
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


class Markup(str):
    """Text of a table that is HTML already."""


def command(words: str) -> Markup:
    """Return a command whose lines break between options, and not within the dashes of one."""
    first, *options = words.split(" --")
    return Markup(escape(first) + "".join(f" <span>--{escape(option)}</span>" for option in options))


def table(
    caption: str, header: Sequence[str], rows: Iterable[Iterable[Any]], n_text: int = 1, text: Sequence[str] = ()
) -> str:
    """Return a table that scrolls by itself in a narrow window; a row's first cell is its heading.

    The first ``n_text`` columns, and those that ``text`` names, are text; the others are numbers.
    """
    columns = [_column(values) for values in zip(*rows, strict=True)]
    kinds = [
        "" if k < n_text else ' class="text"' if name in text else ' class="number"' for k, name in enumerate(header)
    ]
    head = "".join(f'<th scope="col"{kind}>{escape(name)}</th>' for name, kind in zip(header, kinds, strict=True))
    body = ""
    for first, *others in zip(*columns, strict=True):
        cells = "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(others, kinds[1:], strict=True))
        body += f'<tr><th scope="row">{first}</th>{cells}</tr>\n'
    return (
        f'<div class="table" role="region" aria-label="{escape(caption)}" tabindex="0"><table>\n'
        f"<caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>\n"
    )


def _column(values: Sequence[Any]) -> list[str]:
    """Return the cells of a column; fractions have as many decimals as give the largest of them three digits."""
    decimals = decimals_for(float(v) for v in values if isinstance(v, (float, np.floating)))
    return [_cell(value, decimals) for value in values]


def _cell(value: Any, decimals: int | None) -> str:
    if isinstance(value, (int, np.integer)):
        return f"{value:,}"
    if isinstance(value, Markup):
        return value
    if not isinstance(value, (float, np.floating)):
        return escape(str(value))
    if not np.isfinite(value):
        return "unknown"
    return fixed(float(value), decimals)
