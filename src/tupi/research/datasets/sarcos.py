"""InvDyn (SARCOS): a robot arm's joint motion and the torques that caused it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from tupi.research.datasets.dataset import Dataset, FloatArray
from tupi.research.datasets.fetch import find_or_download, in_data_folder
from tupi.research.datasets.matlab import read_mat
from tupi.runtime.errors import InputError

ARCHIVE = "sarcos_inv.mat"
URLS = ("http://www.gaussianprocess.org/gpml/data/sarcos_inv.mat",)

N_PUBLISHED = 44484
N_SUBSET = 12620  # rows of sarcos.npz

#: The 21 measurements: seven joints' positions, velocities and accelerations.
MEASUREMENTS = tuple(f"{kind}{joint}" for kind in ("position", "velocity", "acceleration") for joint in range(1, 8))
TORQUES = tuple(f"torque{joint}" for joint in range(1, 8))


def load_sarcos(
    baseline_columns: Sequence[int] = tuple(range(15)),
    views: Literal["joint", "columns"] = "joint",
) -> Dataset:
    """Load the SARCOS inverse dynamics data, the paper's InvDyn.

    Files: ``sarcos.npz`` in ``TUPI_DATA``, or ``sarcos_inv.mat`` there, in the cache or at its public home.

    Parameters
    ----------
    baseline_columns : sequence of int
        Which of the 21 measurements form g. The paper uses 15 and does not say which: the default is the
        first 15, that is all positions, all velocities and the first joint's acceleration.
    views : {"joint", "columns"}
        Whether the remaining measurements are one view, or one view each. The joint view is called
        ``acceleration`` where it holds accelerations alone, as by default, and ``remaining`` elsewhere.

    Returns
    -------
    Dataset
        Targets ``torque1`` to ``torque7``.
    """
    chosen = _checked_columns(baseline_columns)
    if views not in ("joint", "columns"):
        raise InputError(f"views: found {views!r}, 'joint' or 'columns' is accepted")
    X, Y = _read()
    rest = [column for column in range(len(MEASUREMENTS)) if column not in chosen]
    features = {"baseline": X[:, chosen]}
    if views == "columns":
        features |= {MEASUREMENTS[column]: X[:, [column]] for column in rest}
    else:
        name = "acceleration" if all(column >= 14 for column in rest) else "remaining"
        features[name] = X[:, rest]
    return Dataset(
        name="sarcos",
        views=features,
        targets={name: Y[:, k] for k, name in enumerate(TORQUES)},
        baseline=("baseline",),
        real=len(X) in (N_PUBLISHED, N_SUBSET),
        note=(
            f"SARCOS inverse dynamics (Vijayakumar and Schaal), {len(X):,} of {N_PUBLISHED:,} rows; the "
            "paper speaks of 45,000. Never use the official train/test split: the official test rows occur "
            "in training."
        ),
    )


def _checked_columns(columns: Sequence[int]) -> list[int]:
    chosen = list(columns)
    total = len(MEASUREMENTS)
    if not 0 < len(chosen) < total or len(set(chosen)) != len(chosen) or not set(chosen) <= set(range(total)):
        raise InputError(
            f"baseline_columns: found {chosen}, 1 to {total - 1} different columns from 0 to {total - 1} are accepted"
        )
    return chosen


def _read() -> tuple[FloatArray, FloatArray]:
    if path := in_data_folder("sarcos.npz"):
        with np.load(path, allow_pickle=False) as file:
            return file["X"], file["Y"]
    path = find_or_download(ARCHIVE, URLS, expected=f"sarcos.npz or {ARCHIVE}")
    table = read_mat(path, ARCHIVE, ("sarcos_inv",))["sarcos_inv"]
    inputs = len(MEASUREMENTS)
    if table.shape[1] != inputs + len(TORQUES):
        raise InputError(f"{ARCHIVE}: found {table.shape[1]} columns, {inputs + len(TORQUES)} are expected")
    return table[:, :inputs], table[:, inputs:]
