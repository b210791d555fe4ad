"""The session without HTTP: looks, questions, decisions."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tupi
from tests.page.conftest import N, decode, truth, write_files
from tupi.methods.tupi import Tupi
from tupi.page.explorer import MAP_STEPS, PATIENCE, PAUSE
from tupi.page.looks import LAST, Look, ranks, read_look
from tupi.page.session import Session
from tupi.page.source import PageSource, read_source
from tupi.runtime.errors import InputError


def wait(session: Session, met: Callable[[], object], seconds: float = 120.0) -> None:
    end, seen = time.monotonic() + seconds, -1
    while not met():
        assert time.monotonic() < end, session.status()
        seen = session.signal.wait(seen, 0.5)


def look_at(session: Session, look: Look) -> tuple[dict, dict]:
    session.explorer.look("me", look)
    wait(session, lambda: session.explorer.frame(look, look.t) or session.explorer.problem_with(look))
    assert session.explorer.problem_with(look) is None
    frame = session.explorer.frame(look, look.t)
    assert frame is not None
    return decode(frame)


def answer_rightly(session: Session, rater: str, count: int) -> None:
    true = truth()
    for k in range(count):
        asked = session.question(rater)["question"]
        left, right = asked["left"]["item"], asked["right"]["item"]
        session.teacher.answer(rater, left, right, "left" if true[left] > true[right] else "right", f"{rater}{k}")


# Looking


def test_a_look_is_what_denoise_gives(session: Session) -> None:
    look = Look(lam=0.4, sigma_w2=0.05, t=3)
    facts, arrays = look_at(session, look)
    result = tupi.denoise(
        session.source.predictions, session.source.features, method="tupi", lam=0.4, sigma_w2=0.05, n_iter=3
    )
    np.testing.assert_allclose(arrays["score"], result.predictions, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(facts["weights"], result.weights.iloc[-1], rtol=1e-4)
    expected = pd.Series(arrays["score"]).rank(ascending=False, method="min").astype(int)
    assert (arrays["rank"] != expected).mean() < 0.02  # single precision may swap neighbours


def test_steps_stream_and_earlier_ones_are_look_ups(session: Session) -> None:
    look_at(session, Look(t=5))
    before = session.explorer.trails.known(Look(t=5).setting(session.base))
    facts, _ = decode(session.explorer.frame(Look(t=2), 2) or b"")
    assert facts["t"] == 2
    assert session.explorer.trails.known(Look(t=2).setting(session.base))[2] is before[2]


def test_neighbours_are_computed_ahead_when_idle(session: Session) -> None:
    look = Look(t=2)
    look_at(session, look)
    near = [one.setting(session.base) for one in session.explorer.neighbours(look)]
    assert {(one.lam, one.sigma_w2) for one in near} == {(0.4, 0.1), (0.2, 0.1), (0.3, 0.3), (0.3, 0.05)}
    wait(session, lambda: all(len(session.explorer.trails.known(one)) > 2 for one in near))


def test_nothing_is_computed_ahead_while_somebody_waits_for_a_fit(session: Session) -> None:
    """It would take the cores that the fit to the latest answer needs."""
    look_at(session, Look(t=2))
    explorer = session.explorer
    explorer.close()  # nobody else computes anything
    explorer.look("me", Look(t=2))
    explorer._moved = -np.inf
    assert callable(explorer._next_step())
    explorer.fits.computing = 1
    assert explorer._next_step() == PAUSE
    explorer._since["me"] -= PATIENCE + 1  # but where many people answer there is always one who waits for a fit
    assert callable(explorer._next_step())
    explorer._since["me"] += PATIENCE + 1
    explorer.look("me", Look(t=LAST))  # what somebody looks at does not wait
    assert callable(explorer._next_step())


def test_accuracy_along_the_path_is_that_of_the_labels(session: Session) -> None:
    facts, arrays = look_at(session, Look(t=4))
    labels = session.teacher.labels()
    assert facts["accuracy"] == pytest.approx(tupi.pairwise_accuracy(arrays["score"].astype(float), labels), abs=0.005)
    wait(session, lambda: len(session.explorer.heat(Look(t=4))) >= 5)
    cells = session.explorer.heat(Look(t=4))
    assert all(0 <= cell["score"] <= 1 and cell["t"] <= MAP_STEPS for cell in cells)


def test_the_map_searches_all_settings_alike(source: PageSource, tmp_path: Path) -> None:
    # The setting that is looked at is followed for many more steps than the others.
    session = Session(source, tmp_path / "map.jsonl")
    look = Look(lam=0.1, sigma_w2=0.1, t=LAST)
    look_at(session, look)
    wait(session, lambda: len(session.explorer.heat(look)) > 20)
    for cell in session.explorer.heat(look):
        setting = look.moved(cell["lam"], cell["sigma_w2"]).setting(session.base)
        scores = [session.explorer.score(setting, t) for t in range(MAP_STEPS + 1)]
        assert cell["score"] == max(scores)
        assert scores[cell["t"]] == cell["score"]
    session.close()


def test_methods_without_steps_show_their_result_or_what_is_wrong(session: Session) -> None:
    _, arrays = look_at(session, Look(method="auto", t=1))
    result = tupi.denoise(session.source.predictions, session.source.features, session.source.labels)
    np.testing.assert_allclose(arrays["score"], result.predictions, rtol=1e-4, atol=1e-5)


def test_a_method_that_cannot_says_why(unlabelled: PageSource, tmp_path: Path) -> None:
    session = Session(unlabelled, tmp_path / "a.jsonl")
    look = Look(method="fuse", t=1)
    session.explorer.look("me", look)
    wait(session, lambda: session.explorer.problem_with(look))
    assert "labels" in (session.explorer.problem_with(look) or "")
    session.close()


def test_memory_is_bounded_and_what_was_forgotten_is_computed_again(source: PageSource, tmp_path: Path) -> None:
    session = Session(source, tmp_path / "b.jsonl", memory=40 * N * 4)
    _, first = look_at(session, Look(lam=0.1, t=5))
    for lam in (0.2, 0.3, 0.4, 0.7, 1.5):
        look_at(session, Look(lam=lam, t=5))
    kept = session.explorer.trails._trajectories.values()
    assert sum(step.f.nbytes for trajectory in kept for step in trajectory.steps) <= 72 * N * 4
    _, again = look_at(session, Look(lam=0.1, t=5))
    np.testing.assert_array_equal(again["score"], first["score"])
    session.close()


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ({"method": "nope"}, "method"),
        ({"kernel": "nope"}, "kernel"),
        ({"lam": "-1"}, "lam"),
        ({"lam": "nan"}, "lam"),
        ({"t": "999"}, "t"),
        ({"t": "1.5"}, "t"),
        ({"column": "1"}, "column"),
    ],
)
def test_bad_looks_are_refused_in_words(words: dict[str, str], name: str) -> None:
    with pytest.raises(InputError, match=f"^{name}: found"):
        read_look(words, 1)


def test_ranks_share_the_best_place_of_equal_scores() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 9, size=50).astype(float)
    expected = pd.Series(values).rank(ascending=False, method="min").astype(int)
    np.testing.assert_array_equal(ranks(values), expected)


# Teaching


def test_a_question_stays_until_it_is_answered_and_is_never_asked_again(session: Session) -> None:
    first = session.question("ann")["question"]
    assert session.question("ann")["question"] == first
    asked = set()
    for k in range(30):
        pair = session.teacher.question("ann")
        assert pair is not None
        key = (min(pair), max(pair))
        assert key not in asked
        asked.add(key)
        session.teacher.answer("ann", *pair, ("left", "equal", "skip")[k % 3], f"k{k}")


def test_raters_at_once_are_asked_different_pairs(session: Session) -> None:
    pairs = [session.teacher.question(f"rater {k}") for k in range(20)]
    assert len({(min(p), max(p)) for p in pairs if p is not None}) == 20


def test_undo_asks_the_same_again(session: Session) -> None:
    pair = session.teacher.question("ann")
    assert pair is not None
    session.teacher.answer("ann", *pair, "left", "k")
    assert session.teacher.question("ann") != pair
    undone = session.teacher.undo("ann", "u")
    assert undone is not None
    assert session.teacher.question("ann") == pair
    assert session.teacher.progress("ann")["mine"] == 0


def test_questions_give_no_ranking_away(session: Session) -> None:
    asked = session.question("ann")["question"]
    assert set(asked["left"]) == {"item", "name", "title", "group", "facts"}
    assert asked["left"]["facts"] == {}


def test_gain_comes_with_answers(unlabelled: PageSource, tmp_path: Path) -> None:
    session = Session(unlabelled, tmp_path / "a.jsonl")
    answer_rightly(session, "ann", 25)
    wait(session, lambda: (session.teacher.gain() or {}).get("current"))
    gain = session.teacher.gain()
    assert gain is not None
    assert session.teacher.progress()["decided"] == 25
    assert gain["n_labels"] == sum(answer.drawn == "random" for answer in session.teacher.file.answers) == 13
    assert gain["sentence"].startswith("Judged on 13 answers about pairs drawn at random, of 25 answers")
    assert gain["low"] <= gain["gain"] <= gain["high"]
    assert session.teacher.uses() == ["answers"]
    session.close()


def test_half_of_the_questions_are_drawn_at_random_and_the_file_says_which(
    unlabelled: PageSource, tmp_path: Path
) -> None:
    session = Session(unlabelled, tmp_path / "a.jsonl")
    answer_rightly(session, "ann", 6)
    drawn = [answer.drawn for answer in session.teacher.file.answers]
    assert drawn == ["random", "chosen"] * 3
    assert session.teacher.known().judges is not None
    assert len(session.teacher.known().judges.higher) == 3
    session.teacher.undo("ann", "u")
    answer_rightly(session, "bob", 1)  # while ann's question waits
    pair = session.teacher.question("ann")
    assert pair is not None
    session.teacher.answer("ann", *pair, "left", "again")
    session.teacher.answer("ann", 0, 1, "left", "not asked")
    kept = [(answer.key, answer.drawn) for answer in session.teacher.file.answers][5:]
    assert kept == [("bob0", "random"), ("again", "chosen"), ("not asked", "chosen")]
    session.close()
    again = Session(unlabelled, tmp_path / "a.jsonl")
    assert [(answer.key, answer.drawn) for answer in again.teacher.file.answers][5:] == kept
    again.close()


def test_answers_change_what_explore_is_judged_by(unlabelled: PageSource, tmp_path: Path) -> None:
    session = Session(unlabelled, tmp_path / "a.jsonl")
    facts, _ = look_at(session, Look(t=2))
    assert facts["accuracy"] is None
    answer_rightly(session, "ann", 10)
    facts, arrays = look_at(session, Look(t=2))
    expected = tupi.pairwise_accuracy(arrays["score"].astype(float), session.teacher.labels())
    assert facts["accuracy"] == pytest.approx(expected, abs=0.01)
    session.close()


def test_a_ranking_that_tells_its_gain_by_itself_comes_with_it(session: Session, monkeypatch) -> None:
    """The gain came half a second after the ranking: it was asked for only once the ranking was shown."""
    monkeypatch.setattr(session.explorer, "_judge", lambda *_: time.sleep(0.01))
    answer_rightly(session, "ann", 10)
    look = Look(method="auto", t=1)
    session.explorer.look("me", look)
    wait(session, lambda: (session.found("auto") or {}).get("labels") == session.explorer.labels_version)
    found = session.found("auto")
    assert found is not None
    assert found["judged"]
    assert found["evidence"]["n_labels"] == 35
    assert decode(session.explorer.frame(look, 1) or b"")[0]["found"] == session.explorer.n_found


def test_a_restart_continues(unlabelled: PageSource, tmp_path: Path) -> None:
    session = Session(unlabelled, tmp_path / "a.jsonl")
    answer_rightly(session, "ann", 5)
    session.close()
    again = Session(unlabelled, tmp_path / "a.jsonl")
    assert again.teacher.progress("ann")["mine"] == 5
    again.close()


# Deciding


def test_a_decision_is_repeated_exactly_by_its_command_and_its_script(session: Session, tmp_path: Path) -> None:
    answer_rightly(session, "ann", 12)
    session.decide("auto", "both", session.first)
    wait(session, lambda: not session.decider.running)
    assert session.decider.error == ""
    facts = session.decider.facts()
    assert facts is not None
    assert facts["known"] == "30 labels and 12 answers"
    assert facts["evidence"]["sentence"].startswith("Judged on the pairs of 30 labelled items and on 6 answers about")
    assert facts["evidence"]["n_labels"] == 36
    assert facts["verdict"]["head"] == "Use the new scores."
    table = session.decider.download("better.csv")
    (tmp_path / "labels.csv").write_bytes(session.decider.download("labels.csv"))
    words = shlex.split(session.decider.download("repeat.sh").decode())
    assert words[0] == "tupi"
    run = [sys.executable, "-c", "from tupi.cli import main; main()", *words[1:], "--quiet"]
    subprocess.run(run, cwd=tmp_path, check=True)
    assert (tmp_path / "better.csv").read_bytes() == table
    (tmp_path / "better.csv").unlink()
    script = session.decider.download("repeat.py").decode()
    assert [line for line in script.splitlines() if "import" in line] == ["import tupi"]
    assert set(re.findall(r"\btupi\.(\w+)", script)) <= set(tupi.__all__)
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    assert (tmp_path / "better.csv").read_bytes() == table


def test_a_setting_found_by_hand_is_repeated_exactly(session: Session, tmp_path: Path) -> None:
    session.decide("look", "file", Look(kernel="diffusion", lam=0.7, sigma_w2=0.3, t=3))
    wait(session, lambda: not session.decider.running)
    facts = session.decider.facts()
    assert facts is not None
    assert facts["params"]["n_iter"] == 3
    assert "labels.csv" not in facts["downloads"]
    run = shlex.split(facts["command"])[1:]
    subprocess.run(
        [sys.executable, "-c", "from tupi.cli import main; main()", *run, "--quiet"], cwd=tmp_path, check=True
    )
    assert (tmp_path / "better.csv").read_bytes() == session.decider.download("better.csv")


def test_everything_can_be_taken_away(session: Session, tmp_path: Path) -> None:
    session.decide("auto", "file", session.first)
    wait(session, lambda: not session.decider.running)
    for name in session.decider.downloads():
        (tmp_path / f"taken-{name}").write_bytes(session.decider.download(name))
    result = tupi.load(tmp_path / "taken-run.npz")
    better = io.BytesIO(session.decider.download("better.csv"))
    table = pd.read_csv(better, float_precision="round_trip")  # by default, some versions of pandas round
    np.testing.assert_array_equal(table["prediction"], result.predictions)
    assert "<html" in (tmp_path / "taken-report.html").read_text()
    _, arrays = decode(session.decided() or b"")
    np.testing.assert_allclose(arrays["score"], result.predictions, rtol=1e-6)
    with pytest.raises(InputError, match="file"):
        session.decider.download("../answers.jsonl")


def test_a_decision_uses_the_embedding_that_is_there(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    look = Look(kernel="gaussian", lam=0.7, sigma_w2=0.3, t=2)
    look_at(session, look)

    def never(*_: object) -> None:
        raise AssertionError("embedded again")

    monkeypatch.setattr("tupi.embedding.prepared.embed", never)
    session.decide("look", "none", look)
    wait(session, lambda: not session.decider.running)
    assert session.decider.error == ""


def test_settings_that_json_cannot_hold_become_null_and_words_stay(session: Session) -> None:
    session.decide("look", "none", Look(t=2))
    wait(session, lambda: not session.decider.running)
    decision = session.decider.decision
    assert decision is not None
    odd = {
        "low": -np.inf,
        "high": np.float32("inf"),
        "unknown": [np.nan, 1.5],
        "file": "NaN-Infinity.csv",
        "n": np.int64(3),
    }
    session.decider.decision = replace(decision, result=replace(decision.result, params=odd))
    expected = {"low": None, "high": None, "unknown": [None, 1.5], "file": "NaN-Infinity.csv", "n": 3}
    assert (session.decider.facts() or {})["params"] == expected
    assert json.loads(session.decider.download("settings.json"))["chosen"]["params"] == expected


def test_what_cannot_be_decided_is_refused(session: Session) -> None:
    with pytest.raises(InputError, match=r"^use"):
        session.decide("auto", "answers", session.first)  # there are none
    with pytest.raises(InputError, match=r"^choice"):
        session.decide("nope", "none", session.first)
    with pytest.raises(InputError, match=r"^T"):
        session.decide("look", "none", Look(t=0))


def test_settings_without_a_slider_are_kept(source: PageSource, tmp_path: Path) -> None:
    session = Session(source, tmp_path / "c.jsonl", base=Tupi(rank=20))
    session.decide("look", "none", Look(t=2))
    wait(session, lambda: not session.decider.running)
    assert "--set rank=20" in (session.decider.facts() or {})["command"]
    session.close()


def test_a_column_of_pictures_is_no_score(tmp_path: Path) -> None:
    origin = write_files(tmp_path, labels=False)
    table = pd.read_csv(origin.scores)
    table["file"] = [f"pictures/{name}.png" for name in table["id"]]
    table["hint"] = "seen"
    table.to_csv(origin.scores, index=False)
    source = read_source(origin, image_column="file")
    assert source.pictures is not None
    assert source.pictures.n_found == N
    assert source.origin is not None
    assert source.origin.score == ("score",)
    assert source.facts is not None
    assert list(source.facts.columns) == ["hint"]
    with pytest.raises(InputError, match="--image-column"):
        read_source(origin, image_column="nope")
