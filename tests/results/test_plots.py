"""Figures: their numbers are the result's numbers."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reported import classes, evidence, labelled, scores
from tupi.results import plots

ODD = "<b>&amp; $x$"


def all_figures():
    result = labelled()
    return {
        "scatter": plots.score_scatter(result),
        "changes": plots.change_histogram(result),
        "classes": plots.class_matrix(classes()),
        "weights": plots.weight_lines(result),
        "dependence": plots.dependence_bars(result),
        "steps": plots.score_steps(result, "pairwise accuracy"),
        "gain": plots.gain_interval(evidence()),
    }


@pytest.mark.parametrize("name", all_figures())
def test_each_figure_is_strict_json_with_a_text_alternative_and_titled_axes(name):
    figure = all_figures()[name]
    assert json.loads(json.dumps(figure, allow_nan=False)) == figure
    assert figure["layout"]["meta"]["alt"].endswith(".")
    assert figure["layout"]["xaxis"]["title"]["text"]


def test_drawing_offers_no_upload():
    assert plots.CONFIG["showSendToCloud"] is False
    assert plots.CONFIG["displaylogo"] is False
    buttons = {button for group in plots.CONFIG["modeBarButtons"] for button in group}
    assert "sendChartToCloud" not in buttons


def test_scatter_holds_all_items_and_marks_the_movers():
    result = scores()
    _, items, moved = plots.score_scatter(result)["data"]
    assert items["x"] == result.initial.tolist()
    assert items["y"] == result.predictions.tolist()
    assert items["text"] == [str(k) for k in range(40)]
    assert moved["x"] == result.initial[plots.movers(result)].tolist()


def test_scatter_of_many_items_is_an_even_sample_and_always_the_same():
    result = scores(20_000)
    figure = plots.score_scatter(result)
    items = figure["data"][1]
    assert len(items["x"]) == plots.MAX_POINTS == len(set(items["text"]))
    for x, y, name in zip(items["x"], items["y"], items["text"], strict=True):
        assert (x, y) == (result.initial[int(name)], result.predictions[int(name)])
    ranks = np.sort(np.argsort(np.argsort(result.initial))[[int(name) for name in items["text"]]])
    assert ranks[0] == 0
    assert ranks[-1] == 19_999
    assert np.diff(ranks).max() <= 5  # every fourth item along the initial order, give or take one
    assert figure == plots.score_scatter(scores(20_000))
    assert "5,000 of 20,000" in figure["layout"]["meta"]["alt"]


def test_markup_in_names_is_shown_not_obeyed():
    index = pd.Index([f"{ODD}{k}" for k in range(40)])
    names = [ODD, "color"]
    result = scores(index=index)
    weights = result.weights.set_axis(names, axis=1)
    dependence = result.dependence.set_axis(names, axis=0)
    result = scores(index=index, weights=weights, dependence=dependence)
    shown = "&lt;b&gt;&amp;amp; $x$"
    assert plots.score_scatter(result)["data"][1]["text"][3] == f"{shown}3"
    assert plots.weight_lines(result)["data"][0]["name"] == shown
    assert plots.dependence_bars(result)["layout"]["yaxis"]["ticktext"][0] == shown
    matrix = plots.class_matrix(classes(classes=(ODD, "b", "c", "d")))
    assert matrix["layout"]["xaxis"]["ticktext"][0] == shown


def naive_ranks(values):
    return np.array([1 + sum(other > value for other in values) for value in values])


def test_movers_are_those_with_the_largest_change_of_rank():
    result = scores(15)
    places = np.abs(naive_ranks(result.initial) - naive_ranks(result.predictions))
    moved = plots.movers(result)
    assert np.array_equal(places[moved], np.sort(places[places > 0])[::-1])
    assert len(plots.movers(scores(200))) == plots.N_MOVERS


def test_movers_of_values_and_of_classes():
    result = scores(15, task="regression")
    assert plots.movers(result)[0] == np.abs(result.predictions - result.initial).argmax()
    result = classes()
    assert plots.movers(result)[0] == np.abs(result.predictions - result.initial).max(axis=1).argmax()


def test_nobody_moved():
    result = scores()
    assert len(plots.movers(scores(predictions=result.initial))) == 0


@pytest.mark.parametrize("n", [15, 400])
def test_histogram_of_places_counts_each_item_in_the_bar_that_covers_it(n):
    result = scores(n)
    change = naive_ranks(result.initial) - naive_ranks(result.predictions)
    (bars,) = plots.change_histogram(result)["data"]
    for centre, count in zip(bars["x"], bars["y"], strict=True):
        assert count == np.sum(np.abs(change - centre) < bars["width"] / 2)
    assert sum(bars["y"]) == n
    assert len(bars["x"]) <= plots.MAX_BARS
    assert 0 in bars["x"]


changes = st.lists(st.floats(-1e300, 1e300, allow_subnormal=False), min_size=10, max_size=30)


@given(changes)
def test_histogram_of_values_counts_every_item_once(change):
    zeros = np.zeros(len(change))
    result = scores(len(change), initial=zeros, predictions=np.array(change), task="regression")
    (bars,) = plots.change_histogram(result)["data"]
    assert sum(bars["y"]) == len(change)
    centres, width = np.array(bars["x"]), bars["width"]
    assert np.allclose(centres, -centres[::-1])
    # Rounding may move an item across an edge between two bars, and nothing more.
    distance = np.abs(centres[:, None] / width - np.array(change) / width)
    assert np.all((distance < 0.5 - 1e-6).sum(axis=1) <= bars["y"])
    assert np.all((distance < 0.5 + 1e-6).sum(axis=1) >= bars["y"])


@pytest.mark.parametrize("task", ["ranking", "regression"])
def test_histogram_of_no_change_is_one_bar(task):
    result = scores(task=task)
    (bars,) = plots.change_histogram(scores(task=task, predictions=result.initial))["data"]
    assert (bars["x"], bars["y"]) == ([0.0], [40])


def test_class_changes_equal_a_count_by_hand():
    result = classes(classes=("a", "b", "c", "d"))
    table = plots.class_changes(result)
    expected = np.zeros((4, 4), dtype=int)
    for before, after in zip(result.initial, result.predictions, strict=True):
        expected[before.argmax(), after.argmax()] += 1
    assert np.array_equal(table, expected)
    assert list(table.index) == list(table.columns) == ["a", "b", "c", "d"]
    cells = plots.class_matrix(result)["data"][0]
    np.fill_diagonal(expected, 0)
    assert expected.sum() > 0
    assert cells["z"] == [[value or None for value in row] for row in expected.tolist()]
    assert f"{expected.sum()} items changed" in plots.class_matrix(result)["layout"]["meta"]["alt"]


def test_weights_along_the_steps():
    result = scores()
    lines = plots.weight_lines(result)["data"]
    assert [line["name"] for line in lines] == ["gist", "color"]
    for line, view in zip(lines, ("gist", "color"), strict=True):
        assert line["x"] == [0, 1, 2]
        assert line["y"] == result.weights[view].tolist()


def test_weights_that_are_not_known_become_gaps():
    weights = pd.DataFrame({"gist": [np.nan, 1.0], "color": [np.nan, np.nan]})
    gist, color = plots.weight_lines(scores(weights=weights))["data"]
    assert gist["y"] == [None, 1.0]
    assert color["y"] == [None, None]


def test_of_many_views_the_largest_are_drawn_and_can_be_told_apart():
    rng = np.random.default_rng(0)
    names = [f"one of a great many views, number {k}" for k in range(30)]
    weights = pd.DataFrame(rng.random((2, 30)), columns=names)
    dependence = pd.DataFrame(rng.random((30, 3)), index=names, columns=["before", "after", "p_value"])
    result = scores(weights=weights, dependence=dependence)
    lines = plots.weight_lines(result)["data"]
    assert sorted(line["y"][-1] for line in lines) == np.sort(weights.iloc[-1])[-plots.MAX_VIEWS :].tolist()
    assert len({line["name"] for line in lines}) == plots.MAX_VIEWS
    looks = {(line["line"]["color"], line["line"]["dash"]) for line in lines}
    assert len(looks) == plots.MAX_VIEWS
    figure = plots.dependence_bars(result)
    top = dependence[["before", "after"]].max(axis=1).nlargest(plots.MAX_VIEWS).index
    assert figure["data"][1]["x"] == dependence.loc[top, "after"].tolist()
    assert len(set(figure["layout"]["yaxis"]["ticktext"])) == plots.MAX_VIEWS


def test_colours_stand_out_from_white_and_from_the_dark_page():
    def luminance(colour):
        channels = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    def contrast(one, other):
        low, high = sorted([luminance(one), luminance(other)])
        return (high + 0.05) / (low + 0.05)

    # The accessibility guidelines ask for 3 of graphics; the last two colours serve only where six views are drawn.
    for colour in (*plots.COLORS[:4], plots.NEUTRAL):
        assert contrast(colour, "#ffffff") >= 3
        assert contrast(colour, "#15181c") >= 3


def test_dependence_bars_equal_the_table():
    result = scores()
    figure = plots.dependence_bars(result)
    assert [bars["name"] for bars in figure["data"]] == ["before", "after"]
    assert figure["data"][0]["x"] == [0.1, 0.2]
    assert figure["data"][1]["x"] == [0.4, 0.3]
    assert figure["layout"]["yaxis"]["ticktext"] == ["gist", "color"]
    assert "gist 0.100 to 0.400, color 0.200 to 0.300" in figure["layout"]["meta"]["alt"]


def test_score_along_the_steps():
    (line,) = plots.score_steps(labelled(), "R²")["data"]
    assert line["x"] == [0, 1, 2]
    assert line["y"] == [0.8, 0.84, 0.86]


@pytest.mark.parametrize(("metric", "factor"), [("pairwise accuracy", 100), ("accuracy", 100), ("R²", 1)])
def test_gain_with_its_interval(metric, factor):
    figure = plots.gain_interval(evidence(metric=metric))
    (point,) = figure["data"]
    (gain,) = point["x"]
    assert gain == pytest.approx(0.03 * factor)
    assert gain + point["error_x"]["array"][0] == pytest.approx(0.05 * factor)
    assert gain - point["error_x"]["arrayminus"][0] == pytest.approx(0.01 * factor)
    low, high = figure["layout"]["xaxis"]["range"]
    assert low < 0  # the line at zero can be seen
    assert high > 0.05 * factor
    found = [float(number) for number in re.findall(r"[+-]\d+\.?\d*", figure["layout"]["meta"]["alt"])]
    assert found == pytest.approx([0.03 * factor, 0.01 * factor, 0.05 * factor])


def test_a_gain_of_nothing_has_a_range_to_be_drawn_in():
    low, high = plots.gain_interval(evidence(after=0.8, low=0.0, high=0.0))["layout"]["xaxis"]["range"]
    assert low < 0 < high
