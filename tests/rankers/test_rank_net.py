"""The rank network: what it learns, that a seed fixes it, and that it leaves torch's state alone."""

import builtins
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from tupi.rankers import RankNet, RankSVM
from tupi.rankers.rank_net import PAPER_SHAPES, Training, _batch_loss, _build, paper_network
from tupi.runtime.errors import InputError

torch = pytest.importorskip("torch")

SMALL = {"shapes": ((2, 20),), "max_epochs": 15}


def bowl(seed=0, n=200):
    """Items whose rank is their distance from the origin: no linear score can order them."""
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return X, (X**2).sum(1)


def all_pairs(y):
    return np.nonzero(np.subtract.outer(y, y) > 0)


@parametrize_with_checks([RankNet(shapes=((2, 5),), max_epochs=2)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_loss_equals_the_loss_by_hand_and_its_gradient_passes_finite_differences():
    rng = np.random.default_rng(0)
    X = torch.from_numpy(rng.normal(size=(12, 3)))
    higher, lower = np.array([0, 1, 1, 5, 7, 7]), np.array([2, 0, 3, 4, 8, 2])
    network = _build(torch, 3, (2, 5), 0).double()
    items = np.unique(np.concatenate([higher, lower]))
    scores = dict(zip(items, network(X[items]).detach().numpy(), strict=True))
    by_hand = np.mean([max(0, 1 - (scores[q] - scores[r])) ** 2 for q, r in zip(higher, lower, strict=True)])
    loss = _batch_loss(torch, network, X, higher, lower)
    assert loss.item() == pytest.approx(by_hand, rel=1e-12)
    loss.backward()
    for weights in network.parameters():
        direction, step = torch.from_numpy(rng.normal(size=tuple(weights.shape))), 1e-6
        with torch.no_grad():
            weights += step * direction
            ahead = _batch_loss(torch, network, X, higher, lower).item()
            weights -= 2 * step * direction
            behind = _batch_loss(torch, network, X, higher, lower).item()
            weights += step * direction
        slope = (weights.grad * direction).sum().item()
        assert (ahead - behind) / (2 * step) == pytest.approx(slope, rel=1e-5, abs=1e-8)


def test_learns_an_order_that_no_linear_ranker_can():
    (X, y), (X_new, y_new) = bowl(0), bowl(1, 500)
    assert RankNet(**SMALL).fit(X, y).score(X_new, y_new) > 0.85
    assert RankSVM().fit(X, y).score(X_new, y_new) < 0.6


def test_values_and_pairs_both_teach():
    (X, y), (X_new, y_new) = bowl(0), bowl(1, 500)
    model = RankNet(**SMALL).fit(X, pairs=all_pairs(y))
    assert model.score(X_new, pairs=all_pairs(y_new)) > 0.85


def test_shape_and_epoch_are_those_of_the_best_validation_accuracy():
    (X, y), (X_val, y_val) = bowl(0), bowl(1, 50)
    model = RankNet(shapes=((2, 5), (2, 40), (3, 20)), max_epochs=8).fit(X, y, X_val=X_val, y_val=y_val)
    assert model.shape_ == max(model.validation_accuracy_, key=model.validation_accuracy_.get)
    assert model.score(X_val, y_val) == model.validation_accuracy_[model.shape_]
    linear = [layer for layer in model.network_ if isinstance(layer, torch.nn.Linear)]
    assert (len(linear) - 1, linear[0].out_features) == model.shape_
    assert any(isinstance(layer, torch.nn.BatchNorm1d) for layer in model.network_)
    # Stopped at the epoch kept, the chosen shape alone gives the same network.
    again = RankNet(shapes=(model.shape_,), max_epochs=model.n_epochs_).fit(X, y, X_val=X_val, y_val=y_val)
    np.testing.assert_array_equal(again.predict(X_val), model.predict(X_val))


def test_patience_ends_training():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)  # nothing to learn: accuracy cannot keep rising
    short = RankNet(shapes=((2, 5),), max_epochs=200, patience=2).fit(X, y)
    long = RankNet(shapes=((2, 5),), max_epochs=200, patience=200).fit(X, y)
    assert short.n_epochs_ < long.n_epochs_
    assert short.validation_accuracy_[2, 5] < long.validation_accuracy_[2, 5]


def test_the_paper_s_search_has_all_its_shapes_batch_normalisation_and_plain_descent():
    assert {layers for layers, _ in PAPER_SHAPES} == set(range(2, 9))
    assert (min(units for _, units in PAPER_SHAPES), max(units for _, units in PAPER_SHAPES)) == (5, 160)
    network = paper_network(3)
    assert (network.shapes, network.optimizer, network.random_state) == (PAPER_SHAPES, "descent", 3)


def test_plain_descent_moves_each_weight_by_the_gradient_alone(monkeypatch):
    """One batch by hand: w - rate dL/dw, without momentum, decay or scaling."""
    X, y = bowl(n=12)
    net = RankNet(shapes=((2, 5),), optimizer="descent", learning_rate=0.3, batch_size=16, max_epochs=1)
    before = _build(torch, 3, (2, 5), 0)
    drawn = []
    loss = _batch_loss
    monkeypatch.setattr("tupi.rankers.rank_net._batch_loss", lambda *a: drawn.append(a[3:]) or loss(*a))
    monkeypatch.setattr("tupi.rankers.rank_net.PAIRS_PER_ITEM", 1)  # one batch
    net.fit(X, y, X_val=X, y_val=y)
    ((higher, lower),) = drawn
    inputs = torch.from_numpy(((X - X.mean(0)) / X.std(0)).astype(np.float32))
    before.train()
    loss(torch, before, inputs, higher, lower).backward()
    for was, now in zip(before.parameters(), net.network_.parameters(), strict=True):
        np.testing.assert_allclose(now.detach(), (was - 0.3 * was.grad).detach(), atol=1e-6)


def test_the_search_by_thirds_gives_up_the_worst_and_goes_on_with_the_best(monkeypatch):
    (X, y), (X_val, y_val) = bowl(0, 80), bowl(1, 50)
    asked = []
    run = Training.run
    monkeypatch.setattr(Training, "run", lambda self, until: asked.append((until, self.shape)) or run(self, until))
    shapes = [(2, units) for units in (2, 4, 6, 8, 10, 12, 14)]
    model = RankNet(shapes, search="thirds", max_epochs=12, patience=12).fit(X, y, X_val=X_val, y_val=y_val)
    by_round = {until: [shape for when, shape in asked if when == until] for until in (3, 9, 12)}
    assert by_round[3] == shapes
    assert [len(by_round[until]) for until in (9, 12)] == [3, 1]
    early = RankNet(shapes, max_epochs=3, patience=12).fit(X, y, X_val=X_val, y_val=y_val).validation_accuracy_
    assert set(by_round[9]) == set(sorted(shapes, key=lambda shape: -early[shape])[:3])
    # What goes on in parts is what training at once gives.
    (last,) = by_round[12]
    once = RankNet([last], max_epochs=12, patience=12).fit(X, y, X_val=X_val, y_val=y_val)
    assert once.validation_accuracy_[last] == model.validation_accuracy_[last]
    assert model.validation_accuracy_[model.shape_] == max(model.validation_accuracy_.values())


def test_same_seed_same_network_whatever_the_threads_and_the_global_state():
    X, y = bowl(n=80)
    first = RankNet(**SMALL).fit(X, y).predict(X)
    threads = torch.get_num_threads()
    torch.manual_seed(99)
    torch.set_num_threads(2)
    try:
        second = RankNet(**SMALL).fit(X, y).predict(X)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
    np.testing.assert_array_equal(first, second)
    assert (RankNet(**SMALL, random_state=1).fit(X, y).predict(X) != first).any()


def test_torch_state_is_given_back_even_after_an_error():
    X, y = bowl(n=80)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(InputError, match="learning_rate=1e\\+30 made every shape diverge"):
            RankNet(**SMALL, learning_rate=1e30).fit(X, y)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(torch.rand(3), expected)


def test_clone_and_pickle():
    model = RankNet(**SMALL)
    assert clone(model).get_params() == model.get_params()
    X, y = bowl(n=60)
    with config_context(transform_output="pandas"):
        model.fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_without_torch_the_error_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name == "torch":
            raise ImportError
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r'pip install "tupi\[torch\]"'):
        RankNet().fit(*bowl())


def test_importing_the_rankers_does_not_import_torch():
    code = "import sys, tupi.rankers; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"shapes": ()}, "shapes must hold at least one"),
        ({"shapes": ((2, 0),)}, r"shapes must hold \(n_layers, n_units\)"),
        ({"shapes": ((2, 5, 1),)}, "shapes must hold"),
        ({"learning_rate": 0}, "learning_rate must be"),
        ({"batch_size": 0}, "batch_size must be a whole number above 0: found 0"),
        ({"max_epochs": 1.5}, "max_epochs must be"),
        ({"patience": 0}, "patience must be"),
        ({"validation_fraction": 1.0}, "validation_fraction must be"),
        ({"random_state": None}, "random_state must be"),
        ({"optimizer": "sgd"}, "optimizer must be one of adam, descent: found 'sgd'"),
        ({"search": "some"}, "search must be one of all, thirds: found 'some'"),
    ],
)
def test_bad_settings_get_a_sentence(settings, words):
    with pytest.raises(InputError, match=words):
        RankNet(**settings).fit(*bowl())


def test_too_few_items_to_hold_any_out():
    with pytest.raises(InputError, match="2 of the 3 labelled items are held out"):
        RankNet().fit(np.eye(3), [1, 2, 3])
