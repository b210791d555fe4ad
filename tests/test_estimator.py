import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import tupi
from tests.conftest import make_problem_arrays
from tupi.cluster.result import DistributedDenoised

TRUTH, SCORES, VIEWS = make_problem_arrays(80)
X = np.hstack(list(VIEWS.values()))
COLUMNS = {"near": [0, 1], "bent": slice(2, 5), "junk": [5, 6, 7, 8]}
WITH_SCORES = np.column_stack([SCORES, X])
KNOWN = np.where(np.arange(80) < 30, TRUTH, np.nan)
QUICK = {"method": "ridge"}
TEXT = np.where(TRUTH > 0, "up", "no")
# Earlier versions of scikit-learn pass predictions on to the score of an estimator, but not to that of a pipeline.
SCORES_PIPELINES = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) >= (1, 8)
WITH_CHANCES = np.column_stack([1 / (1 + np.exp(-SCORES)), X])


def fitted_classes(labels=TEXT):
    return tupi.TupiDenoiser(predictions=0, task="classification", method="smooth").fit(WITH_CHANCES, labels)


@parametrize_with_checks([tupi.TupiDenoiser(), tupi.TupiDenoiser(method="tupi", params={"n_iter": 2})])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@parametrize_with_checks([tupi.TupiDenoiser(predictions=0)])
def test_scikit_learn_accepts_it_with_new_items(estimator, check):
    check(estimator)


def test_equals_denoise():
    estimator = tupi.TupiDenoiser("tupi", views=COLUMNS, params={"n_iter": 3}).fit(X, SCORES)
    expected = tupi.denoise(SCORES, VIEWS, method="tupi", n_iter=3)
    np.testing.assert_array_equal(estimator.denoised_, expected.predictions)
    np.testing.assert_array_equal(clone(estimator).fit_predict(X, SCORES), expected.predictions)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(estimator)).denoised_, expected.predictions)


@pytest.mark.parametrize(
    "fit",
    [
        lambda: tupi.TupiDenoiser(**QUICK).fit(X, SCORES, KNOWN),
        lambda: tupi.TupiDenoiser(**QUICK).fit(X, KNOWN, predictions=SCORES),
        lambda: tupi.TupiDenoiser(**QUICK).fit(X, labels=KNOWN, predictions=SCORES),
        lambda: tupi.TupiDenoiser(**QUICK, predictions=0).fit(WITH_SCORES, KNOWN),
        lambda: tupi.TupiDenoiser(**QUICK, predictions=[-1]).fit(np.column_stack([X, SCORES]), KNOWN),
        lambda: tupi.TupiDenoiser(**QUICK, predictions="f").fit(
            pd.DataFrame(X).add_prefix("x").assign(f=SCORES), KNOWN
        ),
        lambda: tupi.TupiDenoiser(**QUICK).fit(X, np.ma.masked_invalid(KNOWN), predictions=SCORES),
    ],
)
def test_predictions_come_in_three_ways(fit):
    expected = tupi.denoise(SCORES, X, KNOWN, method="ridge").predictions
    np.testing.assert_allclose(fit().denoised_, expected, rtol=1e-12)


def test_views_by_column_name_and_labels():
    frame = pd.DataFrame(VIEWS["near"], columns=["a", "b"])
    labels = np.where(np.arange(80) < 30, TRUTH, np.nan)
    estimator = tupi.TupiDenoiser("tupi", views={"first": ["a"]}, params={"n_iter": 3}).fit(frame, SCORES, labels)
    assert list(estimator.result_.weights.columns) == ["first"]
    assert estimator.result_.evidence is not None
    with pytest.raises(tupi.InputError, match="column 'c'"):
        tupi.TupiDenoiser(views={"first": ["c"]}).fit(frame, SCORES)
    with pytest.raises(tupi.InputError, match="no column names"):
        tupi.TupiDenoiser(views={"first": ["a"]}).fit(frame.to_numpy(), SCORES)


