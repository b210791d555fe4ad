from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import tupi
from tupi.algorithm.denoiser import Step
from tupi.algorithm.trajectory import Watch
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Labels, Pairs, Values
from tupi.inputs.problem import make_problem
from tupi.methods import make_method
from tupi.methods.base import Fit, Method
from tupi.page.answers import PairAnswer
from tupi.page.judging import gain_interval, judge_answers
from tupi.page.knowledge import Knowledge, known_from

N = 60


def pairs_apart(k: int) -> Pairs:
    return Pairs(np.arange(k), np.arange(k, 2 * k))


def known_of(judges: Pairs, chosen: Pairs) -> Knowledge:
    answers = [
        PairAnswer(f"{drawn}{k}", "ann", int(i), int(j), "left", drawn=drawn)
        for drawn, pairs in (("random", judges), ("chosen", chosen))
        for k, (i, j) in enumerate(zip(pairs.higher, pairs.lower, strict=True))
    ]
    return known_from(None, answers)


@dataclass(frozen=True, kw_only=True)
class Memory(Method):
    """Ranks the pairs that it was fitted to rightly and all others wrongly."""

    name: ClassVar[str] = "memory"
    seen: Any = None

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        assert isinstance(labels, Pairs)
        self.seen.append({*labels.higher.tolist(), *labels.lower.tolist()})
        columns = -np.arange(N, dtype=float)[::-1, None]
        columns[labels.lower] = -100.0
        return Fit(columns, {}, [Step(0, columns, np.ones(1), np.ones(1))], [])


def prepared_with(labels: Labels | None, initial: np.ndarray) -> Prepared:
    problem = make_problem(initial, {"view": np.random.default_rng(0).normal(size=(N, 2))}, None)
    return Prepared(replace(problem, labels=labels))


def test_only_random_answers_judge_and_none_is_seen_by_what_it_judges() -> None:
    judges, chosen = pairs_apart(10), Pairs(np.arange(20, 30), np.arange(30, 40))
    known = known_of(judges, chosen)
    method = Memory(seen=[])
    evidence = judge_answers(method, prepared_with(known.labels, -np.arange(N, dtype=float)), known, changed=True)
    assert evidence.n_labels == 10
    assert evidence.before == 1.0
    assert evidence.after == 0.0, "what it remembers of others does not help"
    assert evidence.sentence.startswith(
        "Judged on 10 answers about pairs drawn at random, of 20 answers, each left out"
    )
    assert len(method.seen) == 10
    for i, j in zip(judges.higher, judges.lower, strict=True):
        assert sum(not {int(i), int(j)} & seen for seen in method.seen) == 1


def test_what_a_fit_says_without_the_items_of_each_pair_is_what_fits_without_them_say() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=300)
    views = {"near": truth[:, None] + 0.3 * rng.normal(size=(300, 2))}
    ends = rng.permutation(300)[:160].reshape(-1, 2)  # nobody takes part twice
    higher, lower = (np.where(truth[ends[:, 0]] > truth[ends[:, 1]], *one) for one in (ends.T, ends.T[::-1]))
    problem = make_problem(truth + rng.normal(size=300), views, Pairs(higher, lower))
    prepared, method = Prepared(problem), make_method("auto", {})
    known = Knowledge(problem.labels, Pairs(higher[:40], lower[:40]), 80, "80 answers")
    fit = method.fit(prepared, problem.labels)
    quick = judge_answers(method, prepared, known, True, fit)
    slow = judge_answers(method, prepared, known, True)
    assert (quick.n_labels, quick.before) == (40, slow.before)
    assert quick.after == pytest.approx(slow.after, abs=0.06)  # two or three answers: folds choose variances anew
    assert quick.gain > 0.05
    assert fit.left_out_pairs is not None
    first, second, differences = fit.left_out_pairs()  # type: ignore[misc]
    judge = np.isin(first, higher[:40]) & np.isin(second, lower[:40])
    assert quick.after == pytest.approx(np.mean(differences[judge] > 0))


