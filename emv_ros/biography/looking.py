"""A vision model looks at one observation after the other: pictures, words, reply, row.

Its calls are within a budget, and logged by the client that makes them, as 'description'. A
picture that cannot be read is passed over and counted. Which observations it looks at, and what
it is asked, is not decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import logging
import threading
from typing import Any, Protocol

from sqlalchemy import select
from sqlalchemy.orm import Session

from emv_ros.biography.description import (
    MAX_WORDS,
    PROMPT_VERSION,
    REPLY_TOKENS,
    SCHEMA,
    SURE,
    Description,
    Subject,
    ask,
    ask_again,
    is_name,
    parse,
)
from emv_ros.biography.picturing import Pictured, pictures_of
from emv_ros.biography.rule_words import Told
from emv_ros.biography.surroundings import tell_all
from emv_ros.errors import ModelCanceledError, ModelError, ModelReplyError, ModelTimeoutError
from emv_ros.memory import schema
from emv_ros.memory.adding import renew_documents
from emv_ros.memory.clearing import times_forgotten
from emv_ros.memory.documents import words_of_name
from emv_ros.memory.names import stem
from emv_ros.memory.store import MemoryStore
from emv_ros.reply_like import ReplyLike
from emv_ros.settings import Settings
from emv_ros.timeline import SECOND_NS

log = logging.getLogger(__name__)

# So many calls in a row without an answer in time, and the model is left alone.
MOST_SLOW = 3
LATER_WARMTH = 0.6


class Vision(Protocol):
    """The vision model as descriptions need it; `emv_ros.agent.models` has one."""

    def why_unavailable(self, purpose: str = 'description') -> str:
        """Return why the model cannot be asked, or ''."""

    def name(self, purpose: str) -> str:
        """Return the name that its descriptions bear."""

    def complete(self, messages: list[dict[str, Any]], *, purpose: str, max_tokens: int,
                 schema: dict[str, Any] | None = None, cancel: threading.Event | None = None,
                 images: Sequence[bytes] = (), temperature: float = 0.0) -> ReplyLike:
        """Return the reply; raises ModelError. The images (JPEG, PNG) go with the last message."""


class Looker:
    """One run's use of the vision model."""

    def __init__(self, store: MemoryStore, settings: Settings, vision: Vision,
                 cancel: threading.Event | None, before_call: Callable[[], None]) -> None:
        self.calls = self.damaged = self.prompt_tokens = self.completion_tokens = 0
        self.cost = 0.0
        self.stopped = ''
        self.name = vision.name('description') or 'vision model'
        self._store = store
        self._settings = settings
        self._vision = vision
        self._cancel = cancel
        self._before_call = before_call
        self._slow = 0

    @property
    def ready(self) -> bool:
        """Whether the model may be asked now."""
        return (not self.stopped and self.calls < self._settings.biography.description_calls
                and not (self._cancel is not None and self._cancel.is_set()))

    def describe(self, ref_id: int) -> str:
        """Describe one observation: 'described', 'refused', or 'not asked'."""
        with self._store.reading() as session:
            row = session.get(schema.ObservationRow, ref_id)
            if row is None or row.made_by != 'rule':
                return 'not asked'  # forgotten, or told by somebody else meanwhile
            forgotten = times_forgotten(session)
            told = tell_all(session, [row])[0]
            words = self._words(session, row)
            pictured = pictures_of(self._store, session, row)
            name, is_person = str(row.attributes.get('detected') or row.name), row.is_person
        self.damaged += pictured.damaged
        subject = Subject(name, is_person, told.line, [(item.speaker, item.text) for item in words],
                          pictured.crops, pictured.frames)
        made, was_asked = (None, True) if not pictured.data else self._ask(subject, pictured)
        if made is None and not was_asked:
            return 'not asked'
        last_ns = max((item.stamp_ns for item in words), default=0)
        self._keep(ref_id, made, told, last_ns, forgotten)
        return 'refused' if made is None else 'described'

    def _ask(self, subject: Subject, pictured: Pictured) -> tuple[Description | None, bool]:
        """Return a description, or None, and whether the model had all its tries."""
        messages = begun = ask(subject)
        warmth, last = 0.0, ''
        for attempt in range(1, self._settings.tree.attempts + 1):
            if not self.ready:
                return None, False
            text = self._call(messages, pictured.data, warmth)
            if text is None:
                return None, False
            made, errors = parse(text, subject)
            if made is not None:
                return made, True
            log.debug('try %d of a description was refused: %d errors', attempt, len(errors))
            warmth, last = (LATER_WARMTH if text == last else 0.0), text
            messages = ask_again(begun, text, errors)
        return None, True

    def _call(self, messages: list[dict[str, Any]], images: Sequence[bytes],
              warmth: float) -> str | None:
        """Return the words of a reply; '' where they were none, None where nothing was replied."""
        self._before_call()
        self.calls += 1
        try:
            reply = self._vision.complete(
                messages, purpose='description', max_tokens=REPLY_TOKENS, schema=SCHEMA,
                cancel=self._cancel, images=images, temperature=warmth)
        except ModelReplyError as error:
            self._spend(error)
            return ''
        except ModelTimeoutError as error:
            self._slow += 1
            if self._slow >= MOST_SLOW:
                self.stopped = f'the model was too slow {MOST_SLOW} times in a row: {error}'
            return None
        except ModelCanceledError:
            return None
        except ModelError as error:
            self.stopped = str(error)
            log.warning('no descriptions by a model for now: %s', error)
            return None
        self._slow = 0
        self._spend(reply)
        return reply.text

    def _spend(self, reply: ReplyLike | ModelReplyError) -> None:
        self.prompt_tokens += reply.prompt_tokens
        self.completion_tokens += reply.completion_tokens
        self.cost += float(getattr(reply, 'cost', 0.0))

    def _words(self, session: Session, row: schema.ObservationRow) -> list[schema.UtteranceRow]:
        """Return what others said around an observation, the nearest to it, in order of time."""
        words = schema.UtteranceRow
        middle_ns = (row.stamp_ns + row.end_ns) // 2
        around_ns = round(self._settings.biography.description_words_s * SECOND_NS)
        found = session.scalars(select(words).where(
            words.robot_id == row.robot_id, words.is_own.is_(False),
            words.stamp_ns >= row.stamp_ns - around_ns, words.stamp_ns < row.end_ns + around_ns))
        nearest = sorted(found, key=lambda item: abs(item.stamp_ns - middle_ns))[:MAX_WORDS]
        return sorted(nearest, key=lambda item: (item.stamp_ns, item.id))

    def _keep(self, ref_id: int, made: Description | None, told: Told, last_ns: int,
              forgotten: int) -> None:
        with self._store.writing() as session:
            row = session.get(schema.ObservationRow, ref_id)
            # What was forgotten meanwhile may stand in it: then it is asked for again.
            if row is None or row.made_by != 'rule' or times_forgotten(session) != forgotten:
                return
            row.model, row.prompt_version = self.name, PROMPT_VERSION
            if made is None:
                return
            _describe(row, made, told)
            if last_ns >= row.end_ns:
                row.extra = row.extra | {'told_ns': last_ns}
            row.pending = True
            session.flush()
            renew_documents(session, 'observation', [row])


