"""Kinds of columns: how each is recognised, and which columns of numbers it becomes.

A kind is fitted to the cells of a column and keeps what it needs in plain values that JSON can hold. Everything is
counted or sorted, so that the order of rows does not matter.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.inputs.tables.cells import Cells
from tupi.inputs.tables.parsing import dates, number, truth

# A level needs this share of the items for a column of its own: columns are standardised later, so that those of rare
# levels would count as much as the others and tell two items apart that are alike otherwise.
MIN_SHARE = 0.05
AT_LEAST = 10  # levels that get a column each where none is frequent
NGRAMS, HASHES, DIRECTIONS = (2, 4), 1024, 10  # characters, columns they are hashed to, columns that are kept
DAY = np.timedelta64(1, "D")
WORD = re.compile(r"(?<![^\W_])[^\W\d_]{2,}(?![^\W_])")  # of letters alone: groups in a code are no words
EVERYWHERE = 0.9  # a word that is in more texts than this says nothing, such as the one in "item 12"
REPEATED = 0.2  # share of the texts that must have a word in common with another one, unless they are ids
Array = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Kind(ABC):
    """What a column is, with what was learnt from it."""

    name: ClassVar[str]

    @abstractmethod
    def columns(self, cells: Cells) -> tuple[Array, Array]:
        """Return numbers of shape (n, k) for the cells, and which cells have none; numbers there do not count."""

    @property
    def outputs(self) -> list[str]:
        """What each of the k columns holds, as it is added to the column's name; empty for the column itself."""
        return [""]

    def to_json(self) -> dict[str, Any]:
        """Return what was learnt."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Number(Kind):
    """Numbers, or text that shows numbers; gaps get the median.

    Parameters
    ----------
    median : float
        What gaps get.
    decimal : {".", ","}
        The decimal mark of text.
    """

    name: ClassVar[str] = "number"
    median: float
    decimal: str = "."

    @classmethod
    def fit(cls, cells: Cells, decimal: str = ".") -> Number:
        """Learn the median of a column."""
        values = _numbers(cells, decimal)
        return cls(median=float(np.nanmedian(values)), decimal=decimal)

    def columns(self, cells: Cells) -> tuple[Array, Array]:
        """Return the numbers."""
        values = _numbers(cells, self.decimal)
        gaps = np.isnan(values)
        return np.where(gaps, self.median, values)[:, None], gaps


@dataclass(frozen=True, kw_only=True)
class Boolean(Kind):
    """Truth values, or words for them: one for yes, zero for no, and their mean at gaps."""

    name: ClassVar[str] = "boolean"
    mean: float

    @classmethod
    def fit(cls, cells: Cells) -> Boolean:
        """Learn the share of yes."""
        values = _truths(cells)
        known = values[~np.isnan(values)]
        return cls(mean=float(np.count_nonzero(known) / len(known)))

    def columns(self, cells: Cells) -> tuple[Array, Array]:
        """Return ones and zeros."""
        values = _truths(cells)
        gaps = np.isnan(values)
        return np.where(gaps, self.mean, values)[:, None], gaps


@dataclass(frozen=True, kw_only=True)
class Date(Kind):
    """Dates and times: days since 1970, the year, and the time of the year, week and day on circles.

    Parameters
    ----------
    form : str
        How text shows dates.
    middle : float
        Days since 1970 of the median, which gaps get.
    clock : bool
        Whether they are times of day without a date.
    """

    name: ClassVar[str] = "date"
    form: str
    middle: float
    clock: bool = False

    @classmethod
    def fit(cls, cells: Cells, form: str) -> Date:
        """Learn the median of a column."""
        days = _days(cells, form)
        return cls(form=form, middle=float(np.nanmedian(days)), clock="%d" not in form and form.startswith("%"))

    def columns(self, cells: Cells) -> tuple[Array, Array]:
        """Return the parts of dates."""
        days = _days(cells, self.form)
        gaps = np.isnan(days)
        days = np.where(gaps, self.middle, days)
        whole = np.floor(days)
        hours = _circle(days - whole)
        if self.clock:
            return np.column_stack(hours), gaps
        stamps = np.datetime64("1970-01-01") + whole.astype(int) * DAY
        years = stamps.astype("datetime64[Y]")
        season = (stamps - years.astype("datetime64[D]")) / DAY / 365.25
        weekdays = (whole + 3) % 7  # 1970 began on a Thursday
        parts = [days, years.astype(int) + 1970, *_circle(season), *_circle(weekdays / 7), *hours]
        return np.column_stack(parts), gaps

    @property
    def outputs(self) -> list[str]:
        """The parts of a date, or of a time of day."""
        hours = ["time (sine)", "time (cosine)"]
        if self.clock:
            return hours
        circles = [f"{part} ({wave})" for part in ("season", "weekday") for wave in ("sine", "cosine")]
        return ["days", "year", *circles, *hours]


@dataclass(frozen=True, kw_only=True)
class Category(Kind):
    """Levels: a column of ones and zeros for each frequent one; with many, also how frequent a level is.

    Parameters
    ----------
    levels : tuple of str
        Those with a column, the most frequent first.
    counts : dict of {str: int}
        How often each level occurs, if some have no column.
    """

    name: ClassVar[str] = "category"
    levels: tuple[str, ...]
    counts: dict[str, int]

    @classmethod
    def fit(cls, cells: Cells) -> Category:
        """Learn the levels of a column, and which of them are frequent."""
        counts = Counter(cells.as_texts[~cells.gaps].tolist())
        ordered = sorted(counts, key=lambda level: (-counts[level], level))
        if len(ordered) == 2:  # the second column would say the same again
            return cls(levels=(ordered[1],), counts={})
        frequent = [level for level in ordered if counts[level] >= MIN_SHARE * len(cells.gaps)]
        kept = tuple(frequent or ordered[:AT_LEAST])
        return cls(levels=kept, counts={} if len(kept) == len(ordered) else {level: counts[level] for level in ordered})

    def columns(self, cells: Cells) -> tuple[Array, Array]:
        """Return ones and zeros, and the logarithm of how often a level occurs."""
        texts = cells.as_texts
        parts = [(texts == level).astype(float) for level in self.levels]
        if self.counts:
            parts.append(np.log1p([self.counts.get(text, 0) for text in texts.tolist()]))
        return np.column_stack(parts), cells.gaps

    @property
    def outputs(self) -> list[str]:
        """The levels."""
        return [f"= {level}" for level in self.levels] + (["frequency"] if self.counts else [])


@dataclass(frozen=True, kw_only=True)
class Text(Kind):
    """Short texts: the leading directions of the groups of letters that occur in them.

    Parameters
    ----------
    weights : list of float
        Of hashed groups of letters: rare ones count more.
    directions : list of list of float
        Of shape (k, hashes).
    """

    name: ClassVar[str] = "text"
    weights: list[float]
    directions: list[list[float]]

    @classmethod
    def fit(cls, cells: Cells) -> Text:
        """Learn the directions of a column's distinct texts, sorted, each as often as it occurs."""
        from sklearn.decomposition import TruncatedSVD  # takes a while, and few tables have texts

        counts = Counter(cells.as_texts[~cells.gaps].tolist())
        texts = sorted(counts)
        hashed = _hashed(texts)
        times = np.array([counts[text] for text in texts], float)
        occurrences = np.asarray((hashed > 0).multiply(times[:, None]).sum(axis=0)).ravel()
        weights = np.log((1 + times.sum()) / (1 + occurrences)) + 1
        weighted = hashed.multiply(weights).multiply(np.sqrt(times)[:, None]).tocsr()
        k = min(DIRECTIONS, len(texts) - 1)
        found = TruncatedSVD(k, random_state=0).fit(weighted)
        return cls(weights=weights.tolist(), directions=found.components_.tolist())

    def columns(self, cells: Cells) -> tuple[Array, Array]:
        """Return how far texts go in each direction."""
        texts, places = np.unique(cells.as_texts.astype(str), return_inverse=True)
        directions = np.asarray(self.directions)
        rows = _hashed(texts.tolist()).multiply(np.asarray(self.weights)).tocsr() @ directions.T
        return rows[places], cells.gaps

    @property
    def outputs(self) -> list[str]:
        """The directions."""
        return [f"text {k}" for k in range(1, len(self.directions) + 1)]


