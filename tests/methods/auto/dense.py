"""What the default method says of all items at once, with whole matrices."""

import numpy as np

from tupi.methods.auto.kernels import pick_features


def everyone(base):
    """Return the features of all items."""
    return pick_features(base, np.arange(base.home.n))


def dense_weights(base):
    """Return W = Z Lam^-1 Z^T between all items."""
    near = everyone(base).near
    Z = np.zeros((base.home.n, len(base.space.anchors.columns)))
    for i in range(len(Z)):
        np.add.at(Z[i], near.numbers[i], near.weights[i])
    return Z @ np.diag(1 / np.maximum(Z.sum(axis=0), 1e-300)) @ Z.T


def whole_kernel(fused, items, output=0):
    """Return the prior covariance of items, a sum of whole kernels."""
    process, found = fused.process, fused.kernels
    columns, v = found.of_columns(items)[output], process.v
    K = process.constant + sum(a * np.outer(one, one) for a, one in zip(v, columns, strict=False))
    for a, one in zip(v[len(columns) :], found.shared(items, items), strict=True):
        K = K + a * one
    return K
