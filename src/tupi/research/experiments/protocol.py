"""The paper's protocol: 200 items train f^I, 50 further ones validate, the others judge.

f^I is a rank SVM or a rank network, whichever ranks the validation items better; without PyTorch the rank SVM. The
same validation items tune the methods. The items that trained f^I are not among those that are denoised: what it says
about them is no prediction.
"""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.prepared import Prepared
from tupi.embedding.relevance import normal_quantiles
from tupi.inputs.labels import Labels, Pairs, Values, labelled_items, relabel
from tupi.inputs.problem import make_problem
from tupi.judging.metrics import metric_of
from tupi.methods.base import Method
from tupi.rankers import RankNet, RankSVMCV
from tupi.research.datasets import Dataset
from tupi.research.experiments.sharing import LATEST, Common, Sharing
from tupi.research.experiments.sources import DataSource, dataset_of, digest_of, source_of
from tupi.research.experiments.store import Cell, Store

Array = NDArray[np.floating]
Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Protocol:
    """The frozen part of every experiment.

    Parameters
    ----------
    n_train, n_valid : int
        Items that train f^I and that validate; where the truth is comparisons, a third of the pairs each.
    rankers : tuple of str
        Which rankers compete for f^I.
    n_pairs : int, optional
        How many comparisons, drawn at random between the items that train f^I, it is trained by. None: all of them.
    apart : bool
        Whether each target's ranker is trained on items of its own, drawn anew, where the rankers of other targets are
        the views. If not, all are trained on the same items, and err alike.
    whole : bool
        Whether the items that trained f^I are denoised and judged too.
    by_rank : bool
        Whether rankers' scores, f^I and views alike, are replaced by normal scores of their ranks: PubFig's have
        outliers of 20 deviations, by which kernel widths are set otherwise.
    """

    n_train: int = 200
    n_valid: int = 50
    rankers: tuple[str, ...] = ("svm", "network") if importlib.util.find_spec("torch") else ("svm",)
    n_pairs: int | None = None
    apart: bool = False
    whole: bool = False
    by_rank: bool = False

    @property
    def name(self) -> str:
        """What cells of this protocol have in their names."""
        more = {f"{self.n_pairs}pairs": self.n_pairs, "apart": self.apart, "whole": self.whole}
        more["by-rank"] = self.by_rank
        return "-".join((*self.rankers, *(name for name, there in more.items() if there)))

    @property
    def reading(self) -> str:
        """The words for it in titles: how f^I was made."""
        how = "rank SVM or rank network" if "network" in self.rankers else "rank SVM alone"
        more = {
            f" from {self.n_pairs} comparisons": self.n_pairs,
            ", each ranker on items of its own": self.apart,
            ", items that trained it denoised and judged too": self.whole,
            ", scores by rank": self.by_rank,
        }
        return f"f^I by {how}" + "".join(text for text, there in more.items() if there)

    @property
    def training(self) -> Protocol:
        """The part of the protocol that f^I depends on: protocols that agree in it have the same f^I."""
        return replace(self, whole=False, by_rank=False)

    @property
    def initial(self) -> str:
        """The name under which f^I is stored."""
        return f"initial-{self.training.name}"

    def settings(self) -> dict[str, Any]:
        """Return what differs between protocols, ready for JSON."""
        return {name: value for name, value in asdict(self).items() if value not in (None, False)}


PROTOCOL = Protocol()
SVM_ONLY = Protocol(rankers=("svm",))
COMPARISONS = Protocol(rankers=("svm",), n_pairs=200)  # 200 items "with pairwise comparison labels", as many of these
APART = Protocol(rankers=("svm",), apart=True)  # "individually trained rankers": each on 200 items of its own
APART_COMPARISONS = Protocol(rankers=("svm",), n_pairs=200, apart=True)  # both at once
BY_RANK = Protocol(rankers=("svm",), apart=True, by_rank=True)
WHOLE = Protocol(rankers=("svm",), whole=True)  # accuracy "with respect to all possible pairs"
PROTOCOLS = (PROTOCOL, SVM_ONLY, COMPARISONS, APART, APART_COMPARISONS, BY_RANK, WHOLE)


@dataclass(frozen=True, eq=False)
class Split:
    """Which items do what.

    Attributes
    ----------
    items : ndarray of int
        The items that are denoised, sorted: all but those that trained f^I, unless the protocol has them too.
    train, valid, test : Values or Pairs
        Labels that train f^I, that validate, and that judge; positions are those of the dataset.
    """

    items: Positions
    train: Labels
    valid: Labels
    test: Labels


