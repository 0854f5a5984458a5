"""Groups and summaries by a language model (L4 and up): asked, validated, asked again, given up.

Knows nothing of the store. A model that answers wrongly `attempts` times costs its group a
template summary; where it cannot be asked now, a later consolidation asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
import logging
import threading
from typing import Any

from emv_ros.errors import ModelPromptTooLongError, ModelTimeoutError
from emv_ros.reply_like import ReplyLike
from emv_ros.settings import TreeSettings
from emv_ros.tree.account import Account
from emv_ros.tree.asking import Asking, Spent, Summarizer
from emv_ros.tree.budget import HourlyBudget
from emv_ros.tree.checks import Fault
from emv_ros.tree.journal import PaidReply
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
    ask,
    ask_again,
    most_items,
    parse,
    schema_for,
)

__all__ = ['Summarizer', 'SummaryWriter', 'Written']

log = logging.getLogger(__name__)

# A small model repeats a refused reply word for word unless it is made to vary.
LATER_WARMTH = 0.6
# A summary has about 30 words; a model that goes on for ever is stopped.
SUMMARY_TOKENS, ITEM_TOKENS = 160, 30
SMALLEST_LIST = 6


@dataclass(frozen=True, slots=True)
class Written:
    """Groups of numbered items, by whom, at what cost: tokens and US dollars of all tries.

    `model` is empty where none was asked.
    """

    groups: tuple[Group, ...]
    made_by: str
    model: str = ''
    prompt_version: str = ''
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0


class SummaryWriter:
    """One consolidation's use of a model, within its budgets."""

    def __init__(self, model: Summarizer | None, settings: TreeSettings,
                 cancel: threading.Event | None = None,
                 before_call: Callable[[], None] = lambda: None,
                 budget: HourlyBudget | None = None) -> None:
        """`before_call` is called before each call, which may take long, and may raise."""
        self.asking = Asking(model, settings, cancel, before_call, budget)
        self.settings = settings
        self.fallbacks = 0
        # How many items a list may have; halved for a model that did not answer in time.
        self.list_size = min(settings.group_size, most_items(settings.prompt_tokens))
        # How lists were grouped, and how single texts came about.
        self.lists, self.texts = Account(), Account()

    @property
    def ready(self) -> bool:
        """Whether a model may be asked now."""
        return self.asking.ready

    @property
    def calls(self) -> int:
        """Calls that were made."""
        return self.asking.calls

    @property
    def signature(self) -> tuple[str, str]:
        """The model, '' where it tells no name, and the version of its prompt for one summary."""
        return self.asking.name, PLAIN_VERSION

    def may_differ(self, model: str, prompt_version: str) -> bool:
        """Whether a summary that this model and prompt wrote, or could not, may turn out otherwise.

        It may not where no model was asked (`model` empty), or the present one tells no name.
        """
        name = self.asking.name
        return bool(model and name) and (
            model != name or prompt_version not in (PLAIN_VERSION, PROMPT_VERSION))

    def group(self, lines: Sequence[str], proposal: Ranges,
              facts: Sequence[str] = ()) -> Written | None:
        """Return groups of at most `group_size` lines; None where no model could be asked.

        `facts` are the whole texts that the lines shorten. The first try is the model's own
        grouping; the second hands over what was wrong and given groups, its own where they stand,
        else those of the proposal, and asks for their summaries; then each group that still has
        none is summarised alone. A group for which nothing served has an empty summary.
        """
        messages = begun = ask(lines, self.settings.fan_out, self.settings.prompt_tokens)
        spent = Spent()
        ranges: Ranges = ()
        summaries: dict[tuple[int, int], str] = {}
        name = ''
        for attempt in (1, 2)[:self.settings.attempts]:
            reply = self._ask(messages, spent, fixed=1, count=len(lines), ranges=ranges)
            if reply is None:
                return None  # given up, out of budget or canceled: a later consolidation asks again
            name = name or reply.model
            parsed = parse(reply.text, lines, 2 * self.settings.fan_out,
                           self.settings.max_summary_chars, facts)
            if parsed.doubtful is not None:
                ranges = [(group.first, group.last) for group in parsed.groups]
                summaries |= {(group.first, group.last): group.summary
                              for group in parsed.without_doubtful() if group.summary}
            if not parsed.errors:
                break
            errors = [fault.text for fault in parsed.errors]
            self.lists.refuse(parsed.errors)
            _tell_refusal('grouping', attempt, parsed.errors)
            ranges = ranges or proposal
            messages = ask_again(begun, reply.text, errors, ranges, self.settings.prompt_tokens)
        self.lists.serve(0 if parsed.errors else attempt)
        groups = tuple(self._completed(first, last, summaries.get((first, last), ''), lines, facts,
                                       spent) for first, last in ranges or proposal)
        return self._written(groups, 'model', name, PROMPT_VERSION, spent)

    def _completed(self, first: int, last: int, summary: str, lines: Sequence[str],
                   facts: Sequence[str], spent: Spent) -> Group:
        """Return a group, with a summary of its own where the list brought none."""
        if summary or first == last:
            return Group(first, last, summary)
        if self.settings.attempts < 3:
            self.fallbacks += 1
            return Group(first, last, '')
        alone = self.summarise(lines[first - 1:last], facts[first - 1:last])
        if alone is None:
            return Group(first, last, '', was_asked=False)
        spent.add(Spent(alone.prompt_tokens, alone.completion_tokens, alone.cost))
        return Group(first, last, alone.groups[0].summary)

    def summarise(self, lines: Sequence[str], facts: Sequence[str] = ()) -> Written | None:
        """Return one group over all lines with the model's summary, asked for in plain words.

        None where no model could be asked; made by rule, without a summary, where no reply served.
        A refused reply goes back with its errors; given once more, it begins anew.
        """
        messages = begun = ask_one(lines, self.settings.prompt_tokens)
        spent = Spent()
        name, last, warmth = '', None, 0.0
        avoided: list[str] = []
        groups = (Group(1, max(1, len(lines)), ''),)
        for attempt in range(1, self.settings.attempts + 1):
            reply = self._ask(messages, spent, fixed=len(begun) - 1, warmth=warmth)
            if reply is None:
                return None
            name = name or reply.model
            summary = summary_in(reply.text, getattr(reply, 'truncated', False)
                                 or reply.completion_tokens >= PLAIN_TOKENS)
            faults = errors_in(summary, lines, facts, self.settings.max_summary_chars)
            if not faults:
                self.texts.serve(attempt)
                groups = (replace(groups[0], summary=summary),)
                return self._written(groups, 'model', name, PLAIN_VERSION, spent)
            self.texts.refuse(faults)
            errors = [fault.text for fault in faults]
            _tell_refusal('summary', attempt, faults)
            if reply.text != last:
                last, warmth = reply.text, LATER_WARMTH
                messages = ask_again_one(begun, last, errors, self.settings.prompt_tokens)
                continue
            # It would say the same again: asked as if for the first time, but without the words.
            words = dict.fromkeys(word for fault in faults for word in fault.words)
            avoid = [word for word in words if word not in avoided]
            if not avoid:
                break
            avoided += avoid
            messages, warmth = ask_one(lines, self.settings.prompt_tokens, avoided), 0.0
            begun = messages
        self.fallbacks += 1
        self.texts.serve(0)
        return self._written(groups, 'rule', name, PLAIN_VERSION, spent)

    def _written(self, groups: tuple[Group, ...], made_by: str, name: str, version: str,
                 spent: Spent) -> Written:
        self.asking.finish(spent)
        return Written(groups, made_by, name or self.asking.name or 'model', version,
                       spent.prompt_tokens, spent.completion_tokens, spent.cost)

    def _ask(self, messages: list[dict[str, Any]], spent: Spent, *, fixed: int, count: int = 0,
             ranges: Ranges = (), warmth: float = 0.0) -> ReplyLike | None:
        """Ask for JSON about a list of `count` items, or for plain words where that is 0.

        None where nothing can be asked now, or a list was too long.
        """
        try:
            return self.asking.ask(
                messages, spent, fixed=fixed, warmth=warmth,
                schema=schema_for(count, ranges) if count else None,
                max_tokens=SUMMARY_TOKENS + ITEM_TOKENS * count if count else PLAIN_TOKENS)
        except (ModelTimeoutError, ModelPromptTooLongError) as error:
            log.warning('%s was too much for the model: %s',
                        f'a list of {count}' if count else 'a summary', error)
            if count:
                self.list_size = max(SMALLEST_LIST, self.list_size // 2)
            elif isinstance(error, ModelPromptTooLongError):
                return PaidReply('')  # it always will be
            return None


def _tell_refusal(what: str, attempt: int, faults: Sequence[Fault]) -> None:
    """Log why a reply was refused, by kinds alone: its words are recorded ones."""
    log.debug('try %d of a %s was refused: %s', attempt, what,
              ', '.join(fault.kind for fault in faults))
