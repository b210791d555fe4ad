"""The decision: a method run to its end, its evidence, and everything to take away."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tupi.algorithm.denoiser import Step
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Labels, Pairs
from tupi.methods import make_method
from tupi.methods.tupi import Tupi
from tupi.page.fits import decided
from tupi.page.frames import facts_of, in_words
from tupi.page.knowledge import NOTHING, Knowledge
from tupi.page.lanes import Lane, Piece, Signal
from tupi.page.looks import Look
from tupi.page.source import PageSource
from tupi.results.report import render
from tupi.results.result import Denoised
from tupi.results.summary import summary, verdict
from tupi.results.writing import write_result, write_table
from tupi.runtime.errors import InputError
from tupi.runtime.json_values import plain

LABELS_FILE = "labels.csv"
STOPPED = "Stopped."
Maker = Callable[[], bytes]


@dataclass(frozen=True, eq=False)
class Plan:
    """What to run.

    Attributes
    ----------
    method : str
        A name from `tupi.methods`.
    params : dict
        Its settings, those that differ from the defaults.
    known : Knowledge
        The labels that it may use, and those that judge it.
    use : str
        Where they come from: "both", "answers", "file", or "none".
    answers : int
        How many answers there were by then.
    """

    method: str
    params: dict[str, Any]
    known: Knowledge
    use: str
    answers: int = 0


@dataclass(frozen=True, eq=False)
class Decision:
    """A plan and what came of it; decisions are numbered from 1."""

    plan: Plan
    result: Denoised
    number: int


def plan_for(choice: str, use: str, known: Knowledge, look: Look, base: Tupi) -> Plan:
    """Return the plan for "auto", or for the setting that was found by hand.

    Steps of the paper's method that were chosen by hand stay as they are: labels would choose others.
    """
    if choice == "auto":
        return Plan("auto", {}, known, use)
    if not look.has_steps:
        return Plan(look.method, {}, known, use)
    if look.t == 0:
        raise InputError("T: at 0 the scores stay as they are; accepted: at least one step.")
    chosen = look.setting(base).params() | {"n_iter": look.t}
    defaults = type(look.setting(base))().params()
    return Plan(look.method, {k: v for k, v in chosen.items() if v != defaults[k]}, NOTHING, "none")


class Decider:
    """Runs one plan at a time, each as `tupi.denoise` would, so that its result can be repeated anywhere.

    Parameters
    ----------
    source : PageSource
        The data.
    prepared : Prepared
        The same, with views embedded as far as anybody needed them.
    names : list of str or None
        The items' ids.
    signal : Signal
        Told about progress.
    """

    def __init__(self, source: PageSource, prepared: Prepared, names: list[str] | None, signal: Signal) -> None:
        self._prepared = prepared
        self._source, self._names, self._signal = source, names, signal
        self._lock = threading.Lock()
        self._plan: Plan | None = None  # the next one
        self._current: Plan | None = None  # the one that runs
        self._given_up: Plan | None = None
        self.running, self.doing, self.error = False, "", ""
        self.decision: Decision | None = None
        self._lane = Lane("decide", self._next)

    def close(self) -> None:
        """End the thread."""
        self.stop()
        self._lane.close()

    @property
    def number(self) -> int:
        """How many decisions there were so far."""
        decision = self.decision
        return 0 if decision is None else decision.number

    def start(self, plan: Plan) -> None:
        """Run a plan, after the one that runs now."""
        with self._lock:
            self._plan, self.running, self.error = plan, True, ""
        self._say("Starting")
        self._lane.wake()

    def stop(self) -> None:
        """Give up what runs, as soon as its next step is done, and what was to run after it."""
        with self._lock:
            waited, self._plan, self._given_up = self._plan, None, self._current
            if waited is not None and self._current is None:
                self.running, self.error = False, STOPPED
        self._signal.changed()

    def _next(self) -> Piece | None:
        with self._lock:
            self._current, self._plan = self._plan, None
            if self._current is None:
                return None
            self.error = ""  # of an earlier plan, which may have failed after this one was asked for
            return partial(self._run, self._current)

    def _run(self, plan: Plan) -> None:
        try:
            method = make_method(plan.method, plan.params)
            metric = self._source.asked(plan.known.labels)
            result = decided(self._prepared, method, plan.known, partial(self._watch, plan), self._say, metric)
            if self._given_up is plan:
                self.error = STOPPED
            else:
                self.decision = Decision(plan, result, self.number + 1)
        except Exception as problem:
            self.error = in_words(problem)
            if not isinstance(problem, InputError):
                raise
        finally:
            with self._lock:
                self._current, self.running = None, self._plan is not None
            self._say("")

    def _say(self, sentence: str) -> None:
        self.doing = sentence
        self._signal.changed()

    def _watch(self, plan: Plan, step: Step) -> bool:
        self.doing = f"Denoising: step {step.t}"
        self._signal.changed()
        return self._given_up is plan

    def facts(self) -> dict[str, Any] | None:
        """Return what to show of the latest decision."""
        decision = self.decision  # a later one may take its place meanwhile
        if decision is None:
            return None
        plan, result = decision.plan, decision.result
        return {
            "number": decision.number,
            "answers": plan.answers,
            "method": result.method,
            "asked": plan.method,
            "use": plan.use,
            "known": plan.known.words,
            "changed": result.changed,
            "summary": summary(result),
            "verdict": asdict(verdict(result)),
            "evidence": None if result.evidence is None else facts_of(result.evidence),
            "notes": list(result.notes),
            "params": plain(result.params),
            "downloads": list(self._makers(decision)),
            "python": self._python(plan),
            "command": self._command(plan),
        }

    def downloads(self) -> list[str]:
        """Return the names of the files to take away."""
        return list(self._makers(self.decision))

    def download(self, name: str) -> bytes:
        """Return a file to take away."""
        makers = self._makers(self.decision)
        if name not in makers:
            raise InputError(
                f"file: found {name[:40]!r}; accepted: {', '.join(makers) or 'nothing before a decision'}."
            )
        return makers[name]()

    def _makers(self, decision: Decision | None) -> dict[str, Maker]:
        if decision is None:
            return {}
        plan, result = decision.plan, decision.result
        makers: dict[str, Maker] = {"better.csv": lambda: _written(lambda path: write_result(result, path), ".csv")}
        if (labels := plan.known.labels) is not None:
            known = labels_table(labels, self._names, result)
            makers[LABELS_FILE] = lambda: _written(lambda path: write_table(known, path), ".csv")
        return makers | {
            "settings.json": lambda: json.dumps(self._settings(decision), indent=2, allow_nan=False).encode() + b"\n",
            "report.html": lambda: render(result, [("command", self._command(plan))]).encode(
                "utf-8", "backslashreplace"
            ),
            "run.npz": lambda: _written(result.save, ".npz"),
            "repeat.py": lambda: self._python(plan).encode(),
            "repeat.sh": lambda: self._command(plan).encode() + b"\n",
        }

    def _settings(self, decision: Decision) -> dict[str, Any]:
        plan, result = decision.plan, decision.result
        return {
            "method": plan.method,
            "set": plain(plan.params),
            "task": self._source.task,
            "seed": self._source.random_state,
            "labels": {"from": plan.use, "known": plan.known.words},
            "chosen": {"method": result.method, "params": plain(result.params)},
        }

    def _labels_path(self, plan: Plan) -> str | None:
        if plan.known.labels is None:
            return None
        original = None if self._source.origin is None else self._source.origin.labels
        return original if plan.use == "file" and original is not None else LABELS_FILE

    def _python(self, plan: Plan) -> str:
        return self._source.python(
            self._labels_path(plan), plan.method, plan.params, self._source.asked(plan.known.labels)
        )

    def _command(self, plan: Plan) -> str:
        return self._source.command(
            self._labels_path(plan), plan.method, plan.params, self._source.asked(plan.known.labels)
        )


def labels_table(labels: Labels, names: list[str] | None, result: Denoised) -> pd.DataFrame:
    """Return labels as a table that `tupi denoise --labels` reads."""
    ids = np.arange(len(result.initial)) if names is None else np.array(names, dtype=object)
    if isinstance(labels, Pairs):
        return pd.DataFrame({"higher": ids[labels.higher], "lower": ids[labels.lower]})
    values = labels.values
    if result.classes is not None:
        values = np.array([str(c) for c in result.classes], dtype=object)[values]
    if names is None:  # one value per item, empty where unknown
        column = np.full(len(result.initial), None, dtype=object)
        column[labels.index] = values
        return pd.DataFrame({"value": column})
    assert result.index is not None
    return pd.DataFrame({str(result.index.name or "id"): ids[labels.index], "value": values})


def _written(write: Callable[[Path], Any], suffix: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"file{suffix}"
        write(path)
        return path.read_bytes()
