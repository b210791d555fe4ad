"""Figures in a notebook are those of the report."""

import pytest

from tests.reported import classes, evidence, labelled, scores
from tupi.results import plots
from tupi.runtime.errors import InputError


def test_figures_are_those_of_the_report():
    pytest.importorskip("plotly")
    result = labelled()
    shown = result.plot()
    assert list(shown) == ["gain", "scatter", "changes"]
    expected = plots.score_scatter(result)
    assert result.plot("scatter").to_plotly_json()["layout"]["meta"] == expected["layout"]["meta"]
    assert len(shown["scatter"].data) == len(expected["data"])
    assert [len(result.plot(name).data) > 0 for name in ("hsic", "weights")] == [True, True]


def test_only_what_a_result_has_is_drawn():
    pytest.importorskip("plotly")
    assert list(classes().plot()) == ["classes", "hsic", "weights"]
    assert list(scores().plot()) == ["scatter", "changes", "hsic"]
    few = labelled(evidence=evidence(before=float("nan"), after=float("nan"), low=float("nan"), high=float("nan")))
    with pytest.raises(InputError, match="name: found 'gain'; accepted for this result: 'scatter', 'changes'"):
        few.plot("gain")
