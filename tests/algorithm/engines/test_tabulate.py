"""Energies and tables of the gradient from sums over the grid, against numpy straight from the formula."""

import numpy as np

from tupi.algorithm.engines.landscape import GridTable, smoothed, tabulate

SIGMA2 = 1.7


def arguments(phi, slopes, exact_phi, exact_slopes):
    return phi.transpose(0, 2, 1).copy(), phi, slopes.astype(np.float32), exact_phi, exact_slopes


def test_tables_of_the_gradient_are_what_they_say():
    rng = np.random.default_rng(2)
    runs, points, width = 3, 83, 64  # neither a multiple of what is worked on at a time
    tables = [GridTable.covering(rng.normal(size=100) * scale, points, SIGMA2, 50) for scale in (1.0, 1.5, 2.0)]
    r = max(table.phi.shape[1] for table in tables)
    assert len({table.phi.shape[1] for table in tables}) > 1  # runs with fewer features than others
    features = np.zeros((4, runs, points, r))
    for m, table in enumerate(tables):
        for target, values in zip(features, (table.phi, table.slopes, *table.exact), strict=True):
            target[m, :, : values.shape[1]] = values
    features = arguments(*features)
    S, tally, weights = (
        rng.normal(size=(runs, points, width)),
        rng.uniform(size=(runs, 3, points)),
        rng.uniform(size=(3, 64)),
    )
    H, h = np.zeros((runs, points, width), np.float32), np.zeros((runs, points))
    chosen = np.array([2, 0])
    found = tabulate(chosen, S, tally, *features, weights, H, h)
    assert not H[1].any()
    for m, J in zip(chosen, found, strict=True):
        table = tables[m]
        gram, mean = table.gram(tally[m])
        products = S[m].T @ table.phi
        norm = np.linalg.norm(gram)
        np.testing.assert_allclose(J, np.sum(weights[m][:, None] * products**2) / norm)
        np.testing.assert_allclose(
            H[m], -2.0 / norm * table.slopes @ (weights[m][:, None] * products).T, rtol=1e-5, atol=1e-6
        )
        phi, slopes = table.exact
        own = np.einsum("gp,pq,gq->g", phi - mean, gram * 2.0 * J / norm**2, slopes)
        np.testing.assert_allclose(h[m], smoothed(own[:, None])[:, 0], rtol=1e-9, atol=1e-12)


def test_nobody_goes_where_all_predictions_are_the_same():
    table = GridTable.covering(np.random.default_rng(0).normal(size=100), 83, SIGMA2, 50)
    features = arguments(*(values[None] for values in (table.phi, table.slopes, *table.exact)))
    S, tally, weights = np.zeros((1, 83, 16)), np.zeros((1, 3, 83)), np.ones((1, 16))
    S[0, 0], tally[0, :2, 0] = 1e-3, 5000.0  # everyone beyond the grid's end; sums of centred rows are rounding
    H, h = np.ones((1, 83, 16), np.float32), np.ones((1, 83))
    assert tabulate(np.array([0]), S, tally, *features, weights, H, h) == -np.inf
    assert not H.any()
    assert not h.any()
