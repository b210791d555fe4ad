"""What text in a cell means: a gap, a number with its currency and separators, a truth value, or a date."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

MOST = 0.95  # share of the entries of a column that must be of a kind; the others are slips, and count as gaps
SAMPLE = 200  # entries on which formats of dates are tried before all are
GAPS = frozenset(("", "-", "--", "---", ".", "?", "n/a", "na", "n.a.", "#n/a", "<na>", "nan", "nat", "null", "nil")) | {
    *("none", "unknown", "missing", "undefined", "not available", "#value!", "#div/0!", "#null!")
}
YES, NO = frozenset(("yes", "true", "y", "t", "on")), frozenset(("no", "false", "n", "f", "off"))
CURRENCY = re.compile(
    r"^([-+(]?)\s*(?:[$€£¥₹₽₩]|(?:USD|EUR|GBP|CHF|JPY)\b)\s*|\s*(?:[$€£¥₹₽₩]|USD|EUR|GBP|CHF|JPY)(?=\)?$)"
)
CODE = re.compile(r"0\d")  # 007 is a name, not a number
SPACERS = r"\s'\u2019"  # blanks and apostrophes between thousands
# Thousands are groups of three after a first group that does not begin with zero: 0,731 has a decimal comma.
NUMBERS = {
    mark: re.compile(
        rf"[-+]?(?=[\d{mark}]*\d)(?:[1-9]\d{{0,2}}(?:[{groups}]\d{{3}})+|\d*)(?:[{mark}]\d*)?(?:[eE][-+]?\d+)?"
    )
    for mark, groups in ((".", f",{SPACERS}"), (",", f".{SPACERS}"))
}
# Month first comes first where both would do, as in 03/04/2024.
NUMERIC_DAYS = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d")
SHORT_DAYS = ("%d.%m.%y", "%m/%d/%y", "%d/%m/%y", "%d-%b-%y")
DAYS = (*NUMERIC_DAYS, *SHORT_DAYS, "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y")
TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
CLOCK = ("%H:%M", "%H:%M:%S", "%I:%M %p")
DATE_LIKE = re.compile(r"\d{1,4}[-/. ]\w{1,9}[-/., ]|[A-Za-z]{3,9}\.? \d{1,2}, \d{4}|\d{1,2}:\d{2}|\d{4}-\d{2}$")
ISO = "ISO8601"


def is_gap(text: str) -> bool:
    """Return whether an entry says that there is no value."""
    return text.strip().casefold() in GAPS


def number(text: str, decimal: str = ".") -> float:
    """Return the number that an entry shows, such as ``$1,234.50`` or ``54%``; NaN if it shows none.

    Parameters
    ----------
    text : str
        The entry.
    decimal : {".", ","}
        The decimal mark; the other one separates thousands.
    """
    plain = CURRENCY.sub(r"\1", text.strip().replace("\u2212", "-"))
    percent = plain.endswith("%")
    plain = plain.removesuffix("%").strip()
    if negative := plain.startswith("(") and plain.endswith(")"):  # as accountants write it
        plain = plain[1:-1].strip()
    if not NUMBERS[decimal].fullmatch(plain):
        return np.nan
    groups = "," if decimal == "." else "."
    digits = re.sub(rf"[{groups}{SPACERS}]", "", plain).replace(decimal, ".")
    value = float(digits) / (100 if percent else 1)
    if np.isinf(value):
        return np.nan
    return -value if negative else value


def decimal_votes(texts: Sequence[str]) -> tuple[int, int]:
    """Return how many entries are numbers with a decimal point, and how many with a decimal comma."""
    with_point, with_comma = (sum(not np.isnan(number(text, mark)) for text in texts) for mark in (".", ","))
    return with_point, with_comma


def decimal_mark(columns: Iterable[Sequence[str]]) -> str:
    """Return the decimal mark of a table: a comma if some columns are numbers only so, and none only with a point.

    ``1,234`` alone could be both; columns that can be read in one way only say how the others are meant.

    Parameters
    ----------
    columns : iterable of sequence of str
        The entries of each column that has text.
    """
    point = comma = False
    for texts in columns:
        with_point, with_comma = decimal_votes(texts)
        if max(with_point, with_comma) >= MOST * len(texts) > 0:
            point, comma = point or with_point > with_comma, comma or with_comma > with_point
    return "," if comma and not point else "."


def best_mark(texts: Sequence[str], usual: str) -> str:
    """Return the decimal mark with which most entries are numbers; the usual one if both do as well."""
    with_point, with_comma = decimal_votes(texts)
    return usual if with_point == with_comma else "." if with_point > with_comma else ","


def are_numbers(texts: Sequence[str], decimal: str, slips: bool = True) -> bool:
    """Return whether entries are numbers, or nearly all with ``slips``; with leading zeros they are names."""
    if not len(texts) or any(CODE.match(text) for text in texts):
        return False
    return sum(not np.isnan(number(text, decimal)) for text in texts) >= (MOST if slips else 1) * len(texts)


def truth(text: str) -> float:
    """Return one for yes, zero for no, and NaN for anything else."""
    word = text.strip().casefold()
    return 1.0 if word in YES else 0.0 if word in NO else np.nan


def date_format(texts: Sequence[str]) -> tuple[str, bool] | None:
    """Return the format in which (nearly) all entries are dates or times, and whether another reads them as well.

    Parameters
    ----------
    texts : sequence of str
        Distinct entries, sorted.
    """
    sample = [texts[k] for k in np.linspace(0, len(texts) - 1, min(SAMPLE, len(texts))).astype(int)]
    if not sample or np.mean([bool(DATE_LIKE.search(text)) for text in sample]) < MOST:
        return None
    fitting = []
    for form in (ISO, *CLOCK, *(day + time for day, time in product(DAYS, TIMES))):
        if dates(sample, form).notna().mean() >= MOST:
            share = float(dates(texts, form).notna().mean())
            if share >= MOST:
                fitting.append((share, form))
    if not fitting:
        return None
    best = max(share for share, _ in fitting)
    first, *others = [form for share, form in fitting if share == best]
    return first, bool(others)


def dates(texts: Any, form: str) -> pd.Series:
    """Return entries as times in UTC, missing where they are none in that format."""
    found = pd.to_datetime(pd.Series(texts, dtype=object), format=form, errors="coerce", utc=True)
    return found.dt.tz_localize(None)
