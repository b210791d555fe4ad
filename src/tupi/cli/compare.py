"""`tupi compare`: what each method gives on one's own data."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tupi.cli.inputs import check_outputs, input_options
from tupi.cli.options import metric_option, whole_number
from tupi.inputs.files import InputFiles, Inputs
from tupi.inputs.labels import amount
from tupi.runtime.errors import InputError

if TYPE_CHECKING:
    from tupi.compare import Comparison

EXAMPLE = """\b
Examples:
  tupi compare --demo
  tupi compare scores.csv --features gist=gist.npy --features color=color.parquet --labels labels.csv
  tupi compare scores.csv --features gist=gist.npy --labels labels.csv --methods tupi,ridge,gp \\
      --out table.csv --plot gains.html
"""
COLORS = {"better": "green", "worse": "red", "failed": "red", "does not apply": "dim"}


@click.command(epilog=EXAMPLE)
@input_options(required=False)
@metric_option
@click.option("--methods", metavar="NAME,NAME,...", help="Which methods; without it, all.")
@whole_number("--repeats", 4, "How often the labels are dealt to five folds.", least=1)
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE.csv", help="Also write the table: CSV, TSV or Parquet."
)
@click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE", help="Also draw the gains: HTML, PNG, SVG or PDF."
)
@click.option("--demo", is_flag=True, help="Compare on scikit-learn's digits, without any files.")
@click.option("--quiet", is_flag=True, help="No progress bar and no table.")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def compare(
    files: InputFiles,
    methods: str | None,
    task: str,
    metric: str | None,
    repeats: int,
    impute: str | None,
    verbose: bool,
    seed: int,
    out: Path | None,
    plot: Path | None,
    demo: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Try all methods on the predictions in SCORES, and judge each by labels that it did not see.

    Labels are dealt to five folds, again and again; those of one fold judge predictions that were tuned and fitted
    with the other four. All methods meet the same folds. A method that does not apply is listed with the reason.
    Files are as in tupi denoise.
    """
    from tupi.cli.printing import collected_warnings, print_json, print_reading, print_warnings
    from tupi.cli.progress import ProgressBar
    from tupi.compare import compare as compare_methods
    from tupi.methods import make_method
    from tupi.methods import methods as method_names
    from tupi.research.demo import demo_case
    from tupi.results.writing import destination, write_table

    _check_demand(demo, files)
    _check_outputs(out, plot, files)
    names = method_names() if methods is None else [name.strip() for name in methods.split(",") if name.strip()]
    if not names:
        raise InputError(f"--methods: found {methods!r}; accepted: names from {', '.join(method_names())}.")
    chosen = [make_method(name, {}) for name in names]
    with ProgressBar(show=not quiet, parts=len(chosen)) as bar, collected_warnings() as warned:
        inputs = demo_case() if demo else files.read(task)
        assert inputs.labels is not None  # _check_demand asks for a file of them
        found = compare_methods(
            inputs.predictions,
            inputs.features,
            inputs.labels,
            chosen,
            task,
            n_repeats=repeats,
            random_state=seed,
            metric=metric,
            groups=inputs.groups if isinstance(inputs, Inputs) else None,
            impute=impute,
            part=bar.part,
            progress=bar.say,
        )
    print_warnings(warned)
    if as_json:
        print_json(
            {
                "metric": found.metric,
                "n": found.n_items,
                "n_labels": found.n_labels,
                "methods": found.table.to_dict(orient="records"),
            }
        )
    elif not quiet:
        _print(found)
    if verbose and isinstance(inputs, Inputs):
        print_reading(inputs.understood)
    if out is not None:
        write_table(found.table, out)
    if plot is not None:
        found.plot(destination(plot))


def _check_demand(demo: bool, files: InputFiles) -> None:
    if demo:
        if files.paths:
            raise InputError("--demo: found files beside it; accepted: one of the two.")
        return
    for name, value in (
        ("SCORES", files.scores),
        ("--features", files.features),
        ("--labels", files.labels or files.pairs),
    ):
        if not value:
            raise InputError(f"{name}: found none; accepted: a file, or --demo to see a comparison without any.")


def _check_outputs(out: Path | None, plot: Path | None, files: InputFiles) -> None:
    from tupi.inputs.files.reading import TABLES
    from tupi.results.compare_plot import IMAGES, PAGES

    check_outputs({"--out": (out, TABLES), "--plot": (plot, PAGES + IMAGES)}, files)
    if plot is not None:
        needed = "plotly" if plot.suffix.lower() in PAGES else "matplotlib"
        if importlib.util.find_spec(needed) is None:
            raise InputError(f"--plot: {plot.suffix} files need {needed}: pip install {needed}.")


def _print(found: Comparison) -> None:
    import pandas as pd
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from tupi.cli.printing import say
    from tupi.judging.catalogue import words_of

    words = words_of(found.metric)
    console = Console(highlight=False)
    rows: list[dict[Any, Any]] = found.table.to_dict(orient="records")
    judged = [row for row in rows if not pd.isna(row["before"])]
    # All methods meet the same held-out labels, so that there is one score before.
    before = f": {words.level(judged[0]['before'])} before" if judged else ""
    title = f"{found.metric} on {amount(found.n_labels, found.noun)} that the methods did not see{before}"
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, title=f"{title[0].upper()}{title[1:]}")
    for name in ("method", "after", "gain", "95% interval", "time", "verdict"):
        table.add_column(name, justify="left" if name in ("method", "verdict") else "right", no_wrap=True)
    for row in rows:
        table.add_row(
            row["method"],
            "" if pd.isna(row["after"]) else words.number(row["after"]),
            "" if pd.isna(row["gain"]) else words.difference(row["gain"]),
            "" if pd.isna(row["low"]) else f"{words.difference(row['low'])} to {words.difference(row['high'])}",
            "" if pd.isna(row["seconds"]) else f"{row['seconds']:.1f} s",
            Text(row["verdict"], style=COLORS.get(row["verdict"], "")),
        )
    console.print(table)
    if others := [name.removesuffix(" before") for name in found.table.columns if name.endswith(" before")]:
        beside = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, title="Other figures on the same labels")
        beside.add_column("method", no_wrap=True)
        for name in others:
            beside.add_column(name, justify="right", no_wrap=True)
        beside.add_row("before", *(_figure(name, found.table[f"{name} before"].dropna().iloc[0]) for name in others))
        for row in judged:
            beside.add_row(row["method"], *(_figure(name, row[f"{name} after"]) for name in others))
        console.print(beside)
    for row in rows:
        if row["reason"]:
            say(f"{row['method']}: {row['reason']}")
    say("Each interval is about one method; the best of many is a little better here than it will be elsewhere.")


def _figure(metric: str, value: float) -> str:
    """Return a value of a metric in its words, or nothing if it is not known."""
    from tupi.judging.catalogue import words_of

    return words_of(metric).number(value) if value == value else ""
