"""Vectors in compiled code and what is built of them, against numpy."""

import numba
import numpy as np
import pytest

from tupi.algorithm.engines import rows as compiled_rows
from tupi.algorithm.engines.moves import descend
from tupi.algorithm.engines.vectors import (
    double_zeros,
    everywhere,
    load,
    minus,
    plus,
    plus_product,
    store,
    total,
    wide_zeros,
    zeros,
)
from tupi.runtime.computing import array_in


def from_python(function):
    """Return a function that calls one which only compiled code can call."""
    return numba.njit(lambda *arguments: function(*arguments))


add, count, look_up_anchors, multiply = (
    from_python(getattr(compiled_rows, name)) for name in ("add", "count", "look_up_anchors", "multiply")
)


@pytest.mark.parametrize(
    ("none", "dtype", "lanes"), [(zeros, "f4", 16), (wide_zeros, "f4", 64), (double_zeros, "f8", 16)]
)
def test_vectors_do_what_they_say(none, dtype, lanes):
    @numba.njit
    def compute(A, value, out):
        like = none()
        a, b = load(A, 1, 2, like), load(A, np.uint32(2), 3, like)
        store(out, 0, 1, plus(a, b))
        store(out, 1, 0, minus(a, b))
        store(out, 2, 0, plus_product(a, b, everywhere(value, like)))
        return total(a)

    A = np.random.default_rng(0).normal(size=(4, lanes + 5)).astype(dtype)
    out = np.zeros((3, lanes + 2), dtype)
    sum_of_a = compute(A, 1.5, out)
    a, b = A[1, 2 : lanes + 2], A[2, 3 : lanes + 3]
    np.testing.assert_array_equal(out[0], [0, *(a + b), 0])
    np.testing.assert_array_equal(out[1], [*(a - b), 0, 0])
    np.testing.assert_allclose(out[2], [*(a + 1.5 * b), 0, 0], atol=1e-6)
    np.testing.assert_allclose(sum_of_a, a.sum(dtype=float), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("cells", [1, 3, 40])  # all rows in one cell, some fours in one, hardly any
@pytest.mark.parametrize("rows", [1, 2, 3, 7, 64])  # whole fours and not
@pytest.mark.parametrize(("R", "r"), [(16, 0), (80, 16), (256, 32)])
def test_rows_are_multiplied_and_added_by_linear_interpolation(cells, rows, R, r):
    rng = np.random.default_rng(rows)
    W, own = (rng.normal(size=shape).astype(np.float32) for shape in ((rows + 5, R), (rows, r)))
    H, h = rng.normal(size=(cells + 1, R + r)).astype(np.float32), rng.normal(size=cells + 1)
    cell, share = np.sort(rng.integers(0, cells, rows)).astype(np.uint32), rng.uniform(size=rows).astype(np.float32)
    order = rng.permutation(rows).astype(np.uint32)
    hats = np.zeros((rows, cells + 1))
    hats[np.arange(rows), cell], hats[np.arange(rows), cell + 1] = 1.0 - share, share
    whole = np.hstack([W[3 : 3 + rows], own])[order].astype(float)  # the block begins at row 3

    out = np.full(rows, np.nan, np.float32)
    multiply(W, 3, own, order, cell, share, H, h, out)
    np.testing.assert_allclose(out[order], np.einsum("kj,kg,gj->k", whole, hats, H) + hats @ h, atol=1e-4)

    sums, tally = np.ones((cells + 1, R + r), np.float32), np.ones((3, cells + 1))
    add(W, 3, own, order, cell, share, sums)
    np.testing.assert_allclose(sums - 1.0, hats.T @ whole, atol=1e-4)

    count(cell, share, tally)
    expected = [hats.sum(axis=0), (hats**2).sum(axis=0), np.append((hats[:, :-1] * hats[:, 1:]).sum(axis=0), 0.0)]
    np.testing.assert_allclose(tally - 1.0, expected, atol=1e-5)

    if r:
        found = np.empty((rows, r), np.float32)
        table = H[:, :r].copy()
        look_up_anchors(table, cell, share, found, W, 0, 0)
        np.testing.assert_allclose(found, hats @ table, atol=1e-5)


@pytest.mark.parametrize("matrix", [np.zeros((3, 40), np.float64), np.zeros((3, 80), np.float32)[:, ::2]])
def test_vectors_refuse_rows_that_are_none(matrix):
    @numba.njit
    def first(A):
        return total(load(A, 0, 0, zeros()))

    with pytest.raises(numba.TypingError, match="has no rows of Vector"):
        first(matrix)


def test_a_pass_refuses_rows_without_a_whole_number_of_vectors():
    n, points, none = 10, 5, np.zeros((1, 0), np.float32)
    flat, x, zero = np.zeros((1, n), np.float32), np.ones((1, n)), np.zeros(1)
    for R, r, width in ((7, 16, 23), (16, 3, 19), (16, 16, 48)):
        with pytest.raises(ValueError, match="whole numbers of vectors"):
            descend(
                np.zeros((n, R), np.float32), x, flat, flat, x, np.zeros((1, points, r), np.float32),
                np.zeros((1, points, width), np.float32), np.zeros((1, points)), none, zero, zero, flat, x, flat,
                S=np.zeros((1, points, width)), tallies=np.zeros((1, 3, points)), products=np.zeros((1, 3)),
                room={},
            )  # fmt: skip


def test_a_room_lends_the_same_memory_again_if_it_fits():
    room = {}
    first = array_in(room, "x", (3, 5), np.float64)
    assert (first.shape, first.dtype) == ((3, 5), np.float64)
    assert array_in(room, "x", (3, 5), np.float64) is first
    assert array_in(room, "y", (3, 5), np.float64) is not first
    other = array_in(room, "x", (2, 5), np.float64)
    assert other.shape == (2, 5)
    assert array_in(room, "x", (2, 5), np.float64) is other
    assert array_in(room, "x", (2, 5), np.float32).dtype == np.float32
