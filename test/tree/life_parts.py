"""A small life, told in seconds after nine o'clock, and looks at the tree made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import threading
from typing import Any

from databases import database_url
from whole import below_days, check_whole

from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.records import (
    Annotation,
    JointSample,
    Observation,
    Scene,
    SceneObject,
    SkillReport,
    Status,
    Utterance,
)
from emv_ros.settings import TreeSettings
from emv_ros.timeline import SECOND_NS, parse_stamp, parse_zone
from emv_ros.tree.consolidate import consolidate
from emv_ros.tree.view import TreeView

__all__ = ['below_days', 'check_whole']

START_NS, _ = parse_stamp('2024-03-04T09:00:00Z')  # a Monday
DAY_S = 86_400
SETTINGS = TreeSettings()
UTC = parse_zone('UTC')


def at(seconds: float) -> int:
    """Return the stamp of a number of seconds after nine."""
    return START_NS + round(seconds * SECOND_NS)


def span(skill: str, start: float, end: float, stack: Sequence[str] = (), status: str = 'succeeded',
         **more: Any) -> list[SkillReport]:
    """Return the reports of a run, at its start and at its end."""
    return [SkillReport(stamp_ns=at(start), skill=skill, status=Status.RUNNING,
                        goal_stack=tuple(stack), **more),
            SkillReport(stamp_ns=at(end), skill=skill, status=Status(status),
                        goal_stack=tuple(stack), **more)]


def say(seconds: float, text: str, speaker: str = 'user', **more: Any) -> Utterance:
    return Utterance(stamp_ns=at(seconds), speaker=speaker, text=text, **more)


def see(seconds: float, *names: str, **more: Any) -> Scene:
    return Scene(stamp_ns=at(seconds), **more,
                 objects=tuple(SceneObject(name=name) for name in names))


def goal(text: str, start: float, end: float) -> Annotation:
    return Annotation(stamp_ns=at(start), end_ns=at(end), kind='goal', text=text)


def narrate(text: str, start: float, end: float) -> Annotation:
    return Annotation(stamp_ns=at(start), end_ns=at(end), kind='narration', text=text)


def notice(name: str, start: float, end: float, event: str = 'moved') -> Observation:
    return Observation(stamp_ns=at(start), end_ns=at(end), name=name, event=event)


def joints(seconds: float) -> JointSample:
    return JointSample(stamp_ns=at(seconds), names=('a',), position=(0.0,))


def open_memory(folder: Any, robot: str = 'r2', zone: str = 'UTC') -> MemoryStore:
    return MemoryStore(folder, database_url(folder), robot, zone)


def shape(store: MemoryStore, records: Sequence[Any] | None = None, **more: Any) -> Any:
    """Store the records, consolidate, and return the tree as `told` tells it."""
    if records:
        store.add_many(records)
    consolidate(store, more.pop('settings', SETTINGS), **more)
    return told(TreeView(store, Window(), UTC))


def told(view: TreeView, node_id: int | None = None) -> Any:
    """Return the tree below a node as nested (level, name or text, children)."""
    node = view.root if node_id is None else view.node(node_id)
    children = [told(view, child.id) for child in view.children(node.id or 0)]
    return (node.level, node.name or node.summary, children) if children else (
        node.level, node.name or node.summary)


@dataclass(frozen=True)
class Said:
    """A reply."""

    text: str
    prompt_tokens: int = 10
    completion_tokens: int = 5
    model: str = 'scripted'
    cost: float = 0.0


class Scripted:
    """A model that replies what the test says, or what a function makes of the messages."""

    def __init__(self, replies: Any, available: bool = True) -> None:
        self.replies = replies
        self.available = available
        self.asked: list[list[dict[str, Any]]] = []
        self.fixed: list[list[dict[str, Any]]] = []
        self.warmth: list[float] = []

    def complete(self, messages: list[dict[str, Any]], *, purpose: str, max_tokens: int,
                 schema: dict[str, Any] | None = None, deadline_s: float | None = None,
                 cancel: threading.Event | None = None, temperature: float = 0.0,
                 fixed_messages: int = 0) -> Said:
        assert purpose == 'summary'
        self.fixed.append(messages[:fixed_messages])
        self.warmth.append(temperature)
        self.asked.append([dict(message) for message in messages])
        reply = self.replies(messages) if callable(self.replies) else self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return Said(reply)


def listed(messages: list[dict[str, Any]]) -> list[str]:
    """Return the lines of a prompt without their numbers, or the records of a plain one."""
    if is_plain(messages):
        return messages[3]['content'].splitlines()[1:-1]
    return [line.partition('. ')[2] for line in messages[1]['content'].splitlines()
            if line.partition('. ')[0].isdigit()]


def is_plain(messages: list[dict[str, Any]]) -> bool:
    """Whether a prompt asks in plain words for one summary."""
    return messages[1]['content'].startswith('Records:')
