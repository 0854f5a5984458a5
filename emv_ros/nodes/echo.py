"""Notices that a microphone hears the robot's own loudspeaker.

A recogniser gets most words of such an echo right, and rarely all of them; so it is told by the
share of its words that the robot has just said, not by equality. A short reply ("yes") is no echo
of a sentence that holds the word.
"""

from __future__ import annotations

from collections import deque
import re

from emv_ros.timeline import SECOND_NS

WINDOW_NS = 60 * SECOND_NS  # a long answer takes most of a minute to say
SHARE = 0.75
MIN_WORDS = 3

_WORD = re.compile(r'\w+')


class EchoGuard:
    """Remembers what the robot said of late."""

    def __init__(self) -> None:
        self._said: deque[tuple[int, list[str]]] = deque(maxlen=32)

    def said(self, text: str, now_ns: int) -> None:
        """Note the robot's own words."""
        self._said.append((now_ns, _words(text)))

    def is_echo(self, text: str, now_ns: int) -> bool:
        """Return whether these words are the robot's own, heard again."""
        heard = _words(text)
        return bool(heard) and any(
            abs(now_ns - then_ns) <= WINDOW_NS and _resembles(heard, own)
            for then_ns, own in self._said)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _resembles(heard: list[str], own: list[str]) -> bool:
    if heard == own:
        return True
    if len(heard) < MIN_WORDS:
        return False
    known = set(own)
    return sum(word in known for word in heard) / len(heard) >= SHARE
