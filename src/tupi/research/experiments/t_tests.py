"""The paper's t-tests."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import ttest_1samp

LEVEL = 0.05  # the paper's alpha = 0.95


def sign_of_difference(differences: ArrayLike) -> int:
    """Return 1 or -1 if a mean difference is significantly positive or negative in a two-sided t-test, and 0 otherwise.

    Differences of runs with the same seed are paired. Differences that are all the same are as sure as can be; a
    single one says nothing.
    """
    array = np.asarray(differences, np.float64)
    array = array[np.isfinite(array)]
    if len(array) < 2 or not array.any():
        return 0
    if np.ptp(array) == 0:
        return int(np.sign(array[0]))
    return int(np.sign(array.mean())) if ttest_1samp(array, 0.0).pvalue < LEVEL else 0


def signs_of(found: pd.DataFrame, first: str, second: str) -> list[int]:
    """Return the signs of a difference on the targets that the paper has t-tests for and both methods apply to."""
    if not {first, second} <= set(found.columns):
        return []
    tested = found[found["dataset"] != "mfeat"]
    runs = (one[first] - one[second] for _, one in tested.groupby(["dataset", "target"], sort=False))
    return [sign_of_difference(one) for one in runs if one.notna().any()]
