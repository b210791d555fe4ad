import math

import numpy as np
import pytest
import sklearn.datasets

from tupi.research.datasets import digits as module
from tupi.research.datasets import load_digits
from tupi.runtime.errors import InputError


@pytest.fixture(scope="module")
def data():
    return load_digits()


@pytest.fixture(scope="module")
def images():
    return sklearn.datasets.load_digits().images / 16


def ring(size=8):
    image = np.zeros((size, size))
    image[1:7, 1:7] = 1
    image[3:5, 3:5] = 0
    return image


def test_shapes_and_truth(data):
    assert data.real
    assert data.n == 1797
    assert {name: view.shape[1] for name, view in data.views.items()} == {
        "fou": 34, "kar": 20, "mor": 12, "pix": 64, "pro": 46, "zer": 25
    }  # fmt: skip
    np.testing.assert_array_equal(data.targets["digit"], sklearn.datasets.load_digits().target)
    assert np.bincount(data.classes).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert data.baseline == ("mor",)
    assert len(data.extras) == 5


def test_same_result_each_time(data):
    again = load_digits(baseline="zer")
    assert again.baseline == ("zer",)
    for name, view in data.views.items():
        np.testing.assert_array_equal(again.views[name], view)


def test_unknown_baseline_is_refused():
    with pytest.raises(InputError, match=r"baseline: found 'pixels', .* Did you mean 'pix'\?"):
        load_digits(baseline="pixels")


def test_fourier_magnitudes_are_those_of_the_transform(images):
    image = images[3]
    oracle = [
        abs(sum(image[r, c] * np.exp(-2j * np.pi * (u * r + v * c) / 8) for r in range(8) for c in range(8)))
        for u in range(8)
        for v in range(5)
        if not (v in (0, 4) and u > 4)
    ]
    np.testing.assert_allclose(module.fourier_magnitudes(images[3:4])[0], oracle, atol=1e-12)


def test_fourier_magnitudes_ignore_cyclic_shifts(images):
    shifted = np.roll(images[:20], (2, 3), axis=(1, 2))
    np.testing.assert_allclose(module.fourier_magnitudes(shifted), module.fourier_magnitudes(images[:20]), atol=1e-12)


def test_fourier_keeps_all_distinct_magnitudes(images):
    full = np.abs(np.fft.fft2(images[0]))
    kept = module.fourier_magnitudes(images[:1])[0]
    assert all(np.isclose(kept, value, atol=1e-9).any() for value in full.ravel())
    # Of 64 magnitudes of a real image, four are alone (k = -k) and the other 60 come in pairs.
    assert len(kept) == 4 + 30


def test_karhunen_loeve_is_the_best_linear_summary(images):
    scores = module.karhunen_loeve(images)
    pixels = images.reshape(len(images), -1)
    variances = np.sort(np.linalg.eigvalsh(np.cov(pixels.T)))[::-1]
    covariance = np.cov(scores.T)
    np.testing.assert_allclose(np.diag(covariance), variances[:20], rtol=1e-8)
    np.testing.assert_allclose(covariance - np.diag(np.diag(covariance)), 0, atol=1e-10)


def test_karhunen_loeve_sign_does_not_depend_on_the_library(images, monkeypatch):
    expected = module.karhunen_loeve(images)
    original = np.linalg.eigh

    def flipped(matrix):
        values, vectors = original(matrix)
        return values, -vectors

    monkeypatch.setattr(module.np.linalg, "eigh", flipped)
    np.testing.assert_array_equal(module.karhunen_loeve(images), expected)


def test_profiles_are_sums_along_lines(images):
    image = images[5]
    rows = [sum(image[r, c] for c in range(8)) for r in range(8)]
    columns = [sum(image[r, c] for r in range(8)) for c in range(8)]
    diagonals = [sum(image[r, c] for r in range(8) for c in range(8) if c - r == offset) for offset in range(-7, 8)]
    antidiagonals = [
        sum(image[r, c] for r in range(8) for c in range(8) if 7 - c - r == offset) for offset in range(-7, 8)
    ]
    np.testing.assert_allclose(module.profiles(images[5:6])[0], rows + columns + diagonals + antidiagonals, atol=1e-12)


