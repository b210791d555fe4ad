"""A progress bar on the terminal, for whoever waits there."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from tupi.cli.showing import shown


class _Bar:
    """A bar on stderr that is gone when the work is done; nothing where there is nobody to show it to."""

    def __init__(self, bar: Progress | None, description: str, total: float | None) -> None:
        self._bar, self._description, self._total = bar, description, total

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task(self._description, total=self._total)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


class ProgressBar(_Bar):
    """What is going on, on stderr: shown only to a terminal, and gone when the work is done.

    `say` and `step` are what `tupi.denoise` takes as ``progress`` and ``callback``.

    Parameters
    ----------
    show : bool
        False shows nothing, even to a terminal.
    parts : int, optional
        How many parts the work has, if that is known; `part` begins the next one.
    """

    def __init__(self, show: bool = True, parts: int | None = None) -> None:
        self._prefix = ""
        self._done = -1  # parts begun before the current one
        self._settings = 0
        bar = None
        if show and sys.stderr.isatty():
            bar = Progress(
                SpinnerColumn(),
                BarColumn(bar_width=20),
                TimeElapsedColumn(),
                *(() if parts is None else (TimeRemainingColumn(), TextColumn("left,"))),
                TextColumn("{task.description}", markup=False),
                console=Console(stderr=True),
                transient=True,
            )
        super().__init__(bar, "Reading", parts)

    def part(self, name: str) -> None:
        """Begin the next part."""
        self._done += 1
        self._prefix = f"{name}: "
        self._update(name, completed=self._done)

    def say(self, sentence: str) -> None:
        """Show what begins."""
        self._settings = 0
        self._update(f"{self._prefix}{sentence}")

    def step(self, step: Any) -> None:
        """Show a step of the method; each setting that is tried begins with step 0, and they advance side by side."""
        self._settings += step.t == 0
        tried = f" under {self._settings} settings" if self._settings > 1 else ""
        self._update(f"{self._prefix}Denoising{tried}, step {step.t}")

    def _update(self, description: str, **fields: Any) -> None:
        if self._bar is not None:
            self._bar.update(self._task, description=shown(description), **fields)


class WorkBar(_Bar):
    """How much of a known amount of work is done, and an estimate of the time left.

    A terminal sees a bar on stderr. Elsewhere, as in a log, a line appears every half minute.

    Parameters
    ----------
    show : bool
        False shows nothing.
    """

    EVERY = 30.0  # seconds between lines of a log

    def __init__(self, show: bool = True) -> None:
        self._show, self._console = show, Console(stderr=True)
        self._start = self._said = time.monotonic()
        bar = None
        if show and self._console.is_terminal:
            columns = (BarColumn(bar_width=24), TextColumn("{task.percentage:3.0f}% {task.description}"))
            bar = Progress(SpinnerColumn(), *columns, console=self._console, transient=True)
        super().__init__(bar, "", 1.0)

    def update(self, done: float, total: float, workers: int, what: str) -> None:
        """Show that so much of the total is done; both are expected seconds on one core.

        The first guess is the total shared by the workers; the more is done, the more the time that it took counts.
        """
        now = time.monotonic()
        share = done / total if total else 1.0
        guess = (total - done) / workers
        seen = (now - self._start) * (1.0 - share) / share if share else guess
        left = share * seen + (1.0 - share) * guess
        sentence = f"{what}, {_in_words(left)} left" if what else f"{_in_words(left)} left"
        if self._bar is not None:
            self._bar.update(self._task, completed=share, description=sentence)
        elif self._show and total and now - self._said >= self.EVERY:
            self._said = now
            self._console.print(f"{share:4.0%} done, {_in_words(left)} left ({what})", highlight=False)


def _in_words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
