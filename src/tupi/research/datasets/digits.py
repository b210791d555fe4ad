"""Digits: scikit-learn's 1,797 handwritten digits through six feature sets computed here; needs no files."""

from __future__ import annotations

from math import factorial

import numpy as np
import scipy.ndimage
import sklearn.datasets

from tupi.research.datasets.dataset import Dataset, FloatArray
from tupi.runtime.errors import InputError, nearest

SIDE = 8
INK_LEVELS = 16
N_COMPONENTS = 20
ZERNIKE_ORDER = 8

VIEWS = ("fou", "kar", "mor", "pix", "pro", "zer")


def load_digits(baseline: str = "mor") -> Dataset:
    """Load scikit-learn's digits with six views of each 8 x 8 image, in the spirit of MFeat.

    The views: ``fou``, magnitudes of the Fourier transform (34 columns); ``kar``, Karhunen-Loeve
    coefficients (20); ``mor``, holes, parts, ink, centre and moments (12); ``pix``, the pixels (64); ``pro``,
    profiles: sums along rows, columns and both diagonals (46); ``zer``, magnitudes of Zernike moments up to
    order 8 (25). Some pixels are never inked, so three columns of ``pix`` and one of ``pro`` are constant.

    Parameters
    ----------
    baseline : {"fou", "kar", "mor", "pix", "pro", "zer"}
        The view that forms g; the others are extra features.

    Returns
    -------
    Dataset
        1,797 items, one target ``digit``.
    """
    if baseline not in VIEWS:
        raise InputError(f"baseline: found {baseline!r}, one of {VIEWS} is accepted.{nearest(baseline, VIEWS)}")
    bunch = sklearn.datasets.load_digits()
    images = bunch.images / INK_LEVELS
    digits = bunch.target.astype(np.intp)
    return Dataset(
        name="digits",
        views={
            "fou": fourier_magnitudes(images),
            "kar": karhunen_loeve(images),
            "mor": morphology(images),
            "pix": images.reshape(len(images), -1),
            "pro": profiles(images),
            "zer": zernike_magnitudes(images),
        },
        targets={"digit": digits.astype(float)},
        baseline=(baseline,),
        classes=digits,
        real=True,
        note=(
            "UCI Optical Recognition of Handwritten Digits (the 1,797 test images) as shipped by "
            "scikit-learn; all views are computed from the images by tupi. Not one of the paper's datasets."
        ),
    )


def fourier_magnitudes(images: FloatArray) -> FloatArray:
    """Return the magnitudes of each image's Fourier transform, without those that its symmetry repeats."""
    half = SIDE // 2
    spectrum = np.abs(np.fft.fft2(images))[:, :, : half + 1]
    # In the first and the last of these columns a real image has equal magnitudes at frequencies k and -k.
    distinct = np.ones((SIDE, half + 1), dtype=bool)
    distinct[half + 1 :, [0, half]] = False
    return spectrum[:, distinct]


def karhunen_loeve(images: FloatArray) -> FloatArray:
    """Return each image's coordinates along the leading principal directions of all images."""
    pixels = images.reshape(len(images), -1)
    centred = pixels - pixels.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    leading = vectors[:, ::-1][:, :N_COMPONENTS]
    # An eigenvector's sign is the library's choice: fix it by its largest entry, so that all machines agree.
    largest = np.abs(leading).argmax(axis=0)
    leading = leading * np.sign(leading[largest, np.arange(N_COMPONENTS)])
    return centred @ leading


def profiles(images: FloatArray) -> FloatArray:
    """Return the ink along each row, each column, each diagonal and each antidiagonal."""
    offsets = range(1 - SIDE, SIDE)
    flipped = images[:, :, ::-1]
    diagonals = [np.trace(images, offset, 1, 2) for offset in offsets]
    antidiagonals = [np.trace(flipped, offset, 1, 2) for offset in offsets]
    return np.column_stack([images.sum(axis=2), images.sum(axis=1), *diagonals, *antidiagonals])


def morphology(images: FloatArray) -> FloatArray:
    """Return shape features: holes, parts, ink, centre of the ink, and central moments of order 2 and 3.

    Moments are divided by ink^(1 + order / 2), which makes them independent of the digit's size.
    """
    rows, columns = np.mgrid[:SIDE, :SIDE]
    ink = images.sum(axis=(1, 2))
    centre_row = (images * rows).sum(axis=(1, 2)) / ink
    centre_column = (images * columns).sum(axis=(1, 2)) / ink
    from_row = rows - centre_row[:, None, None]
    from_column = columns - centre_column[:, None, None]
    moments = [
        (images * from_row**p * from_column**q).sum(axis=(1, 2)) / ink ** (1 + (p + q) / 2)
        for p, q in [(2, 0), (1, 1), (0, 2), (3, 0), (2, 1), (1, 2), (0, 3)]
    ]
    counts = np.array([_holes_and_parts(image) for image in images])
    return np.column_stack([counts, ink, centre_row, centre_column, *moments])


def _holes_and_parts(image: FloatArray) -> tuple[int, int]:
    stroke = np.pad(image > 0.25, 1)
    # A stroke holds together along diagonals, so the background must not pass between its diagonal pixels.
    _, parts = scipy.ndimage.label(stroke, structure=np.ones((3, 3)))
    _, backgrounds = scipy.ndimage.label(~stroke)
    return backgrounds - 1, parts


def zernike_magnitudes(images: FloatArray) -> FloatArray:
    """Return the magnitudes of the Zernike moments up to order 8, per unit of ink.

    The image lies inside the unit disk around its middle. A magnitude does not change when the image turns.
    """
    middle = (SIDE - 1) / 2
    rows, columns = (np.mgrid[:SIDE, :SIDE] - middle) / (middle * np.sqrt(2))
    radius, angle = np.hypot(rows, columns), np.arctan2(rows, columns)
    ink = images.sum(axis=(1, 2))
    features = []
    for n in range(ZERNIKE_ORDER + 1):
        for m in range(n % 2, n + 1, 2):
            basis = _radial_polynomial(n, m, radius) * np.exp(-1j * m * angle)
            features.append((n + 1) / np.pi * np.abs((images * basis).sum(axis=(1, 2))) / ink)
    return np.column_stack(features)


def _radial_polynomial(n: int, m: int, radius: FloatArray) -> FloatArray:
    total = np.zeros_like(radius)
    for k in range((n - m) // 2 + 1):
        weight = factorial(n - k) / (factorial(k) * factorial((n + m) // 2 - k) * factorial((n - m) // 2 - k))
        total += (-1) ** k * weight * radius ** (n - 2 * k)
    return total
