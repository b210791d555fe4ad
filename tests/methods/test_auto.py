import numpy as np
import pytest

import tupi
from tests.methods.rows import KNOWN, LABELLED, SCORES, VIEWS
from tupi.errors import InputError
from tupi.methods.auto import Auto


def test_with_labels_it_fuses():
    found = tupi.denoise(SCORES, VIEWS, labels=KNOWN)
    expected = tupi.denoise(SCORES, VIEWS, labels=KNOWN, method="fuse")
    np.testing.assert_array_equal(found.predictions, expected.predictions)
    assert found.params["chosen"] == "fuse"
    assert len(found.notes) == 1
    assert found.notes[0].startswith("Chose 'fuse' because there are labels. 2 of 3 views depend on the predictions")
    assert "\n" not in found.notes[0]
    np.testing.assert_array_equal(found.suggest(5), expected.suggest(5))


def test_without_labels_it_smooths():
    found = tupi.denoise(SCORES, VIEWS)
    expected = tupi.denoise(SCORES, VIEWS, method="smooth")
    np.testing.assert_array_equal(found.predictions, expected.predictions)
    assert found.params["chosen"] == "smooth"
    assert found.notes[0].startswith("Chose 'smooth' because there are no labels.")


def test_labels_of_items_without_features_do_not_count():
    views = {name: view.copy() for name, view in VIEWS.items()}
    for view in views.values():
        view[LABELLED] = np.nan
    found = tupi.denoise(SCORES, views, labels=KNOWN)
    assert found.params["chosen"] == "smooth"
    np.testing.assert_array_equal(found.predictions[LABELLED], SCORES[LABELLED])


def test_the_guard_can_be_turned_off():
    rng = np.random.default_rng(0)
    junk = {"junk": rng.normal(size=(len(SCORES), 3))}
    assert not tupi.denoise(SCORES, junk, labels=KNOWN).changed
    assert tupi.denoise(SCORES, junk, labels=KNOWN, guard=False).changed
    with pytest.raises(InputError, match="guard: found 3"):
        Auto(guard=3)


def test_parameters_of_the_papers_method_choose_it():
    assert tupi.denoise(SCORES, VIEWS, n_iter=1).method == "tupi"
