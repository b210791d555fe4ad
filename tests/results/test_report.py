"""The report: whole, self-contained, safe and complete in every case."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from datetime import date
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import tupi
from tests.reported import classes, evidence, labelled, scores
from tupi.judging.metrics import METRICS
from tupi.results import plots
from tupi.results.html import table
from tupi.results.report import render, write_report
from tupi.results.summary import MEANINGS

SECTIONS = [
    "Verdict",
    "Gain",
    "Before and after",
    "Views",
    "Uncertainty",
    "Label next",
    "Biggest movers",
    "Settings and origin",
]
VOID = {"meta", "br", "link", "img", "hr", "input"}
NAN = float("nan")
EVIL = "<script>alert(1)</script>"


class Page(HTMLParser):
    """A report taken apart: tags that must match, text outside scripts, and attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text, self.scripts, self.headings = "", {}, []
        self.rows: list[list[str]] = []
        self.feed(html)
        self.close()
        assert not self.open
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag in ("h1", "h2", "h3"):
            self.headings.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("script", "style"):
            if name := self.tags[-1][1].get("id"):
                self.scripts[name] = data
            return
        self.text += data + " "
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data
        if self.open and self.open[-1] in ("h1", "h2", "h3"):
            self.headings[-1] += data

    def figures(self):
        return {name: json.loads(data) for name, data in self.scripts.items()}

    def attributes(self, name):
        return [attributes[name] for _, attributes in self.tags if name in attributes]


def unchanged(result, **changes):
    steps = {"weights": result.weights.iloc[:1], "history": result.history.iloc[:1]}
    fields = {name: getattr(result, name) for name in ("task", "evidence", "classes")}
    return scores(len(result.initial), initial=result.initial, predictions=result.initial, **fields | steps | changes)


def two_steps():
    result = labelled()
    return labelled(weights=result.weights.iloc[[0, 2]], history=result.history.iloc[[0, 2]])


CASES = {
    "ranking": scores,
    "labelled": labelled,
    "regression": lambda: labelled(task="regression", evidence=evidence(metric="R²")),
    "classification": lambda: classes(evidence=evidence(metric="accuracy")),
    "same classes": lambda: classes(predictions=classes().initial ** 2),
    "many classes": lambda: classes(400, 30),
    "two steps": two_steps,
    "too few labels": lambda: labelled(evidence=evidence(before=NAN, after=NAN, low=NAN, high=NAN, n_labels=5)),
    "unchanged ranking": lambda: unchanged(labelled()),
    "unchanged classes": lambda: unchanged(classes()),
    "many items": lambda: scores(20_000),
    "huge": lambda: scores(initial=scores().initial * 1e300, predictions=scores().predictions * 1e300),
    "tiny": lambda: scores(task="regression", initial=scores().initial * 1e-300, predictions=np.zeros(40)),
    "tuples as ids": lambda: scores(index=pd.MultiIndex.from_product([range(4), list("abcdefghij")])),
    "not quite text": lambda: scores(index=pd.Index([f"photo{k}\udc80" for k in range(40)], dtype=object)),
    "unknown weights": lambda: scores(weights=scores().weights * np.nan),
}


@pytest.fixture(scope="module", params=CASES)
def report(request, tmp_path_factory):
    """Return a case's report as its file holds it, and taken apart."""
    path = write_report(CASES[request.param](), tmp_path_factory.mktemp("reports") / "report.html")
    html = path.read_bytes().decode("utf-8")
    return html, Page(html)


def test_report_is_whole_and_needs_nothing_from_outside(report):
    html, page = report
    assert html.startswith("<!DOCTYPE html>")
    assert html.endswith("</html>\n")
    assert [heading for heading in page.headings if heading in SECTIONS] == SECTIONS
    anchors = [f"#{name}" for name in page.attributes("id")]
    assert set(page.attributes("href")) <= set(anchors)
    assert page.attributes("src") == []
    assert not any(tag in ("link", "iframe", "object", "embed", "img", "base") for tag, _ in page.tags)
    styles = re.search(r"<style>(.*?)</style>", html, re.DOTALL)[1]
    assert "url(" not in styles
    assert "@import" not in styles
    assert [name for name, count in Counter(anchors).items() if count > 1] == []
    assert "default-src 'none'" in "".join(page.attributes("content"))
    assert not re.search(r"\b(nan|inf)\b", page.text)


