"""Groups and summaries by a language model (L4 and up): asked, validated, asked again, given up.

Knows nothing of the store. A model that cannot be reached is left alone for the rest of the
consolidation; one that answers wrongly `attempts` times costs its group a template summary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import logging
import threading
from typing import Any, Protocol

from emv_ros.errors import ModelCanceledError, ModelError, ModelReplyError, ModelTimeoutError
from emv_ros.settings import TreeSettings
from emv_ros.tree.plain import (
    PLAIN_TOKENS,
    PLAIN_VERSION,
    ask_again as ask_again_one,
    ask_one,
    errors_in,
    summary_in,
)
from emv_ros.tree.replies import (
    PROMPT_VERSION,
    Group,
    Ranges,
    ReplyLike,
    ask,
    ask_again,
    parse,
    schema_for,
)
from emv_ros.tree.texts import clip

log = logging.getLogger(__name__)

# A small model repeats a refused reply word for word unless it is made to vary.
LATER_WARMTH = 0.6
# A summary has about 30 words; a model that goes on for ever is stopped.
SUMMARY_TOKENS, ITEM_TOKENS = 160, 30
SMALLEST_LIST = 6


class Summarizer(Protocol):
    """The model as the tree needs it; `emv_ros.agent.models` has one."""

    @property
    def available(self) -> bool:
        """Whether a call has a chance."""

    def complete(self, messages: list[dict[str, Any]], *, purpose: str, max_tokens: int,
                 schema: dict[str, Any] | None = None, deadline_s: float | None = None,
                 cancel: threading.Event | None = None, temperature: float = 0.0,
                 fixed_messages: int = 0) -> ReplyLike:
        """Return the reply; raises ModelError. The first `fixed_messages` hold nothing recorded."""


@dataclass(frozen=True, slots=True)
class Written:
    """Groups of numbered items, by whom, at what cost. `model` is empty where none was asked."""

    groups: tuple[Group, ...]
    made_by: str
    model: str = ''
    prompt_version: str = ''
    prompt_tokens: int = 0
    completion_tokens: int = 0


class SummaryWriter:
    """One consolidation's use of a model, within a budget of calls."""

    def __init__(self, model: Summarizer | None, settings: TreeSettings,
                 cancel: threading.Event | None = None,
                 before_call: Callable[[], None] = lambda: None) -> None:
        """`before_call` is called before each call, which may take long, and may raise."""
        self.before_call = before_call
        self.model = model if settings.use_model else None
        self.settings = settings
        self.cancel = cancel
        self.calls = 0
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.fallbacks = 0
        # How many items a list may have; halved for a model that did not answer in time.
        self.list_size = settings.group_size
        self._given_up = False

    @property
    def ready(self) -> bool:
        """Whether a model may be asked now."""
        return (self.model is not None and not self._given_up
                and self.calls < self.settings.call_budget and self.model.available
                and not (self.cancel is not None and self.cancel.is_set()))

    def group(self, lines: Sequence[str], proposal: Ranges,
              facts: Sequence[str] = ()) -> Written | None:
        """Return groups of at most `group_size` lines; None where no model could be asked.

        `facts` are the whole texts that the lines shorten. The first try is the model's own
        grouping; the second hands over what was wrong and given groups, its own where they stand,
        else those of the proposal, and asks for their summaries; then each group that still has
        none is summarised alone. A group for which nothing served has an empty summary.
        """
        messages = ask(lines, self.settings.fan_out)
        spent = [0, 0]
        ranges: Ranges = ()
        summaries: dict[tuple[int, int], str] = {}
        name = ''
        for attempt in (1, 2)[:self.settings.attempts]:
            reply = self._call(messages, fixed=1, count=len(lines), ranges=ranges)
            if reply is None:
                return None  # given up, out of budget or canceled: a later consolidation asks again
            name = name or reply.model
            spent[0] += reply.prompt_tokens
            spent[1] += reply.completion_tokens
            parsed = parse(reply.text, lines, 2 * self.settings.fan_out,
                           self.settings.max_summary_chars, facts)
            if parsed.doubtful is not None:
                ranges = [(group.first, group.last) for group in parsed.groups]
                summaries |= {(group.first, group.last): group.summary
                              for group in parsed.without_doubtful() if group.summary}
            if not parsed.errors:
                break
            log.debug('try %d of a grouping was refused: %s', attempt, '; '.join(parsed.errors))
            ranges = ranges or proposal
            messages = [*messages[:2],
                        *ask_again(clip(reply.text, 2000), parsed.errors, ranges)]
        groups = tuple(self._completed(first, last, summaries.get((first, last), ''), lines, facts,
                                       spent) for first, last in ranges or proposal)
        return Written(groups, 'model', name or 'model', PROMPT_VERSION, *spent)

    def _completed(self, first: int, last: int, summary: str, lines: Sequence[str],
                   facts: Sequence[str], spent: list[int]) -> Group:
        """Return a group, with a summary of its own where the list brought none."""
        if summary or first == last:
            return Group(first, last, summary)
        if self.settings.attempts < 3:
            self.fallbacks += 1
            return Group(first, last, '')
        alone = self.summarise(lines[first - 1:last], facts[first - 1:last])
        if alone is None:
            return Group(first, last, '', was_asked=False)
        spent[0] += alone.prompt_tokens
        spent[1] += alone.completion_tokens
        return Group(first, last, alone.groups[0].summary)

    def summarise(self, lines: Sequence[str], facts: Sequence[str] = ()) -> Written | None:
        """Return one group over all lines with the model's summary, asked for in plain words.

        None where no model could be asked; made by rule, without a summary, where no reply served.
        """
        messages = begun = ask_one(lines)
        spent = [0, 0]
        name = last = ''
        for attempt in range(1, self.settings.attempts + 1):
            warmth = LATER_WARMTH if attempt > 1 else 0.0
            reply = self._call(messages, fixed=len(begun) - 1, warmth=warmth)
            if reply is None:
                return None
            name = name or reply.model
            spent[0] += reply.prompt_tokens
            spent[1] += reply.completion_tokens
            summary = summary_in(reply.text, reply.completion_tokens >= PLAIN_TOKENS)
            errors = errors_in(summary, lines, facts, self.settings.max_summary_chars)
            if not errors:
                return Written((Group(1, max(1, len(lines)), summary),), 'model',
                               name or 'model', PLAIN_VERSION, *spent)
            log.debug('try %d of a summary was refused: %s: %r', attempt, '; '.join(errors),
                      reply.text)
            if reply.text == last:
                break  # it will say the same again
            last = reply.text
            messages = [*begun, *ask_again_one(clip(last, 600), errors)]
        self.fallbacks += 1
        return Written((Group(1, max(1, len(lines)), ''),), 'rule', name or 'model', PLAIN_VERSION,
                       *spent)

    def _call(self, messages: list[dict[str, Any]], *, fixed: int, count: int = 0,
              ranges: Ranges = (), warmth: float = 0.0) -> ReplyLike | None:
        """Ask for JSON about a list of `count` items, or for plain words where that is 0.

        None where nothing can be asked now; the first `fixed` messages are the same in every call.
        """
        if not self.ready or self.model is None:
            return None
        self.before_call()
        self.calls += 1
        try:
            reply = self.model.complete(
                messages, purpose='summary', schema=schema_for(count, ranges) if count else None,
                cancel=self.cancel, fixed_messages=fixed, temperature=warmth,
                max_tokens=SUMMARY_TOKENS + ITEM_TOKENS * count if count else PLAIN_TOKENS)
        except ModelCanceledError:
            self._given_up = True
            return None
        except ModelReplyError as error:
            log.info('the model replied nothing that could be used: %s', error)
            return _NoReply()
        except ModelTimeoutError as error:
            self._given_up = not count or self.list_size <= SMALLEST_LIST
            self.list_size = max(SMALLEST_LIST, self.list_size // 2)
            log.warning('the model took too long for %s: %s',
                        f'a list of {count}' if count else 'a summary', error)
            return None
        except ModelError as error:
            log.warning('no summaries by a model for now: %s', error)
            self._given_up = True
            return None
        self.prompt_tokens += reply.prompt_tokens
        self.completion_tokens += reply.completion_tokens
        return reply


@dataclass(frozen=True, slots=True)
class _NoReply:
    """Stands for a reply that the model's client refused."""

    text: str = ''
    prompt_tokens: int = 0
    completion_tokens: int = 0
    model: str = ''
