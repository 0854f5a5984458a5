"""Notices that a microphone hears the robot's own loudspeaker.

A recogniser gets most words of such an echo right, and in order, but rarely all of them: so an
echo is told by runs of words that the robot has just said, not by equality. A question is no echo
of a statement, though it may use its words, and a short reply ("yes") none of a sentence that
holds it.
"""

from __future__ import annotations

from collections import deque
from difflib import SequenceMatcher
import re

from emv_ros.timeline import SECOND_NS

WINDOW_NS = 60 * SECOND_NS  # a long answer takes most of a minute to say
SHARE = 0.75  # of the words heard, in runs of RUN_WORDS and more
RUN_WORDS = 3

_WORD = re.compile(r'\w+')


class EchoGuard:
    """Remembers what the robot said of late."""

    def __init__(self) -> None:
        self._said: deque[tuple[int, str]] = deque(maxlen=32)

    def said(self, text: str, now_ns: int) -> None:
        """Note the robot's own words."""
        self._said.append((now_ns, text))

    def is_echo(self, text: str, now_ns: int) -> bool:
        """Return whether these words are the robot's own, heard again."""
        return any(abs(now_ns - then_ns) <= WINDOW_NS and _resembles(text, own)
                   for then_ns, own in self._said)


def _resembles(text: str, own_text: str) -> bool:
    heard, own = _WORD.findall(text.casefold()), _WORD.findall(own_text.casefold())
    if not heard or text.rstrip().endswith('?') and not own_text.rstrip().endswith('?'):
        return False
    if heard == own:
        return True
    blocks = SequenceMatcher(None, heard, own, autojunk=False).get_matching_blocks()
    run = sum(block.size for block in blocks if block.size >= RUN_WORDS)
    return run / len(heard) >= SHARE