KINDS: dict[str, type[Kind]] = {kind.name: kind for kind in (Number, Boolean, Date, Category, Text)}


def kind_from_json(name: str, learnt: dict[str, Any]) -> Kind:
    """Return a kind from what `Kind.to_json` gave."""
    if name == Category.name:
        learnt = learnt | {"levels": tuple(learnt["levels"])}
    return KINDS[name](**learnt)


def are_ids(texts: list[str]) -> bool:
    """Return whether distinct texts are names of items rather than words about them.

    They are if hardly any has a word in common with another, apart from words that (nearly) all of them have.
    """
    words = [set(WORD.findall(text.casefold())) for text in texts]
    counts = Counter(word for some in words for word in some)
    telling = {word for word, count in counts.items() if 2 <= count <= EVERYWHERE * len(texts)}
    return sum(not telling.isdisjoint(some) for some in words) < REPEATED * len(texts)


def _numbers(cells: Cells, decimal: str) -> Array:
    """Return cells as numbers, NaN where they show none."""
    if cells.form in ("numbers", "truth values"):
        return cells.values
    return _mapped(cells, lambda text: number(text, decimal))


def _truths(cells: Cells) -> Array:
    if cells.form in ("numbers", "truth values"):
        return np.where(cells.gaps, np.nan, (cells.values != 0).astype(float))
    return _mapped(cells, truth)


def _mapped(cells: Cells, function: Any) -> Array:
    """Return a function of each cell's text, computed once for each distinct one; NaN at gaps."""
    texts = cells.as_texts
    table = {text: function(text) for text in set(texts[~cells.gaps].tolist())}
    return np.array(
        [np.nan if gap else table[text] for text, gap in zip(texts.tolist(), cells.gaps, strict=True)], float
    )


def _days(cells: Cells, form: str) -> Array:
    """Return cells as days since 1970, NaN where they show no date."""
    if cells.form == "times":
        times = cells.values
    else:
        texts = pd.Series(cells.as_texts).where(~cells.gaps)
        times = dates(texts, form).to_numpy("datetime64[us]")
    days = (times - np.datetime64("1970-01-01", "us")) / DAY
    return np.asarray(days, float)


def _circle(share: Array) -> tuple[Array, Array]:
    return np.sin(2 * np.pi * share), np.cos(2 * np.pi * share)


def _hashed(texts: list[str]) -> Any:
    from sklearn.feature_extraction.text import HashingVectorizer

    vectorizer = HashingVectorizer(
        analyzer="char_wb", ngram_range=NGRAMS, n_features=HASHES, alternate_sign=False, norm="l2"
    )
    return vectorizer.transform(texts)
