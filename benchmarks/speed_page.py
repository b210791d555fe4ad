"""The marked section of docs/speed.md, written from what a run of the benchmark found; never typed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

BEGIN, END = "<!-- written by make bench: begin -->", "<!-- written by make bench: end -->"


def shown(figure: dict[str, Any]) -> tuple[str, str, str, str]:
    """Return a figure's value, that of the fastest repeats, its limit, and whether it holds, as words."""
    form = figure["form"]
    best = "" if figure["best"] is None else form.format(figure["best"])
    limit = "" if figure["limit"] is None else f"{figure['sense']} {figure['limit']:g}"
    return form.format(figure["value"]), best, limit, {True: "yes", False: "no", None: ""}[figure["holds"]]


def table(record: dict[str, Any]) -> str:
    """Return all figures as a Markdown table, with where they were measured."""
    machine = record["machine"]
    lines = [
        f"{machine['cpu']}, {machine['cores']} cores, {machine['threads']} threads used; load average "
        f"{machine['load']} when it began. Python {machine['python']}, numpy {machine['numpy']}, "
        f"numba {machine['numba']}, tupi {machine['tupi']}.",
        "",
        "| | median | fastest | limit | holds |",
        "|---|---|---|---|---|",
        *(f"| {figure['name']} | {' | '.join(shown(figure))} |" for figure in record["figures"]),
    ]
    return "\n".join(lines)


def rewrite(page: Path, record: dict[str, Any]) -> None:
    """Replace the marked section of the page."""
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    page.write_text(f"{before}{BEGIN}\n{table(record)}\n{END}{after}", encoding="utf-8")
