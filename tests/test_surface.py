"""What people import, call and read in signatures."""

import inspect
import pickle
import pkgutil
import re
import typing

import numpy as np
import pytest

import tupi
import tupi.methods
from tests.walk import Walk, calls
from tupi.inputs import types
from tupi.inputs.checked_labels import as_labels
from tupi.methods import METHODS, Method


def test_methods_lists_names_and_holds_classes():
    assert tupi.methods() == list(METHODS)
    assert tupi.methods() == tupi.methods.methods()
    for kind in METHODS.values():
        assert getattr(tupi.methods, kind.__name__) is kind


def test_the_package_travels_by_its_name():
    assert pickle.loads(pickle.dumps(tupi.methods)) is tupi.methods


def test_a_class_from_the_package_is_accepted_as_a_method(small):
    _, scores, views = small
    result = tupi.denoise(scores, views, method=tupi.methods.Knn(n_neighbors=7))
    assert result.params["n_neighbors"] == 7


@pytest.mark.parametrize("public", [tupi.denoise, tupi.compare, tupi.hsic, tupi.TupiDenoiser, *METHODS.values()])
def test_docstrings_cite_what_exists(public):
    for cited in re.findall(r"`{1,2}(tupi\.[\w.]+)", inspect.getdoc(public)):
        pkgutil.resolve_name(cited)  # complains about what does not exist


FUNCTIONS = [getattr(tupi, name) for name in tupi.__all__ if inspect.isfunction(getattr(tupi, name))]


@pytest.mark.parametrize("public", [*FUNCTIONS, tupi.TupiDenoiser, tupi.TupiDenoiser.fit, tupi.Values, tupi.Pairs])
def test_signatures_say_what_they_take(public):
    for parameter in inspect.signature(public).parameters.values():
        free = parameter.name == "self" or parameter.kind is parameter.VAR_KEYWORD
        assert free or parameter.annotation not in ("Any", typing.Any, parameter.empty), parameter.name


def test_types_are_names_for_unions_of_what_is_accepted():
    assert typing.get_args(types.FeaturesLike)
    values = tupi.Values([0, 1], [1.0, 2.0])
    assert values.index == [0, 1]  # kept as given until a problem checks them
    assert np.issubdtype(as_labels(values, 5).index.dtype, np.integer)


def test_parameters_of_the_papers_method_are_all_documented():
    documented = inspect.getdoc(METHODS["tupi"])
    plain, advanced = documented.split("Advanced\n--------")
    for name in inspect.signature(METHODS["tupi"]).parameters:
        listed = re.compile(rf"^(\w+, )*{name}(, \w+)* :", re.MULTILINE)
        assert bool(listed.search(plain)) != bool(listed.search(advanced)), name
    assert "patience :" in advanced
    assert issubclass(METHODS["tupi"], Method)


def test_a_walk_counts_what_a_call_goes_through(small):
    truth, scores, _ = small
    walk = Walk().follow(lambda: tupi.pairwise_accuracy(scores, truth))
    assert "judging/metrics.py: pairwise_accuracy" in walk.doors
    assert "inputs/checked_labels.py: _check_values" in set(walk.functions) - set(walk.doors)
    assert walk.files == [
        "inputs/checked_labels.py",
        "inputs/groups.py",
        "inputs/numbers.py",
        "judging/metrics.py",
    ]
    assert "judging/metrics.py: Metric" in walk.classes


@pytest.mark.parametrize(("name", "files", "classes"), [("auto", 31, 32), ("tupi", 24, 24)])
def test_few_landmarks_lie_along_a_call(name, files, classes):
    """`docs/architecture.md` says why there are so many files and classes; more need a reason."""
    call = calls()[name]
    call()
    walk = Walk().follow(call)
    assert "methods/__init__.py: make_method" in walk.landmarks
    assert len(walk.landmarks) <= 35
    assert len(walk.files) <= files
    assert len(walk.classes) <= classes
