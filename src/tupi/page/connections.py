"""Connections to the page: one that asks for nothing makes room for others."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_SILENT = 50  # connections that have not asked for anything yet
FIRST_REQUEST = 10.0  # seconds until a connection has to ask for something


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