def test_every_plot_has_its_data_and_a_text_alternative_and_every_table_a_caption(report):
    _, page = report
    plotted = [attributes for _, attributes in page.tags if "data-figure" in attributes]
    figures = page.figures()
    assert sorted(attributes["data-figure"] for attributes in plotted) == sorted(figures)
    for attributes in plotted:
        figure = figures[attributes["data-figure"]]
        assert attributes["role"] == "img"
        assert attributes["aria-label"] == figure["layout"]["meta"]["alt"]
        assert figure["config"] == plots.CONFIG
    counts = Counter(tag for tag, _ in page.tags)
    assert counts["table"] == counts["caption"] == counts["thead"] > 0
    assert counts["figcaption"] == counts["figure"] == len(plotted)
    assert all(attributes.get("scope") in ("col", "row") for tag, attributes in page.tags if tag == "th")


def test_markup_in_ids_views_classes_notes_and_settings_is_text():
    index = pd.Index([f"{EVIL}{k}" for k in range(40)], name=EVIL)
    names = [f"view{EVIL}", "color"]
    html = render(
        labelled(
            index=index,
            weights=scores().weights.set_axis(names, axis=1),
            dependence=scores().dependence.set_axis(names, axis=0),
            method=EVIL,
            notes=(EVIL,),
            params={EVIL: EVIL},
            evidence=evidence(sentence=EVIL),
        )
    )
    assert EVIL not in html
    text = Page(html).text
    assert f"{EVIL}{plots.movers(scores())[0]}" in text
    assert f"view{EVIL} (0.70)" in text
    html = render(classes(classes=(EVIL, "b", "c", "d"), evidence=None))
    assert EVIL not in html
    assert EVIL in Page(html).text


def test_figures_of_the_report_are_those_of_plots():
    result = labelled()
    figures = Page(render(result)).figures()
    expected = {
        "data-scatter": plots.score_scatter(result),
        "data-changes": plots.change_histogram(result),
        "data-weights": plots.weight_lines(result),
        "data-hsic": plots.dependence_bars(result),
        "data-gain": plots.gain_interval(result.evidence),
        "data-steps": plots.score_steps(result, "pairwise accuracy"),
    }
    assert {name: {"data": f["data"], "layout": f["layout"]} for name, f in figures.items()} == expected


def test_tables_hold_the_numbers():
    result = labelled(index=pd.Index([f"item{k}" for k in range(40)], name="photo"))
    rows = Page(render(result)).rows
    assert ["gist", "0.700", "0.100", "0.400", "<0.001", "yes"] in rows
    assert ["color", "0.300", "0.200", "0.300", "0.250", "no sign of it"] in rows
    moved = result.to_frame().iloc[plots.movers(result)]
    start = rows.index(["photo", "places", "rank before", "rank after", "score before", "score after"]) + 1
    assert len(moved) > 0
    for found, (name, row) in zip(rows[start:], moved.iterrows(), strict=False):
        places = int(row["rank_before"] - row["rank_after"])
        assert found[0] == name
        assert [float(value) for value in found[4:]] == pytest.approx([row["initial"], row["prediction"]], abs=5e-3)
        assert found[1:4] == [f"{places:+d}", str(int(row["rank_before"])), str(int(row["rank_after"]))]


