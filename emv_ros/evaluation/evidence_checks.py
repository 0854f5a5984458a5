"""Invariants of evidence: what an answer cites exists, was shown to it, and lies in its window.

Checked from outside, on a finished answer and the account of it in the memory: what the agent
itself checks on the way is not relied upon. A time that the question only starts from ('before
noon', 'since Monday') or that tells which thing is meant bounds nothing.
"""

from __future__ import annotations

from datetime import tzinfo
import re
from typing import Any

from emv_ros.agent.answers import Answer, EvidenceItem, QueryStatus, Question
from emv_ros.agent.asked import described_things
from emv_ros.agent.asked_times import asked_times
from emv_ros.agent.console.rows import parse_id, span_of
from emv_ros.agent.console.windows import Clock
from emv_ros.agent.facts import recorded_span
from emv_ros.agent.run import MAX_TRACED
from emv_ros.errors import NotFoundError
from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.timeline import MINUTE_NS, Interval, format_span, parse_zone

# A question for an instant ("at 14:00") means what went on around it.
AROUND_NS = 15 * MINUTE_NS
_ROW = re.compile(r'^[ +-]*([a-z]\d+) \d{4}-\d{2}-\d{2}\b', re.MULTILINE)
_RELATIVE = re.compile(
    r'\b(?:before|after|since|until|till|than|from|between|shortly|around|about|next|earlier|'
    r'later|prior)\b', re.IGNORECASE)


def evidence_problems(store: MemoryStore, answer: Answer, question: Question) -> list[str]:
    """Return what is wrong with the evidence of an answer, one sentence each; none is right.

    An answer without an account in the memory (`query_id` None) is not checked for what was shown.
    """
    zone = parse_zone(store.zone_of(question.robots))
    asked = _asked(store, question, zone)
    shown = _shown(store, answer)
    problems: list[str] = []
    if answer.status is QueryStatus.ANSWERED and not answer.evidence:
        problems.append('an answer without evidence')
    for item in answer.evidence:
        problems += _problems_of(store, item, question)
        if shown is not None and item.id not in shown:
            problems.append(f'{item.id} was not shown')
        if asked and not any(_touch(item, span) for span in asked):
            told = ' or '.join(format_span(span, zone) for span in asked)
            problems.append(f'{item.id} lies outside the time asked for, {told}')
    return problems


def _problems_of(store: MemoryStore, item: EvidenceItem, question: Question) -> list[str]:
    parsed = parse_id(item.id)
    if parsed is None:
        return [f'{item.id!r} is no id']
    try:
        record = store.get(*parsed)
    except NotFoundError:
        return [f'{item.id} does not exist']
    span, found = span_of(record), []
    if item.kind != parsed[0] or not span.start_ns <= item.start_ns:
        found.append(f'{item.id} is not the record that it is given for')
    if question.robots and record.robot not in question.robots:
        found.append(f'{item.id} is of another robot, {record.robot}')
    if span.start_ns >= question.query_time_ns or item.end_ns > question.query_time_ns:
        found.append(f'{item.id} lies after the time of the question')
    if question.start_ns is not None and item.end_ns < question.start_ns:
        found.append(f'{item.id} lies before the window of the question')
    if question.end_ns is not None and item.start_ns >= question.end_ns:
        found.append(f'{item.id} lies after the window of the question')
    return found


def _asked(store: MemoryStore, question: Question, zone: tzinfo) -> list[Interval]:
    """Return the spans that the question asks for: evidence lies in one of them; none: anywhere."""
    text = ' '.join(question.text.split())
    if _RELATIVE.search(text) or described_things(text):
        return []
    known = recorded_span(store, Window(robots=question.robots, before_ns=question.query_time_ns))
    last_ns = known.end_ns if known else question.query_time_ns
    spans = [time.span for time in asked_times(
        text, Clock(question.query_time_ns, zone, last_ns)) if time.span is not None]
    return [Interval(span.start_ns - AROUND_NS, span.end_ns + AROUND_NS)
            if span.end_ns - span.start_ns <= MINUTE_NS else span for span in spans]


def _touch(item: EvidenceItem, span: Interval) -> bool:
    return item.start_ns <= span.end_ns and item.end_ns >= span.start_ns


def _shown(store: MemoryStore, answer: Answer) -> set[str] | None:
    """Return the ids that the account of an answer says were handed out; None: not known.

    Handed out to a command, or printed as rows. Only an answer of the model's own must rest on
    what it was shown.
    """
    if answer.query_id is None or answer.status is not QueryStatus.ANSWERED:
        return None
    steps: list[Any] = list(store.get('query', answer.query_id).trace)
    if not any('shown' in step for step in steps) or any(
            len(step.get('shown', ())) >= MAX_TRACED for step in steps):
        return None
    handed = {str(shown) for step in steps for shown in step.get('shown', ())}
    return handed.union(*(_ROW.findall(f'{step.get("output", "")}\n{step.get("state", "")}')
                          for step in steps))
