"""A new ranker on the views, from the labels alone."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from tupi.algorithm.trajectory import Watch
from tupi.embedding.prepared import Prepared
from tupi.inputs.groups import pairs_within
from tupi.inputs.labels import Labels, Pairs, Values
from tupi.inputs.numbers import check_positive
from tupi.judging.folds import Judged, judge_settings
from tupi.methods.base import Fit, Method
from tupi.methods.supervised import (
    Array,
    KnownItems,
    finished,
    known_items,
    predict_all,
    rank_svm_path,
    stacked_views,
    view_shares,
)
from tupi.runtime.errors import InputError

C_GRID = tuple(10.0 ** (k / 2) for k in range(-4, 9))
LOGISTIC_GRID = tuple(10.0**k for k in range(5))
RANKERS = ("svm", "network")
NETWORKS = ("small", "paper")
N_FOLDS = 3  # each takes a network or two

Scorer: TypeAlias = Callable[[Array], Array]  # from rows of H to scores


@dataclass(frozen=True, kw_only=True)
class Retrain(Method):
    """Forget the initial predictions and learn anew, from the labelled items' views.

    Ranking and regression: a linear rank SVM or a rank network (label ``e:rankloss``), whichever ranks labels that it
    was not trained on better, in three folds. The network needs PyTorch; without it the rank SVM is taken. For
    regression, scores become values by a line through the labels and the scores of fits that did not see them.
    Classification: logistic regression. Views are side by side, each as long as the others; an item that lacks a view
    gets that view's mean.

    Parameters
    ----------
    ranker : {"svm", "network"}, optional
        None: chosen by folds.
    C : float, optional
        Weight of the mean pair loss in the rank SVM, or of the loss in logistic regression. None: chosen by folds from
        0.01 to 10,000 in half powers of ten, or from 1 to 10,000 in powers of ten.
    shapes : tuple of (n_layers, n_units)
        Networks to try, see `tupi.rankers.RankNet`; the default is what a few dozen to a few hundred labels can train.
    network : {"small", "paper"}
        Networks of these shapes trained by Adam, or the search of `tupi.rankers.paper_network`: 42 shapes by plain
        gradient descent, which takes about ten times as long.
    """

    name: ClassVar[str] = "retrain"

    ranker: str | None = None
    C: float | None = None
    shapes: tuple[tuple[int, int], ...] = ((2, 10), (2, 40))
    network: str = "small"

    def __post_init__(self) -> None:
        if self.ranker is not None and self.ranker not in RANKERS:
            raise InputError(f"ranker: found {self.ranker!r}; accepted: {', '.join(RANKERS)}, or None.")
        if self.network not in NETWORKS:
            raise InputError(f"network: found {self.network!r}; accepted: {', '.join(NETWORKS)}.")
        check_positive("C", self.C)

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Train on the labels and predict all items."""
        known = known_items(self, prepared, labels)
        if prepared.problem.task == "classification":
            return self._classify(prepared, known, watch)
        H, seed = stacked_views(prepared, known.rows), prepared.random_state
        settings = self._settings()
        judged = judge_settings(
            lambda some: [model(H) for model in self._train(H, some, settings, seed)],
            known.labels,
            "ranking",
            N_FOLDS,
            seed,
        )
        ranker, C = settings[judged.best]
        (model,) = self._train(H, known.labels, [(ranker, C)], seed)
        scores = predict_all(prepared, lambda _, H: model(H))
        values = prepared.problem.task == "regression" and isinstance(known.labels, Values)
        if values:
            slope, intercept = _line(judged, model(H), known.values)
            scores = slope * scores + intercept
        weights = view_shares(prepared, known.rows, model(np.eye(H.shape[1]))) if ranker == "svm" else None
        chosen = "The rank network" if ranker == "network" else f"The rank SVM with C={C:g}"
        accuracy = judged.scores[judged.best]
        judgement = "was taken" if np.isnan(accuracy) else f"ranked held-out labels best ({accuracy:.1%} of pairs)"
        params = self.params() | {"ranker": ranker, "C": C}
        return finished(prepared, scores, params, weights, (f"{chosen} {judgement}.",), watch, calibrated=values)

    def _settings(self) -> list[tuple[str, float | None]]:
        """Return what to try: simple rankers first."""
        found: list[tuple[str, float | None]] = []
        if self.ranker != "network":
            found += [("svm", C) for C in (C_GRID if self.C is None else (self.C,))]
        if self.ranker == "network" or (self.ranker is None and importlib.util.find_spec("torch") is not None):
            found.append(("network", None))
        return found

    def _train(self, H: Array, labels: Labels, settings: Sequence[tuple[str, float | None]], seed: int) -> list[Scorer]:
        """Return a model per setting, trained on the rows of H that the labels mention."""
        Cs = [C for _, C in settings if C is not None]
        models = [_linear(w) for w in rank_svm_path(H, labels, Cs)]
        if len(Cs) < len(settings):
            models.append(self._network(H, labels, seed))
        return models

    def _network(self, H: Array, labels: Labels, seed: int) -> Scorer:
        from tupi.rankers import RankNet, paper_network  # takes long to import

        network = paper_network(seed) if self.network == "paper" else RankNet(self.shapes, random_state=seed)
        if isinstance(labels, Values) and labels.groups is not None:
            labels = pairs_within(labels)
        try:
            if isinstance(labels, Pairs):
                return network.fit(H, pairs=(labels.higher, labels.lower)).predict
            return network.fit(H[labels.index], labels.values).predict
        except InputError:
            if self.ranker == "network":
                raise
            return _linear(np.zeros(H.shape[1]))  # too few labels for a network: it is not going to be chosen

    def _classify(self, prepared: Prepared, known: KnownItems, watch: Watch | None) -> Fit:
        H, c = stacked_views(prepared, known.rows), prepared.f.shape[1]
        Cs = LOGISTIC_GRID if self.C is None else (self.C,)

        def train(some: Labels, Cs: Sequence[float]) -> list[Scorer]:
            assert isinstance(some, Values)
            return [_logistic(H[some.index], some.values, C, c) for C in Cs]

        best = 0
        if len(Cs) > 1:
            best = judge_settings(
                lambda some: [model(H) for model in train(some, Cs)],
                known.labels,
                "classification",
                N_FOLDS,
                prepared.random_state,
            ).best
        (model,) = train(known.labels, [Cs[best]])
        note = f"Logistic regression on the views, with C={Cs[best]:g}."
        return finished(prepared, predict_all(prepared, lambda _, H: model(H)), {"C": Cs[best]}, None, (note,), watch)


def _linear(w: Array) -> Scorer:
    return lambda H: H @ w


def _line(judged: Judged, seen: Array, values: Array) -> tuple[float, float]:
    """Return slope and intercept that make values of scores, by scores of fits that did not see these labels.

    A slope that turned scores upside down would say that the ranker learned nothing: it is zero instead.
    """
    scores = judged.held_out[judged.best] if judged.held_out else seen
    there = np.isfinite(scores)
    x, y = scores[there], values[there]
    centred = x - x.mean()
    slope = max(float(centred @ y) / float(centred @ centred), 0.0) if centred.any() else 0.0
    return slope, float(y.mean() - slope * x.mean())


def _logistic(H: Array, classes: Array, C: float, n_classes: int) -> Scorer:
    from sklearn.linear_model import LogisticRegression  # takes long to import

    regression = LogisticRegression(C=C, max_iter=2_000).fit(H, classes)

    def predict(X: Array) -> Array:
        chances = np.zeros((len(X), n_classes))  # a class without labels gets none
        chances[:, regression.classes_] = regression.predict_proba(X)
        return chances

    return predict
