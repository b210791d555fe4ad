"""A progress bar on the terminal, for whoever waits there."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


class ProgressBar:
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
        self._parts = parts
        self._prefix = ""
        self._done = -1  # parts begun before the current one
        self._settings = 0
        self._bar: Progress | None = None
        if show and sys.stderr.isatty():
            self._bar = Progress(
                SpinnerColumn(),
                BarColumn(bar_width=20),
                TimeElapsedColumn(),
                TextColumn("{task.description}"),
                console=Console(stderr=True),
                transient=True,
            )

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("Reading", total=self._parts)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

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
        """Show a step of the method; step 0 begins a new setting."""
        self._settings += step.t == 0
        self._update(f"{self._prefix}Denoising: setting {max(self._settings, 1)}, step {step.t}")

    def _update(self, description: str, **fields: Any) -> None:
        if self._bar is not None:
            self._bar.update(self._task, description=description, **fields)
