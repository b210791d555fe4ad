"""The plot of a comparison: each method's gain with its interval, and a line at zero."""

from __future__ import annotations

from html import escape
from pathlib import Path

import pandas as pd

from tupi.judging.catalogue import axis_of, words_of
from tupi.runtime.atomic import replacing, write_atomically
from tupi.runtime.errors import InputError

IMAGES = (".png", ".svg", ".pdf")
PAGES = (".html", ".htm")
# Okabe and Ito's colours; the marker says the same to those who do not see them.
LOOKS = {
    "better": ("#009E73", "o", "circle"),
    "no clear change": ("#666666", "s", "square"),
    "worse": ("#D55E00", "D", "diamond"),
}


def plot_gains(table: pd.DataFrame, metric: str, title: str, path: Path) -> Path:
    """Draw all methods that were judged, the best on top, and return the file's path.

    Parameters
    ----------
    table : DataFrame
        See `tupi.compare.Comparison`.
    metric : str
        What is gained.
    title : str
        A line above the plot.
    path : Path
        The file to write; its suffix says what kind.
    """
    suffix = path.suffix.lower()
    if suffix not in IMAGES + PAGES:
        raise InputError(f"path: {path} has the suffix {path.suffix!r}; accepted: {', '.join(PAGES + IMAGES)}.")
    judged = table.dropna(subset="gain").iloc[::-1]  # plots count upwards
    if judged.empty:
        raise InputError("There is nothing to plot: no method could be judged.")
    factor = words_of(metric).factor
    gains = judged.assign(**{name: factor * judged[name] for name in ("gain", "low", "high")})
    axis = f"gain in {axis_of(metric)}, with 95% interval"
    if suffix in PAGES:
        return write_atomically(path, _page(gains, axis, title).encode())
    _image(gains, axis, title, path)
    return path


def _image(gains: pd.DataFrame, axis: str, title: str, path: Path) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError(
            f"path: {path.suffix} files need matplotlib: pip install matplotlib, or write an HTML file."
        ) from None
    figure = Figure(figsize=(8, 1.4 + 0.36 * len(gains)), layout="constrained")
    axes = figure.subplots()
    axes.axvline(0, color="#666666", linestyle=":", linewidth=1.5)
    places = pd.Series(range(len(gains)), index=gains.index)
    for verdict, (color, marker, _) in LOOKS.items():
        some = gains[gains["verdict"] == verdict]
        if len(some):
            reach = [some["gain"] - some["low"], some["high"] - some["gain"]]
            axes.errorbar(
                some["gain"], places[some.index], xerr=reach, fmt=marker, color=color, capsize=3, label=verdict
            )
    axes.set_yticks(places, gains["method"])
    axes.set_ylim(-0.7, len(gains) - 0.3)
    axes.set_xlabel(axis)
    axes.set_title(title, fontsize="medium")
    axes.grid(axis="x", alpha=0.3)
    figure.legend(loc="outside lower center", ncols=len(LOOKS), frameon=False)
    with replacing(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:].lower(), dpi=150)


def _page(gains: pd.DataFrame, axis: str, title: str) -> str:
    try:
        import plotly.graph_objects as go
    except ImportError:
        raise InputError("path: HTML files need plotly: pip install 'tupi[report]', or write a PNG file.") from None
    figure = go.Figure()
    for verdict, (color, _, marker) in LOOKS.items():
        some = gains[gains["verdict"] == verdict]
        if len(some):
            reach = {
                "type": "data",
                "symmetric": False,
                "array": (some["high"] - some["gain"]).tolist(),
                "arrayminus": (some["gain"] - some["low"]).tolist(),
            }
            figure.add_scatter(
                x=some["gain"].tolist(),
                y=[escape(name, quote=False) for name in some["method"]],
                error_x=reach,
                mode="markers",
                name=verdict,
                marker={"color": color, "symbol": marker, "size": 11},
                hovertemplate="%{y}: %{x:+.3~g}<extra></extra>",
            )
    figure.add_vline(0, line={"color": "#666666", "dash": "dot"})
    figure.update_layout(
        title={"text": title, "font": {"size": 16}},
        xaxis={"title": {"text": axis}, "automargin": True, "zeroline": False},
        yaxis={
            "type": "category",
            "categoryorder": "array",
            "categoryarray": [escape(name, quote=False) for name in gains["method"]],
            "automargin": True,
        },
        height=190 + 34 * len(gains),
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        template="plotly_white",
    )
    page = figure.to_html(include_plotlyjs=True, full_html=True, config={"displaylogo": False}, div_id="gains")
    return page.replace("<head>", f"<head><title>{escape(title)}</title>", 1)