def split(truth: Labels, n: int, seed: int, protocol: Protocol, place: int = 0) -> Split:
    """Deal the truth at random; all targets of a dataset whose truth is values get the same items.

    Where the protocol says that targets get items of their own, ``place`` is the target's among all of them.
    """
    rng = np.random.default_rng((seed, 3, place) if protocol.apart else seed)
    if isinstance(truth, Values):
        order = rng.permutation(n)
        train, valid, test = np.split(order, [protocol.n_train, protocol.n_train + protocol.n_valid])
        items, judging = (order, np.setdiff1d(order, valid)) if protocol.whole else (np.append(valid, test), test)
        dealt = [Values(part, truth.values[part]) for part in (train, np.sort(valid), np.sort(judging))]
        return Split(np.sort(items), *dealt)
    thirds = np.array_split(rng.permutation(len(truth.higher)), 3)
    pairs = [Pairs(truth.higher[part], truth.lower[part]) for part in thirds]
    train_items, *others = (labelled_items(part) for part in pairs)
    trained_only = np.setdiff1d(train_items, np.concatenate(others))
    return Split(np.setdiff1d(np.arange(n), trained_only), *pairs)


def initial_scores(cell: Cell, protocol: Protocol) -> dict[str, Any]:
    """Return f^I of a cell's target for all items, and which ranker it is."""
    source, data = source_of(cell.dataset), dataset_of(cell.dataset)
    X = source.features(data, cell.target)
    name, accuracy, ranker = best_ranker(X, split_of(cell, protocol), cell.seed, protocol)
    return {"ranker": name, "validation": 100 * accuracy, "scores": ranker.predict(X).tolist()}


def split_of(cell: Cell, protocol: Protocol) -> Split:
    """Return which items do what for a cell's target."""
    source, data = source_of(cell.dataset), dataset_of(cell.dataset)
    place = source.targets(data).index(cell.target)
    return split(source.truth(data, cell.target), data.n, cell.seed, protocol, place)


def best_ranker(X: Array, parts: Split, seed: int, protocol: Protocol) -> tuple[str, float, Any]:
    """Return the ranker that validates best: its name, its validation accuracy, and itself."""
    best: tuple[str, float, Any] | None = None
    for name in protocol.rankers:
        ranker = RankSVMCV() if name == "svm" else RankNet(random_state=seed)
        if isinstance(parts.train, Values):
            assert isinstance(parts.valid, Values)
            (rows, y), (rows_val, y_val) = ((p.index, p.values) for p in (parts.train, parts.valid))
            if protocol.n_pairs is None:
                ranker.fit(X[rows], y, X_val=X[rows_val], y_val=y_val)
            else:
                pairs = drawn_pairs(y, protocol.n_pairs, seed)
                ranker.fit(X[rows], pairs=pairs, X_val=X[rows_val], pairs_val=all_pairs(y_val))
        else:
            (rows, pairs), (rows_val, pairs_val) = (_pairs_of_rows(p) for p in (parts.train, parts.valid))
            ranker.fit(X[rows], pairs=pairs, X_val=X[rows_val], pairs_val=pairs_val)
        accuracy = metric_of("ranking", parts.valid).score(ranker.predict(X), parts.valid)
        if best is None or accuracy > best[1]:
            best = (name, accuracy, ranker)
    assert best is not None
    return best


def all_pairs(values: Array) -> tuple[Positions, Positions]:
    """Return all ordered pairs of positions, the one with the higher value first."""
    higher, lower = np.nonzero(values[:, None] > values[None, :])
    return higher, lower


def drawn_pairs(values: Array, n_pairs: int, seed: int) -> tuple[Positions, Positions]:
    """Return so many of all ordered pairs, drawn at random."""
    higher, lower = all_pairs(values)
    chosen = np.random.default_rng((seed, 2)).permutation(len(higher))[:n_pairs]
    return higher[chosen], lower[chosen]


def _pairs_of_rows(labels: Labels) -> tuple[Positions, tuple[Positions, Positions]]:
    assert isinstance(labels, Pairs)
    rows, position = np.unique(np.concatenate([labels.higher, labels.lower]), return_inverse=True)
    return rows, (position[: len(labels.higher)], position[len(labels.higher) :])


