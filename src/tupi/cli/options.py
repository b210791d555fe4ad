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
        help="What the gain is told in: pairwise, ndcg@10, map, auc, r2, rmse, mae, accuracy, balanced_accuracy, "
        "log_loss, brier; by default the first of the task.",
    )(command)
