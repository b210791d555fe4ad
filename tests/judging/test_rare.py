"""What judges hardly ever meet, so that each of their branches is taken once."""

from __future__ import annotations

import numpy as np
import pytest

import tupi
from tests.conftest import make_problem_arrays
from tupi.inputs.labels import Values
from tupi.judging.evidence import Gain, stated
from tupi.judging.folds import label_folds


def test_a_gain_of_unknown_error_is_not_told() -> None:
    labels = Values(np.arange(20), np.arange(20.0))
    found = stated(Gain(0.7, 0.8, float("inf")), labels, "ranking", True)
    assert np.isnan([found.low, found.high]).all()


def test_groups_that_rank_nothing_are_no_folds() -> None:
    # In two of the groups all labels are equal: they can judge nothing.
    values, groups = np.array([1.0, 1.0, 2.0, 2.0, 1.0, 2.0, 3.0, 5.0]), np.repeat([0, 1, 2, 3], 2)
    labels = Values(np.arange(8), values, groups=groups)
    found = list(label_folds(labels, 4, 0))
    assert sorted(groups[fold.held[0]] for fold in found) == [2, 3]


def test_a_metric_of_ones_own_that_raises_when_labels_are_left_out() -> None:
    truth, scores, views = make_problem_arrays(60)

    def demanding(true: np.ndarray, said: np.ndarray) -> float:
        if len(true) < 20:
            raise RuntimeError("too few")
        return -float(np.abs(true - said).mean())

    result = tupi.denoise(scores, views, tupi.Values(range(20), truth[:20]), method="ridge", metric=demanding)
    assert result.evidence is not None
    assert "nan" not in result.evidence.sentence


def test_own_metrics_are_functions() -> None:
    _, scores, views = make_problem_arrays(60)
    with pytest.raises(ValueError, match="metric"):
        tupi.denoise(scores, views, metric="no such metric")
