"""One question from beginning to end: rounds of command and output until an answer passes the checks.

The limits (rounds, tokens, wall time, repeated commands, replies without code) end in one forced answer; where that
fails too, in the best evidence that search has, under a status that says so.
"""

from __future__ import annotations

from collections.abc import Callable
import threading
import time
from typing import Any

from emv_ros.agent.answers import Answer, EvidenceItem, Progress, QueryStatus
from emv_ros.agent.asked import is_yes_no, things_in
from emv_ros.agent.checks import Grounds, Verdict, check_answer, things_recorded
from emv_ros.agent.console.library import Library
from emv_ros.agent.console.rewrite import has_statements
from emv_ros.agent.console.sandbox import Output, Sandbox
from emv_ros.agent.hints import hint_for
from emv_ros.agent.models.replies import code_of
from emv_ros.agent.prompt import VERSION, Turn, build
from emv_ros.agent.recorded import RecordedWords
from emv_ros.agent.retrieved import in_words
from emv_ros.errors import ModelCanceledError, ModelTimeoutError
from emv_ros.memory.queries import Window
from emv_ros.retrieval.search import Searcher
from emv_ros.settings import AgentSettings

# After a repeated or empty command the same prompt would only give the same reply.
VARIED = 0.7
STOP = ('\n```',)
# A hit this near to the question speaks against "not recorded"; below, it is about something else.
NEAR = 0.55
FORCED = ("No more rounds. Write one last command: answer(text, evidence=rows) with what was shown, or "
          'not_recorded(reason).')


class LimitReached(Exception):
    """A guard of the loop; the message says which."""


