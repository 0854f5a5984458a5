"""The words of what is forgotten where they were written down besides: questions, calls, names.

A word of what goes that nothing else in the memory says is gone with it: a logged question in which
it stands is deleted, as is one that shows an id of what goes, or of the event that told of it. The
details of calls to a model that say it are blanked. Where a text is forgotten, whatever says it
still goes, too: names that a person gave, summaries that a model wrote, choices of parameters.
"""

from __future__ import annotations

from collections import Counter
import re
from typing import Any

from sqlalchemy import delete, or_, select, text
from sqlalchemy.orm import Session

from emv_ros.agent.forgetting_rows import NODES
from emv_ros.biography.mentions import Names, rename_left, telling
from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.choosing import OBJECTS, SAYING, Choice
from emv_ros.memory.going import Going
from emv_ros.memory.queries import Window, within
from emv_ros.memory.said_words import Saying, folded, texts_in, words_in
from emv_ros.memory.store import MemoryStore
from emv_ros.records import ID_LETTERS
from emv_ros.timeline import Interval
from emv_ros.tree.reopening import BLANK, blank, reopen_spans

# More distinct words than these are not followed; ids still are.
MAX_WORDS = 200_000
# Letters of words that are written without spaces between them.
_UNSPACED = re.compile(
    '[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]')
_ID = re.compile(r'\b([a-z])(\d{1,18})\b')
_KINDS = {letter: kind for kind, letter in ID_LETTERS.items()}


class Words:
    """The words of what goes, gathered before it goes."""

    def __init__(self, session: Session, going: Going) -> None:
        self.words: set[str] = set()
        for kind in ('utterance', 'skill_event', 'annotation', 'observation'):
            row = schema.KINDS[kind]
            for lot in going.lots(kind):
                for item in session.scalars(select(row).where(among(row.id, lot))):
                    self._add(*(getattr(item, name) for name in SAYING[kind]))
        part, link = schema.SceneObjectRow, schema.SceneRelationRow
        for kind, column in (('scene', part.scene_id), (OBJECTS, part.id)):
            for lot in going.lots(kind):
                for names in session.execute(select(
                        part.name, part.instance, part.state).where(among(column, lot))):
                    self._add(*names)
        for lot in going.lots('scene'):
            for names in session.execute(select(
                    link.subject, link.predicate, link.object).where(among(link.scene_id, lot))):
                self._add(*names)

    def _add(self, *values: Any) -> None:
        if len(self.words) < MAX_WORDS:
            self.words |= words_in(*values)

    def keep_gone(self, session: Session) -> None:
        """Leave the words that nothing says any more; call it when all has gone."""
        names: set[str] = set()
        for column in (schema.SceneObjectRow.name, schema.EntityRow.name,
                       schema.SkillEventRow.skill, schema.UtteranceRow.speaker):
            for name in session.scalars(select(column).distinct()):
                names |= words_in(name)
        self.words -= names
        session.flush()
        if session.get_bind().dialect.name == 'sqlite':
            asked = text('SELECT rowid FROM document_text WHERE document_text MATCH :word LIMIT 1')
            self.words = {word for word in self.words if session.execute(
                asked, {'word': f'"{word}"'}).first() is None}
            return
        row = schema.DocumentRow
        for said in session.scalars(select(row.text).execution_options(yield_per=500)):
            if not self.words:
                return
            self.words -= words_in(said)

    def told_in(self, value: Any) -> bool:
        """Whether a stored value has a word that is gone, of a script without spaces anywhere."""
        if not self.words.isdisjoint(words_in(value)):
            return True
        joined = [word for word in self.words if _UNSPACED.search(word)]
        return bool(joined) and any(word in folded(said) for said in texts_in(value)
                                    for word in joined)


