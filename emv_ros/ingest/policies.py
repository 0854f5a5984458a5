"""What is kept of a stream that arrives faster than a memory needs it.

Each policy counts what it leaves out and works on stamps alone. Every one of them survives a clock
that jumps back (bag loop, reset of a simulation): a jump never makes it wait for the old time to
come again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
import re

import numpy as np
from numpy.typing import NDArray

from emv_ros.timeline import MINUTE_NS

THUMBNAIL = (32, 24)  # width, height: enough to notice a change, too small for noise

_NO_WORD = re.compile(r'[\W_]+')


class Throttle:
    """Lets through one item of each key a period; not safe for several threads."""

    def __init__(self, period_ns: int) -> None:
        self.period_ns = period_ns
        self.left_out = 0
        self._latest: dict[Hashable, int] = {}

    def is_due(self, key: Hashable, stamp_ns: int) -> bool:
        """Return whether an item may pass now, without noting that it does.

        One that lies a whole period before the latest passes too: it is late, or the clock went
        back.
        """
        latest = self._latest.get(key)
        return latest is None or abs(stamp_ns - latest) >= self.period_ns

    def mark(self, key: Hashable, stamp_ns: int) -> None:
        """Note that an item passed."""
        self._latest[key] = stamp_ns

    def allow(self, key: Hashable, stamp_ns: int) -> bool:
        """Return whether the item passes, and note it."""
        if self.is_due(key, stamp_ns):
            self.mark(key, stamp_ns)
            return True
        self.left_out += 1
        return False


class KeyframePolicy:
    """Keeps one picture of each camera a period, if it differs from the one kept before.

    `change` is the mean absolute difference of brightness of two small grey pictures, 0..1; 0 keeps
    all.
    """

    def __init__(self, period_ns: int, change: float = 0.0) -> None:
        self.change = change
        self._throttle = Throttle(period_ns)
        self._unchanged = 0
        self._kept: dict[str, NDArray[np.uint8]] = {}

    @property
    def left_out(self) -> int:
        """Pictures that were not kept."""
        return self._throttle.left_out + self._unchanged

    def keep(
            self, camera: str, stamp_ns: int, small: Callable[[], NDArray[np.uint8]]) -> bool:
        """Return whether to keep a picture.

        `small` makes its thumbnail (height × width, uint8) and is called only where that decides.
        """
        if not self._throttle.is_due(camera, stamp_ns):
            self._throttle.left_out += 1
            return False
        if self.change > 0:
            now, before = small(), self._kept.get(camera)
            if before is not None and brightness_change(before, now) < self.change:
                self._unchanged += 1
                return False
            self._kept[camera] = now
        self._throttle.mark(camera, stamp_ns)
        return True


def thumbnail(image: NDArray[np.generic]) -> NDArray[np.uint8]:
    """Return a small grey picture (24 × 32, uint8) of a BGR, grey or 16-bit depth image."""
    import cv2

    small = cv2.resize(image, THUMBNAIL, interpolation=cv2.INTER_AREA)
    if small.dtype == np.uint16:
        small = (small >> 8).astype(np.uint8)
    grey = cv2.cvtColor(small, cv2.COLOR_BGR2GRAY) if small.ndim == 3 else small
    return np.asarray(grey, np.uint8)


def brightness_change(before: NDArray[np.uint8], now: NDArray[np.uint8]) -> float:
    """Return the mean absolute difference of two pictures, 0..1; 1 where sizes differ."""
    if before.shape != now.shape:
        return 1.0
    return float(np.abs(before.astype(np.int16) - now).mean() / 255)


@dataclass
class _Run:
    words: str = ''
    kept: list[int] = field(default_factory=list)


class RepeatGuard:
    """Stops a recogniser that repeats itself in silence ("Thank you for watching!").

    Of equal utterances in a row of one speaker at most `limit` are kept within a minute; case and
    punctuation don't count. `left_out` counts the rest.
    """

    def __init__(self, limit: int, window_ns: int = MINUTE_NS) -> None:
        self.limit = limit
        self.window_ns = window_ns
        self.left_out = 0
        self._runs: dict[str, _Run] = {}

    def keep(self, speaker: str, text: str, stamp_ns: int) -> bool:
        """Return whether to keep an utterance."""
        run = self._runs.setdefault(speaker, _Run())
        words = _NO_WORD.sub(' ', text).strip().casefold() or text
        if words != run.words:
            run.words, run.kept = words, []
        run.kept = [kept for kept in run.kept if abs(stamp_ns - kept) < self.window_ns]
        if len(run.kept) >= self.limit:
            self.left_out += 1
            return False
        run.kept.append(stamp_ns)
        return True
