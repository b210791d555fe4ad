"""A fixed set of drawn calls; ``python -m tests.fuzz.run`` draws many more."""

import time

import numpy as np
import pytest

from tests.fuzz import readers
from tests.fuzz.cases import drawn
from tests.fuzz.outcomes import Case, problem_with
from tupi.runtime.errors import InputError

CASES = range(240)
AT_ONCE = 40


@pytest.mark.parametrize("first", CASES[::AT_ONCE])
def test_every_outcome_is_a_result_or_a_sentence(first):
    found = {seed: problem_with(drawn(seed)) for seed in range(first, first + AT_ONCE)}
    assert {seed: wrong for seed, wrong in found.items() if wrong is not None} == {}


def outcome(call, given=None, check=lambda given, result: None):
    return problem_with(Case("made", given, call, check))


def refuses(sentence):
    def call(_):
        raise InputError(sentence)

    return call


def test_what_must_not_happen_is_seen():
    """A fuzzer that finds nothing may also be one that looks at nothing."""
    assert outcome(lambda _: 1) is None
    assert outcome(refuses("lam: found 1; accepted: 2.")) is None
    assert "said" in outcome(refuses("two\nlines."))
    assert "ZeroDivisionError" in outcome(lambda _: 1 / 0)
    assert "SystemExit" in outcome(lambda _: exit(1))
    assert outcome(lambda given: given.fill(1.0), np.zeros(3)) == "the input was changed"
    assert outcome(lambda _: 1, check=lambda *_: "wrong") == "wrong"
    assert "warnings" in outcome(lambda _: [np.log(np.array([-1.0])) for _ in range(30)])


@pytest.mark.parametrize("pause", [0, 60])
def test_a_hang_is_seen(monkeypatch, pause):
    monkeypatch.setattr("tests.fuzz.outcomes.LONGEST", 0.2)

    def hang(_):
        while True:
            time.sleep(pause)

    assert "seconds" in outcome(hang)


def test_the_set_reaches_results_and_refusals():
    refused, kinds = 0, set()
    for seed in CASES:
        case = drawn(seed)
        kinds.add(case.kind)
        if case.kind == "pairwise_accuracy":
            problem_with(case)
            refused += case.refusal is not None
    calls = {"denoise", "binary", "predict", "update", "drift", "hsic", "pairwise_accuracy", "compare"}
    calls |= {"several labels", "estimator", "tune", "ndcg", "denoise_points", "folds"}
    files = {"load", "damaged model", "altered model"}
    commands = {f"command {name}" for name in ("denoise", "predict", "compare", "hsic")}
    assert kinds == calls | files | commands | {"page"}
    assert refused > 0


@pytest.mark.parametrize("kind", range(len(readers.KINDS)))
def test_files_of_each_kind_are_read_or_refused(kind, tmp_path, monkeypatch):
    whole, rng = readers.good_files()[kind], np.random.default_rng(kind)
    with monkeypatch.context() as patched:
        patched.setattr(InputError, "__str__", lambda refusal: "no sentence")
        assert readers.problem_with(whole, tmp_path) is None  # read, and not refused
        assert "no sentence" in readers.problem_with(whole[:3], tmp_path)
    for _ in range(25):
        damaged = bytearray(whole)
        for place in rng.integers(1, len(whole), size=3):
            damaged[place] = rng.integers(256)
        assert readers.problem_with(bytes(damaged), tmp_path) is None
