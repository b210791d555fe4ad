"""`tupi denoise`: better predictions from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tupi.cli.group import TYPED
from tupi.cli.inputs import check_outputs, input_options
from tupi.cli.options import better_scores_option, method_options, metric_option, telling_options
from tupi.inputs.files import SUFFIXES, InputFiles
from tupi.inputs.files.reading import SEPARATORS
from tupi.runtime.errors import InputError

EXAMPLE = """\b
Examples:
  tupi denoise scores.csv --features gist=gist.npy --features color=color.parquet --out better.csv
  tupi denoise scores.csv --features gist=gist.npy --labels labels.csv --id image \\
      --out better.csv --report report.html
  tupi denoise scores.csv --features gist=gist.npy --out better.csv --method tupi --set n_iter=20
  tupi denoise results.csv --group query --features page=letor.txt --labels judged.csv --out better.csv
  tupi denoise scores.parquet --features gist=gist_folder --method tupi --scheduler tcp://10.0.0.1:8786 --out better
"""


@click.command(epilog=EXAMPLE)
@input_options(required=True)
@metric_option
@method_options("The method to use; a wrong name lists all of them.", "A parameter of the method; repeat for more.")
@better_scores_option
@click.option(
    "--report", type=click.Path(path_type=Path), metavar="FILE.html", help="Also write a report that opens offline."
)
@click.option(
    "--save",
    type=click.Path(path_type=Path),
    metavar="FILE.npz",
    help="Also save everything, for tupi predict and tupi.load.",
)
@click.option(
    "--memory-limit",
    metavar="SIZE",
    help="How much memory to use, such as 1GB: views are then read in blocks. What cannot fit is refused.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Run on the Dask cluster of this scheduler; 'local' starts one in this process. --out is then a folder.",
)
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="With --scheduler and --method tupi: save where the run stands, and go on from there after an interruption.",
)
@telling_options("Show no progress bar and no summary.")
def denoise(
    files: InputFiles,
    method: str,
    task: str,
    metric: str | None,
    settings: tuple[str, ...],
    impute: str | None,
    verbose: bool,
    seed: int,
    out: Path,
    report: Path | None,
    save: Path | None,
    memory_limit: str | None,
    scheduler: str | None,
    checkpoint: Path | None,
    escape_formulas: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Improve the predictions in SCORES with features that their predictor never saw.

    Files may be CSV, TSV or other text (also packed by gzip), Parquet, Excel, NPY or NPZ; the suffix says which.
    Columns of features may hold numbers, text, categories or dates, and --verbose says what became of each. Tables are
    joined by a column of ids: the one that --id names, or the one column that all tables share and that is called "id"
    or is not numeric. Without ids, rows are matched by their order. The output has the same ids and order as SCORES. A
    .txt file of LETOR lines (2 qid:10 1:0.53) is read as a table with the columns relevance and qid and one column for
    each feature; given as features, it also says which items belong to one query.
    """
    # Here and in the other commands: imports that take a second wait until the command runs, so that --help does not.
    import tupi
    from tupi.cli.printing import (
        check_can_report,
        collected_warnings,
        common_facts,
        facts,
        print_json,
        print_summary,
        print_warnings,
    )
    from tupi.cli.progress import ProgressBar
    from tupi.methods import make_method
    from tupi.results.report import write_report
    from tupi.results.writing import destination, formula_ids, write_result

    if scheduler is not None:
        from tupi.cli.scale import denoise_on_cluster, nothing_said_of_waiting, print_cluster_summary

        if report is not None or save is not None:
            raise InputError("--report, --save: found with --scheduler; accepted there: --out alone.")
        if metric is not None:
            raise InputError("--metric: found with --scheduler; accepted: without it.")
        if files.columns or files.drop or files.duplicates or files.group:
            raise InputError("--columns, --drop, --duplicates, --group: found with --scheduler; accepted: without it.")
        chosen = make_method(method, parsed_settings(settings))
        address = None if scheduler == "local" else scheduler
        with nothing_said_of_waiting(), ProgressBar(show=not quiet) as bar, collected_warnings() as warned:
            found, changed = denoise_on_cluster(
                files, out, chosen, address, checkpoint, memory_limit, bar, task=task, random_state=seed, impute=impute
            )
        print_warnings(warned)
        if as_json:
            print_json(common_facts(found, {"out": str(out)}, warned))
        elif not quiet:
            print_cluster_summary(found, changed, out)
        return
    if checkpoint is not None:
        raise InputError("--checkpoint: found without --scheduler; accepted: with it.")
    check_outputs(
        {"--out": (out, SUFFIXES), "--report": (report, (".html", ".htm")), "--save": (save, (".npz",))}, files
    )
    if report is not None:
        check_can_report()
    # The method is made here, and not from keywords of tupi.denoise, whose own names are no parameters of a method.
    chosen = make_method(method, parsed_settings(settings))
    if getattr(chosen, "engine", None) == "dask":
        raise InputError("--set engine=dask: found without --scheduler; accepted: with it.")
    with ProgressBar(show=not quiet) as bar, collected_warnings() as warned:
        inputs = files.read(task, bar.read)
        result = tupi.denoise(
            inputs.predictions,
            inputs.features,
            inputs.labels,
            method=chosen,
            task=task,
            metric=metric,
            random_state=seed,
            callback=bar.step,
            groups=inputs.groups,
            impute=impute,
            memory_limit=memory_limit,
            progress=bar.say,
        )
        assert isinstance(result, tupi.Denoised)  # Dask was refused above
        bar.say("Writing")
        write_result(result, out, escape_formulas)
        if report is not None:
            write_report(result, destination(report), _origin(files, out))
        if save is not None:
            result.save(destination(save))
    written = {name: str(path) for name, path in (("out", out), ("report", report), ("save", save)) if path is not None}
    if out.suffix.lower() in SEPARATORS and not escape_formulas and (formulas := formula_ids(result)):
        warned.append(
            f"{formulas} id(s) in {out} begin with =, +, - or @, which a spreadsheet runs as formulas; "
            "--escape-formulas puts a ' before them."
        )
    print_warnings(warned)
    if as_json:
        print_json(facts(result, inputs, written, warned))
    elif not quiet:
        print_summary(result, inputs, written, verbose)


def _origin(files: InputFiles, out: Path) -> list[tuple[str, str]]:
    """Return the names of files and the command, for the report."""
    views = [(f"view {name}", path) for name, path in files.features.items()]
    labels = [(name, path) for name, path in (("labels", files.labels), ("pairs", files.pairs)) if path]
    typed = click.get_current_context().meta[TYPED]
    return [("scores", files.scores), *views, *labels, ("written to", str(out)), ("command", typed)]


def parsed_settings(settings: tuple[str, ...]) -> dict[str, Any]:
    """Return parameters from entries such as ``lam=0.3``: numbers, true, false, none, or text."""
    params: dict[str, Any] = {}
    for entry in settings:
        name, found, text = (part.strip() for part in entry.partition("="))
        if not (found and name and text):
            raise InputError(f"--set: found {entry!r}; accepted: a parameter and its value, such as lam=0.3.")
        if name in params:
            raise InputError(f"--set: {name!r} is set more than once; accepted: once.")
        params[name] = parsed_value(text)
    return params


def parsed_value(text: str) -> Any:
    """Return a number, True, False, None or the text itself."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
