"""`tupi predict`: better predictions of items that came later, by a result that was saved."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tupi.cli.inputs import check_outputs, matching_options, named_paths
from tupi.cli.options import better_scores_option, telling_options
from tupi.inputs.files import SUFFIXES, InputFiles
from tupi.runtime.errors import InputError

if TYPE_CHECKING:  # takes a second to import
    from tupi.inputs.files import Inputs
    from tupi.results.result import Denoised

MANY, TRIED = 100_000, 4_000  # items that take long, and how many are tried to find out how long
UNFAMILIAR = 0.5  # items below this keep more of their own prediction than they get of the new one
EXAMPLE = """\b
Examples:
  tupi denoise monday.csv --features gist=monday.npy --out better.csv --save run.npz
  tupi predict run.npz tuesday.csv --features gist=tuesday.npy --out new.csv
"""


@click.command(epilog=EXAMPLE)
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("scores", type=str)
@click.option(
    "--features",
    multiple=True,
    metavar="NAME=FILE",
    help="A view of these items, under the name that it had in RUN; repeat for more. Views may be left out.",
)
@click.option("--score", multiple=True, metavar="COLUMN", help="Score column of SCORES; repeat for classes.")
@matching_options
@better_scores_option
@telling_options("Show no progress bar and no summary.")
def predict(
    run: Path,
    scores: str,
    features: tuple[str, ...],
    score: tuple[str, ...],
    id_column: str | None,
    columns: tuple[str, ...],
    drop: tuple[str, ...],
    duplicates: str | None,
    verbose: bool,
    out: Path,
    escape_formulas: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Improve the predictions in SCORES by RUN, a file that tupi denoise --save wrote.

    Files are read as in tupi denoise. The output has the same ids and order as SCORES; its column "familiar" says how
    much each item is like those of RUN, from 0 to 1: an item that is far from all of them keeps its own prediction.
    """
    import tupi
    from tupi.cli.printing import collected_warnings, print_json, print_reading, print_warnings, say
    from tupi.cli.progress import ProgressBar
    from tupi.results.predicted import Predicted
    from tupi.results.writing import write_result

    files = InputFiles(
        scores,
        named_paths(features),
        id_column=id_column,
        score=score,
        columns=columns,
        drop=drop,
        duplicates=duplicates,
    )
    check_outputs({"--out": (out, SUFFIXES)}, files)
    if run.resolve() == out.resolve():
        raise InputError(f"--out: {out} is one of the input files; accepted: another file.")
    with ProgressBar(show=not quiet) as bar, collected_warnings() as warned:
        result = tupi.load(run)
        inputs = files.read(result.task, bar.read)
        bar.expect(f"Predicting {len(inputs.predictions):,} items", _seconds(result, inputs))
        found = result.predict(inputs.predictions, inputs.features, details=True)
        assert isinstance(found, Predicted)
        bar.expect("Writing", 0.0)
        write_result(found, out, escape_formulas)
    print_warnings(warned)
    n, unfamiliar = len(found.initial), int((found.familiar < UNFAMILIAR).sum())
    if as_json:
        print_json({"items": n, "unfamiliar": unfamiliar, "method": found.method, "out": str(out), "warnings": warned})
        return
    if verbose:
        print_reading(inputs.understood)
    if not quiet:
        items = "item" if n == 1 else "items"
        say(f"{n:,} new {items} went through the {result.task} of {run}, and {out} holds the better predictions.")
        if unfamiliar:
            are, keep = ("is", "keeps most of its") if unfamiliar == 1 else ("are", "keep most of their")
            say(f"{unfamiliar:,} of them {are} unlike those of {run}, and {keep} own prediction.")


def _seconds(result: Denoised, inputs: Inputs) -> float:
    """Return about how many seconds all items take, by those that a few of them take; of few items, nothing."""
    n = len(inputs.predictions)
    if n < MANY:
        return 0.0
    some = {name: view[:TRIED] for name, view in inputs.features.items()}  # rows of arrays and of tables alike
    start = time.perf_counter()
    with warnings.catch_warnings(action="ignore"):  # all of them will say so
        result.predict(inputs.predictions[:TRIED], some, details=True)
    return (time.perf_counter() - start) * n / TRIED
