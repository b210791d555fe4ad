"""One probability per item: from arrays, tables and files to results, reports and pages."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner
from scipy.special import expit, logit

import tupi
from tests.conftest import make_problem_arrays
from tupi.cli import tupi as command
from tupi.embedding.prepared import Prepared
from tupi.inputs.classes import TwoClasses, collapse, expand
from tupi.inputs.problem import make_problem
from tupi.methods import METHODS
from tupi.runtime.errors import InputError

N = 300
TRUTH, SCORES, VIEWS = make_problem_arrays(N)
P = expit(1.5 * SCORES)
IS = np.random.default_rng(1).random(N) < expit(3 * TRUTH)
KNOWN = np.arange(80)
LABELS = tupi.Values(KNOWN, IS[KNOWN])


def denoised(predictions=P, labels=LABELS, **others):
    return tupi.denoise(predictions, VIEWS, labels, task="classification", **others)


def log_loss(p):
    return -np.mean(np.log(np.where(IS, p, 1 - p)))


def test_expanding_and_collapsing_change_no_digit():
    p = np.random.default_rng(0).random(1000)
    np.testing.assert_array_equal(collapse(expand(p)), p)
    np.testing.assert_allclose(expand(p).sum(axis=1), 1.0)


def test_a_better_probability_of_the_same_shape_comes_back():
    result = denoised()
    assert result.predictions.shape == result.initial.shape == P.shape
    assert ((result.predictions >= 0) & (result.predictions <= 1)).all()
    np.testing.assert_array_equal(result.initial, P)
    assert tupi.pairwise_accuracy(result.predictions, IS.astype(float)) > tupi.pairwise_accuracy(P, IS.astype(float))
    assert log_loss(result.predictions) < log_loss(P)
    assert result.classes == (False, True)
    assert any("probabilities of class True" in note for note in result.notes)
    assert "probabilities of 300 items" in repr(result)


@pytest.mark.parametrize(
    "convert",
    [int, float, str, bool, lambda k: ["no", "yes"][k], lambda k: ["stayed", "gone"][::-1][k], lambda k: 3 + 4 * k],
    ids=["int", "float", "text of a number", "bool", "no and yes", "any text", "any numbers"],
)
def test_labels_are_any_two_values(convert):
    expected = denoised(method="ridge").predictions
    found = denoised(
        labels=tupi.Values(KNOWN, np.array([convert(int(one)) for one in IS[KNOWN]], object)), method="ridge"
    )
    np.testing.assert_array_equal(found.predictions, expected)
    assert found.classes == (convert(0), convert(1))


def test_the_name_of_the_predictions_names_the_positive_class():
    names = np.array(["zebra", "ant"], object)[IS[KNOWN].astype(int)]
    labels = pd.Series(names, index=KNOWN)
    assert denoised(pd.Series(P), labels, method="ridge").classes == ("ant", "zebra")  # the greater
    for named in (pd.Series(P, name="ant"), pd.DataFrame({"ant": P}), pl.DataFrame({"ant": P})):
        given = labels if not isinstance(named, pl.DataFrame) else tupi.Values(KNOWN, names)
        result = denoised(named, given, method="ridge")
        assert result.classes == ("zebra", "ant")
        np.testing.assert_array_equal(result.predictions, denoised(method="ridge").predictions)


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([1, 0], (0, 1)),
        ([0.0, 1.0], (0, 1)),
        ([1, -1], (-1, 1)),
        ([2, 1], (1, 2)),
        (["9", "10"], ("9", "10")),
        (["No", "Yes"], ("No", "Yes")),
        (["true", "other"], ("other", "true")),
        (["no", "a little"], ("no", "a little")),
        (["negative", "positive"], ("negative", "positive")),
        (["b", "a"], ("a", "b")),
        ([True, False], (False, True)),
        ([1, "1", 0], (0, 1)),
        (["spam", 3], (3, "spam")),
    ],
    ids=str,
)
def test_the_positive_class_is_that_of_convention_or_the_greater(values, names):
    two = TwoClasses()
    numbers = two(np.array(values, object))
    assert two.names == names
    assert [str(names[k]) for k in numbers] == [str(int(v) if isinstance(v, float) else v) for v in values]


def test_a_table_without_names_names_no_class():
    assert denoised(pd.DataFrame(P), method="ridge").classes == (False, True)


def test_without_labels_there_are_no_names():
    result = denoised(labels=None)
    assert result.classes is None
    assert result.predictions.shape == (N,)


@pytest.mark.parametrize(
    ("predictions", "labels", "sentence"),
    [
        (SCORES, LABELS, "one probability per item, from 0 to 1.*task 'ranking'"),
        (P + 0.5, None, r"found 1\.\d+ .*task 'ranking'"),
        (P, tupi.Values([0, 1, 2], ["a", "b", "c"]), "3 different values"),
        (P, tupi.Values([0, 1, 2], ["a", "b", None]), "an entry without a value"),
        (P, tupi.Values([0, 1], [1, 1]), "at least two distinct values"),
        (P, tupi.Pairs([0], [1]), "found pairs"),
    ],
    ids=["scores", "above one", "three classes", "a gap", "one class", "pairs"],
)
def test_what_is_no_binary_problem_gets_a_sentence(predictions, labels, sentence):
    with pytest.raises(InputError, match=sentence):
        denoised(predictions, labels)


def test_probabilities_of_zero_and_one_and_items_without_views_are_kept():
    p, near = P.copy(), VIEWS["near"].copy()
    p[:2] = 0.0, 1.0
    near[5] = np.nan
    result = tupi.denoise(p, {"near": near}, LABELS, task="classification")
    assert result.predictions[5] == p[5]
    assert np.isfinite(result.predictions).all()


@pytest.mark.parametrize("name", ["auto", "ridge", "gp"])
def test_one_column_means_what_two_columns_mean(name):
    """Whatever a method makes of two columns of probabilities, it makes of the second alone."""
    method = METHODS[name]()
    two = tupi.denoise(expand(P), VIEWS, tupi.Values(KNOWN, IS[KNOWN].astype(int)), method, "classification")
    one = denoised(method=method)
    np.testing.assert_array_equal(one.predictions, two.predictions[:, 1])
    assert one.evidence == two.evidence


def test_a_result_is_saved_and_read_with_its_classes(tmp_path):
    result = denoised(labels=tupi.Values(KNOWN, np.where(IS[KNOWN], "yes", "no")), method="ridge")
    again = tupi.load(result.save(tmp_path / "run.npz"))
    np.testing.assert_array_equal(again.predictions, result.predictions)
    assert again.classes == ("no", "yes")
    assert repr(again) == repr(result)


def test_a_report_speaks_of_probabilities(tmp_path):
    text = denoised(method="ridge").report(tmp_path / "report.html").read_text()
    assert "Old against new probabilities" in text
    assert "the most likely class changed for" in text


def test_methods_are_compared_on_probabilities():
    found = tupi.compare(P, VIEWS, LABELS, ["ridge", "knn"], "classification", n_repeats=1)
    assert set(found.table["verdict"]) <= {"better", "worse", "no clear change"}


def test_the_estimator_takes_probabilities():
    X = np.hstack(list(VIEWS.values()))
    found = tupi.TupiDenoiser("ridge", task="classification").fit_predict(X, P, LABELS)
    assert found.shape == (N,)
    assert ((found >= 0) & (found <= 1)).all()


def run(*words):
    outcome = CliRunner().invoke(command, [str(word) for word in words])
    assert outcome.exit_code == 0, outcome.output
    return outcome


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Return a folder with one table of ids, probabilities and answers, and one of features."""
    monkeypatch.chdir(tmp_path)
    ids = [f"item{k}" for k in range(N)]
    answers = np.where(IS, "yes", "no").astype(object)
    answers[80:] = None
    pd.DataFrame({"id": ids, "p": P, "answer": answers}).to_csv("scores.csv", index=False)
    pd.DataFrame({"id": ids, "p": P, "gone": [*IS[:80].astype(int), *[None] * (N - 80)]}).to_csv("all.csv", index=False)
    pd.DataFrame(VIEWS["near"], columns=["a", "b"]).assign(id=ids).to_csv("near.csv", index=False)
    return tmp_path


