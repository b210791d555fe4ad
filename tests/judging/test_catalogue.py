"""What ``metric`` means: each metric by scikit-learn's, how sure it is by drawing again, and refusals in a sentence."""

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as oracle

import tupi
from tests.conftest import make_problem_arrays
from tupi.inputs.problem import make_problem
from tupi.judging.catalogue import ALL_METRICS, axis_of, metric_for, usual_beside, words_of
from tupi.judging.evidence import gain_of, shares_of
from tupi.runtime.errors import InputError

N = 150
RNG = np.random.default_rng(0)
EVERYONE = np.arange(N)
TRUTH, SCORES, VIEWS = make_problem_arrays(N)
GRADES = np.digitize(TRUTH, [-0.5, 0.5, 1.2]).astype(float)
CLASSES = (TRUTH > 0.3).astype(int) + (TRUTH > 1)
SHARES = np.exp(1.2 * np.eye(3)[CLASSES] + RNG.normal(size=(N, 3)))
SHARES /= SHARES.sum(axis=1, keepdims=True)
IS = TRUTH > 0.4
P = 1 / (1 + np.exp(-SCORES))
PROBLEMS = {
    "ranking": make_problem(SCORES, VIEWS, GRADES),
    "relevance": make_problem(SCORES, VIEWS, IS.astype(float)),
    "comparisons": make_problem(SCORES, VIEWS, tupi.Pairs([0, 1], [2, 3])),
    "regression": make_problem(SCORES, VIEWS, TRUTH, "regression"),
    "classes": make_problem(SHARES, VIEWS, CLASSES, "classification"),
    "class scores": make_problem(5 * SHARES, VIEWS, CLASSES, "classification"),
    "binary": make_problem(P, VIEWS, IS, "classification"),
}


def of(key, kind):
    metric = metric_for(key, PROBLEMS[kind])
    assert metric is not None
    return metric.score(PROBLEMS[kind].initial, PROBLEMS[kind].labels)


@pytest.mark.parametrize(
    ("key", "kind", "expected"),
    [
        ("ndcg@7", "ranking", oracle.ndcg_score(2.0 ** GRADES[None] - 1, SCORES[None], k=7)),
        ("ndcg", "ranking", oracle.ndcg_score(2.0 ** GRADES[None] - 1, SCORES[None], k=10)),
        ("map", "relevance", oracle.average_precision_score(IS, SCORES)),
        ("auc", "relevance", oracle.roc_auc_score(IS, SCORES)),
        ("auc", "binary", oracle.roc_auc_score(IS, P)),
        ("pairwise", "regression", tupi.pairwise_accuracy(SCORES, TRUTH)),
        ("r2", "regression", oracle.r2_score(TRUTH, SCORES)),
        ("rmse", "regression", oracle.root_mean_squared_error(TRUTH, SCORES)),
        ("mae", "regression", oracle.mean_absolute_error(TRUTH, SCORES)),
        ("accuracy", "classes", oracle.accuracy_score(CLASSES, SHARES.argmax(axis=1))),
        ("balanced_accuracy", "classes", oracle.balanced_accuracy_score(CLASSES, SHARES.argmax(axis=1))),
        ("log_loss", "classes", oracle.log_loss(CLASSES, SHARES)),
        ("log_loss", "binary", oracle.log_loss(IS, P)),
        ("brier", "binary", oracle.brier_score_loss(IS, P)),
        ("brier", "classes", np.mean(((SHARES - np.eye(3)[CLASSES]) ** 2).sum(axis=1))),
    ],
)
def test_metrics_are_those_of_scikit_learn(key, kind, expected):
    assert of(key, kind) == pytest.approx(expected)


