"""PubFig: 772 faces of eight public figures, eleven attributes ordered person by person."""

from __future__ import annotations

from tupi.research.datasets.dataset import Dataset
from tupi.research.datasets.relative_attributes import read_class_orders

N_ITEMS = 772
GIST_COLUMNS = 512

#: The paper's names, in the order of the file's (Male, White, Young, ...).
ATTRIBUTES = (
    "Masculine-looking",
    "White",
    "Young",
    "Smiling",
    "Chubby",
    "Visible-forehead",
    "Bushy-eyebrows",
    "Narrow-eyes",
    "Pointy-nose",
    "Big-lips",
    "Round-face",
)


def load_pubfig() -> Dataset:
    """Load the PubFig subset of Parikh and Grauman.

    Views ``gist`` (512 columns) and ``color`` (30) together form the baseline; in the paper the extra
    features of one attribute are the rankers of the ten others, which the experiment trains. The truth of an
    attribute is the place of the item's person in that attribute's order.

    Files: ``pubfig.npz`` in ``TUPI_DATA``, or ``relative_attributes_v2.zip`` there, in the cache or at its
    public home.

    Returns
    -------
    Dataset
        772 items, 11 targets, 8 classes (the people).
    """
    data = read_class_orders("pubfig")
    return data.dataset(
        ATTRIBUTES,
        N_ITEMS,
        {"gist": data.feat[:, :GIST_COLUMNS], "color": data.feat[:, GIST_COLUMNS:]},
        name="pubfig",
        note=(
            "Parikh and Grauman, Relative Attributes (ICCV 2011): the authors' features and orders. Orders "
            "are given per person, so all images of one person tie, and ranks are not always consecutive."
        ),
    )