def test_tables_of_classes():
    result = classes(classes=("a", "b", "c", "d"))
    rows = Page(render(result)).rows
    counts = plots.class_changes(result)
    for name in counts.index:
        assert [name, str(counts.loc[name].sum()), str(counts[name].sum())] in rows
    changes = {(i, j): n for i, row in counts.iterrows() for j, n in row.items() if i != j and n}
    start = rows.index(["from", "to", "items"]) + 1
    listed = rows[start : start + min(len(changes), 10)]
    assert [int(row[2]) for row in listed] == sorted(changes.values(), reverse=True)[:10]
    assert all(changes[row[0], row[1]] == int(row[2]) for row in listed)
    item = plots.movers(result)[0]
    first = next(row for row in rows if row[0] == str(item) and len(row) == 5)
    new = result.predictions[item].argmax()
    assert first[1:3] == ["abcd"[result.initial[item].argmax()], "abcd"[new]]
    found = [float(value) for value in first[3:]]
    assert found == pytest.approx([result.initial[item, new], result.predictions[item, new]], abs=5e-4)


def test_settings_seed_and_versions_are_listed():
    rows = Page(render(scores())).rows
    for row in (["method", "tupi"], ["task", "ranking"], ["lam", "0.3"], ["random_state", "7"], ["n_iter", "2"]):
        assert row in rows
    assert ["tupi", tupi.__version__] in rows
    assert ["numpy", np.__version__] in rows


def test_no_labels_are_said_to_be_missing():
    page = Page(render(scores()))
    assert "There were no labels" in page.text
    assert "data-gain" not in page.figures()
    assert "data-steps" not in page.figures()


def test_labels_speak_in_their_section():
    page = Page(render(labelled()))
    assert "The labels speak." in page.text
    assert "the labels confirm a gain" in page.text
    assert "A setting was chosen." in page.text


def test_too_few_labels_show_no_interval():
    page = Page(render(CASES["too few labels"]()))
    assert "5 labels could not judge the change" in page.text
    assert "data-gain" not in page.figures()


@pytest.mark.parametrize(
    ("case", "head"),
    [
        ("ranking", "Get about 30 labels first."),
        ("labelled", "Use the new scores."),
        ("classification", "Use the new class scores."),
        ("too few labels", "Get about 25 more labels first."),
        ("unchanged ranking", "Leave the scores as they are."),
    ],
)
def test_the_verdict_comes_first(case, head):
    page = Page(render(CASES[case]()))
    assert f"Verdict {head}" in page.text
    assert page.headings[1] == "Verdict"


def test_the_metric_of_every_result_is_explained():
    assert {metric.name for metric in METRICS} <= set(MEANINGS)
    assert MEANINGS["pairwise accuracy"] in Page(render(labelled())).text


def test_two_points_are_not_drawn_as_a_line():
    page = Page(render(two_steps()))
    assert "data-weights" not in page.figures()
    assert "data-steps" not in page.figures()


def test_uncertainty_and_what_to_label_next():
    names = pd.Index([f"item{k}" for k in range(40)], name="photo")
    sure = np.linspace(0.1, 4.0, 40)
    sure[7] = NAN
    result = labelled(index=names, uncertainty=sure, suggested=np.array([30, 3]))
    page = Page(render(result))
    low, middle, high = np.nanquantile(sure, (0.1, 0.5, 0.9))
    assert ["the surest tenth of the items", f"at most {low:.2f}"] in page.rows
    assert ["half of the items", f"at most {middle:.2f}"] in page.rows
    assert ["the least sure tenth of the items", f"at least {high:.2f}"] in page.rows
    assert "1 item without any view" in page.text
    start = page.rows.index(["photo", "prediction now", "uncertainty"]) + 1
    assert [row[0] for row in page.rows[start : start + 2]] == ["item30", "item3"]
    assert page.rows[start][1:] == [f"{result.predictions[30]:.3f}", f"{sure[30]:.2f}"]


def test_pairs_to_compare_next():
    rows = Page(render(labelled(suggested=np.array([[3, 8], [5, 1]])))).rows
    start = rows.index(["item", "or"]) + 1
    assert rows[start : start + 2] == [["3", "8"], ["5", "1"]]


