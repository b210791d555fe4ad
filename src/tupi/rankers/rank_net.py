"""A ranking network in PyTorch; shape and number of epochs are chosen by validation accuracy."""

import copy
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from types import ModuleType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tupi.rankers.base import TrainAndJudge, ValidatedRanker, standardiser, without
from tupi.rankers.targets import Targets
from tupi.runtime.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SHAPES = ((2, 10), (2, 40), (2, 160), (4, 40), (8, 20))
#: All that the paper searches: 2 to 8 layers of 5 to 160 units, which are doubled from one to the next.
PAPER_SHAPES = tuple(itertools.product(range(2, 9), (5, 10, 20, 40, 80, 160)))
OPTIMIZERS = ("adam", "descent")
SEARCHES = ("all", "thirds")
FIRST_EPOCHS = 3  # after which the search by thirds gives up two thirds of the shapes, then after 9, 27, ...
PAIRS_PER_ITEM = 20  # an epoch over all the pairs of 10,000 items would take minutes and teach no more


class Trained(NamedTuple):
    """One network at its best epoch."""

    network: Any
    accuracy: float
    epoch: int


class RankNet(ValidatedRanker):
    """Multilayer network trained by mini-batches of pairs on the squared hinge loss (label ``e:rankloss``).

    Each hidden layer is linear, batch-normalised and rectified; the output is one linear unit. Every shape is
    trained until its validation accuracy stops rising, and the best epoch of the best shape is kept.
    `paper_network` is the paper's search in full.

    Parameters
    ----------
    shapes : sequence of (n_layers, n_units), default=((2, 10), (2, 40), (2, 160), (4, 40), (8, 20))
        Hidden layers (2 to 8 in the paper) and units in each (5 to 160 in the paper) to try.
    optimizer : {"adam", "descent"}, default="adam"
        Adam, or plain mini-batch gradient descent as in the paper, which needs a larger learning rate.
    search : {"all", "thirds"}, default="all"
        Whether all shapes are trained to their end, or all for 3 epochs, the third of them that validates best
        up to 9, a third of those up to 27, and so on: many shapes are affordable so.
    learning_rate : float, default=0.01
        Step size of the optimiser.
    batch_size : int, default=256
        Pairs per descent step.
    max_epochs : int, default=100
        Largest number of epochs. An epoch draws as many pairs as there are, at most 20 per item,
        rounded up to whole batches.
    patience : int, default=10
        Epochs without a better validation accuracy after which a shape's training stops.
    validation_fraction : float, default=0.2
        Fraction of the labelled items held out when `fit` is given no validation items.
    random_state : int, default=0
        Seed of the initial weights, the pairs drawn and the items held out. One seed, one network.

    Attributes
    ----------
    network_ : torch.nn.Module
        The network chosen; it expects standardised columns.
    shape_ : tuple (n_layers, n_units)
        Its hidden layers.
    n_epochs_ : int
        Epochs it was trained for.
    validation_accuracy_ : dict
        Best pairwise accuracy on the held-out labels, by shape.
    n_features_in_ : int
        Number of columns seen by `fit`.
    """

    def __init__(
        self,
        shapes: Sequence[tuple[int, int]] = SHAPES,
        learning_rate: float = 0.01,
        batch_size: int = 256,
        max_epochs: int = 100,
        patience: int = 10,
        validation_fraction: float = 0.2,
        random_state: int = 0,
        optimizer: str = "adam",
        search: str = "all",
    ) -> None:
        self.shapes = shapes
        self.optimizer = optimizer
        self.search = search
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def _fit(self, features: Floats, targets: Targets, validation: tuple[Floats, Targets] | None) -> Self:
        torch = _import_torch()
        if validation:
            features_val, judge = validation
        else:
            features, targets, features_val, judge = self._held_out(features, targets)
        self.scaler_ = standardiser(features)
        inputs, inputs_val = self._inputs(torch, features), self._inputs(torch, features_val)
        with _one_thread(torch):
            trainings = [
                Training(torch, self, (layers, units), inputs, targets, inputs_val, judge)
                for layers, units in self.shapes
            ]
            self._run(trainings)
        trained = {one.shape: one.best for one in trainings}
        self.shape_ = max(trained, key=lambda shape: trained[shape].accuracy)
        self.network_ = trained[self.shape_].network
        if self.network_ is None:
            raise InputError(f"learning_rate={self.learning_rate!r} made every shape diverge: give a smaller one.")
        self.n_epochs_ = trained[self.shape_].epoch
        self.validation_accuracy_ = {shape: one.accuracy for shape, one in trained.items()}
        return self

    def _predict(self, X: Floats) -> Floats:
        torch = _import_torch()
        with _one_thread(torch):
            return _scores(torch, self.network_, self._inputs(torch, X))

    def _run(self, trainings: Sequence["Training"]) -> None:
        """Train all shapes to their end, or only a third of those that are left at a time."""
        left, epochs = list(trainings), FIRST_EPOCHS
        while self.search == "thirds" and len(left) > 1 and epochs < self.max_epochs:
            for one in left:
                one.run(epochs)
            left = sorted(left, key=lambda one: -one.best.accuracy)[: -(-len(left) // 3)]
            epochs *= 3
        for one in left:
            one.run(self.max_epochs)

    def _inputs(self, torch: ModuleType, X: Floats) -> Any:
        return torch.from_numpy(self.scaler_.transform(X).astype(np.float32))

    def _held_out(self, X: Floats, targets: Targets) -> TrainAndJudge:
        n_labelled = len(targets.labelled)
        n_held = max(2, round(self.validation_fraction * n_labelled))
        split = without(targets.hold_out(np.random.default_rng(self.random_state), n_held), X, targets)
        if split is None:
            raise InputError(
                f"No ordered pair is left when {n_held} of the {n_labelled} labelled items are held out "
                "to validate: label more items, or give X_val."
            )
        return split

    def _check_settings(self) -> None:
        _import_torch()
        for name in ("batch_size", "max_epochs", "patience"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < 1:
                raise InputError(f"{name} must be a whole number above 0: found {value!r}.")
        if not isinstance(self.learning_rate, Real) or not 0 < self.learning_rate < np.inf:
            raise InputError(f"learning_rate must be a finite number above 0: found {self.learning_rate!r}.")
        for name, known in (("optimizer", OPTIMIZERS), ("search", SEARCHES)):
            if getattr(self, name) not in known:
                raise InputError(f"{name} must be one of {', '.join(known)}: found {getattr(self, name)!r}.")
        if not isinstance(self.validation_fraction, Real) or not 0 < self.validation_fraction < 1:
            raise InputError(f"validation_fraction must be above 0 and below 1: found {self.validation_fraction!r}.")
        if not isinstance(self.random_state, Integral):
            raise InputError(f"random_state must be a whole number: found {self.random_state!r}.")
        if not len(self.shapes):
            raise InputError("shapes must hold at least one (n_layers, n_units): found none.")
        for shape in self.shapes:
            if len(shape) != 2 or not all(isinstance(part, Integral) and part > 0 for part in shape):
                raise InputError(f"shapes must hold (n_layers, n_units), whole numbers above 0: found {shape!r}.")


class Training:
    """One shape in training, which can go on where it was left.

    Attributes
    ----------
    shape : tuple (n_layers, n_units)
        Its hidden layers.
    best : Trained
        The network as it was at its best so far.
    """

    def __init__(
        self,
        torch: ModuleType,
        settings: RankNet,
        shape: tuple[int, int],
        X: Any,
        targets: Targets,
        X_val: Any,
        judge: Targets,
    ) -> None:
        self.shape = shape
        self.best = Trained(None, -1.0, 0)
        self._epoch, self._ended = 0, False
        self._torch, self._patience, self._batch_size = torch, settings.patience, settings.batch_size
        self._data = X, targets, X_val, judge
        self._rng = np.random.default_rng(settings.random_state)
        self._network = _build(torch, X.shape[1], shape, settings.random_state)
        optimiser = torch.optim.Adam if settings.optimizer == "adam" else torch.optim.SGD
        self._optimiser = optimiser(self._network.parameters(), lr=settings.learning_rate)

    def run(self, until: int) -> None:
        """Train up to an epoch, or until the validation accuracy stops rising."""
        X, targets, X_val, judge = self._data
        n_steps = -(-min(targets.n_pairs, PAIRS_PER_ITEM * len(X)) // self._batch_size)
        while self._epoch < until and not self._ended:
            self._epoch += 1
            self._network.train()
            higher, lower = targets.draw(self._rng, n_steps * self._batch_size)
            for batch in np.arange(n_steps * self._batch_size).reshape(n_steps, -1):
                self._optimiser.zero_grad()
                _batch_loss(self._torch, self._network, X, higher[batch], lower[batch]).backward()
                self._optimiser.step()
            scores_val = _scores(self._torch, self._network, X_val)
            if not np.isfinite(scores_val).all():
                self._ended = True  # diverged; an earlier epoch may still be the best of all shapes
                return
            accuracy = judge.accuracy(scores_val)
            if accuracy > self.best.accuracy:
                self.best = Trained(copy.deepcopy(self._network), accuracy, self._epoch)
            self._ended = self._epoch - self.best.epoch >= self._patience


def paper_network(random_state: int = 0) -> RankNet:
    """Return the paper's network: all its shapes, batch normalisation and plain mini-batch gradient descent.

    The learning rate and that shapes are given up by thirds are ours; the paper does not say how it searched.
    """
    return RankNet(PAPER_SHAPES, learning_rate=0.1, optimizer="descent", search="thirds", random_state=random_state)


def _import_torch() -> ModuleType:
    try:
        import torch
    except ImportError:
        raise ImportError('RankNet needs PyTorch: run `pip install "tupi[torch]"`.') from None
    return torch


@contextmanager
def _one_thread(torch: ModuleType) -> Iterator[None]:
    """Run on one thread, then give the caller's number of threads back.

    Threads cost more than they save on networks this small, and their number would change the rounding, and
    with it the network that a seed gives.
    """
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)


def _build(torch: ModuleType, n_features: int, shape: tuple[int, int], seed: int) -> Any:
    """Return a network with initial weights from `seed`; the caller's random state stays as it was."""
    n_layers, n_units = shape
    layers: list[Any] = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for layer in range(n_layers):
            layers.append(torch.nn.Linear(n_units if layer else n_features, n_units, bias=False))
            layers += [torch.nn.BatchNorm1d(n_units), torch.nn.ReLU()]
        layers += [torch.nn.Linear(n_units, 1), torch.nn.Flatten(0)]
    return torch.nn.Sequential(*layers)


def _batch_loss(torch: ModuleType, network: Any, X: Any, higher: Integers, lower: Integers) -> Any:
    """Return the mean loss of a batch of pairs (label ``e:rankloss``)."""
    # Items that several pairs of the batch share go through the network once.
    items, position = np.unique(np.concatenate([higher, lower]), return_inverse=True)
    scores = network(X[torch.from_numpy(items)])[torch.from_numpy(position)]
    margin = 1.0 - scores[: len(higher)] + scores[len(higher) :]
    return torch.relu(margin).square().mean()


def _scores(torch: ModuleType, network: Any, X: Any) -> Floats:
    network.eval()
    with torch.inference_mode():
        return np.asarray(network(X).numpy(), dtype=np.float64)
