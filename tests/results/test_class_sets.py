"""Sets of classes: names, levels, one probability per item, new items, saved results, refusals."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

import tupi
from tests.conftest import make_problem_arrays
from tupi.judging.conformal import class_scores, reach
from tupi.runtime.errors import InputError

N, M = 600, 60
TRUTH, SCORES, VIEWS = make_problem_arrays(N)
CLASSES = np.digitize(TRUTH, [-0.5, 0.5])
NAMES = ["low", "middle", "high"]
SHARES = softmax(-((SCORES[:, None] - [-1, 0, 1]) ** 2), axis=1)
IDS = [f"item {k}" for k in range(N)]
KNOWN, UNSEEN = np.arange(M), np.arange(M, N)


def denoised(predictions=None, truth=CLASSES, **others):
    table = pd.DataFrame(SHARES, columns=NAMES, index=IDS) if predictions is None else predictions
    labels = pd.Series(np.array(NAMES)[truth[KNOWN]], index=IDS[:M]) if predictions is None else truth[KNOWN]
    labels = labels if predictions is None else tupi.Values(KNOWN, labels)
    return tupi.denoise(table, VIEWS, labels=labels, task="classification", **others)


@pytest.fixture(scope="module")
def result():
    return denoised()


def test_they_hold_the_share_that_was_asked_for_under_the_names_that_came_in(result):
    for level in (0.5, 0.8, 0.95):
        sets = result.class_sets(level)
        assert list(sets.columns) == NAMES
        assert list(sets.index) == IDS
        held = sets.to_numpy()[UNSEEN, CLASSES[UNSEEN]].mean()
        assert abs(held - level) < 3 * np.sqrt(level * (1 - level) / M)


def test_they_are_the_classes_as_likely_as_those_of_left_out_labels(result):
    assert result.left_out_errors.shape == (M,)
    scores = class_scores(result.predictions, True)
    np.testing.assert_array_equal(result.class_sets(0.8), scores <= reach(result.left_out_errors, 0.8) + 1e-12)


def test_a_higher_level_has_larger_sets_and_none_need_be_empty(result):
    half, most = result.class_sets(0.5), result.class_sets(0.95)
    assert (most.to_numpy() >= half.to_numpy()).all()
    assert not half.any(axis=1).all()
    filled = result.class_sets(0.5, empty=False)
    assert filled.any(axis=1).all()
    assert (filled.to_numpy() >= half.to_numpy()).all()
    assert (filled.sum(axis=1) - half.sum(axis=1) <= 1).all()
    assert result.class_sets(0.999).to_numpy().all()  # 60 labels cannot tell


def test_one_probability_per_item_has_sets_of_two_classes():
    truth = (TRUTH > 0).astype(int)
    found = denoised(1 / (1 + np.exp(-2 * SCORES)), truth)
    sets = found.class_sets(0.9)
    assert list(sets.columns) == [0, 1]
    assert abs(sets.to_numpy()[UNSEEN, truth[UNSEEN]].mean() - 0.9) < 0.12
    p = found.predictions
    np.testing.assert_array_equal(sets[1], 1 - p <= reach(found.left_out_errors, 0.9) + 1e-12)


def test_scores_that_are_no_probabilities_have_them_too():
    sets = denoised(5 + 3 * np.log(SHARES)).class_sets(0.9).to_numpy()
    assert sets.any(axis=1).all()
    assert abs(sets[UNSEEN, CLASSES[UNSEEN]].mean() - 0.9) < 0.12


def test_saved_results_and_new_items_have_the_same(result, tmp_path):
    back = tupi.load(result.save(tmp_path / "result.npz"))
    pd.testing.assert_frame_equal(back.class_sets(0.8), result.class_sets(0.8))
    later = pd.DataFrame(SHARES[:20], columns=NAMES, index=[f"new {k}" for k in range(20)])
    told = result.predict(later, {name: view[:20] for name, view in VIEWS.items()}, details=True)
    sets = told.class_sets(0.8)
    assert list(sets.columns) == NAMES
    assert list(sets.index) == list(later.index)
    np.testing.assert_array_equal(sets, class_scores(told.predictions, True) <= reach(result.left_out_errors, 0.8))


def test_refusals(result):
    with pytest.raises(InputError, match=r"interval: found a result of task 'classification'; accepted: class_sets"):
        result.interval(0.8)
    with pytest.raises(InputError, match="level: found 80"):
        result.class_sets(80)
    with pytest.raises(InputError, match=r"class_sets: found a result of task 'ranking'; accepted: interval"):
        tupi.denoise(SCORES, VIEWS, method="smooth").class_sets()
    with pytest.raises(InputError, match="class_sets: found a result of method 'auto' without probabilities"):
        tupi.denoise(SHARES, VIEWS, task="classification").class_sets()
