"""No exception leaves a callback: it would end the executor, and with it the whole process.

A fault is logged with its trace, counted, and told in the status of the node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import wraps
import threading
import traceback
from typing import Any

from emv_ros.errors import EmvError, RecordError


class Faults:
    """Counts what went wrong in the callbacks of one node; safe from any thread."""

    def __init__(self, logger: Any) -> None:
        self.counts: Counter[str] = Counter()
        self._said: dict[str, str] = {}  # by where it was, the latest last
        # What an error quotes goes through this before anybody reads it.
        self.hide: Callable[[str], str] = lambda words: words
        self._logger = logger
        self._lock = threading.Lock()

    def add(self, where: str, error: Exception) -> None:
        """Note an error; ours in words, any other with its trace, since it is a bug."""
        words = self.hide(f'{where}: {in_words(error)}')
        with self._lock:
            self.counts[where] += 1
            is_new = words != self.last
            self._said.pop(where, None)
            self._said[where] = words
        if not is_new:
            return
        if isinstance(error, EmvError):
            self._logger.error(words)
        else:
            trace = ''.join(traceback.format_exception(error))
            self._logger.error(f'{words}\n{self.hide(trace)}')

    def mended(self, where: str) -> None:
        """Tell no more of what went wrong there: it was tried again, and went well."""
        with self._lock:
            self.counts.pop(where, None)
            self._said.pop(where, None)

    @property
    def last(self) -> str:
        """What went wrong last, '' where nothing did."""
        said = list(self._said.values())
        return said[-1] if said else ''

    @property
    def words(self) -> str:
        """What the status tells; empty where nothing went wrong."""
        total = self.counts.total()
        return f'{total} callbacks failed, the latest {self.last}' if total else ''


def in_words(error: Exception) -> str:
    """Return what an error says; one that is not ours with its kind."""
    return str(error) if isinstance(error, EmvError) else f'{type(error).__name__}: {error}'


def guarded(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a callback of a node (with `faults`) that raises nothing."""
    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except Exception as error:  # whatever it is: the border of the process's callbacks
            self.faults.add(method.__name__, error)
            return None
    return call


def guarded_service(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a service callback that answers with STATUS_ERROR where it would raise."""
    @wraps(method)
    def call(self: Any, request: Any, response: Any) -> Any:
        try:
            return method(self, request, response)
        except Exception as error:  # as in `guarded`
            if not isinstance(error, RecordError):  # of a request that makes no sense
                self.faults.add(method.__name__, error)
            refused = type(response)()
            refused.status, refused.message = refused.STATUS_ERROR, in_words(error)
            return refused
    return call
