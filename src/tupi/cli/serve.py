"""`tupi serve`: a local page to look, teach and decide."""

from __future__ import annotations

import logging
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tupi.cli.denoise import parsed_settings
from tupi.cli.inputs import input_options
from tupi.cli.options import method_options, metric_option
from tupi.inputs.files import InputFiles
from tupi.runtime.errors import InputError

if TYPE_CHECKING:
    from tupi.methods.tupi import Tupi
    from tupi.page.looks import Look
    from tupi.page.source import PageSource

LOCAL = ("127.0.0.1", "localhost", "::1")
EXAMPLE = """\b
Examples:
  tupi serve --demo
  tupi serve scores.csv --features gist=gist.npy --images photos --answers answers.jsonl
"""


@click.command(epilog=EXAMPLE)
@input_options(required=False)
@metric_option
@method_options("The method to look at first.", "A parameter of the paper's method; repeat for more.")
@click.option("--demo", is_flag=True, help="Show the demonstration's data instead of files.")
@click.option("--images", metavar="FOLDER", help="Pictures called like the items, with or without their suffix.")
@click.option("--image-column", metavar="COLUMN", help="Column of SCORES that names each item's picture.")
@click.option("--title-column", metavar="COLUMN", help="Column of SCORES with what people call each item.")
@click.option("--answers", metavar="FILE", help="Where answers are appended.  [default: answers.jsonl beside SCORES]")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="Port; 0 takes a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--allow-remote", is_flag=True, help="Let other machines in, where --host is not this machine alone.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def serve(
    files: InputFiles,
    method: str,
    metric: str | None,
    task: str,
    settings: tuple[str, ...],
    impute: str | None,
    verbose: bool,
    seed: int,
    demo: bool,
    images: str | None,
    image_column: str | None,
    title_column: str | None,
    answers: str | None,
    port: int,
    host: str,
    allow_remote: bool,
    no_browser: bool,
) -> None:
    """Open a local page for the predictions in SCORES: look, answer questions about items, decide, export.

    Files are read as by `tupi denoise`. Answers are appended to a file as they are given; a later run with the same
    file continues. The page is served to this machine alone, at an address with a secret token.
    """
    if host not in LOCAL and not allow_remote:
        raise InputError(
            f"--host: {host} lets other machines in; accepted: with --allow-remote. Whoever has the address and its "
            "token can then see ids, scores, pictures and file names, and answer. Nothing is encrypted."
        )
    _check_packages()
    from tupi.page.running import Running
    from tupi.page.session import Session
    from tupi.page.source import read_source

    click.echo("Reading the files…", err=True)
    if demo:
        if files.scores or files.features:
            raise InputError("--demo: found together with files; accepted: one of the two.")
        source = _demo_source(seed)
        file = Path(answers or "demo-output/answers.jsonl")
    else:
        if not (files.scores and files.features):
            raise InputError("SCORES: accepted: a file of scores and --features, or --demo.")
        source = read_source(files, task, impute, seed, images, image_column, title_column)
        file = Path(answers) if answers else Path(files.scores.partition(".npz:")[0]).parent / "answers.jsonl"
    if not file.parent.is_dir():
        raise InputError(f"--answers: there is no folder {file.parent}; accepted: a file in a folder that exists.")
    source = replace(source, metric=metric)
    base, first = _first(method, parsed_settings(settings))
    logging.basicConfig(format="tupi: %(message)s", level=logging.WARNING)
    session = Session(source, file, base, first, method=method)
    try:
        running = Running(session, host, port, allow_remote)
        click.echo(f"Answers are saved in {file}, and a later run goes on from there.", err=True)
        if host not in LOCAL:
            click.echo(
                "Other machines can see ids, scores, pictures and file names, and answer, if they have the address.",
                err=True,
            )
        click.echo(f"Open {running.address}")
        click.echo("The page is there until you press Ctrl-C here.", err=True)
        if not no_browser:
            webbrowser.open(running.address)
        running.run()
    finally:
        session.close()


def _check_packages() -> None:
    try:
        import plotly  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as missing:
        raise InputError(f'serve: the package {missing.name} is missing; run `pip install "tupi[app]"`.') from None


def _demo_source(seed: int) -> PageSource:
    from tupi.page.demo_files import ABOUT, write_demo_files
    from tupi.page.source import read_source

    origin, pictures = write_demo_files(Path("demo-output/page"))
    return replace(read_source(origin, random_state=seed, images=pictures), about=ABOUT)


def _first(method: str, params: dict[str, Any]) -> tuple[Tupi, Look | None]:
    """Return the settings without a slider, and where the sliders begin if that was said."""
    from tupi.methods import make_method
    from tupi.methods.tupi import Tupi
    from tupi.page.looks import LAST, Look

    chosen = make_method(method, params)
    if not isinstance(chosen, Tupi):
        if params:
            raise InputError(
                f"--set: found {', '.join(params)} with --method {method}, which the page runs as it is; accepted: "
                "with --method tupi."
            )
        return Tupi(), None
    plain = Tupi(**{name: value for name, value in chosen.params().items() if name in Tupi().params()})
    base = replace(plain, lam=None, sigma_w2=None, n_iter=None)
    said = {name: params[name] for name in ("lam", "sigma_w2", "kernel") if params.get(name) is not None}
    if params.get("n_iter"):
        said["t"] = min(params["n_iter"], LAST)
    return base, Look(method=method, **said) if said else None
