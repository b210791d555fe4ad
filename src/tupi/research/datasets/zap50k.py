"""UT-Zap50K: 50,025 shoe pictures, four attributes judged pair by pair."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tupi.research.datasets.dataset import Dataset, IntArray
from tupi.research.datasets.fetch import find_or_download, in_data_folder
from tupi.research.datasets.matlab import cell_strings, read_mat, read_zip_member
from tupi.runtime.errors import InputError

N_ITEMS = 50025
HOME = "https://vision.cs.utexas.edu/projects/finegrained/utzap50k"

#: In the order of the label file's cells.
ATTRIBUTES = ("open", "pointy", "sporty", "comfort")

#: File and variable of the two sets of comparisons: ordinary (UT-Zap50K-1) and fine-grained (UT-Zap50K-2).
COMPARISONS = {"coarse": ("zappos-labels.mat", "mturkOrder"), "fine": ("zappos-labels-fg.mat", "mturkHard")}

FIRST_IS_MORE, FIRST_IS_LESS = 1, 2


def load_zap50k(comparisons: Literal["coarse", "fine"] = "coarse") -> Dataset:
    """Load UT-Zap50K of Yu and Grauman, *Fine-Grained Visual Comparisons with Local Learning* (CVPR 2014).

    The colour histogram ``color`` (30 columns) is the baseline and ``gist`` (960) the extra view. There is no
    truth per item: `pairs` holds, per attribute, the comparisons that people agreed on; pairs that they
    judged equal are left out.

    Files: ``ut-zap50k-data.zip`` and ``ut-zap50k-feats.zip``, in ``TUPI_DATA`` (zipped, or unpacked as
    folders of the same name), in the cache or at their public home.

    Parameters
    ----------
    comparisons : {"coarse", "fine"}
        Ordinary pairs (UT-Zap50K-1), or pairs of shoes that look alike (UT-Zap50K-2).

    Returns
    -------
    Dataset
        50,025 items, no targets, pairs of 4 attributes.
    """
    if comparisons not in COMPARISONS:
        raise InputError(f"comparisons: found {comparisons!r}, 'coarse' or 'fine' is accepted")
    label_file, label_variable = COMPARISONS[comparisons]
    data, feats = _archive("ut-zap50k-data"), _archive("ut-zap50k-feats")
    cells = _variable(data, label_file, label_variable).ravel()
    if len(cells) != len(ATTRIBUTES):
        raise InputError(f"{label_file}: found {len(cells)} cells, one for each of {ATTRIBUTES} is expected")
    color = _variable(feats, "zappos-color.mat", "colorfeats")
    return Dataset(
        name="zap50k",
        views={"color": color, "gist": _variable(feats, "zappos-gist.mat", "gistfeats")},
        targets={},
        baseline=("color",),
        pairs={name: _ordered_pairs(cell) for name, cell in zip(ATTRIBUTES, cells, strict=True)},
        ids=cell_strings(_variable(data, "image-path.mat", "imagepath")),
        real=len(color) == N_ITEMS,
        note=(
            f"Yu and Grauman, UT-Zap50K (CVPR 2014), {comparisons} comparisons by majority of five people; "
            "not yet run on the real archive."
        ),
    )


def _archive(name: str) -> Path:
    """Return the unpacked folder `name` of the data folder, or the zip archive."""
    folder = in_data_folder(name)
    if folder is not None:
        return folder
    return find_or_download(f"{name}.zip", (f"{HOME}/{name}.zip",))


def _variable(archive: Path, file: str, variable: str) -> NDArray:
    source = archive / file if archive.is_dir() else read_zip_member(archive, file)
    return read_mat(source, file, (variable,))[variable]


def _ordered_pairs(rows: NDArray) -> tuple[IntArray, IntArray]:
    """Turn label rows into (higher, lower) positions.

    Columns: first image, second image (both counted from one), attribute, judgement (1: the first has more,
    2: the first has less, 3: equal), mean confidence, agreement.
    """
    first, second, judgement = rows[:, 0], rows[:, 1], rows[:, 3]
    decided = (judgement == FIRST_IS_MORE) | (judgement == FIRST_IS_LESS)
    more = judgement == FIRST_IS_MORE
    higher = np.where(more, first, second)[decided]
    lower = np.where(more, second, first)[decided]
    return higher.astype(np.intp) - 1, lower.astype(np.intp) - 1
