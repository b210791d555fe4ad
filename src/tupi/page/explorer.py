"""The ranking under any setting: known steps at once, others as they are computed, neighbours ahead of time."""

from __future__ import annotations

import itertools
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.trajectory import extend
from tupi.embedding.embedding import KERNELS
from tupi.embedding.prepared import restore
from tupi.inputs.labels import Labels, labelled_items, relabel
from tupi.judging.metrics import metric_of
from tupi.methods.tupi import LAM_GRID, SIGMA_W2_GRID, Tupi
from tupi.page.fits import Fits, Found, knows_left_out, with_evidence
from tupi.page.frames import encode, in_words
from tupi.page.knowledge import NOTHING, Knowledge
from tupi.page.lanes import Lane, Piece, Signal
from tupi.page.looks import LAMS, LAST, WIDTHS, Look, columns_of
from tupi.page.trails import Trails
from tupi.runtime.errors import InputError
from tupi.runtime.json_values import finite, numbers

PAUSE = 0.4  # seconds without a move before anything is computed ahead
PATIENCE = 2.0  # seconds after which the rest of what somebody looks at is computed, whatever else there is to do
CANDIDATE_STEPS = 8  # how far settings are followed that only help to choose questions and to judge
MAP_STEPS = 8  # of each setting in the map; a longer search would find a better step by chance
Array = NDArray[np.float64]


