"""Who may ask for what: a token, the Host and Origin headers, and the size of a request."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
import re
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY = 16 * 1024  # bytes; the largest request of the page has a few hundred
MAX_SECONDS = 10.0  # until all of a body has come
log = logging.getLogger("tupi.page")

# The browser itself refuses whatever the page should not do. Plotly writes its own styles into the page.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


class TooLargeError(Exception):
    """A body grew beyond what is accepted; whoever reads it answers with status 413."""


class TooSlowError(Exception):
    """A body did not come within the time for it; whoever reads it answers with status 408."""


class Guard:
    """Refuses requests before anything else sees them, says why in the log, and adds headers to all answers.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    token : str
        The secret of the opened address. It comes as the query's ``token``, as the header ``X-Tupi-Token``, or as the
        cookie that the opened address sets.
    host, port : str, int
        Where the server listens.
    remote : bool
        Whether others than this machine are meant to come.
    """

    def __init__(self, app: ASGIApp, token: str, host: str, port: int, remote: bool = False) -> None:
        self.app, self.token, self.host, self.port, self.remote = app, token, host, port, remote
        self.cookie = f"tupi_{port}"  # cookies do not tell ports apart

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            status, reason, words = refusal
            _log(scope, status, reason)
            await _refuse(send, status, words)
            return
        await self.app(scope, _bounded(receive), _with_headers(send))

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str, str] | None:
        if not self._host_is_ours(headers.get("host", "")):
            return 421, f"Host {headers.get('host', '')!r}", "This address is not served here."
        origin = headers.get("origin")
        if origin is not None and not self._origin_is_ours(origin):
            return 403, f"Origin {origin!r}", "Requests from other pages are refused."
        opening = scope["method"] == "GET" and scope["path"] == "/"
        site = headers.get("sec-fetch-site", "none")
        if site not in ("none", "same-origin") and not opening:
            return 403, f"Sec-Fetch-Site {site!r}", "Requests from other pages are refused."
        if not self._knows_token(scope, headers):
            return (
                403,
                "token",
                "This page belongs to another run of tupi serve, or its address lacks the token. "
                "Open the address that tupi serve printed.",
            )
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "method", "Only GET and POST are accepted."
        length = headers.get("content-length", "0")
        if re.fullmatch("[0-9]{1,9}", length) is None or int(length) > MAX_BODY:
            return 413, f"Content-Length {length!r}", "The request is too large."
        return None

    def _host_is_ours(self, host: str) -> bool:
        name, _, port = host.rpartition(":")
        if port != str(self.port):
            return False
        if name in ("127.0.0.1", "localhost", "[::1]", self.host, f"[{self.host}]"):
            return True
        # Another site's name can be made to point here, a number cannot: it is an address of this machine.
        return self.remote and _is_number(name.strip("[]"))

    def _origin_is_ours(self, origin: str) -> bool:
        scheme, _, host = origin.partition("://")
        return scheme == "http" and self._host_is_ours(host)

    def _knows_token(self, scope: Scope, headers: dict[str, str]) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if "x-tupi-token" in headers:
            given.append(headers["x-tupi-token"])
        if not given:
            try:
                cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
            except CookieError:
                cookie = None
            given = [] if cookie is None else [cookie.value]
        known = self.token.encode()
        return bool(given) and all(hmac.compare_digest(one.encode("utf-8", "replace"), known) for one in given)


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _log(scope: Scope, status: int, reason: str) -> None:
    path = scope["path"][:200]
    # The query is left out: it may hold a token. repr keeps control characters out of the log.
    log.warning("refused %s %r: %d, %s", scope["method"][:10], path, status, reason[:200])


def _bounded(receive: Receive) -> Receive:
    seen, whole, end = 0, False, asyncio.get_running_loop().time() + MAX_SECONDS

    async def bounded() -> Message:
        nonlocal seen, whole
        try:
            async with asyncio.timeout_at(None if whole else end):  # after the body, a client may listen for long
                message = await receive()
        except TimeoutError:
            raise TooSlowError from None
        seen, whole = seen + len(message.get("body", b"")), not message.get("more_body", False)
        if seen > MAX_BODY:
            raise TooLargeError
        return message

    return bounded


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *HEADERS]}
        await send(message)

    return sending


async def _refuse(send: Send, status: int, words: str) -> None:
    body = words.encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        (b"cache-control", b"no-store"),
        *HEADERS,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
