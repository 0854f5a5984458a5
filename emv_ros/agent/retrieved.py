"""An answer without a model: the best evidence that search finds, in words and with times."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from typing import TypeVar

from emv_ros.agent.answers import EvidenceItem
from emv_ros.agent.console.rows import evidence_item, row_of, span_of
from emv_ros.agent.console.shown import known_at
from emv_ros.errors import NotFoundError
from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.search import Hit, Searcher
from emv_ros.retrieval.terms import squash
from emv_ros.retrieval.units import Unit

BEST = 5
# Fewer letters than these may well end a sentence that says something.
MIN_ASKED_CHARS = 12

Found = TypeVar('Found', Hit, Unit)


def retrieve(store: MemoryStore, searcher: Searcher, question: str, window: Window,
             zone: tzinfo) -> tuple[str, tuple[EvidenceItem, ...]]:
    """Return (text, evidence) of what resembles the question most."""
    hits = without_echo(searcher.search(question, window, k=BEST + 3).hits, question)[:BEST]
    return in_words(store, hits, window, zone)


def without_echo(hits: Sequence[Found], question: str) -> list[Found]:
    """Return the hits without the question itself, which a robot may have heard and stored."""
    asked = squash(question)
    return [hit for hit in hits
            if hit.kind != 'utterance' or not _is_asked(squash(hit.text), asked)]


def _is_asked(heard: str, asked: str) -> bool:
    """Whether words are the question, perhaps after a speaker's name and "Hey robot".

    "I can see a soy milk" ends with a search for "soy milk" and is its best evidence.
    """
    return (len(asked) >= MIN_ASKED_CHARS and heard.endswith(asked)
            and len(heard) <= 2 * len(asked))


def in_words(store: MemoryStore, hits: Sequence[Hit], window: Window,
             zone: tzinfo) -> tuple[str, tuple[EvidenceItem, ...]]:
    """Return (text, evidence) of search hits; where there are none the text says so."""
    items = []
    for hit in hits:
        try:
            record = known_at(store.get(hit.kind, hit.ref_id), window.before_ns)
        except NotFoundError:
            continue
        items.append(evidence_item(row_of(hit.kind, record, zone), span_of(record)))
    if not items:
        return 'Nothing that was recorded resembles the question.', ()
    return 'The most similar records: ' + ' | '.join(item.text for item in items), tuple(items)
