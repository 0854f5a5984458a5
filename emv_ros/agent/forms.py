"""The forms that the agent takes by its settings: its own, and those it is compared with.

A form says which fixed words begin the prompt, which functions the console has, and what stands in
for them. What a form lacks is absent from the prompt, from the examples and from the console.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import re
from typing import Any

from emv_ros.agent import prompt, search_tools, whole_history
from emv_ros.agent.console.library import Library
from emv_ros.agent.examples import Example, two_step_examples
from emv_ros.errors import EmvError
from emv_ros.retrieval.search import Searcher
from emv_ros.settings import AgentSettings

CONSOLE, WHOLE_HISTORY, SEARCH_TOOLS = 'console', 'whole_history', 'search_tools'
# Functions that find all that fits, as the model calls them; the host's have a stroke before.
EXACT = ('events', 'goals', 'goals_with', 'request', 'where', 'around', 'seen', 'speech', 'before',
         'after', 'biography', 'moves', 'still', 'during', 'same')
_BESIDE = {'before': '_beside', 'after': '_beside'}
# Kept of the prompt for the question and its choices.
SPARE_TOKENS = 500
# What answers, with or without looking.
ENDINGS = ('_answer', '_not_recorded', '_pick')


@dataclass(frozen=True, slots=True)
class Form:
    """How the agent answers: the first messages of each prompt, what the console lacks and has."""

    fixed: tuple[dict[str, str], ...]
    absent: frozenset[str] = frozenset()
    prelude: str = ''
    way: str = CONSOLE

    @property
    def has_exact(self) -> bool:
        """Whether the console has functions that find all that fits."""
        return self.way == CONSOLE and self.absent.isdisjoint(EXACT)

    def functions(self, library: Library, searcher: Searcher) -> dict[str, Callable[..., Any]]:
        """Return the host's functions of the console."""
        there = library.functions()
        if self.way == CONSOLE:
            hidden = {_BESIDE.get(name, f'_{name}') for name in self.absent}
            return {name: _missing(name) if name in hidden else function
                    for name, function in there.items()}
        kept: dict[str, Callable[..., Any]] = {
            name: function if name in ENDINGS else _missing(name)
            for name, function in there.items()}
        if self.way == SEARCH_TOOLS:
            kept |= library.guarded(search_tools.SearchTools(library, searcher).functions())
        return kept

    def facts(self, facts: str, library: Library, budget: int,
              count_tokens: Callable[[str], int]) -> str:
        """Return what the prompt tells before the question, in a prompt of `budget` tokens."""
        if self.way != WHOLE_HISTORY:
            return facts
        others = prompt.tokens_of(self.fixed, count_tokens) + count_tokens(facts) + SPARE_TOKENS
        return f'{facts}\n{whole_history.history(library, budget - others, count_tokens)}'

    def fitting(self, examples: Sequence[Example]) -> list[Example]:
        """Return the examples that call nothing which this form lacks."""
        if self.way != CONSOLE:
            return []
        return [example for example in examples if not _calls(example, self.absent)]


def form_of(settings: AgentSettings) -> Form:
    """Return the form that the settings ask for."""
    if settings.way == WHOLE_HISTORY:
        return Form(({'role': 'system', 'content': whole_history.SYSTEM},), way=WHOLE_HISTORY)
    if settings.way == SEARCH_TOOLS:
        messages = [{'role': 'system', 'content': search_tools.SYSTEM}]
        for words in search_tools.EXAMPLES if settings.examples else ():
            messages += prompt.shown(Example(*words))
        return Form(tuple(messages), prelude=search_tools.PRELUDE, way=SEARCH_TOOLS)
    absent = frozenset(EXACT if not settings.exact_functions else ()) | frozenset(
        ('days',) if settings.top_level else ())
    system, *shown = prompt.fixed_messages()
    if not absent and settings.examples:
        return Form((system, *shown))
    messages = [{**system, 'content': _without(system['content'], absent)}]
    for example in two_step_examples() if settings.examples else ():
        if not _calls(example, absent):
            messages += prompt.shown(example)
    return Form(tuple(messages), absent)


def _without(text: str, absent: frozenset[str]) -> str:
    """Return the rules without the lines that tell of absent functions."""
    return '\n'.join(line for line in text.splitlines()
                     if not any(line.startswith(f'{name}(') for name in absent))


def _calls(example: Example, names: frozenset[str]) -> bool:
    return any(re.search(rf'(?<![\w.]){name}\(', f'{example.code}\n{example.then}')
               for name in names)


def _missing(name: str) -> Callable[..., Any]:
    def call(*_: Any) -> Any:
        raise EmvError(f'there is no function {name.removeprefix("_")}() here')
    return call
