"""Times in the choices of a question, and how well spans of rows bear them out."""

from __future__ import annotations

from collections.abc import Sequence
import re

from emv_ros.agent.console.windows import Clock
from emv_ros.errors import TimeExpressionError
from emv_ros.timeline import SECOND_NS, Interval

_LEAD = re.compile(r'^\W*(?:from|between|at|on|in|since)\s+', re.IGNORECASE)
_CLOCK = re.compile(r'\d{1,2}:\d{2}|\d{4}-\d{2}|\b(?:a|p)\.?m\b', re.IGNORECASE)
_DAY = re.compile(
    r'\b(?:\w+day|yesterday|today|january|february|march|april|may|june|july|august|september|'
    r'october|november|december)\b', re.IGNORECASE)
# Records overlap a span that is told in whole seconds also where both are shorter.
_SLACK_NS = SECOND_NS


def spans_of(choice: str, clock: Clock) -> list[Interval]:
    """Return the spans that a choice names, parted by commas; [] where it is no time."""
    spans = []
    for part in re.split(r',\s+', choice.strip()):
        text = _LEAD.sub('', part).strip(' .')
        if not (_CLOCK.search(text) or _DAY.search(text)):
            return []
        try:
            spans.append(clock.interval_of(text.replace(' and ', ' to ')))
        except TimeExpressionError:
            return []
    return spans


def coverage(wanted: Sequence[Interval], rows: Sequence[Interval]) -> float:
    """Return the share of the wanted time that rows cover; a little more where nothing is over."""
    known = merged(rows)
    covered = [sum(_common_ns(span, row) for row in known) for span in wanted]
    lengths = [span.end_ns - span.start_ns + _SLACK_NS for span in wanted]
    share = sum(min(1.0, part / length) for part, length in zip(covered, lengths, strict=True))
    union_ns = sum(lengths) + sum(row.end_ns - row.start_ns for row in known) - sum(covered)
    return share / len(wanted) + 0.1 * sum(covered) / max(1, union_ns)


def _common_ns(one: Interval, other: Interval) -> int:
    if one.start_ns > other.end_ns or other.start_ns > one.end_ns + _SLACK_NS:
        return 0
    return max(0, min(one.end_ns + _SLACK_NS, other.end_ns) - max(one.start_ns, other.start_ns))


def merged(spans: Sequence[Interval]) -> list[Interval]:
    """Return spans as disjoint ones, in order."""
    found: list[Interval] = []
    for span in sorted(spans, key=lambda item: item.start_ns):
        if found and span.start_ns <= found[-1].end_ns:
            found[-1] = Interval(found[-1].start_ns, max(found[-1].end_ns, span.end_ns))
        else:
            found.append(span)
    return found


def nearest_s(choice: Interval, moments: Sequence[Interval]) -> float:
    """Return how far the start of a choice lies from the nearest stretch, s; 0 inside one."""
    return min(max(span.start_ns - choice.start_ns - _SLACK_NS, choice.start_ns - span.end_ns, 0)
               for span in moments) / SECOND_NS