def test_holes_and_parts():
    two = np.zeros((8, 8))
    two[0, 0] = two[7, 7] = 1
    eight = np.zeros((8, 8))
    eight[:7, 2:5] = 1
    eight[1:3, 3] = eight[4:6, 3] = 0
    diamond = np.zeros((8, 8))  # closed by its corners alone
    diamond[2, 3] = diamond[3, 2] = diamond[3, 4] = diamond[4, 3] = 1
    shapes = np.stack([ring(), two, eight, diamond])
    assert module.morphology(shapes)[:, :2].tolist() == [[1, 1], [0, 2], [2, 1], [1, 1]]


def test_moments_match_their_definition(images):
    image = images[7]
    ink = image.sum()
    r0 = sum(r * image[r, c] for r in range(8) for c in range(8)) / ink
    c0 = sum(c * image[r, c] for r in range(8) for c in range(8)) / ink
    oracle = [ink, r0, c0]
    for p, q in [(2, 0), (1, 1), (0, 2), (3, 0), (2, 1), (1, 2), (0, 3)]:
        moment = sum((r - r0) ** p * (c - c0) ** q * image[r, c] for r in range(8) for c in range(8))
        oracle.append(moment / ink ** (1 + (p + q) / 2))
    np.testing.assert_allclose(module.morphology(images[7:8])[0, 2:], oracle, atol=1e-12)


def test_moments_ignore_where_the_digit_is():
    image = np.zeros((8, 8))
    image[1:4, 2:4] = [[1, 2], [3, 1], [0, 2]]
    moved = np.roll(image, (3, 2), axis=(0, 1))
    both = module.morphology(np.stack([image, moved]))
    np.testing.assert_allclose(both[0, 5:], both[1, 5:], atol=1e-12)
    np.testing.assert_allclose(both[1, 3:5] - both[0, 3:5], [3, 2], atol=1e-12)


def test_zernike_magnitudes_ignore_turns_and_contrast(images):
    original = module.zernike_magnitudes(images[:20])
    np.testing.assert_allclose(module.zernike_magnitudes(np.rot90(images[:20], axes=(1, 2))), original, atol=1e-12)
    np.testing.assert_allclose(module.zernike_magnitudes(3 * images[:20]), original, atol=1e-12)
    assert np.abs(module.zernike_magnitudes(np.roll(images[:20], 2, axis=1)) - original).max() > 0.01


@pytest.mark.parametrize(
    ("n", "m", "polynomial"),
    [
        (0, 0, lambda r: 1 + 0 * r),
        (1, 1, lambda r: r),
        (2, 0, lambda r: 2 * r**2 - 1),
        (3, 1, lambda r: 3 * r**3 - 2 * r),
        (4, 2, lambda r: 4 * r**4 - 3 * r**2),
        (6, 0, lambda r: 20 * r**6 - 30 * r**4 + 12 * r**2 - 1),
    ],
)
def test_radial_polynomials(n, m, polynomial):
    """Against the published table of Zernike polynomials."""
    radius = np.linspace(0, 1, 11)
    np.testing.assert_allclose(module._radial_polynomial(n, m, radius), polynomial(radius), atol=1e-12)


def test_zernike_of_one_pixel():
    """A single pixel at the corner lies on the rim, where every radial polynomial is one."""
    corner = np.zeros((1, 8, 8))
    corner[0, 0, 0] = 1
    expected = [(n + 1) / math.pi for n in range(9) for _ in range(n // 2 + 1)]
    np.testing.assert_allclose(module.zernike_magnitudes(corner)[0], expected, rtol=1e-9)


def test_the_baseline_leaves_room_for_the_other_views(data):
    """A demonstration needs extra views that know more of the digit than the baseline does."""
    truth = data.targets["digit"]

    def explained(view):
        design = np.column_stack([view, np.ones(data.n)])
        residual = truth - design @ np.linalg.lstsq(design, truth, rcond=None)[0]
        return 1 - residual.var() / truth.var()

    base = explained(data.g)
    assert all(explained(view) > base + 0.1 for view in data.extras.values())
