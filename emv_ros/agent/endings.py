"""How a question ends without an answer of the model's that passes, and what answers rest on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import time, timedelta, tzinfo
import re

from emv_ros.agent.answers import Answer, EvidenceItem, QueryStatus
from emv_ros.agent.asked import (
    asks_whether_done,
    asks_whether_not_done,
    described_things,
    missing_things,
    target_in,
    things_in,
)
from emv_ros.agent.asked_times import MARGIN_NS, asked_times, evidence_window, leading_out
from emv_ros.agent.checks import MAX_EVIDENCE, Grounds, things_recorded
from emv_ros.agent.console.library import Library
from emv_ros.agent.console.meant import Rows, done_within, words_around
from emv_ros.agent.console.rows import local
from emv_ros.agent.prompt import listed
from emv_ros.agent.recorded import RecordedWords
from emv_ros.agent.retrieved import in_words, without_echo
from emv_ros.errors import EmvError
from emv_ros.memory import queries
from emv_ros.memory.activities import activities
from emv_ros.memory.queries import Page, Window
from emv_ros.records import SkillEvent
from emv_ros.retrieval.search import Hit, Searcher
from emv_ros.timeline import MINUTE_NS, SECOND_NS, Interval, days_between, local_date, to_datetime

# A hit this near to the question speaks against "not recorded"; below, it is about something else.
NEAR = 0.55
BEST = 5
PRINTED = "print(*rows, sep='\\n')"
# Of more rows than MOST the first and the last.
PRINTED_ENDS = "print(f'{len(rows)} rows:', *rows[:3], '…', *rows[-3:], sep='\\n')"
MOST = 8
# What came just before and after the only row.
BESIDE = "\nprint('just before:', *before(rows[0]))\nprint('just after:', *after(rows[0]))"
_BESIDE = re.compile(r'\b(?:before|after|next|follow\w*|preced\w*)\b', re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endings:
    """What memory says to a question besides the model.

    `facts` is what the prompt told of it; `has_exact`: the console finds all that fits.
    """

    question: str
    facts: str
    library: Library
    searcher: Searcher
    window: Window
    words: RecordedWords
    has_exact: bool = True

    @property
    def told(self) -> str:
        """What the prompt tells before the question: facts of the memory, and the choices."""
        return f'{self.facts}\n{listed(self.library.choices)}'.strip()

    def absent(self, reason: str) -> Answer:
        """Say that nothing is recorded; asked whether it was done, that is a no within memory.

        Asked whether it is true that it was not done, it is a yes.

        Of a day on which nothing at all is recorded, memory knows no no.
        """
        days = self._covered_days()
        if not asks_whether_done(self.question) or not days or (
                self.library.exact.described(self.question)):
            return Answer(status=QueryStatus.NOT_RECORDED, message=reason)
        dates = sorted({str(local_date(item.start_ns, self.library.zone)) for item in days})
        covered = ', '.join(dates) if len(dates) <= 3 else f'{dates[0]} to {dates[-1]}'
        return Answer(
            status=QueryStatus.ANSWERED, message=reason, evidence=days[-MAX_EVIDENCE:],
            answer=f'{"Yes" if asks_whether_not_done(self.question) else "No"}, nothing about '
                   f'that is recorded on the days that memory covers ({covered}).')

    def _covered_days(self) -> tuple[EvidenceItem, ...]:
        """Return the days with records; of a question that names times, those of them.

        Those before or after a time are not those of it.
        """
        days, zone = self.library.tree.covered_days(), self.library.zone
        times = asked_times(self.question, self.library.clock)
        if not times:
            return days
        kept: dict[str, EvidenceItem] = {}
        for span, way in ((item.span, leading_out(self.question, item)) for item in times):
            if span is None:
                continue
            asked = set() if way else set(days_between(span, zone))
            kept |= {item.id: item for item in days if (
                item.start_ns < span.start_ns if way == 'before' else
                item.end_ns > span.end_ns if way == 'after' else
                item.start_ns < span.end_ns if way else
                asked.intersection(days_between(Interval(item.start_ns, item.end_ns), zone)))}
        return tuple(item for item in days if item.id in kept)

    def best(self, status: QueryStatus, why: str) -> Answer:
        """Return what resembles the question most, under a status that says how it came to it."""
        text, evidence = in_words(self.library.store, self.hits(BEST), self.window,
                                  self.library.zone)
        return Answer(status=status, answer=text, message=why, evidence=evidence,
                      choice=self._nearest_choice())

    def _nearest_choice(self) -> int | None:
        """Return the choice that what resembles the question bears out, if it does one."""
        if not self.library.choices:
            return None
        try:
            rows = self.library.search(self.question, None, None, None, BEST)
            picked = self.library.choosing.pick(rows, None, False)
        except EmvError:  # none fits, or several alike
            return None
        return self.library.choices.index(picked)

    def hits(self, count: int, asked: Interval | None = None) -> list[Hit]:
        """Return what resembles the question, in a time if one is given."""
        window = self.window if asked is None else self.library.windows.within(
            asked.start_ns, asked.end_ns)
        found = self.searcher.search(self.question, window, k=count + 3).hits
        return without_echo(found, self.question)[:count]

    def is_near(self) -> bool:
        """Whether something resembles the question so much that it may well tell the answer."""
        return _is_near(self.hits(3))

    def is_unheard_of(self) -> bool:
        """Whether the searches found nothing, and memory holds no word of what is asked."""
        things = things_in(self.question)
        return (self.library.lookups > 0 and not self.library.shown.found and bool(things)
                and not any(self.words(thing) for thing in things) and not self.is_near())

    def doubts(self) -> str:
        """Return a command whose rows speak against "not recorded", as they may tell it; or ''."""
        if self.has_exact:
            for thing in described_things(self.question):
                if self.library.exact.described(thing):
                    return f'rows = seen({thing!r})[-{BEST}:]\n{PRINTED}'
        asked = self._asked()
        if asked and not things_in(self.question):
            return self.look() if self._were_tasks(self._looked_at() or asked) else ''
        hits = self.hits(BEST, asked)
        if hits and (_is_near(hits)
                     or things_recorded(self.question, self._words_then(asked))):
            return self.look()
        # It may have another name, but what is wanted of it must be recorded at all.
        target, _ = target_in(self.question)
        return self._exact_look(self._when()) if self.has_exact and not (
            target and not self.words(target)) else ''

    def _were_tasks(self, asked: Interval) -> bool:
        """Whether anything was done in a time, of which it is said that nothing was."""
        window = self.library.windows.within(asked.start_ns, asked.end_ns)
        return self.has_exact and bool(
            activities(self.library.store, window)
            or queries.annotations(self.library.store, window, kind='goal', page=Page(limit=1)))

    def look(self) -> str:
        """Return a command that looks in the stead of a model which did not.

        That is for the tasks of the time that is asked about, which the things that are asked
        about mean where there are any; then for words that hold all these; then a search.
        """
        when = self._when()
        return (self._exact_look(when) if self.has_exact else '') or (
            f'rows = search({_arguments(self.question, when=when)}, k={BEST})')

    def _when(self) -> str:
        """Return the time of a look as when= takes it, '' for all time."""
        asked = self._looked_at()
        return _words_of(asked, self.library.zone) if asked else ''

    def _looked_at(self) -> Interval | None:
        """Return the time of a look: whole days as named, of a moment also a little beside it."""
        named, asked = self.library.windows.asked, self._asked()
        if named and asked is None and self._moment():
            return Interval(named.start_ns - MARGIN_NS, named.end_ns + MARGIN_NS)
        is_as_named = named and (asked is None or _is_of_days(named, self.library.zone))
        return named if is_as_named else asked

    def _moment(self) -> str:
        """Return the time that is asked about where it is a moment, no stretch; else ''."""
        named = self.library.windows.asked
        if named is None or named.end_ns - named.start_ns > MINUTE_NS:
            return ''
        return f'{local(named.start_ns, self.library.zone):%Y-%m-%d %H:%M:%S}'

    def _exact_look(self, when: str) -> str:
        """Return a command for all that fits, '' where nothing does."""
        things = ' '.join(things_in(self.question))
        if not things:
            moment = self._moment()
            look = f'around({moment!r})' if moment else f'goals({_arguments(when=when)})'
            return f'rows = {look}\n{PRINTED}' if when else ''
        exact, tasks, at = self.library.exact, self.library.tasks, when or None
        looks: dict[str, Callable[[], Rows]] = {
            'goals': lambda: tasks.goals(things, None, None, None, at, None),
            'goals_with': lambda: self._holding(tasks.goals_with(things, None, at)),
            'speech': lambda: exact.speech(things, None, None, None, at, None)}
        for name, found in looks.items():
            with suppress(EmvError):
                if rows := found():
                    beside = BESIDE if len(rows) == 1 and _BESIDE.search(self.question) else ''
                    return (f'rows = {name}({_arguments(text=things, when=when)})\n'
                            f'{PRINTED if len(rows) <= MOST else PRINTED_ENDS}{beside}')
        return ''

    def _holding(self, rows: Rows) -> Rows:
        """Return rows if each holds all that is asked about, not only something like it.

        That they were looked for with these words does not stand for them here.
        """
        shown = self.library.shown
        for row in rows:
            shown.explained.pop(row['id'], None)
        held = (self._text_of(shown.items[row['id']]) for row in rows[:MAX_EVIDENCE])
        return [] if any(missing_things(self.question, text) for text in held) else rows

    def grounds(self, outputs: str) -> Grounds:
        """Return what an answer is checked against; `outputs` are those of this run."""
        shown = self.library.shown
        lines = '\n'.join(item.text for item in shown.items.values())
        statuses = {key: str(record.status) for key, record in shown.records.items()
                    if isinstance(record, SkillEvent)}
        parts = frozenset(key for key in statuses if shown.records[key].goal_stack)
        asked = self._asked()
        return Grounds(
            self.question, shown.items, f'{self.facts}\n{outputs}\n{lines}', self._text_of,
            self.words, statuses, parts, self.words.is_own, self.words.is_echo,
            self.library.choices, asked, self._words_then(asked))

    def _words_then(self, asked: Interval | None) -> RecordedWords:
        """Return what tells whether a word was recorded in the time that is asked about."""
        return self.words if asked is None else RecordedWords(
            self.library.store, self.library.windows.within(asked.start_ns, asked.end_ns),
            has_nodes=False)

    def _asked(self) -> Interval | None:
        """Return the time that evidence must lie in; a session that is named is all of it."""
        times = [replace(item, span=self.library.session(item.span.start_ns))
                 if item.is_session and item.span is not None else item
                 for item in asked_times(self.question, self.library.clock)]
        return evidence_window(self.question, times)

    def _text_of(self, item: EvidenceItem) -> str:
        """Return the words behind a piece of evidence: of a run also those of the task around it.

        A task was asked for with words, and holds what was done for it; a part of it need not
        name again whom it is for.
        """
        shown = self.library.shown
        record = shown.records.get(item.id)
        texts = [self.words.text_of(item), shown.explained.get(item.id, '')]
        if isinstance(record, SkillEvent):
            window = self.library.windows.within(item.start_ns, item.end_ns)
            if item.robot:
                window = replace(window, robots=(item.robot,))
            texts += [record.trigger, *(
                words_around(self.library.store, window, record.goal_stack[0])
                if record.goal_stack else
                done_within(self.library.store, window, record.skill))]
        return ' '.join(texts)


def _arguments(*given: str, **named: str) -> str:
    """Return arguments as a command writes them; those that are '' are left out."""
    return ', '.join((*map(repr, given),
                      *(f'{name}={value!r}' for name, value in named.items() if value)))


def _words_of(span: Interval, zone: tzinfo) -> str:
    """Return a span as when= takes it; where it is of whole days, by their dates."""
    start, end = local(span.start_ns, zone), local(span.end_ns + SECOND_NS - 1, zone)
    if _is_of_days(span, zone):
        return f'{start:%Y-%m-%d} to {end - timedelta(days=1):%Y-%m-%d}'
    return f'{start:%Y-%m-%d %H:%M:%S} to {end:%Y-%m-%d %H:%M:%S}'


def _is_of_days(span: Interval, zone: tzinfo) -> bool:
    start, end = to_datetime(span.start_ns, zone), to_datetime(span.end_ns, zone)
    return start.date() < end.date() and start.time() == end.time() == time.min


def _is_near(hits: Sequence[Hit]) -> bool:
    return any((hit.similarity or 0) >= NEAR for hit in hits)
