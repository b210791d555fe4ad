"""What methods without steps make of the labels so far, each computed once however many ask for it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tupi.algorithm.trajectory import Watch
from tupi.api import Provenance, denoise_prepared
from tupi.embedding.prepared import Prepared, Progress
from tupi.inputs.labels import Values
from tupi.judging.evidence import Evidence
from tupi.methods import make_method
from tupi.methods.base import Fit, Method
from tupi.page.judging import joined, judge_answers
from tupi.page.knowledge import Knowledge, thinned
from tupi.page.trails import Relabelled
from tupi.results.result import Denoised
from tupi.runtime.system import give_memory_back

MOST_JUDGED = 500  # comparisons behind a judgement while people answer: fits to thousands take minutes


@dataclass(frozen=True, eq=False)
class Found:
    """What a method without steps to look at made of the problem.

    Attributes
    ----------
    result : Denoised
        The result, with its evidence as soon as that is known.
    known : Knowledge
        The labels that it was told.
    judged : bool
        Whether the labels were asked what they say of it.
    """

    result: Denoised
    known: Knowledge
    judged: bool


class Fits:
    """The latest result of each method, and what its labels say of it.

    Parameters
    ----------
    prepared : Prepared
        The problem without labels. What was computed of it is used again, so that more labels cost little.

    Attributes
    ----------
    metric : str or None
        What a gain is told in, as long as values judge it.
    computing : int
        How many results, or judgements of them, are being computed right now.
    """

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self.metric: str | None = None
        self._lock = threading.Lock()
        self._locks: dict[tuple[str, str], threading.Lock] = {}
        self._kept: dict[tuple[str, str], tuple[Knowledge, Any]] = {}
        self.computing = 0  # how many things somebody waits for

    def result(self, name: str, known: Knowledge) -> Denoised:
        """Return what a method makes of what is known.

        With answers it has no evidence: those about pairs that were chosen for being hard must not judge.
        """
        found: Denoised = self._once("result", name, known, lambda: self._denoise(name, known))
        return found

    def evidence(self, name: str, known: Knowledge) -> Evidence | None:
        """Return what the labels say of it; of answers about pairs only those about random ones are asked."""
        result = self.result(name, known)
        if not known.n_answers:
            return result.evidence
        found: Evidence = self._once("evidence", name, known, lambda: self._judge(name, known, result))
        return found

    def worth(self, name: str, known: Knowledge, asked: bool) -> pd.DataFrame | None:
        """Return what each view is worth, see `Denoised.view_gains`; None if that takes long and nobody asked.

        With answers about pairs, a fit to those that were drawn at random, and to values of a file, tells it: the
        others must not judge.
        """
        result = self.result(name, known)
        assert result.origin is not None
        if not (asked or result.origin.knows_view_gains or result.origin.quick_view_gains):
            return None
        if known.n_answers:
            labels = known.judges if known.implied is None else joined(known.judges, known.implied)
            judges = Knowledge(labels, words=known.words)
            result = self._once("random", name, known, lambda: self._denoise(name, judges))
        return result.view_gains

    def _denoise(self, name: str, known: Knowledge) -> Denoised:
        metric = self.metric if isinstance(known.labels, Values) else None
        result = denoise_prepared(self._relabelled(known), make_method(name, {}), metric=metric)
        return with_evidence(result, None) if known.n_answers else result

    def _judge(self, name: str, known: Knowledge, result: Denoised) -> Evidence:
        if not knows_left_out(result):
            known = thinned(known, MOST_JUDGED, self._prepared.random_state)
        return judge_answers(make_method(name, {}), self._relabelled(known), known, result.changed, fit_of(result))

    def _relabelled(self, known: Knowledge) -> Relabelled:
        return Relabelled(self._prepared, known.labels)

    def _once(self, kind: str, name: str, known: Knowledge, compute: Any) -> Any:
        """Return what was computed of these labels; of earlier ones nothing is kept."""
        key = kind, name
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            kept = self._kept.get(key)
            if kept is None or kept[0] is not known:
                kept = self._kept[key] = (known, self._computed(compute))
                give_memory_back()  # a fit takes tens of megabytes for a moment, on whichever thread it runs
            return kept[1]

    def _computed(self, compute: Any) -> Any:
        with self._lock:
            self.computing += 1
        try:
            return compute()
        finally:
            with self._lock:
                self.computing -= 1


def decided(
    prepared: Prepared,
    method: Method,
    known: Knowledge,
    watch: Watch | None = None,
    progress: Progress | None = None,
    metric: str | None = None,
) -> Denoised:
    """Return a result whose evidence comes, if there are answers, from those about random pairs alone."""
    seen = Relabelled(prepared, known.labels)
    if progress is not None:
        seen.progress = progress
    result = denoise_prepared(seen, method, watch, metric)
    if not known.n_answers:
        return result
    seen.progress("Judging by the answers about random pairs")
    return with_evidence(result, judge_answers(method, seen, known, result.changed, fit_of(result)))


def fit_of(result: Denoised) -> Fit | None:
    """Return what a method made of the problem behind a result."""
    return result.origin.fit if isinstance(result.origin, Provenance) else None


def knows_left_out(result: Denoised) -> bool:
    """Return whether a method's fit tells what it would say of each pair without the answers about its two items."""
    fit = fit_of(result)
    return fit is not None and fit.left_out_pairs is not None


def with_evidence(result: Denoised, evidence: Evidence | None) -> Denoised:
    """Return the result with other evidence."""
    other = object.__new__(type(result))  # `copy` and `replace` would compute all that waits until somebody asks
    vars(other).update(vars(result) | {"evidence": evidence})
    return other
