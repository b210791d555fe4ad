"""What may come of a drawn call: a result that is right in itself, or one sentence of our own."""

from __future__ import annotations

import copy
import pickle
import re
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from tupi.runtime.errors import InputError

LONGEST = 20.0  # seconds of a processor, whatever else a shared machine does
WAITING = 5  # times as many of the clock, less those for which others had the processor: what waits takes none
MOST_WARNINGS = 20
NO_NUMBER = re.compile(r"\b(nan|inf)\b", re.IGNORECASE)


class HangError(Exception):
    """A call took too long."""


@dataclass
class Case:
    """A call: a name for it, what it is given, and how to make it and to look at what comes back."""

    kind: str
    given: Any
    call: Callable[[Any], Any]
    check: Callable[[Any, Any], str | None]
    refusal: str | None = None  # what was said in place of a result


def finite_result(given: Any, result: Any) -> str | None:
    """Return what is wrong with a result of `tupi.denoise`, or None."""
    if not np.isfinite(result.predictions).all():
        return "predictions that are not finite"
    if result.predictions.shape != result.initial.shape:
        return "predictions of another shape"
    table = result.dependence[["before", "after", "p_value"]].to_numpy()
    if not (np.isfinite(table).all() and table.min() >= -1e-9 and table.max() <= 1 + 1e-4):
        return f"dependence or p-values out of bounds: {table.min()} to {table.max()}"
    if result.evidence is not None and not result.evidence.sentence.strip():
        return "evidence without a sentence"
    if result.evidence is not None and NO_NUMBER.search(result.evidence.sentence):
        return f"evidence says {result.evidence.sentence}"
    return None


def _starved() -> float:
    """Return for how many seconds this thread wanted a processor and got none, where the system tells."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


def _frozen(given: Any) -> bytes:
    return pickle.dumps(given)


def problem_with(case: Case) -> str | None:
    """Make the call; return what must not have happened, or None."""
    before, given = _frozen(case.given), case.given
    copied = copy.deepcopy(given)

    began = time.monotonic() - _starved()

    def late(number: int, frame: FrameType | None) -> None:
        left = WAITING * LONGEST - (time.monotonic() - _starved() - began)
        if number == signal.SIGALRM and left > 0:  # others had the processor meanwhile
            signal.setitimer(signal.ITIMER_REAL, max(left, 1.0))
            return
        raise HangError

    previous = {by: signal.signal(by, late) for by in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    signal.setitimer(signal.ITIMER_REAL, WAITING * LONGEST)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                result = case.call(given)
                wrong = case.check(copied, result)
            except InputError as refusal:
                said = case.refusal = str(refusal)
                wrong = None if said.endswith((".", "?")) and "\n" not in said else f"said {said!r}"
            except HangError:
                wrong = f"more than {LONGEST:.0f} seconds"
            except KeyboardInterrupt:
                raise
            except BaseException as other:  # whatever it is, it is what is looked for
                wrong = "".join(traceback.format_exception(other))[-900:]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for by, handler in previous.items():
            signal.signal(by, handler)
    if wrong is None and len(warned) > MOST_WARNINGS:
        wrong = f"{len(warned)} warnings, such as: {warned[0].message}"
    if wrong is None and _frozen(given) != before:
        wrong = "the input was changed"
    return wrong
