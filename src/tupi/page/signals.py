"""Telling whoever waits that something changed."""

from __future__ import annotations

import threading
from collections.abc import Callable


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
