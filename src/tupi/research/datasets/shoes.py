"""Shoes: 14,658 shop pictures of ten kinds, ten attributes ordered kind by kind."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tupi.research.datasets.dataset import Dataset, FloatArray
from tupi.research.datasets.fetch import in_data_folder, unavailable
from tupi.research.datasets.matlab import cell_strings, has_variable, read_mat
from tupi.research.datasets.relative_attributes import ClassOrders
from tupi.runtime.errors import InputError

N_ITEMS = 14658
COLOR_COLUMNS = 30

FILE = "shoes_attributes.mat"
FEATURES = "shoes_features.npz"
HOME = "https://vision.cs.utexas.edu/whittlesearch/"

#: The paper's names, in the order of the file's rows.
ATTRIBUTES = (
    "pointy-at-the-front",
    "open",
    "bright-in-color",
    "covered-with-ornaments",
    "shiny",
    "high-at-the-heel",
    "long-on-the-leg",
    "formal",
    "sporty",
    "feminine",
)


def load_shoes() -> Dataset:
    """Load the Shoes data of Kovashka, Parikh and Grauman, *WhittleSearch* (CVPR 2012).

    Views ``gist`` and ``color`` (the last 30 columns of the features) together form the baseline; in the
    paper the extra features of one attribute are the rankers of the nine others, which the experiment trains.

    File: ``shoes_attributes.mat`` in ``TUPI_DATA``, with ``class_labels`` (from one), ``orders``
    (attributes x classes, larger is stronger) and ``im_names``. Features are its ``feat`` (n x d), laid out as in
    the same authors' archive of PubFig, or ``gist`` and ``color`` (30 columns) of a file ``shoes_features.npz``
    beside it, a row per image of ``im_names``: public programs that read the file name no features in it, and
    compute their own from the pictures. No lasting address of the archive is known: nothing is downloaded.

    Returns
    -------
    Dataset
        14,658 items, 10 targets, 10 classes.
    """
    path = in_data_folder(FILE)
    if path is None:
        raise unavailable(FILE, f"Shoes is not downloaded automatically, get it from {HOME}")
    file = read_mat(path, FILE, ("class_labels", "orders", "im_names"))
    data = ClassOrders(
        feat=_features(path),
        classes=file["class_labels"].ravel().astype(np.intp) - 1,
        order=file["orders"],
        ids=cell_strings(file["im_names"]),
    )
    return data.dataset(
        ATTRIBUTES,
        N_ITEMS,
        {"gist": data.feat[:, :-COLOR_COLUMNS], "color": data.feat[:, -COLOR_COLUMNS:]},
        name="shoes",
        note=(
            "Kovashka, Parikh and Grauman, WhittleSearch (CVPR 2012); not yet run on the real archive. The "
            "names of the label variables follow public programs that read the file; that features may be its "
            "variable feat, GIST before colour, is an assumption. Orders are given per kind of shoe."
        ),
    )


def _features(path: Path) -> FloatArray:
    """Return GIST and colour side by side, from the file itself or from the one beside it."""
    if has_variable(path, FILE, "feat"):
        return read_mat(path, FILE, ("feat",))["feat"]
    beside = in_data_folder(FEATURES)
    if beside is None:
        raise InputError(
            f"{FILE}: found no variable feat, and no {FEATURES} beside it; accepted: features as feat, or gist and "
            f"color in {FEATURES}, a row per image of im_names."
        )
    with np.load(beside, allow_pickle=False) as arrays:
        missing = [name for name in ("gist", "color") if name not in arrays]
        if missing:
            raise InputError(f"{FEATURES}: found no {', '.join(missing)}; gist and color are needed")
        gist, color = arrays["gist"], arrays["color"]
    if color.ndim != 2 or color.shape[1] != COLOR_COLUMNS:
        raise InputError(f"{FEATURES}: found color of shape {color.shape}, {COLOR_COLUMNS} columns are expected")
    if gist.ndim != 2 or len(gist) != len(color):
        raise InputError(
            f"{FEATURES}: found gist of shape {gist.shape} and {len(color)} rows of color, one row per image"
        )
    return np.hstack([gist, color])
