"""Time against the number of items, from a thousand to a million."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tupi import __version__
from tupi.algorithm.trajectory import extend, follow
from tupi.embedding.prepared import Prepared
from tupi.inputs.problem import make_problem
from tupi.methods.tupi import Tupi
from tupi.research.experiments.experiment import Experiment, plain
from tupi.research.experiments.page import check, figure, picture, table
from tupi.research.experiments.store import Cell, Store
from tupi.runtime.computing import available_cores, threads_for


@dataclass(frozen=True)
class Scaling(Experiment):
    """The configuration.

    Parameters
    ----------
    sizes : tuple of (str, tuple of int)
        Numbers of items for each engine.
    n_views, n_columns : int
        Views, and columns of each.
    method : Tupi
        Settings; the engine is set by `sizes`.
    repeats : int
        How often each time is measured.
    """

    name: ClassVar[str] = "scaling"
    title: ClassVar[str] = "Scaling"
    datasets: ClassVar[tuple[str, ...]] = ("synthetic",)
    parallel: ClassVar[bool] = False

    sizes: tuple[tuple[str, tuple[int, ...]], ...] = (
        ("fused", (1_000, 3_000, 10_000, 30_000, 50_000, 100_000, 300_000, 1_000_000)),
        ("reference", (1_000, 3_000, 10_000, 30_000)),
        ("exact", (1_000, 2_000)),
    )
    n_views: int = 5
    n_columns: int = 10
    method: Tupi = field(default_factory=lambda: Tupi(lam=0.3, sigma_w2=0.1, n_iter=10))
    repeats: int = 3

    def cells(self, datasets: Sequence[str], seeds: Sequence[int]) -> list[Cell]:
        """Return one cell per engine and size, whatever the datasets and seeds."""
        return [Cell(self.label, "synthetic", f"{engine} {n}", 0) for engine, sizes in self.sizes for n in sizes]

    def settings(self, dataset: str) -> dict[str, Any]:
        """Return the configuration, and how many cores there are."""
        return {"tupi": __version__, "experiment": plain(self), "cores": available_cores()}

    def compute(self, cell: Cell, store: Store) -> dict[str, Any]:
        """Return seconds to embed the views and to take a step, each as often as it is measured."""
        engine, n = cell.target.split()
        predictions, views = make_items(int(n), self.n_views, self.n_columns)
        method = replace(self.method, engine=engine)
        load_before = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
        warm = Prepared(make_problem(*make_items(200, self.n_views, self.n_columns)))
        method.fit(warm, None)  # compiled code is compiled on its first call
        embed, step = [], []
        for _ in range(self.repeats):
            start = time.perf_counter()
            prepared = Prepared(make_problem(predictions, views))
            with threads_for(None, int(n) * self.n_views * method.rank):
                trajectory = method.settings(False)[0].trajectory(prepared)
                extend([trajectory])  # step 0: embeds
                embedded = time.perf_counter()
                follow([trajectory])
            embed.append(embedded - start)
            step.append((time.perf_counter() - embedded) / self.steps)
        return {"n": int(n), "engine": engine, "embed": embed, "step": step, "load": load_before}

    def seconds(self, dataset: str) -> float:
        """Return about how long a cell takes, on average."""
        return 20.0

    def section(self, records: Sequence[dict[str, Any]], pictures: Path) -> str:
        """Return the picture, the table, and how time grows."""
        from tupi.research.experiments.drawing import draw_scaling

        results = [record["result"] for record in records]
        draw_scaling(results, pictures / "scaling.png")
        rows = []
        for one in results:
            embed, step = np.array(one["embed"]), np.array(one["step"])
            times = (figure(embed), figure(1000 * step), figure(embed + self.steps * step))
            rows.append([f"{one['n']:,}", one["engine"], *times])
        rows.append(["50,000", "**paper**", "", "", "about 1"])
        fused = sorted((one["n"], np.mean(one["step"])) for one in results if one["engine"] == "fused")
        large = np.log([pair for pair in fused if pair[0] >= 10_000])
        parts = [
            INTRODUCTION.format(
                m=self.n_views,
                d=self.n_columns,
                rank=self.method.rank,
                cores=available_cores(),
                repeats=self.repeats,
            )
        ]
        loads = [one["load"] for one in results]
        parts.append(LOAD.format(low=min(loads), high=max(loads), cores=available_cores()))
        parts.append(picture("scaling.png", "Seconds against the number of items") + "\n")
        parts.append(table(["items", "engine", "embedding, s", "step, ms", f"{self.steps} steps in all, s"], rows))
        if len(large) > 1:
            exponent = np.polyfit(large[:, 0], large[:, 1], 1)[0]
            parts.append("\n" + check("a step is linear in the items", bool(exponent < 1.15), f"n^{exponent:.2f}"))
        return "".join(parts) + f"\n{WHY}\n"

    @property
    def steps(self) -> int:
        """T."""
        assert self.method.n_iter is not None
        return self.method.n_iter


def make_items(n: int, n_views: int, n_columns: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return noisy predictions of a hidden value and views that depend on it."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=n)
    views = {}
    for k in range(n_views):
        slopes, shifts = rng.normal(size=(2, n_columns))
        views[f"view {k}"] = np.cos(truth[:, None] * slopes + shifts) + 0.5 * rng.normal(size=(n, n_columns))
    return truth + 0.7 * rng.normal(size=n), views


INTRODUCTION = (
    "Made data: {m} views of {d} columns, K = {rank}, on {cores} cores. `fused` is the default engine. `reference` "
    "computes as the paper writes it (label `e:HSICeval`). `exact` uses whole n x n matrices. "
    "Each time is the mean of {repeats} measurements (standard deviation).\n\n"
)
LOAD = (
    "The load of the machine, that is how many processes wanted to compute in the minute before each run, was "
    "{low:.1f} to {high:.1f}. It includes what this command itself computed just before. A load above {cores} means "
    "that others were computing too, and then times are too long.\n\n"
)
WHY = (
    "*Why they differ.* The paper gives orders, O(m n K^2) for a gradient and O(m n^3) without the approximation, and "
    "one time: about 1 second for 50,000 items. It does not say on which machine, and for how many views and steps."
)
