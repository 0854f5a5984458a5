"""What a model was asked and how long it took, apart from the work around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
import time
from typing import TYPE_CHECKING, Any

from emv_ros.reply_like import ReplyLike
from emv_ros.tree.summaries import Summarizer

if TYPE_CHECKING:
    from emv_ros.settings import ModelSettings

# What a chat model's frame adds (ChatML): marks around each message, and the reply's beginning.
MESSAGE_TOKENS, REPLY_TOKENS = 5, 3


@dataclass(slots=True)
class Seconds:
    """Time that passed: of this process's processors, and of the wall."""

    cpu: float = 0.0
    wall: float = 0.0

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Add what passes in the block."""
        cpu, wall = time.process_time(), time.monotonic()
        try:
            yield
        finally:
            self.cpu += time.process_time() - cpu
            self.wall += time.monotonic() - wall

    def without(self, other: Seconds) -> Seconds:
        """Return the time less another's."""
        return Seconds(max(0.0, self.cpu - other.cpu), max(0.0, self.wall - other.wall))


class TokenCounter:
    """Counts the tokens of texts and prompts; `spent` is the time that it took."""

    def __init__(self, count: Callable[[str], int], name: str) -> None:
        """`count` counts a text without the frame of a chat; `name` says by what."""
        self.name = name
        self.spent = Seconds()
        self._count = count
        self._known: dict[str, int] = {}

    def count(self, text: str) -> int:
        """Return the tokens of a text."""
        with self.spent.measured():
            return self._count(text)

    def prompt(self, messages: Sequence[dict[str, Any]], fixed_messages: int = 0) -> int:
        """Return the tokens of a chat prompt, whose fixed beginning is counted once."""
        total = REPLY_TOKENS + MESSAGE_TOKENS * len(messages)
        for place, message in enumerate(messages):
            content = str(message['content'])
            if place >= fixed_messages:
                total += self.count(content)
                continue
            if content not in self._known:
                self._known[content] = self.count(content)
            total += self._known[content]
        return total


def token_counter(settings: ModelSettings) -> TokenCounter:
    """Return a counter by the embedded model's tokenizer where its weights are, else an estimate.

    Loading the tokenizer loads the weights (seconds). Raises ModelError where that fails.
    """
    from dataclasses import replace

    from emv_ros.agent.models import ModelClient

    exact = ModelClient(replace(settings, model='embedded'))
    if exact.available:
        return TokenCounter(exact.count_tokens, 'tokenizer of the embedded model')
    return TokenCounter(ModelClient(replace(settings, model='none')).count_tokens,
                        'estimate: 3.5 bytes a token')


class Metered:
    """A model with an account of its calls: their longest prompt, those too long, their time.

    `counted_tokens` are the prompt tokens by the counter, where the model counts by itself.
    """

    def __init__(self, model: Summarizer, counter: TokenCounter, budget: int) -> None:
        """A prompt of more than `budget` tokens is too long."""
        self.model = model
        self.budget = budget
        self.longest_prompt = 0
        self.prompts_over_budget = 0
        self.counted_tokens = 0
        self.spent = Seconds()
        self._counter = counter

    @property
    def available(self) -> bool:
        """Whether the model is."""
        return self.model.available

    def name(self, purpose: str) -> str:
        """Return the model's name, '' where it tells none."""
        name = getattr(self.model, 'name', None)
        return str(name(purpose)) if callable(name) else ''

    def complete(self, messages: list[dict[str, Any]], **options: Any) -> ReplyLike:
        """Ask the model; raises what it raises."""
        with self.spent.measured():
            reply = self.model.complete(messages, **options)
            tokens = self._counter.prompt(messages, int(options.get('fixed_messages', 0)))
        self.counted_tokens += tokens
        self.longest_prompt = max(self.longest_prompt, tokens, reply.prompt_tokens)
        self.prompts_over_budget += max(tokens, reply.prompt_tokens) > self.budget
        return reply
