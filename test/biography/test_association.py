"""Which entity each observation gets: every rule by looks that are worked out by hand.

Looks are unit vectors: `look(store, s, direction, off)` lies at the cosine sqrt(1 - off²) to its
direction, and two of them at about the product of their cosines and of their sines.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import threading

from databases import database_url
from entity_parts import NOON_NS, apart, held, look, said, see, written
import numpy as np
import pytest
from sqlalchemy import event, select

from emv_ros.biography import verdicts
from emv_ros.biography.association import LOT, AssociationReport, Associator, associate
from emv_ros.biography.waiting import as_vector, read_seen, waiting
from emv_ros.errors import StoreError
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import BiographySettings
from emv_ros.timeline import SECOND_NS

pytestmark = pytest.mark.both_databases

THRESHOLDS = 0.75, 0.60
TOLD = verdicts.Told(author='Anna', stamp_ns=NOON_NS)


def associated(store: MemoryStore, **settings: object) -> AssociationReport:
    return associate(store, BiographySettings(**settings), 'r1', THRESHOLDS)  # type: ignore[arg-type]


def groups(store: MemoryStore) -> list[list[int]]:
    """Return the observations of each entity."""
    return sorted(ids for key, ids in held(store).items() if key is not None)


def vector(store: MemoryStore, observation_id: int, values: np.ndarray, model: str = 'hand',
           kind: str = '<f4') -> None:
    with store.writing() as session:
        session.merge(schema.AppearanceRow(observation_id=observation_id, model=model,
                                           vector=values.astype(kind).tobytes()))


def turned(store: MemoryStore, start_s: float, degrees: float, **fields: object) -> int:
    """See something at an angle in the plane of the first two directions."""
    key = see(store, start_s, **fields)  # type: ignore[arg-type]
    turn = np.radians(degrees)
    vector(store, key, np.array([np.cos(turn), np.sin(turn)] + 14 * [0.0]))
    return key


def names(store: MemoryStore) -> dict[int, tuple[str, bool, dict[str, object]]]:
    with store.reading() as session:
        return {row.id: (row.name, row.is_person, row.attributes)
                for row in session.scalars(select(schema.EntityRow))}


# Looks

def test_what_looks_alike_is_one_thing_and_what_does_not_is_another(memory: MemoryStore) -> None:
    ids = [look(memory, 0, 0), look(memory, 60, 0, 0.3), look(memory, 120, 5)]
    report = associated(memory)
    assert groups(memory) == [ids[:2], ids[2:]]
    assert (report.observations, report.entities, report.new) == (3, 2, 2)
    assert report.words() == '3 observations joined 2 entities, 2 new'


def test_all_references_must_be_consistent(memory: MemoryStore) -> None:
    """cos 40° = 0.77 matches the second, cos 75° = 0.26 to the first is not consistent."""
    ids = [turned(memory, 0, 0), turned(memory, 60, 35), turned(memory, 120, 75)]
    associated(memory)
    assert groups(memory) == [ids[:2], ids[2:]]


def test_one_reference_must_match(memory: MemoryStore) -> None:
    """cos 45° = 0.71 is consistent with the only one there is, and no match."""
    ids = [turned(memory, 0, 0), turned(memory, 60, 45)]
    associated(memory)
    assert groups(memory) == [ids[:1], ids[1:]]


def test_the_best_mean_wins(memory: MemoryStore) -> None:
    """At 25° from one and 30° from the other: 0.906 and 0.866."""
    ids = [turned(memory, 0, 0), turned(memory, 60, 55), turned(memory, 120, 25)]
    associated(memory)
    assert groups(memory) == [[ids[0], ids[2]], [ids[1]]]


def test_of_two_that_look_the_same_the_one_seen_last_wins(memory: MemoryStore) -> None:
    first, second = turned(memory, 0, 0), turned(memory, 1, 0)
    apart(memory, first, second)
    third = turned(memory, 60, 0)
    associated(memory)
    assert groups(memory) == [[first], [second, third]]


def test_only_the_latest_references_are_compared(memory: MemoryStore) -> None:
    """It turns by 20° a time: 60° from the first is inconsistent unless that is forgotten."""
    ids = [turned(memory, 60 * step, 20 * step) for step in range(5)]
    associated(memory, references=2)
    assert groups(memory) == [ids]


def test_with_more_references_the_same_turn_is_too_far(memory: MemoryStore) -> None:
    ids = [turned(memory, 60 * step, 20 * step) for step in range(5)]
    associated(memory, references=10)
    assert groups(memory) == [ids[:3], ids[3:]]


def test_persons_are_never_things(memory: MemoryStore) -> None:
    ids = [look(memory, 0, 0), look(memory, 60, 0, is_person=True)]
    associated(memory)
    assert groups(memory) == [ids[:1], ids[1:]]


def test_two_seen_apart_are_never_one_at_any_remove(memory: MemoryStore) -> None:
    """Three times two like cups: the one seen apart is no reference any more after two others."""
    ids = [look(memory, 60 * pair + side, 0) for pair in range(3) for side in range(2)]
    for pair in range(3):
        apart(memory, ids[2 * pair], ids[2 * pair + 1])
    associated(memory, references=1)
    for members in groups(memory):
        assert not any({ids[2 * pair], ids[2 * pair + 1]} <= set(members) for pair in range(3))
    assert len(groups(memory)) == 2


def test_a_late_observation_takes_its_place_by_its_time(memory: MemoryStore) -> None:
    keeper = Associator(memory, BiographySettings(references=2), 'r1', THRESHOLDS)
    first = [turned(memory, 60, 0), turned(memory, 120, 20)]
    keeper.run()
    late = turned(memory, 30, 30)
    keeper.run()
    assert groups(memory) == [[*first, late]]
    # The references are still those at 0° and 20°: 40° fits both; it would not fit -10°.
    newest = turned(memory, 180, 40)
    keeper.run()
    assert groups(memory) == [[*first, late, newest]]


# Instances

def test_an_instance_is_one_thing_whatever_it_looks_like(memory: MemoryStore) -> None:
    ids = [look(memory, 0, 0, instance='mug_3'), look(memory, 60, 5, instance='mug_3'),
           look(memory, 120, 0, instance='mug_4')]
    associated(memory)
    assert groups(memory) == [ids[:2], ids[2:]]


def test_an_instance_reaches_as_far_as_the_setting_says(memory: MemoryStore) -> None:
    sessions = [memory.begin_session('r1', NOON_NS) for _ in range(2)]
    ids = [see(memory, 60 * at, instance='1', session_id=session)
           for at, session in enumerate(sessions)]
    associated(memory)
    assert groups(memory) == [ids[:1], ids[1:]]


def test_an_instance_for_good_joins_sessions(memory: MemoryStore) -> None:
    sessions = [memory.begin_session('r1', NOON_NS) for _ in range(2)]
    ids = [see(memory, 60 * at, instance='1', session_id=session)
           for at, session in enumerate(sessions)]
    associated(memory, instances='robot')
    assert groups(memory) == [ids]


def test_instances_that_begin_anew_meet_again_by_looks(memory: MemoryStore) -> None:
    """Ids that restart with each session: 1 and 2 are other things then."""
    early, later = (memory.begin_session('r1', NOON_NS) for _ in range(2))
    ids = [look(memory, 0, 0, instance='1', session_id=early),
           look(memory, 1, 5, instance='2', session_id=early),
           look(memory, 60, 5, instance='1', session_id=later),
           look(memory, 61, 0, instance='2', session_id=later)]
    associated(memory)
    assert groups(memory) == [[ids[0], ids[3]], [ids[1], ids[2]]]


def test_no_evidence_no_entity(memory: MemoryStore) -> None:
    see(memory, 0)
    report = associated(memory)
    assert (report.observations, report.without_evidence, report.words()) == (0, 1, '')
    assert held(memory) == {None: [1]} and not names(memory)


# What persons said

def test_a_person_who_says_same_beats_looks(memory: MemoryStore) -> None:
    ids = [look(memory, 0, 0), look(memory, 60, 5)]
    with memory.writing() as session:
        verdicts.tie(session, ids, TOLD)
    associated(memory)
    assert groups(memory) == [ids]


def test_a_person_who_says_different_beats_looks_and_instances(memory: MemoryStore) -> None:
    ids = [look(memory, 0, 0, instance='1'), look(memory, 60, 0, instance='1'),
           look(memory, 120, 0)]
    with memory.writing() as session:
        verdicts.part(session, ids[:1], ids[1:], TOLD)
    assert (ids[0], ids[1], 'different') in said(memory)
    associated(memory)
    assert groups(memory) == [ids[:1], ids[1:]]


def test_what_was_split_stays_split_though_its_instance_is_one(memory: MemoryStore) -> None:
    ids = [see(memory, 60 * at, instance='1') for at in range(4)]
    with memory.writing() as session:
        verdicts.part(session, ids[:2], ids[2:], TOLD)
    associated(memory)
    assert groups(memory) == [ids[:2], ids[2:]]


def test_what_will_be_another_by_its_instance_is_none_by_looks(memory: MemoryStore) -> None:
    """Of two in one clip the first, without an instance, looks like what the other is known as."""
    known = look(memory, 0, 0, instance='1')
    first, second = look(memory, 60, 0), look(memory, 61, 0, instance='1')
    apart(memory, first, second)
    associated(memory)
    assert groups(memory) == [[known, second], [first]]


def test_an_instance_seen_twice_in_one_frame_vouches_for_nothing(memory: MemoryStore) -> None:
    ids = [see(memory, at, instance='1') for at in range(2)]
    apart(memory, *ids)
    associated(memory)
    assert groups(memory) == [ids[:1], ids[1:]]


def test_a_long_chain_of_words_is_followed_in_few_steps(memory: MemoryStore) -> None:
    ids = [see(memory, 60 * at) for at in range(60)]
    with memory.writing() as session:
        verdicts.tie(session, ids, TOLD)
    statements: list[str] = []
    with memory.reading() as session:
        connection = session.connection()
        event.listen(connection, 'before_cursor_execute',
                     lambda *given: statements.append(given[2]))
        (seen,), _ = read_seen(session, ids[:1])
    assert seen.same == set(ids[1:]) and len(statements) < 40


@pytest.mark.parametrize('lot', [2, LOT])
def test_where_a_run_is_cut_changes_nothing(
        memory: MemoryStore, monkeypatch: pytest.MonkeyPatch, lot: int) -> None:
    """Two of an instance are apart, and the later was stored first; then one more comes."""
    monkeypatch.setattr('emv_ros.biography.association.LOT', lot)
    later, first = see(memory, 1, instance='1'), see(memory, 0, instance='1')
    apart(memory, later, first)
    more = see(memory, 60, instance='1')
    associated(memory)
    assert groups(memory) == [[later], [first, more]]


def test_what_is_the_same_as_two_entities_makes_them_one(memory: MemoryStore) -> None:
    ids = [look(memory, 0, 0), look(memory, 60, 5)]
    associated(memory)
    ids.append(look(memory, 120, 9))
    with memory.writing() as session:
        verdicts.tie(session, [ids[0], ids[2], ids[1]], TOLD)
    assert associated(memory).merged == 1
    assert groups(memory) == [ids]


# Names

def test_an_entity_is_called_what_it_mostly_is(memory: MemoryStore) -> None:
    for at, (name, colour) in enumerate((('cup', 'red'), ('mug', 'red'), ('mug', 'pink'))):
        look(memory, 60 * at, 0, name=name, attributes={'colour': colour})
    associated(memory)
    assert names(memory) == {1: ('mug', False, {'colour': 'red'})}


def test_name_and_none_are_the_same_path_without_looks(memory: MemoryStore) -> None:
    ids = [look(memory, 0, 0), look(memory, 60, 5), look(memory, 120, 0, name='cup')]
    associated(memory, identity='name')
    assert groups(memory) == [ids[:2], ids[2:]]


def test_none_gives_each_its_own(memory: MemoryStore) -> None:
    ids = [look(memory, 60 * at, 0) for at in range(3)]
    associated(memory, identity='none')
    assert groups(memory) == [[key] for key in ids]


# What is broken, and what happens meanwhile

@pytest.mark.parametrize('values', [
    np.full(32, np.nan), np.full(32, np.inf), np.zeros(32), np.zeros(0)])
def test_looks_that_are_none_count_for_nothing(memory: MemoryStore, values: np.ndarray) -> None:
    good, bad = look(memory, 0, 0), see(memory, 60, instance='7')
    vector(memory, bad, values)
    assert associated(memory).damaged == 1
    assert groups(memory) == [[good], [bad]]


@pytest.mark.parametrize('size', [32, 16])
def test_whoever_begins_anew_compares_with_the_same_looks(memory: MemoryStore, size: int) -> None:
    """Of the latest looks some cannot be read, or have another length: earlier ones count."""
    limited = BiographySettings(references=2)
    ids = [look(memory, 0, 0, instance='a'), look(memory, 60, 0, instance='a')]
    for at, values in ((120, np.full(32, np.nan)), (180, np.eye(size)[3])):
        ids.append(see(memory, at, instance='a'))
        vector(memory, ids[-1], values if size == 16 else np.full(32, np.inf))
    associate(memory, limited, 'r1', THRESHOLDS)
    ids.append(look(memory, 240, 0))
    associate(memory, limited, 'r1', THRESHOLDS)
    assert groups(memory) == [ids]


def test_great_numbers_are_looks_as_others(memory: MemoryStore) -> None:
    ids = [look(memory, 0, 0), see(memory, 60)]
    vector(memory, ids[1], np.eye(32)[0] * 3e38 + 1e37)
    associated(memory)
    assert groups(memory) == [ids]
    found = as_vector(np.full(32, 3e38, '<f4').tobytes())
    assert found is not None and abs(float(found @ found) - 1) < 1e-5


def test_looks_of_another_model_or_size_are_never_compared(memory: MemoryStore) -> None:
    ids = [look(memory, 0, 0)]
    for at, (model, size) in enumerate((('other', 32), ('hand', 16))):
        key = see(memory, 60 * at + 60)
        vector(memory, key, np.eye(size)[0], model)
        ids.append(key)
    associated(memory)
    assert groups(memory) == [[key] for key in ids]
    again = see(memory, 300)
    vector(memory, again, np.eye(16)[0])
    associated(memory)
    assert groups(memory)[2] == [ids[2], again]


def test_what_others_change_meanwhile_is_seen(memory: MemoryStore) -> None:
    keeper = Associator(memory, BiographySettings(), 'r1', THRESHOLDS)
    gone, moved = look(memory, 0, 0), look(memory, 1, 5)
    keeper.run()
    with memory.writing() as session:  # another process forgets one thing, and merges another
        session.delete(session.get(schema.ObservationRow, gone))
        session.delete(session.get(schema.EntityRow, 1))
        fresh = schema.EntityRow(robot_id=1, name='vase', is_person=False, attributes={})
        session.add(fresh)
        session.flush()
        session.get_one(schema.ObservationRow, moved).entity_id = fresh.id
    ids = [look(memory, 60, 0), look(memory, 61, 5)]
    keeper.run()
    assert sorted(held(memory).values()) == [[moved, ids[1]], [ids[0]]]


def test_a_run_with_nothing_to_do_writes_nothing(memory: MemoryStore) -> None:
    see(memory, 0)
    look(memory, 60, 0)
    associated(memory)
    before = written(memory)
    report = associated(memory)
    assert (report.observations, report.without_evidence) == (0, 1)
    assert written(memory) == before


def test_it_may_be_stopped_and_goes_on(memory: MemoryStore) -> None:
    many = [look(memory, at, at % 3) for at in range(LOT + 50)]

    class Cancel(threading.Event):
        """Set as soon as the first lot is done."""

        def is_set(self) -> bool:
            with memory.reading() as session:
                return session.scalar(select(schema.EntityRow.id).limit(1)) is not None

    report = associate(memory, BiographySettings(), 'r1', THRESHOLDS, Cancel())
    assert report.canceled and report.observations == LOT
    assert associated(memory).observations == 50
    assert [len(ids) for ids in groups(memory)] == [84, 83, 83] and len(many) == 250


def test_a_lot_that_fails_leaves_nothing_behind(memory: MemoryStore,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = Associator(memory, BiographySettings(), 'r1', THRESHOLDS)
    first = look(memory, 0, 0)
    keeper.run()
    second = look(memory, 60, 0, 0.2)
    fails: list[Callable[..., None]] = []

    def broken(_: object) -> None:
        fails.append(broken)
        raise StoreError('the disk is full')

    with monkeypatch.context() as patched:
        patched.setattr('emv_ros.biography.joining.EntityWriter.write', broken)
        with pytest.raises(StoreError):
            keeper.run()
    assert fails and held(memory) == {1: [first], None: [second]}
    keeper.run()
    assert groups(memory) == [[first, second]]


def test_robots_do_not_share_things(memory: MemoryStore) -> None:
    ids = [look(memory, 0, 0), look(memory, 60, 0, robot='r2')]
    for robot in ('r1', 'r2', 'nobody'):
        associate(memory, BiographySettings(), robot, THRESHOLDS)
    assert groups(memory) == [ids[:1], ids[1:]]


def test_thresholds_come_from_settings_then_calibration(memory: MemoryStore) -> None:
    """30° apart, cos 0.866."""
    ids = [turned(memory, 0, 0), turned(memory, 60, 30)]
    memory.set_state('calibration:hand', {'match': 0.9, 'consistent': 0.8})
    associated(memory)
    assert groups(memory) == [ids[:1], ids[1:]]
    ids.append(turned(memory, 61, 31))
    associated(memory, match_similarity=0.5, consistent_similarity=0.4)
    assert groups(memory) == [ids[:1], ids[1:]]


def test_killed_at_any_time_nothing_is_done_twice(tmp_path: Path) -> None:
    """A process is killed in the middle; the next makes of it what one run would have."""
    import signal
    import subprocess
    import sys


    folder = tmp_path / 'memory'
    code = (f'from emv_ros.memory.store import MemoryStore\n'
            f'from databases import database_url\n'
            f'from emv_ros.biography import association\n'
            f'from emv_ros.settings import BiographySettings\n'
            f'from pathlib import Path\n'
            f'import os, signal\n'
            f'association.LOT = 10\n'
            f'folder = Path({str(folder)!r})\n'
            f'decide, done = association.Lot.decide, []\n'
            f'def dying(self, lot):\n'
            f'    decide(self, lot)\n'
            f'    done.append(lot)\n'
            f'    if len(done) == 3: os.kill(os.getpid(), signal.SIGKILL)\n'
            f'association.Lot.decide = dying\n'
            f'with MemoryStore(folder, database_url(folder), "r1") as store:\n'
            f'    association.associate(store, BiographySettings(), "r1", {THRESHOLDS})\n')
    with MemoryStore(folder, database_url(folder), 'r1') as store:
        for at in range(45):
            look(store, at, at % 4)
    ended = subprocess.run([sys.executable, '-c', code], check=False, timeout=120)
    assert ended.returncode == -signal.SIGKILL
    with MemoryStore(folder, database_url(folder), 'r1') as store:
        assert len(held(store)[None]) == 25  # two lots of ten were committed
        associated(store)
        assert [len(ids) for ids in groups(store)] == [12, 11, 11, 11]
        assert len(names(store)) == 4


def test_stamps_decide_and_not_the_order_of_rows(memory: MemoryStore) -> None:
    """The later turn was written first: in order of time each fits the one before."""
    later, early = turned(memory, 120, 40), turned(memory, 0, 0)
    between = turned(memory, 60, 20)
    associated(memory)
    assert groups(memory) == [sorted((later, early, between))]
    assert NOON_NS % SECOND_NS == 0


@pytest.mark.sqlite_only
def test_what_waits_is_found_without_what_does_not(memory: MemoryStore) -> None:
    look(memory, 0, 0)
    asked = []
    with memory.reading() as session:
        event.listen(session.connection(), 'before_cursor_execute',
                     lambda *given: asked.append(given[2:4]))
        waiting(session, 1)
        plans = [' / '.join(str(step[3]) for step in session.connection().exec_driver_sql(
            f'EXPLAIN QUERY PLAN {statement}', values)) for statement, values in list(asked)]
    assert len(plans) == 2 and 'state' in plans[0]
    assert plans[1] == 'SEARCH observation USING INDEX ix_observation_entity_id '\
        '(entity_id=? AND rowid>?)'
