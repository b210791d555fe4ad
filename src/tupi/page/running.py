"""A server that listens: where, how to reach it, and how connections that ask for nothing make room for others."""

from __future__ import annotations

import asyncio
import secrets
import socket

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tupi.page.server import make_app
from tupi.page.session import Session
from tupi.runtime.errors import InputError

MAX_SILENT = 50  # connections that have not asked for anything yet
FIRST_REQUEST = 10.0  # seconds until a connection has to ask for something
MAX_CONNECTIONS = 200


class Connection(H11Protocol):
    """A connection that is closed if it asks for nothing, so that those who do find room."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, in place of whoever waited longest if too many do."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._closing = self.loop.call_later(FIRST_REQUEST, self._close_if_silent)
        silent = [one for one in self.connections if isinstance(one, Connection) and one.is_silent]
        if len(silent) > MAX_SILENT:
            min(silent, key=lambda one: one._since).transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._closing.cancel()
        super().connection_lost(exc)

    @property
    def is_silent(self) -> bool:
        """Whether no request has come yet, or only the beginning of one."""
        return self.cycle is None and not self.transport.is_closing()

    def _close_if_silent(self) -> None:
        if self.is_silent:
            self.transport.close()


class Running:
    """A server that listens, and how to reach it.

    Parameters
    ----------
    session : Session
        What is served.
    host, port : str, int
        Where to listen; port 0 takes a free one.
    remote : bool
        Whether others than this machine are meant to come.
    """

    def __init__(self, session: Session, host: str = "127.0.0.1", port: int = 0, remote: bool = False) -> None:
        self.session, self.token = session, secrets.token_urlsafe(24)
        self._socket = _listening(host, port)
        self.host, self.port = host, self._socket.getsockname()[1]
        app = make_app(session, self.token, host, self.port, remote)
        config = uvicorn.Config(
            app,
            http=Connection,
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=1,
            limit_concurrency=MAX_CONNECTIONS,
            ws="none",
        )
        self.server = uvicorn.Server(config)

    @property
    def address(self) -> str:
        """The address to open, with its token."""
        name = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host
        return f"http://{f'[{name}]' if ':' in name else name}:{self.port}/?token={self.token}"

    def run(self) -> None:
        """Serve until interrupted."""
        self.server.run(sockets=[self._socket])


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except (OSError, OverflowError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise InputError(f"--port: cannot listen on {host}, port {port} ({reason}); accepted: a free port.") from None
    return listening
