"""Views: named sets of features, checked once, read in blocks and standardised on the way out.

What must be known of a view, `Statistics` (means and deviations of its columns) and `Gaps` (values that cannot be
used), is seen block by block and adds up, so that views in memory and on workers are checked alike.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.inputs.sources import Source
from tupi.runtime.computing import in_order as threaded
from tupi.runtime.errors import InputError

SHOWN = 3  # rows with missing values that a message names
MEDIANS = 16  # columns whose medians are taken at once
BLOCK = 8192  # rows read at once: large enough for BLAS, small enough to stay in cache
IN_CACHE = 1024  # rows standardised at once
Array = NDArray[Any]


@dataclass(frozen=True)
class Gaps:
    """Values of a view that cannot be used; those of two blocks, the earlier one first, add up to those of both.

    Attributes
    ----------
    infinite : tuple of int, optional
        Row and column of the first infinite value.
    values, rows : int
        How many values are missing in rows that are there otherwise, and in how many rows.
    columns : frozenset of int
        The columns that lack them.
    first : tuple of int
        The first few of those rows.
    """

    infinite: tuple[int, int] | None = None
    values: int = 0
    rows: int = 0
    columns: frozenset[int] = frozenset()
    first: tuple[int, ...] = ()

    @classmethod
    def of(cls, block: Array, present: Array, start: int) -> Gaps:
        """Return the gaps of a block of rows, given which rows are there and the number of the first one."""
        infinite = np.argwhere(np.isinf(block))
        nan = np.isnan(block)
        rows = np.flatnonzero(nan.any(axis=1) & present)
        return cls(
            (start + int(infinite[0][0]), int(infinite[0][1])) if len(infinite) else None,
            int(nan[rows].sum()),
            len(rows),
            frozenset(np.flatnonzero(nan[rows].any(axis=0)).tolist()),
            tuple((start + rows[:SHOWN]).tolist()),
        )

    def __add__(self, other: Gaps) -> Gaps:
        return Gaps(
            self.infinite or other.infinite,
            self.values + other.values,
            self.rows + other.rows,
            self.columns | other.columns,
            (self.first + other.first)[:SHOWN],
        )


def present_rows(block: Array) -> Array:
    """Return which rows are there: not missing as a whole."""
    if block.dtype.kind != "f" or not np.isnan(block[:, 0]).any():  # a missing row lacks its first value
        return np.ones(len(block), bool)
    return np.logical_not(np.isnan(block).all(axis=1))


def check_finite(called: str, gaps: Gaps, complete: bool = False) -> None:
    """Complain about an infinite value of a view, of which all items must have rows if it is ``complete``."""
    if gaps.infinite is not None:
        row, column = gaps.infinite
        raise InputError(
            f"{called} is infinite at row {row}, column {column}; accepted: finite "
            f"numbers{'' if complete else ', or NaN for a whole row that is missing'}."
        )


def check_whole_rows(called: str, gaps: Gaps, otherwise: str) -> None:
    """Complain about rows of a view that lack single values, saying what is accepted beside complete rows."""
    if gaps.rows:
        where = ", ".join(map(str, gaps.first)) + (", ..." if gaps.rows > SHOWN else "")
        raise InputError(
            f"{called} lacks {gaps.values} single value(s), in {gaps.rows} row(s) ({where}) and {len(gaps.columns)} "
            f"column(s); accepted: complete rows, {otherwise}."
        )


@dataclass(frozen=True, eq=False)
class Statistics:
    """Means and deviations of the columns of some rows, safe from 1e-300 to 1e300.

    Those of two blocks of rows add up to those of all their rows.

    Attributes
    ----------
    count : int
        How many rows there are.
    unit : ndarray of shape (d,)
        The largest magnitude in each column; 0 if the column holds nothing but zeros.
    mean, squares : ndarray of shape (d,)
        The mean of each column and the sum of squared deviations from it, in that unit.
    """

    count: int
    unit: Array
    mean: Array
    squares: Array

    @classmethod
    def nothing(cls, d: int) -> Statistics:
        """Return the statistics of no rows, to which others can be added."""
        return cls(0, np.zeros(d), np.zeros(d), np.zeros(d))

    @classmethod
    def of(cls, block: Array, unit: Array | None = None) -> Statistics:
        """Return the statistics of a block of finite rows, float64; their unit may be known."""
        if len(block) == 0:
            return cls.nothing(block.shape[1])
        if unit is None:
            unit = np.maximum(block.max(axis=0), -block.min(axis=0))
        # Sums are taken about some row: it is as far from the mean as any, so nothing cancels.
        deviation = block / np.where(unit > 0, unit, 1.0)
        pivot = deviation[0].copy()
        deviation -= pivot
        offset = deviation.sum(axis=0) / len(block)
        squares = np.einsum("ij,ij->j", deviation, deviation) - len(block) * offset**2
        return cls(len(block), unit, pivot + offset, np.maximum(squares, 0.0))

    def __add__(self, other: Statistics) -> Statistics:
        if not (self.count and other.count):
            return self if self.count else other
        unit = np.maximum(self.unit, other.unit)
        safe = np.where(unit > 0, unit, 1.0)
        a, b, count = self.unit / safe, other.unit / safe, self.count + other.count
        difference = other.mean * b - self.mean * a
        mean = self.mean * a + difference * (other.count / count)
        squares = self.squares * a**2 + other.squares * b**2
        return Statistics(count, unit, mean, squares + difference**2 * (self.count * other.count / count))

    @property
    def standard(self) -> tuple[Array, Array, Array]:
        """The unit of each column, and in that unit its mean and deviation, as `standardized` takes them."""
        unit = np.where(self.unit > 0, self.unit, 1.0)
        scale = np.sqrt(self.squares / max(self.count, 1))
        scale[scale <= 1e-14 * np.maximum(np.abs(self.mean), 1e-2)] = 0.0  # only rounding separates the values
        return unit, self.mean, scale

    @property
    def constant(self) -> bool:
        """Whether no column varies."""
        return not (self.standard[2] > 0).any()


def standardized(block: Array, unit: Array, center: Array, scale: Array, scaling: str = "columns") -> Array:
    """Return rows with columns centred and scaled, without the constant ones; the block may be overwritten.

    Parameters
    ----------
    block : ndarray of shape (rows, d)
        Rows as they came in.
    unit, center, scale : ndarray of shape (d,)
        Each column's largest magnitude, and in units of that its mean and deviation.
    scaling : {"columns", "view"}
        See `tupi.inputs.views.View.rows`.
    """
    varying = scale > 0
    if not varying.all():
        block = block[:, varying]
    unit, center, scale = unit[varying], center[varying], scale[varying]
    if scaling == "columns":
        factor = 1.0 / scale
    else:  # back to common units, divided by the root mean square deviation of the view
        ratio = unit / unit.max()
        factor = ratio / np.sqrt(np.mean((scale * ratio) ** 2))
    with np.errstate(over="ignore"):
        at_once = factor / unit
    if np.isfinite(at_once).all():
        block *= at_once
        block -= center * factor
    else:  # numbers near the smallest there are
        block /= unit
        block -= center
        block *= factor
    return block


def standardized_rows(
    given: Array, standard: tuple[Array, Array, Array], scaling: str = "columns", fill: Array | None = None
) -> Array:
    """Return what `standardized` does of rows as they came in, which stay so; ``fill`` is for what they lack."""
    found = np.empty((len(given), np.count_nonzero(standard[2] > 0)))
    room = np.empty((min(len(given), IN_CACHE), given.shape[1]))
    for start in range(0, len(given), IN_CACHE):  # rows that are changed again while they are still in the cache
        some = given[start : start + IN_CACHE]
        block = room[: len(some)]
        block[...] = some
        found[start : start + IN_CACHE] = standardized(_filled(block, fill), *standard, scaling)
    return found


def _filled(block: Array, fill: Array | None) -> Array:
    return block if fill is None else np.where(np.isnan(block), fill, block)


class View:
    """One set of features of the items.

    The source is never copied or changed: `rows` converts and standardises what it is asked for.

    Parameters
    ----------
    name : str
        The view's name.
    source : ndarray or source of shape (n, d)
        Numbers of any type; a row of NaN means that the item lacks this view. See `tupi.inputs.sources` for files.
    impute : {None, "median"}
        What to do about rows in which only some values are missing: fail, or fill in the column's median.
    called : str, optional
        How messages call it; None: a view of the features, by its name.
    complete : bool
        Whether all items must have this view.
    headings : tuple of str, optional
        Names of its columns, if it came as a table of numbers.
    """

    def __init__(
        self,
        name: str,
        source: Any,
        impute: str | None = None,
        called: str | None = None,
        complete: bool = False,
        headings: tuple[str, ...] | None = None,
    ) -> None:
        self.name, self.headings = name, headings
        self._called = called_view(name) if called is None else called
        self._complete = complete
        self.source = source
        self.n, self.d = source.shape
        self.present, gaps, self.statistics = examine(source)
        self._check(gaps, impute)
        self.impute, self._fill = impute, None
        if gaps.rows:
            self._fill = self._medians()
            blocks = (
                Statistics.of(_filled(block[self.present[rows]], self._fill)) for rows, block in in_blocks(source)
            )
            self.statistics = sum(blocks, Statistics.nothing(self.d))
        self.constant = self.statistics.constant

    @property
    def fill(self) -> Array | None:
        """What takes the place of a single missing value, for each column; None if such values are refused."""
        if self._fill is not None or self.impute is None:
            return self._fill
        unit, center, _ = self.statistics.standard
        return center * unit

    @property
    def on_disk(self) -> bool:
        """Whether rows are read from a file, so that reading them all again takes long."""
        return isinstance(self.source, Source)

    def _check(self, gaps: Gaps, impute: str | None) -> None:
        """Complain about what cannot be used."""
        check_finite(self._called, gaps, self._complete)
        if self._complete and not self.present.all():
            raise InputError(
                f"{self._called}: {np.count_nonzero(~self.present)} row(s) are missing (first: "
                f"{np.argmin(self.present)}); accepted: rows with values."
            )
        if impute is None:
            whole = "" if self._complete else "rows missing as a whole, "
            check_whole_rows(self._called, gaps, f'{whole}or impute="median"')

    def _medians(self) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column without any value: filled with zero
            # A few columns at a time, so that a view on disk is not read once per column, nor held as a whole.
            columns = [
                value
                for start in range(0, self.d, MEDIANS)
                for value in np.nanmedian(
                    np.concatenate([block[:, start : start + MEDIANS] for _, block in in_blocks(self.source)]), axis=0
                )
            ]
        return np.nan_to_num(np.array(columns))

    def rows(self, items: slice | Array, scaling: str = "columns") -> Array:
        """Return rows as float64, columns centred and without the constant ones.

        Parameters
        ----------
        items : slice or array of int
            Which rows; they must be present.
        scaling : {"columns", "view"}
            Divide each column by its own deviation, or all by the view's (which a rotation leaves alone).
        """
        return standardized_rows(self.source[items], self.statistics.standard, scaling, self._fill)


def in_blocks(source: Any) -> Iterator[tuple[slice, Array]]:
    """Give the rows of an array or source as float64, some at a time, each time with their numbers."""
    for rows in _slices(source.shape[0]):
        yield rows, _block(source, rows)


def _slices(n: int) -> list[slice]:
    return [slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK)]


def _block(source: Any, rows: slice) -> Array:
    return np.ascontiguousarray(source[rows], np.float64)  # sums depend on the layout


def examine(source: Any, first: int = 0) -> tuple[Array, Gaps, Statistics]:
    """Return which rows of a view are there, what cannot be used, and statistics of the blocks without such gaps.

    Parameters
    ----------
    source : ndarray or source of shape (n, d)
        Rows of the view.
    first : int
        The number of the first row among all items.
    """
    n, d = source.shape
    present, gaps, statistics = np.ones(n, bool), Gaps(), Statistics.nothing(d)

    def of(rows: slice) -> tuple[Gaps | None, Statistics]:
        block = _block(source, rows)
        ends = block.max(axis=0), block.min(axis=0)
        if np.isfinite(ends).all():
            return None, Statistics.of(block, np.maximum(ends[0], -ends[1]))
        present[rows] = present_rows(block)  # rare
        found = Gaps.of(block, present[rows], first + rows.start)
        return found, Statistics.of(block[present[rows]]) if found == Gaps() else Statistics.nothing(d)

    for found, block in threaded(of, _slices(n)):
        gaps, statistics = gaps if found is None else gaps + found, statistics + block
    return present, gaps, statistics


def examine_later(source: Any) -> tuple[Array, Gaps]:
    """Return the same without statistics, of items that came later: most have no gaps, and need no other look."""
    present, gaps = np.ones(source.shape[0], bool), Gaps()

    def of(rows: slice) -> Gaps | None:
        block = source[rows]
        if np.isfinite(np.asarray([block.max(axis=0), block.min(axis=0)], np.float64)).all():
            return None
        block = _block(source, rows)
        present[rows] = present_rows(block)
        return Gaps.of(block, present[rows], rows.start)

    for found in threaded(of, _slices(source.shape[0])):
        gaps = gaps if found is None else gaps + found
    return present, gaps


def called_view(name: str) -> str:
    """Return how messages call a view of the features."""
    return f"features: view {name!r}"


def check_impute(impute: Any) -> None:
    """Complain about a way to fill in values that does not exist."""
    if impute not in (None, "median"):
        raise InputError(f"impute: found {impute!r}; accepted: None or 'median'.")
