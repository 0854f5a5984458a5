"""The calls of a node's models: each is kept in the memory, and those that failed are counted."""

from __future__ import annotations

import threading

from emv_ros.errors import ModelCanceledError
from emv_ros.memory.store import MemoryStore
from emv_ros.records import ModelCall

NO_ERRORS = ('ok', ModelCanceledError.__name__)


class ModelCalls:
    """`note` is for ModelClient; safe from any thread. `errors` counts since `reset`."""

    def __init__(self, store: MemoryStore) -> None:
        self.errors = 0
        self.last_error = ''
        self._store = store
        self._lock = threading.Lock()

    def reset(self) -> None:
        """Begin to count anew."""
        with self._lock:
            self.errors, self.last_error = 0, ''

    def note(self, call: ModelCall) -> None:
        """Keep a call; a cancelled one is no error."""
        if call.outcome not in NO_ERRORS:
            with self._lock:
                self.errors += 1
                self.last_error = f'{call.model}: {call.outcome}'
        self._store.log_call(call)
