"""Parts 6 and 7: fused against reference engine on real data, and one thread against several."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from experiments.auto import instances
from scipy.stats import spearmanr

import tupi
from benchmarks.measure import Figure, Part
from benchmarks.workload import make

DATASETS = ("mfeat", "pubfig", "osr", "sarcos")
SETTINGS: dict[str, Any] = {"method": "tupi", "lam": 0.3, "sigma_w2": 0.1, "n_iter": 20}


def engines(threads: int, targets: int | None) -> Part:
    """Part 6: the worst agreement over the targets of each dataset; ``targets`` looks at the first few only."""
    if "TUPI_DATA" not in os.environ:
        return Part(notes=["Part 6 needs the data sets: set TUPI_DATA to the folder that holds them."])
    part = Part()
    for dataset in DATASETS:
        found: list[dict[str, Any]] = []
        for one in list(instances(dataset, 0))[:targets]:
            fused, reference = (
                tupi.denoise(one.initial, one.views, engine=engine, n_threads=threads, **SETTINGS)
                for engine in ("fused", "reference")
            )
            energies = [float(each.history["energy_end"].iloc[-1]) for each in (fused, reference)]
            found.append(
                {
                    "target": one.target,
                    "spearman": float(spearmanr(fused.predictions, reference.predictions).statistic),
                    "energy": abs(energies[0] - energies[1]) / abs(energies[1]),
                }
            )
        part.details[dataset] = found
        spearman, energy = min(each["spearman"] for each in found), max(each["energy"] for each in found)
        name = f"fused and reference on {dataset}, {len(found)} targets"
        part.figures += [
            Figure("6", f"{name}: least Spearman", spearman, 0.9999, "at least", form="{:.7f}"),
            Figure("6", f"{name}: final energy, relative difference", energy, 1e-3, form="{:.1e}"),
        ]
    return part


def thread_counts(threads: int, n: int) -> Part:
    """Part 7: the largest difference between results on one thread and on several."""
    if threads == 1:
        return Part(notes=["Part 7 compares one thread with several: ask for more with --threads."])
    scores, views = make(n, 64)
    one, several = (tupi.denoise(scores, views, n_threads=count, **SETTINGS).predictions for count in (1, threads))
    difference = float(np.max(np.abs(one - several)) / np.max(np.abs(one)))
    return Part([Figure("7", f"1 and {threads} threads: relative difference", difference, 1e-6, form="{:.1e}")])
