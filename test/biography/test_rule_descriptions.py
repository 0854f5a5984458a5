"""Descriptions by rule: what stands around an observation is told, right by hand."""

from __future__ import annotations

from seen_parts import at, clip, observation, observe, run, scene
from sqlalchemy import select, update

from emv_ros.biography.describing import describe
from emv_ros.memory import queries, schema
from emv_ros.memory.store import MemoryStore
from emv_ros.records import SceneObject
from emv_ros.settings import Settings

TABLE = SceneObject(name='table', bbox=(0, 50, 100, 80))
SHELF = SceneObject(name='shelf', bbox=(200, 50, 300, 80))
LEFT, RIGHT = (10.0, 10.0, 50.0, 50.0), (220.0, 10.0, 260.0, 50.0)


def tell(store: MemoryStore) -> int:
    return describe(store, Settings(), 'r1').by_rule


def test_place_colour_and_a_skill_that_names_it(memory: MemoryStore) -> None:
    mug = observe(memory, 0, 10, attributes={'colour': 'red'})
    for second in range(10):
        scene(memory, second, [mug], [('mug', 'on', 'table')], [TABLE])
    run(memory, 'HandOver', 2, 8, ['BringCoffee'], object='red mug', to='user')
    run(memory, 'MoveBase', 0, 9, ['Patrol'], target='kitchen')
    assert tell(memory) == 1
    seen = observation(memory, mug)
    assert (seen.event, seen.text, seen.location, seen.made_by) == (
        'during BringCoffee: hand over red mug', 'red', 'on table', 'rule')
    assert tell(memory) == 0  # once
    assert queries.observations(memory, text='hand over')[0].id == mug.id


def test_one_that_lost_its_words_is_told_anew_however_old(memory: MemoryStore) -> None:
    first = observe(memory, 0, 10)
    scene(memory, 1, [first], [('mug', 'on', 'table')])
    tell(memory)
    memory.set_state('described:1', {'id': 50_000})
    with memory.writing() as session:
        session.execute(update(schema.ObservationRow).values(pending=False, location=''))
        session.execute(update(schema.ObservationRow).values(made_by='detector', pending=True))
    assert tell(memory) == 1
    assert observation(memory, first).location == 'on table'


def test_what_changes_is_what_happened(memory: MemoryStore) -> None:
    mug = observe(memory, 0, 12)
    for second in range(12):
        where = (('mug', 'on', 'table') if second < 4 else
                 ('mug', 'held by', 'person') if second < 8 else ('mug', 'in', 'sink'))
        scene(memory, second, [mug], [where])
    tell(memory)
    seen = observation(memory, mug)
    assert seen.event == 'taken from table, held by person, put into sink'
    assert seen.location == 'in sink'


def test_a_single_look_that_says_otherwise_is_noise(memory: MemoryStore) -> None:
    mug = observe(memory, 0, 10)
    for second in range(10):
        scene(memory, second, [mug], [('mug', 'in' if second == 5 else 'on', 'table')])
    tell(memory)
    assert (observation(memory, mug).event, observation(memory, mug).location) == ('', 'on table')


def test_of_two_like_mugs_the_one_that_was_held_is_told_of_the_skill(memory: MemoryStore) -> None:
    held = observe(memory, 0, 10, bbox=LEFT)
    stays = observe(memory, 0, 10, bbox=RIGHT)
    hand = SceneObject(name='person', bbox=(0, 0, 60, 60))
    for second in range(10):
        first = ('mug', 'on', 'table') if second < 5 else ('mug', 'held by', 'person')
        scene(memory, second, [stays, held], [('mug', 'on', 'shelf'), first],
              [TABLE, SHELF, hand])
    run(memory, 'HandOver', 3, 8, ['BringCoffee'], object='mug')
    tell(memory)
    assert observation(memory, held).event == (
        'taken from table, held by person; during BringCoffee: hand over mug')
    assert observation(memory, stays).event == ''
    assert observation(memory, stays).location == 'on shelf'


def test_each_of_like_things_rests_in_one_place(memory: MemoryStore) -> None:
    """The mug on the shelf lies deeper in the box of the counter than the one that is on it."""
    upper = observe(memory, 0, 10, bbox=(50, 100, 90, 140))
    lower = observe(memory, 0, 10, bbox=(200, 150, 240, 190))
    counter = SceneObject(name='counter', bbox=(0, 60, 300, 300))
    board = SceneObject(name='shelf', bbox=(30, 135, 110, 150))
    for second in range(6):
        scene(memory, second, [upper, lower], [('mug', 'on', 'counter'), ('mug', 'on', 'shelf')],
              [counter, board])
    tell(memory)
    assert [observation(memory, item).location for item in (upper, lower)] == [
        'on shelf', 'on counter']


