"""Two sets of rows: the distance is the formula, and unchanged ones are told apart as often as the p-value says."""

import numpy as np
import pytest
from scipy.stats import kstest

from tupi.embedding.two_samples import difference


def test_the_distance_of_few_distinct_rows_is_the_formula():
    rng = np.random.default_rng(0)
    before, now = rng.normal(size=(20, 2)), rng.normal(size=(15, 2)) + 1
    rows = np.concatenate([before, now])
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    squared = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    upper = np.sqrt(squared[np.triu_indices(35, 1)])
    K = np.exp(-squared / np.median(upper) ** 2)  # as few rows as these are all basis points, so that it is exact
    mmd2 = K[:20, :20].mean() + K[20:, 20:].mean() - 2 * K[:20, 20:].mean()
    found = difference(before, now)
    assert found.distance == pytest.approx(np.sqrt(mmd2), rel=1e-6)
    shifts = np.abs(rows[20:].mean(axis=0) - rows[:20].mean(axis=0))
    assert found.shift == pytest.approx(shifts.max())


def test_p_values_agree_with_permutations():
    rng = np.random.default_rng(1)
    before, now = rng.normal(size=(150, 1)), rng.normal(size=(40, 1)) + 0.4
    found = difference(before, now)
    rows, reached = np.concatenate([before, now]), 0
    for _ in range(300):
        order = rng.permutation(190)
        reached += difference(rows[order[:150]], rows[order[150:]]).distance >= found.distance
    assert found.p_value == pytest.approx(reached / 300, abs=0.05)
    assert 0.01 < found.p_value < 0.4


@pytest.mark.parametrize("kind", ["normal", "heavy", "two values", "missing"])
def test_false_alarms_are_as_rare_as_they_should_be(kind):
    p_values = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(160, 2 if kind == "normal" else 1))  # one column needs no k-means
        if kind == "heavy":
            rows = np.exp(2 * rows)
        elif kind == "two values":
            rows = (rows > 1).astype(float)
        elif kind == "missing":
            rows[rng.random(160) < 0.2] = np.nan
        p_values.append(difference(rows[:120], rows[120:]).p_value)
    assert np.mean(np.array(p_values) < 0.05) <= 0.1  # 0.05 and almost three deviations
    assert kstest(p_values, "uniform").pvalue > 0.001


@pytest.mark.parametrize(
    "change",
    [
        lambda rows, rng: rows + np.array([0.6, 0, 0]),
        lambda rows, rng: rows * [2.0, 1, 1],
        lambda rows, rng: np.where(rng.random((len(rows), 1)) < 0.3, np.nan, rows),
        lambda rows, rng: np.full_like(rows, np.nan),
    ],
    ids=["moved", "spread", "missing more often", "missing"],
)
def test_changes_are_seen(change):
    rng = np.random.default_rng(2)
    before, now = rng.normal(size=(300, 3)), rng.normal(size=(150, 3))
    assert difference(before, now).p_value > 0.05
    assert difference(before, change(now, rng)).p_value < 0.001


def test_a_column_that_did_not_vary_before_is_looked_at():
    rng = np.random.default_rng(3)
    rows = np.column_stack([rng.normal(size=200), np.zeros(200)])
    now = rows[100:] + np.array([0, 1])
    assert difference(rows[:100], now).p_value < 1e-6
    assert difference(rows[:100] * 0, rows[100:] * 0).p_value == 1.0


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(4)
    before, now = rng.normal(size=(200, 3)), rng.normal(size=(80, 3))
    one, other = difference(before, now), difference(before[::-1], now[rng.permutation(80)])
    assert other.p_value == pytest.approx(one.p_value, rel=1e-6)
