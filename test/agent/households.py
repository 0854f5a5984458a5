"""Small memories for the tests of the agent, told in local clock times, and a model by script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
import threading
from typing import Any

from databases import database_url

from emv_ros.agent.agent import Agent
from emv_ros.agent.answers import Answer, Question
from emv_ros.agent.console.library import Library
from emv_ros.agent.console.pictures import PictureReader
from emv_ros.agent.console.rows import local
from emv_ros.agent.console.sandbox import Output, Sandbox
from emv_ros.agent.console.tree_state import TreeState
from emv_ros.agent.console.windows import Clock
from emv_ros.agent.facts import recorded_span
from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.records import (
    Annotation,
    Scene,
    SceneObject,
    SceneRelation,
    SkillReport,
    Status,
    Utterance,
)
from emv_ros.retrieval.search import Searcher
from emv_ros.settings import AgentSettings, RetrievalSettings, Settings, TreeSettings
from emv_ros.timeline import from_datetime, parse_zone
from emv_ros.tree.consolidate import consolidate
from emv_ros.tree.view import TreeView

BERLIN = 'Europe/Berlin'
WORDS_ONLY = RetrievalSettings(embedder='none')
SETTINGS = Settings(retrieval=WORDS_ONLY)


@dataclass
class Household:
    """A memory under construction; times are local, as '2025-03-04 10:00' or with seconds."""

    store: MemoryStore
    zone: str = BERLIN

    def at(self, when: str) -> int:
        """Return the stamp of a local time."""
        return from_datetime(datetime.fromisoformat(when), parse_zone(self.zone))

    def run(self, skill: str, start: str, end: str = '', status: str = 'succeeded',
            stack: Sequence[str] = (), **fields: Any) -> str:
        """Add a run of a skill and return its id; without an end it goes on."""
        common = {'skill': skill, 'goal_stack': tuple(stack), 'source_id': f'{skill} {start}',
                  **fields}
        reports = [SkillReport(stamp_ns=self.at(start), status=Status.RUNNING, **common)]
        if end:
            reports.append(SkillReport(stamp_ns=self.at(end), status=Status(status), **common))
        return f's{self.store.add_many(reports)[-1]}'

    def say(self, when: str, text: str, speaker: str = 'user') -> str:
        """Add spoken words and return their id; those of 'robot' are its own."""
        return f'u{self.store.add(Utterance(stamp_ns=self.at(when), speaker=speaker, text=text, is_own=speaker == "robot"))}'  # noqa: E501

    def see(self, when: str, name: str, place: str = '', **fields: Any) -> str:
        """Add a scene with one object and return its id."""
        relations = (SceneRelation(subject=fields.get('instance') or name, predicate='on',
                                   object=place),) if place else ()
        return f'g{self.store.add(Scene(stamp_ns=self.at(when), objects=(SceneObject(name=name, **fields),), relations=relations))}'  # noqa: E501

    def goal(self, text: str, start: str, end: str) -> str:
        """Add an activity that its source named and return its id."""
        return f'a{self.store.add(Annotation(stamp_ns=self.at(start), end_ns=self.at(end), kind="goal", text=text))}'  # noqa: E501

    def consolidate(self) -> None:
        """Build the tree by calendar and template."""
        consolidate(self.store, TreeSettings(), zone=self.zone)

    @contextmanager
    def console(self, now: str, *, question: Window | None = None, zone: str = '',
                **limits: Any) -> Iterator[Console]:
        """Open a console at a local time."""
        zone_ = parse_zone(zone or self.zone)
        now_ns = self.at(now)
        window = question or Window(before_ns=now_ns)
        span = recorded_span(self.store, window)
        searcher = Searcher(self.store, WORDS_ONLY)
        library = Library(
            self.store, searcher, TreeState(TreeView(self.store, window, zone_), zone_), window,
            Clock(now_ns, zone_, span.end_ns if span else now_ns),
            PictureReader(self.store, None, limits.pop('looks', 8)), limits.get('calls', 200),
            choices=limits.pop('choices', ()))
        values = {'_root': library.tree.root(), '_now': local(now_ns, zone_),
                  'choices': list(library.choices)}
        with Sandbox(library.functions(), values, local(now_ns, zone_), **limits) as sandbox:
            yield Console(library, sandbox)

    def ask(self, text: str, model: Any, now: str = '2025-03-10 12:00',
            agent: AgentSettings | None = None, **options: Any) -> Answer:
        """Ask the agent with a model."""
        settings = Settings(retrieval=WORDS_ONLY, agent=agent or AgentSettings())
        cancel, progress = options.pop('cancel', None), options.pop('on_progress', None)
        return Agent(self.store, settings, model).ask(
            Question(text=text, query_time_ns=self.at(now), **options), cancel=cancel,
            on_progress=progress)


@dataclass
class Console:
    """A console and what its code did."""

    library: Library
    sandbox: Sandbox

    def run(self, code: str) -> Output:
        """Run one command."""
        self.library.shown.notes.clear()
        return self.sandbox.run(code)

    def lines(self, code: str) -> list[str]:
        """Run one command that must not fail and return the lines that it prints."""
        output = self.run(code)
        assert output.error == '', output
        return output.text.splitlines()

    def value(self, expression: str) -> str:
        """Return how an expression prints."""
        return '\n'.join(self.lines(f'print({expression})'))


@dataclass(frozen=True)
class Reply:
    """What the model client returns, as far as the agent reads it."""

    text: str
    prompt_tokens: int = 100
    completion_tokens: int = 10
    duration_s: float = 0.01


@dataclass
class ScriptedModel:
    """Replies by script, the last again and again; exceptions are raised, functions called."""

    replies: list[Any]
    reason: str = ''
    prompts: list[list[dict[str, Any]]] = field(default_factory=list)
    temperatures: list[float] = field(default_factory=list)

    def complete(self, messages: list[dict[str, Any]], **options: Any) -> Reply:
        """Return the next reply."""
        self.prompts.append(messages)
        self.temperatures.append(options['temperature'])
        reply = self.replies[min(len(self.prompts), len(self.replies)) - 1]
        if callable(reply):
            reply = reply(messages, **options)
        if isinstance(reply, Exception):
            raise reply
        return Reply(reply)

    def count_tokens(self, text: str) -> int:
        """Return an estimate: four characters a token."""
        return -(-len(text) // 4)

    def why_unavailable(self, purpose: str = 'agent') -> str:
        """Return the reason given; pictures are never looked at."""
        return self.reason or ('none' if purpose == 'vision' else '')

    def name(self, purpose: str = 'agent') -> str:
        """Return a name."""
        return 'scripted'

    @property
    def last_prompt(self) -> str:
        """The text of the latest prompt."""
        return '\n'.join(message['content'] for message in self.prompts[-1])


def code(*lines: str) -> str:
    """Return a reply as a model writes it."""
    return '```python\n' + '\n'.join(lines) + '\n```'


def open_memory(folder: Path, zone: str = BERLIN) -> Household:
    """Return an empty memory of a robot."""
    return Household(MemoryStore(folder, database_url(folder), 'r1', zone), zone)


def waiting(event: threading.Event) -> Callable[..., str]:
    """Return a reply that comes when an event is set."""
    def reply(messages: Any, **options: Any) -> str:
        assert event.wait(20)
        return 'pass'
    return reply