def test_where_nobody_touched_any_of_like_things_none_is_told_of_the_skill(
        memory: MemoryStore) -> None:
    both = [observe(memory, 0, 10, bbox=box) for box in (LEFT, RIGHT)]
    for second in range(10):
        scene(memory, second, both, [('mug', 'on', 'table')], [TABLE])
    run(memory, 'Grasp', 3, 8, object='mug')
    tell(memory)
    assert [observation(memory, item).event for item in both] == ['', '']
    # One relation for two: it is of the one that is nearest to the table.
    assert [observation(memory, item).location for item in both] == ['on table', '']


def test_another_colour_or_another_instance_is_another_thing(memory: MemoryStore) -> None:
    white = observe(memory, 0, 10, attributes={'colour': 'white'})
    second = observe(memory, 20, 30, instance='mug_2')
    scene(memory, 21, [second], [('mug_2', 'on', 'table_1')],
          [SceneObject(name='table', instance='table_1')])
    run(memory, 'Wash', 0, 10, object='red mug')
    run(memory, 'Grasp', 20, 30, object='mug_1')
    run(memory, 'Wipe', 20, 30, object='mug_2')
    tell(memory)
    assert observation(memory, white).event == ''
    assert observation(memory, second).event == 'during wipe mug_2'
    assert observation(memory, second).location == 'on table'


def test_a_person_holds_things_and_wears_a_colour(memory: MemoryStore) -> None:
    anna = observe(memory, 0, 6, 'person', is_person=True, attributes={'colour': 'green'})
    for second in range(6):
        scene(memory, second, [anna], [('mug', 'held by', 'person')], [SceneObject(name='mug')])
    tell(memory)
    seen = observation(memory, anna)
    assert (seen.event, seen.text) == ('holds mug', 'wearing green')


def test_relations_of_who_holds_a_thing_are_the_things_own(memory: MemoryStore) -> None:
    mug = observe(memory, 0, 6, instance='mug_1')
    user = observe(memory, 0, 6, 'person', is_person=True, instance='user')
    for second, predicate in enumerate(('holds', 'holds', 'drinks_from', 'drinks_from')):
        scene(memory, second, [mug, user], [('user', predicate, 'mug_1')])
    scene(memory, 5, [mug, user], [('mug_1', 'on', 'table')])
    tell(memory)
    assert observation(memory, mug).event == 'held by person, drunk from by person'
    assert observation(memory, user).event == 'holds mug'


def test_what_nothing_is_known_of_is_told_by_its_name_alone(memory: MemoryStore) -> None:
    mug = observe(memory, 0, 10)
    tell(memory)
    seen = observation(memory, mug)
    assert (seen.event, seen.text, seen.location, seen.made_by) == ('', '', '', 'rule')


def test_what_was_recorded_later_is_not_told(memory: MemoryStore) -> None:
    mug = observe(memory, 0, 10)
    scene(memory, 5, [mug], [('mug', 'on', 'table')])
    run(memory, 'Grasp', 10, 12, object='mug')  # begins when it ends
    tell(memory)
    assert observation(memory, mug).event == ''


def test_an_hour_of_a_thing_that_stays_has_one_searchable_text_and_the_next_one_more(
        memory: MemoryStore) -> None:
    things = []
    for start in range(0, 4200, 30):  # 70 minutes
        mug = observe(memory, start, start + 29, clip_id=clip(memory, start, start + 30))
        scene(memory, start + 1, [mug], [('mug', 'on', 'table')], [TABLE])
        things.append(mug)
    moved = observe(memory, 4200, 4229, bbox=RIGHT, clip_id=clip(memory, 4200, 4230))
    scene(memory, 4201, [moved], [('mug', 'on', 'table')], [TABLE])
    tell(memory)
    row = schema.DocumentRow
    with memory.reading() as session:
        told = session.execute(select(row.ref_id, row.start_ns, row.text).where(
            row.kind == 'observation').order_by(row.start_ns)).all()
    assert [(start, text) for _, start, text in told] == [
        (at(0), 'mug on table'), (at(3600), 'mug on table'), (at(4200), 'mug on table')]
    assert observation(memory, things[5]).extra['told_by']['id'] == things[0].id
    assert len(queries.observations(memory, name='mug')) == 141  # each is there all the same
