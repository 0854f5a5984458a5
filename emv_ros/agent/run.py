"""One question from beginning to end: rounds of command and output until an answer passes.

The limits (rounds, tokens, repeated commands, replies without code) end in one forced answer; where
that fails too, as where the time is over or the model fails, in the best evidence that search has,
under a status that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import threading
import time
from typing import Any, Protocol

from emv_ros.agent.answers import Answer, EvidenceItem, Progress, QueryStatus
from emv_ros.agent.asked import asks_whether_done, things_in
from emv_ros.agent.checks import Grounds, Verdict, check_answer, things_recorded
from emv_ros.agent.console.library import Library
from emv_ros.agent.console.rewrite import has_statements
from emv_ros.agent.console.sandbox import Output, Sandbox
from emv_ros.agent.examples import Example
from emv_ros.agent.hints import hint_for
from emv_ros.agent.models.replies import code_of
from emv_ros.agent.prompt import VERSION, Turn, build_within
from emv_ros.agent.recorded import RecordedWords
from emv_ros.agent.retrieved import in_words
from emv_ros.errors import ModelCanceledError, ModelError, ModelReplyError, ModelTimeoutError
from emv_ros.memory.queries import Window
from emv_ros.records import SkillEvent
from emv_ros.retrieval.search import Hit, Searcher
from emv_ros.settings import AgentSettings
from emv_ros.timeline import local_date

# After a repeated or empty command the same prompt would only give the same reply.
VARIED = 0.7
STOP = ('\n```',)
# A hit this near to the question speaks against "not recorded"; below, it is about something else.
NEAR = 0.55
MAX_REPEATS = 3
MAX_REFUSALS = 3
# Of the prompt's budget, at most one part in so many is for the tree.
STATE_PART = 3
FORCED = ('No more rounds. Write one last command: answer(text, evidence=rows) with what was '
          'shown, or not_recorded(reason).')


class LimitReached(Exception):  # noqa: N818 - no error of anything
    """A guard of the loop; the message says which."""


class Model(Protocol):
    """The part of the model client that a question needs."""

    def complete(self, messages: list[dict[str, Any]], *, purpose: str, max_tokens: int,
                 stop: tuple[str, ...] = (), deadline_s: float | None = None,
                 cancel: threading.Event | None = None, temperature: float = 0.0,
                 fixed_messages: int = 0) -> Any:
        """Return the model's reply."""
        ...

    def count_tokens(self, text: str) -> int:
        """Return the tokens of a text."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one question may use. `prompt_tokens` bounds each prompt; `time_left_s` counts down."""

    rounds: int
    tokens: int
    prompt_tokens: int
    time_left_s: Callable[[], float]
    cancel: threading.Event | None = None

    @property
    def is_canceled(self) -> bool:
        """Whether the caller gave up."""
        return self.cancel is not None and self.cancel.is_set()

    def why_stopped(self) -> str:
        """Return why nothing more may be done, or ''."""
        if self.is_canceled:
            return 'the question was canceled'
        return 'the time for the question is over' if self.time_left_s() <= 0 else ''


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The question and all that is at hand for it."""

    question: str
    facts: str
    examples: Sequence[Example]
    library: Library
    sandbox: Sandbox
    searcher: Searcher
    window: Window
    words: RecordedWords


class QuestionRun:
    """The state of one question. `trace` keeps each round as a step that JSON can hold."""

    def __init__(self, asked: Asked, model: Model, settings: AgentSettings, limits: Limits,
                 on_progress: Callable[[Progress], None], trace: list[dict[str, Any]]) -> None:
        self.turns: list[Turn] = []
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.rounds = 0
        self._asked = asked
        self._question = asked.question
        self._library = asked.library
        self._words = asked.words
        self._model = model
        self._settings = settings
        self._limits = limits
        self._on_progress = on_progress
        self._trace = trace
        self._refusals = 0
        self._repeats = 0
        self._is_doubted = False

    def answer(self) -> Answer:
        """Run rounds until there is an answer; what the model does wrong shows in its status."""
        try:
            try:
                while True:
                    if done := self._round(is_last=False):
                        return done
            except LimitReached as limit:
                return self._forced(str(limit))
        except ModelCanceledError as error:
            return self._done(QueryStatus.CANCELED, message=str(error))
        except ModelTimeoutError as error:
            return self._best(QueryStatus.TIMEOUT, str(error))
        except ModelError as error:
            return self._best(QueryStatus.RETRIEVED_ONLY, str(error))

    def _round(self, is_last: bool, told: str = '') -> Answer | None:
        if not is_last:
            self._check_limits()
        self.rounds += 1
        code = self._ask(told)
        if not code or not has_statements(code):
            self._after_nothing(code)
            return None
        # That nothing is recorded may be said again: the first time it was doubted.
        if (not is_last and 'not_recorded(' not in code
                and any(turn.code == code for turn in self.turns)):
            self._after_repeat(code)
            return None
        return self._execute(code)

    def _check_limits(self) -> None:
        if self.rounds >= self._limits.rounds:
            raise LimitReached(f'{self.rounds} rounds gave no answer')
        if self.prompt_tokens + self.completion_tokens >= self._limits.tokens:
            raise LimitReached(f'{self._limits.tokens} tokens gave no answer')
        if self._repeats >= MAX_REPEATS:
            raise LimitReached('the model repeats itself or writes no commands')
        if self._refusals >= MAX_REFUSALS:
            raise LimitReached('the model gives no answer that its evidence bears out')

    def _ask(self, told: str) -> str:
        """Ask the model for a command; '' where its reply holds none."""
        self._report('thinking')
        messages, state = self._prompt(told)
        step: dict[str, Any] = {'round': self.rounds, 'prompt': VERSION, 'state': state,
                                'reply': '', 'code': ''}
        self._trace.append(step)
        try:
            reply = self._model.complete(
                messages, purpose='agent', max_tokens=self._settings.reply_tokens, stop=STOP,
                deadline_s=max(0.1, self._limits.time_left_s()), cancel=self._limits.cancel,
                fixed_messages=1, temperature=VARIED if self._repeats else 0.0)
        except ModelReplyError as error:
            step['output'] = str(error)
            return ''
        except ModelError as error:
            step['output'] = str(error)
            raise
        self.prompt_tokens += reply.prompt_tokens
        self.completion_tokens += reply.completion_tokens
        step |= {'reply': reply.text, 'code': code_of(reply.text),
                 'prompt_tokens': reply.prompt_tokens,
                 'completion_tokens': reply.completion_tokens,
                 'seconds': round(reply.duration_s, 3)}
        return str(step['code'])

    def _prompt(self, told: str) -> tuple[list[dict[str, str]], str]:
        """Return the messages of a round within their budget, and the state of the tree in them."""
        budget, count = self._limits.prompt_tokens, self._model.count_tokens
        state = self._library.state.render(
            count, min(self._settings.state_tokens, budget // STATE_PART))
        turns = list(self.turns)
        if told and turns:
            turns[-1] = Turn(turns[-1].code, f'{turns[-1].output}\n{told}'.strip())
        return build_within(budget, count, self._asked.examples, self._question,
                            self._asked.facts, turns, state), state

    def _after_nothing(self, code: str) -> None:
        self._repeats += 1
        self._tell(code or '# no code', 'There was no command. Reply with Python code only.')

    def _after_repeat(self, code: str) -> None:
        self._repeats += 1
        if self._library.lookups and not self._library.shown.found:
            raise LimitReached('the searches found nothing')
        self._tell(code, 'This command was run before, with the output above. '
                         'Use another function, or answer.')

    def _execute(self, code: str) -> Answer | None:
        self._report('running', code)
        self._library.ending = None
        self._library.shown.notes.clear()
        output = self._asked.sandbox.run(code)
        self._check_stop()
        text = self._text(output)
        ending = self._library.ending
        if ending is None or output.error:
            self._tell(code, text or '(nothing was printed)')
            return None if output.error else self._nothing_at_all()
        self._report('answering', code)
        if not ending.is_answer:
            return self._not_recorded(code, text, ending.text)
        verdict = check_answer(ending.text, ending.ids, self._grounds(),
                               insists=self._refusals > 0)
        if verdict.refused:
            return self._refused(code, text, verdict)
        self._tell(code, text)
        cut = len(verdict.evidence) < verdict.count
        return self._done(
            QueryStatus.ANSWERED, verdict.text, evidence=verdict.evidence,
            message=f'of {verdict.count} pieces of evidence the first {len(verdict.evidence)} are '
                    'given' if cut else '')

    def _text(self, output: Output) -> str:
        parts = [output.text.rstrip()]
        if output.error:
            parts.append(f'{output.error}{hint_for(output.error)}')
        parts += [f'note: {note}' for note in self._library.shown.notes]
        return '\n'.join(part for part in parts if part)

    def _nothing_at_all(self) -> Answer | None:
        """End early where nothing was found and memory holds no word of what is asked."""
        things = things_in(self._question)
        if (not self._library.lookups or self._library.shown.found or not things
                or any(self._words(thing) for thing in things) or self._is_near()):
            return None
        return self._absent(f'nothing recorded mentions {", ".join(things)}')

    def _not_recorded(self, code: str, text: str, reason: str) -> Answer | None:
        """Accept that nothing is recorded; where memory holds the very thing, doubt it once."""
        hits = self._hits(5)
        is_told = _is_near(hits) or things_recorded(self._question, self._words)
        if hits and is_told and not self._is_doubted:
            self._is_doubted = True
            rows = self._library.search(self._question, None, None, None, 5)
            lines = '\n'.join(row['line'] for row in rows)
            self._tell(code, f'{text}\nBut these records may tell it:\n{lines}\n'
                             'answer(text, evidence=[ids]) from them, or call not_recorded '
                             'again.'.strip())
            return None
        self._tell(code, text)
        return self._absent(reason or 'nothing recorded tells it')

    def _absent(self, reason: str) -> Answer:
        """Say that nothing is recorded; asked whether it was done, that is a no within memory."""
        days = self._library.tree.covered_days()
        if not asks_whether_done(self._question) or not days:
            return self._done(QueryStatus.NOT_RECORDED, message=reason)
        dates = sorted({str(local_date(item.start_ns, self._library.zone)) for item in days})
        covered = ', '.join(dates) if len(dates) <= 3 else f'{dates[0]} to {dates[-1]}'
        return self._done(
            QueryStatus.ANSWERED, 'No, nothing about that is recorded on the days that memory '
            f'covers ({covered}).', message=reason, evidence=days)

    def _refused(self, code: str, text: str, verdict: Verdict) -> Answer | None:
        self._refusals += 1
        if verdict.is_hearsay and self._refusals >= 2:
            self._tell(code, text)
            return self._done(QueryStatus.NOT_RECORDED,
                              message="only the robot's own words tell of it")
        if verdict.absent and (self._refusals >= 2 or not self._is_near()):
            self._tell(code, text)
            return self._absent(f'nothing recorded mentions {", ".join(verdict.absent)}')
        self._tell(code, f'{text}\nrefused: {verdict.refused}'.strip())
        return None

    def _forced(self, why: str) -> Answer:
        """Ask one last time; else give the best evidence under the status LIMIT."""
        if self._library.shown.found:
            try:
                if done := self._round(is_last=True, told=FORCED):
                    return done
            except ModelTimeoutError as error:
                why = f'{why}; {error}'
        elif self._library.lookups:
            return self._absent(why)
        return self._best(QueryStatus.LIMIT, why)

    def _best(self, status: QueryStatus, why: str) -> Answer:
        """Return what resembles the question most, under a status that says how it came to it."""
        text, evidence = in_words(self._library.store, self._hits(5), self._asked.window,
                                  self._library.zone)
        return self._done(status, text, message=why, evidence=evidence)

    def _hits(self, count: int) -> list[Hit]:
        return self._asked.searcher.search(self._question, self._asked.window, k=count).hits

    def _is_near(self) -> bool:
        return _is_near(self._hits(3))

    def _grounds(self) -> Grounds:
        shown, words = self._library.shown, self._words
        outputs = '\n'.join(turn.output for turn in self.turns)
        lines = '\n'.join(item.text for item in shown.items.values())
        statuses = {key: str(record.status) for key, record in shown.records.items()
                    if isinstance(record, SkillEvent)}
        return Grounds(self._question, shown.items, f'{self._asked.facts}\n{outputs}\n{lines}',
                       words.text_of, words, statuses, words.is_own, words.is_echo)

    def _tell(self, code: str, output: str) -> None:
        self.turns.append(Turn(code, output))
        if self._trace:
            self._trace[-1]['output'] = output

    def _done(self, status: QueryStatus, text: str = '', *, message: str = '',
              evidence: tuple[EvidenceItem, ...] = ()) -> Answer:
        return Answer(status=status, answer=text, message=message, evidence=evidence,
                      rounds=self.rounds, prompt_tokens=self.prompt_tokens,
                      completion_tokens=self.completion_tokens)

    def _check_stop(self) -> None:
        if why := self._limits.why_stopped():
            raise (ModelCanceledError if self._limits.is_canceled else ModelTimeoutError)(why)

    def _report(self, phase: str, command: str = '') -> None:
        self._check_stop()
        self._on_progress(Progress(
            phase=phase, round=self.rounds, command=command, prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens))


def _is_near(hits: Sequence[Hit]) -> bool:
    return any((hit.similarity or 0) >= NEAR for hit in hits)


def started(time_limit_s: float) -> Callable[[], float]:
    """Return a function that gives the seconds left of a limit that starts now."""
    ends = time.monotonic() + time_limit_s
    return lambda: ends - time.monotonic()