@dataclass(frozen=True, eq=False)
class Trial:
    """One target under one seed, ready for methods.

    Attributes
    ----------
    initial : ndarray of shape (n,)
        f^I.
    views : mapping
        {H^i}.
    labels : Values or Pairs
        What validates; positions count the trial's items.
    judging : Values or Pairs
        What judges, and nothing else.
    truth : ndarray of shape (n,) or None
        The truth of all items, for experiments that make views of it; None where it is comparisons.
    seed : int
        The trial's seed.
    common : Common
        What it shares with other trials.
    same_views : hashable
        A name for its views, where trials of other targets have the same ones and the same labelled items.
    """

    initial: Array
    views: Mapping[str, Array]
    labels: Labels
    judging: Labels
    truth: Array | None
    seed: int
    common: Common = field(default_factory=Common)
    same_views: Hashable = None
    _own: list[Sharing] = field(default_factory=list, init=False)
    _others: list[Sharing] = field(default_factory=list, init=False)

    def prepared(self, views: Mapping[str, Array] | None = None) -> Prepared:
        """Return the problem made ready, with these views or, once for all experiments, with the trial's own."""
        if views is not None:
            self._others.append(Sharing(make_problem(self.initial, views, self.labels), self.common))
            return self._others[-1]
        if not self._own:
            problem = make_problem(self.initial, self.views, self.labels)
            self._own.append(Sharing(problem, self.common, self.same_views))
        return self._own[0]

    def forget_others(self) -> None:
        """Let go of what was computed with other views than the trial's own, which no other experiment asks for."""
        for one in self._others:
            one.forget()
        self._others.clear()

    def forget(self) -> None:
        """Let go of everything that was computed; the trial itself stays as it is."""
        self.forget_others()
        for one in self._own:
            one.forget()
        self._own.clear()

    def accuracy(self, predictions: Array) -> float:
        """Return pairwise accuracy on the judging items, in per cent."""
        return 100 * metric_of("ranking", self.judging).score(predictions, self.judging)

    def judge(self, method: Method, prepared: Prepared, labelled: bool = True) -> dict[str, Any]:
        """Return a method's accuracy, with what validates or without any label, what it chose, and how long it took."""
        start = time.perf_counter()
        fit = method.fit(prepared, self.labels if labelled else None)
        seconds = time.perf_counter() - start
        chosen = {key: fit.params[key] for key in ("lam", "sigma_w2", "n_iter") if fit.params.get(key) is not None}
        return {"accuracy": self.accuracy(fit.predictions(prepared)), "chosen": chosen, "seconds": seconds}


def initial_settings(dataset: str, protocol: Protocol) -> dict[str, Any]:
    """Return everything that f^I of a dataset depends on."""
    source, data = source_of(dataset), digest_of(dataset)
    rankers = {"svm": RankSVMCV().get_params(), "network": RankNet().get_params()}
    used = {name: rankers[name] for name in protocol.rankers}
    stored = {"protocol": protocol.training.settings(), "rankers": used, "views": source.views, "data": data}
    return stored | {"scores": "all items"}


def initial_cells(dataset: str, target: str, seed: int, protocol: Protocol) -> list[Cell]:
    """Return the cells of f^I that a trial reads: its own, and those of other targets where they are the views."""
    source = source_of(dataset)
    targets = source.targets(dataset_of(dataset)) if source.views == "rankers" else (target,)
    return [Cell(protocol.initial, dataset, name, seed) for name in targets]


def make_trial(dataset: str, target: str, seed: int, store: Store, protocol: Protocol) -> Trial:
    """Return a trial from the stored f^I of all targets that it needs; the last one is kept for the next experiment.

    Parameters
    ----------
    dataset, target, seed : str, str, int
        Which trial.
    store : Store
        Where f^I is.
    protocol : Protocol
        How f^I was made, and items are dealt.
    """
    made = json.dumps(initial_settings(dataset, protocol), default=str)
    key = (str(store.folder), dataset, seed, protocol.name, made)
    return LATEST.of("trial", (*key, target), lambda: _trial(dataset, target, seed, store, protocol, key), Trial.forget)


def _trial(dataset: str, target: str, seed: int, store: Store, protocol: Protocol, key: Hashable) -> Trial:
    source, data = source_of(dataset), dataset_of(dataset)
    truth = source.truth(data, target)
    parts = split_of(Cell(protocol.initial, dataset, target, seed), protocol)
    scores, settings = {}, initial_settings(dataset, protocol)
    for cell in initial_cells(dataset, target, seed, protocol):
        record = store.read(cell, settings)
        if record is None:
            raise LookupError(f"{cell}: f^I is not in {store.folder}")
        scores[cell.target] = np.array(record["result"]["scores"])[parts.items]
        if protocol.by_rank:
            scores[cell.target] = normal_quantiles(scores[cell.target])
    alike = source.views == "extras" and isinstance(truth, Values) and not protocol.apart
    return Trial(
        initial=scores[target],
        views=_views(source, data, target, parts.items, scores),
        labels=relabel(parts.valid, parts.items),
        judging=relabel(parts.test, parts.items),
        truth=truth.values[parts.items] if isinstance(truth, Values) else None,
        seed=seed,
        common=LATEST.of("common", key, Common),
        same_views="the dataset's own" if alike else None,
    )


def _views(
    source: DataSource, data: Dataset, target: str, items: Positions, scores: Mapping[str, Array]
) -> dict[str, Array]:
    if source.views == "rankers":
        return {name: column[:, None] for name, column in scores.items() if name != target}
    return {name: view[items] for name, view in source.extras(data, target).items()}