def test_what_each_view_is_worth_is_told_where_it_is_known():
    gains = pd.DataFrame(
        {"gain": [0.03, 0.0], "low": [0.01, -0.01], "high": [0.05, 0.01], "kind": "gain"},
        index=pd.Index(["gist", "color"], name="view"),
    )
    page = Page(render(labelled(kept_gains=gains)))
    assert ["gist", "+3.0 (+1.0 to +5.0)"] in page.rows
    assert "What each view is worth" in page.text
    assert "What each view is worth" not in Page(render(labelled())).text


def test_the_numbers_of_a_column_have_as_many_decimals_as_the_largest_needs():
    html = table("t", ("item", "x", "y", "z"), [("a", 1234.5, 0.5, NAN), ("b", -0.1234, 0.98765, 1e-300)])
    assert Page(html).rows[1:] == [["a", "1,234", "0.500", "unknown"], ["b", "0", "0.988", "1e-300"]]


def test_the_origin_of_a_result_is_told():
    rows = Page(render(scores(), [("command", f"tupi denoise {EVIL}")])).rows
    assert ["command", f"tupi denoise {EVIL}"] in rows
    assert ["date", date.today().isoformat()] in rows


@pytest.mark.parametrize("case", ["unchanged ranking", "unchanged classes"])
def test_unchanged_predictions_are_said_to_be_left_alone(case):
    page = Page(render(CASES[case]()))
    assert "left exactly as they were" in page.text
    assert "are exactly what came in" in page.text
    assert "No item moved." in page.text
    assert set(page.figures()) <= {"data-hsic", "data-gain"}


def test_unchanged_predictions_used_no_view():
    """Two steps, as of method "fuse" when its guard turns the new predictions down."""
    turned_down = evidence(accepted=False, noun="comparison", sentence="It would have gone.")
    result = labelled()
    page = Page(render(labelled(predictions=result.initial, evidence=turned_down)))
    row = next(row for row in page.rows if row[0] == "gist")
    assert row[1] == "unused"
    assert "data-weights" not in page.figures()
    assert "The gain of the candidate that was turned down on comparisons" in page.text
    assert "gain of the candidate that was turned down" in page.figures()["data-gain"]["layout"]["meta"]["alt"].lower()


def test_a_sample_is_called_a_sample():
    assert "5,000 of 20,000 items are drawn" in Page(render(CASES["many items"]())).text


def test_without_plotly_a_sentence_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(ImportError, match=re.escape('pip install "tupi[report]"')):
        write_report(scores(), tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_folders_that_cannot_hold_the_report(tmp_path):
    with pytest.raises(tupi.InputError, match="does not exist"):
        write_report(scores(), tmp_path / "missing" / "report.html")
    with pytest.raises(tupi.InputError, match="is a folder"):
        write_report(scores(), tmp_path)


def test_a_report_is_replaced_and_the_same_result_gives_the_same_file(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    labelled().report(str(path))
    first = path.read_bytes()
    labelled().report(path)
    assert path.read_bytes() == first != b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("task", ["ranking", "regression", "classification"])
@pytest.mark.parametrize("n_labels", [0, 5, 30])
def test_results_of_denoise_can_be_reported_and_again_after_loading(task, n_labels, tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=60)
    noisy = truth + 0.5 * rng.normal(size=60)
    answer, target = noisy, truth
    if task == "classification":
        answer, target = np.column_stack([noisy, -noisy]), (truth < 0).astype(float)
    labels = tupi.Values(np.arange(n_labels), target[:n_labels]) if n_labels else None
    views = {"clean": truth[:, None], "junk": rng.normal(size=(60, 2))}
    result = tupi.denoise(answer, views, labels, "tupi", task, rank=20, n_iter=3)
    page = Page(render(tupi.load(result.save(tmp_path / "run.npz"))))
    assert Page(render(result)).headings == page.headings
    assert "clean" in page.text
    assert ("data-gain" in page.figures()) == (n_labels == 30)