def _describe(row: schema.ObservationRow, made: Description, told: Told) -> None:
    """Write a description into a row; what it does not tell stays as the rule has it."""
    attributes = dict(row.attributes)
    if _is_renamed(row, made):
        attributes['detected'] = row.extra.get('called', {}).get('was', row.name)
        attributes.pop('named_by', None)
        row.extra = {name: value for name, value in row.extra.items() if name != 'called'}
        row.name = made.name
    elif made.name.lower() != row.name.lower() and not made.is_person:
        attributes['described'] = made.name
    row.is_person = made.is_person
    if made.appearance:
        attributes['clothing' if made.is_person else 'appearance'] = made.appearance
    row.attributes = attributes
    row.event = '; '.join(part for part in (made.event or made.action or told.event, told.doing)
                          if part)
    row.text = made.summary or row.text
    row.location = made.location or row.location
    extra = {name: value for name, value in row.extra.items() if name != 'told_by'}
    row.extra = extra | {'evidence': made.evidence, 'description_confidence': made.confidence}
    row.made_by = 'model'


def _is_renamed(row: schema.ObservationRow, made: Description) -> bool:
    """Whether the detector's name gives way, by which like things are found under one name.

    It does to the name of a person, and to a sure description of something else.
    """
    if made.is_person:
        return not row.is_person or is_name(made.name)
    return row.is_person or (made.confidence >= SURE and not _is_same(row.name, made.name))


def _is_same(detected: str, described: str) -> bool:
    """Whether a description calls a thing as the detector does, in other words or more of them."""
    first, second = ({stem(word) for word in words_of_name(name).split()}
                     for name in (detected, described))
    return bool(first & second)
