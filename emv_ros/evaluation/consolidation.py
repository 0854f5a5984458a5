"""What a robot-day of consolidation costs while a life grows, and what starting over would cost.

Each night the day's records are added to a memory and consolidated, as a robot does it. Seconds are
those of the tree's own work: the model's time, and that of counting tokens, is measured apart. What
a model would make of the prompts is another bench's business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
import os
from pathlib import Path
import platform
import threading
from typing import Any

from emv_ros.evaluation.extractive import NAME, Extractive
from emv_ros.evaluation.from_scratch import Night, nights_to_measure, our_tree_anew, papers_way
from emv_ros.evaluation.life.days import FIRST_DAY, L0_KINDS, ZONE, Day, Life, keep_pictures
from emv_ros.evaluation.metered import Metered, Seconds, TokenCounter
from emv_ros.evaluation.row_changes import RowChanges
from emv_ros.evaluation.tree_facts import tree_facts
from emv_ros.evaluation.trend import integrated, trend
from emv_ros.memory.database import DATABASE_FILE, sqlite_url
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import Settings, TreeSettings
from emv_ros.timeline import Interval, day_span, parse_zone
from emv_ros.tree.consolidate import consolidate
from emv_ros.tree.summaries import Summarizer

ROBOT = 'robot'
# What is compared over the days, and must be flat.
SERIES = ('prompt_tokens', 'cpu_s', 'wall_s', 'rows')
NO_LIMIT = 10**9
# A rival is measured at so many nights only: what lies between is on a straight line, and our tree
# anew takes as long as all nights together.
PAPERS_EVERY, ANEW_EVERY = 10, 25


@dataclass(frozen=True, slots=True, kw_only=True)
class DayCost:
    """What one night cost. `rows` were inserted, changed or deleted, those of indices included."""

    day: int
    date: str
    episodes: int
    records: int
    adding_s: float
    cpu_s: float
    wall_s: float
    model_s: float
    calls: int
    prompt_tokens: int
    counted_tokens: int
    completion_tokens: int
    longest_prompt: int
    prompts_over_budget: int
    fallbacks: int
    nodes: int
    rows: int
    commits: int
    database_bytes: int


@dataclass(slots=True, kw_only=True)
class Bench:
    """One run: how long a life, of which seed, with which model; None is the stand-in."""

    days: int
    seed: int
    folder: Path
    settings: Settings
    counter: TokenCounter
    model: Summarizer | None = None
    model_name: str = ''
    every_night: bool = False
    rebuilds: bool = True
    cancel: threading.Event = field(default_factory=threading.Event)
    progress: Callable[[int, int], None] = lambda done, total: None
    costs: list[DayCost] = field(default_factory=list)
    papers: list[Night] = field(default_factory=list)
    anew: list[Night] = field(default_factory=list)
    _load_before: float = field(default_factory=lambda: os.getloadavg()[0])

    def run(self) -> dict[str, Any]:
        """Live all days and return the results; `cancel` ends it after the day under way."""
        lived, bare = self.folder / 'lived', self.folder / 'bare'
        with _open(lived) as store:
            life = Life(self.seed, keep_pictures(store))
            for number in range(1, self.days + 1):
                if self.cancel.is_set():
                    break
                day = life.day(number)
                self._live(store, day)
                if self.rebuilds:
                    self._rebuild(bare, day)
                self.progress(number, self.days)
            return self._results(store)

    def _live(self, store: MemoryStore, day: Day) -> None:
        """Add a day's records and consolidate them at its end."""
        adding, working, changes = Seconds(), Seconds(), RowChanges()
        with adding.measured():
            _add(store, day)
        model = Metered(self.model or Extractive(self.counter), self.counter, self.budget)
        with working.measured(), changes.counting():
            report = consolidate(store, self._nightly, model=model, now_ns=day.end_ns,
                                 cancel=self.cancel)
        own = working.without(model.spent)
        self.costs.append(DayCost(
            day=day.number, date=day.date.isoformat(), episodes=day.episodes,
            records=len(day.records), adding_s=adding.wall, cpu_s=own.cpu, wall_s=own.wall,
            model_s=model.spent.wall, calls=report.model_calls, prompt_tokens=report.prompt_tokens,
            counted_tokens=model.counted_tokens, completion_tokens=report.completion_tokens,
            longest_prompt=model.longest_prompt,
            prompts_over_budget=model.prompts_over_budget, fallbacks=report.fallbacks,
            nodes=report.events + report.goals + report.summaries, rows=changes.rows,
            commits=changes.commits, database_bytes=_database_bytes(store.folder)))

    def _rebuild(self, folder: Path, day: Day) -> None:
        """Add a day to the memory without a tree; on some nights build one from all of it."""
        with _open(folder) as store:
            _add(store, day)
            if day.number in self._nights(PAPERS_EVERY):
                first = day_span(FIRST_DAY, parse_zone(ZONE))
                self.papers.append(papers_way(
                    store, day.number, Interval(first.start_ns, day.end_ns), parse_zone(ZONE),
                    self.settings.tree, self.counter, self.context))
        if day.number in self._nights(ANEW_EVERY):
            self.anew.append(our_tree_anew(
                folder, ROBOT, day.number, day.end_ns, self._unlimited, self.counter,
                self.context))

    def _nights(self, every: int) -> list[int]:
        return nights_to_measure(self.days, 1 if self.every_night else every)

    @property
    def budget(self) -> int:
        """The tokens that a prompt for a summary may have."""
        return self.settings.tree.prompt_tokens

    @property
    def context(self) -> int:
        """The tokens that a model can read at all."""
        return self.settings.model.context_tokens

    @property
    def _nightly(self) -> TreeSettings:
        """The settings without limits by the hour: here all nights pass within a few minutes."""
        return replace(self.settings.tree, hourly_calls=0, hourly_tokens=0, hourly_cost=0.0)

    @property
    def _unlimited(self) -> TreeSettings:
        """The settings of a rebuild, which asks for as many summaries as it needs."""
        return replace(self._nightly, call_budget=NO_LIMIT)

    # What came of it

    def _results(self, store: MemoryStore) -> dict[str, Any]:
        counts = store.counts()
        return {
            'bench': 'consolidate', 'model': self.model_name or NAME,
            'tokens_by': self.counter.name, 'prompt_budget_tokens': self.budget,
            'context_tokens': self.context,
            'interrupted': len(self.costs) < self.days,
            'machine': {'cores': os.cpu_count(), 'python': platform.python_version(),
                        'load_average': [self._load_before, os.getloadavg()[0]]},
            'life': {
                'seed': self.seed, 'days': len(self.costs), 'first_day': FIRST_DAY.isoformat(),
                'zone': ZONE, 'episodes': sum(cost.episodes for cost in self.costs),
                'l0_records': sum(counts[kind] for kind in L0_KINDS),
                'records': {kind: counts[kind] for kind in (
                    *L0_KINDS, 'scene', 'observation', 'skill_report')}},
            'days': [asdict(cost) for cost in self.costs],
            'flat': {name: asdict(trend([float(getattr(cost, name)) for cost in self.costs]))
                     for name in SERIES} if self.costs else {},
            'total': _totals(self.costs),
            'longest_prompt': max((cost.longest_prompt for cost in self.costs), default=0),
            'prompts_over_budget': sum(cost.prompts_over_budget for cost in self.costs),
            'from_scratch': {
                'papers_way': _compared(self.papers, self.costs),
                'our_tree_anew': _compared(self.anew, self.costs)} if self.papers else None,
            'tree': asdict(tree_facts(store))}


