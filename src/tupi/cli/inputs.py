"""Options that say which files a command reads, the same for every command that reads them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from tupi.cli.options import whole_number
from tupi.inputs.files import InputFiles
from tupi.inputs.files.reading import split_key
from tupi.results.writing import check_output, destination
from tupi.runtime.errors import InputError

Command = Callable[..., None]
Outputs = dict[str, tuple[Path | None, tuple[str, ...]]]


COLUMNS = ("id_column", "columns", "drop", "duplicates")  # what `matching_options` says of rows and columns


def matching_options(command: Command) -> Command:
    """Give a command --id, --columns, --drop, --duplicates and --verbose: which rows and columns are read."""
    options = (
        click.option("--id", "id_column", metavar="COLUMN", help="Column that identifies items, in all tables."),
        click.option(
            "--columns",
            multiple=True,
            metavar="VIEW=A,B",
            help="Use only these columns of a view (A,B without a name: of all views); repeat for more.",
        ),
        click.option(
            "--drop",
            multiple=True,
            metavar="VIEW=A,B",
            help="Leave out these columns of a view (A,B without a name: of all views); repeat for more.",
        ),
        click.option(
            "--duplicates",
            type=click.Choice(["mean", "first", "last"]),
            help="What to do with rows of the same id: take the mean of numbers, or one row. Without it, an error.",
        ),
        click.option("--verbose", is_flag=True, help="Say how each table was read, and what became of its columns."),
    )
    for option in reversed(options):  # click lists options from the innermost decorator out
        command = option(command)
    return command


def reading_options(command: Command) -> Command:
    """Give a command all of `matching_options`, --impute and --seed: how files are read."""
    impute = click.option("--impute", type=click.Choice(["median"]), help="Fill in single missing values of features.")
    return matching_options(impute(whole_number("--seed", 0, "The same seed gives the same result.")(command)))


def input_options(required: bool) -> Callable[[Command], Command]:
    """Give a command SCORES, --features, --labels, --score, --label, --task, --group, and all of `reading_options`.

    The command takes what says which files, rows and columns to read as one argument ``files``, and ``task``,
    ``impute``, ``verbose`` and ``seed`` by themselves.

    Parameters
    ----------
    required : bool
        Whether SCORES and --features must be there; commands with a demonstration go without.
    """
    options = (
        click.argument("scores", type=str, required=required),
        click.option(
            "--features",
            multiple=True,
            required=required,
            metavar="NAME=FILE",
            help="A view (a set of features) of the same items, and its name; repeat for more. FILE.npz:KEY takes one "
            "array of several.",
        ),
        click.option(
            "--labels",
            metavar="FILE",
            help="What is known about some items: ids and values, one value per item (empty: unknown), or columns "
            "'higher' and 'lower'. Columns 'rater' and 'weight' say who gave a label and how much it counts.",
        ),
        click.option(
            "--pairs", metavar="FILE", help="Comparisons beside the values of --labels: columns 'higher' and 'lower'."
        ),
        click.option(
            "--score",
            multiple=True,
            metavar="COLUMN",
            help="The column of SCORES that holds the scores, if it has several; repeat it for the columns of classes.",
        ),
        click.option("--label", metavar="COLUMN", help="The column of values in the labels, if they have several."),
        click.option(
            "--task",
            type=click.Choice(["ranking", "regression", "classification"]),
            default="ranking",
            show_default=True,
            help="What the scores are for.",
        ),
        click.option(
            "--group",
            metavar="COLUMN",
            help="Column with the group of each item, such as its query: items are ranked within groups.",
        ),
        reading_options,
    )

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_files(scores: str | None, features: tuple[str, ...], **others: Any) -> None:
            columns = {name: others.pop(name) for name in ("labels", "pairs", "score", "label", "group", *COLUMNS)}
            command(files=InputFiles(scores or "", named_paths(features), **columns), **others)

        decorated: Command = with_files
        for option in reversed(options):  # click lists options from the innermost decorator out
            decorated = option(decorated)
        return decorated

    return decorate


def named_paths(features: tuple[str, ...]) -> dict[str, str]:
    """Return paths by view name from entries such as ``gist=gist.npy``."""
    paths: dict[str, str] = {}
    for entry in features:
        name, found, path = entry.partition("=")
        if not (found and name.strip() and path):
            raise InputError(f"--features: found {entry!r}; accepted: a name and a file, such as gist=gist.npy.")
        if not name.isprintable():  # also what is not UTF-8: reports and tables could not be written
            raise InputError(f"--features: the name {name!r} cannot be printed; accepted: letters, digits and signs.")
        if name.strip() in paths:
            raise InputError(f"--features: two views are called {name.strip()!r}; accepted: unique names.")
        paths[name.strip()] = path
    return paths


def check_outputs(outputs: Outputs, files: InputFiles) -> None:
    """Complain about files that cannot be written, or that are read or written by something else.

    Parameters
    ----------
    outputs : dict
        By option: the file, if there is to be one, and the suffixes it may have.
    files : InputFiles
        What is read.
    """
    read = {destination(split_key(path)[0]).resolve() for path in files.paths}
    taken: dict[Path, str] = {}
    for option, (path, suffixes) in outputs.items():
        if path is None:
            continue
        check_output(option, path, suffixes)
        place = path.resolve()
        if place in read:
            raise InputError(f"{option}: {path} is one of the input files; accepted: another file.")
        if place in taken:
            raise InputError(f"{option}: {path} is also {taken[place]}; accepted: another file.")
        taken[place] = option
