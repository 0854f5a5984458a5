"""What the prompt tells about a memory before the first command: its span, its names, the time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo
import re

from sqlalchemy import func, select

from emv_ros.agent.asked_times import asked_times
from emv_ros.agent.console.rows import clean
from emv_ros.agent.console.windows import Clock
from emv_ros.memory import queries, schema
from emv_ros.memory.names import squash
from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.similarity import Similarity
from emv_ros.timeline import Interval, format_stamp, to_datetime

NAMES = {'skills': 16, 'goals': 6, 'objects': 12, 'speakers': 6}
NAME_CHARS = 60
# Sentences and calls are no names: whoever writes them as one wants to be obeyed.
_NO_NAME = re.compile(r'\w{4}[.!?]\s|[\r\n]|\w\s?\(\s*[\'"]|\w\(\)')
_SEEN_FROM_NOW = re.compile(r'\b(?:ago|now|today|current\w*)\b', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Facts:
    """The lines for the prompt, and the span of all that is recorded (None: nothing is)."""

    text: str
    span: Interval | None


def recorded_span(store: MemoryStore, window: Window) -> Interval | None:
    """Return from the first to the last stamp of anything recorded in the window, or None."""
    tables = (schema.SkillEventRow, schema.UtteranceRow, schema.SceneRow, schema.AnnotationRow,
              schema.ObservationRow, schema.ImageRow, schema.JointSampleRow, schema.PoseRow)
    stamps: list[int] = []
    with store.reading() as session:
        robots = list(store.robot_ids(session, window.robots))
        for table in tables:
            query = select(func.min(table.stamp_ns), func.max(table.stamp_ns)).where(
                table.robot_id.in_(robots))
            if window.before_ns is not None:
                query = query.where(table.stamp_ns < window.before_ns)
            stamps += [stamp for stamp in session.execute(query).one() if stamp is not None]
    return Interval(min(stamps), max(stamps)) if stamps else None


def describe(store: MemoryStore, question: str, window: Window, now_ns: int, zone: tzinfo,
             similarity: Similarity) -> Facts:
    """Return the facts for a question: of many names only those most like it."""
    span = recorded_span(store, window)
    now = to_datetime(now_ns, zone)
    lines: list[str] = []
    if span is None:
        return Facts('Memory is empty.', None)
    clock = Clock(now_ns, zone, span.end_ns)
    # A time that nobody asked for would only be copied into the code.
    if _SEEN_FROM_NOW.search(question):
        lines.append(f'Now: {now:%A %Y-%m-%d %H:%M}')
    lines.append(f'Memory: {format_stamp(span.start_ns, zone)} to '
                 f'{format_stamp(span.end_ns, zone)}')
    known = queries.known_names(store, window.robots, window.before_ns)
    for kind, most in NAMES.items():
        names = [clean(name)[:NAME_CHARS] for name in known[kind]
                 if name and not _NO_NAME.search(name.strip())]
        if len(names) > most:
            asked = squash(question)
            scores = [score + (squash(name) in asked)
                      for name, score in zip(names, similarity.scores(question, names),
                                             strict=True)]
            order = sorted(range(len(names)), key=lambda index: (-scores[index], index))[:most]
            names = [names[index] for index in sorted(order)] + ['…']
        if names:
            lines.append(f'{kind.capitalize()}: {", ".join(names)}')
    # Last, next to the question: small models copy what stands nearest.
    lines += [f'Time asked: {item.words!r} is when={item.when!r}' if item.span is not None
              else f'Time asked: {item.words!r} is no day of the calendar'
              for item in asked_times(question, clock)]
    return Facts('\n'.join(lines), span)