def test_missing_rows_and_gaps_mean_what_they_mean_to_denoise():
    holes = X.copy()
    holes[:20, 2:5] = np.nan  # these items lack the view
    holes[30, 0] = np.nan  # a single gap
    views = {"near": holes[:, :2], "bent": holes[:, 2:5], "junk": holes[:, 5:]}
    expected = tupi.denoise(SCORES, views, method="tupi", n_iter=2, impute="median")
    found = tupi.TupiDenoiser("tupi", views=COLUMNS, params={"n_iter": 2}).fit_predict(holes, SCORES)
    np.testing.assert_array_equal(found, expected.predictions)
    with pytest.raises(tupi.InputError, match="lacks 1 single value"):
        tupi.TupiDenoiser("tupi", views=COLUMNS, impute=None, params={"n_iter": 2}).fit(holes, SCORES)


@pytest.mark.parametrize("twice", [False, True])
def test_ids_are_kept_and_columns_may_be_of_any_kind(twice):
    ids = [f"item {k}" for k in range(80)]
    frame = pd.DataFrame({"x": VIEWS["near"][:, 0], "color": np.where(TRUTH > 0, "red", "blue")}, index=ids)
    if twice:
        frame.index = ["same", *ids[1:-1], "same"]
    estimator = tupi.TupiDenoiser(**QUICK, predictions="score").fit(frame.assign(score=SCORES), KNOWN)
    expected = tupi.denoise(SCORES, {"features": frame.reset_index(drop=True)}, KNOWN, method="ridge")
    np.testing.assert_allclose(estimator.denoised_, expected.predictions)
    assert list(estimator.result_.to_frame().index) == (list(range(80)) if twice else ids)
    assert set(estimator.result_.columns["column"]) == {"x", "color"}
    assert estimator.feature_names_in_.tolist() == ["x", "color", "score"]


def three_classes():
    kinds = np.digitize(TRUTH, [-0.5, 0.5])
    logits = 0.7 * np.eye(3)[kinds] + 0.5 * np.random.default_rng(0).normal(size=(80, 3))
    return kinds, np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


def test_classification_has_classes():
    kinds, shares = three_classes()
    names = np.array(["low", "middle", "high"])
    labels = np.where(np.arange(80) < 40, names[kinds], None)
    named = pd.DataFrame(shares, columns=names)
    expected = tupi.denoise(named, VIEWS, labels, method="ridge", task="classification").predictions
    estimator = tupi.TupiDenoiser("ridge", task="classification", views=COLUMNS)
    found = estimator.fit_predict(X, named, labels)
    assert estimator.classes_.tolist() == names.tolist()
    np.testing.assert_allclose(estimator.denoised_, expected)
    np.testing.assert_array_equal(found, names[expected.argmax(axis=1)])
    columns = {"predictions": [0, 1, 2], "views": {"near": [3, 4], "bent": [5, 6, 7], "junk": slice(8, 12)}}
    numbered = (
        clone(estimator).set_params(**columns).fit(np.hstack([shares, X]), np.where(np.arange(80) < 40, kinds, np.nan))
    )
    assert numbered.classes_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(numbered.denoised_, expected)


@pytest.mark.parametrize("text", [False, True])
def test_class_columns_of_a_table_keep_their_names(text):
    kinds, shares = three_classes()
    names = np.array(["first", "second", "third"])
    frame = pd.concat([pd.DataFrame(X).add_prefix("x"), pd.DataFrame(shares, columns=names)], axis=1)
    if text:  # tables of numbers alone go another way
        frame["kind"] = np.where(TRUTH > 0, "a", "b")
    estimator = tupi.TupiDenoiser("auto", task="classification", predictions=list(names))
    known = np.where(np.arange(80) < 40, names[kinds], None)
    assert estimator.fit(frame, known).classes_.tolist() == names.tolist()
    found = estimator.predict(frame)
    assert np.mean(found == names[kinds]) == estimator.score(frame, names[kinds]) > 0.6
    numbered = clone(estimator).fit(frame, np.where(np.arange(80) < 40, kinds, np.nan))
    assert numbered.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(names[numbered.predict(frame)], found)
    turned = clone(estimator).set_params(predictions=list(names[::-1]))
    np.testing.assert_array_equal(turned.fit(frame, known).predict(frame), found)
    with pytest.raises(tupi.InputError, match="labels: found class 1; accepted: third, second, first"):
        turned.fit(frame, kinds)  # the first column, or the first name?


