"""A progress bar on the terminal, for whoever waits there."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from tupi.cli.showing import shown

# How much of a run is done when a sentence comes up, as a share of its time: measured with 50,000 items and five views
# for the first ones, and with 2,000 for those of the paper's method. What is not listed says nothing of the time left.
DONE = {
    "Testing which views": 0.02,
    "Placing anchors": 0.1,
    "Averaging over": 0.48,
    "Leaving out views": 0.71,
    "Learning from the labels": 0.86,
    "Asking the labels": 0.92,
    "Embedding view": 0.02,
    "Judging the gain": 0.67,
    "Writing": 0.98,
}
FIRST_STEP, STEPS = 0.12, 50  # the same at step 0 of the paper's method, and the steps that follow at most
LEAST = 2.0  # seconds after which somebody wants to know how long it takes


class TimeLeft(ProgressColumn):
    """How long the rest takes, by the share that was done when the present part began and the time until then.

    What is read has shares of its own, since nobody knows beforehand whether files or the method take longer.
    """

    def render(self, task: Task) -> Text:
        """Return the time left in words; nothing while little is known of it."""
        share, begin, then = (task.fields.get(name, 0.0) for name in ("share", "begin", "then"))
        now = task.elapsed or 0.0
        if now < LEAST or share < 0.05:
            return Text("")
        left = (then - begin) / share - (now - begin)
        if task.fields.get("reading"):
            return Text(f"about {_in_words(left)} of reading left," if left >= 1 else "nearly read,")
        return Text(f"about {_in_words(left)} left," if left >= 1 else "nearly done,")


class PartsLeft(ProgressColumn):
    """How long the rest takes, by the parts that are done."""

    def render(self, task: Task) -> Text:
        """Return the time left in words; nothing while no part is done."""
        if not task.completed or task.total is None:
            return Text("")
        began = task.fields.get("began", 0.0)
        left = began / task.completed * (task.total - task.completed) - ((task.elapsed or 0.0) - began)
        return Text(f"about {_in_words(left)} left," if left >= 1 else "nearly done,")


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
        self._share, self._parts = 0.0, parts
        self._begin, self._reading = 0.0, True  # when the method began; until then files are read
        self._done = -1  # parts begun before the current one
        self._settings = 0
        bar = None
        if show and sys.stderr.isatty():
            bar = Progress(
                SpinnerColumn(),
                BarColumn(bar_width=20),
                TimeElapsedColumn(),
                TimeLeft() if parts is None else PartsLeft(),
                TextColumn("{task.description}", markup=False),
                console=Console(stderr=True),
                transient=True,
            )
        super().__init__(bar, "Reading", parts or 1.0)

    def part(self, name: str) -> None:
        """Begin the next part."""
        self._done += 1
        self._prefix = f"{name}: "
        self._update(name, completed=self._done, began=self._elapsed)

    def read(self, path: str, share: float) -> None:
        """Show which file is read next, and which share of all files was read before it."""
        self._update(f"Reading {Path(path).name}", share=share, then=self._elapsed, reading=True)

    def expect(self, sentence: str, seconds: float) -> None:
        """Show what begins, if all that is left takes about so many seconds."""
        self._update(sentence, **self._reached(0.0))
        now, begin = self._elapsed, self._elapsed - 1.0  # any past will do: what counts is the rest
        self._update(sentence, share=1.0 / (1.0 + seconds), begin=begin, then=now)

    def say(self, sentence: str) -> None:
        """Show what begins."""
        self._settings = 0
        share = next((share for first, share in DONE.items() if sentence.startswith(first)), None)
        self._update(f"{self._prefix}{sentence}", **self._reached(share))

    def step(self, step: Any) -> None:
        """Show a step of the method; each setting that is tried begins with step 0, and they advance side by side."""
        self._settings += step.t == 0
        tried = f" under {self._settings} settings" if self._settings > 1 else ""
        reached = self._reached(FIRST_STEP + (DONE["Judging the gain"] - FIRST_STEP) * min(step.t / STEPS, 1.0))
        self._update(f"{self._prefix}Denoising{tried}, step {step.t}", **reached)

    def _reached(self, share: float | None) -> dict[str, Any]:
        """Return what is to be remembered of a share of the work that is done; of a lower one than before, nothing."""
        if self._bar is None:
            return {}
        known: dict[str, Any] = {}
        if self._reading:
            self._reading, self._begin = False, self._elapsed
            known = {"share": 0.0, "begin": self._begin, "reading": False}
        if share is None or share < self._share:
            return known
        self._share = share
        known |= {"share": share, "then": self._elapsed}
        return known if self._parts else known | {"completed": share}

    @property
    def _elapsed(self) -> float:
        return 0.0 if self._bar is None else self._bar.tasks[0].elapsed or 0.0

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
