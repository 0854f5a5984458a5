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
from emv_ros.tree.replies import PROMPT_VERSION, Group, Ranges, ReplyLike, ask, parse, schema_for
from emv_ros.tree.texts import clip

log = logging.getLogger(__name__)

# Characters of all lines of one prompt: about 2,500 tokens.
PROMPT_CHARS = 8000
SHORTEST_LINE = 60
LONGEST_LINE = 200
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
                 cancel: threading.Event | None = None) -> ReplyLike:
        """Return the reply; raises ModelError."""


@dataclass(frozen=True, slots=True)
class Written:
    """Groups of numbered items, by whom, at what cost. `model` is empty where none was asked."""

    groups: tuple[Group, ...]
    made_by: str
    model: str = ''
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def prompt_version(self) -> str:
        """The version of the prompt that was used."""
        return PROMPT_VERSION if self.model else ''


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

    def group(self, lines: Sequence[str], proposal: Ranges) -> Written | None:
        """Return groups of at most `group_size` lines; None where no model could be asked.

        The last try gives the model the groups of the proposal and asks for their summaries alone,
        which small models can do. Where no reply is of use: one plain group without a summary, made
        by rule; where only some summaries are of no use, the groups, those without a summary.
        """
        return self._ask(lines, (), proposal)

    def summarise(self, lines: Sequence[str]) -> Written | None:
        """Return one group over all lines with the model's summary; as `group` otherwise."""
        return self._ask(lines, ((1, len(lines)),), ())

    def _ask(self, lines: Sequence[str], ranges: Ranges, proposal: Ranges) -> Written | None:
        room = max(SHORTEST_LINE, min(LONGEST_LINE, PROMPT_CHARS // max(1, len(lines))))
        short = [clip(line, room) for line in lines]
        messages = ask(short, self.settings.fan_out, ranges)
        spent = [0, 0]
        name = ''
        usable: tuple[Group, ...] = ()
        for attempt in range(1, self.settings.attempts + 1):
            if proposal and attempt == self.settings.attempts > 1 and not usable:
                ranges, messages = proposal, ask(short, self.settings.fan_out, proposal)
            reply = self._call(messages, len(lines), ranges)
            if reply is None:
                return None  # given up, out of budget or canceled: a later consolidation asks again
            name = reply.model or 'model'
            spent[0] += reply.prompt_tokens
            spent[1] += reply.completion_tokens
            parsed = parse(reply.text, lines, len(ranges) == 1, 2 * self.settings.fan_out,
                           self.settings.max_summary_chars)
            if not parsed.errors:
                return Written(parsed.groups, 'model', name, *spent)
            log.debug('a grouping was refused: %s', '; '.join(parsed.errors))
            said = {'role': 'assistant', 'content': clip(reply.text, 2000)}
            messages = [*messages[:2], said, {
                'role': 'user', 'content': 'That reply cannot be used: '
                f'{"; ".join(parsed.errors)}. Reply again with the corrected JSON only.'}]
            if parsed.doubtful is not None and len(parsed.doubtful) < len(parsed.groups):
                usable = parsed.without_doubtful()
        self.fallbacks += 1
        if usable:
            return Written(usable, 'model', name, *spent)
        return Written((Group(1, len(lines), ''),), 'rule', name, *spent)

    def _call(self, messages: list[dict[str, Any]], count: int,
              ranges: Ranges) -> ReplyLike | None:
        if not self.ready or self.model is None:
            return None
        self.before_call()
        self.calls += 1
        try:
            reply = self.model.complete(
                messages, purpose='summary', schema=schema_for(count, ranges), cancel=self.cancel,
                max_tokens=SUMMARY_TOKENS + (0 if len(ranges) == 1 else ITEM_TOKENS * count))
        except ModelCanceledError:
            self._given_up = True
            return None
        except ModelReplyError as error:
            log.info('the model replied nothing that could be used: %s', error)
            return _NoReply()
        except ModelTimeoutError as error:
            self._given_up = len(ranges) == 1 or self.list_size <= SMALLEST_LIST
            self.list_size = max(SMALLEST_LIST, self.list_size // 2)
            log.warning('the model took too long for a list of %d: %s', count, error)
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
