"""Figures of a result as plain plotly dictionaries, which the report and the page draw alike.

Nothing here needs plotly but `draw`, for notebooks: its script draws ``figure["data"]`` and ``figure["layout"]`` under
`CONFIG`. Backgrounds and inks are left to whoever draws, so that a figure suits light and dark. Each figure carries its
text alternative in ``figure["layout"]["meta"]["alt"]``.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.judging.catalogue import axis_of, words_of
from tupi.judging.evidence import Evidence
from tupi.results.outcome import Outcome
from tupi.results.readable import shortened, three_decimals
from tupi.runtime.errors import InputError
from tupi.runtime.json_values import numbers

Figure: TypeAlias = dict[str, Any]

# Okabe and Ito's colours, those with the most contrast on white and on near-black first; without their yellow and
# black, which vanish on one of the two. Lines also differ by dash and marker.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
NEUTRAL = "#8A8A8A"
DASHES = ("solid", "dash", "dot", "dashdot")
MARKERS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star")
BEFORE, AFTER = NEUTRAL, COLORS[0]

# How to draw: plotly's own bar of buttons would have one that uploads the figure to a company's server.
CONFIG = {
    "responsive": True,
    "displaylogo": False,
    "showSendToCloud": False,
    "plotlyServerURL": "",
    "modeBarButtons": [["toImage"], ["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
}

MAX_POINTS = 5_000  # more make a browser slow and a scatter no clearer
MAX_VIEWS = 12  # more lines or bars cannot be told apart; tables list all views
MAX_CLASSES = 20  # side of a matrix that is still readable
MAX_BARS = 41
N_MOVERS = 20


def item_names(result: Outcome, items: NDArray[np.int64]) -> list[str]:
    """Return ids as text, or positions where there are none."""
    return [str(name) for name in (items if result.index is None else result.index[items])]


def class_names(result: Outcome) -> list[str]:
    """Return the names of the class columns as text."""
    return [str(name) for name in result.classes or range(result.initial.shape[1])]


def movers(result: Outcome) -> NDArray[np.int64]:
    """Return the positions of the items that changed most, the biggest change first; unchanged ones are left out.

    For ranking by places, for regression by value, for classification by the largest change of a class score.
    """
    change = _change(result)
    size = np.abs(change) if change.ndim == 1 else np.abs(change).max(axis=1)
    order = np.argsort(-size, kind="stable")[:N_MOVERS]
    return order[size[order] > 0]


def _change(result: Outcome) -> NDArray[Any]:
    """Return what each item moved by: places gained for ranking, else the difference of values."""
    if result.task == "ranking":
        table = result.table()
        return (table["rank_before"] - table["rank_after"]).to_numpy()
    return result.predictions - result.initial


def score_scatter(result: Outcome, max_points: int = MAX_POINTS) -> Figure:
    """Return old against new scores, with the biggest movers marked.

    Of more than ``max_points`` items, that many are shown: evenly spaced along the initial order, the same each time.
    """
    before, after = result.initial, result.predictions
    n = len(before)
    shown = np.arange(n)
    if n > max_points:
        shown = np.sort(np.argsort(before, kind="stable")[np.linspace(0, n - 1, max_points).astype(int)])
    moved = movers(result)
    ends = numbers([min(before.min(), after.min()), max(before.max(), after.max())])
    traces = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": numbers(before[items]),
            "y": numbers(after[items]),
            "text": [_label(name, 60) for name in item_names(result, items)],
            "hovertemplate": "%{text}<br>before %{x:.4~g}<br>after %{y:.4~g}<extra></extra>",
            "marker": marker,
        }
        for name, items, marker in (
            ("items", shown, {"color": COLORS[0], "size": 5, "opacity": 0.65}),
            ("biggest movers", moved, {"color": COLORS[1], "size": 9, "symbol": "diamond-open", "line": {"width": 2}}),
        )
    ]
    line = {
        "type": "scatter",
        "mode": "lines",
        "name": "unchanged",
        "x": ends,
        "y": ends,
        "hoverinfo": "skip",
        "line": {"color": NEUTRAL, "dash": "dot", "width": 1.5},
    }
    share = f"{len(shown):,} of {n:,} items" if len(shown) < n else f"{n:,} items"
    alt = f"Scatter plot of {share}: score before against score after; items on the dotted diagonal kept their score."
    return _figure([line, *traces], alt, _axis("before", tickformat="~g"), _axis("after", tickformat="~g"), legend=True)


def change_histogram(result: Outcome) -> Figure:
    """Return how far the items moved: in places for ranking, in units of the prediction for regression."""
    change = _change(result)
    if result.task == "ranking":
        width: float = _odd_at_least((2 * np.abs(change).max() + 1) / MAX_BARS)
        unit = "places up (+) or down (-)"
    else:
        width = float(np.abs(change).max()) * (2 / MAX_BARS) or 1.0  # unchanged predictions make one bar at zero
        unit = "change of the prediction"
    # Bars are centred on multiples of the width, so that one holds zero and nothing else but what is near it.
    reach = int(np.ceil(np.abs(change).max() / width - 0.5))
    centres = np.arange(-reach, reach + 1) * width
    edges = (np.arange(-reach, reach + 2) - 0.5) * width
    edges[0], edges[-1] = min(edges[0], change.min()), max(edges[-1], change.max())  # whatever rounding did
    counts = np.histogram(change, edges)[0]
    bars = {
        "type": "bar",
        "x": numbers(centres),
        "y": counts.tolist(),
        "width": width,
        "marker": {"color": [COLORS[0] if c > 0 else COLORS[1] if c < 0 else NEUTRAL for c in centres]},
        "hovertemplate": "about %{x:.4~g}: %{y:,} items<extra></extra>",
    }
    up, down = int((change > 0).sum()), int((change < 0).sum())
    alt = (
        f"Histogram of changes: {up:,} items moved up, {down:,} down, {len(change) - up - down:,} stayed; "
        f"half of all moved by at most {np.median(np.abs(change)):.4g}."
    )
    return _figure([bars], alt, _axis(unit, tickformat="~g"), _axis("items"), bargap=0)


def class_changes(result: Outcome) -> pd.DataFrame:
    """Return how many items went from each class (row) to each class (column), by their highest score."""
    names, c = class_names(result), result.initial.shape[1]
    pairs = result.initial.argmax(axis=1) * c + result.predictions.argmax(axis=1)
    return pd.DataFrame(np.bincount(pairs, minlength=c * c).reshape(c, c), index=names, columns=names)


def class_matrix(result: Outcome) -> Figure:
    """Return the numbers of items that changed class, from rows to columns; who stayed is left out."""
    table = class_changes(result)
    counts = table.to_numpy().astype(float)
    stayed = int(np.trace(counts))
    np.fill_diagonal(counts, 0)  # else the many that stay would hide the few that change
    counts[counts == 0] = np.nan  # an empty cell shows the page, light or dark
    places = list(range(len(table)))
    ticks = {
        "tickvals": places,
        "ticktext": [_label(name, 16) for name in table.index],
        "showgrid": False,
        "zeroline": False,
    }
    cells = {
        "type": "heatmap",
        "x": places,
        "y": places,
        "z": [numbers(row) for row in counts],
        "text": [["" if np.isnan(v) else f"{int(v):,}" for v in row] for row in counts],
        "texttemplate": "%{text}" if len(table) <= MAX_CLASSES else "",
        "xgap": 1,
        "ygap": 1,
        "zmin": 0,
        "colorscale": [[0, "#DCEBF5"], [1, "#005A8D"]],
        "showscale": len(table) > MAX_CLASSES,
        "hoverongaps": False,
        "hovertemplate": "from %{y} to %{x}: %{z} items<extra></extra>",
    }
    moved = int(np.nansum(counts))
    alt = f"Matrix of class changes: {moved:,} items changed class, {stayed:,} stayed."
    return _figure([cells], alt, _axis("class after", **ticks), _axis("class before", autorange="reversed", **ticks))


def weight_lines(result: Outcome) -> Figure:
    """Return the weight of each view along the steps; of many views, those that weigh most at the end."""
    weights = result.weights
    heaviest = weights.iloc[-1].fillna(0.0).sort_values(ascending=False, kind="stable").index[:MAX_VIEWS]
    steps = [int(step) for step in weights.index]
    lines = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": _label(view),
            "x": steps,
            "y": numbers(weights[view]),
            "line": {"color": COLORS[k % len(COLORS)], "dash": DASHES[k // len(COLORS) % len(DASHES)], "width": 2},
            "marker": {"symbol": MARKERS[k % len(MARKERS)], "size": 7},
            "hovertemplate": "%{fullData.name}<br>step %{x}: weight %{y:.3f}<extra></extra>",
        }
        for k, view in enumerate(view for view in weights.columns if view in heaviest)
    ]
    ends = ", ".join(f"{view} {three_decimals(weights[view].iloc[-1])}" for view in heaviest)
    alt = f"Lines: the weight of each view over {len(steps) - 1} steps. At the end: {ends}."
    return _figure(
        lines,
        alt,
        _steps_axis(steps),
        _axis("weight", rangemode="tozero"),
        legend=True,
        height=320 + 18 * len(lines),  # in a narrow window the legend takes a row for each view
    )


def dependence_bars(result: Outcome) -> Figure:
    """Return the normalised HSIC of predictions and views, before and after; of many views, the largest."""
    table = result.dependence
    largest = table[["before", "after"]].max(axis=1).sort_values(ascending=False, kind="stable").index[:MAX_VIEWS]
    table = table.loc[largest]
    places = list(range(len(table)))
    bars = [
        {
            "type": "bar",
            "orientation": "h",
            "name": when,
            "x": numbers(table[when]),
            "y": places,
            "marker": {"color": color},
            "hovertemplate": "%{y}, " + when + ": %{x:.3f}<extra></extra>",
        }
        for when, color in (("before", BEFORE), ("after", AFTER))
    ]
    parts = [
        f"{view} {three_decimals(row['before'])} to {three_decimals(row['after'])}" for view, row in table.iterrows()
    ]
    alt = f"Bars: normalised HSIC of the predictions with each view, before to after: {', '.join(parts)}."
    ticks = {"tickvals": places, "ticktext": [_label(str(view)) for view in table.index]}
    return _figure(
        bars,
        alt,
        _axis("normalised HSIC", rangemode="tozero"),
        _axis("", autorange="reversed", **ticks),
        legend=True,
        height=150 + 42 * len(places),
    )


def score_steps(result: Outcome, metric: str) -> Figure:
    """Return the score on the labels along the steps; ``result.history`` must have it."""
    scores, steps = result.history["score"], [int(step) for step in result.history.index]
    line = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": steps,
        "y": numbers(scores),
        "line": {"color": COLORS[0], "width": 2},
        "marker": {"size": 7},
        "hovertemplate": "step %{x}: %{y:.4f}<extra></extra>",
    }
    first, last = three_decimals(scores.iloc[0]), three_decimals(scores.iloc[-1])
    alt = f"Line: {metric} on the labels that chose the step, from {first} at step 0 to {last} at step {steps[-1]}."
    return _figure([line], alt, _steps_axis(steps), _axis(metric, tickformat=words_of(metric).ticks))


def gain_interval(evidence: Evidence) -> Figure:
    """Return the gain on held-out labels with its 95 per cent interval and a line at zero."""
    factor, axis = words_of(evidence.metric).factor, axis_of(evidence.metric)
    gain, low, high = (factor * value for value in (evidence.gain, evidence.low, evidence.high))
    point = {
        "type": "scatter",
        "mode": "markers",
        "x": numbers([gain]),
        "y": [0],
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": numbers([high - gain]),
            "arrayminus": numbers([gain - low]),
            "color": COLORS[0],
            "thickness": 3,
            "width": 8,
        },
        "marker": {"color": COLORS[0], "size": 12},
        "hovertemplate": "gain %{x:+.3~f}<extra></extra>",
    }
    whose = "Gain" if evidence.accepted else "Gain of the candidate that was turned down"
    alt = f"{whose} in {axis}: {gain:+.3g}, 95 per cent interval {low:+.3g} to {high:+.3g}."
    zero = {"type": "line", "x0": 0, "x1": 0, "yref": "paper", "y0": 0, "y1": 1}
    shapes = [zero | {"line": {"color": NEUTRAL, "dash": "dot", "width": 2}}]
    hidden = {"visible": False, "range": [-1, 1]}
    ends = (min(low, 0.0), max(high, 0.0))
    margin = 0.1 * (ends[1] - ends[0]) or 1.0
    x = _axis(f"gain in {axis}", range=numbers([ends[0] - margin, ends[1] + margin]))
    return _figure([point], alt, x, hidden, shapes=shapes, height=170)


def _figure(data: list[Figure], alt: str, x: Figure, y: Figure, legend: bool = False, **layout: Any) -> Figure:
    return {
        "data": data,
        "layout": {
            "xaxis": x,
            "yaxis": y,
            "showlegend": legend,
            # A legend above the plot leaves narrow windows their width.
            "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"},
            "margin": {"l": 50, "r": 16, "t": 36, "b": 48},
            "height": 380,
            "dragmode": False,  # or a finger that scrolls the page would zoom the plot
            "meta": {"alt": alt},
            **layout,
        },
    }


def _axis(title: str, **options: Any) -> Figure:
    return {"title": {"text": title}, "automargin": True, **options}


def _steps_axis(steps: list[int]) -> Figure:
    return _axis("step", **({"dtick": 1} if len(steps) <= 12 else {}))


def _odd_at_least(width: float) -> int:
    """Return the least odd whole number that is not smaller: bars of that width split whole places evenly."""
    whole = int(np.ceil(width))
    return whole + 1 - whole % 2


def _label(text: str, longest: int = 24) -> str:
    """Return text that plotly shows as it is: shortened, and free of what it would take for markup."""
    return escape(shortened(text, longest), quote=False)


def figures_of(result: Outcome) -> dict[str, Callable[[], Figure]]:
    """Return the figures that a result has, by the names that the report gives them."""
    found: dict[str, Callable[[], Figure]] = {}
    evidence = result.evidence
    if evidence is not None and evidence.low == evidence.low:  # NaN if too few labels judge
        found["gain"] = lambda: gain_interval(evidence)
    if result.initial.ndim == 1:
        found["scatter"] = lambda: score_scatter(result)
        found["changes"] = lambda: change_histogram(result)
    else:
        found["classes"] = lambda: class_matrix(result)
    found["hsic"] = lambda: dependence_bars(result)
    found["weights"] = lambda: weight_lines(result)
    return found


def draw(result: Outcome, name: str) -> Any:
    """Return a figure of plotly, which a notebook shows.

    Parameters
    ----------
    result : Outcome
        What to draw.
    name : str
        Which figure.
    """
    try:
        from plotly.graph_objects import Figure as Drawn
    except ImportError:
        raise ImportError('Figures need plotly: run `pip install "tupi[report]"`.') from None
    if not len(result.initial):
        raise InputError("plot: found a result that was saved without its items; accepted: one with items.")
    known = figures_of(result)
    if name not in known:
        raise InputError(f"name: found {name!r}; accepted for this result: {', '.join(map(repr, known))}.")
    return Drawn(known[name]())
