"""What goes into the agent and what comes out: a question, its progress, its answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class QueryStatus(StrEnum):
    """What happened to a question; the numbers of srv/QueryEpisodicMemory, in order from 0."""

    UNKNOWN = 'UNKNOWN'
    ANSWERED = 'ANSWERED'
    NOT_RECORDED = 'NOT_RECORDED'
    RETRIEVED_ONLY = 'RETRIEVED_ONLY'
    TIMEOUT = 'TIMEOUT'
    LIMIT = 'LIMIT'
    CANCELED = 'CANCELED'
    BUSY = 'BUSY'
    ERROR = 'ERROR'


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question in words. Nothing at or after `query_time_ns` is seen.

    `start_ns` and `end_ns` narrow what may be used; None is open. A limit of 0 takes the setting.
    With `choices` the answer is one of them.
    """

    text: str
    query_time_ns: int
    robots: tuple[str, ...] = ()
    start_ns: int | None = None
    end_ns: int | None = None
    max_rounds: int = 0
    max_tokens: int = 0
    time_limit_s: float = 0.0
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceItem:
    """A record or node that an answer rests on: `id` as shown ('s5'), its picture's path or ''."""

    id: str
    kind: str
    robot: str
    start_ns: int
    end_ns: int
    text: str
    image_path: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a question stands: 'searching', 'thinking', 'running' or 'answering'."""

    phase: str
    round: int = 0
    command: str = ''
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The outcome of a question. `message` says why, where the status is not ANSWERED.

    `choice` is the index from 0 of the choice that was taken, None without choices or a decision.
    """

    status: QueryStatus
    answer: str = ''
    message: str = ''
    evidence: tuple[EvidenceItem, ...] = ()
    query_id: int | None = None
    rounds: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    duration_s: float = 0.0
    model: str = ''
    choice: int | None = None
