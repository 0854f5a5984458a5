"""The words of what is forgotten where they were written down besides: questions and calls.

A word of what goes that nothing else in the memory says is gone with it: a logged question in which
it stands is deleted, as is one that shows an id of what goes, or of the event that told of it. The
details of calls to a model that say it are blanked.
"""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import delete, select, text
from sqlalchemy.orm import Session

from emv_ros.agent.forgetting_rows import NODES
from emv_ros.biography.mentions import Names, telling
from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.choosing import OBJECTS, SAYING
from emv_ros.memory.going import Going
from emv_ros.memory.said_words import Saying, folded, texts_in, words_in
from emv_ros.records import ID_LETTERS

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
        self._joined: list[str] = []
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
        self._take_out_names(session)
        session.flush()
        if session.get_bind().dialect.name == 'sqlite':
            asked = text('SELECT rowid FROM document_text WHERE document_text MATCH :word LIMIT 1')
            self.words = {word for word in self.words if session.execute(
                asked, {'word': f'"{word}"'}).first() is None}
        else:
            row = schema.DocumentRow
            for said in session.scalars(select(row.text).execution_options(yield_per=500)):
                self.words -= words_in(said)
        self._joined = [word for word in self.words if _UNSPACED.search(word)]

    def _take_out_names(self, session: Session) -> None:
        names: set[str] = set()
        for column in (schema.SceneObjectRow.name, schema.EntityRow.name,
                       schema.SkillEventRow.skill, schema.UtteranceRow.speaker):
            for name in session.scalars(select(column).distinct()):
                names |= words_in(name)
        self.words -= names

    def told_in(self, value: Any) -> bool:
        """Whether a stored value has a word that is gone, of a script without spaces anywhere."""
        if not self.words.isdisjoint(words_in(value)):
            return True
        return bool(self._joined) and any(word in text for text in map(folded, texts_in(value))
                                          for word in self._joined)


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