def test_values_of_a_file_go_on_judging_when_somebody_answers() -> None:
    """Their pairs judge beside the random answers; answers about pairs that were chosen for being hard do not."""
    rng = np.random.default_rng(1)
    truth = rng.normal(size=300)
    views = {"near": truth[:, None] + 0.3 * rng.normal(size=(300, 2))}
    values = Values(np.arange(30), truth[:30])
    ends = 30 + rng.permutation(270)[:40].reshape(-1, 2)
    answers = [
        PairAnswer(str(k), "ann", int(i), int(j), "left" if truth[i] > truth[j] else "right", drawn=drawn)
        for k, ((i, j), drawn) in enumerate(zip(ends, ["random", "chosen"] * 10, strict=True))
    ]
    known = known_from(values, answers)
    problem = make_problem(truth + rng.normal(size=300), views, known.labels)
    prepared, method = Prepared(problem), make_method("auto", {})
    fit = method.fit(prepared, problem.labels)
    found = judge_answers(method, prepared, known, True, fit)
    assert found.n_labels == 40
    assert found.sentence.startswith("Judged on the pairs of 30 labelled items and on 10 answers about pairs drawn")
    first, second, differences = fit.left_out_pairs()  # type: ignore[misc]
    hard = np.isin(first, ends[1::2]) | np.isin(second, ends[1::2])
    assert hard.any()
    assert found.after == pytest.approx(np.mean(differences[~hard] > 0))
    assert found.low > 0
    alone = tupi.denoise(problem.initial, views, values).evidence
    assert alone is not None
    assert found.gain == pytest.approx(alone.gain, abs=0.08)


def test_few_random_answers_say_how_many_more_it_takes() -> None:
    known = known_of(pairs_apart(5), Pairs(np.arange(20, 40), np.arange(40, 60)))
    evidence = judge_answers(Memory(seen=[]), prepared_with(known.labels, np.arange(N, dtype=float)), known, True)
    assert np.isnan(evidence.low)
    assert "There are 5 of them among 25 answers; it takes 3 more." in evidence.sentence


def test_scores_that_stay_gain_nothing_for_sure() -> None:
    known = known_of(pairs_apart(10), pairs_apart(1))
    evidence = judge_answers(Memory(seen=[]), prepared_with(known.labels, np.arange(N, dtype=float)), known, False)
    assert (evidence.low, evidence.high, evidence.gain) == (0, 0, 0)
    assert "stay as they are" in evidence.sentence


@pytest.mark.parametrize("right", [0, 3, 10])
def test_answers_that_see_no_difference_are_no_certainty(right: int) -> None:
    same = (np.arange(10) < right).astype(float)
    low, high = gain_interval(same, same, pairs_apart(10))
    assert low < -0.1
    assert high > 0.1


def test_intervals_hold_what_was_measured_and_nothing_impossible() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        k = int(rng.integers(8, 40))
        before, after = rng.choice([0.0, 0.5, 1.0], size=(2, k), p=rng.dirichlet(np.ones(3)))
        low, high = gain_interval(before, after, Pairs(rng.integers(20, size=k), 20 + rng.integers(20, size=k)))
        assert -1 <= low <= after.mean() - before.mean() <= high <= 1
    # The case of a page that said "30% before, gain +63.3, interval +43.4 to +116.6".
    before, after = (np.arange(30) >= 21).astype(float), (np.arange(30) >= 2).astype(float)
    low, high = gain_interval(before, after, pairs_apart(30))
    assert high < 1 - 0.15


def test_intervals_hold_the_gain_of_random_pairs() -> None:
    rng = np.random.default_rng(1)
    for chances in ((0.6, 0.2, 0.1, 0.1), (0.75, 0.15, 0.0, 0.1), (0.9, 0.05, 0.05, 0.0), (0.3, 0.5, 0.1, 0.1)):
        held = 0
        for _ in range(400):
            kind = rng.choice(4, size=10, p=chances)  # both right, only after, only before, both wrong
            before, after = np.isin(kind, (0, 2)).astype(float), np.isin(kind, (0, 1)).astype(float)
            low, high = gain_interval(before, after, pairs_apart(10))
            held += low <= chances[1] - chances[2] <= high
        assert held >= 0.93 * 400, chances


def test_pairs_that_share_items_know_less() -> None:
    before, after = np.zeros(10), (np.arange(10) < 5).astype(float)
    apart = gain_interval(before, after, pairs_apart(10))
    shared = gain_interval(before, after, Pairs(np.array([0] * 5 + [1] * 5), np.arange(2, 12)))
    assert shared[1] - shared[0] > apart[1] - apart[0]


@pytest.mark.parametrize("kind", ["a lot", "a little", "nothing", "something else"])
def test_the_interval_on_the_page_holds_the_true_gain(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The whole simulation is `experiments/teachings.py`.
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "experiments")
    said = importlib.import_module("teachings").teach(kind, seed=0, n_answers=20)
    assert said.holds
    assert -100 <= said.low <= said.gain <= said.high <= 100
