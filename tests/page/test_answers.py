from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path

import pytest

from tupi.page.answers import AnswerFile, PairAnswer, Told
from tupi.runtime.errors import InputError

NAMES = [f"item {k}" for k in range(6)]


def answer(key: str, left: int = 0, right: int = 1, verdict: str = "left", rater: str = "ann") -> PairAnswer:
    return PairAnswer(key, rater, left, right, verdict)


def told(answers: list[PairAnswer]) -> list[tuple[str, int, int, str]]:
    return [(a.rater, a.left, a.right, a.verdict) for a in answers]


@pytest.mark.parametrize("names", [None, NAMES])
def test_what_was_appended_is_there_after_reopening(tmp_path: Path, names: list[str] | None) -> None:
    file = AnswerFile(tmp_path / "a.jsonl", 6, names)
    file.append(answer("1"))
    file.append(answer("2", 3, 2, "equal", "bob"))
    before = file.answers
    file.close()
    again = AnswerFile(tmp_path / "a.jsonl", 6, names)
    assert again.answers == before
    assert told(before) == [("ann", 0, 1, "left"), ("bob", 3, 2, "equal")]
    again.close()


def test_ids_are_stored_so_that_items_may_change_places(tmp_path: Path) -> None:
    file = AnswerFile(tmp_path / "a.jsonl", 6, NAMES)
    file.append(answer("1", 0, 5))
    file.close()
    turned = AnswerFile(tmp_path / "a.jsonl", 6, NAMES[::-1])
    assert told(turned.answers) == [("ann", 5, 0, "left")]
    turned.close()


def test_an_answer_sent_twice_counts_once(tmp_path: Path) -> None:
    file = AnswerFile(tmp_path / "a.jsonl", 6)
    file.append(answer("1"))
    file.append(answer("1"))
    assert len(file.answers) == 1
    assert len((tmp_path / "a.jsonl").read_text().splitlines()) == 2  # the header and one answer
    file.close()


def test_how_pairs_were_drawn_is_kept_and_older_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    header = '{"tupi": "answers", "format": 1, "items": 6, "by": "row"}'
    old = '{"key": "1", "time": "", "rater": "ann", "left": 0, "right": 1, "answer": "left"}'
    path.write_text(f"{header}\n{old}\n")
    file = AnswerFile(path, 6)
    file.append(PairAnswer("2", "ann", 1, 2, "left", drawn="random"))
    file.append(PairAnswer("3", "ann", 2, 3, "left"))
    file.close()
    again = AnswerFile(path, 6)
    assert [answer.drawn for answer in again.answers] == ["chosen", "random", "chosen"]
    again.close()


