"""All input files of one run, read and put in one order: what `tupi.denoise` takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tupi.inputs.files.label_files import holds_pairs, read_labels
from tupi.inputs.files.matching import Items, Sheet
from tupi.inputs.files.reading import is_table, read_arrays, read_one_array
from tupi.inputs.labels import Labels
from tupi.runtime.errors import InputError

Array = NDArray[Any]


@dataclass(frozen=True)
class InputFiles:
    """Which files a run reads, as a command line names them.

    Attributes
    ----------
    scores : str
        The predictions; empty where a demonstration takes the place of files.
    features : mapping of str to str
        Files by view.
    labels : str or None
        The labels.
    id_column, score, label
        Which columns to take for what, see `read_inputs`.
    """

    scores: str
    features: Mapping[str, str]
    labels: str | None = None
    id_column: str | None = None
    score: tuple[str, ...] = ()
    label: str | None = None

    @property
    def paths(self) -> list[str]:
        """All files, as they were named."""
        return [path for path in (self.scores, self.labels, *self.features.values()) if path]

    def read(self, task: str = "ranking") -> Inputs:
        """Read them all, see `read_inputs`."""
        return read_inputs(self.scores, self.features, self.labels, self.id_column, self.score, self.label, task)


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the files hold, in the order of the predictions.

    Attributes
    ----------
    predictions : Series, DataFrame or ndarray
        Scores, or class scores in named columns; with the ids as their index, if there are ids.
    features : dict
        One entry per view.
    labels : Values, Pairs, ndarray or None
        As `tupi.denoise` takes them.
    id_column : str or None
        The column by which tables were joined.
    score_columns : tuple of str
        The columns that the predictions came from; none for arrays.
    by_order : tuple of str
        What was matched by the order of its rows.
    """

    predictions: Any
    features: dict[str, Any]
    labels: Labels | Array | None
    id_column: str | None
    score_columns: tuple[str, ...]
    by_order: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """How rows were matched, and which columns were taken for what."""
        parts = []
        if self.score_columns:
            listed = ", ".join(repr(c) for c in self.score_columns[:4])
            parts.append(f"predictions from {listed}{', ...' if len(self.score_columns) > 4 else ''}")
        if self.id_column is not None:
            parts.append(f"ids from {self.id_column!r}")
        if self.by_order:
            parts.append(f"matched by row order: {', '.join(self.by_order)}")
        text = "; ".join(parts)
        return f"{text[:1].upper()}{text[1:]}."


def read_inputs(
    scores: str | Path,
    features: Mapping[str, str | Path],
    labels: str | Path | None = None,
    id_column: str | None = None,
    score: Sequence[str] = (),
    label: str | None = None,
    task: str = "ranking",
) -> Inputs:
    """Read predictions, features and labels, and put their rows in the order of the predictions.

    Parameters
    ----------
    scores : path
        Predictions: a table with one score column (class columns for classification) or an array; ``file.npz:name``
        takes one array of several.
    features : mapping of view name to path
        A table (all its columns but the ids) or an array is one view. An NPZ file with several arrays gives one view
        each, called ``name.key``.
    labels : path, optional
        A table with ids and a value column; a table or array with one value per item, empty or NaN where unknown; or
        comparisons, as columns (or arrays) ``higher`` and ``lower`` that hold ids, or row numbers from 0 without ids.
    id_column : str, optional
        The column that identifies items; None takes the one column that all tables share and that is either called
        "id" or not numeric.
    score : sequence of str
        The score columns, where the table has more than that.
    label : str, optional
        The value column of the labels, where the table has more than that.
    task : {"ranking", "regression", "classification"}
        What the predictions are for.
    """
    base = Sheet.read("predictions", scores) if is_table(scores) else None
    sheets = {name: Sheet.read(f"features {name}", path) for name, path in features.items() if is_table(path)}
    known = Sheet.read("labels", labels) if labels is not None and is_table(labels) else None
    predictions: Any
    columns: tuple[str, ...] = ()
    if base is None:
        for option, value in (("--id", id_column), ("--score", score)):
            if value:
                raise InputError(f"{option}: {scores} has no columns; accepted: columns of a table.")
        predictions = read_one_array(scores)
        items = Items(_length(predictions))
    else:
        values = [known] if known is not None and not holds_pairs(known) else []
        items = Items.of([base, *sheets.values(), *values], id_column)
        columns = _score_columns(base, items.column, score, task)
        predictions = base.frame[list(columns)] if task == "classification" else base.frame[columns[0]]
        if items.index is not None:
            predictions = predictions.set_axis(items.index, axis=0)
    views = _read_features(features, sheets, items)
    classes = columns if task == "classification" else ()
    known_labels = None if labels is None else read_labels(labels, known, label, items, classes)
    return Inputs(predictions, views, known_labels, items.column, columns, tuple(items.by_order))


def _length(array: Array) -> int:
    return len(array) if array.ndim else 1


def _score_columns(base: Sheet, id_column: str | None, wanted: Sequence[str], task: str) -> tuple[str, ...]:
    for name in wanted:
        base.check_has("--score", name)
    others = [name for name in base.frame.columns if name != id_column]
    found = tuple(wanted) or tuple(filter(base.holds_numbers, others))
    if not found:
        beside = "" if id_column is None else f" beside the ids {id_column!r}"
        raise InputError(
            f"{base.called}: has no column of numbers{beside} (of {base.listed}); accepted: a column of scores."
        )
    if task != "classification" and len(found) > 1:
        raise InputError(
            f"{base.called}: found {len(found)} columns that could be the scores ({', '.join(map(repr, found[:6]))}); "
            "accepted: one, named by --score (and the column of ids by --id)."
        )
    return found


def _read_features(paths: Mapping[str, str | Path], sheets: Mapping[str, Sheet], items: Items) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for name, path in paths.items():
        if name in sheets:
            views: dict[str, Any] = {name: items.arrange(sheets[name])}
        else:
            arrays = read_arrays(path)
            views = {name if len(arrays) == 1 else f"{name}.{key}": array for key, array in arrays.items()}
            for view, array in views.items():
                items.take_in_order(view, f"features {view} ({path})", _length(array))
        if clash := [view for view in views if view in read]:
            raise InputError(f"--features: two views are called {clash[0]!r}; accepted: unique names.")
        read.update(views)
    return read


def read_two(x: str | Path, y: str | Path, id_column: str | None = None) -> tuple[Any, Any, str | None]:
    """Read two sets of features of the same items; return them in one order, and the id column that was used."""
    sheets = [Sheet.read(role, path) if is_table(path) else None for role, path in (("x", x), ("y", y))]
    tables = [sheet for sheet in sheets if sheet is not None]
    if not tables:
        if id_column is not None:
            raise InputError(f"--id: {x} and {y} have no columns; accepted: a column of a table.")
        return read_one_array(x), read_one_array(y), None
    items = Items.of(tables, id_column)
    first, second = (
        read_one_array(path) if sheet is None else items.arrange(sheet)
        for path, sheet in zip((x, y), sheets, strict=True)
    )
    return first, second, items.column
