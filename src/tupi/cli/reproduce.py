"""`tupi reproduce`: the paper's tables and figures."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import click

from tupi.cli.options import output_folder, whole_number
from tupi.runtime.errors import InputError

EXAMPLE = """\b
Examples:
  tupi reproduce table1 --seeds 1
  tupi reproduce accuracy significance --data pubfig,osr
  tupi reproduce all --out docs
"""


@click.command(epilog=EXAMPLE)
@click.argument("what", nargs=-1, required=True, metavar="WHAT...")
@whole_number("--seeds", 10, "How many seeds, from 0; what only explains a table takes fewer.", least=1)
@click.option(
    "--data",
    metavar="NAME,NAME,...",
    help="Which datasets: mfeat, pubfig, osr, sarcos, shoes, awa, zap50k, zap50k-coarse. Without it, the first four.",
)
@output_folder("reproduction", "Where results.md, its pictures and the finished cells go.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes at once; without it, one per core.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
def reproduce(what: tuple[str, ...], seeds: int, data: str | None, out: Path, workers: int | None, quiet: bool) -> None:
    """Remake the paper's tables and figures.

    WHAT is one or more of table1, table2, accuracy, significance, surface, combination, unlabelled,
    readings, invdyn, remarks, networks, scaling, or all.

    Each finished cell (a target of a dataset under a seed) is written to FOLDER/cells at once, and a run that was
    stopped resumes there. Cells that were made under other settings are made again. Files are found through the
    environment variable TUPI_DATA, an installed package, or the dataset's public home.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError('tupi reproduce draws with matplotlib: pip install "tupi[experiments]".')
    from tupi.cli.progress import WorkBar
    from tupi.research.experiments.catalog import experiments_of
    from tupi.research.experiments.results import write_page
    from tupi.research.experiments.runner import CellsFailedError, run
    from tupi.research.experiments.sources import REAL, source_of
    from tupi.research.experiments.store import Store

    experiments = experiments_of(what)
    datasets = list(REAL) if data is None else [name.strip() for name in data.split(",") if name.strip()]
    for name in datasets:
        source_of(name)
    if not any(experiment.cells(datasets, [0]) for experiment in experiments):
        known = sorted({name for experiment in experiments for name in experiment.datasets})
        raise InputError(f"--data: found {', '.join(datasets)}; {' '.join(what)} is about {', '.join(known)}.")
    if importlib.util.find_spec("torch") is None:
        click.echo(
            "tupi: PyTorch is not installed: f^I is the rank SVM, and no rank network competes with it.", err=True
        )
    store = Store(out / "cells")
    failed = None
    try:
        with WorkBar(show=not quiet) as bar:
            run(experiments, store, datasets, range(seeds), workers, bar.update)
    except CellsFailedError as reason:  # the page shows the others
        failed = str(reason)
    click.echo(write_page(experiments, store, datasets, range(seeds), out))
    if failed is not None:
        raise click.ClickException(failed)
