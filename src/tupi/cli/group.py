"""The group of commands, and what happens when one of them fails: one line on stderr and an exit code."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import textwrap
from importlib import import_module
from typing import Any, NoReturn

import click

from tupi import __version__
from tupi.cli import INTERRUPTED
from tupi.cli.showing import shown
from tupi.runtime.errors import InputError

BAD_INPUT = 2
TYPED = "tupi.typed"  # where a context keeps the whole command

#: Each command has a module of its name. What it is for stands here too, since importing all of them takes seconds.
COMMANDS = {
    "denoise": "Improve the predictions in SCORES with features that their predictor never saw.",
    "predict": "Improve the predictions in SCORES by RUN, a file that tupi denoise --save wrote.",
    "compare": "Try all methods on the predictions in SCORES, and judge each by labels that it did not see.",
    "demo": "Show what tupi does, on 1,797 handwritten digits, in under a minute.",
    "hsic": "Print the Hilbert-Schmidt independence criterion of the features in X and Y.",
    "serve": "Open a local page for the predictions in SCORES: look, answer questions about items, decide, export.",
    "reproduce": "Remake the paper's tables and figures.",
}


class OneLineErrors(click.Group):
    """A group that imports the command that is run, and answers bad input with one line, never with a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return [*COMMANDS, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return a command, which is imported for that."""
        if name in COMMANDS:
            command: click.Command = getattr(import_module(f"tupi.cli.{name}"), name)
            return command
        return super().get_command(ctx, name)

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> click.Context:
        """Return a context that knows the words which were typed: a report says how it was made."""
        words = ["tupi", *args]  # click takes them from the list one by one
        context = super().make_context(info_name, args, *rest, **extra)
        context.meta[TYPED] = shlex.join(words)
        return context

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each command is for, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

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
        except click.UsageError as problem:
            _end(_how_to_go_on(problem), BAD_INPUT)
        except click.ClickException as problem:
            _end(problem.format_message(), BAD_INPUT)
        except click.Abort:
            _end("interrupted.", INTERRUPTED)
        except InputError as problem:
            _end(str(problem), BAD_INPUT)
        except MemoryError:
            _end("not enough memory for so many items.", BAD_INPUT)
        except RuntimeError as problem:
            if "can't start new thread" not in str(problem):  # which takes memory, too
                raise
            _end("not enough memory for so many items.", BAD_INPUT)
        except OSError as problem:
            _end(_in_words(problem), BAD_INPUT)
        sys.exit(code if isinstance(code, int) else 0)


def _is_interrupt(problem: BaseException | None) -> bool:
    """Return whether it all began with an interrupt, of which compiled code makes several SystemErrors."""
    while problem is not None and not isinstance(problem, KeyboardInterrupt):
        problem = problem.__cause__
    return problem is not None


def _how_to_go_on(problem: click.UsageError) -> str:
    """Return what is wrong with the words of a command, and where to read which words there are."""
    from difflib import get_close_matches  # nobody who types the right words has to wait for it

    message = problem.format_message()
    if isinstance(problem, click.BadParameter) and not isinstance(problem, click.MissingParameter):
        return message  # which says what is accepted
    command = "" if problem.ctx is None or problem.ctx.parent is None else f" {problem.ctx.info_name}"
    near = re.match(r"No such command '(\w+)'", message)
    meant = get_close_matches(near[1], COMMANDS, 1) if near else []
    return f"{message} {f'Did you mean {meant[0]}? ' if meant else ''}tupi{command} --help lists what there is."


def _in_words(problem: OSError) -> str:
    reason = problem.strerror or str(problem) or type(problem).__name__
    where = f"{problem.filename}: " if problem.filename is not None else ""
    return f"{where}{reason[:1].lower()}{reason[1:].rstrip('.')}."


def _end(message: str, code: int) -> NoReturn:
    sentence = f"tupi: {shown(' '.join(message.split()))}"
    if sys.stderr.isatty():  # which breaks lines anywhere
        width = shutil.get_terminal_size().columns
        sentence = textwrap.fill(sentence, width, break_long_words=False, break_on_hyphens=False)
    click.echo(sentence, err=True)
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