class Explorer:
    """Computes what people look at.

    Parameters
    ----------
    trails : Trails
        Trajectories of the paper's method.
    base : Tupi
        All settings that have no slider.
    signal : Signal
        Told whenever there is something new to see.
    lams, widths : sequence of float
        The sliders' positions.
    """

    def __init__(
        self,
        trails: Trails,
        base: Tupi,
        signal: Signal,
        lams: tuple[float, ...] = LAMS,
        widths: tuple[float, ...] = WIDTHS,
    ) -> None:
        self.trails, self.base, self.signal, self.lams, self.widths = trails, base, signal, lams, widths
        self.prepared = trails.prepared
        self._looks: OrderedDict[str, Look] = OrderedDict()
        self._since: dict[str, float] = {}  # when each client came to look at it
        self._mapped: Look | None = None  # the look whose map of settings somebody saw last
        self._known = self._live = NOTHING
        self._among: tuple[NDArray[np.int64], Labels] | None = None  # the labelled items, and labels by their places
        self._labels_version = 0
        self._states: dict[Any, str] = {}  # of engines: "waiting", "computing", "ready", or what went wrong
        self._failed: dict[Tupi, str] = {}
        self.fits = Fits(self.prepared)
        self._found: dict[str, tuple[int, Found | str]] = {}  # by method, with the labels' version
        self._wanted: dict[str, int] = {}  # by method: the labels' version when somebody last looked at it
        self.n_found = 0  # how often that changed
        self._scores: dict[tuple[Tupi, int], float] = {}
        self._candidates: list[Tupi] = []
        self._lock = threading.RLock()
        self._moved = 0.0  # when somebody last moved something
        self.doing = ""
        self.prepared.progress = self._say
        self._steps_lane = Lane("steps", self._next_step)
        self._fits_lane = Lane("fits", self._next_fit)

    def close(self) -> None:
        """End the threads."""
        with self._lock:
            self._looks.clear()
            self._since.clear()
            self._candidates, self._mapped = [], None
        self._steps_lane.close()
        self._fits_lane.close()

    def _say(self, sentence: str) -> None:
        self.doing = sentence
        self.signal.changed()

    def set_known(self, known: Knowledge, live: Knowledge | None = None) -> None:
        """Judge steps by other labels from now on, and fit methods to them, or to some of them (``live``)."""
        with self._lock:
            self._known, self._live, self._labels_version = known, live or known, self._labels_version + 1
            self._among = None if known.labels is None else _among_labelled(known.labels)
            self._scores.clear()
        self._wake()

    @property
    def labels_version(self) -> int:
        """How often the labels changed."""
        return self._labels_version

    def look(self, client: str, look: Look) -> None:
        """Have computed what a client looks at now, before anything else."""
        with self._lock:
            self._looks[client] = look
            self._looks.move_to_end(client)
            self._since[client] = self._moved = time.monotonic()
            self._wanted[look.method] = self._labels_version
            if self._fitted_to(look.method) != self._labels_version:
                self._found.pop(look.method, None)
        self._wake()

    def _fitted_to(self, method: str) -> int:
        """Return the version of the labels behind what a method found; -1 if it found nothing yet."""
        return self._found[method][0] if method in self._found else -1

    def leave(self, client: str, look: Look) -> None:
        """Forget a client, unless it looks at something else already."""
        with self._lock:
            if self._looks.get(client) == look:
                del self._looks[client], self._since[client]

    def follow_candidates(self, kernel: str) -> list[Tupi]:
        """Have the settings computed that `Tupi` would try with labels, when nothing else is to do; return them."""
        settings = [
            Look(kernel=kernel, lam=lam, sigma_w2=width).setting(self.base)
            for lam, width in itertools.product(LAM_GRID, SIGMA_W2_GRID)
        ]
        with self._lock:
            self._candidates = settings
        self._wake()
        return settings

    def _wake(self) -> None:
        self._steps_lane.wake()
        self._fits_lane.wake()

    # What is there to see

    def problem_with(self, look: Look) -> str | None:
        """Return why a look cannot be had, or None."""
        with self._lock:
            if look.has_steps:
                setting = look.setting(self.base)
                state = self._states.get(setting.engine_key(), "waiting")
                return self._failed.get(setting) or (state if state not in ("waiting", "computing", "ready") else None)
            found = self._found.get(look.method)
        return found[1] if found is not None and isinstance(found[1], str) else None

    def found(self, method: str) -> tuple[int, Found] | None:
        """Return what a method without steps made of the labels, and their version; None if it is not known (yet)."""
        with self._lock:
            version, found = self._found.get(method, (0, None))
        return (version, found) if isinstance(found, Found) else None

    def last(self, look: Look) -> int:
        """Return the last step that a look can have."""
        return LAST if look.has_steps else 1

    def frame(self, look: Look, t: int) -> bytes | None:
        """Return step t of a look for the page, or None if it is not known yet."""
        known = self._step(look, t) if look.has_steps else self._whole(look, t)
        if known is None:
            return None
        predictions, facts = known
        arrays = columns_of(predictions, look.column, self.prepared.problem.groups)
        return encode({"t": t, "last": self.last(look), **facts}, **arrays)

    def _step(self, look: Look, t: int) -> tuple[Array, dict[str, Any]] | None:
        setting = look.setting(self.base)
        known = self.trails.known(setting)
        if len(known) <= t:
            return None
        step = known[t]
        predictions = self.prepared.problem.initial if t == 0 else restore(self.prepared, step.f.astype(np.float64))
        facts = {
            "labels": self._labels_version,
            "weights": numbers(step.weights),
            "dependence": numbers(step.dependence),
            "accuracy": finite(self.score(setting, t)),
        }
        return self.prepared.problem.as_given(predictions), facts

    def _whole(self, look: Look, t: int) -> tuple[Array, dict[str, Any]] | None:
        known = self.found(look.method)
        if known is None:
            return None
        version, found = known
        weights = found.result.weights.iloc[-1].to_numpy()
        facts = {
            "labels": version,
            "found": self.n_found,
            # None where the method has none, or changed nothing by them.
            "weights": numbers(weights) if np.isfinite(weights).all() and found.result.changed else None,
            "dependence": None,
            "accuracy": None,
            "notes": [_given(found.known), *found.result.notes],
        }
        return (found.result.predictions if t else found.result.initial), facts

    def score(self, setting: Tupi, t: int) -> float | None:
        """Return how well a known step agrees with the labels; None without labels or if it is not known."""
        with self._lock:
            among, version = self._among, self._labels_version
            if (setting, t) in self._scores:
                return self._scores[setting, t]
        known = self.trails.known(setting)
        if among is None or len(known) <= t:
            return None
        items, labels = among
        predictions = restore(self.prepared, known[t].f.astype(np.float64), items=items)
        value = metric_of(self.prepared.problem.task, labels).score(predictions, labels)
        with self._lock:
            if version == self._labels_version:
                self._scores[setting, t] = value
        return value

    def scores(self, look: Look) -> dict[str, Any]:
        """Return how well all known steps of a look agree with the labels, and how often these had changed by then."""
        version = self._labels_version
        setting = look.setting(self.base)
        known = range(len(self.trails.known(setting)))
        return {"labels": version, "accuracy": [finite(self.score(setting, t)) for t in known]}

    def heat(self, look: Look) -> list[dict[str, Any]]:
        """Return the best of the first `MAP_STEPS` steps of each setting of which these are known, and its score.

        The other settings are computed when nothing more urgent is to do.
        """
        if not look.has_steps or self._known.labels is None:
            return []
        with self._lock:
            self._mapped = look
        self._steps_lane.wake()
        cells = []
        for lam, width in itertools.product(self.lams, self.widths):
            setting = look.moved(lam, width).setting(self.base)
            if self.trails.needs(setting, MAP_STEPS):
                continue
            scores = [score for t in range(MAP_STEPS + 1) if (score := self.score(setting, t)) is not None]
            if scores:
                best = int(np.argmax(scores))
                cells.append({"lam": lam, "sigma_w2": width, "t": best, "score": scores[best]})
        return cells

    def kernel_states(self) -> dict[str, str]:
        """Return for each kernel whether the views are embedded by it."""
        with self._lock:
            return {
                kernel: self._states.get(replace(self.base, kernel=kernel).engine_key(), "waiting")
                for kernel in KERNELS
            }

    # What to compute next

    def _next_step(self) -> Piece | float | None:
        with self._lock:
            looks = [look for look in reversed(self._looks.values()) if look.has_steps]
            # Whoever has nothing to look at yet comes first, in the order in which they came, for a ranking is short.
            first = [(look.setting(self.base), min(look.t, 1)) for look in reversed(looks)]
            for setting, t in first + [(look.setting(self.base), look.t) for look in looks]:
                if self._can_advance(setting, t):
                    return partial(self._advance, setting)
            for client, look in self._looks.items():  # where many people move and answer it is never quiet
                late = self._since[client] < time.monotonic() - PATIENCE
                if late and look.has_steps and self._can_advance(setting := look.setting(self.base), LAST):
                    return partial(self._advance, setting, n_threads=1)
            # Whoever moves a slider moves it again soon: a step that nobody waits for would be in the way.
            quiet = self._moved + PAUSE - time.monotonic()
            if quiet > 0:
                return quiet
            if self.fits.computing:  # so does whoever waits for what the latest answer changes
                return PAUSE
            for setting, t in self._ahead(looks):
                if self._can_advance(setting, t):
                    return lambda: self._advance(setting, n_threads=1)  # the browser wants a core, too
        return None

    def _can_advance(self, setting: Tupi, t: int) -> bool:
        # Cheap questions first: this is asked about everything that anybody looks at, before every step.
        wanted = self.trails.needs(setting, t) and setting not in self._failed
        return wanted and self._states.get(setting.engine_key()) == "ready"

    def _ahead(self, looks: list[Look]) -> Iterator[tuple[Tupi, int]]:
        """Yield settings that will be wanted, and how far, the likeliest first."""
        for look in looks:
            yield look.setting(self.base), LAST
        for setting in self._candidates:
            yield setting, CANDIDATE_STEPS
        for look in looks:
            for near in self.neighbours(look):
                yield near.setting(self.base), look.t
        if self._mapped is not None and self._known.labels is not None:
            look = self._mapped
            for lam, width in itertools.product(self.lams, self.widths):
                yield look.moved(lam, width).setting(self.base), MAP_STEPS

    def neighbours(self, look: Look) -> list[Look]:
        """Return the looks that one move of a slider leads to, the larger first."""
        lams, widths = (_beside(grid, value) for grid, value in ((self.lams, look.lam), (self.widths, look.sigma_w2)))
        return [look.moved(lam, look.sigma_w2) for lam in lams] + [look.moved(look.lam, width) for width in widths]

    def _advance(self, setting: Tupi, n_threads: int | None = None) -> None:
        try:
            self.trails.advance(setting, n_threads)
        except Exception as problem:
            self._failed[setting] = in_words(problem)
            raise
        finally:
            self.signal.changed()

    def _next_fit(self) -> Piece | None:
        with self._lock:
            for look in reversed(self._looks.values()):
                if look.has_steps:
                    setting = look.setting(self.base)
                    if setting.engine_key() not in self._states:
                        return lambda: self._prepare(setting)
                elif self._fitted_to(look.method) < self._wanted[look.method]:
                    # A fit that had begun before may have put the result of older labels there since.
                    return partial(self._fit, look.method, self._live, self._labels_version)
            for method, (version, found) in self._found.items():
                if isinstance(found, Found) and not found.judged and version == self._labels_version:
                    return partial(self._judge, method, found, version)
            for setting in self._candidates[:1]:
                if setting.engine_key() not in self._states:
                    return lambda: self._prepare(setting)
        return None

    def _prepare(self, setting: Tupi) -> None:
        """Embed the views as a setting needs it; the first step is all that it takes."""
        key = setting.engine_key()
        self._states[key] = "computing"
        self._say("Embedding the views")
        try:
            extend([setting.trajectory(self.prepared)])
            self._states[key] = "ready"
        except Exception as problem:
            self._states[key] = in_words(problem)
            raise
        finally:
            self._say("")
            self._wake()

    def _fit(self, method: str, known: Knowledge, version: int) -> None:
        found: Found | str = ""
        self._say(f"Fitting {method}")
        try:
            result, judged = self.fits.result(method, known), not known.n_answers
            if not judged and knows_left_out(result):  # then it takes no time to tell what the answers say of it
                with suppress(Exception):  # `_judge` tries again, and complains
                    result, judged = with_evidence(result, self.fits.evidence(method, known)), True
            found = Found(result, known, judged)
        except Exception as problem:
            found = in_words(problem)
            if not isinstance(problem, InputError):
                raise
        finally:
            self._keep(method, version, found)

    def _judge(self, method: str, found: Found, version: int) -> None:
        """Ask the answers about random pairs, which takes longer than the result that is shown already."""
        evidence = None
        self._say(f"Judging {method} by the answers")
        try:
            evidence = self.fits.evidence(method, found.known)
        finally:
            self._keep(method, version, Found(with_evidence(found.result, evidence), found.known, judged=True))

    def _keep(self, method: str, version: int, found: Found | str) -> None:
        with self._lock:
            self._found[method] = (version, found)
            self.n_found += 1
        self._say("")


def _given(known: Knowledge) -> str:
    later = "; a decision is given all of them" if known.left_out else ""
    return f"It was given {known.words}{later}."


def _among_labelled(labels: Labels) -> tuple[NDArray[np.int64], Labels]:
    items = labelled_items(labels)
    return items, relabel(labels, items)


def _beside(grid: tuple[float, ...], value: float) -> list[float]:
    """Return the next larger and the next smaller position of a slider."""
    place = int(np.argmin(np.abs(np.log(np.array(grid) / value))))
    return [grid[k] for k in (place + 1, place - 1) if 0 <= k < len(grid)]
