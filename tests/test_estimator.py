import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import tupi
from tests.conftest import make_problem_arrays
from tupi.cluster.result import DistributedDenoised

TRUTH, SCORES, VIEWS = make_problem_arrays(80)


@parametrize_with_checks([tupi.TupiDenoiser(), tupi.TupiDenoiser(method="tupi", params={"n_iter": 2})])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def test_equals_denoise():
    X = np.hstack(list(VIEWS.values()))
    views = {"near": [0, 1], "bent": slice(2, 5), "junk": [5, 6, 7, 8]}
    estimator = tupi.TupiDenoiser("tupi", views=views, params={"n_iter": 3}).fit(X, SCORES)
    expected = tupi.denoise(SCORES, VIEWS, method="tupi", n_iter=3)
    np.testing.assert_array_equal(estimator.denoised_, expected.predictions)
    np.testing.assert_array_equal(clone(estimator).fit_predict(X, SCORES), expected.predictions)


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


def test_only_results_in_memory_are_reported(tmp_path):
    estimator = tupi.TupiDenoiser()
    estimator.result_ = DistributedDenoised(*[None] * 11)
    with pytest.raises(tupi.InputError, match="report: found a result of a Dask cluster"):
        estimator.report(tmp_path / "report.html")
