"""Kinds of options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def whole_number(name: str, default: int, text: str, least: int = 0) -> Decorator:
    """Return an option that takes a whole number, with its text for --help."""
    return click.option(name, type=click.IntRange(min=least), default=default, show_default=True, help=text)


def output_folder(default: str, text: str) -> Decorator:
    """Return the option --out of a command that writes a folder."""
    kind = click.Path(path_type=Path, file_okay=False)
    return click.option("--out", type=kind, default=Path(default), show_default=True, metavar="FOLDER", help=text)


def metric_option(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command --metric."""
    return click.option(
        "--metric",
        metavar="NAME",
        help="The figure in which the gain is measured: pairwise, ndcg@10, map, auc, r2, rmse, mae, accuracy, "
        "balanced_accuracy, log_loss or brier. By default it is the usual one of the task.",
    )(command)


def method_options(method: str, settings: str) -> Decorator:
    """Return --method and --set, given their texts for --help."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        command = click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help=settings)(command)
        return click.option("--method", default="auto", show_default=True, help=method)(command)

    return decorate


def better_scores_option(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command --out, the file of better scores."""
    kind = click.Path(path_type=Path)
    return click.option("--out", required=True, type=kind, metavar="FILE", help="Where the better scores go.")(command)


def telling_options(quiet: str) -> Decorator:
    """Return the options of how a command tells what it made, given the text for --help of --quiet."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in (
            click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON."),
            click.option("--quiet", is_flag=True, help=quiet),
            click.option(
                "--escape-formulas",
                is_flag=True,
                help="Put a ' before ids in CSV and TSV files that a spreadsheet would run as formulas (=, +, -, @).",
            ),
        ):
            command = option(command)
        return command

    return decorate
