"""Does one search find the evidence of a question? The whole search beside parts of it left out.

For each question with evidence windows one search of `units` units is made, and what it would show
a model is rendered. A window is *touched* where a record that is shown overlaps it; a question is
touched where one of its windows is, and wholly covered where all are. Only records count: an
episode or a day that spans a window tells nothing by that. Each way but the first is a change of
the settings of the product; the first is a plain BM25 over the raw records, with the local times in
their text. Tokens are estimated alike for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import tzinfo
import re
import sqlite3
from typing import Any

from emv_ros.evaluation.proportions import wilson
from emv_ros.evaluation.questions import AskedQuestion
from emv_ros.evaluation.scoring.evidence import windows_touched
from emv_ros.memory import queries
from emv_ros.memory.documents import named_values
from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Annotation, Observation, SkillEvent, Utterance
from emv_ros.retrieval.embedders import TextEmbedder
from emv_ros.retrieval.excerpts import excerpts
from emv_ros.retrieval.finding import Finder
from emv_ros.retrieval.search import Searcher
from emv_ros.settings import RetrievalSettings
from emv_ros.timeline import Interval, format_stamp
from emv_ros.token_estimate import estimate

PLAIN = 'plain BM25 over raw records'
# What each ablation leaves out of the settings.
ABLATIONS: Mapping[str, Mapping[str, Any]] = {
    'full search': {},
    'no times from the words': {'time_words': False},
    'lexical only': {'embedder': 'none'},
    'vectors only': {'words': False},
    'vectors only, flat (no graph, units or times)': {
        'words': False, 'graph': False, 'merge': 'none', 'time_words': False},
    'no graph': {'graph': False},
    'no same-entity edges': {'merge': 'events'},
    'entities by name': {'merge': 'name'},
}
# So much may be shown; the share of it that is used is what the table tells.
MAX_TOKENS = 2000
_WORD = re.compile(r'[^\W_]+')

Shown = tuple[list[Interval], int]


@dataclass
class WayReport:
    """How one way of searching did over all questions with evidence."""

    way: str
    questions: int = 0
    touched: int = 0
    covered: int = 0
    windows: int = 0
    windows_touched: int = 0
    tokens: int = 0
    seconds: float = 0.0
    missed: list[str] = field(default_factory=list)

    def add(self, question: AskedQuestion, shown: Sequence[Interval], tokens: int) -> None:
        """Count one question."""
        hits = windows_touched(shown, question.evidence)
        self.questions += 1
        self.windows += len(question.evidence)
        self.windows_touched += hits
        self.touched += hits > 0
        self.covered += hits == len(question.evidence)
        self.tokens += tokens
        if hits < len(question.evidence):
            self.missed.append(question.id)

    def to_dict(self) -> dict[str, Any]:
        """Return shares with their 95 % intervals, and means."""
        count = max(1, self.questions)
        return {**asdict(self), 'tokens': round(self.tokens / count, 1),
                'touched_share': round(self.touched / count, 4),
                'touched_95': [round(end, 4) for end in wilson(self.touched, self.questions)],
                'covered_share': round(self.covered / count, 4),
                'covered_95': [round(end, 4) for end in wilson(self.covered, self.questions)]}


def evaluate_retrieval(
        store: MemoryStore, questions: Sequence[AskedQuestion], settings: RetrievalSettings,
        zone: tzinfo, embedder: TextEmbedder | None, units: int = 16,
        ways: Iterable[str] = (PLAIN, *ABLATIONS),
        progress: Callable[[str], None] = lambda _: None) -> list[WayReport]:
    """Return how each way of searching finds the evidence of the questions that have some.

    The memory is consolidated and its texts have vectors, as far as there is an embedder.
    """
    asked = [question for question in questions if question.evidence]
    reports = []
    for way in ways:
        progress(way)
        search = (_plain_search(store, zone, units) if way == PLAIN else
                  _search(store, replace(settings, **ABLATIONS[way]), zone, embedder, units))
        report = WayReport(way)
        for question in asked:
            report.add(question, *search(question))
        reports.append(report)
    return reports


def _search(store: MemoryStore, settings: RetrievalSettings, zone: tzinfo,
            embedder: TextEmbedder | None, units: int) -> Callable[[AskedQuestion], Shown]:
    chosen = None if settings.embedder == 'none' else embedder
    if chosen is None:
        settings = replace(settings, embedder='none')
    finder = Finder(store, Searcher(store, settings, chosen))

    def search(question: AskedQuestion) -> Shown:
        found = finder.find(question.text, Window(before_ns=question.query_time_ns), zone=zone,
                            limit=units)
        shown = excerpts(found, zone, MAX_TOKENS)
        return [Interval(span.start_ns, span.end_ns) for unit in shown.shown
                if unit.kind != 'node' for span in unit.spans], estimate(shown.text)
    return search


def _plain_search(store: MemoryStore, zone: tzinfo,
                  units: int) -> Callable[[AskedQuestion], Shown]:
    """Return BM25 over the raw records, the words of the question as they are."""
    index = sqlite3.connect(':memory:')
    index.execute('CREATE VIRTUAL TABLE raw USING fts5(text, start UNINDEXED, end UNINDEXED)')
    index.executemany('INSERT INTO raw VALUES (?, ?, ?)', _raw_records(store, zone))

    def search(question: AskedQuestion) -> Shown:
        words = dict.fromkeys(word.lower() for word in _WORD.findall(question.text))
        if not words:
            return [], 0
        rows = index.execute(
            'SELECT text, start, end FROM raw WHERE raw MATCH ? AND start < ? '
            'ORDER BY rank, rowid LIMIT ?',
            (' OR '.join(f'"{word}"' for word in words),
             2 ** 62 if question.query_time_ns is None else question.query_time_ns,
             units)).fetchall()
        return ([Interval(start, end) for _, start, end in rows],
                estimate('\n'.join(text for text, _, _ in rows)))
    return search


def _raw_records(store: MemoryStore, zone: tzinfo) -> Iterable[tuple[str, int, int]]:
    kinds: tuple[list[Any], ...] = (
        queries.skill_events(store), queries.utterances(store), queries.annotations(store),
        queries.observations(store))
    for record in (item for found in kinds for item in found):
        end_ns = max(record.stamp_ns, record.end_ns or record.stamp_ns)
        times = dict.fromkeys(format_stamp(stamp, zone) for stamp in (record.stamp_ns, end_ns))
        yield ' '.join(filter(None, (*times, *_values(record)))), record.stamp_ns, end_ns


def _values(record: SkillEvent | Utterance | Annotation | Observation) -> Iterable[str]:
    """Yield all that a raw record says, identities included."""
    extra = [value for _, value in named_values(record.extra)]
    match record:
        case SkillEvent():
            return ['skill', record.skill, str(record.status), *record.goal_stack,
                    *(value for _, value in named_values(record.parameters)), record.narration,
                    *extra]
        case Utterance():
            return ['speech', record.speaker, record.text, *extra]
        case Annotation():
            return [record.kind, record.text, *extra]
        case Observation():
            return ['observation', record.name, record.instance, record.event, record.text,
                    record.location, *extra]
