import re

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

import tupi
from tests.methods.rows import KNOWN, LABELLED, SCORES, VIEWS
from tupi.methods.auto.auto import Auto
from tupi.runtime.errors import InputError


def test_with_labels_it_fuses():
    found = tupi.denoise(SCORES, VIEWS, labels=KNOWN)
    expected = tupi.denoise(SCORES, VIEWS, labels=KNOWN, method="fuse")
    np.testing.assert_array_equal(found.predictions, expected.predictions)
    assert found.params["chosen"] == "fuse"
    assert len(found.notes) == 1
    assert found.notes[0].startswith("The labels were used to learn how far to trust the predictions, and what")
    assert " 2 of 3 views depend on the predictions. " in found.notes[0]
    assert "\n" not in found.notes[0]
    np.testing.assert_array_equal(found.suggest(5), expected.suggest(5))


def test_without_labels_it_smooths():
    found = tupi.denoise(SCORES, VIEWS)
    expected = tupi.denoise(SCORES, VIEWS, method="smooth")
    np.testing.assert_array_equal(found.predictions, expected.predictions)
    assert found.params["chosen"] == "smooth"
    assert found.notes[0].startswith("There are no labels, so only the predictions and the views were looked at. ")


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


@pytest.mark.parametrize("params", [{"lam": 0.3}, {"n_threads": 1}, {"n_iter": 20}, {"engine": "exact"}])
def test_a_parameter_never_changes_the_method(params):
    (name,) = params
    with pytest.raises(InputError, match=f"{name}: method 'auto' has no such parameter; it belongs to .*'tupi'"):
        tupi.denoise(SCORES, VIEWS, labels=KNOWN, **params)


def test_the_owner_of_a_parameter_is_named_in_full():
    with pytest.raises(InputError) as caught:
        tupi.denoise(SCORES, VIEWS, n_threads=1)
    assert str(caught.value) == (
        "n_threads: method 'auto' has no such parameter; it belongs to methods 'tupi', 'tupi-joint', 'tupi+coconut' "
        '(method="tupi", n_threads=...).'
    )


def test_a_parameter_that_nobody_has_lists_those_of_auto():
    with pytest.raises(InputError) as caught:
        tupi.denoise(SCORES, VIEWS, gard=False)
    assert str(caught.value) == (
        "gard: denoise has no such argument, and method 'auto' has no such parameter; accepted: guard. "
        "Did you mean 'guard'?"
    )


def test_an_argument_that_denoise_lacks_says_so_without_other_methods():
    with pytest.raises(InputError, match="queries: denoise has no such argument") as caught:
        tupi.denoise(SCORES, VIEWS, queries=[0] * len(SCORES))
    assert "tupi" not in str(caught.value)


@pytest.mark.parametrize("method", ["knn", "ridge", "tupi+coconut"])
def test_a_memory_limit_that_is_not_honoured_is_refused(method):
    said = f"memory_limit: found '1GB' with method '{method}', which keeps its graphs in memory; accepted: with method="
    with pytest.raises(InputError, match=re.escape(said)):
        tupi.denoise(SCORES, VIEWS, method=method, memory_limit="1GB")


def test_a_memory_limit_changes_nothing_but_where_it_is_too_small(monkeypatch):
    free, limited = (tupi.denoise(SCORES, VIEWS, labels=KNOWN, memory_limit=limit) for limit in (None, "100MB"))
    assert free.changed
    assert np.array_equal(free.predictions, limited.predictions)
    monkeypatch.setattr("tupi.methods.auto.auto.BYTES_OF_COLUMNS", 1_000_000)
    with pytest.raises(InputError, match=r"memory_limit: found [0-9,]+ bytes, and method 'auto' keeps about 12"):
        tupi.denoise(SCORES, VIEWS, memory_limit="100MB")


def test_the_answer_does_not_depend_on_how_many_threads_there_are():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(1500, 3))  # so many that products of matrices are shared among threads
    views = {f"v{k}": hidden @ rng.normal(size=(3, 9)) + rng.normal(size=(1500, 9)) for k in range(4)}
    scores, labels = hidden[:, 0] + rng.normal(size=1500), tupi.Values(range(60), hidden[:60, 0])
    found = []
    for threads in (1, 2):
        with ThreadpoolController().limit(limits=threads):
            found.append(tupi.denoise(scores, views, labels=labels).predictions)
    assert np.array_equal(*found)