def forget_questions(session: Session, going: Going, words: Words, names: Names | None) -> int:
    """Delete the questions that are chosen, and those that show what goes; return how many."""
    row = schema.QueryRow
    is_named = telling(names.gone) if names else lambda _: False
    found: list[int] = []
    for item in session.scalars(select(row).execution_options(yield_per=100)):
        shown = [item.question, item.answer, item.message, item.evidence, item.trace]
        if going.among('query', [item.id]) or words.told_in(shown) or is_named(shown) or _shows_id(
                session, going, shown):
            found.append(item.id)
    session.execute(delete(row).where(among(row.id, found)))
    return len(found)


def _shows_id(session: Session, going: Going, shown: Any) -> bool:
    ids: dict[str, set[int]] = {}
    for said in texts_in(shown):
        for letter, number in _ID.findall(said):
            if letter in _KINDS:
                ids.setdefault(_KINDS[letter], set()).add(int(number))
    return any(going.among(NODES if kind == 'node' else kind, keys)
               for kind, keys in ids.items())


def blank_calls(session: Session, words: Words, saying: Saying | None) -> int:
    """Blank the details of calls to a model that say what goes; return how many."""
    row, count = schema.ModelCallRow, 0
    for item in session.scalars(select(row).where(row.detail != '')):
        if words.told_in(item.detail) or (saying is not None and saying(item.detail)):
            item.detail = ''
            count += 1
    session.flush()
    return count


def forget_saying(store: MemoryStore, session: Session, choice: Choice,
                  saying: Saying) -> Counter[str]:
    """Take a text out of what stays and says it still; return how much of each kind changed."""
    counts: Counter[str] = Counter()
    if choice.references or choice.speakers:
        return counts
    window = Window(robots=choice.robots, start_ns=choice.start_ns, end_ns=choice.end_ns)
    if not choice.kinds or 'observation' in choice.kinds:
        counts['renamed'] = _forget_names(store, session, window, saying)
    counts['nodes_rewritten'] = _blank_nodes(store, session, window, saying)
    for item in session.scalars(select(schema.StateRow).where(or_(
            schema.StateRow.key.startswith('telling parameters of '),
            schema.StateRow.key.startswith('symbolic:')))):
        if item.key.startswith('symbolic:'):
            kept = [stay for stay in item.value.get('open', []) if not saying(stay)]
            item.value = {**item.value, 'open': kept}
        elif saying(item.key, item.value):
            session.delete(item)
    session.flush()
    return counts


def _forget_names(store: MemoryStore, session: Session, window: Window, saying: Saying) -> int:
    """Take back names and reasons of persons that say it."""
    seen, naming, verdict = schema.ObservationRow, schema.NamingRow, schema.VerdictRow
    fitting = within(store, session, select(seen.id), seen, window)
    names: dict[int, set[str]] = {}
    for item in session.scalars(select(naming).where(naming.observation_id.in_(fitting))).all():
        if saying(item.name):
            entity_id = session.scalar(select(seen.entity_id).where(
                seen.id == item.observation_id))
            names.setdefault(entity_id or 0, set()).add(item.name)
            session.delete(item)
        elif saying(item.reason):
            item.reason = ''
    for said in session.scalars(select(verdict).where(verdict.first_id.in_(fitting))):
        if saying(said.reason):
            said.reason = ''
    session.flush()
    return sum(rename_left(session, [key], Names(frozenset(said), frozenset()))
               for key, said in names.items() if key)


def _blank_nodes(store: MemoryStore, session: Session, window: Window, saying: Saying) -> int:
    """Blank the nodes that say it of themselves, such as a summary by a model."""
    row = schema.NodeRow
    found: dict[int, list[Interval]] = {}
    ids: set[int] = set()
    for item in session.scalars(within(store, session, select(row).where(
            saying.may_stand_in(row.summary, row.name)), row, window)):
        if saying(item.summary, item.name) and item.summary != BLANK:
            ids.add(item.id)
            found.setdefault(item.robot_id, []).append(Interval(item.start_ns, item.end_ns))
    if not ids:
        return 0
    for robot_id, spans in found.items():
        reopen_spans(session, robot_id, spans)
    blank(session, ids)
    return len(ids)
