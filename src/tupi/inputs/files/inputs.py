"""All input files of one run, read and put in one order: what `tupi.denoise` takes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from tupi.inputs.files.choosing import chosen_columns
from tupi.inputs.files.label_files import holds_pairs, read_labels, with_pairs
from tupi.inputs.files.letor import QUERY, RELEVANCE
from tupi.inputs.files.matching import Items, Sheet
from tupi.inputs.files.reading import is_table, read_arrays, read_one_array
from tupi.inputs.labels import Labels
from tupi.runtime.errors import InputError

DUPLICATES = (None, "mean", "first", "last")
Array = NDArray[Any]
Reading = Callable[[str, float], None]  # told which file is read next, and which share of all of them was before


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
    pairs : str or None
        Comparisons beside them.
    id_column, score, label, columns, drop, duplicates, group
        Which columns and rows to take for what, see `read_inputs`.
    """

    scores: str
    features: Mapping[str, str]
    labels: str | None = None
    id_column: str | None = None
    score: tuple[str, ...] = ()
    label: str | None = None
    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    duplicates: str | None = None
    group: str | None = None
    pairs: str | None = None

    @property
    def paths(self) -> list[str]:
        """All files, as they were named."""
        return [path for path in (self.scores, self.labels, self.pairs, *self.features.values()) if path]

    def read(self, task: str = "ranking", progress: Reading | None = None) -> Inputs:
        """Read them all, see `read_inputs`."""
        return read_inputs(
            self.scores,
            self.features,
            self.labels,
            self.id_column,
            self.score,
            self.label,
            task,
            self.columns,
            self.drop,
            self.duplicates,
            self.group,
            self.pairs,
            progress,
        )


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the files hold, in the order of the predictions.

    Attributes
    ----------
    predictions : Series, DataFrame or ndarray
        Scores, or class scores in named columns; with the ids as their index, if there are ids.
    features : dict
        One entry per view.
    labels : Values, Pairs, a list of both, ndarray or None
        As `tupi.denoise` takes them.
    id_column : str or None
        The column by which tables were joined.
    score_columns : tuple of str
        The columns that the predictions came from; none for arrays.
    by_order : tuple of str
        What was matched by the order of its rows.
    understood : tuple of str
        How each table was read, a sentence each.
    left_out : tuple of str
        Columns that are no features, since they hold the scores or labels of the same file.
    groups : Series or None
        The group of each item.
    group_column : str or None
        The column that holds them.
    """

    predictions: Any
    features: dict[str, Any]
    labels: Labels | list[Labels] | Array | None
    id_column: str | None
    score_columns: tuple[str, ...]
    by_order: tuple[str, ...]
    understood: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    groups: pd.Series | None = None
    group_column: str | None = None

    @property
    def sentence(self) -> str:
        """How rows were matched, and which columns were taken for what."""
        parts = []
        if self.score_columns:
            listed = ", ".join(repr(c) for c in self.score_columns[:4])
            parts.append(f"predictions from {listed}{', ...' if len(self.score_columns) > 4 else ''}")
        if self.id_column is not None:
            parts.append(f"ids from {self.id_column!r}")
        if self.group_column is not None:
            parts.append(f"groups from {self.group_column!r}")
        if self.by_order:
            parts.append(f"matched by row order: {', '.join(self.by_order)}")
        if self.left_out:
            parts.append(f"no features: {', '.join(map(repr, self.left_out))}")
        text = "; ".join(parts)
        return f"{text[:1].upper()}{text[1:]}."


@dataclass(frozen=True, eq=False)
class Two:
    """Two sets of features in one order, the id column by which they were joined, and how the tables were read."""

    x: Any
    y: Any
    id_column: str | None
    understood: tuple[str, ...] = ()


def read_inputs(
    scores: str | Path,
    features: Mapping[str, str | Path],
    labels: str | Path | None = None,
    id_column: str | None = None,
    score: Sequence[str] = (),
    label: str | None = None,
    task: str = "ranking",
    columns: Sequence[str] = (),
    drop: Sequence[str] = (),
    duplicates: str | None = None,
    group: str | None = None,
    pairs: str | Path | None = None,
    progress: Reading | None = None,
) -> Inputs:
    """Read predictions, features and labels, and put their rows in the order of the predictions.

    Parameters
    ----------
    scores : path
        Predictions: a table with one score column (for classification class columns, or one of probabilities) or an
        array; ``file.npz:name`` takes one array of several.
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
    columns, drop : sequence of str
        Which columns of the features to take, or to leave out: ``view=a,b``, or ``a,b`` for all views. Where a file of
        features is also that of the scores or labels, their columns are left out unless they are asked for.
    duplicates : {None, "mean", "first", "last"}
        What to do about rows with the same id: complain, take the mean of numbers (and the first of anything else), or
        take the first or last row.
    group : str, optional
        The column that holds the group of each item, such as its query: of the predictions, or else of the features.
        None takes the queries of a LETOR file among them.
    pairs : path, optional
        Comparisons beside the values of ``labels``.
    progress : callable, optional
        Told of each table before it is read: its path, and which share of the bytes of all tables was read by then.
    """
    if duplicates not in DUPLICATES:
        raise InputError(f"duplicates: found {duplicates!r}; accepted: None, 'mean', 'first' or 'last'.")
    named = {"predictions": scores} | {f"features {name}": path for name, path in features.items()}
    named |= {} if labels is None else {"labels": labels}
    tables = _read_tables({role: path for role, path in named.items() if is_table(path)}, progress)
    base, known = tables.pop("predictions", None), tables.pop("labels", None)
    sheets = {role.removeprefix("features "): sheet for role, sheet in tables.items()}
    group, grouping = _grouping(group, [base, *sheets.values()])
    sheets = {
        name: _without_columns(sheet, (group, RELEVANCE, QUERY) if sheet.is_letor else (group,))
        for name, sheet in sheets.items()
    }
    base = None if base is None else _without_columns(base, (group,))
    if known is not None:
        known = replace(known, frame=known.frame[[RELEVANCE]]) if known.is_letor else _without_columns(known, (group,))
    predictions: Any
    score_columns: tuple[str, ...] = ()
    if base is None:
        for option, value in (("--id", id_column), ("--score", score)):
            if value:
                raise InputError(f"{option}: {scores} has no columns; accepted: columns of a table.")
        predictions = read_one_array(scores)
        items = Items(_length(predictions))
    else:
        values = [known] if known is not None and not holds_pairs(known) else []
        items = Items.of([base, *sheets.values(), *values], id_column, duplicates)
        assert items.base is not None
        base = items.base
        same = known is not None and known.path.resolve() == base.path.resolve()
        score_columns = _score_columns(base, items.column, label if same else None, score, task)
        predictions = pd.DataFrame({name: base.values(name) for name in score_columns})
        if len(score_columns) == 1:  # for classification, one probability per item
            predictions = predictions[score_columns[0]]
        if items.index is not None:
            predictions = predictions.set_axis(items.index, axis=0)
    sheets = chosen_columns(sheets, items.column, columns, drop)
    sheets, left_out = _without_targets(sheets, items.column, columns, {base: score_columns, known: (label,)})
    views = _read_features(features, sheets, items)
    classes = score_columns if task == "classification" and len(score_columns) > 1 else ()
    told = None if labels is None else read_labels(labels, known, label, items, classes)
    known_labels = told if pairs is None else with_pairs(told, pairs, items)
    understood = dict.fromkeys(sheet.file.sentence for sheet in (base, *sheets.values(), known) if sheet is not None)
    return Inputs(
        predictions,
        views,
        known_labels,
        items.column,
        score_columns,
        tuple(items.by_order),
        tuple(understood),
        left_out,
        None if grouping is None else _groups(str(group), grouping, items),
        group,
    )


def _read_tables(paths: Mapping[str, str | Path], progress: Reading | None) -> dict[str, Sheet]:
    """Return the tables in some files, by what they hold."""
    sizes = {role: os.path.getsize(path) if os.path.isfile(path) else 0 for role, path in paths.items()}
    read, all_of_them, tables = 0, sum(sizes.values()), {}
    for role, path in paths.items():
        if progress is not None:
            progress(str(path), read / max(all_of_them, 1))
        tables[role] = Sheet.read(role, path)
        read += sizes[role]
    return tables


def _grouping(group: str | None, sheets: Sequence[Sheet | None]) -> tuple[str | None, Sheet | None]:
    """Return the column of groups, and the table that it is taken from."""
    tables = [sheet for sheet in sheets if sheet is not None]
    if group is None:
        letor = [sheet for sheet in tables if sheet.is_letor]
        return (QUERY, letor[0]) if letor else (None, None)
    if not tables:
        raise InputError("--group: the predictions and features are arrays; accepted: a column of a table.")
    if not any(group in sheet.frame for sheet in tables):
        tables[0].check_has("--group", group)  # complains
    return group, next(sheet for sheet in tables if group in sheet.frame)


def _groups(group: str, sheet: Sheet, items: Items) -> pd.Series:
    """Return the group of each item, as text."""
    if items.base is not None and sheet.path.resolve() == items.base.path.resolve():
        found = items.base.text(group)
        return found if items.index is None else found.set_axis(items.index, axis=0)
    ids = [items.column] if items.column is not None and items.column in sheet.frame else []
    column = sheet.text(group)
    return items.arrange(replace(sheet, frame=sheet.frame[ids].assign(**{group: column})))[group]


def _without_columns(sheet: Sheet, columns: Sequence[str | None]) -> Sheet:
    """Return a table without some columns, as far as it has them."""
    return replace(sheet, frame=sheet.frame.drop(columns=[one for one in columns if one in sheet.frame]))


def _without_targets(
    sheets: dict[str, Sheet],
    id_column: str | None,
    columns: Sequence[str],
    targets: Mapping[Sheet | None, Sequence[str | None]],
) -> tuple[dict[str, Sheet], tuple[str, ...]]:
    """Return features without the columns of the same file that hold scores or labels, and which these are.

    A view that has nothing else, or whose columns were asked for, stays as it is.
    """
    if columns:
        return sheets, ()
    rest: dict[str, Sheet] = {}
    left_out: list[str] = []
    for name, sheet in sheets.items():
        same = [file for file in targets if file is not None and file.path.resolve() == sheet.path.resolve()]
        found = [column for file in same for column in targets[file] if column is not None and column in sheet.frame]
        others = sheet.frame.drop(columns=found)
        if set(others) <= {id_column}:
            others, found = sheet.frame, []
        rest[name] = replace(sheet, frame=others)
        left_out += found
    return rest, tuple(dict.fromkeys(left_out))


def _length(array: Array) -> int:
    return len(array) if array.ndim else 1


def _score_columns(
    base: Sheet, id_column: str | None, label: str | None, wanted: Sequence[str], task: str
) -> tuple[str, ...]:
    """Return the columns that are named or, where none is, those of numbers that hold neither ids nor labels."""
    for name in wanted:
        base.check_has("--score", name)
    others = [name for name in base.frame.columns if name not in (id_column, label)]
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


def read_two(
    x: str | Path,
    y: str | Path,
    id_column: str | None = None,
    columns: Sequence[str] = (),
    drop: Sequence[str] = (),
    duplicates: str | None = None,
) -> Two:
    """Read two sets of features of the same items, called "x" and "y"; the parameters are those of `read_inputs`."""
    sheets = [Sheet.read(role, path) if is_table(path) else None for role, path in (("x", x), ("y", y))]
    tables = {role: sheet for role, sheet in zip("xy", sheets, strict=True) if sheet is not None}
    if not tables:
        if id_column is not None:
            raise InputError(f"--id: {x} and {y} have no columns; accepted: a column of a table.")
        chosen_columns(tables, None, columns, drop)  # complains if any are asked for
        return Two(read_one_array(x), read_one_array(y), None)
    items = Items.of(list(tables.values()), id_column, duplicates)
    understood = tuple(dict.fromkeys(sheet.file.sentence for sheet in tables.values()))
    tables[next(iter(tables))] = items.base or next(iter(tables.values()))
    tables = chosen_columns(tables, items.column, columns, drop)
    first, second = (
        items.arrange(tables[role]) if role in tables else read_one_array(path) for role, path in (("x", x), ("y", y))
    )
    return Two(first, second, items.column, understood)
