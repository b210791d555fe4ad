"""Who is let in: each rule of the guard by itself, without a server."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from tupi.page import security
from tupi.page.security import Guard, TooLargeError, TooSlowError

TOKEN, PORT = "secret", 80
OURS = {"host": f"127.0.0.1:{PORT}", "x-tupi-token": TOKEN}


class Asked:
    """An application that reads the body and says so."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.scopes: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scopes.append(scope["type"])
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        self.bodies.append(body)
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": b"ok"})


def ask(
    headers: dict[str, str],
    method: str = "GET",
    path: str = "/api/facts",
    query: str = "",
    body: list[Any] | None = None,
    host: str = "127.0.0.1",
    remote: bool = False,
) -> tuple[int, Asked, dict[bytes, bytes]]:
    """Ask once; return the status, what the application saw, and the headers of the answer."""
    asked, sent = Asked(), list[Any]()
    parts = iter(body or [b""])
    left = len(body or [b""])

    async def receive() -> Any:
        nonlocal left
        left -= 1
        part = next(parts)
        if isinstance(part, float):  # seconds of silence
            await asyncio.sleep(part)
            part = b""
        return {"type": "http.request", "body": part, "more_body": left > 0}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode("latin-1"),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers.items()],
    }
    asyncio.run(Guard(asked, TOKEN, host, PORT, remote)(scope, receive, send))
    return sent[0]["status"], asked, dict(sent[0].get("headers", []))


@pytest.mark.parametrize(
    ("headers", "query", "status"),
    [
        (OURS, "", 200),
        (OURS | {"host": f"localhost:{PORT}"}, "", 200),
        (OURS | {"host": f"[::1]:{PORT}", "origin": f"http://[::1]:{PORT}"}, "", 200),
        (OURS | {"host": "evil.test:80"}, "", 421),
        (OURS | {"host": "127.0.0.1:81"}, "", 421),
        (OURS | {"host": "127.0.0.1"}, "", 421),
        ({"x-tupi-token": TOKEN}, "", 421),
        (OURS | {"origin": "null"}, "", 403),
        (OURS | {"origin": "https://127.0.0.1:80"}, "", 403),
        (OURS | {"origin": "http://evil.test:80"}, "", 403),
        (OURS | {"sec-fetch-site": "cross-site"}, "", 403),
        (OURS | {"sec-fetch-site": "same-origin"}, "", 200),
        (OURS | {"x-tupi-token": "wrong"}, "", 403),
        (OURS | {"x-tupi-token": "s\xe9cret"}, "", 403),
        (OURS, "token=wrong", 403),  # all that are given must be right
        ({"host": OURS["host"]}, f"token={TOKEN}", 200),
        ({"host": OURS["host"]}, "", 403),
        ({"host": OURS["host"], "cookie": f"tupi_{PORT}={TOKEN}"}, "", 200),
        ({"host": OURS["host"], "cookie": f"tupi_81={TOKEN}"}, "", 403),
        ({"host": OURS["host"], "cookie": "a[]=1; \x01"}, "", 403),
        (OURS | {"content-length": str(security.MAX_BODY)}, "", 200),
        (OURS | {"content-length": str(security.MAX_BODY + 1)}, "", 413),
        (OURS | {"content-length": "-1"}, "", 413),
        (OURS | {"content-length": "\xb2"}, "", 413),
        (OURS | {"content-length": "9" * 5000}, "", 413),
    ],
)
def test_each_rule(headers: dict[str, str], query: str, status: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "tupi.page"):
        found, asked, said = ask(headers, query=query)
    assert found == status
    assert len(asked.bodies) == (status == 200)
    assert said[b"content-security-policy"] == security.POLICY.encode()
    assert len(caplog.records) == (status != 200)
    assert TOKEN not in caplog.text


def test_a_cookie_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: str) -> None:
        raise security.CookieError

    monkeypatch.setattr(security, "SimpleCookie", refuse)
    assert ask({"host": OURS["host"], "cookie": "x"})[0] == 403


@pytest.mark.parametrize(("method", "status"), [("GET", 200), ("HEAD", 200), ("POST", 200), ("PUT", 405)])
def test_methods(method: str, status: int) -> None:
    assert ask(OURS, method)[0] == status


def test_a_link_from_another_page_may_open_the_page_and_nothing_else() -> None:
    headers = OURS | {"sec-fetch-site": "cross-site"}
    assert ask(headers, path="/")[0] == 200
    assert ask(headers, "POST", path="/")[0] == 403


@pytest.mark.parametrize(
    ("name", "remote", "status"),
    [("10.0.0.7:80", True, 200), ("[fe80::1]:80", True, 200), ("10.0.0.7:80", False, 421), ("pc.local:80", True, 421)],
)
def test_others_come_by_number_and_only_if_told(name: str, remote: bool, status: int) -> None:
    assert ask(OURS | {"host": name}, host="0.0.0.0", remote=remote)[0] == status


def test_what_is_no_request_goes_on_or_is_ignored() -> None:
    async def nothing(*_: Any) -> None:
        pytest.fail("nothing is sent")

    asked = Asked()
    guard = Guard(asked, TOKEN, "127.0.0.1", PORT)
    asyncio.run(guard({"type": "lifespan"}, nothing, nothing))
    asyncio.run(guard({"type": "websocket"}, nothing, nothing))
    assert asked.scopes == ["lifespan"]


def test_a_body_has_a_size_and_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    most = security.MAX_BODY
    assert ask(OURS, "POST", body=[b"x" * (most - 1), b"x"])[1].bodies == [b"x" * most]
    with pytest.raises(TooLargeError):
        ask(OURS, "POST", body=[b"x" * most, b"x"])
    monkeypatch.setattr(security, "MAX_SECONDS", 0.2)
    with pytest.raises(TooSlowError):
        ask(OURS, "POST", body=[b"x", 0.15, 0.15, b"x"])  # none of the parts alone takes too long


def test_after_its_body_a_client_may_listen_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "MAX_SECONDS", 0.01)

    async def listen() -> list[bytes]:
        messages = iter([{"body": b"all", "more_body": False}, {}])

        async def receive() -> Any:
            await asyncio.sleep(0)
            return next(messages)

        bounded = security._bounded(receive)
        first = await bounded()
        await asyncio.sleep(0.05)
        return [first["body"], (await bounded()).get("body", b"")]

    assert asyncio.run(listen()) == [b"all", b""]
