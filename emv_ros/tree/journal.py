"""Replies that were paid for and whose texts are not committed yet, kept in the store.

A consolidation that is killed after a reply finds it here the next time and does not ask again.
They hold recorded words: they go when a consolidation ends, those of a conversation that it left
unfinished a day later at most, and `forget_replies` empties the journal of a robot.
Reads the wall clock, for the age of a reply alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
import hashlib
import json
import logging
import time
from typing import Any

from sqlalchemy import delete, or_, select

from emv_ros.errors import StoreError
from emv_ros.memory.clearing import times_forgotten
from emv_ros.memory.schema import ModelReplyRow, RobotRow
from emv_ros.memory.store import MemoryStore
from emv_ros.reply_like import ReplyLike
from emv_ros.timeline import HOUR_NS

log = logging.getLogger(__name__)

LONGEST_KEPT_NS = 24 * HOUR_NS


@dataclass(frozen=True, slots=True)
class PaidReply:
    """A reply and what it cost; an empty text is one that the client could not use."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    model: str = ''
    cost: float = 0.0


class Journal:
    """The journal of one robot."""

    def __init__(self, store: MemoryStore, robot: str) -> None:
        self.store = store
        self.robot = robot
        with store.reading() as session:
            self._forgotten = times_forgotten(session)

    def find(self, key: str) -> PaidReply | None:
        """Return the reply that was kept under a key, if there is one."""
        row = ModelReplyRow
        with self.store.reading() as session:
            found = session.scalar(select(row).join(RobotRow, RobotRow.id == row.robot_id).where(
                RobotRow.name == self.robot, row.key == key))
            return None if found is None else PaidReply(
                found.text, found.prompt_tokens, found.completion_tokens, found.model, found.cost)

    def keep(self, key: str, reply: ReplyLike) -> None:
        """Store a reply, unless something was forgotten since: it may repeat what that said.

        Where it fails, the text it serves may still be committed.
        """
        try:
            with self.store.writing() as session:
                if times_forgotten(session) != self._forgotten:
                    return
                session.merge(ModelReplyRow(
                    robot_id=self.store.robot_id(session, self.robot), key=key,
                    stamp_ns=time.time_ns(), model=reply.model, text=reply.text,
                    prompt_tokens=reply.prompt_tokens, completion_tokens=reply.completion_tokens,
                    cost=cost_of(reply)))
        except StoreError as error:
            log.error('a reply that was paid for cannot be kept: %s', error)

    def clear(self, keys: Iterable[str]) -> None:
        """Remove replies whose texts are committed, and all that are a day old."""
        row, gone = ModelReplyRow, list(keys)
        old = or_(row.stamp_ns < time.time_ns() - LONGEST_KEPT_NS,
                  row.stamp_ns > time.time_ns() + LONGEST_KEPT_NS)
        with self.store.reading() as session:
            if not gone and session.scalar(select(row.key).where(old).limit(1)) is None:
                return
        with self.store.writing() as session:
            robot_id = self.store.robot_id(session, self.robot)
            for start in range(0, len(gone), 500):
                session.execute(delete(row).where(
                    row.robot_id == robot_id, row.key.in_(gone[start:start + 500])))
            session.execute(delete(row).where(old))

    def empty(self) -> int:
        """Remove all, and return how many there were."""
        return forget_replies(self.store, self.robot)


def forget_replies(store: MemoryStore, robot: str) -> int:
    """Empty the journal of a robot, and return how many replies were in it.

    What asks for them again pays for them again.
    """
    row = ModelReplyRow
    of_robot = row.robot_id.in_(select(RobotRow.id).where(RobotRow.name == robot))
    with store.reading() as session:
        if session.scalar(select(row.key).where(of_robot).limit(1)) is None:
            return 0
    with store.writing() as session:
        gone: Any = session.execute(
            delete(row).where(of_robot).execution_options(synchronize_session=False))
        return int(gone.rowcount)


def key_of(model: str, messages: Sequence[dict[str, Any]], schema: dict[str, Any] | None,
           temperature: float, max_tokens: int) -> str:
    """Return what tells one question to a model from all others."""
    asked = json.dumps([model, list(messages), schema, temperature, max_tokens], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()


def cost_of(reply: ReplyLike) -> float:
    """Return the dollars of a reply, 0 where its model tells none."""
    return float(getattr(reply, 'cost', 0.0))
