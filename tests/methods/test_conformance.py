"""Every method x task x kind of labels passes the same battery; a method that is new in METHODS gets it for free."""

import pytest

from tests.methods.battery import CHECKS, LABELS, case_for, cells, settings, solved
from tupi.methods import METHODS

# Expectations that a method knowingly does not meet: the cells of a check, and why.
KNOWN: dict[tuple[str, str], tuple[set[tuple[str, str]], str]] = {}


def _trials():
    for check in CHECKS:
        for name in METHODS:
            for task, labels in cells(check):
                some, reason = KNOWN.get((check, name), (set(), ""))
                known = (task, labels) in some
                marks = [pytest.mark.xfail(raises=AssertionError, strict=True, reason=reason)] if known else []
                yield pytest.param(check, name, task, labels, marks=marks, id=f"{check}-{name}-{task}-{labels}")


@pytest.mark.parametrize(("check", "name", "task", "labels"), list(_trials()))
def test_conforms(check, name, task, labels):
    method = settings(name)
    CHECKS[check](method, case_for(method, task, labels))


@pytest.mark.parametrize("name", METHODS)
def test_applies_to_some_kind_of_labels(name):
    method = settings(name)
    assert any(solved(method, case_for(method, "ranking", labels)).refusal is None for labels in LABELS)