def test_undo_takes_the_raters_own_last_answer_back_for_good(tmp_path: Path) -> None:
    file = AnswerFile(tmp_path / "a.jsonl", 6)
    file.append(answer("1"))
    file.append(answer("2", 1, 2))
    file.append(answer("3", 4, 5, rater="bob"))
    undone = file.undo("ann", "u1")
    assert undone is not None
    assert undone.key == "2"
    assert file.undo("ann", "u1") is None, "the same request twice must not undo twice"
    file.append(answer("2", 1, 2))  # a late copy of what was undone
    kept = told(file.answers)
    assert kept == [("ann", 0, 1, "left"), ("bob", 4, 5, "left")]
    file.close()
    again = AnswerFile(tmp_path / "a.jsonl", 6)
    assert told(again.answers) == kept
    assert again.undo("carol", "u2") is None
    again.close()


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_last_line_cut_short_is_removed(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "a.jsonl"
    file = AnswerFile(path, 6)
    file.append(answer("1"))
    file.append(answer("2", 1, 2))
    file.close()
    os.truncate(path, path.stat().st_size - cut)
    again = AnswerFile(path, 6)
    assert told(again.answers) == [("ann", 0, 1, "left")]
    again.append(answer("3", 2, 3))
    again.close()
    lines = path.read_text().splitlines()
    assert [json.loads(line).get("key") for line in lines] == [None, "1", "3"]


def test_a_header_cut_short_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"tupi": "ans')
    file = AnswerFile(path, 6)
    assert file.answers == []
    file.close()
    assert json.loads(path.read_text())["format"] == 1


def test_a_write_that_fails_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    file = AnswerFile(path, 6)
    file.append(answer("1"))
    write = os.write

    def full(handle: int, data: bytes) -> int:
        write(handle, data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        file.append(answer("2", 1, 2))
    monkeypatch.undo()
    assert len(file.answers) == 1
    file.append(answer("2", 1, 2))  # the page sends it again under the same key
    file.close()
    assert [json.loads(line).get("key") for line in path.read_text().splitlines()] == [None, "1", "2"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("hello\n", "line 1"),
        ("hello", "line 1"),
        ('{"mine": 1}', "line 1"),
        ("{", "line 1"),
        ('{"tupi": 1}', "line 1"),
        ("id,value\ni0,1\ni1,2", "line 1"),
        ('{"tupi": "answers", "format": 9, "items": 6, "by": "row"}\n{"key', "another version"),
        ('{"tupi": "answers", "format": 1, "items": 6, "by": "row"}\n[]\n{"key', "line 2"),
        ('{"a": 1}\n', "line 1"),
        ('{"tupi": "answers", "format": 9, "items": 6, "by": "row"}\n', "another version"),
        ('{"tupi": "answers", "format": 1, "items": 7, "by": "row"}\n', "7 items"),
        ('{"tupi": "answers", "format": 1, "items": 6, "by": "id"}\n', "known by id"),
        ('{"tupi": "answers", "format": 1, "items": 6, "by": "row"}\n[]\n', "line 2"),
        ('{"tupi": "answers", "format": 1, "items": 6, "by": "row"}\n{"key": "1", "left": 0}\n', "line 2"),
    ],
)
def test_files_that_are_not_ours_are_left_alone(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match=words):
        AnswerFile(path, 6)
    assert path.read_text() == content


def test_unknown_ids_are_named(tmp_path: Path) -> None:
    file = AnswerFile(tmp_path / "a.jsonl", 6, NAMES)
    file.append(answer("1"))
    file.close()
    with pytest.raises(InputError, match="item 0"):
        AnswerFile(tmp_path / "a.jsonl", 5, NAMES[1:])


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (answer("1", verdict="up"), "answer"),
        (answer("1", left=6), "left"),
        (answer("1", right=-1), "right"),
        (answer("1", 2, 2), "right"),
        (answer("1", rater=""), "rater"),
        (answer("k" * 101), "key"),
    ],
)
def test_bad_answers_are_refused(tmp_path: Path, bad: PairAnswer, words: str) -> None:
    file = AnswerFile(tmp_path / "a.jsonl", 6)
    with pytest.raises(InputError, match=f"^{words}"):
        file.append(bad)
    assert file.answers == []
    file.close()


def _try_to_open(path: Path, queue: multiprocessing.Queue) -> None:
    try:
        AnswerFile(path, 6)
        queue.put("opened")
    except InputError as problem:
        queue.put(str(problem))


def test_two_servers_cannot_use_one_file(tmp_path: Path) -> None:
    file = AnswerFile(tmp_path / "a.jsonl", 6)
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    other = context.Process(target=_try_to_open, args=(tmp_path / "a.jsonl", queue))
    other.start()
    assert "in use" in queue.get(timeout=60)
    other.join()
    file.close()


@pytest.mark.parametrize(
    "wrong",
    [
        {"answer": "up"},
        {"left": 1},
        {"left": 6},
        {"left": -1},
        {"left": "first"},
        {"left": None},
    ],
)
def test_lines_that_are_no_answers_are_named(tmp_path: Path, wrong: dict[str, object]) -> None:
    path = tmp_path / "a.jsonl"
    AnswerFile(path, 6).close()
    line = {"key": "k", "rater": "ann", "left": 0, "right": 1, "answer": "left"} | wrong
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"line 2 of .* is not an answer"):
        AnswerFile(path, 6)
    assert path.read_bytes() == before


@pytest.mark.parametrize("again", [False, True])
def test_nothing_is_called_saved_in_a_file_that_is_deleted_or_replaced(tmp_path: Path, again: bool) -> None:
    path = tmp_path / "a.jsonl"
    file = AnswerFile(path, 6)
    path.unlink()
    if again:
        path.write_text("somebody else's")
    with pytest.raises(InputError, match="deleted or replaced while it was in use"):
        file.append(answer("1"))
    assert file.answers == []
    assert file.snapshot() == (0, [])
    file.close()


