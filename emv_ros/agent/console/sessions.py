"""The session that a moment lies in: one recording of the source, or what was done without a pause.

`when='recording 2024-03-05 10:00'` means from there to the end of that session.
"""

from __future__ import annotations

from dataclasses import replace
import re

from emv_ros.memory import queries
from emv_ros.memory.queries import Page, Window
from emv_ros.memory.store import MemoryStore
from emv_ros.timeline import HOUR_NS, MINUTE_NS, Interval

# What a source may call the recording that a goal or narration was made in.
TAGS = ('recording', 'session', 'video', 'episode')
WORDS = re.compile(
    rf'^\s*(?:the |this )?(?:{"|".join(TAGS)}|clip)s?\s+'
    r'(?:(?:of|from|at|on|that|which|begins?|starts?|began|started|beginning|starting) )*(?=\S)',
    re.IGNORECASE)
PAUSE_NS = 10 * MINUTE_NS
LONGEST_NS = 24 * HOUR_NS
# A recording may begin a little before or after its first record.
SLACK_NS = 5 * MINUTE_NS
MAX_RECORDS = 5000


def session_at(store: MemoryStore, whole: Window, stamp_ns: int) -> Interval:
    """Return the session that begins about or lasts at a stamp, from its begin to its end."""
    near = replace(whole, start_ns=stamp_ns - LONGEST_NS, end_ns=stamp_ns + LONGEST_NS)
    return _tagged(store, near, stamp_ns) or _unbroken(store, near, stamp_ns)


def _tagged(store: MemoryStore, near: Window, stamp_ns: int) -> Interval | None:
    """Return the recording whose name the source gave to what lies in it, if it did."""
    spans: dict[str, Interval] = {}
    for item in queries.annotations(store, near, page=Page(limit=MAX_RECORDS)):
        tag = next((str(item.extra[tag]) for tag in TAGS if item.extra.get(tag)), '')
        if tag:
            known = spans.get(tag, Interval(item.stamp_ns, item.end_ns))
            spans[tag] = Interval(min(known.start_ns, item.stamp_ns),
                                  max(known.end_ns, item.end_ns))
    ordered = sorted(spans.values(), key=lambda span: span.start_ns)
    for index, span in enumerate(ordered):
        if span.start_ns - SLACK_NS <= stamp_ns < span.end_ns:
            following = ordered[index + 1:]
            last = min(following[0].start_ns, span.end_ns + PAUSE_NS) if following else (
                span.end_ns + PAUSE_NS)
            if abs(stamp_ns - span.start_ns) > SLACK_NS or index == 0:
                return Interval(min(stamp_ns, span.start_ns), max(last, span.end_ns))
            return Interval(max(stamp_ns, ordered[index - 1].end_ns), max(last, span.end_ns))
    return None


def _unbroken(store: MemoryStore, near: Window, stamp_ns: int) -> Interval:
    """Return what lies around a stamp without a pause of PAUSE_NS."""
    page = Page(limit=MAX_RECORDS)
    spans = [(item.stamp_ns, item.stamp_ns if end_ns is None else end_ns)
             for found in (queries.skill_events(store, near, page=page),
                           queries.annotations(store, near, page=page),
                           queries.observations(store, near, page=page),
                           queries.utterances(store, near, page=page))
             for item in found for end_ns in [getattr(item, 'end_ns', None)]]
    first_ns = last_ns = stamp_ns
    for start_ns, end_ns in sorted(spans):
        if start_ns <= last_ns + PAUSE_NS and end_ns >= stamp_ns:
            last_ns = max(last_ns, end_ns)
    for start_ns, end_ns in sorted(spans, key=lambda span: -span[1]):
        if end_ns >= first_ns - PAUSE_NS and start_ns < first_ns:
            first_ns = start_ns
    is_begin = any(abs(start_ns - stamp_ns) <= MINUTE_NS for start_ns, _ in spans)
    return Interval(stamp_ns if is_begin else first_ns, last_ns + 1)
