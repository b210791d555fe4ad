"""The pictures of the results page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from tupi.runtime.atomic import replacing

if TYPE_CHECKING:
    from tupi.research.experiments.surface import Surface

#: Okabe and Ito's colours, which the colour-blind can tell apart, each with a marker of its own.
STYLES = {
    "initial": ("#000000", "_", "$f^I$"),
    "kim": ("#E69F00", "v", "Kim et al."),
    "graph-ssl": ("#56B4E9", "s", "SSL on h"),
    "retrain": ("#F0E442", "D", "retrain on h"),
    "coconut": ("#009E73", "^", "CoConut"),
    "tupi": ("#D55E00", "o", "TUPI"),
    "tupi-joint": ("#CC79A7", "P", "TUPI, joint kernel"),
    "auto": ("#0072B2", "*", "ours (auto)"),
    "tupi+coconut": ("#CC79A7", "P", "TUPI+CoConut, one energy"),
    "select": ("#0072B2", "*", "TUPI or CoConut, selected"),
}
ENGINES = {"fused": ("#0072B2", "o"), "reference": ("#D55E00", "s"), "exact": ("#000000", "^")}
GREY = "#555555"
CLIP = 2.0  # points beyond which colours of the surface do not change any more
LOWEST = 6.0  # points below zero beyond which a path is cut off: it is lost anyway


def draw_accuracy(runs: pd.DataFrame, title: str, path: Path) -> None:
    """Draw accuracies by attribute, relative to f^I above and absolute below, with one standard deviation.

    Parameters
    ----------
    runs : DataFrame
        target, seed, and one column per method.
    title : str
        The dataset.
    path : Path
        Where to.
    """
    methods = [name for name in STYLES if name in runs and name != "initial" and runs[name].notna().any()]
    order = runs.groupby("target")["tupi"].mean().sort_values().index
    numbers = {target: k for k, target in enumerate(runs["target"].unique(), start=1)}
    figure = _figure(max(7.0, 1.5 + 1.15 * len(order)), 7.2)
    above, below = figure.subplots(2, 1, sharex=True)
    places = np.arange(len(order))
    width = 0.84 / len(methods)
    for k, name in enumerate(methods):
        color, marker, label = STYLES[name]
        shift = places + (k - (len(methods) - 1) / 2) * width
        gains = (runs[name] - runs["initial"]).groupby(runs["target"]).agg(["mean", "std"]).loc[order]
        above.bar(shift, gains["mean"], width, color=color, edgecolor="black", linewidth=0.5, label=label)
        above.errorbar(shift, gains["mean"], gains["std"], fmt="none", ecolor="black", elinewidth=0.8, capsize=1.5)
        levels = runs.groupby("target")[name].agg(["mean", "std"]).loc[order]
        below.errorbar(
            shift, levels["mean"], levels["std"], fmt=marker, color=color, ecolor=GREY, elinewidth=0.8, capsize=1.5,
            markeredgecolor="black", markeredgewidth=0.4, markersize=7,
        )  # fmt: skip
    base = runs.groupby("target")["initial"].mean().loc[order]
    below.hlines(base, places - 0.45, places + 0.45, color="black", linewidth=1.4, label="$f^I$")
    above.axhline(0, color="black", linewidth=1)
    above.set_ylabel("accuracy minus that of $f^I$, points")
    below.set_ylabel("accuracy, % of pairs")
    below.set_xticks(
        places, [f"{numbers[t]} {t}" if len(order) > 1 else str(t) for t in order], rotation=25, ha="right"
    )
    above.set_xlim(-0.55, len(order) - 0.45)
    for axes in (above, below):
        _tidy(axes)
        for place in places[:-1]:
            axes.axvline(place + 0.5, color="#DDDDDD", linewidth=0.8, zorder=0)
    handles, labels = above.get_legend_handles_labels()
    more, names = below.get_legend_handles_labels()
    figure.legend(handles + more, labels + names, loc="outside upper center", ncols=4, frameon=False)
    figure.suptitle(title, fontweight="bold", x=0.02, ha="left")
    _save(figure, path)


def draw_surface(
    surface: Surface, grids: Mapping[str, NDArray[np.float64]], along: NDArray[np.float64], title: str, path: Path
) -> None:
    """Draw the gain over lam and sigma_w2, and along T.

    Parameters
    ----------
    surface : Surface
        The grid.
    grids : mapping of ndarray of shape (lam, sigma_w2)
        Mean gains, with T "chosen" on labels and "fixed".
    along : ndarray of shape (seeds, settings, T + 1)
        Gains along T.
    title : str
        Dataset and attribute.
    path : Path
        Where to.
    """
    figure = _figure(14.0, 4.4)
    *left, right = figure.subplots(1, 3)
    for axes, key, how in zip(left, grids, ("T chosen on the labels", f"T = {surface.fixed}"), strict=True):
        largest = float(np.clip(np.abs(grids[key]).max(), 0.1, CLIP))
        shown = axes.pcolormesh(
            surface.log_sigma_w2, surface.log_lam, grids[key], cmap="PuOr", vmin=-largest, vmax=largest,
            shading="nearest",
        )  # fmt: skip
        extend = "both" if np.abs(grids[key]).max() > largest else "neither"
        figure.colorbar(shown, ax=axes, label="gain over $f^I$, points", extend=extend)
        axes.set(xlabel=r"$\log_{10}\,\sigma_w^2$", ylabel=r"$\log_{10}\,\lambda$", title=how)
    colors = [STYLES[name][0] for name in ("auto", "coconut", "kim", "tupi")]
    steps = np.arange(along.shape[2])
    for k, (lam, sigma_w2) in enumerate(surface.along):
        color = colors[k % len(colors)]
        mean, deviation = along[:, k].mean(axis=0), along[:, k].std(axis=0)
        label = rf"$\lambda$ = {lam:g}, $\sigma_w^2$ = {sigma_w2:g}"
        right.plot(steps, mean, color=color, linestyle=("-", "--", "-.", ":")[k % 4], linewidth=2, label=label)
        right.fill_between(steps, mean - deviation, mean + deviation, color=color, alpha=0.15, linewidth=0)
    right.axhline(0, color="black", linewidth=1)
    right.set_ylim(bottom=max(right.get_ylim()[0], -LOWEST))
    right.set(xlabel="T", ylabel="gain over $f^I$, points", title="along T (bands: one standard deviation)")
    right.legend(frameon=False, fontsize=9, loc="lower left")
    _tidy(right)
    figure.suptitle(title, fontweight="bold", x=0.02, ha="left")
    _save(figure, path)


def draw_scaling(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw seconds against the number of items, for embedding and for one step."""
    figure = _figure(10.5, 4.4)
    panels = figure.subplots(1, 2, sharex=True)
    for axes, what, title in zip(panels, ("embed", "step"), ("embedding, once", "one step"), strict=True):
        for engine, (color, marker) in ENGINES.items():
            points = sorted((one["n"], np.mean(one[what])) for one in results if one["engine"] == engine)
            if points:
                n, seconds = np.array(points).T
                axes.loglog(n, seconds, color=color, marker=marker, linewidth=2, label=engine)
                if engine == "fused":
                    line = seconds[-1] * n / n[-1]
                    axes.loglog(n, line, color=GREY, linestyle=":", linewidth=1, label="linear")
        axes.set(xlabel="items", title=title)
        axes.legend(frameon=False)
        _tidy(axes)
    panels[0].set_ylabel("seconds")
    _save(figure, path)


def _figure(width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def _tidy(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#E5E5E5", linewidth=0.8)
    axes.set_axisbelow(True)


def _save(figure: Figure, path: Path) -> None:
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=110)
