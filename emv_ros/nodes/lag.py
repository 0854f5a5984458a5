"""How long records take from their stamp to their commit, of the latest minute.

That is measured where a stamp is of the clock by which a record was received: not in simulated
time, nor of stamps that were ahead of it, or further behind than a late record may be.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
import math
import threading
import time

from emv_ros.records import Record
from emv_ros.timeline import SECOND_NS

MINUTE_S = 60
AHEAD_NS = SECOND_NS // 10  # what two clocks that are kept in step may differ by
MOST_DOUBTFUL = 10_000

Key = tuple[type, int]


class LagMeter:
    """Safe from any thread. `now_ns` is the clock of the stamps; None where none is comparable."""

    def __init__(self, now_ns: Callable[[], int] | None, tolerance_s: float) -> None:
        """Begin; `tolerance_s` is how far behind its receipt a stamp may lie."""
        self._now_ns = now_ns
        self._tolerance_ns = round(tolerance_s * SECOND_NS)
        self._doubtful: OrderedDict[Key, int] = OrderedDict()  # with the number of them
        self._seconds: dict[int, float] = {}
        self._lock = threading.Lock()

    def received(self, record: Record) -> None:
        """Note a record when it comes: whether its stamp is of our clock."""
        if self._now_ns is None:
            return
        behind_ns = self._now_ns() - record.stamp_ns
        if -AHEAD_NS <= behind_ns <= self._tolerance_ns:
            return
        key = type(record), record.stamp_ns
        with self._lock:
            self._doubtful[key] = self._doubtful.get(key, 0) + 1
            if len(self._doubtful) > MOST_DOUBTFUL:
                self._doubtful.popitem(last=False)

    def committed(self, records: Iterable[Record]) -> None:
        """Note records when they are on disk."""
        if self._now_ns is None:
            return
        now_ns, second = self._now_ns(), int(time.monotonic())
        with self._lock:
            for record in records:
                key = type(record), record.stamp_ns
                if key in self._doubtful:
                    self._doubtful[key] -= 1
                    if not self._doubtful[key]:
                        del self._doubtful[key]
                    continue
                lag_s = max(0.0, (now_ns - record.stamp_ns) / SECOND_NS)
                self._seconds[second] = max(lag_s, self._seconds.get(second, 0.0))

    @property
    def longest_s(self) -> float:
        """The longest of the latest minute; NaN where there was none."""
        first = int(time.monotonic()) - MINUTE_S
        with self._lock:
            self._seconds = {second: lag_s for second, lag_s in self._seconds.items()
                             if second > first}
            return max(self._seconds.values(), default=math.nan)
