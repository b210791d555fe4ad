"""Class-wise attribute orders: what PubFig, OSR and Shoes have in common.

A class (a person, a kind of scene) has a place in the order of each attribute, and an item inherits its
class's place. PubFig and OSR come in one archive of Parikh and Grauman, *Relative Attributes* (ICCV 2011): a
``data.mat`` each, with ``feat`` (n x d), ``class_labels`` (n x 1, from one), ``relative_ordering``
(attributes x classes, larger is stronger) and ``im_names``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tupi.research.datasets.dataset import Dataset, FloatArray, IntArray
from tupi.research.datasets.fetch import find_or_download, in_data_folder
from tupi.research.datasets.matlab import cell_strings, read_mat, read_zip_member
from tupi.runtime.errors import InputError

ARCHIVE = "relative_attributes_v2.zip"
URLS = (
    "https://filebox.ece.vt.edu/~parikh/relative_attributes/relative_attributes_v2.zip",
    "https://www.cc.gatech.edu/~parikh/relative_attributes/relative_attributes_v2.zip",
)


@dataclass(frozen=True, eq=False)
class ClassOrders:
    """Features, class labels and class-wise attribute orders, as read from one file.

    Attributes
    ----------
    feat : (n, d) float array
    classes : (n,) int array
        Counted from zero.
    order : (attributes, classes) array
        Larger is stronger; ranks need not be consecutive.
    ids : tuple of str
        Image names.
    from_archive : bool
        Whether the file is the dataset authors' own archive.
    """

    feat: FloatArray
    classes: IntArray
    order: IntArray
    ids: tuple[str, ...]
    from_archive: bool = True

    def targets(self, attributes: tuple[str, ...]) -> dict[str, FloatArray]:
        """Return each attribute's truth: the place of the item's class in that attribute's order."""
        if len(self.order) != len(attributes):
            raise InputError(
                f"attribute orders: found {len(self.order)} rows, {len(attributes)} attributes are expected"
            )
        if self.classes.min() < 0 or self.classes.max() >= self.order.shape[1]:
            raise InputError(
                f"class_labels: found {self.classes.min() + 1} to {self.classes.max() + 1}, "
                f"1 to {self.order.shape[1]} are accepted"
            )
        return {name: row[self.classes].astype(float) for name, row in zip(attributes, self.order, strict=True)}

    def dataset(self, attributes: tuple[str, ...], n_items: int, views: dict[str, FloatArray], **more: Any) -> Dataset:
        """Return the dataset whose baseline is all of its views, real if it has as many items as the published one."""
        targets, real = self.targets(attributes), len(self.feat) == n_items
        return Dataset(
            views=views, targets=targets, baseline=tuple(views), classes=self.classes, ids=self.ids, real=real, **more
        )


def read_class_orders(folder: str) -> ClassOrders:
    """Read ``<folder>.npz`` of the data folder, or ``<folder>/data.mat`` of the authors' archive."""
    if path := in_data_folder(f"{folder}.npz"):
        with np.load(path, allow_pickle=False) as file:
            return ClassOrders(
                feat=file["feat"],
                classes=file["class_labels"].astype(np.intp) - 1,
                order=file["relative_order"],
                ids=tuple(file["im_names"].tolist()),
                from_archive=False,
            )
    archive = find_or_download(ARCHIVE, URLS, expected=f"{folder}.npz or {ARCHIVE}")
    member = f"{folder}/data.mat"
    data = read_mat(read_zip_member(archive, member), member, ("feat", "class_labels", "relative_ordering", "im_names"))
    return ClassOrders(
        feat=data["feat"],
        classes=data["class_labels"].ravel().astype(np.intp) - 1,
        order=data["relative_ordering"],
        ids=cell_strings(data["im_names"]),
    )
