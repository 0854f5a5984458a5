"""What the records behind words are: whether memory mentions a word, all words of a record, whose.

Whatever is looked up stands in the question's window, as it was known at the question's time.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.orm import Session

from emv_ros.agent.answers import EvidenceItem
from emv_ros.agent.asked import is_mentioned
from emv_ros.agent.console.rows import parse_id, span_of
from emv_ros.agent.console.shown import known_at
from emv_ros.agent.roots import root_of
from emv_ros.errors import NotFoundError
from emv_ros.memory import queries, schema
from emv_ros.memory.documents import named_values, text_of
from emv_ros.memory.names import spellings, squash
from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.records import SkillEvent, Utterance
from emv_ros.retrieval.scope import Scope
from emv_ros.timeline import SECOND_NS

MAX_CANDIDATES = 200
MAX_ANSWERS = 500
# A run and the words that it speaks are reported by different programs.
BESIDE_NS = 5 * SECOND_NS
# Shorter words than these (without breaks) are too common to tell an answer by.
MIN_ECHO_CHARS = 12


class RecordedWords:
    """Looks words up in documents and in the names of things seen; each word once.

    Without nodes only records count: a summary that reaches into the window tells of other days.
    """

    def __init__(self, store: MemoryStore, window: Window, has_nodes: bool = True) -> None:
        self._store = store
        self._window = window
        self._has_nodes = has_nodes
        self._known: dict[str, bool] = {}
        self._answers: list[tuple[int, str]] | None = None

    def __call__(self, word: str) -> bool:
        """Return whether the word, or one that begins with its stem, was recorded."""
        if word not in self._known:
            with self._store.reading() as session:
                texts = [*self._documents(session, word), *self._things(session, word)]
            self._known[word] = any(is_mentioned(word, text) for text in texts)
        return self._known[word]

    def _documents(self, session: Session, word: str) -> list[str]:
        row, before_ns = schema.DocumentRow, self._window.before_ns
        found = session.execute(
            select(row.kind, row.ref_id, row.text, row.end_ns)
            .where(_likes(row.text, word),
                   *Scope.of(self._store, session, self._window).conditions())
            .where(*(() if self._has_nodes else (row.kind != 'node',)))
            .limit(MAX_CANDIDATES)).all()
        return [text if before_ns is None or kind != 'skill_event'
                else self._words_of(kind, ref_id) for kind, ref_id, text, _ in found]

    def _things(self, session: Session, word: str) -> list[str]:
        thing, window = schema.SceneObjectRow, self._window
        query = select(thing.name + ' ' + thing.instance + ' ' + thing.state).where(or_(*(
            _likes(column, word) for column in (thing.name, thing.instance, thing.state)
        ))).distinct()
        if window.robots:
            query = query.where(
                thing.robot_id.in_(list(self._store.robot_ids(session, window.robots))))
        if window.start_ns is not None:
            query = query.where(thing.stamp_ns >= window.start_ns)
        ends = [stamp for stamp in (window.end_ns, window.before_ns) if stamp is not None]
        if ends:
            query = query.where(thing.stamp_ns < min(ends))
        return list(session.scalars(query.limit(MAX_CANDIDATES)))

    def text_of(self, item: EvidenceItem) -> str:
        """Return all recorded words behind a piece of evidence."""
        parsed = parse_id(item.id)
        return f'{item.text} {self._words_of(*parsed)}' if parsed else item.text

    def _record(self, item: EvidenceItem) -> Any:
        parsed = parse_id(item.id)
        try:
            return known_at(self._store.get(*parsed), self._window.before_ns) if parsed else None
        except NotFoundError:  # forgotten meanwhile, or the view's own root
            return None

    def _words_of(self, kind: str, ref_id: int) -> str:
        try:
            record = known_at(self._store.get(kind, ref_id), self._window.before_ns)
        except NotFoundError:
            return ''
        return text_of(record) or ''

    def is_own(self, item: EvidenceItem) -> bool:
        """Whether a record is only what the robot said: its words, or the run that spoke them."""
        record = self._record(item)
        if isinstance(record, Utterance):
            return record.is_own
        if not isinstance(record, SkillEvent):
            return False
        span = span_of(record)
        spoken = {squash(value) for _, value in named_values(record.parameters)} - {''}
        near = queries.utterances(self._store, Window(
            robots=(record.robot,), start_ns=span.start_ns - BESIDE_NS,
            end_ns=span.end_ns + BESIDE_NS, before_ns=self._window.before_ns))
        return any(words.is_own and squash(words.text) in spoken for words in near)

    def is_echo(self, item: EvidenceItem) -> bool:
        """Whether a record is words, whoever is said to have spoken, that repeat an answer."""
        record = self._record(item) if item.kind == 'utterance' else None
        if not isinstance(record, Utterance):
            return False
        heard = squash(record.text)
        return len(heard) >= MIN_ECHO_CHARS and any(
            stamp_ns <= record.stamp_ns and _repeats(heard, answer)
            for stamp_ns, answer in self._given_answers())

    def _given_answers(self) -> list[tuple[int, str]]:
        """Return the latest answers with the times of their questions, read once."""
        if self._answers is None:
            row = schema.QueryRow
            with self._store.reading() as session:
                self._answers = [(stamp_ns, squash(answer)) for stamp_ns, answer in session.execute(
                    select(row.query_time_ns, row.answer).where(row.answer != '')
                    .order_by(row.id.desc()).limit(MAX_ANSWERS))]
        return self._answers


def _repeats(heard: str, answer: str) -> bool:
    """Whether the two are the same words, up to half of the answer left out or something added."""
    return (heard in answer and 2 * len(heard) >= len(answer)) or (
        len(answer) >= MIN_ECHO_CHARS and answer in heard)


def _likes(column: Any, word: str) -> ColumnElement[bool]:
    """Return the condition that a text may mention a word, however it is spelt."""
    return or_(*(column.icontains(root_of(spelt), autoescape=True) for spelt in spellings(word)))
