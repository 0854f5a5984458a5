"""Work of a node that can be canceled: noted before it begins, forgotten when it is over."""

from __future__ import annotations

from collections.abc import Hashable
import threading


class Cancels:
    """The events that cancel what is under way, by key; safe from several threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._cancels: dict[Hashable, threading.Event] = {}

    def note(self, key: Hashable) -> None:
        """Note a piece of work, so that it can be canceled before it begins."""
        with self._changed:
            self._cancels[key] = threading.Event()

    def cancel(self, key: Hashable) -> None:
        """Cancel a piece of work, if it is under way."""
        with self._changed:
            if key in self._cancels:
                self._cancels[key].set()

    def canceled(self, key: Hashable) -> threading.Event:
        """Return the event that is set when a noted piece of work is canceled."""
        with self._changed:
            return self._cancels[key]

    def forget(self, key: Hashable) -> None:
        """Forget a piece of work that is over, or that never began."""
        with self._changed:
            self._cancels.pop(key, None)
            self._changed.notify_all()

    def close(self, timeout_s: float) -> bool:
        """Cancel all and wait for their ends; False where the time was not enough."""
        with self._changed:
            for canceled in self._cancels.values():
                canceled.set()
            return self._changed.wait_for(lambda: not self._cancels, timeout_s)
