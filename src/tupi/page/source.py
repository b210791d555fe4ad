"""What a page is about: the data, where they came from, and how to say so on a command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from tupi.inputs.files import InputFiles, read_table
from tupi.inputs.files.reading import is_table
from tupi.inputs.labels import Labels, Values
from tupi.page.pictures import Pictures, find_pictures
from tupi.runtime.errors import InputError

MAX_FACTS = 8  # columns of the predictions' table, and of tables of features, that help to tell items apart
TITLES = (
    "title",
    "name",
    "headline",
    "caption",
    "description",
)  # columns that are taken for titles without being asked


@dataclass(frozen=True, eq=False)
class PageSource:
    """The data of one page.

    Attributes
    ----------
    predictions, features, labels
        As `tupi.denoise` takes them.
    task : str
        What the predictions are for.
    impute : str or None
        As for `tupi.denoise`.
    random_state : int
        Seed.
    origin : InputFiles or None
        The files; None for data that came from none.
    pictures : Pictures or None
        A picture per item.
    facts : DataFrame or None
        What else is known about items, to tell them apart.
    titles : list of str or None
        What people call the items.
    groups : Series or None
        The group of each item, as for `tupi.denoise`.
    group_name : str
        What groups are called.
    metric : str or None
        What a gain is told in, as for `tupi.denoise`, as long as values judge it.
    about : str
        What the items are, and what their scores mean, in a sentence or two; empty if nobody said so.
    """

    predictions: Any
    features: Any
    labels: Any = None
    task: str = "ranking"
    impute: str | None = None
    random_state: int = 0
    origin: InputFiles | None = None
    pictures: Pictures | None = None
    facts: pd.DataFrame | None = field(default=None)
    titles: list[str] | None = None
    groups: Any = None
    group_name: str = "group"
    about: str = ""
    metric: str | None = None

    def asked(self, labels: Labels | None) -> str | None:
        """Return the metric that was asked for, if these labels can judge by it."""
        return self.metric if isinstance(labels, Values) else None

    def python(self, labels: str | None, method: str, params: Mapping[str, Any], metric: str | None = None) -> str:
        """Return a Python script that repeats a result; ``labels`` names a file of labels to use."""
        origin = self._origin()
        arguments = [repr(origin.scores), "{" + "".join(f"\n        {k!r}: {v!r}," for k, v in origin.features.items())]
        arguments[1] += "\n    }"
        arguments += [
            f"{name}={value!r}"
            for name, value in (
                ("labels", labels),
                ("id_column", origin.id_column),
                ("score", origin.score),
                ("label", origin.label if labels == origin.labels else None),
                ("task", self.task if self.task != "ranking" else None),
                ("group", origin.group),
                ("columns", origin.columns),
                ("drop", origin.drop),
                ("duplicates", origin.duplicates),
            )
            if value
        ]
        listed = "".join(f"\n    {argument}," for argument in arguments)
        groups = "" if self.groups is None else "\n    groups=inputs.groups,"
        settings = "" if metric is None else f"\n    metric={metric!r},"
        settings += "".join(f"\n    {name}={value!r}," for name, value in params.items())
        return (
            f"import tupi\n\ninputs = tupi.read_inputs({listed}\n)\n"
            "result = tupi.denoise(\n    inputs.predictions,\n    inputs.features,\n    inputs.labels,\n"
            f"    method={method!r},\n    task={self.task!r},{groups}\n    random_state={self.random_state},\n"
            f"    impute={self.impute!r},{settings}\n)\n"
            'result.write("better.csv")\n'
        )

    def command(self, labels: str | None, method: str, params: Mapping[str, Any], metric: str | None = None) -> str:
        """Return the command line that repeats a result."""
        origin = self._origin()
        words = ["tupi", "denoise", origin.scores]
        for name, path in origin.features.items():
            words += ["--features", f"{name}={path}"]
        for option, value in (
            ("--labels", labels),
            ("--id", origin.id_column),
            ("--label", origin.label if labels == origin.labels else None),
            ("--task", self.task if self.task != "ranking" else None),
            ("--group", origin.group),
            ("--impute", self.impute),
            ("--duplicates", origin.duplicates),
            ("--method", method),
            ("--metric", metric),
        ):
            if value:
                words += [option, value]
        for option, several in (("--score", origin.score), ("--columns", origin.columns), ("--drop", origin.drop)):
            for value in several:
                words += [option, value]
        for name, value in params.items():
            words += ["--set", f"{name}={value}"]
        words += ["--seed", str(self.random_state), "--out", "better.csv"]
        return shlex.join(words)

    def _origin(self) -> InputFiles:
        return self.origin or InputFiles("scores.csv", {name: f"{name}.npy" for name in self.features})


def read_source(
    origin: InputFiles,
    task: str = "ranking",
    impute: str | None = None,
    random_state: int = 0,
    images: str | Path | None = None,
    image_column: str | None = None,
    title_column: str | None = None,
) -> PageSource:
    """Read the files of a page.

    Parameters
    ----------
    origin : InputFiles
        The files.
    task, impute, random_state
        As for `tupi.denoise`.
    images : path, optional
        A folder of pictures called like the items or, with ``image_column``, as that column says.
    image_column : str, optional
        The column of the predictions' table that names each item's picture, inside ``images`` or beside the table.
    title_column : str, optional
        The column of the predictions' table that people know the items by; None takes one that is called like one.
    """
    table = read_table(origin.scores) if is_table(origin.scores) else None
    for option, column in (("--image-column", image_column), ("--title-column", title_column)):
        if column is not None and (table is None or column not in table.columns):
            raise InputError(f"{option}: {origin.scores} has no column {column!r}; accepted: one it has.")
    if image_column is not None:
        assert table is not None
        origin = _without(origin, table, image_column)
    inputs = origin.read(task)
    names = _names(inputs.predictions)
    pictures = None
    if image_column is not None:
        assert table is not None
        folder = Path(origin.scores).parent if images is None else Path(images)
        pictures = find_pictures(folder, table[image_column].fillna("").astype(str).tolist(), "--image-column")
    elif images is not None:
        pictures = find_pictures(images, names)
    used = {inputs.id_column, image_column, inputs.group_column, *inputs.score_columns}
    if origin.labels is not None and Path(origin.labels).resolve() == Path(origin.scores).resolve():
        used.add(origin.label)  # whoever is asked must not see what others said
    others = [] if table is None else [column for column in table.columns if column not in used]
    title = title_column or next((column for column in others if str(column).lower() in TITLES), None)
    others = [column for column in others if column != title]
    return PageSource(
        inputs.predictions,
        inputs.features,
        inputs.labels,
        task,
        impute,
        random_state,
        origin,
        pictures,
        facts=_facts(None if table is None else table[others], inputs.features, title),
        titles=None if table is None or title is None else table[title].fillna("").astype(str).tolist(),
        groups=inputs.groups,
        group_name=inputs.group_column or "group",
    )


def _facts(table: pd.DataFrame | None, features: Mapping[str, Any], title: str | None) -> pd.DataFrame | None:
    """Return columns that tell items apart: of the predictions' table, then of tables of features.

    A table of many numbers and nothing else is rather made for machines, and says nothing to people.
    """
    frames = [] if table is None else [table]
    tables = [view for view in features.values() if isinstance(view, pd.DataFrame)]
    frames += [
        view for view in tables if view.shape[1] <= MAX_FACTS or len(view.select_dtypes(exclude="number").columns)
    ]
    if not frames:
        return None
    known = pd.concat([frame.reset_index(drop=True) for frame in frames], axis=1)
    known = known.loc[:, ~known.columns.duplicated() & (known.columns != title)].iloc[:, :MAX_FACTS]
    return known if known.shape[1] else None


def _without(origin: InputFiles, table: pd.DataFrame, image_column: str) -> InputFiles:
    """Return the origin with its score column named, if only the column of pictures leaves that open."""
    if origin.score:
        return origin
    numeric = [c for c in table.columns if c != image_column and pd.api.types.is_numeric_dtype(table[c].dtype)]
    numeric = [c for c in numeric if c != origin.id_column and c.lower() != "id"]
    if len(numeric) != 1:
        return origin
    return replace(origin, score=(numeric[0],))


def _names(predictions: Any) -> list[str]:
    if isinstance(predictions, (pd.Series, pd.DataFrame)):
        return [str(name) for name in predictions.index]
    return [str(k) for k in range(len(predictions))]
