"""Biographies from a kitchen's log, by instances alone, beside a reading of its lines as they are.

Each line of an observation names the instance that was moved; so each instance is one entity, with
a dated move for each of its lines, however many others share its name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
import json
from pathlib import Path

import pytest
from sqlalchemy import select

from emv_ros.biography.upkeep import keep
from emv_ros.ingest.importing import import_path
from emv_ros.memory import schema
from emv_ros.memory.lives import lives
from emv_ros.memory.store import MemoryStore
from emv_ros.memory.writer import BatchWriter
from emv_ros.settings import MemorySettings, Settings

LOG = Path(__file__).resolve().parents[3] / 'shared' / 'data' / 'hdepic_P01.jsonl'
pytestmark = pytest.mark.skipif(not LOG.exists(), reason='the log is not beside the checkout')

Moves = dict[str, list[tuple[int, int, str]]]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def ns(stamp: str) -> int:
    return (datetime.fromisoformat(stamp) - EPOCH) // timedelta(microseconds=1) * 1000


@pytest.fixture(scope='module')
def moves() -> Moves:
    """Return what the lines say: of each instance its moves, in order of time."""
    found = defaultdict[str, set[tuple[int, int, str]]](set)
    for text in LOG.read_text(encoding='utf-8').splitlines():
        line = json.loads(text)
        if line['type'] == 'observation':
            found[line['instance']].add((ns(line['t']), ns(line['t_end']), line['name']))
    return {instance: sorted(told) for instance, told in found.items()}


@pytest.fixture(scope='module')
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> MemoryStore:
    store = MemoryStore.open(MemorySettings(robot='kitchen'), tmp_path_factory.mktemp('memory'))
    writer = BatchWriter(store)
    import_path(LOG, writer, robot='kitchen', zone='UTC')
    writer.close()
    report = keep(store, Settings(), 'kitchen')
    assert report.lines() == ['2297 observations joined 1220 entities, 1220 new']
    return store


def test_each_instance_is_one_entity_with_its_moves(kitchen: MemoryStore, moves: Moves) -> None:
    row = schema.ObservationRow
    held = defaultdict[int, list[tuple[int, int, str]]](list)
    instance_of: dict[int, set[str]] = defaultdict(set)
    with kitchen.reading() as session:
        for item in session.scalars(select(row).order_by(row.stamp_ns, row.end_ns)):
            assert item.entity_id is not None
            held[item.entity_id].append((item.stamp_ns, item.end_ns, item.name))
            instance_of[item.entity_id].add(item.instance)
    assert all(len(instances) == 1 for instances in instance_of.values())
    assert {instances.pop(): sorted(held[key])
            for key, instances in instance_of.items()} == moves
    assert len(moves) == 1220 and sum(map(len, moves.values())) == 2297


def test_like_names_do_not_mix(kitchen: MemoryStore, moves: Moves) -> None:
    mugs = {instance for instance, told in moves.items() if told[0][2] == 'mug'}
    found, count = lives(kitchen, name='mug')
    told = [life for life in found if life.name == 'mug']
    assert len(mugs) == len(told) == 13 and count >= 13
    for life in told:
        instance = life.observations[0].instance
        assert instance in mugs and life.id == f'e{life.entity_id}'
        assert [(item.stamp_ns, item.end_ns, item.name)
                for item in life.observations] == moves[instance]
        assert len(life.unresolved) + len(life.different) == 12


def test_an_instance_answers_for_its_entity(kitchen: MemoryStore, moves: Moves) -> None:
    instance = max(moves, key=lambda key: (len(moves[key]), key))
    (life,), count = lives(kitchen, ids=[instance])
    assert count == 1 and len(life.observations) == len(moves[instance])
    (same,), _ = lives(kitchen, ids=[life.id])
    assert same == life


def test_names_are_those_of_the_lines(kitchen: MemoryStore, moves: Moves) -> None:
    with kitchen.reading() as session:
        names = Counter(session.scalars(select(schema.EntityRow.name)))
    assert names == Counter(told[0][2] for told in moves.values())
    assert len(names) == 750
