"""A session: everything that the page shows and does, without a word of HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tupi import __version__
from tupi.embedding.embedding import KERNELS
from tupi.inputs.labels import Pairs, Values
from tupi.inputs.problem import make_problem
from tupi.judging.catalogue import metric_for, words_of
from tupi.judging.metrics import usual_metrics
from tupi.methods import METHODS, methods
from tupi.methods.tupi import Tupi
from tupi.page.answers import AnswerFile
from tupi.page.decider import Decider, plan_for
from tupi.page.explorer import MAP_STEPS, Explorer
from tupi.page.frames import encode, facts_of, text, text_arrays, whole
from tupi.page.item_teacher import ClassTeacher, ValueTeacher
from tupi.page.lanes import Signal
from tupi.page.looks import LAMS, LAST, WIDTHS, Look, columns_of
from tupi.page.pair_teacher import PairTeacher
from tupi.page.panel import Panel
from tupi.page.source import PageSource
from tupi.page.trails import MEMORY, Locked, Trails
from tupi.results import plots
from tupi.results.result import Denoised
from tupi.results.summary import MEANINGS, verdict, worth_of
from tupi.runtime.computing import one_blas_thread
from tupi.runtime.errors import InputError
from tupi.runtime.json_values import plain

# Without labels nothing can be tuned, and diffusion kernels are the ones that rarely do harm at fixed settings. On many
# items they take minutes, which is too long for a first look.
MANY = 5_000
FIRST_STEP = 8


class Session:
    """One page's state: what is known, what people look at, what they answered, and what was decided.

    Parameters
    ----------
    source : PageSource
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
        source: PageSource,
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
        known = make_problem(
            source.predictions, source.features, source.labels, source.task, source.impute, source.groups
        )
        self._file_labels = known.labels
        metric_for(source.metric, known)  # complains
        # Two classes that no label names yet have to be called something by whoever is asked.
        classes = (0, 1) if known.binary and known.classes is None else known.classes
        self.problem = replace(known, labels=None, classes=classes)
        self.names = None if known.index is None else [str(name) for name in known.index]
        self.first = first or self._first_look(method)
        lams, widths = (
            tuple(sorted({*grid, value})) for grid, value in ((LAMS, self.first.lam), (WIDTHS, self.first.sigma_w2))
        )
        prepared = Locked(self.problem, source.random_state)
        self.explorer = Explorer(Trails(prepared, memory), self.base, self.signal, lams, widths)
        self.explorer.fits.metric = source.metric
        self.panel = Panel(source, self.explorer, self.names)
        self.teacher = self._teacher(Path(answers))
        self.decider = Decider(source, prepared, self.names, self.signal)
        self.explorer.look("first", self.first)  # begin before the first page is open

    def _teacher(self, path: Path) -> PairTeacher | ValueTeacher | ClassTeacher:
        """Return who asks: for classes and values about one item, else which of two is higher."""
        labels = self._file_labels
        kinds = {"classification": "classes", "regression": "values"}
        asks = "pairs" if isinstance(labels, Pairs) else kinds.get(self.problem.task, "pairs")
        file = AnswerFile(path, self.problem.n, self.names, asks)
        common = file, self.explorer, labels, self.signal, self.explorer.set_known
        if asks == "classes":
            return ClassTeacher(self.classes, *common)
        return ValueTeacher(*common) if asks == "values" else PairTeacher(self.first.kernel, *common)

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
            "titles": self.source.titles is not None,
            "about": self.source.about,
            "asks": self.teacher.asks,
            "answers": self.classes if self.teacher.asks == "classes" else None,
            "positive": str(problem.classes[1]) if problem.binary and problem.classes else None,
            "group": None if problem.groups is None else self.source.group_name,
            "methods": [{"name": name, "steps": issubclass(METHODS[name], Tupi)} for name in methods()],
            "kernels": list(KERNELS),
            "lams": list(self.explorer.lams),
            "sigma_w2s": list(self.explorer.widths),
            "last": LAST,
            "map_steps": MAP_STEPS,
            "first": vars(self.first),
            "metric": self._metric(),
            "unit": words_of(self._metric()).unit,
            "factor": words_of(self._metric()).factor,
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
        """Return what is measured: by answers about pairs, or else by values."""
        usual = usual_metrics(self.problem.task)
        return usual[Pairs if self.teacher.asks == "pairs" and self._file_labels is None else Values].name

    def ids(self) -> bytes:
        """Return all ids as one frame; without ids an empty one."""
        return encode({}, **text_arrays(self.names or []))

    def initial(self, column: int = 0) -> bytes:
        """Return the initial scores and ranks as one frame."""
        return self._frame(self._initial, column)

    def groups(self) -> bytes:
        """Return the number of each item's group, and what each group is called, as one frame."""
        groups = self.problem.groups
        if groups is None:
            return encode({}, number=np.empty(0, np.int32), **text_arrays([]))
        first = np.unique(groups.numbers, return_index=True)[1]
        return encode({}, number=groups.numbers.astype(np.int32), **text_arrays([str(groups.ids[k]) for k in first]))

    def titles(self) -> bytes:
        """Return all titles as one frame; without titles an empty one."""
        return encode({}, **text_arrays(self.source.titles or []))

    def about_item(self, position: int, method: str) -> dict[str, Any]:
        """Return all that is known of an item, see `Panel.about`."""
        return self.panel.about(position, method, self.teacher.labels())

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
            "evidence": None if evidence is None else facts_of(evidence),
            "meaning": None if evidence is None else MEANINGS.get(evidence.metric),
        }

    def views(self, method: str, worth: bool = False) -> list[dict[str, Any]] | None:
        """Return what is known of each view in a method's result; None if there is no such result.

        What each is worth takes a fit for each of them: it is told where that is quick, or if somebody asks.
        """
        known = self.explorer.found(method)
        if known is None:
            return None
        result = known[1].result
        table = result.dependence.assign(weight=result.weights.iloc[-1] if result.changed else np.nan)
        worths = self.explorer.fits.worth(method, known[1].known, asked=worth)
        if worths is not None:
            metric = self._metric() if result.evidence is None else result.evidence.metric
            said = np.array([worth_of(row, metric) for row in worths.itertuples()], dtype=object)
            table = table.join(worths.assign(worth=said))
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
        items = self.teacher.question(rater)
        asked = None
        if items is not None:
            sides = ("item",) if len(items) == 1 else ("left", "right")
            asked = {side: self.panel.item(item) for side, item in zip(sides, items, strict=True)}
        return {"question": asked, "progress": self.teacher.progress(rater)}

    def answer(self, rater: str, key: str, said: Mapping[str, Any]) -> None:
        """Save an answer, in the words in which the page sends it."""
        if isinstance(self.teacher, PairTeacher):
            left, right = (whole(said, name) for name in ("left", "right"))
            self.teacher.answer(rater, left, right, text(said, "answer"), key)
        else:
            self.teacher.answer(rater, whole(said, "item"), said.get("value"), key)

    # Decide

    def decide(self, choice: str, use: str, look: Look) -> None:
        """Start a decision: by "auto", or with the setting that was looked at."""
        if choice not in ("auto", "look"):
            raise InputError(f"choice: found {choice[:40]!r}; accepted: auto, look.")
        uses = [*self.teacher.uses(), "none"]
        if use not in uses:
            raise InputError(f"use: found {use[:40]!r}; accepted: {', '.join(uses)}.")
        answers = self.teacher.progress()["answers"]  # before the labels: one that comes in between may not be used
        plan = plan_for(choice, use, self.teacher.known(use), look, self.base)
        self.decider.start(replace(plan, answers=answers))

    def decided(self, column: int = 0) -> bytes | None:
        """Return the scores and ranks of the latest decision as one frame; None before the first."""
        decision = self.decider.decision
        return None if decision is None else self._frame(decision.result.predictions, column)

    def _frame(self, predictions: np.ndarray, column: int) -> bytes:
        return encode({}, **columns_of(predictions, column, self.problem.groups))