def test_calibration_error_by_its_bins():
    order = np.argsort(P)
    bins = [order[k : k + 15] for k in range(0, N, 15)]
    expected = np.mean([abs(P[one].mean() - IS[one].mean()) for one in bins])
    assert of("calibration_error", "binary") == pytest.approx(expected)
    chosen, right = SHARES.max(axis=1), SHARES.argmax(axis=1) == CLASSES
    order = np.argsort(chosen)
    bins = [order[k : k + 15] for k in range(0, N, 15)]
    expected = np.mean([abs(chosen[one].mean() - right[one].mean()) for one in bins])
    assert of("calibration_error", "classes") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("rmse", "regression"),
        ("mae", "regression"),
        ("auc", "binary"),
        ("log_loss", "binary"),
        ("balanced_accuracy", "classes"),
        ("ndcg@150", "ranking"),
        ("map", "relevance"),
        (lambda truth, said: np.corrcoef(truth, said)[0, 1], "regression"),
    ],
    ids=lambda one: one if isinstance(one, str) else "own",
)
def test_the_error_of_a_gain_is_that_of_the_bootstrap(key, kind):
    problem = PROBLEMS[kind]
    metric, labels, old = metric_for(key, problem), problem.labels, problem.initial
    rng = np.random.default_rng(1)
    noise = 0.3 * rng.normal(size=old.shape)
    new = 0.6 * old + noise if problem.task != "classification" else np.exp(np.log(old) + noise)
    if problem.task == "classification":
        new /= new.sum(axis=1, keepdims=True)
    gain = gain_of(metric, [[(EVERYONE, new)]], old, labels)
    assert gain.before == pytest.approx(metric.score(old, labels))
    assert gain.after == pytest.approx(metric.score(new, labels))
    gains = []
    for _ in range(200):
        drawn = rng.integers(0, N, N)
        again = tupi.Values(labels.index[drawn], labels.values[drawn])
        scores = [
            metric.of(metric.truth(again), one[drawn]) if metric.pooled else metric.score(one, again)
            for one in (old, new)
        ]
        gains.append(metric.gain(*scores))
    assert gain.error == pytest.approx(np.std(gains), rel=0.4)


def test_many_labels_are_left_out_in_parts():
    rng = np.random.default_rng(2)
    truth = rng.normal(size=700)
    old, new = (truth + size * rng.normal(size=700) for size in (1.0, 0.7))
    problem = make_problem(old, rng.normal(size=(700, 2)), truth, "regression")
    everyone = np.arange(700)
    own, known = (
        gain_of(metric_for(key, problem), [[(everyone, new)]], old, problem.labels)
        for key in (lambda truth, said: np.mean((truth - said) ** 2) ** 0.5, "rmse")
    )
    assert (own.before, own.after) == pytest.approx((known.before, known.after))
    assert own.error == pytest.approx(known.error, rel=0.15)


def test_labels_that_judge_together_do_so_whatever_folds_they_are_in():
    problem = PROBLEMS["ranking"]
    metric, new = metric_for("ndcg@10", problem), SCORES + 0.5 * RNG.normal(size=N)
    folds = [(part, np.where(np.isin(EVERYONE, part), new, np.nan)) for part in np.array_split(EVERYONE, 5)]
    found = shares_of(metric, [folds], SCORES, problem.labels)
    np.testing.assert_allclose(found[2], shares_of(metric, [[(EVERYONE, new)]], SCORES, problem.labels)[2])