def test_files_of_probabilities_are_read(files):
    words = ("denoise", "scores.csv", "--features", "near=near.csv", "--task", "classification", "--method", "ridge")
    run(*words, "--labels", "scores.csv", "--label", "answer", "--out", "better.csv", "--quiet")
    expected = tupi.denoise(P, {"near": VIEWS["near"]}, LABELS, "ridge", "classification").predictions
    np.testing.assert_allclose(pd.read_csv("better.csv")["prediction"], expected, rtol=1e-9)


def test_labels_beside_the_probabilities_are_no_second_class(files):
    """A file of ids, probabilities and answers of 0 or 1 was read as one of scores for two classes."""
    words = ("denoise", "all.csv", "--features", "near=near.csv", "--task", "classification", "--method", "ridge")
    told = json.loads(run(*words, "--labels", "all.csv", "--label", "gone", "--out", "better.csv", "--json").stdout)
    assert told["scores"] == ["p"]
    assert "probabilities of class 1" in told["notes"][0]


def test_a_page_shows_the_probability(files):
    from tests.page.conftest import decode
    from tupi.inputs.files import InputFiles
    from tupi.page.session import Session
    from tupi.page.source import read_source

    origin = InputFiles("scores.csv", {"near": "near.csv"}, "scores.csv", label="answer")
    session = Session(read_source(origin, "classification"), files / "answers.jsonl")
    try:
        facts = session.facts()
        assert (facts["classes"], facts["answers"], session.n_columns) == (None, ["no", "yes"], 1)
        np.testing.assert_allclose(decode(session.initial())[1]["score"], P, rtol=1e-6)
        assert session.problem.classes == ("no", "yes")
        session.figures()
    finally:
        session.close()


