"""A session: everything that the page shows and does, without a word of HTTP."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tupi import __version__
from tupi.embedding.embedding import KERNELS
from tupi.inputs.problem import make_problem
from tupi.judging.metrics import usual_metrics
from tupi.methods import METHODS, methods
from tupi.methods.tupi import Tupi
from tupi.page.answers import AnswerFile
from tupi.page.decider import Decider, plan_for
from tupi.page.explorer import MAP_STEPS, Explorer
from tupi.page.frames import encode, text_arrays
from tupi.page.looks import LAMS, LAST, WIDTHS, Look, ranks
from tupi.page.signals import Signal
from tupi.page.source import Source
from tupi.page.teacher import Teacher
from tupi.page.trails import MEMORY, Locked, Trails
from tupi.results import plots
from tupi.results.result import Denoised
from tupi.results.summary import MEANINGS, verdict
from tupi.runtime.errors import InputError
from tupi.runtime.json_values import plain
from tupi.runtime.threads import one_blas_thread

# Without labels nothing can be tuned, and diffusion kernels are the ones that rarely do harm at fixed settings. On many
# items they take minutes, which is too long for a first look.
MANY = 5_000
FIRST_STEP = 8


class Session:
    """One page's state: what is known, what people look at, what they answered, and what was decided.

    Parameters
    ----------
    source : Source
        The data.
    answers : path
        The append-only file of answers.
    base : Tupi
        Settings without a slider.
    first : Look, optional
        Where menus and sliders begin.
    memory : int
        Bytes of steps to keep.
    method : str
        The method to look at first, where ``first`` is not given.
    """

    def __init__(
        self,
        source: Source,
        answers: str | Path,
        base: Tupi | None = None,
        first: Look | None = None,
        memory: int = MEMORY,
        method: str = "auto",
    ) -> None:
        # For good: how many threads BLAS has is one number for the whole process, and those of the page that compute at
        # the same time would set it back for one another in the middle of a result.
        one_blas_thread()
        self.source, self.base, self.signal = source, base or Tupi(), Signal()
        known = make_problem(source.predictions, source.features, source.labels, source.task, source.impute)
        self._file_labels = known.labels
        self.problem = replace(known, labels=None)
        self.names = None if known.index is None else [str(name) for name in known.index]
        self.first = first or self._first_look(method)
        lams, widths = (
            tuple(sorted({*grid, value})) for grid, value in ((LAMS, self.first.lam), (WIDTHS, self.first.sigma_w2))
        )
        file = AnswerFile(answers, self.problem.n, self.names)
        prepared = Locked(self.problem, source.random_state)
        self.explorer = Explorer(Trails(prepared, memory), self.base, self.signal, lams, widths)
        self.teacher = Teacher(
            file, self.explorer, self._file_labels, self.first.kernel, self.signal, self.explorer.set_known
        )
        self.decider = Decider(source, prepared, self.names, self.signal)
        self.explorer.look("first", self.first)  # begin before the first page is open

    def _first_look(self, method: str) -> Look:
        kernel = "gaussian" if self._file_labels is not None or self.problem.n > MANY else "diffusion"
        return Look(method=method, kernel=kernel, t=FIRST_STEP)

    def close(self) -> None:
        """End all threads and let others use the file of answers."""
        self.decider.close()
        self.explorer.close()
        self.teacher.close()

    # Overview

    def facts(self) -> dict[str, Any]:
        """Return what the page needs to know once."""
        problem = self.problem
        return {
            "version": __version__,
            "n": problem.n,
            "task": problem.task,
            "views": problem.names,
            "classes": None if self.n_columns == 1 else self.classes,
            "has_ids": self.names is not None,
            "id": None if problem.index is None else str(problem.index.name or "id"),
            "has_pictures": self.source.pictures is not None,
            "fact_columns": [] if self.source.facts is None else [str(c) for c in self.source.facts.columns],
            "can_teach": self.teacher.possible,
            "methods": [{"name": name, "steps": issubclass(METHODS[name], Tupi)} for name in methods()],
            "kernels": list(KERNELS),
            "lams": list(self.explorer.lams),
            "sigma_w2s": list(self.explorer.widths),
            "last": LAST,
            "map_steps": MAP_STEPS,
            "first": vars(self.first),
            "metric": self._metric(),
            "colors": list(plots.COLORS),
            "config": plots.CONFIG,
        }

    @property
    def _initial(self) -> np.ndarray:
        """The predictions in the shape in which they came in."""
        return self.problem.as_given(self.problem.initial)

    @property
    def n_columns(self) -> int:
        """How many columns of scores there are: one, unless they are of classes."""
        initial = self._initial
        return 1 if initial.ndim == 1 else initial.shape[1]

    @property
    def classes(self) -> list[str]:
        """Names of the class columns."""
        return [str(name) for name in self.problem.classes or range(self.problem.initial.shape[1])]

    def _metric(self) -> str:
        """Return what is measured, whichever labels there are going to be."""
        return " or ".join(dict.fromkeys(metric.name for metric in usual_metrics(self.problem.task).values()))

    def ids(self) -> bytes:
        """Return all ids as one frame; without ids an empty one."""
        return encode({}, **text_arrays(self.names or []))

    def initial(self, column: int = 0) -> bytes:
        """Return the initial scores and ranks as one frame."""
        return _frame(self._initial, column)

    def item(self, position: int) -> dict[str, Any]:
        """Return what a person may know about an item who is asked about it: nothing that a ranking says."""
        if not 0 <= position < self.problem.n:
            raise InputError(f"item: found {position}; accepted: 0 to {self.problem.n - 1}.")
        name = str(position) if self.names is None else self.names[position]
        row = {} if self.source.facts is None else self.source.facts.iloc[position].to_dict()
        facts = {str(key): str(value)[:200] for key, value in row.items() if not pd.isna(value)}
        return {"item": position, "name": name, "facts": facts}

    def picture(self, position: int) -> tuple[bytes, str] | None:
        """Return an item's picture and its media type."""
        return None if self.source.pictures is None else self.source.pictures.read(position)

    # Explore

    def figures(self) -> dict[str, Any]:
        """Return the report's figures as patterns: the page puts the numbers of the moment into them."""
        names = self.problem.names
        column = self._initial if self.n_columns == 1 else self._initial[:, 0]
        blank = Denoised(
            predictions=column,
            initial=column,
            weights=pd.DataFrame(np.full((2, len(names)), 1 / len(names)), columns=names),
            dependence=pd.DataFrame({"before": 0.0, "after": 0.0, "p_value": 1.0}, index=pd.Index(names)),
            evidence=None,
            method="",
            params={},
            history=pd.DataFrame({"score": [0.0, 0.0]}),
        )
        return {
            "weights": plots.weight_lines(blank),
            "dependence": plots.dependence_bars(blank),
            "scatter": plots.score_scatter(blank, max_points=2),
            "accuracy": plots.score_steps(blank, "accuracy"),
        }

    def found(self, method: str) -> dict[str, Any] | None:
        """Return what a method without steps made of the labels, and what these say of it; None if that is unknown."""
        known = self.explorer.found(method)
        if known is None:
            return None
        version, found = known
        evidence, said = found.result.evidence, verdict(found.result) if found.judged else None
        return {
            "labels": version,
            "known": found.known.words,
            "judged": found.judged,
            "changed": found.result.changed,
            "verdict": None if said is None else asdict(said),
            "evidence": None if evidence is None else plain(asdict(evidence) | {"gain": evidence.gain}),
            "meaning": None if evidence is None else MEANINGS.get(evidence.metric),
        }

    def views(self, method: str) -> list[dict[str, Any]] | None:
        """Return what is known of each view in a method's result; None if there is no such result."""
        known = self.explorer.found(method)
        if known is None:
            return None
        result = known[1].result
        table = result.dependence.assign(weight=result.weights.iloc[-1] if result.changed else np.nan)
        return [
            {"view": str(name)} | plain(row) for name, row in zip(table.index, table.to_dict("records"), strict=True)
        ]

    # Everything that changes

    def status(self) -> dict[str, Any]:
        """Return what changes by itself."""
        return {
            "kernels": self.explorer.kernel_states(),
            "doing": self.explorer.doing,
            "labels": self.explorer.labels_version,
            "found": self.explorer.n_found,
            "steps": self.explorer.trails.n_steps,
            "uses": self.teacher.uses(),
            "answers": self.teacher.progress(),
            "gain": self.teacher.gain(),
            "decide": {
                "running": self.decider.running,
                "doing": self.decider.doing,
                "error": self.decider.error,
                "number": self.decider.number,
            },
        }

    # Teach

    def question(self, rater: str) -> dict[str, Any]:
        """Return the next question for a rater, and the progress."""
        pair = self.teacher.question(rater)
        asked = None if pair is None else {"left": self.item(pair[0]), "right": self.item(pair[1])}
        return {"question": asked, "progress": self.teacher.progress(rater)}

    # Decide

    def decide(self, choice: str, use: str, look: Look) -> None:
        """Start a decision: by "auto", or with the setting that was looked at."""
        if choice not in ("auto", "look"):
            raise InputError(f"choice: found {choice[:40]!r}; accepted: auto, look.")
        uses = [*self.teacher.uses(), "none"]
        if use not in uses:
            raise InputError(f"use: found {use[:40]!r}; accepted: {', '.join(uses)}.")
        self.decider.start(plan_for(choice, use, self.teacher.known(use), look, self.base))

    def decided(self, column: int = 0) -> bytes | None:
        """Return the scores and ranks of the latest decision as one frame; None before the first."""
        decision = self.decider.decision
        return None if decision is None else _frame(decision.result.predictions, column)


def _frame(predictions: np.ndarray, column: int) -> bytes:
    values = predictions if predictions.ndim == 1 else predictions[:, column]
    return encode({}, score=values.astype(np.float32), rank=ranks(values))