class QuestionRun:
    """The state of one question. `model` is a ModelClient; `time_left_s` counts down its wall time."""

    def __init__(self, question: str, library: Library, sandbox: Sandbox, model: Any,
                 searcher: Searcher, window: Window, words: RecordedWords,
                 settings: AgentSettings, *, examples: Any, facts: str, max_rounds: int,
                 max_tokens: int, time_left_s: Callable[[], float],
                 cancel: threading.Event | None,
                 on_progress: Callable[[Progress], None]) -> None:
        self.turns: list[Turn] = []
        self.trace: list[dict[str, Any]] = []
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.rounds = 0
        self._question = question
        self._library = library
        self._sandbox = sandbox
        self._model = model
        self._searcher = searcher
        self._window = window
        self._words = words
        self._settings = settings
        self._examples = examples
        self._facts = facts
        self._max_rounds = max_rounds
        self._max_tokens = max_tokens
        self._time_left_s = time_left_s
        self._cancel = cancel
        self._on_progress = on_progress
        self._refusals = 0
        self._repeats = 0
        self._doubted = False
        self._absent: tuple[str, ...] = ()

    def answer(self) -> Answer:
        """Run rounds until there is an answer. Model errors go to the caller."""
        try:
            while True:
                if done := self._round(is_last=False):
                    return done
        except LimitReached as limit:
            return self._forced(str(limit))

    def _round(self, is_last: bool, told: str = '') -> Answer | None:
        if not is_last:
            self._check_limits()
        self.rounds += 1
        code = self._ask(told)
        if not code or not has_statements(code):
            self._after_nothing(code)
            return None
        if not is_last and any(turn.code == code for turn in self.turns):
            self._after_repeat(code)
            return None
        return self._execute(code)

    def _check_limits(self) -> None:
        if self.rounds >= self._max_rounds:
            raise LimitReached(f'{self.rounds} rounds gave no answer')
        if self.prompt_tokens + self.completion_tokens >= self._max_tokens:
            raise LimitReached(f'{self._max_tokens} tokens gave no answer')
        if self._repeats >= 3 or self._refusals >= 3:
            raise LimitReached('the model repeats itself')

    def _ask(self, told: str) -> str:
        self._report('thinking')
        state = self._library.state.render(self._model.count_tokens, self._settings.state_tokens)
        turns = list(self.turns)
        if told:
            last = turns.pop() if turns else Turn('', '')
            turns.append(Turn(last.code, f'{last.output}\n{told}'.strip()))
        messages = build(self._examples, self._question, self._facts, turns, state)
        reply = self._model.complete(
            messages, purpose='agent', max_tokens=self._settings.reply_tokens, stop=STOP,
            deadline_s=max(0.1, self._time_left_s()), cancel=self._cancel,
            fixed_messages=1, temperature=VARIED if self._repeats else 0.0)
        self.prompt_tokens += reply.prompt_tokens
        self.completion_tokens += reply.completion_tokens
        code = code_of(reply.text)
        self.trace.append({
            'round': self.rounds, 'prompt': VERSION, 'reply': reply.text, 'code': code,
            'state': state, 'prompt_tokens': reply.prompt_tokens,
            'completion_tokens': reply.completion_tokens, 'seconds': round(reply.duration_s, 3)})
        return code

    def _after_nothing(self, code: str) -> None:
        self._repeats += 1
        self._tell(code or '# no code', 'There was no command. Reply with Python code only.')

    def _after_repeat(self, code: str) -> None:
        self._repeats += 1
        if not self._library.found:
            raise LimitReached('the searches found nothing')
        self._tell(code, 'This command was run before, with the output above. Use another function, or answer.')

    def _execute(self, code: str) -> Answer | None:
        self._report('running', code)
        self._library.final = None
        self._library.notes.clear()
        output = self._sandbox.run(code)
        text = self._text(output)
        if self._library.final is None or output.error:
            self._tell(code, text or '(nothing was printed)')
            return None if output.error else self._nothing_at_all()
        self._report('answering', code)
        kind, said, ids = self._library.final
        if kind == 'not_recorded':
            return self._not_recorded(code, text, said)
        verdict = check_answer(said, ids, self._grounds(), insists=self._refusals > 0)
        if verdict.refused:
            return self._refused(code, text, verdict)
        self._tell(code, text)
        return self._done(QueryStatus.ANSWERED, verdict.text, evidence=verdict.evidence)

    def _nothing_at_all(self) -> Answer | None:
        """End early where nothing was found and memory holds no word of what is asked."""
        things = things_in(self._question)
        if self._library.found or not things or any(self._words(thing) for thing in things):
            return None
        if self._is_near():
            return None
        return self._absent_answer(f'nothing recorded mentions {", ".join(things)}')

    def _text(self, output: Output) -> str:
        parts = [output.text.rstrip()]
        if output.error:
            parts.append(f'{output.error}{hint_for(output.error)}')
        parts += [f'note: {note}' for note in dict.fromkeys(self._library.notes)]
        return '\n'.join(part for part in parts if part)

    def _not_recorded(self, code: str, text: str, reason: str) -> Answer | None:
        """Accept that nothing is recorded, unless memory holds the very thing: then doubt it once."""
        hits = self._searcher.search(self._question, self._window, k=5).hits
        is_near = any((hit.similarity or 0) >= NEAR for hit in hits)
        if hits and not self._doubted and (is_near or things_recorded(self._question, self._words)):
            self._doubted = True
            rows = self._library.search(self._question, None, None, None, 5)
            lines = '\n'.join(row['line'] for row in rows)
            self._tell(code, f'{text}\nBut these records may tell it:\n{lines}\nanswer(text, evidence=[ids]) '
                             'from them, or call not_recorded again.'.strip())
            return None
        self._tell(code, text)
        return self._absent_answer(reason or 'nothing recorded tells it')

    def _absent_answer(self, reason: str) -> Answer:
        """Say that nothing is recorded; to a yes-or-no question that is a no, within what memory covers."""
        days = self._library.covered_days()
        if not is_yes_no(self._question) or not days:
            return self._done(QueryStatus.NOT_RECORDED, message=reason)
        covered = ', '.join(item.text.split()[1] for item in days)
        return self._done(QueryStatus.ANSWERED, f'No, nothing about that is recorded on the days that '
                          f'memory covers ({covered}).', message=reason, evidence=days)

    def _refused(self, code: str, text: str, verdict: Verdict) -> Answer | None:
        self._refusals += 1
        if verdict.absent and (self._refusals >= 2 or not self._is_near()):
            self._tell(code, text)
            missing = ', '.join(verdict.absent)
            return self._absent_answer(f'nothing recorded mentions {missing}')
        self._tell(code, f'{text}\nrefused: {verdict.refused}'.strip())
        return None

    def _is_near(self) -> bool:
        hits = self._searcher.search(self._question, self._window, k=3).hits
        return any((hit.similarity or 0) >= NEAR for hit in hits)

    def _forced(self, why: str) -> Answer:
        """Ask one last time; else give the best evidence under the status LIMIT."""
        try:
            if self._library.found and (done := self._round(is_last=True, told=FORCED)):
                return done
        except ModelCanceledError:
            raise
        except ModelTimeoutError as error:
            why = str(error)
        if not self._library.found:
            return self._absent_answer(why)
        hits = self._searcher.search(self._question, self._window, k=5).hits
        text, evidence = in_words(self._library.store, hits, self._library.zone)
        return self._done(QueryStatus.LIMIT, text, message=why, evidence=evidence)

    def _grounds(self) -> Grounds:
        outputs = '\n'.join(turn.output for turn in self.turns)
        lines = '\n'.join(item.text for item in self._library.shown.values())
        return Grounds(self._question, self._library.shown, f'{self._facts}\n{outputs}\n{lines}',
                       self._words.text_of, self._words)

    def _tell(self, code: str, output: str) -> None:
        self.turns.append(Turn(code, output))
        if self.trace:
            self.trace[-1]['output'] = output

    def _done(self, status: QueryStatus, text: str = '', *, message: str = '',
              evidence: tuple[EvidenceItem, ...] = ()) -> Answer:
        return Answer(status=status, answer=text, message=message, evidence=evidence,
                      rounds=self.rounds, prompt_tokens=self.prompt_tokens,
                      completion_tokens=self.completion_tokens)

    def _report(self, phase: str, command: str = '') -> None:
        if self._cancel is not None and self._cancel.is_set():
            raise ModelCanceledError('the question was canceled')
        if self._time_left_s() <= 0:
            raise ModelTimeoutError('the time for the question is over')
        self._on_progress(Progress(
            phase=phase, round=self.rounds, command=command, prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens))


def started(time_limit_s: float) -> Callable[[], float]:
    """Return a function that gives the seconds left of a limit that starts now."""
    ends = time.monotonic() + time_limit_s
    return lambda: ends - time.monotonic()