def test_logits_and_probabilities_are_what_methods_see():
    prepared = Prepared(make_problem(P, VIEWS, LABELS, "classification"))
    found = prepared.f * prepared.scale + prepared.shift
    np.testing.assert_allclose(found[:, 1] - found[:, 0], logit(P))


def test_commands_speak_of_a_metric(files):
    words = ("scores.csv", "--features", "near=near.csv", "--task", "classification")
    labels = ("--labels", "scores.csv", "--label", "answer")
    told = json.loads(
        run("denoise", *words, *labels, "--method", "ridge", "--metric", "log_loss", "--out", "b.csv", "--json").stdout
    )
    assert told["evidence"]["metric"] == "log loss"
    assert set(told["evidence"]["beside"]) == {"accuracy", "calibration error", "AUC"}
    shown = run("compare", *words, *labels, "--methods", "ridge", "--repeats", 1, "--metric", "auc").stdout
    assert "AUC on 80 labels" in shown
    beside = shown[shown.index("Other figures on the same labels") :]
    assert [beside.index(name) for name in ("log loss", "calibration error", "before", "ridge")] == sorted(
        beside.index(name) for name in ("log loss", "calibration error", "before", "ridge")
    )
    refused = CliRunner().invoke(command, ["denoise", *words, *labels, "--metric", "rmse", "--out", "b.csv"])
    assert refused.exit_code == 2
    assert "metric: found 'rmse', which does not fit here" in refused.stderr