def test_a_file_is_used_once_at_a_time(tmp_path: Path) -> None:
    file = AnswerFile(tmp_path / "a.jsonl", 6)
    with pytest.raises(InputError, match="in use by another"):
        AnswerFile(tmp_path / "a.jsonl", 6)
    file.close()
    AnswerFile(tmp_path / "a.jsonl", 6).close()


@pytest.mark.parametrize(("name", "names"), [("rows", None), ("ids", [f"i{k}" for k in range(6)])])
def test_files_of_every_format_are_read_for_ever(tmp_path: Path, name: str, names: list[str] | None) -> None:
    """The files in `saved` stay as they are: a new format gets files of its own beside them."""
    path = tmp_path / "a.jsonl"
    path.write_bytes((Path(__file__).parent / "saved" / f"format1_{name}.jsonl").read_bytes())
    before = path.read_bytes()
    file = AnswerFile(path, 6, names)
    found = [(one.key, one.rater, one.left, one.right, one.verdict, one.drawn) for one in file.answers]
    file.close()
    assert found == [
        ("a", "ann", 0, 3, "left", "chosen"),
        ("b", "bob", 2, 1, "skip", "chosen"),
        ("c", "ann", 5, 4, "equal", "random"),
    ]
    assert path.read_bytes() == before


ABOUT_ITEMS = {"values": [2.5, None, -1.0], "classes": ["cat", None, "dog"]}


def about_items(asks: str) -> list[Told]:
    return [Told(str(k), "ann", k, value) for k, value in enumerate(ABOUT_ITEMS[asks])]


@pytest.mark.parametrize("names", [None, NAMES])
@pytest.mark.parametrize("asks", list(ABOUT_ITEMS))
def test_values_and_classes_are_there_after_reopening(tmp_path: Path, asks: str, names: list[str] | None) -> None:
    file = AnswerFile(tmp_path / "a.jsonl", 6, names, asks)
    for one in about_items(asks):
        file.append(one)
    before = file.answers
    file.close()
    again = AnswerFile(tmp_path / "a.jsonl", 6, names, asks)
    assert again.answers == before
    assert [(one.item, one.value, one.verdict) for one in before] == [
        (k, value, "skip" if value is None else "value") for k, value in enumerate(ABOUT_ITEMS[asks])
    ]
    again.close()
    with pytest.raises(InputError, match=f"holds answers about {asks}, and this page asks about pairs"):
        AnswerFile(tmp_path / "a.jsonl", 6, names)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (Told("k", "ann", 6, 1.0), "item: found 6"),
        (Told("k", "ann", 0, float("nan")), "value: found nan; accepted: a finite number"),
        (Told("k", "", 0, 1.0), "rater: found 0 characters"),
    ],
)
def test_bad_values_are_refused(tmp_path: Path, wrong: Told, sentence: str) -> None:
    file = AnswerFile(tmp_path / "a.jsonl", 6, None, "values")
    with pytest.raises(InputError, match=sentence):
        file.append(wrong)
    assert file.answers == []
    file.close()


@pytest.mark.parametrize("wrong", [{"value": "x"}, {"value": float("nan")}, {"item": 6}, {"item": None}])
def test_lines_that_are_no_values_are_named(tmp_path: Path, wrong: dict[str, object]) -> None:
    path = tmp_path / "a.jsonl"
    AnswerFile(path, 6, None, "values").close()
    with path.open("a") as file:
        file.write(json.dumps({"key": "k", "rater": "ann", "item": 0, "value": 1.0} | wrong) + "\n")
    with pytest.raises(InputError, match=r"line 2 of .* is not an answer"):
        AnswerFile(path, 6, None, "values")


@pytest.mark.parametrize("asks", list(ABOUT_ITEMS))
def test_files_of_values_and_classes_are_read_for_ever(tmp_path: Path, asks: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes((Path(__file__).parent / "saved" / f"format1_{asks}.jsonl").read_bytes())
    file = AnswerFile(path, 6, NAMES, asks)
    assert [(one.key, one.item, one.value) for one in file.answers] == [
        (one.key, one.item, one.value) for one in about_items(asks)
    ]
    file.close()
