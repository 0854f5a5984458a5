"""Names of persons by clothing, each case by hand: the memory's zone is Berlin."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path

from databases import database_url
import pytest
from sqlalchemy import delete, update

from emv_ros.biography.clothing import name_people
from emv_ros.memory import queries, schema
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Observation
from emv_ros.timeline import from_datetime, parse_zone

BERLIN = 'Europe/Berlin'


@pytest.fixture
def home(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path, database_url(tmp_path), 'r1', BERLIN) as store:
        yield store


def person(store: MemoryStore, when: str, colour: str = '', name: str = 'person',
           clothing: str = '') -> int:
    start_ns = from_datetime(datetime.fromisoformat(when), parse_zone(BERLIN))
    worn = {'colour': colour, 'clothing': clothing}
    return store.add(Observation(
        stamp_ns=start_ns, end_ns=start_ns + 10 ** 9, name=name, is_person=True, made_by='rule',
        attributes={key: value for key, value in worn.items() if value}))


def names(store: MemoryStore, *ids: int) -> list[str]:
    return [store.get('observation', key).name for key in ids]


def test_the_only_one_who_wears_it_that_day_is_named(home: MemoryStore) -> None:
    early = person(home, '2026-03-02 08:00', 'red')
    person(home, '2026-03-02 09:00', clothing='a red pullover', name='Clara')
    late = person(home, '2026-03-02 23:30', 'red')  # 22:30 UTC, and the same day in Berlin
    other = person(home, '2026-03-02 10:00', 'blue')
    report = name_people(home, 'r1')
    assert (report.named, report.undone) == (2, 0)
    assert names(home, early, late, other) == ['Clara', 'Clara', 'person']
    seen = home.get('observation', early)
    assert seen.attributes['named_by'] == 'red clothing'
    assert seen.extra['called']['was'] == 'person'
    assert seen.extra['called']['known_ns'] > seen.stamp_ns  # not before Clara was seen at nine
    assert queries.observations(home, text='Clara')[0].id == early
    again = name_people(home, 'r1')
    assert (again.named, again.undone) == (0, 0)


def test_another_day_tells_nothing(home: MemoryStore) -> None:
    person(home, '2026-03-02 23:50', 'red', 'Clara')
    next_day = person(home, '2026-03-03 00:10', 'red')
    name_people(home, 'r1')
    assert names(home, next_day) == ['person']


@pytest.mark.parametrize(('worn', 'told'), [
    ('red and blue', ''), ('', ''), ('', 'a striped shirt'), ('', 'red shirt, blue jacket')])
def test_mixed_and_unknown_clothing_names_nobody(
        home: MemoryStore, worn: str, told: str) -> None:
    person(home, '2026-03-02 08:00', worn, 'Clara', told)
    other = person(home, '2026-03-02 09:00', worn, clothing=told)
    name_people(home, 'r1')
    assert names(home, other) == ['person']


def test_what_two_wear_names_nobody_and_undoes_what_was_named(home: MemoryStore) -> None:
    person(home, '2026-03-02 08:00', 'green', 'Clara')
    other = person(home, '2026-03-02 09:00', 'green')
    name_people(home, 'r1')
    assert names(home, other) == ['Clara']
    person(home, '2026-03-02 18:00', 'green', 'Ben')
    report = name_people(home, 'r1')
    assert (report.named, report.undone) == (0, 1)
    seen = home.get('observation', other)
    assert (seen.name, 'called' in seen.extra, 'named_by' in seen.attributes) == (
        'person', False, False)
    assert {item.id for item in queries.observations(home, text='Clara')} == {1}


def test_two_in_one_colour_who_were_seen_apart_are_told_apart_by_nothing(
        home: MemoryStore) -> None:
    clara = person(home, '2026-03-02 08:00', 'red', 'Clara')
    others = [person(home, f'2026-03-02 {hour}:00', 'red') for hour in (10, 11)]
    with home.writing() as session:
        session.add(schema.SeparationRow(first_id=clara, second_id=others[0], shared_frames=5))
    name_people(home, 'r1')
    assert names(home, *others) == ['person', 'person']


def test_a_name_by_clothing_is_no_evidence_itself(home: MemoryStore) -> None:
    person(home, '2026-03-02 08:00', 'red', 'Clara')
    other = person(home, '2026-03-02 09:00', 'red')
    name_people(home, 'r1')
    with home.writing() as session:
        session.execute(delete(schema.ObservationRow).where(schema.ObservationRow.id == 1))
        session.execute(update(schema.ObservationRow).values(pending=False))
    assert name_people(home, 'r1').undone == 0  # nothing of that day waits
    assert name_people(home, 'r1', [date(2026, 3, 2)]).undone == 1
    assert names(home, other) == ['person']


def test_a_name_that_an_operator_gave_counts(home: MemoryStore) -> None:
    first, other = (person(home, f'2026-03-02 {hour}:00', 'red') for hour in ('08', '09'))
    with home.writing() as session:
        entity = schema.EntityRow(robot_id=1, name='Clara', is_person=True,
                                  attributes={'named_by': 'operator'})
        session.add(entity)
        session.flush()
        session.execute(update(schema.ObservationRow).where(
            schema.ObservationRow.id == first).values(entity_id=entity.id))
    name_people(home, 'r1')
    assert names(home, other) == ['Clara']


def test_words_of_a_speaker_are_no_evidence(home: MemoryStore) -> None:
    other = person(home, '2026-03-02 09:00', 'red')
    name_people(home, 'r1')
    assert names(home, other) == ['person']