def test_decisions_cost_least():
    result = denoised(labels=tupi.Values(KNOWN, np.where(IS[KNOWN], "yes", "no")), method="ridge")
    found, p = result.decide(1, 4), result.predictions
    assert found.threshold == pytest.approx(0.2)
    # By hand: the cheaper of both decisions, item by item.
    np.testing.assert_array_equal(found.decisions == "yes", [(1 - one) * 1 <= one * 4 for one in p])
    assert found.expected_cost == pytest.approx(np.mean([min((1 - one) * 1, one * 4) for one in p]))
    assert ("did not become better" in found.sentence) == bool(result.evidence.worse_losses)
    for threshold in (0.1, 0.5):
        other = p >= threshold
        assert np.mean(np.where(other, 1 - p, 4 * p)) >= found.expected_cost
    assert "at least 0.2 and are taken for 'yes'" in repr(found)


def test_decisions_by_columns_and_without_labels():
    one, two = (tupi.denoise(p, VIEWS, task="classification").decide(2, 1) for p in (P, expand(P)))
    np.testing.assert_array_equal(one.decisions, two.decisions)
    assert set(one.decisions) == {0, 1}
    assert "no labels to check that by" in one.sentence


@pytest.mark.parametrize(("names", "positive"), [("no yes", "yes"), ("yes no", "yes"), ("b a", "a"), ("1 0", "1")])
def test_the_positive_one_of_two_columns_is_so_by_convention_or_the_second(names, positive):
    first, second = names.split()
    columns = {positive: P, ({first, second} - {positive}).pop(): 1 - P}
    result = tupi.denoise(pd.DataFrame(columns)[[first, second]], VIEWS, method="smooth", task="classification")
    plain = tupi.denoise(P, VIEWS, method="smooth", task="classification").decide(1, 4)
    found = result.decide(1, 4)
    np.testing.assert_array_equal(found.positive, plain.positive)
    assert f"are taken for {positive!r}" in found.sentence
    assert set(found.decisions[found.positive]) == {positive}


def test_decisions_need_two_classes_and_costs():
    with pytest.raises(InputError, match="cost_fn: found 0; accepted: a number above 0"):
        denoised(method="ridge").decide(1, 0)
    with pytest.raises(InputError, match=r"decide: found predictions of shape .* for task 'ranking'"):
        tupi.denoise(SCORES, VIEWS).decide(1, 1)
    scores = np.column_stack([-SCORES, SCORES])
    with pytest.raises(InputError, match="two columns that sum to one"):
        tupi.denoise(scores, VIEWS, task="classification").decide(1, 1)


@pytest.mark.parametrize("columns", [1, 3])
def test_without_labels_classes_stay_as_likely_and_probabilities_as_sure(columns):
    """Averages over alike items vary less: probabilities came back less sure, and classes rarer or more frequent.

    They may be surer, since classes lie further apart (tests/methods/auto/test_surer.py).
    """
    rng = np.random.default_rng(5)
    logs = np.column_stack(
        [np.zeros(N), 1.5 * SCORES - 1, *([SCORES * 0.5 + rng.normal(size=N)] if columns > 1 else [])]
    )
    before = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    result = tupi.denoise(before[:, 1] if columns == 1 else before, VIEWS, task="classification")
    assert result.changed
    after = expand(result.predictions) if columns == 1 else result.predictions
    # Of two classes, probabilities below .001 count as that. Those of several become surer after means are restored.
    np.testing.assert_allclose(after.mean(axis=0), before.mean(axis=0), rtol=0.03 if columns > 1 else 1e-4)
    old, new = (np.log(one) - np.log(one).mean(axis=1, keepdims=True) for one in (before, after))
    assert 0.95 * old.std() < new.std() < 1.3 * old.std()
    assert "Without labels nothing tells how sure the new probabilities may be" in " ".join(result.notes)


@pytest.mark.parametrize(
    ("costs", "threshold"), [((1e300, np.float32(2)), 1.0), ((1.7e308, 1.7e308), 0.5), ((1e-300, 1e300), 0.0)]
)
def test_costs_of_any_size_have_a_threshold(costs, threshold):
    found = tupi.denoise(P, VIEWS, task="classification").decide(*costs)
    assert found.threshold == threshold
    assert np.isfinite(found.expected_cost)
