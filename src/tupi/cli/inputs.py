"""Options that say which files a command reads, the same for every command that reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def input_options(required: bool) -> Callable[[Command], Command]:
    """Give a command SCORES, --features, --labels, --id, --score, --label, --task, --impute and --seed.

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
            help="A view of the same items, and its name; repeat for more. FILE.npz:KEY takes one array of several.",
        ),
        click.option(
            "--labels",
            metavar="FILE",
            help="What is known: ids and values, one value per item (empty: unknown), or columns 'higher' and 'lower'.",
        ),
        click.option("--id", "id_column", metavar="COLUMN", help="Column that identifies items, in all tables."),
        click.option(
            "--score",
            multiple=True,
            metavar="COLUMN",
            help="Score column of SCORES, if it has several; repeat for classes.",
        ),
        click.option("--label", metavar="COLUMN", help="Value column of the labels, if they have several."),
        click.option(
            "--task",
            type=click.Choice(["ranking", "regression", "classification"]),
            default="ranking",
            show_default=True,
            help="What the scores are for.",
        ),
        click.option("--impute", type=click.Choice(["median"]), help="Fill in single missing values of features."),
        click.option(
            "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same result."
        ),
    )

    def decorate(command: Command) -> Command:
        for option in reversed(options):  # click lists options from the innermost decorator out
            command = option(command)
        return command

    return decorate
