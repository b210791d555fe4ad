"""Probabilities of classes without labels: as sure as the initial ones, and a little surer where classes lie apart."""

import numpy as np
import pytest
from scipy.special import softmax

import tupi
from tests.methods.auto.dense import everyone
from tupi.embedding.prepared import Prepared
from tupi.inputs.problem import make_problem
from tupi.judging.catalogue import CalibrationError
from tupi.methods.auto import surer
from tupi.methods.auto.auto import label_free_of
from tupi.methods.auto.items import scale_of
from tupi.methods.auto.surer import LEAST_OF_CLASS, MOST_APART, SURER, _surer


def problem(sure, seed=0, n=500, c=4):
    """Return probabilities with errors that the views do not share, and the classes."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(c, size=n)
    kind = 2.5 * np.eye(c)[truth]
    views = {name: kind + rng.normal(size=(n, c)) for name in ("a", "b", "c")}
    return softmax(sure * (kind + 1.3 * rng.normal(size=(n, c))), axis=1), truth, views


@pytest.mark.parametrize("sure", [0.5, 1.5, 4.0, 15.0])
def test_sure_probabilities_are_not_led_astray(sure):
    """Whole steps of Newton's once made one class certain for all items where nearly all probabilities were 0 or 1."""
    p, truth, views = problem(sure)
    found = tupi.denoise(p, views, task="classification").predictions
    assert np.mean(found.argmax(axis=1) == truth) > np.mean(p.argmax(axis=1) == truth) + 0.05
    np.testing.assert_allclose(found.mean(axis=0), p.mean(axis=0), atol=0.03)


def losses(sure):
    """Return log loss and calibration error before and after, means over three draws."""
    found = []
    for seed in range(3):
        p, truth, views = problem(sure, seed)
        found.append(
            [
                (
                    -np.log(np.maximum(one[np.arange(len(truth)), truth], 1e-9)).mean(),
                    CalibrationError().of(truth, one),
                )
                for one in (p, tupi.denoise(p, views, task="classification").predictions)
            ]
        )
    return np.mean(found, axis=0)


@pytest.mark.parametrize("sure", [1.5, 4.0])
def test_probabilities_that_were_sure_enough_stay_so(sure):
    before, after = losses(sure)
    assert (after < before).all()


def test_probabilities_that_were_not_sure_enough_become_surer(monkeypatch):
    """They were right in 80 per cent of the cases, and are in 95; nothing but labels could say how unsure they were."""
    before, after = losses(0.5)
    monkeypatch.setattr(surer, "SURER", 0.0)
    as_sure = losses(0.5)[1]
    assert after[0] < before[0]
    assert (after < as_sure - 0.05).all()


def test_how_much_surer_equals_its_definition():
    p, _, views = problem(1.0)
    prepared = Prepared(make_problem(p, views, task="classification"))
    base, scale = label_free_of(prepared), scale_of(prepared)
    items = everyone(base)
    ratio = []
    logs = [np.einsum("ck,nck->nc", one, items.base) for one in (base.only(0), base.careful)]
    logs = [one * scale.scale + scale.shift for one in logs]
    said = logs[1].argmax(axis=1)
    for one in (one - one.mean(axis=1, keepdims=True) for one in logs):
        groups = [one[said == k] for k in range(4)]
        assert min(map(len, groups)) >= LEAST_OF_CLASS
        within = sum(((group - group.mean(axis=0)) ** 2).sum() for group in groups) / len(one)
        ratio.append(np.mean([group.mean(axis=0)[k] for k, group in enumerate(groups)]) / within)
    expected = min(ratio[1] / ratio[0], MOST_APART) ** SURER
    assert 1 < expected == pytest.approx(_surer(base, base.careful, scale))
