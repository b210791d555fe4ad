"""All views as one: what they say together, where each alone says little."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.joint_graph import joint_points
from tupi.embedding.prepared import Prepared
from tupi.inputs.views import View


def joint_view(prepared: Prepared, news: NDArray[np.float64] | None = None) -> View:
    """Return the views side by side as one view of the items that take part.

    Each contributes the same mean squared distance whatever its dimension, as in `tupi.embedding.joint_graph`. Where an
    item lacks a view it is put at the view's mean.

    Parameters
    ----------
    prepared : Prepared
        The problem.
    news : ndarray of shape (m,), optional
        What each view has beyond the predictions, from 0 to 1; its share in squared distances is multiplied by this.
    """
    points = joint_points(prepared)
    columns = np.array(points.columns, np.float64)
    if news is not None and news.any():
        for share, (start, stop) in zip(news, itertools.pairwise(points.offsets), strict=True):
            columns[:, start:stop] *= np.sqrt(share)
    return View("all views", columns)
