"""Features of the predictions on a grid, against the kernel itself."""

import numpy as np
import pytest

from tupi.algorithm.engines.landscape import (
    CELLS_OF_MANY,
    CELLS_PER_SIGMA,
    GridTable,
    features_kept,
    features_on_grids,
    smoothed,
    spread,
    standardized,
)
from tupi.embedding.gaussian import PredictionKernel

SIGMA2 = 1.7


@pytest.mark.parametrize("cells", [CELLS_PER_SIGMA, CELLS_OF_MANY])
def test_interpolation_of_a_gaussian_stays_within_its_bound(cells):
    # The bound that is stated beside CELLS_PER_SIGMA, for a kernel of height one and sigma = 1.
    table = GridTable(-4.0, cells, 8 * cells + 1, 1.0, 50)
    grid = table.low + np.arange(table.points) / table.per_unit
    values = smoothed(np.exp(-(grid**2))[:, None])[:, 0]
    fine = np.linspace(-3.9, 3.9, 20_001)
    error = np.interp(fine, grid, values) - np.exp(-(fine**2))
    assert np.abs(error).max() < (1 / cells) ** 2 / 6
    assert np.abs(error).max() > (1 / cells) ** 2 / 12  # no looser than needed
    plain = np.interp(fine, grid, np.exp(-(grid**2))) - np.exp(-(fine**2))
    assert np.sqrt(np.mean(error**2)) < 0.5 * np.sqrt(np.mean(plain**2))


def test_a_table_holds_the_kernel_and_moves_with_the_predictions():
    f = np.random.default_rng(0).normal(size=400)
    table = GridTable.covering(f, 300, SIGMA2, 50)
    x = (f - table.low) * table.per_unit
    np.testing.assert_allclose(table.prediction(x), f, atol=1e-12)
    hats = np.maximum(0.0, 1.0 - np.abs(x[:, None] - np.arange(300)))
    exact = PredictionKernel(f, SIGMA2).features(f)
    phi = hats @ table.phi
    np.testing.assert_allclose(phi @ phi.T, exact @ exact.T, atol=2e-3)
    tally = np.array([hats.sum(axis=0), (hats**2).sum(axis=0), np.append((hats[:, :-1] * hats[:, 1:]).sum(0), 0)])
    gram, mean = table.gram(tally)
    np.testing.assert_allclose(mean, phi.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(gram, (phi - mean).T @ (phi - mean), atol=1e-9)
    np.testing.assert_allclose(spread(table.phi, tally), hats.T @ phi, atol=1e-9)
    moved = 3.0 * f + 5.0
    again = GridTable.covering(moved, 300, SIGMA2, 50)
    x = (moved - again.low) * again.per_unit
    (standard,) = standardized([again], np.array([x.mean()]), np.array([x.std()]))
    np.testing.assert_allclose(standard.prediction(x), (f - f.mean()) / f.std(), atol=1e-9)


def test_features_on_many_grids_are_those_on_each_and_keep_the_kernel():
    points, per_units = 300, np.array([20.0, 30.0, 12.0, 22.0])  # one so wide that it needs more than 50 basis points
    found = features_on_grids(per_units, points, SIGMA2, 50)
    for per_unit, (phi, slopes) in zip(per_units, found, strict=True):
        alone = GridTable(-3.0, per_unit, points, SIGMA2, 50)
        np.testing.assert_array_equal(alone.exact[0], phi)
        np.testing.assert_array_equal(alone.exact[1], slopes)
        grid = np.arange(points) / per_unit
        kernel = np.exp(-(np.subtract.outer(grid, grid) ** 2) / SIGMA2)
        assert np.sum(phi**2) > (1 - 1e-4) * np.trace(kernel)
        np.testing.assert_allclose(phi @ phi.T, kernel, atol=3e-3)
        middle = (slopes @ phi.T)[1:-1]
        np.testing.assert_allclose(middle, (kernel[2:] - kernel[:-2]) * per_unit / 2, atol=0.02)
    assert len({phi.shape[1] for phi, _ in found}) > 1


@pytest.mark.parametrize(
    ("large", "small", "share", "kept"), [(16, 2, 3e-4, 16), (16, 2, 6e-4, 18), (16, 0, 0.0, 16), (10, 2, 3e-4, 12)]
)
def test_small_features_do_not_take_a_vector_for_themselves(large, small, share, kept):
    assert features_kept(np.concatenate([np.full(30, 1e-9), np.full(small, share), np.ones(large)])) == kept
