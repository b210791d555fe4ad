"""Pieces of the results page: tables in Markdown, figures with their deviation, and checks that can fail."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; the first column is text, the others are figures."""
    rule = ["---", *["--:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *rows)) + "\n"


def figure(values: ArrayLike, sign: str = "") -> str:
    """Return mean and standard deviation; no deviation for a single run."""
    array = np.asarray(values, np.float64)
    mean = f"{array.mean():{sign}.2f}"
    return f"{mean} ({array.std(ddof=1):.2f})" if len(array) > 1 else mean


def deviation(values: ArrayLike) -> str:
    """Return the standard deviation alone; nothing for a single run."""
    array = np.asarray(values, np.float64)
    return f"{array.std(ddof=1):.2f}" if len(array) > 1 else ""


def over_seeds(found: pd.DataFrame, values: pd.Series, sign: str = "") -> str:
    """Return the mean of values over targets and seeds, and the deviation over seeds of their means over targets."""
    return figure(values.groupby(found["seed"]).mean(), sign)


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence lists them."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def check(what: str, holds: bool, found: str) -> str:
    """Return a line that says whether something holds, and by how much."""
    return f"- **{'yes' if holds else 'no'}**: {what}: {found}.\n"


def picture(name: str, caption: str) -> str:
    """Return a picture of the folder beside the page."""
    return f"![{caption}](pictures/{name})\n"