@pytest.mark.parametrize(
    ("key", "kind", "sentence"),
    [
        ("auc", "regression", "'regression'.*: r2, pairwise, rmse, mae, or a function"),
        ("auc", "classes", "accuracy, log_loss, brier, calibration_error, balanced_accuracy, or"),
        ("log_loss", "class scores", "does not fit here; .*: accuracy, balanced_accuracy, or"),
        ("rmse", "ranking", "pairwise, ndcg@k, or"),
        ("ndcg@10", "comparisons", ": pairwise, or"),
        ("logloss", "binary", "is unknown.* Did you mean 'log_loss'"),
        ("ndcg@0", "ranking", "a number of places"),
        ("ndcg@ten", "ranking", "a number of places"),
        (7, "ranking", "found int"),
        (lambda truth, said: "much", "regression", "ValueError"),
        (lambda truth, said: np.nan, "regression", "gave nan for 150 labels"),
        (lambda truth: 1.0, "regression", "TypeError"),
        (lambda truth, said: 1.0, "comparisons", "comparisons; accepted: 'pairwise'"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_does(key, kind, sentence):
    problem = PROBLEMS[kind]
    with pytest.raises(InputError, match=sentence):
        metric_for(key, problem).score(problem.initial, problem.labels)


def test_grades_of_ndcg_are_not_negative():
    with pytest.raises(InputError, match="grades from 0 to 50"):
        metric_for("ndcg@5", make_problem(SCORES, VIEWS, TRUTH))


def test_a_metric_is_checked_without_labels_too():
    with pytest.raises(InputError, match="metric: found 'rmse'"):
        tupi.denoise(SCORES, VIEWS, metric="rmse")
    assert tupi.denoise(SCORES, VIEWS, metric="map").evidence is None


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("ranking", ["pairwise accuracy"]),
        ("comparisons", ["pairwise accuracy"]),
        ("regression", ["R²", "RMSE", "MAE"]),
        ("classes", ["accuracy", "log loss", "calibration error"]),
        ("class scores", ["accuracy"]),
        ("binary", ["accuracy", "log loss", "calibration error", "AUC"]),
    ],
)
def test_the_usual_metrics_of_a_task_are_told_beside(kind, names):
    problem = PROBLEMS[kind]
    unusual = next(one for one in ALL_METRICS if one.key == "map")
    assert [one.name for one in usual_beside(unusual, problem)] == names
    first = metric_for(None, problem)
    assert [one.name for one in usual_beside(first, problem)] == [name for name in names if name != first.name]


@pytest.mark.parametrize("method", ["auto", "ridge"])
def test_evidence_speaks_of_the_metric_and_the_result_is_the_same(method, tmp_path):
    labels = tupi.Values(EVERYONE[:60], IS[:60])
    usual, asked = (tupi.denoise(P, VIEWS, labels, method, "classification", metric=one) for one in (None, "log_loss"))
    np.testing.assert_array_equal(usual.predictions, asked.predictions)
    found = asked.evidence
    assert (found.metric, found.higher_is_better) == ("log loss", False)
    assert usual.evidence.beside["log loss"] == (found.before, found.after)
    assert found.beside["accuracy"] == pytest.approx((usual.evidence.before, usual.evidence.after))
    assert found.gain == found.before - found.after
    assert found.before == pytest.approx(oracle.log_loss(IS[:60], P[:60]))
    assert found.low < found.gain < found.high
    assert "log loss went from" in found.sentence
    assert "accuracy" in repr(asked)
    assert tupi.load(asked.save(tmp_path / "run.npz")).evidence == found
    assert "Other figures on the same labels" in asked.report(tmp_path / "report.html").read_text()


def test_left_out_predictions_are_not_those_of_the_fit():
    """A label must not judge a prediction that saw it."""
    rng = np.random.default_rng(3)
    noise = rng.normal(size=N)  # nothing to learn: any gain would be memory
    found = tupi.denoise(SCORES, VIEWS, tupi.Values(EVERYONE[:40], noise[:40]), "fuse", "regression", metric="rmse")
    assert found.evidence.after > 0.8 * noise[:40].std()


def test_a_function_of_ones_own_judges_and_is_saved(tmp_path):
    def worst(truth, said):
        return np.abs(truth - said).max()

    worst.greater_is_better = False
    result = tupi.denoise(SCORES, VIEWS, tupi.Values(EVERYONE[:40], TRUTH[:40]), "ridge", "regression", metric=worst)
    again = tupi.load(result.save(tmp_path / "run.npz"))
    for found in (result.evidence, again.evidence):
        assert found.metric == "worst"
        assert found.before == pytest.approx(np.abs(TRUTH - SCORES)[:40].max())
        assert found.gain == found.before - found.after
    assert words_of("worst") is words_of("R²")
    assert "worst" in repr(again)


def test_a_function_gets_probabilities_as_they_came_in():
    seen = []

    def mine(truth, said):
        seen.append((set(truth), said.ndim))
        return oracle.roc_auc_score(truth, said)

    tupi.denoise(P, VIEWS, tupi.Values(EVERYONE[:40], IS[:40]), "ridge", "classification", metric=mine)
    assert all(truth <= {0, 1} and ndim == 1 for truth, ndim in seen)


def test_comparisons_of_methods_speak_of_the_metric():
    labels = tupi.Values(EVERYONE[:60], TRUTH[:60])
    found = tupi.compare(SCORES, VIEWS, labels, ["ridge"], "regression", n_repeats=1, metric="rmse")
    row = found.table.iloc[0]
    assert found.metric == "RMSE"
    assert row["gain"] == row["before"] - row["after"] > 0
    assert row["before"] == pytest.approx(oracle.root_mean_squared_error(TRUTH[:60], SCORES[:60]))
    assert row["R² after"] > row["R² before"]
    assert not pd.isna(row["MAE after"])


def test_worse_probabilities_are_said_to_be():
    """Ridge on classes gains accuracy here and loses as probabilities."""
    truth, scores, views = make_problem_arrays(300)
    p = 1 / (1 + np.exp(-1.5 * scores))
    came = np.random.default_rng(1).random(300) < 1 / (1 + np.exp(-3 * truth))
    labels = tupi.Values(range(80), came[:80])
    found = {name: tupi.denoise(p, views, labels, name, "classification").evidence for name in ("ridge", "auto")}
    for one in found.values():
        worse = [name for name in ("log loss", "calibration error") if one.beside[name][1] > one.beside[name][0]]
        assert ("As probabilities they are no better" in one.sentence) == bool(worse)
    assert "log loss went from 0.511 to" in found["ridge"].sentence


def test_a_metric_is_refused_on_a_cluster():
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match="metric: found 'map' with Dask; accepted there: None"):
        tupi.denoise(SCORES, VIEWS, IS.astype(float), client="tcp://nowhere:1", metric="map")


def test_an_axis_is_called_by_its_metric_and_by_its_unit_if_there_is_one():
    assert (axis_of("accuracy"), axis_of("R²")) == ("accuracy, points", "R²")
