"""The regression by which a method's answer becomes a function."""

import numpy as np

from tupi.methods.explicit import PENALTIES, ridge


def test_the_penalty_is_that_of_the_least_error_of_rows_left_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 12))
    targets = X[:, :2] @ rng.normal(size=(2, 1)) + 2 * rng.normal(size=(40, 1))

    def coefficients(X, targets, penalty):
        return np.linalg.solve(X.T @ X + penalty * np.eye(12), X.T @ targets)

    errors = []
    for share in PENALTIES:
        penalty, rest = share * np.sum(X**2), [np.delete(np.arange(40), i) for i in range(40)]
        errors.append(
            sum((targets[i] - X[i] @ coefficients(X[r], targets[r], penalty))[0] ** 2 for i, r in enumerate(rest))
        )
    best = PENALTIES[int(np.argmin(errors))] * np.sum(X**2)
    assert 0 < np.argmin(errors) < len(PENALTIES) - 1
    np.testing.assert_allclose(ridge(X, targets), coefficients(X, targets, best), atol=1e-9)
