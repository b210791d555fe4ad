"""Threads that do the most urgent thing next, a piece at a time, and telling whoever waits that something changed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

Piece = Callable[[], None]
log = logging.getLogger(__name__)


class Lane:
    """One thread. Pieces are short, so that something more urgent soon gets its turn.

    Parameters
    ----------
    name : str
        For logs.
    choose : callable
        Returns the next piece of work, the seconds to sleep unless `wake` is called, or None to sleep until then.
    """

    def __init__(self, name: str, choose: Callable[[], Piece | float | None]) -> None:
        self._choose = choose
        self._work = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=f"tupi-{name}", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Have the thread look for work."""
        self._work.set()

    def close(self, timeout: float = 2.0) -> None:
        """End after the current piece; a piece that takes longer than the timeout ends with the process."""
        self._closed = True
        self._work.set()
        self._thread.join(timeout)

    def _run(self) -> None:
        while not self._closed:
            self._work.clear()  # before the look, so that what comes in during it is not missed
            try:
                piece = self._choose()
                if callable(piece):
                    piece()
                    continue
            except Exception:  # a piece that fails must not end the page for everybody
                if not self._closed:  # else the page ends anyway, and with it what the piece needs
                    log.exception("A background task failed")
                continue
            self._work.wait(piece)


class Signal:
    """A counter of changes. Threads wait for the next one; listeners are called at each."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._listeners: list[Callable[[], None]] = []
        self.version = 0

    def changed(self) -> None:
        """Count a change and tell everybody."""
        with self._condition:
            self.version += 1
            listeners = list(self._listeners)
            self._condition.notify_all()
        for listener in listeners:
            listener()

    def wait(self, seen: int, timeout: float) -> int:
        """Return the version as soon as it differs from the one seen, or after the timeout."""
        with self._condition:
            self._condition.wait_for(lambda: self.version != seen, timeout)
            return self.version

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have a listener called at each change, and return what ends that."""
        with self._condition:
            self._listeners.append(listener)

        def leave() -> None:
            with self._condition:
                self._listeners.remove(listener)

        return leave
