"""Results made by hand for the tests of figures, sentences and the report."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tupi.judging.evidence import Evidence
from tupi.results.result import Denoised

STEPS = pd.RangeIndex(3, name="step")


def evidence(**changes: Any) -> Evidence:
    return Evidence(
        **{
            "metric": "pairwise accuracy",
            "before": 0.8,
            "after": 0.83,
            "low": 0.01,
            "high": 0.05,
            "accepted": True,
            "n_labels": 50,
            "sentence": "The labels speak.",
        }
        | changes
    )


def scores(n: int = 40, seed: int = 0, **changes: Any) -> Denoised:
    """Return a ranking with two views and no labels."""
    rng = np.random.default_rng(seed)
    initial = rng.normal(size=n)
    fields: dict[str, Any] = {
        "predictions": initial + rng.normal(scale=0.3, size=n),
        "initial": initial,
        "weights": pd.DataFrame({"gist": [0.5, 0.6, 0.7], "color": [0.5, 0.4, 0.3]}, index=STEPS),
        "dependence": pd.DataFrame(
            {"before": [0.1, 0.2], "after": [0.4, 0.3], "p_value": [0.0001, 0.25]},
            index=pd.Index(["gist", "color"], name="view"),
        ),
        "evidence": None,
        "method": "tupi",
        "params": {"lam": np.float64(0.3), "n_iter": 2, "kernel": "gaussian", "random_state": 7},
        "history": pd.DataFrame({"energy_start": [np.nan, 0.5, 0.4], "energy_end": [np.nan, 0.4, 0.3]}, index=STEPS),
    }
    return Denoised(**fields | changes)


def labelled(**changes: Any) -> Denoised:
    """Return the same with labels."""
    history = scores().history.assign(score=[0.8, 0.84, 0.86])
    return scores(**{"history": history, "evidence": evidence(), "notes": ("A setting was chosen.",)} | changes)


def classes(n: int = 60, c: int = 4, seed: int = 0, **changes: Any) -> Denoised:
    """Return class probabilities, of which some change their class."""
    rng = np.random.default_rng(seed)
    before, after = rng.dirichlet(np.ones(c), size=n), rng.dirichlet(np.ones(c), size=n)
    mixed = 0.6 * before + 0.4 * after
    return scores(n, **{"initial": before, "predictions": mixed, "task": "classification"} | changes)
