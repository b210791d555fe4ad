"""The figures of a result in a notebook, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tupi.results import plots
from tupi.results.outcome import Outcome
from tupi.runtime.errors import InputError


def figures_of(result: Outcome) -> dict[str, Callable[[], plots.Figure]]:
    """Return the figures that a result has, by the names that the report gives them."""
    found: dict[str, Callable[[], plots.Figure]] = {}
    evidence = result.evidence
    if evidence is not None and evidence.low == evidence.low:  # NaN if too few labels judge
        found["gain"] = lambda: plots.gain_interval(evidence)
    if result.initial.ndim == 1:
        found["scatter"] = lambda: plots.score_scatter(result)
        found["changes"] = lambda: plots.change_histogram(result)
    else:
        found["classes"] = lambda: plots.class_matrix(result)
    found["hsic"] = lambda: plots.dependence_bars(result)
    found["weights"] = lambda: plots.weight_lines(result)
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
        from plotly.graph_objects import Figure
    except ImportError:
        raise ImportError('Figures need plotly: run `pip install "tupi[report]"`.') from None
    if not len(result.initial):
        raise InputError("plot: found a result that was saved without its items; accepted: one with items.")
    known = figures_of(result)
    if name not in known:
        raise InputError(f"name: found {name!r}; accepted for this result: {', '.join(map(repr, known))}.")
    return Figure(known[name]())
