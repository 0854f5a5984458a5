"""Whether memory mentions a word at all, in the window of a question; and the full text behind evidence."""

from __future__ import annotations

from sqlalchemy import or_, select

from emv_ros.agent.answers import EvidenceItem
from emv_ros.agent.asked import is_mentioned
from emv_ros.agent.console.rows import parse_id
from emv_ros.memory import schema
from emv_ros.memory.queries import Window, stem
from emv_ros.memory.store import MemoryStore

MAX_CANDIDATES = 200


class RecordedWords:
    """Looks words up in documents and in the names of things seen; each word once."""

    def __init__(self, store: MemoryStore, window: Window) -> None:
        self._store = store
        self._window = window
        self._known: dict[str, bool] = {}

    def __call__(self, word: str) -> bool:
        """Return whether the word, or one that begins with its stem, was recorded."""
        if word not in self._known:
            self._known[word] = self._look_up(word)
        return self._known[word]

    def _look_up(self, word: str) -> bool:
        pattern = f'%{stem(word)}%'
        document, thing = schema.DocumentRow, schema.SceneObjectRow
        end_ns = min((stamp for stamp in (self._window.end_ns, self._window.before_ns)
                      if stamp is not None), default=None)
        texts = select(document.text).where(document.text.ilike(pattern))
        names = select(thing.name + ' ' + thing.instance + ' ' + thing.state).where(
            or_(thing.name.ilike(pattern), thing.instance.ilike(pattern),
                thing.state.ilike(pattern))).distinct()
        with self._store.reading() as session:
            if self._window.robots:
                robots = list(self._store.robot_ids(session, self._window.robots))
                texts = texts.where(document.robot_id.in_(robots))
                names = names.where(thing.robot_id.in_(robots))
            if self._window.start_ns is not None:
                texts = texts.where(document.end_ns >= self._window.start_ns)
                names = names.where(thing.stamp_ns >= self._window.start_ns)
            if end_ns is not None:
                texts = texts.where(document.start_ns < end_ns)
                names = names.where(thing.stamp_ns < end_ns)
            found = [*session.scalars(texts.limit(MAX_CANDIDATES)),
                     *session.scalars(names.limit(MAX_CANDIDATES))]
        return any(is_mentioned(word, text) for text in found)

    def text_of(self, item: EvidenceItem) -> str:
        """Return all recorded words behind a piece of evidence."""
        parsed = parse_id(item.id)
        if parsed is None:
            return item.text
        document = schema.DocumentRow
        with self._store.reading() as session:
            text = session.scalar(select(document.text).where(
                document.kind == parsed[0], document.ref_id == parsed[1]))
        return f'{item.text} {text or ""}'
