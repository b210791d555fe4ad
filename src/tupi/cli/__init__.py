"""The command `tupi`: one file per subcommand."""

from __future__ import annotations

import signal
import sys
import warnings
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # imported by `main`, which answers Ctrl-C also while that goes on
    from tupi.cli.group import tupi

INTERRUPTED = 130


def main() -> None:
    """Run the command line; Ctrl-C ends it at any moment with one line and exit code 130."""
    pressed = False

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        warnings.simplefilter("ignore")  # modules that are being imported may warn that they were disturbed
        raise KeyboardInterrupt

    def press_again(lost: Any) -> None:
        """Repeat an interrupt that Python could only print, because it came while an object was being deleted."""
        if isinstance(lost.exc_value, KeyboardInterrupt):
            import threading

            main_thread = threading.main_thread().ident
            threading.Timer(0.02, signal.pthread_kill, (main_thread, signal.SIGINT)).start()
        else:
            sys.__unraisablehook__(lost)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where a shell has it ignored
        signal.signal(signal.SIGINT, press)
        if hasattr(signal, "pthread_kill"):  # not on Windows
            sys.unraisablehook = press_again
    try:
        from tupi.cli.group import tupi

        tupi.main(prog_name="tupi")
    except BaseException as problem:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is over; what is left is to say so
        if not pressed or isinstance(problem, SystemExit):
            raise
        # Whatever became of the interrupt on its way: imports and compiled code make other exceptions of it.
        sys.stderr.write("tupi: interrupted.\n")
        sys.exit(INTERRUPTED)


def __getattr__(name: str) -> Any:
    if name != "tupi":
        raise AttributeError(f"module 'tupi.cli' has no attribute {name!r}")
    from tupi.cli.group import tupi

    return tupi


__all__ = ["main", "tupi"]
