"""Shoes: 14,658 shop pictures of ten kinds, ten attributes ordered kind by kind."""

from __future__ import annotations

import numpy as np

from tupi.research.datasets.dataset import Dataset
from tupi.research.datasets.fetch import in_data_folder, unavailable
from tupi.research.datasets.matlab import cell_strings, read_mat
from tupi.research.datasets.relative_attributes import ClassOrders

N_ITEMS = 14658
COLOR_COLUMNS = 30

FILE = "shoes_attributes.mat"
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
    (attributes x classes, larger is stronger), ``im_names``, and the features as ``feat`` (n x d), laid out
    as in the same authors' archive of PubFig. No lasting address of the archive is known: nothing is
    downloaded.

    Returns
    -------
    Dataset
        14,658 items, 10 targets, 10 classes.
    """
    path = in_data_folder(FILE)
    if path is None:
        raise unavailable(FILE, f"Shoes is not downloaded automatically, get it from {HOME}")
    file = read_mat(path, FILE, ("feat", "class_labels", "orders", "im_names"))
    data = ClassOrders(
        feat=file["feat"],
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
            "names of the label variables follow public programs that read the file; that the features are "
            "its variable feat, GIST before colour, is an assumption. Orders are given per kind of shoe."
        ),
    )
