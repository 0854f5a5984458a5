"""How well a model writes the summaries of a memory: at which try, for what it was refused.

The tree is made anew over a copy of the memory, first by rule, then with the model; the memory
itself is only read. What the checks let pass is looked through once more at the end. Whether what
they let pass is true is for a person to say: the texts come with the lines that they sum up.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import tzinfo
from pathlib import Path
import sqlite3
import threading
import time
from typing import Any

from sqlalchemy import delete, select, update

from emv_ros.errors import StoreError
from emv_ros.memory import schema
from emv_ros.memory.database import DATABASE_FILE, sqlite_url
from emv_ros.memory.schema import NodeRow
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import TreeSettings
from emv_ros.timeline import format_stamp, parse_zone
from emv_ros.tree.account import Account
from emv_ros.tree.checks import faults_in
from emv_ros.tree.consolidate import consolidate
from emv_ros.tree.levels import EPISODE
from emv_ros.tree.lines import facts_of, plain_lines
from emv_ros.tree.summaries import Summarizer, SummaryWriter
from emv_ros.tree.tidy import Tidy

# What a copy for measuring holds none of: the tree, and what was kept of calls and runs.
_MADE = (schema.NodeMemberRow, schema.NodeRow, schema.ModelReplyRow, schema.StateRow)


@dataclass(frozen=True, slots=True)
class Text:
    """A text that a model wrote, and the lines of what it sums up; `faults` by kind."""

    level: int
    start: str
    summary: str
    lines: tuple[str, ...]
    faults: tuple[str, ...]


def copy_without_tree(store: MemoryStore, folder: Path) -> None:
    """Copy the database of a memory, without its tree, into a folder; all records wait there.

    Raises StoreError where the memory is no SQLite database.
    """
    with store.reading() as session, closing(sqlite3.connect(folder / DATABASE_FILE)) as copy:
        origin = session.connection().connection.driver_connection
        if not isinstance(origin, sqlite3.Connection):
            raise StoreError('summaries are measured on a copy, which takes a memory in SQLite')
        origin.backup(copy)
    with MemoryStore(folder, sqlite_url(folder), store.robot) as fresh, fresh.writing() as session:
        for table in _MADE:
            session.execute(delete(table))
        session.execute(delete(schema.DocumentRow).where(schema.DocumentRow.kind == 'node'))
        for table in schema.KINDS.values():
            if hasattr(table, 'pending'):
                session.execute(update(table).values(pending=True))


class SummaryBench:
    """The summaries of one robot's memory by one model."""

    def __init__(self, store: MemoryStore, robot: str, zone: tzinfo | None,
                 settings: TreeSettings, model: Summarizer,
                 cancel: threading.Event | None = None) -> None:
        """`store` is a copy that `copy_without_tree` made; it is changed."""
        self.store = store
        self.robot = robot
        self.zone = zone or parse_zone(store.zone_of([robot]))
        self.settings = settings
        self.cancel = cancel
        self.writer = SummaryWriter(model, settings, cancel)

    def run(self) -> dict[str, Any]:
        """Make the tree by rule, have the model write it, and return what came of it."""
        consolidate(self.store, replace(self.settings, use_model=False), robot=self.robot,
                    zone=self.zone, cancel=self.cancel)
        waiting = self._waiting()
        begun = time.monotonic()
        tidy = Tidy(self.store, self.robot, self.zone, self.settings, self.writer,
                    cancel=self.cancel)
        tidy.run()
        seconds = time.monotonic() - begun
        texts = self._texts()
        spent = self.writer.asking.spent
        return {
            'robot': self.robot, 'model': self.writer.asking.name,
            'model_groups': self.settings.model_groups, 'texts_to_write': waiting,
            'is_whole': self.writer.ready, 'calls': self.writer.calls,
            'prompt_tokens': spent.prompt_tokens, 'completion_tokens': spent.completion_tokens,
            'seconds': round(seconds, 1), 'summaries': shares(self.writer.texts),
            'lists': shares(self.writer.lists),
            'left': dict(Counter(kind for text in texts for kind in text.faults)),
            'texts': texts}

    def _waiting(self) -> int:
        with self.store.reading() as session:
            return len(list(session.scalars(select(NodeRow.id).where(
                NodeRow.level >= EPISODE, NodeRow.made_by == 'calendar'))))

    def _texts(self) -> list[Text]:
        with self.store.reading() as session:
            nodes = list(session.scalars(select(NodeRow).where(
                NodeRow.level >= EPISODE, NodeRow.made_by == 'model')
                .order_by(NodeRow.level, NodeRow.start_ns)))
            return [self._text(node, list(session.scalars(
                select(NodeRow).where(NodeRow.parent_id == node.id)
                .order_by(NodeRow.start_ns, NodeRow.end_ns, NodeRow.id)))) for node in nodes]

    def _text(self, node: NodeRow, children: list[NodeRow]) -> Text:
        lines = plain_lines(children, self.zone)
        faults = faults_in(node.summary, lines, [facts_of(child, self.zone) for child in children])
        return Text(node.level, format_stamp(node.start_ns, self.zone)[:16], node.summary,
                    tuple(lines), tuple(fault.kind for fault in faults))


def shares(account: Account) -> dict[str, Any]:
    """Return the counts of an account with their shares of all, and the refusals by kind."""
    total = account.first + account.again + account.failed
    return {
        'asked': total, 'first_try': account.first, 'after_asking_again': account.again,
        'fallback': account.failed, **({} if not total else {
            'first_try_share': round(account.first / total, 3),
            'after_asking_again_share': round(account.again / total, 3),
            'fallback_share': round(account.failed / total, 3)}),
        'refused': dict(account.refused.most_common())}
