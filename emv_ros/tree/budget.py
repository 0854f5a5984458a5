"""What summaries may use in an hour: calls, tokens and dollars.

Reckoned from the account of calls in the store, so that the limits hold across processes and
restarts. Whether a call fits is decided before it is made. Reads the wall clock, by which calls
are stamped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
import time
from typing import Any

from sqlalchemy import select

from emv_ros import token_estimate
from emv_ros.memory.schema import ModelCallRow
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import TreeSettings
from emv_ros.timeline import HOUR_NS

# A try that ended so, without tokens, was not served: it does not count as a call.
NOT_SERVED = ('ModelUnavailableError', 'RefusedError', 'PassingError')


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call has to wait, and until when (wall clock; None: it never fits)."""

    reason: str
    until_ns: int | None


@dataclass(frozen=True, slots=True)
class Use:
    """Calls that were made, or one to be made: tokens both ways, cost in US dollars."""

    stamp_ns: int
    calls: int
    tokens: int
    cost: float


class HourlyBudget:
    """The limits of the settings over the calls of the last hour; 0 is no limit."""

    def __init__(self, store: MemoryStore, settings: TreeSettings) -> None:
        self.store = store
        self.settings = settings

    def refusal(self, tokens: int) -> Refusal | None:
        """Return why a call of about so many tokens, reply included, has to wait; else None."""
        limits = self.settings
        if not (limits.hourly_calls or limits.hourly_tokens or limits.hourly_cost):
            return None
        now_ns = time.time_ns()
        made = self._made(now_ns)
        # What is left in the hour when the first so many calls are an hour old; [0] is now.
        left = list(accumulate(reversed(made), _sum, initial=Use(now_ns, 0, 0, 0.0)))[::-1]
        # What a token cost in this hour, replies included, is what the next ones will cost.
        price = left[0].cost / left[0].tokens if left[0].tokens else 0.0
        wanted = Use(now_ns, 1, tokens, tokens * price)
        reason = self._reason(left[0], wanted)
        if not reason:
            return None
        until_ns = next((use.stamp_ns + HOUR_NS for use, later in zip(made, left[1:], strict=True)
                         if not self._reason(later, wanted)), None)
        return Refusal(reason, until_ns)

    def _made(self, now_ns: int) -> list[Use]:
        """Return the calls of the last hour; of a clock that was set back, also the next hour's."""
        row = ModelCallRow
        with self.store.reading() as session:
            rows: Sequence[Any] = session.execute(
                select(row.stamp_ns, row.outcome, row.prompt_tokens + row.completion_tokens,
                       row.cost)
                .where(row.stamp_ns > now_ns - HOUR_NS, row.stamp_ns < now_ns + HOUR_NS,
                       row.purpose == 'summary').order_by(row.stamp_ns)).all()
        return [Use(stamp_ns, int(bool(tokens) or outcome not in NOT_SERVED), tokens, cost)
                for stamp_ns, outcome, tokens, cost in rows]

    def _reason(self, spent: Use, wanted: Use) -> str:
        limits = self.settings
        if limits.hourly_calls and spent.calls + wanted.calls > limits.hourly_calls:
            return f'the model calls for summaries in an hour ({limits.hourly_calls}) are made'
        if limits.hourly_tokens and spent.tokens + wanted.tokens > limits.hourly_tokens:
            return (f'of the {limits.hourly_tokens} tokens for summaries in an hour '
                    f'{spent.tokens} are spent, and the next call takes about {wanted.tokens}')
        if limits.hourly_cost and (spent.cost >= limits.hourly_cost
                                   or spent.cost + wanted.cost > limits.hourly_cost):
            return (f'of the ${limits.hourly_cost:.2f} for summaries in an hour '
                    f'${spent.cost:.4f} are spent, and the next call costs about '
                    f'${wanted.cost:.4f}')
        return ''


def _sum(one: Use, other: Use) -> Use:
    return Use(one.stamp_ns, one.calls + other.calls, one.tokens + other.tokens,
               one.cost + other.cost)


def estimate(messages: Sequence[dict[str, Any]]) -> int:
    """Return about how many tokens a prompt has, rather too many than too few."""
    return sum(4 + token_estimate.estimate(str(message['content'])) for message in messages)
