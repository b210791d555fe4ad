"""Draw the picture of the README from the demonstration: handwritten digits in ranked order, before and after.

Run: python experiments/make_pictures.py [--out docs/pictures]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import matplotlib as mpl
import numpy as np
import sklearn.datasets
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from tupi.research.demo import SHOWN, CaseResult, run_demo
from tupi.runtime.atomic import replacing

ROWS, COLUMNS = 8, 28
COLORS = mpl.colormaps["viridis"].resampled(10)
GREY = "#8A8A8A"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"), help="folder for the pictures")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        demo = run_demo(folder, report=False)
    shown = next(trial for trial in demo.trials if trial.view == SHOWN)
    print(write_picture(digits_picture(shown, demo.n_judging), out / "digits.png"))


def digits_picture(trial: CaseResult, n_judging: int) -> Figure:
    """Return digits in the order of their scores, and the ranks that each digit gets, before and after."""
    bunch = sklearn.datasets.load_digits()
    figure = Figure(figsize=(11, 5.4), layout="constrained", facecolor="white")
    grid = figure.subplots(2, 2, width_ratios=[3.2, 1.2])
    rows = (("Before", trial.before, trial.result.initial), ("After", trial.after, trial.result.predictions))
    for (strip, ranks), (when, accuracy, scores) in zip(grid, rows, strict=True):
        _draw_strip(strip, scores, bunch.images, bunch.target)
        strip.set_title(f"{when}: {100 * accuracy:.1f}% of pairs in the right order", loc="left", fontweight="bold")
        _draw_ranks(ranks, scores, bunch.target)
    grid[0, 1].set_title("place by digit (dotted: perfect)", loc="left", fontsize=10)
    grid[1, 0].set_xlabel("lowest score  →  highest score", fontsize=10)
    grid[1, 1].set_xlabel("digit", fontsize=10)
    caption = (
        f"A ranker sorts digits from 0 to 9 by one view alone ({trial.view}); tupi re-orders them with "
        f"{len(trial.result.dependence)} other views. Judged on {n_judging:,} digits whose labels nobody used."
    )
    figure.supxlabel(caption, fontsize=9, color="#444444")
    return figure


def _draw_strip(
    axes: Axes, scores: NDArray[np.float64], images: NDArray[np.float64], digits: NDArray[np.int64]
) -> None:
    """Draw items evenly spaced along the ranking, column by column, each in the colour of its digit."""
    order = np.argsort(scores, kind="stable")
    chosen = order[np.linspace(0, len(order) - 1, ROWS * COLUMNS).astype(int)]
    ink = images[chosen] / images.max()
    colors = COLORS(digits[chosen])[:, None, None, :3]
    # White paper, so that light colours still show: the ink is mixed in, the tile keeps a tint of the digit's colour.
    tiles = (1 - 0.35 * (1 - colors)) * (1 - ink[..., None]) + 0.55 * colors * ink[..., None]
    tiles = np.pad(tiles, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=1.0)
    side = tiles.shape[1]
    sheet = tiles.reshape(COLUMNS, ROWS, side, side, 3).transpose(1, 2, 0, 3, 4).reshape(ROWS * side, COLUMNS * side, 3)
    axes.imshow(sheet, interpolation="nearest", aspect="equal")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)


def _draw_ranks(axes: Axes, scores: NDArray[np.float64], digits: NDArray[np.int64]) -> None:
    """Draw how the places of each digit's items spread; a perfect ranking would lie on the grey steps."""
    places = np.argsort(np.argsort(scores, kind="stable")) / (len(scores) - 1)
    ends = np.concatenate([[0], np.cumsum(np.bincount(digits))]) / len(digits)
    boxes = axes.boxplot(
        [places[digits == digit] for digit in range(10)],
        positions=range(10),
        widths=0.7,
        showfliers=False,
        patch_artist=True,
        medianprops={"color": "black"},
    )
    for digit, box in enumerate(boxes["boxes"]):
        box.set_facecolor(COLORS(digit))
        axes.plot([digit - 0.5, digit + 0.5], [ends[digit : digit + 2].mean()] * 2, color=GREY, lw=1, ls=":", zorder=0)
    axes.set(ylim=(-0.02, 1.02), yticks=[0, 0.5, 1], yticklabels=["lowest", "middle", "highest"])
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def write_picture(figure: Figure, path: Path) -> Path:
    """Write a PNG, whole or not at all, without the date and version that would make each one differ."""
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=110, metadata={"Software": None})
    return path


if __name__ == "__main__":
    main()
