"""Many people at once: who waits for what, what is kept, and that the latest of anything is what stays."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.page.conftest import N, decode
from tests.page.test_session import answer_rightly, look_at, wait
from tupi.inputs.labels import Pairs, Values
from tupi.page import teacher
from tupi.page.answers import PairAnswer, Told
from tupi.page.decider import Decider, Plan
from tupi.page.knowledge import NOTHING, ItemTally, Knowledge, Tally, known_from, known_of_items
from tupi.page.lanes import Lane
from tupi.page.looks import LAST, Look
from tupi.page.session import Session
from tupi.page.source import PageSource


@pytest.fixture
def untaught(unlabelled: PageSource, tmp_path: Path) -> Iterator[Session]:
    session = Session(unlabelled, tmp_path / "answers.jsonl", method="tupi")  # nothing is fitted ahead of the test
    yield session
    session.close()


# The latest answers


def compared(*pairs: tuple[int, int], drawn: str = "random") -> list[PairAnswer]:
    return [PairAnswer(str(k), "ann", i, j, "left", drawn=drawn) for k, (i, j) in enumerate(pairs)]


def test_the_latest_answers_are_about_so_many_items() -> None:
    tally = Tally(compared((0, 1), (2, 3), (4, 5), (4, 6)))
    assert tally.latest(7) is tally
    assert list(tally.latest(6).votes) == [(2, 3), (4, 5), (4, 6)]
    assert list(tally.latest(4).votes) == [(4, 5), (4, 6)]
    assert list(tally.votes) == [(0, 1), (2, 3), (4, 5), (4, 6)]  # nothing was taken from the others
    items = ItemTally([Told(str(k), "ann", k, float(k)) for k in range(4)])
    assert items.latest(4) is items
    assert items.latest(3).said == {1: {"ann": 1.0}, 2: {"ann": 2.0}, 3: {"ann": 3.0}}


def test_what_is_left_out_is_counted_and_told() -> None:
    tally = Tally([*compared((0, 1), (2, 3), (4, 5)), PairAnswer("tie", "ann", 6, 7, "equal")])
    known = known_from(None, tally.latest(4))
    assert isinstance(known.labels, Pairs)
    assert known.labels.higher.tolist() == [4]
    assert known.judges is not None
    assert known.judges.higher.tolist() == [4]
    assert (known.n_answers, known.left_out) == (3, 2)
    assert known.words == "the latest 1 of 3 answers"
    given = Values(np.array([8, 9]), np.array([1.0, 2.0]))
    assert known_from(given, tally.latest(4)).words == "2 labels and the latest 1 of 3 answers"
    assert known_of_items(given, {0: 1.0, 1: 5.0}, left_out=3).words == "2 labels and the latest 2 of 5 answers"


def test_methods_are_fitted_to_the_latest_answers_and_decisions_to_all(
    untaught: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(teacher, "MOST_LIVE", 30)
    answer_rightly(untaught, "ann", 24)
    facts, _ = look_at(untaught, Look(method="auto", t=1))
    wait(untaught, lambda: (found := untaught.explorer.found("auto")) and found[1].known is untaught.teacher.live())
    facts, _ = decode(untaught.explorer.frame(Look(method="auto", t=1), 1) or b"")
    live = untaught.teacher.live().labels
    assert isinstance(live, Pairs)
    assert len(np.unique([live.higher, live.lower])) <= 30
    said = f"It was given the latest {len(live.higher)} of 24 answers; a decision is given all of them."
    assert facts["notes"][0] == said
    wait(untaught, lambda: (untaught.teacher.gain() or {}).get("current"))
    assert "24 answers" in (untaught.teacher.gain() or {})["sentence"]
    untaught.decide("auto", "answers", Look())
    wait(untaught, lambda: not untaught.decider.running)
    decision = untaught.decider.facts() or {}
    assert (decision["known"], decision["answers"]) == ("24 answers", 24)


def test_of_answers_at_once_all_are_known_in_the_end(untaught: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever was first to answer may be last to say so."""
    told, first = untaught.explorer.set_known, threading.Event()
    seen = list[int]()

    def slowly(known: Knowledge, live: Knowledge) -> None:
        if not first.is_set():
            first.set()
            threading.Event().wait(0.3)
        told(known, live)
        seen.append(known.n_answers)

    monkeypatch.setattr(untaught.teacher, "_changed", slowly)
    threads = [threading.Thread(target=answer_rightly, args=(untaught, rater, 1)) for rater in ("ann", "bob")]
    for thread in threads:
        thread.start()
        first.wait(10)
    for thread in threads:
        thread.join()
    assert seen == sorted(seen)
    assert untaught.explorer._known.n_answers == 2


