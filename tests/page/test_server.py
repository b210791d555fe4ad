"""The server over real sockets: who is let in, what is refused, and what survives a kill."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.page.conftest import N, Served, decode, serve_words, write_files
from tupi.cli import tupi as command


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Give one server to all tests that change nothing: starting one takes seconds."""
    folder = tmp_path_factory.mktemp("shared")
    served = Served(folder, *serve_words(write_files(folder)), "--images", str(folder / "pictures"))
    yield served
    served.stop()


@pytest.fixture
def client(shared: Served) -> httpx.Client:
    shared.forget()
    return httpx.Client(base_url=f"http://127.0.0.1:{shared.port}", headers={"X-Tupi-Token": shared.token}, timeout=60)


def raw(port: int, request: bytes) -> bytes:
    """Send bytes as they are: clients tidy up what a test must not have tidied."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(request)
        received = b""
        try:
            while part := connection.recv(65536):
                received += part
        except ConnectionResetError:
            pass
    return received


def post(client: httpx.Client, path: str, **words: object) -> httpx.Response:
    return client.post(path, json=words)


def test_the_opened_address_sets_a_cookie_and_hides_the_token(shared: Served) -> None:
    with httpx.Client() as browser:
        opened = browser.get(shared.address)
        assert opened.status_code == 303
        assert opened.headers["location"] == "/"
        cookie = opened.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        page = browser.get(f"http://127.0.0.1:{shared.port}/")
        assert page.status_code == 200
        assert shared.token not in page.text
        for needed in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"):
            assert needed in page.headers["content-security-policy"]
        assert page.headers["x-content-type-options"] == "nosniff"


def test_wrong_tokens_are_refused_and_logged(shared: Served) -> None:
    shared.forget()
    address = f"http://127.0.0.1:{shared.port}"
    cookie = {"Cookie": f"tupi_{shared.port}={shared.token}"}
    for path, headers in (
        ("/api/facts", {}),
        ("/", {}),
        ("/static/main.js", {}),
        ("/api/image/0", {"X-Tupi-Token": "wrong"}),
        ("/api/facts?token=wrong", {}),
        ("/api/facts?token=wrong", cookie),
        ("/api/facts", {"Cookie": f"tupi_{shared.port}=wrong"}),
        ("/api/facts?token=%C3%A9", {}),
    ):
        refused = httpx.get(address + path, headers=headers)
        assert refused.status_code == 403, path
        assert str(N) not in refused.text
    assert httpx.get(f"{address}/api/facts", headers=cookie).status_code == 200
    assert shared.logged.count("refused GET") == 8
    assert shared.token not in shared.logged


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Host", "evil.example", 421),
        ("Host", "evil.example:{port}", 421),
        ("Host", "127.0.0.1", 421),
        ("Host", "127.0.0.1:1", 421),
        ("Host", "127.0.0.1.evil.example:{port}", 421),
        ("Origin", "http://evil.example", 403),
        ("Origin", "null", 403),
        ("Origin", "https://127.0.0.1:{port}", 403),
        ("Origin", "http://127.0.0.1:1", 403),
        ("Sec-Fetch-Site", "cross-site", 403),
        ("Sec-Fetch-Site", "same-site", 403),
    ],
)
def test_wrong_hosts_and_origins_are_refused_and_logged(
    shared: Served, client: httpx.Client, header: str, value: str, status: int
) -> None:
    value = value.format(port=shared.port)
    answers = shared.folder / "answers.jsonl"
    before = answers.read_bytes()
    reads = client.get("/api/facts", headers={header: value})
    words = {"rater": "x", "key": "k", "answer": "left", "left": 0, "right": 1}
    writes = client.post("/api/answer", json=words, headers={header: value})
    assert (reads.status_code, writes.status_code) == (status, status)
    assert answers.read_bytes() == before
    assert shared.logged.count("refused") == 2


def test_our_own_host_and_origin_are_let_in(shared: Served, client: httpx.Client) -> None:
    for host in (f"127.0.0.1:{shared.port}", f"localhost:{shared.port}"):
        reply = client.get(
            "/api/facts", headers={"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
        )
        assert reply.status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/..%2fserver.py",
        "/static/%2e%2e/%2e%2e/app/server.py",
        "/static//etc/passwd",
        "/../../../../etc/passwd",
        "/api/image/../../scores.csv",
        "/api/image/..%2f..%2fscores.csv",
        "/api/image/-1",
        "/api/image/999999",
        "/api/image/0x1",
        "/api/export/..%2f..%2fanswers.jsonl",
        "/api/export/better.csv",
        "/answers.jsonl",
    ],
)
def test_paths_lead_nowhere_else(shared: Served, path: str) -> None:
    shared.forget()
    lines = (f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{shared.port}", f"X-Tupi-Token: {shared.token}")
    reply = raw(shared.port, "\r\n".join([*lines, "Connection: close", "", ""]).encode())
    assert b" 404 " in reply.split(b"\r\n")[0], reply[:200]
    assert b"root:" not in reply
    assert b"import" not in reply
    assert str(shared.folder).encode() not in reply
    assert "refused GET" in shared.logged


def test_large_bodies_are_refused_whether_they_say_so_or_not(shared: Served, client: httpx.Client) -> None:
    large = client.post("/api/answer", content=b"x" * 100_000, headers={"Content-Type": "application/json"})
    assert large.status_code == 413

    def pieces():  # type: ignore[no-untyped-def]
        for _ in range(100):
            yield b"x" * 1000

    try:
        status = client.post("/api/answer", content=pieces(), headers={"Content-Type": "application/json"}).status_code
    except httpx.TransportError:  # the server may hang up before all is sent
        status = 413
    assert status == 413
    assert shared.logged.count("413") == 2
    assert client.get("/api/status").json()["answers"]["answers"] == 0


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(client: httpx.Client, method: str) -> None:
    assert client.request(method, "/api/facts").status_code == 405


def test_bad_requests_get_a_sentence_without_paths(shared: Served, client: httpx.Client) -> None:
    kind = {"Content-Type": "application/json"}
    good = {"rater": "ann", "key": "k", "answer": "left", "left": 0, "right": 1}
    for response in (
        client.post("/api/answer", content=b"{", headers=kind),
        client.post("/api/answer", content=b"[]", headers=kind),
        client.post("/api/answer", content=b"[" * 16_000, headers=kind),
        client.post("/api/answer", json=good | {"left": "0"}),
        client.post("/api/answer", json=good | {"left": True}),
        client.post("/api/answer", json=good | {"left": N}),
        client.post("/api/answer", json=good | {"answer": "up"}),
        client.post("/api/answer", json=good | {"rater": "x" * 1000}),
        client.post("/api/decide", json={"choice": "auto", "use": "nope"}),
        client.get("/api/question"),
        client.get("/api/path?lam=-3"),
        client.get("/api/item/999999"),
    ):
        assert response.status_code == 400
        assert 5 < len(response.text) < 400
        assert "Traceback" not in response.text
        assert str(shared.folder) not in response.text
    form = client.post("/api/answer", content=b"rater=x", headers={"Content-Type": "application/x-www-form-urlencoded"})
    assert form.status_code == 415
    assert client.get("/api/status").json()["answers"]["answers"] == 0


def test_pictures_come_by_number(client: httpx.Client) -> None:
    picture = client.get("/api/image/3")
    assert picture.headers["content-type"] == "image/png"
    assert picture.content.startswith(b"\x89PNG")


def test_a_path_streams_frame_by_frame(client: httpx.Client) -> None:
    times, received = [], b""
    with client.stream("GET", "/api/path?lam=0.7&sigma_w2=0.05&t=5&client=me") as stream:
        for part in stream.iter_bytes():
            received += part
            times.append(time.monotonic())
    frames = []
    while received:
        size = int.from_bytes(received[:4], "little")
        frames.append(decode(received[:size]))
        received = received[size:]
    assert [facts["t"] for facts, _ in frames] == list(range(31))
    assert all(len(arrays["score"]) == len(arrays["rank"]) == N for _, arrays in frames)
    assert len(times) > 1


def test_nothing_is_fetched_from_elsewhere(client: httpx.Client) -> None:
    for file in (Path(__file__).parents[2] / "src/tupi/page/static").iterdir():
        name = file.name
        text = client.get(f"/static/{name}").text
        for sign in ("http://", "https://", "//cdn", "@import"):
            assert sign not in text, f"{name} mentions {sign}"
    assert client.get("/plotly.js").text.count("Plotly") > 0


def test_two_raters_at_once_and_a_kill_lose_nothing(served: Served) -> None:
    saved: list[tuple[str, str]] = []
    stop = threading.Event()

    def label(rater: str) -> None:
        headers = {"X-Tupi-Token": served.token}
        with httpx.Client(base_url=f"http://127.0.0.1:{served.port}", headers=headers, timeout=60) as client:
            asked = client.get("/api/question", params={"rater": rater}).json()["question"]
            for k in range(10_000):
                key = f"{rater}-{k}"
                words = {"rater": rater, "key": key, "answer": "left"}
                words |= {side: asked[side]["item"] for side in ("left", "right")}
                try:
                    reply = client.post("/api/answer", json=words).json()
                except httpx.TransportError:
                    return
                assert reply["saved"] == key
                saved.append((rater, key))
                asked = reply["question"]
                if stop.is_set():
                    return

    threads = [threading.Thread(target=label, args=(rater,)) for rater in ("ann", "bob")]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 60
    while len(saved) < 30:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    served.kill()  # in the middle of whatever they do
    stop.set()
    for thread in threads:
        thread.join()
    lines = (served.folder / "answers.jsonl").read_bytes()
    whole = lines[: lines.rfind(b"\n") + 1].decode().splitlines()
    kept = {(entry.get("rater"), entry.get("key")) for entry in map(json.loads, whole)}
    assert set(saved) <= kept
    served.start()
    headers = {"X-Tupi-Token": served.token}
    status = httpx.get(f"http://127.0.0.1:{served.port}/api/status", headers=headers, timeout=60).json()
    assert status["answers"]["answers"] >= len(saved)
    assert status["answers"]["raters"] == 2
    for line in (served.folder / "answers.jsonl").read_text().splitlines():
        json.loads(line)


def test_each_run_has_its_own_token(served: Served) -> None:
    first = served.token
    served.stop()
    served.start(served.port)
    assert served.token != first
    assert httpx.get(f"http://127.0.0.1:{served.port}/api/facts", headers={"X-Tupi-Token": first}).status_code == 403


def test_bad_arguments_get_one_line(
    shared: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = [*shared.words]
    for words, expected in (
        ([], "--demo"),
        (["scores.csv"], "--features"),
        (["--demo", "scores.csv"], "--demo"),
        ([*files, "--host", "0.0.0.0"], "--allow-remote"),
        ([*files, "--answers", str(shared.folder / "answers.jsonl")], "in use"),
        ([*files, "--answers", "nowhere/answers.jsonl"], "no folder"),
        ([*files, "--answers", "other.jsonl", "--port", str(shared.port)], "--port"),
        ([*files, "--answers", "other.jsonl", "--set", "lam=-1"], "lam"),
        ([*files, "--answers", "other.jsonl", "--set", "guard=false"], "accepted: with --method tupi"),
        ([*files, "--answers", "other.jsonl", "--images", "nowhere"], "--images"),
    ):
        with pytest.raises(SystemExit) as end:
            command.main(["serve", *words, "--no-browser"], prog_name="tupi")
        assert end.value.code == 2, words
        last = capsys.readouterr().err.splitlines()[-1]
        assert last.startswith("tupi: ")
        assert expected in last


def test_others_are_let_in_by_number_only_and_only_if_told(tmp_path: Path, served: Served) -> None:
    words = [*served.words, "--host", "0.0.0.0", "--allow-remote", "--answers", str(tmp_path / "remote.jsonl")]
    served.stop()
    other = Served(tmp_path, *words)
    try:
        assert "Other machines can see" in other.logged
        for host, status in ((f"10.1.2.3:{other.port}", 200), (f"evil.example:{other.port}", 421)):
            reply = httpx.get(
                f"http://127.0.0.1:{other.port}/api/facts", headers={"Host": host, "X-Tupi-Token": other.token}
            )
            assert reply.status_code == status
    finally:
        other.stop()


def test_connections_that_ask_nothing_leave_room_for_others(shared: Served, client: httpx.Client) -> None:
    half = b"GET /api/facts HTTP/1.1\r\nHost: "
    silent = [socket.create_connection(("127.0.0.1", shared.port), timeout=30) for _ in range(210)]
    try:
        for number, connection in enumerate(silent):
            if number % 2:
                with contextlib.suppress(OSError):  # closed already, in favour of later ones
                    connection.sendall(half)
        for _ in range(3):
            assert client.get("/api/facts").status_code == 200
    finally:
        for connection in silent:
            connection.close()
    assert client.get("/api/facts").status_code == 200


def test_half_a_sign_is_refused_and_not_saved(served: Served) -> None:
    answers = served.folder / "answers.jsonl"
    headers = {"X-Tupi-Token": served.token, "Content-Type": "application/json"}
    with httpx.Client(base_url=f"http://127.0.0.1:{served.port}", headers=headers, timeout=60) as client:
        for name in ("rater", "key"):
            words = {"rater": "ann", "key": "k", "answer": "left", "left": 0, "right": 1, name: "\ud800"}
            before = answers.read_bytes()
            refused = client.post("/api/answer", content=json.dumps(words).encode())
            assert refused.status_code == 400
            assert refused.text == f"{name}: found half a sign, which no file can hold; accepted: Unicode text."
            assert answers.read_bytes() == before


def test_an_answer_is_not_saved_in_a_file_that_is_gone(served: Served) -> None:
    answers = served.folder / "answers.jsonl"
    words = {"rater": "ann", "answer": "left", "left": 0, "right": 1}
    with httpx.Client(
        base_url=f"http://127.0.0.1:{served.port}", headers={"X-Tupi-Token": served.token}, timeout=60
    ) as client:
        assert post(client, "/api/answer", key="1", **words).json()["saved"] == "1"
        answers.rename(served.folder / "moved.jsonl")
        refused = post(client, "/api/answer", key="2", **words)
        assert refused.status_code == 400
        assert "answers.jsonl was deleted or replaced" in refused.text
        (served.folder / "moved.jsonl").rename(answers)
        assert post(client, "/api/answer", key="2", **words).json()["saved"] == "2"
