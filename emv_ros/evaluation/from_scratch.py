"""The rivals of a tree that grows at its edge: the same history summarised from its beginning.

- The papers' way (H-EMV): events and goals derived from all records, then each level in one
  prompt, a numbered list of everything on it, until one summary is left. Levels are cut evenly
  into groups of `fan_out`, and the prompt is this project's own for lists, without its bound. The
  derived events are not even written to a database, which spares this rival time.
- Our tree anew: the tree of this project, consolidated in one go over a copy of a memory that
  holds the same records and no nodes. It tells what comes of not starting over from what comes of
  short prompts.

Both are asked of the stand-in for a model, and without any limit on calls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import tzinfo
import json
from pathlib import Path
import shutil
import tempfile

from emv_ros.evaluation.extractive import Extractive, grouped
from emv_ros.evaluation.metered import Metered, Seconds, TokenCounter
from emv_ros.memory.database import sqlite_url
from emv_ros.memory.rows import row_of
from emv_ros.memory.schema import NodeRow
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Node
from emv_ros.settings import TreeSettings
from emv_ros.timeline import Interval
from emv_ros.tree.consolidate import consolidate
from emv_ros.tree.drafts import Draft
from emv_ros.tree.growth import derived
from emv_ros.tree.levels import EPISODE
from emv_ros.tree.lines import numbered_lines
from emv_ros.tree.partition import evenly, ranges_of
from emv_ros.tree.replies import ask, numbered
from emv_ros.tree.stretch import load

# That way has no limit on the tokens of a prompt.
NO_LIMIT = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """What one night's rebuild cost; seconds without the model's.

    `over_context` of its prompts are longer than the model's context: no model could answer them.
    """

    day: int
    cpu_s: float
    wall_s: float
    calls: int
    prompt_tokens: int
    completion_tokens: int
    longest_prompt: int
    over_context: int


def papers_way(store: MemoryStore, day: int, span: Interval, zone: tzinfo, settings: TreeSettings,
               counter: TokenCounter, context_tokens: int) -> Night:
    """Derive all records of a span and summarise them level by level, one prompt a level."""
    spent, before = Seconds(), replace(counter.spent)
    prompts: list[int] = []
    replies = 0
    with spent.measured():
        nodes = _derived(store, span, settings)
        while len(nodes) > 1:
            lines = numbered_lines(nodes, zone)
            parts = evenly(nodes, settings.fan_out)
            prompts.append(counter.prompt(ask(lines, settings.fan_out, NO_LIMIT), 1))
            reply = grouped(numbered(lines), ranges_of(parts))
            replies += counter.count(reply)
            groups = json.loads(reply)['groups']
            nodes = [NodeRow(level=EPISODE, start_ns=part[0].start_ns,
                             end_ns=max(node.end_ns for node in part), name='', status='',
                             summary=group['summary'])
                     for part, group in zip(parts, groups, strict=True)]
    own = spent.without(Seconds(counter.spent.cpu - before.cpu, counter.spent.wall - before.wall))
    return Night(day=day, cpu_s=own.cpu, wall_s=own.wall, calls=len(prompts),
                 prompt_tokens=sum(prompts), completion_tokens=replies,
                 longest_prompt=max(prompts, default=0),
                 over_context=sum(tokens > context_tokens for tokens in prompts))


def our_tree_anew(folder: Path, robot: str, day: int, now_ns: int, settings: TreeSettings,
                  counter: TokenCounter, context_tokens: int) -> Night:
    """Consolidate a copy of the memory in `folder`, which must be closed and hold no nodes."""
    model = Metered(Extractive(counter), counter, context_tokens)
    spent = Seconds()
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        copy = Path(place) / 'memory'
        shutil.copytree(folder, copy)
        with MemoryStore(copy, sqlite_url(copy), robot) as store, spent.measured():
            report = consolidate(store, settings, model=model, now_ns=now_ns)
    own = spent.without(model.spent)
    return Night(day=day, cpu_s=own.cpu, wall_s=own.wall, calls=report.model_calls,
                 prompt_tokens=report.prompt_tokens, completion_tokens=report.completion_tokens,
                 longest_prompt=model.longest_prompt, over_context=model.prompts_over_budget)


def _derived(store: MemoryStore, span: Interval, settings: TreeSettings) -> list[NodeRow]:
    """Return the events and goals without a goal above them, as rows that are nowhere stored."""
    with store.reading() as session:
        robot_id = store.robot_id(session, store.robot)
        stretch, _ = load(session, robot_id, store.robot, span)
        drafts = derived(session, robot_id, span, stretch, settings)
    drafts.sort(key=lambda draft: (draft.start_ns, draft.end_ns))
    return [_row(draft, store.robot, robot_id) for draft in drafts]


def _row(draft: Draft, robot: str, robot_id: int) -> NodeRow:
    node: NodeRow = row_of(Node(
        robot=robot, level=draft.level, start_ns=draft.start_ns, end_ns=draft.end_ns,
        summary=draft.summary, name=draft.name, status=draft.status), robot_id)
    return node


def nights_to_measure(days: int, every: int) -> list[int]:
    """Return the nights at which a rival is measured: the first, each `every`th, the last."""
    return [day for day in range(1, days + 1) if day in (1, days) or day % every == 0]
