"""One question from beginning to end: rounds of command and output until an answer passes.

The limits (rounds, tokens, repeated commands, replies without code) end in one forced answer; where
that fails too, as where the time is over or the model fails, in the best evidence that search has,
under a status that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
import re
import threading
from typing import Any, Protocol

from emv_ros.agent.answers import Answer, Progress, QueryStatus
from emv_ros.agent.asked import things_in
from emv_ros.agent.checks import Verdict, check_answer, says_nothing_known
from emv_ros.agent.cited import cited_ids
from emv_ros.agent.console.rewrite import has_statements
from emv_ros.agent.console.sandbox import Output, Sandbox
from emv_ros.agent.dictated import DICTATED, is_dictated
from emv_ros.agent.endings import Endings
from emv_ros.agent.examples import Example, asks_whether
from emv_ros.agent.forms import WHOLE_HISTORY, form_of
from emv_ros.agent.hints import hint_for
from emv_ros.agent.limits import LimitReached, Limits
from emv_ros.agent.models.replies import code_of
from emv_ros.agent.prompt import VERSION, Turn, build_within
from emv_ros.agent.times_told import without_stamps_of
from emv_ros.agent.whole_history import unchecked
from emv_ros.errors import ModelCanceledError, ModelError, ModelReplyError, ModelTimeoutError
from emv_ros.settings import AgentSettings

# After a repeated or empty command the same prompt would only give the same reply.
VARIED = 0.7
PICKED = '\nIf they tell which: answer(pick(rows), evidence=rows)'
LIKE_THE_EXAMPLE = '\nIf they tell it, for example:\n'
MAY_TELL = 'These records may tell it:\n'
_ID_OF_LINE = re.compile(r'^([a-z]\d+) ', re.MULTILINE)
STOP = ('\n```',)
MAX_REPEATS = 3
# Ids of new rows that the trace keeps of one command.
MAX_TRACED = 500
MAX_REFUSALS = 3
# What a look calls at most: rows, and what came before and after.
LOOK_CALLS = 3
# Of the prompt's budget, at most one part in so many is for the tree.
STATE_PART = 3
FORCED = ('No more rounds. Write one last command: answer(text, evidence=rows) with what was '
          'shown, or not_recorded(reason).')


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


class QuestionRun:
    """The state of one question. `trace` keeps each round as a step that JSON can hold."""

    def __init__(self, endings: Endings, examples: Sequence[Example], sandbox: Sandbox,
                 model: Model, settings: AgentSettings, limits: Limits,
                 on_progress: Callable[[Progress], None], trace: list[dict[str, Any]]) -> None:
        self.turns: list[Turn] = []
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.rounds = 0
        self._endings = endings
        self._library = endings.library
        self._question = endings.question
        self._examples = examples
        self._sandbox = sandbox
        self._model = model
        self._settings = settings
        self._limits = limits
        self._on_progress = on_progress
        self._trace = trace
        self._refusals = 0
        self._traced = 0  # rows that the trace knows to be shown
        self._repeats = 0
        self._is_varied = False  # the first command did nothing, and another is asked for
        self._denied = ''  # what answers from a look that "not recorded" denies
        self._fixed = form_of(settings).fixed
        # Of the whole history in one prompt one reply answers, whatever it says.
        self._is_single = settings.way == WHOLE_HISTORY
        self._is_doubted = self._is_single

    def answer(self) -> Answer:
        """Run rounds until there is an answer; what the model does wrong shows in its status."""
        try:
            answer = self._rounds()
        except ModelCanceledError as error:
            answer = Answer(status=QueryStatus.CANCELED, message=str(error))
        except ModelTimeoutError as error:
            answer = self._endings.best(QueryStatus.TIMEOUT, str(error))
        except ModelError as error:
            answer = self._endings.best(QueryStatus.RETRIEVED_ONLY, str(error))
        if self._trace:  # the days that a plain no rests on come after the last command
            self._trace_shown()
        aside = self._library.other_words
        return replace(
            answer, rounds=self.rounds,
            prompt_tokens=self.prompt_tokens + aside.prompt_tokens,
            completion_tokens=self.completion_tokens + aside.completion_tokens)

    def _rounds(self) -> Answer:
        try:
            while True:
                self._check_limits()
                if done := self._round():
                    return done
        except LimitReached as limit:
            return self._forced(str(limit))

    def _forced(self, why: str) -> Answer:
        """Ask one last time; else give the best evidence under the status LIMIT."""
        self._limits.check()
        if not self._library.shown.found and self._library.lookups:
            # Searches for other words found nothing; memory may hold the very thing all the same.
            look = '' if self._is_doubted else self._endings.doubts()
            if not look:
                return self._endings.absent(why)
            self._is_doubted = True
            self._look(look, MAY_TELL)
        if self._library.shown.found and not self._is_single:
            try:
                if done := self._round(told=FORCED):
                    return done
            except ModelTimeoutError as error:
                why = f'{why}; {error}'
        return self._endings.best(QueryStatus.LIMIT, why)

    def _check_limits(self) -> None:
        if self.rounds >= (1 if self._is_single else self._limits.rounds):
            raise LimitReached(f'{self.rounds} rounds gave no answer')
        if self.prompt_tokens + self.completion_tokens >= self._limits.tokens:
            raise LimitReached(f'{self._limits.tokens} tokens gave no answer')
        if self._repeats >= MAX_REPEATS:
            raise LimitReached('the model repeats itself or writes no commands')
        if self._refusals >= MAX_REFUSALS:
            raise LimitReached('the model gives no answer that its evidence bears out')

    def _round(self, told: str = '') -> Answer | None:
        """Ask for a command and run it; with `told` it is the last, and may be one of before."""
        self.rounds += 1
        code = self._ask(told)
        if not code or not has_statements(code):
            self._repeats += 1
            self._tell(code or '# no code', 'There was no command. Reply with Python code only.',
                       is_dead=True)
            return None
        # That nothing is recorded may be said again: the first time it was doubted.
        if (not told and 'not_recorded(' not in code
                and any(turn.code == code for turn in self.turns)):
            self._after_repeat(code)
            return None
        return self._execute(code)

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
                fixed_messages=len(self._fixed),
                temperature=VARIED if self._repeats or (
                    self._is_varied and not self.turns) else 0.0)
        except ModelReplyError as error:
            self.prompt_tokens += error.prompt_tokens
            self.completion_tokens += error.completion_tokens
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
            turns[-1] = replace(turns[-1], output=f'{turns[-1].output}\n{told}'.strip())
        return build_within(budget, count, self._examples, self._question, self._endings.told,
                            turns, state, self._fixed), state

    def _after_repeat(self, code: str) -> None:
        self._repeats += 1
        if self._library.lookups and not self._library.shown.found:
            raise LimitReached('the searches found nothing')
        found = next(reversed(self._library.shown.items), '')
        told = f"answer('…', evidence=['{found}', …])" if found else 'not_recorded(reason)'
        was_good = any(turn.code == code and not turn.is_dead for turn in self.turns)
        then = self._hint(code) if was_good else ''
        self._tell(code, f'it was run before, its rows are there: {then}' if then else
                   f'it was run before. Use another function, or {told}.', is_dead=True)

    def _execute(self, code: str) -> Answer | None:
        self._report('running', code)
        self._library.ending = None
        self._library.shown.notes.clear()
        self._library.shown.links.clear()
        output = self._sandbox.run(code)
        self._trace_shown()
        self._limits.check()
        text, ending = self._text(output), self._library.ending
        if ending is None or output.error:
            if output.error and not (self.turns or self._library.shown.found
                                     or self._library.shown.notes or self._is_single):
                self._erred(text)
                return None
            self._tell(code, text or '(nothing was printed)', is_dead=bool(output.error))
            if output.error or not self._endings.is_unheard_of():
                return None
            things = ', '.join(things_in(self._question))
            return self._endings.absent(f'nothing recorded mentions {things}')
        self._report('answering', code)
        # A refusal quotes what nothing bears out: that it was said bears it out no better.
        outputs = '\n'.join(without_stamps_of(turn.code, turn.output)
                            for turn in (*self.turns, Turn(code, text)) if not turn.is_dead)
        grounds = self._endings.grounds(outputs)
        if not self._is_single and is_dictated(ending.text, grounds.seen_text):
            return self._refused(code, text, Verdict(refused=DICTATED))
        if not ending.is_answer or says_nothing_known(ending.text):
            return self._not_recorded(code, text, ending.text)
        # What tells which of several like things is meant is no evidence by itself.
        mistaken = self._library.exact.mistaken_for(self._question, cited_ids(ending.ids))
        links = self._library.shown.links if ending.ids else ()
        verdict = Verdict(refused=mistaken) if mistaken else check_answer(
            ending.text, (*ending.ids, *links), grounds, insists=self._refusals > 0)
        if verdict.refused:
            if self._is_single:
                self._tell(code, text)
                return unchecked(self._library, ending, verdict.refused)
            return self._refused(code, text, verdict)
        self._tell(code, text)
        given = len(verdict.evidence)
        return Answer(
            status=QueryStatus.ANSWERED, answer=verdict.text, evidence=verdict.evidence,
            choice=verdict.choice,
            message=f'of {verdict.count} pieces of evidence the first {given} are given'
            if given < verdict.count else '')

    def _erred(self, text: str) -> None:
        """Go on from a command that failed, or gave up, before anything was found.

        Told of the error, a small model gives up. Asked the very same again, which its cache holds,
        it may write something else; if not, a look is made for it.
        """
        self._trace[-1]['output'] = text
        if self._is_varied:
            self._look(self._endings.look())
        self._is_varied = True

    def _text(self, output: Output) -> str:
        parts = [output.text.rstrip()]
        if output.error:
            parts.append(f'{output.error}{hint_for(output.error)}')
        parts += [f'note: {note}' for note in self._library.shown.notes]
        return '\n'.join(part for part in parts if part)

    def _not_recorded(self, code: str, text: str, reason: str) -> Answer | None:
        """Accept that nothing is recorded; where memory may hold the very thing, doubt it once.

        Where nothing was looked up at all it is no finding: small models copy only the last line
        of an example. So it is asked once more.
        """
        if not (self._library.lookups or self._is_varied or self._is_doubted or self.turns):
            self._erred(text or 'nothing was looked up')
            return None
        if not self._is_doubted:
            self._is_doubted = True
            look = self._endings.doubts()
            if look or not self._library.lookups:
                self._tell(code, text, is_dead=True)
                if self._look(look or self._endings.look(), MAY_TELL if look else ''):
                    return None
        if then := self._denied:
            # Asked for no thing but a time, what was done then is the answer.
            self._denied = ''
            self._trace.append({'round': self.rounds, 'by': 'agent', 'code': then})
            return self._execute(then)
        self._tell(code, text)
        return self._endings.absent(reason or 'nothing recorded tells it')

    def _look(self, look: str, told: str = '') -> bool:
        """Run a command in the model's stead: a small one writes again what it once wrote.

        So it sees this in the place of its own, which is dead, and its rows stay in the console.
        Return whether it shows anything that the model had not read before.
        """
        self.turns = [turn for turn in self.turns if not turn.is_dead]
        self._trace.append({'round': self.rounds, 'by': 'agent', 'code': look})
        self._library.spare(LOOK_CALLS)
        ran = self._sandbox.run(look)
        self._library.shown.notes.clear()  # they tell a model of its own arguments
        output = self._text(ran)
        self._trace_shown()
        read = '\n'.join(turn.output for turn in self.turns)
        ids = _ID_OF_LINE.findall(output)
        if ids and all(f'{item} ' in read for item in ids):
            self._trace[-1]['output'] = output
            return False
        hint = self._hint(look)
        found = not ran.error and self._library.shown.found
        self._denied = hint if found and not things_in(self._question) else ''
        then = PICKED if self._library.choices else f'{LIKE_THE_EXAMPLE}{hint}' if hint else ''
        self._tell(look, f'{told}{output}{then}' or '(nothing was printed)')
        return True

    def _hint(self, look: str) -> str:
        """Return how the example most like the question answers from exact rows, '' where not.

        Not where it asks for yes or no: rows that are only like what is asked are no yes.
        """
        if not self._examples or asks_whether(self._question):
            return ''
        then = self._examples[-1].then_with_rows
        is_exact = look.startswith('rows = ') and not look.startswith('rows = search(')
        return then if is_exact else ''

    def _refused(self, code: str, text: str, verdict: Verdict) -> Answer | None:
        self._refusals += 1
        if verdict.is_hearsay and self._refusals >= 2:
            self._tell(code, text)
            return Answer(status=QueryStatus.NOT_RECORDED,
                          message="only the robot's own words tell of it")
        if verdict.absent and (self._refusals >= 2 or not self._endings.is_near()):
            self._tell(code, text)
            return self._endings.absent(f'nothing recorded mentions {", ".join(verdict.absent)}')
        self._tell(code, f'{text}\n{verdict.refused}'.strip(), is_dead=True)
        return None

    def _tell(self, code: str, output: str, is_dead: bool = False) -> None:
        self.turns.append(Turn(code, output, is_dead))
        if self._trace:
            self._trace[-1]['output'] = output

    def _trace_shown(self) -> None:
        shown = list(self._library.shown.items)
        new = shown[self._traced:][:MAX_TRACED]
        self._trace[-1]['shown'] = [*self._trace[-1].get('shown', ()), *new]
        self._traced = len(shown)

    def _report(self, phase: str, command: str = '') -> None:
        self._limits.check()
        self._on_progress(Progress(
            phase=phase, round=self.rounds, command=command, prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens))
