"""One consolidation's calls to a model: within its budgets, each paid once, all counted.

A model that cannot be reached is left alone for the rest of the consolidation, and so is one that
was too slow several times in a row. Knows nothing of what a reply means.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
import logging
import threading
from typing import Any, Protocol

from emv_ros.errors import (
    ModelCanceledError,
    ModelError,
    ModelPromptTooLongError,
    ModelReplyError,
    ModelTimeoutError,
)
from emv_ros.reply_like import ReplyLike
from emv_ros.settings import TreeSettings
from emv_ros.tree.budget import HourlyBudget, Refusal, estimate
from emv_ros.tree.journal import Journal, PaidReply, cost_of, key_of

log = logging.getLogger(__name__)

# So many calls in a row without an answer in time, and the model is left alone.
MOST_SLOW = 3


class Summarizer(Protocol):
    """The model as the tree needs it; `emv_ros.agent.models` has one.

    It may have a method `name(purpose)`: the name that its replies bear, and a method
    `is_available(purpose)`, which then counts instead of `available`.
    """

    @property
    def available(self) -> bool:
        """Whether a call has a chance."""

    def complete(self, messages: list[dict[str, Any]], *, purpose: str, max_tokens: int,
                 schema: dict[str, Any] | None = None, deadline_s: float | None = None,
                 cancel: threading.Event | None = None, temperature: float = 0.0,
                 fixed_messages: int = 0) -> ReplyLike:
        """Return the reply; raises ModelError. The first `fixed_messages` hold nothing recorded."""


@dataclass(slots=True)
class Spent:
    """What replies cost; `keys` are their places in the journal."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    keys: list[str] = field(default_factory=list)

    def add(self, other: Spent | ReplyLike) -> None:
        """Add what another cost."""
        self.prompt_tokens += other.prompt_tokens
        self.completion_tokens += other.completion_tokens
        self.cost += other.cost if isinstance(other, Spent) else cost_of(other)

    def copy(self) -> Spent:
        """Return what was spent up to now."""
        return Spent(self.prompt_tokens, self.completion_tokens, self.cost)

    def minus(self, before: Spent) -> Spent:
        """Return what was spent since."""
        return Spent(self.prompt_tokens - before.prompt_tokens,
                     self.completion_tokens - before.completion_tokens, self.cost - before.cost)


class Asking:
    """The calls of one consolidation."""

    def __init__(self, model: Summarizer | None, settings: TreeSettings,
                 cancel: threading.Event | None, before_call: Callable[[], None],
                 budget: HourlyBudget | None) -> None:
        self.model = model if settings.use_model else None
        self.settings = settings
        self.cancel = cancel
        self.before_call = before_call
        self.budget = budget
        self.journal: Journal | None = None
        self.calls = 0
        self.spent = Spent()
        # Why nothing is asked any more.
        self.stopped: Refusal | None = None
        self._slow = 0
        self._late: set[str] = set()  # keys of questions that had no answer in time
        self._told: set[str] = set()  # keys of replies whose tokens were counted for a text
        self._finished: set[str] = set()
        self._is_left = False  # whether a conversation stands open that was paid for

    @property
    def name(self) -> str:
        """The name of the model, '' where it tells none."""
        name = getattr(self.model, 'name', None)
        return str(name('summary')) if callable(name) else ''

    @property
    def ready(self) -> bool:
        """Whether the model may be asked now."""
        return (self.model is not None and self.stopped is None
                and self.calls < self.settings.call_budget and self._is_available
                and not self._is_canceled)

    @property
    def _is_available(self) -> bool:
        for_purpose = getattr(self.model, 'is_available', None)
        if callable(for_purpose):
            return bool(for_purpose('summary'))
        return self.model is not None and self.model.available

    @property
    def _is_canceled(self) -> bool:
        return self.cancel is not None and self.cancel.is_set()

    def ask(self, messages: list[dict[str, Any]], spent: Spent, *, fixed: int, max_tokens: int,
            schema: dict[str, Any] | None = None, warmth: float = 0.0) -> ReplyLike | None:
        """Return a reply, which is added to `spent`; None where nothing can be asked now.

        An empty one stands for a reply that the model's client could not use. The first `fixed`
        messages are the same in every call. Raises ModelTimeoutError, ModelPromptTooLongError.
        """
        if self.model is None:
            return None
        key = key_of(self.name, messages, schema, warmth, max_tokens)
        reply: ReplyLike | None = self.journal.find(key) if self.journal else None
        if reply is None:
            is_left, self._is_left = self._is_left, self._is_left or bool(spent.keys)
            if key in self._late:
                return None
            try:
                reply = self._call(self.model, messages, fixed, max_tokens, schema, warmth)
            except ModelTimeoutError:
                self._late.add(key)
                raise
            if reply is None:
                return None
            self._is_left = is_left
            if self.journal:
                self.journal.keep(key, reply)
            self.spent.add(reply)
        spent.keys.append(key)
        if key not in self._told:  # else it was the very same question, whose cost is told
            self._told.add(key)
            spent.add(reply)
        return reply

    def _call(self, model: Summarizer, messages: list[dict[str, Any]], fixed: int,
              max_tokens: int, schema: dict[str, Any] | None, warmth: float) -> ReplyLike | None:
        if not self.ready:
            return None
        if self.budget and (refusal := self.budget.refusal(estimate(messages) + max_tokens)):
            self._stop(refusal)
            return None
        self.before_call()
        self.calls += 1
        try:
            reply = model.complete(
                messages, purpose='summary', schema=schema, cancel=self.cancel,
                fixed_messages=fixed, temperature=warmth, max_tokens=max_tokens)
        except ModelReplyError as error:
            log.info('the model replied nothing that could be used: %s', error)
            reply = PaidReply('', error.prompt_tokens, error.completion_tokens)
        except ModelTimeoutError as error:
            self._slow += 1
            if self._slow >= MOST_SLOW:
                self._stop(Refusal(f'the model was too slow {MOST_SLOW} times in a row: {error}',
                                   None))
            raise
        except ModelPromptTooLongError:
            raise
        except ModelCanceledError:
            return None
        except ModelError as error:
            self._stop(Refusal(str(error), None))
            return None
        self._slow = 0
        return reply

    def _stop(self, refusal: Refusal) -> None:
        log.warning('no summaries by a model for now: %s', refusal.reason)
        self.stopped = refusal

    def finish(self, spent: Spent) -> None:
        """Note that the text which these replies served is to be committed."""
        self._finished.update(spent.keys)

    def begin(self, journal: Journal, before_call: Callable[[], None]) -> None:
        """Go on with another robot."""
        self.journal = journal
        self.before_call = before_call
        self._told.clear()
        self._finished.clear()
        self._is_left = False

    def end(self) -> None:
        """Empty the robot's journal, but for what may serve a text that is still to be written."""
        if self.journal is None:
            return
        has_asked_all = (self._is_available and self.stopped is None
                         and self.calls < self.settings.call_budget)
        if has_asked_all and not self._is_canceled and not self._is_left:
            self.journal.empty()
        else:
            self.journal.clear(self._finished)