def _totals(costs: Sequence[DayCost]) -> dict[str, float]:
    return {name: sum(getattr(cost, name) for cost in costs) for name in (
        'cpu_s', 'wall_s', 'model_s', 'adding_s', 'calls', 'prompt_tokens', 'counted_tokens',
        'completion_tokens', 'fallbacks', 'rows')}


def _compared(nights: Sequence[Night], costs: Sequence[DayCost]) -> dict[str, Any]:
    """Return the measured nights, the sum over all nights, and its ratio to what growing cost."""
    total, ratio, last = {}, {}, {}
    for name in ('prompt_tokens', 'completion_tokens', 'cpu_s', 'wall_s'):
        total[name] = integrated([(night.day, float(getattr(night, name))) for night in nights])
        grown = sum(getattr(cost, name) for cost in costs[:nights[-1].day])
        ratio[name] = total[name] / grown if grown else None
        tonight = getattr(costs[nights[-1].day - 1], name)
        last[name] = getattr(nights[-1], name) / tonight if tonight else None
    return {
        'nights': [asdict(night) for night in nights],
        'is_integrated': len(nights) < nights[-1].day,
        'total': total, 'ratio_of_totals': ratio, 'ratio_of_last_night': last,
        'first_night_over_context': next(
            (night.day for night in nights if night.over_context), None)}


def _open(folder: Path) -> MemoryStore:
    return MemoryStore(folder, sqlite_url(folder), ROBOT, ZONE)


def _add(store: MemoryStore, day: Day) -> None:
    """Add a day's records, in one session of the robot's clock."""
    store.begin_session(start_ns=day.records[0].stamp_ns, zone=ZONE)
    store.add_many(day.records)


def _database_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob(f'{DATABASE_FILE}*'))