def test_probabilities_of_folds_belong_to_their_classes():
    kinds, shares = three_classes()
    names = np.array(["first", "second", "third"])
    frame = pd.concat([pd.DataFrame(X).add_prefix("x"), pd.DataFrame(shares, columns=names)], axis=1)
    estimator = tupi.TupiDenoiser("auto", task="classification", predictions=list(names))
    found = cross_val_predict(estimator, frame, names[kinds], cv=2, method="predict_proba")
    assert np.mean(found.argmax(axis=1) == kinds) > 0.6


def test_one_probability_per_item_has_two_classes():
    kinds = np.where(TRUTH > 0, "yes", "no")
    labels = np.where(np.arange(80) < 40, kinds, None)
    estimator = tupi.TupiDenoiser("ridge", task="classification")
    found = estimator.fit_predict(X, labels=labels, predictions=1 / (1 + np.exp(-SCORES)))
    assert estimator.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(found, np.where(estimator.denoised_ > 0.5, "yes", "no"))


def test_without_the_predictions_of_new_items_there_is_no_predict():
    assert hasattr(tupi.TupiDenoiser(), "predict")
    estimator = tupi.TupiDenoiser(**QUICK).fit(X, SCORES, KNOWN)
    for name in ("predict", "score", "predict_proba"):
        assert not hasattr(estimator, name)
    assert not hasattr(tupi.TupiDenoiser(), "predict_proba")
    with pytest.raises(AttributeError) as found:
        estimator.predict(X)
    assert "fitted with the initial predictions as y" in str(found.value.__cause__)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda e: e.set_params(predictions=0).fit(X, KNOWN, predictions=SCORES),
            "predictions: found beside columns 0",
        ),
        (lambda e: e.fit(X, KNOWN, labels=KNOWN, predictions=SCORES), "labels: found beside y"),
        (lambda e: e.set_params(predictions=9).fit(X, KNOWN), "predictions is 9; accepted: numbers of columns from 0"),
        (lambda e: e.fit(pd.DataFrame(X), KNOWN, predictions=SCORES[:9]), "predictions: found 9 for 80 rows of X"),
        (lambda e: e.fit(X, KNOWN, predictions=SCORES).predict(X), "predictions: found None; accepted: the initial"),
        (lambda e: e.fit(X, KNOWN, predictions=SCORES).score(X, np.full(80, np.nan)), "y: found no value"),
        (lambda e: e.fit(X, KNOWN, predictions=SCORES).score(X, X), r"y: found shape \(80, \d\); accepted: one value"),
        (
            lambda e: fitted_classes().score(WITH_CHANCES, TEXT, sample_weight=np.zeros(80)),
            r"sample_weight: found shape \(80,\) for 80 rows of X, or none above 0; accepted: a finite number",
        ),
        (lambda e: fitted_classes().score(WITH_CHANCES, TEXT, sample_weight=[1]), r"sample_weight: found shape \(1,\)"),
        (lambda e: list(tupi.LabelledKFold(31).split(X, KNOWN)), "y: found 30 label"),
        (lambda e: list(tupi.LabelledKFold().split(X)), "y: found None"),
        (lambda e: list(tupi.LabelledKFold(1).split(X, KNOWN)), "n_splits: found 1; accepted: a whole number"),
        (lambda e: list(tupi.LabelledKFold("x").split(X, KNOWN)), "n_splits: found 'x'; accepted: a whole number"),
        (lambda e: list(tupi.LabelledKFold().split(X, X)), r"y: found shape \(80, \d\); accepted: one label for each"),
        (lambda e: list(tupi.LabelledKFold().split(X, KNOWN, [1, 2])), r"groups: found shape \(2,\) for 80 items"),
        (lambda e: list(tupi.LabelledKFold().split(X, KNOWN, X)), r"groups: found shape \(80, \d\) for 80 items"),
        (lambda e: e.fit(X, [[1], [1, 2]], predictions=SCORES), "y: found rows of different lengths"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(call, sentence):
    with pytest.raises(tupi.InputError, match=sentence):
        call(tupi.TupiDenoiser(**QUICK))


@pytest.fixture
def shrinking(monkeypatch):
    """Let results predict new items by half of what came in: what counts here is what they are asked."""
    asked = []

    def predict(self, predictions, features, groups=None):
        asked.append((predictions, features))
        return 0.5 * predictions

    monkeypatch.setattr(tupi.Denoised, "predict", predict, raising=False)
    return asked


def test_new_items_are_split_as_those_of_the_fit(shrinking):
    estimator = tupi.TupiDenoiser(**QUICK, predictions=0, views={"near": [1, 2], "rest": slice(3, None)})
    estimator.fit(WITH_SCORES[:60], KNOWN[:60])
    np.testing.assert_allclose(estimator.predict(WITH_SCORES[60:63]), 0.5 * SCORES[60:63])
    predictions, features = shrinking[0]
    np.testing.assert_array_equal(predictions, SCORES[60:63])
    np.testing.assert_array_equal(features["near"], VIEWS["near"][60:63])
    np.testing.assert_array_equal(features["rest"], X[60:63, 2:])


def test_scores_are_those_of_the_task_on_what_is_known(shrinking):
    for task, expected in (
        ("ranking", tupi.pairwise_accuracy(SCORES[:30], TRUTH[:30])),
        ("regression", 1 - np.sum((TRUTH[:30] - SCORES[:30] / 2) ** 2) / np.sum((TRUTH[:30] - TRUTH[:30].mean()) ** 2)),
    ):
        estimator = tupi.TupiDenoiser(**QUICK, task=task, predictions=0).fit(WITH_SCORES, KNOWN)
        assert estimator.score(WITH_SCORES, KNOWN) == pytest.approx(expected)
    with pytest.raises(tupi.InputError, match="sample_weight: found for ranking"):
        tupi.TupiDenoiser(**QUICK, predictions=0).fit(WITH_SCORES, KNOWN).score(WITH_SCORES, KNOWN, sample_weight=KNOWN)
    twice = np.where(np.arange(80) < 10, 2.0, 1.0)
    rows = np.repeat(np.arange(80), twice.astype(int))
    weighed = estimator.score(WITH_SCORES, KNOWN, sample_weight=twice)
    assert weighed == pytest.approx(estimator.score(WITH_SCORES[rows], KNOWN[rows]))
    kinds, shares = three_classes()
    known = np.where(np.arange(80) < 40, kinds, np.nan)
    estimator = tupi.TupiDenoiser(**QUICK, task="classification").fit(X, known, predictions=shares)
    expected = np.mean(shares.argmax(axis=1)[:40] == kinds[:40])
    assert estimator.score(X, known, predictions=shares) == pytest.approx(expected)
    np.testing.assert_allclose(estimator.predict_proba(X, predictions=shares), shares / 2)


def test_searches_pipelines_and_cross_validation_pass_it_all_on(shrinking):
    search = GridSearchCV(
        make_pipeline(StandardScaler(), tupi.TupiDenoiser(predictions=0, method="ridge")),
        {"tupidenoiser__params": [{"alpha": 1.0}, {"alpha": 100.0}]},
        cv=tupi.LabelledKFold(3),
    ).fit(WITH_SCORES, KNOWN)
    assert search.best_score_ > 0.5
    expected = (SCORES - SCORES.mean()) / SCORES.std() / 2
    np.testing.assert_allclose(search.predict(WITH_SCORES), expected)
    found = cross_val_predict(tupi.TupiDenoiser(**QUICK, predictions=0), WITH_SCORES, TRUTH, cv=3)
    np.testing.assert_allclose(found, SCORES / 2)


def test_predictions_beside_the_features_are_routed(shrinking):
    with config_context(enable_metadata_routing=True):
        estimator = tupi.TupiDenoiser(**QUICK)
        estimator.set_fit_request(predictions=True).set_score_request(predictions=True)
        found = cross_val_score(estimator, X, KNOWN, cv=tupi.LabelledKFold(3), params={"predictions": SCORES})
    assert len(found) == 3
    asked = np.concatenate([predictions for predictions, _ in shrinking])
    assert sorted(asked) == sorted(SCORES[:30])
    routing = tupi.TupiDenoiser().get_metadata_routing()
    assert set(routing.fit.requests) == {"labels", "predictions", "groups"}
    assert set(routing.predict.requests) == {"predictions", "groups"}
    assert set(routing.score.requests) == {"predictions", "groups", "sample_weight"}


def test_labels_and_groups_reach_denoise(monkeypatch):
    passed = {}

    def denoise(predictions, features, **options):
        passed.update(options)
        options.pop("groups", None)
        return tupi.denoise(predictions, features, **options)

    monkeypatch.setattr("tupi.estimator.denoise", denoise)
    groups = np.arange(80) % 4
    tupi.TupiDenoiser(**QUICK, params={"alpha": 2.0}).fit(X, SCORES, labels=KNOWN, groups=groups)
    assert passed["groups"] is groups
    assert passed["labels"] is KNOWN
    assert passed["alpha"] == 2.0
    tupi.TupiDenoiser(**QUICK).fit(X, KNOWN, predictions=SCORES)
    np.testing.assert_array_equal(passed["labels"], KNOWN)


def test_a_search_over_labels_scores_real_predictions_of_new_items():
    grid = {"params": [{"n_iter": 1}, {"n_iter": 10}]}
    search = GridSearchCV(tupi.TupiDenoiser("tupi", predictions=0), grid, cv=tupi.LabelledKFold(3)).fit(
        WITH_SCORES, KNOWN
    )
    assert search.best_score_ > 0.6
    assert search.predict(WITH_SCORES).shape == (80,)


def test_a_search_passes_predictions_beside_x_on_to_scores():
    with config_context(enable_metadata_routing=True):
        estimator = tupi.TupiDenoiser("tupi").set_fit_request(predictions=True).set_score_request(predictions=True)
        grid = {"params": [{"n_iter": 1}, {"n_iter": 10}]}
        search = GridSearchCV(estimator, grid, cv=tupi.LabelledKFold(3)).fit(X, KNOWN, predictions=SCORES)
        beside = search.score(X, TRUTH, predictions=SCORES)
    columns = GridSearchCV(tupi.TupiDenoiser("tupi", predictions=0), grid, cv=tupi.LabelledKFold(3))
    columns.fit(WITH_SCORES, KNOWN)
    for name in ("mean_test_score", "std_test_score"):
        np.testing.assert_allclose(search.cv_results_[name], columns.cv_results_[name])
    assert beside == pytest.approx(columns.score(WITH_SCORES, TRUTH))


def test_everything_works_together_with_the_default_method():
    """Scores beside X, scaled features, a search over folds of labels, and cross-validation, nothing being replaced."""
    with config_context(enable_metadata_routing=True):
        estimator = tupi.TupiDenoiser().set_fit_request(predictions=True)
        estimator.set_predict_request(predictions=True).set_score_request(predictions=True)
        search = GridSearchCV(
            make_pipeline(StandardScaler(), estimator),
            {"tupidenoiser__params": [{"guard": True}, {"guard": False}]},
            cv=tupi.LabelledKFold(3),
        ).fit(X, KNOWN, predictions=SCORES)
        best = search.best_estimator_  # the `predict` of a search takes nothing but X
        found = best.predict(X[60:], predictions=SCORES[60:])
        if SCORES_PIPELINES:
            assert np.isfinite(search.cv_results_["mean_test_score"]).all()
            assert search.score(X, TRUTH, predictions=SCORES) > tupi.pairwise_accuracy(SCORES, TRUTH)
        else:
            with pytest.raises(TypeError, match="not routed"):
                search.score(X, TRUTH, predictions=SCORES)
        pickled = pickle.loads(pickle.dumps(best))
        np.testing.assert_allclose(pickled.predict(X[60:], predictions=SCORES[60:]), found)
    scaled = best[0].transform(X[60:])
    np.testing.assert_allclose(found, best[-1].result_.predict(SCORES[60:], scaled))
    out_of_fold = cross_val_predict(tupi.TupiDenoiser(predictions=0), WITH_SCORES, KNOWN, cv=3)
    assert out_of_fold.shape == (80,)
    assert tupi.pairwise_accuracy(out_of_fold, TRUTH) > tupi.pairwise_accuracy(SCORES, TRUTH) - 0.02
    kinds, shares = three_classes()
    wide = np.column_stack([shares, X])
    classifier = tupi.TupiDenoiser(predictions=[0, 1, 2], task="classification")
    chances = cross_val_predict(classifier, wide, kinds, cv=3, method="predict_proba")
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert np.mean(chances.argmax(axis=1) == kinds) > 0.5


def test_groups_are_routed_to_folds_fits_and_scores():
    """Whole groups are left out, and pairs within groups are scored."""
    groups = np.arange(80) // 8
    shifted = np.column_stack([SCORES + 10 * groups, X])
    known = np.where(np.arange(80) % 2 == 0, TRUTH + 10 * groups, np.nan)
    for train, test in tupi.LabelledKFold(5).split(shifted, known, groups):
        assert not set(groups[train]) & set(groups[test])
        assert len(test) == 16
    with config_context(enable_metadata_routing=True):
        estimator = tupi.TupiDenoiser(predictions=0).set_fit_request(groups=True).set_score_request(groups=True)
        found = cross_val_score(estimator, shifted, known, cv=tupi.LabelledKFold(5), params={"groups": groups})
    assert len(found) == 5
    assert found.mean() > 0.6
    with pytest.raises(tupi.InputError, match=r"y: found 10 group\(s\) with labels; accepted: one or more for each"):
        next(tupi.LabelledKFold(11).split(shifted, known, groups))


def test_folds_leave_out_labelled_items_only():
    folds = list(tupi.LabelledKFold(4).split(X, KNOWN))
    assert tupi.LabelledKFold(4).get_n_splits() == len(folds) == 4
    for train, test in folds:
        assert set(range(30, 80)) <= set(train)
        assert not set(train) & set(test)
        assert len(train) + len(test) == 80
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(30))


def test_only_results_in_memory_are_reported(tmp_path):
    estimator = tupi.TupiDenoiser()
    estimator.result_ = DistributedDenoised(*[None] * 11)
    with pytest.raises(tupi.InputError, match="report: found a result of a Dask cluster"):
        estimator.report(tmp_path / "report.html")


def test_accuracy_compares_whole_names_whatever_their_type():
    estimator = fitted_classes()
    right = estimator.predict(WITH_CHANCES) == TEXT
    assert estimator.score(WITH_CHANCES, TEXT) == right.mean()
    longer = np.where(TEXT == "up", "upper", "no")  # cut to two letters it would be the class "up"
    assert estimator.score(WITH_CHANCES, longer) == np.mean(right & (TEXT == "no"))
    weights = np.arange(80.0)
    assert estimator.score(WITH_CHANCES, TEXT, sample_weight=weights) == pytest.approx(right @ weights / weights.sum())
    numbers = (TRUTH > 0).astype(float).astype(object)
    numbered = fitted_classes(numbers)
    assert (
        numbered.score(WITH_CHANCES, numbers) == numbered.score(WITH_CHANCES, (TRUTH > 0).astype(int)) == right.mean()
    )