# Steps


def test_a_first_ranking_comes_before_further_steps_of_others(session: Session) -> None:
    look_at(session, Look(t=1))
    explorer = session.explorer
    explorer.close()  # nobody else computes anything
    people = {f"person {k}": Look(lam=lam, t=LAST) for k, lam in enumerate((0.1, 0.2, 0.7, 1.5))}
    for client, look in people.items():
        explorer.look(client, look)
    for _ in range(2 * len(people)):
        piece = explorer._next_step()
        assert callable(piece)
        piece()
    assert [len(explorer.trails.known(look.setting(session.base))) for look in people.values()] == [2, 2, 2, 2]


def test_a_setting_that_has_ended_keeps_its_steps_alone(session: Session) -> None:
    look_at(session, Look(t=LAST))
    wait(session, lambda: not session.explorer.trails.needs(Look().setting(session.base), LAST))
    ended, going = Look(t=LAST), Look(lam=1.5, t=2)
    look_at(session, going)
    kept = session.explorer.trails._trajectories
    assert [run.state for run in kept[ended.setting(session.base)].runs] == [None]
    assert [step.f.nbytes for step in kept[ended.setting(session.base)].steps] == [4 * N] * (LAST + 1)
    assert all(run.state is not None for run in kept[going.setting(session.base)].runs)


def test_where_settings_stand_counts_as_memory(source: PageSource, tmp_path: Path) -> None:
    session = Session(source, tmp_path / "answers.jsonl", memory=600_000)  # of steps, that would be hundreds
    for lam in (0.1, 0.2, 0.3, 0.4, 0.7, 1.5):
        look_at(session, Look(lam=lam, t=2))
    trails = session.explorer.trails
    session.close()
    assert len(trails._trajectories) < 6
    state = next(reversed(trails._trajectories.values())).runs[0].state
    assert state.sums.nbytes * len(trails._trajectories) < 600_000


# Decisions


def held_up(decider: Decider, monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Let plans wait once they have begun; return what says that one has, and what lets it and all others go on."""
    begun, go_on = threading.Event(), threading.Event()
    decide = decider._run

    def run(plan: Plan) -> None:
        begun.set()
        assert go_on.wait(60)
        decide(plan)

    monkeypatch.setattr(decider, "_run", run)
    return begun, go_on


def test_a_plan_that_failed_says_nothing_of_the_next_one(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    decider = session.decider
    begun, go_on = held_up(decider, monkeypatch)
    decider.start(Plan("fuse", {}, NOTHING, "none"))  # which it cannot do without labels
    assert begun.wait(60)
    session.decide("auto", "file", Look())  # asked for before the first one fails
    go_on.set()
    wait(session, lambda: decider.number == 1 and not decider.running)
    assert decider.error == ""
    assert (decider.facts() or {})["asked"] == "auto"


def test_stopping_gives_up_what_was_to_run_next(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    decider = session.decider
    begun, go_on = held_up(decider, monkeypatch)
    session.decide("look", "none", Look(t=3))
    assert begun.wait(60)
    session.decide("look", "none", Look(t=4))
    decider.stop()
    go_on.set()
    wait(session, lambda: not decider.running)
    assert (decider.number, decider.error) == (0, "Stopped.")
    session.decide("look", "none", Look(t=2))  # nothing of that is left
    wait(session, lambda: not decider.running)
    assert (decider.number, decider.error) == (1, "")


def test_a_plan_that_follows_a_stopped_one_is_not_stopped(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    decider = session.decider
    begun, go_on = held_up(decider, monkeypatch)
    session.decide("look", "none", Look(t=3))
    assert begun.wait(60)
    decider.stop()
    session.decide("look", "none", Look(t=4))  # by somebody else, before the first one noticed
    go_on.set()
    wait(session, lambda: not decider.running)
    assert (decider.number, decider.error) == (1, "")
    assert "--set n_iter=4" in (decider.facts() or {})["command"]


# Lanes


def test_a_piece_that_fails_because_the_page_ends_is_no_news(caplog: pytest.LogCaptureFixture) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def fail() -> None:
        begun.set()
        assert go_on.wait(60)
        raise RuntimeError("no more threads")

    lane: Any = Lane("test", lambda: fail)
    assert begun.wait(60)
    threading.Timer(0.1, go_on.set).start()
    with caplog.at_level(logging.ERROR):
        lane.close(30.0)
    assert not lane._thread.is_alive()
    assert caplog.records == []
