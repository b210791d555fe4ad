"""OSR: 2,688 outdoor scenes of eight kinds, six attributes ordered kind by kind."""

from __future__ import annotations

from tupi.research.datasets.dataset import Dataset
from tupi.research.datasets.fetch import in_data_folder
from tupi.research.datasets.relative_attributes import read_class_orders

N_ITEMS = 2688

#: The paper's names, in the order of the file's.
ATTRIBUTES = ("natural", "open", "perspective", "large-objects", "diagonal-plane", "close-depth")

THUMBNAILS = "osr_thumbs.zip"


def load_osr() -> Dataset:
    """Load Outdoor Scene Recognition with the attribute orders of Parikh and Grauman.

    The one view ``gist`` (512 columns) is the baseline; in the paper the extra features of one attribute are
    the rankers of the five others, which the experiment trains. The truth of an attribute is the place of
    the item's kind of scene in that attribute's order.

    Files: ``osr.npz`` in ``TUPI_DATA``, or ``relative_attributes_v2.zip`` there, in the cache or at its
    public home. ``osr_thumbs.zip`` in ``TUPI_DATA``, where it exists, holds a small picture per item.

    Returns
    -------
    Dataset
        2,688 items, 6 targets, 8 classes.
    """
    data = read_class_orders("osr")
    gist = (
        "the authors' GIST"
        if data.from_archive
        else "GIST recomputed from the images (on PubFig the same computation has mean row correlation 0.998 "
        "with the authors' GIST)"
    )
    return data.dataset(
        ATTRIBUTES,
        N_ITEMS,
        {"gist": data.feat},
        name="osr",
        images=in_data_folder(THUMBNAILS),
        note=(
            "Images of Oliva and Torralba, attribute orders of Parikh and Grauman, Relative Attributes "
            f"(ICCV 2011); {gist}. Orders are given per kind of scene, so all images of one kind tie."
        ),
    )
