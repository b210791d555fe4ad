"""The group of commands, and what happens when one of them fails: one line on stderr and an exit code."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

import click

from tupi import __version__
from tupi.cli.compare import compare
from tupi.cli.demo import demo
from tupi.cli.denoise import denoise
from tupi.cli.hsic import hsic
from tupi.cli.reproduce import reproduce
from tupi.cli.serve import serve
from tupi.runtime.errors import InputError

BAD_INPUT, INTERRUPTED = 2, 130


class OneLineErrors(click.Group):
    """A group that answers bad input with one line, never with a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an interrupt ends it with the exit code that shells expect."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, SystemError) as problem:  # here, before click makes "Aborted!" and exit code 1 of it
            if not _is_interrupt(problem):
                raise
            _end("interrupted; nothing half-written was left behind.", INTERRUPTED)

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Run the command line and exit."""
        kwargs["standalone_mode"] = False
        try:
            # In this mode click returns the code of an early exit, such as that of --help.
            code = super().main(*args, **kwargs)
        except click.ClickException as problem:
            _end(problem.format_message(), BAD_INPUT)
        except click.Abort:
            _end("interrupted.", INTERRUPTED)
        except InputError as problem:
            _end(str(problem), BAD_INPUT)
        except MemoryError:
            _end("not enough memory for so many items.", BAD_INPUT)
        except OSError as problem:
            _end(_in_words(problem), BAD_INPUT)
        sys.exit(code if isinstance(code, int) else 0)


def _is_interrupt(problem: BaseException | None) -> bool:
    """Return whether it all began with an interrupt, of which compiled code makes several SystemErrors."""
    while problem is not None and not isinstance(problem, KeyboardInterrupt):
        problem = problem.__cause__
    return problem is not None


def _in_words(problem: OSError) -> str:
    reason = problem.strerror or str(problem) or type(problem).__name__
    where = f"{problem.filename}: " if problem.filename is not None else ""
    return f"{where}{reason[:1].lower()}{reason[1:]}."


def _end(message: str, code: int) -> NoReturn:
    click.echo(f"tupi: {' '.join(message.split())}", err=True)
    sys.exit(code)


@click.group(
    cls=OneLineErrors,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="\b\nExample:\n  tupi demo\n  tupi denoise scores.csv --features gist=gist.npy --out better.csv",
)
@click.version_option(__version__, prog_name="tupi", message="%(prog)s %(version)s")
@click.pass_context
def tupi(ctx: click.Context) -> None:
    """Improve predictions that nobody can retrain, with features that the predictor never saw."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for command in (denoise, compare, demo, hsic, serve, reproduce):
    tupi.add_command(command)
