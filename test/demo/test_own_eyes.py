"""The recording through the robot's own eyes: detection, tracking, association, no simulator.

What the entities really were, the simulator tells: `who_is_who` compares the boxes of crops.
"""

import json
from pathlib import Path
import sys

import pytest
from sqlalchemy import select
from who_is_who import agreement, instances_of

from emv_ros.cli import main
from emv_ros.demo.replay import RECORDING
from emv_ros.memory import schema
from emv_ros.memory.queries import observations
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import MemorySettings
from emv_ros.timeline import parse_stamp

HERE = Path(__file__).parent
TRUTH = json.loads((HERE / 'truth.json').read_text(encoding='utf-8'))

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope='module')
def store(tmp_path_factory):
    """Return the memory of the recording, looked at and consolidated without any model of words."""
    folder = tmp_path_factory.mktemp('own_eyes')
    begin = ['--memory', str(folder)]
    for setting in ('memory.robot=household_robot', 'perception.detector=household',
                    'model.model=none', 'tree.use_model=false'):
        begin += ['--set', setting]
    assert main([*begin, 'import', str(RECORDING), '--zone', 'Europe/Berlin']) == 0
    assert main([*begin, 'perceive', '--finish']) == 0
    assert main([*begin, 'consolidate', '--no-vectors']) == 0
    with MemoryStore.open(MemorySettings(folder=str(folder))) as store:
        yield store


@pytest.fixture(scope='module')
def instances(store):
    """Return which thing of the simulator each observation is."""
    sys.path.insert(0, str(HERE.parents[1] / 'scripts'))
    try:
        from make_demo_recording import simulate
    finally:
        sys.path.remove(str(HERE.parents[1] / 'scripts'))
    return instances_of(store, simulate().sights)


@pytest.fixture(scope='module')
def entities(store):
    """Return the entity of each observation."""
    with store.reading() as session:
        return dict(session.execute(
            select(schema.ObservationRow.id, schema.ObservationRow.entity_id)).all())


def nanoseconds(text: str) -> int:
    return parse_stamp(text)[0]


def of_instance(store, instances, instance):
    """Return the observations of a thing, in order of time."""
    return sorted((item for item in observations(store) if instances.get(item.id) == instance),
                  key=lambda item: item.stamp_ns)


def test_things_seen_again_are_known_again_and_others_are_not_mistaken(instances, entities):
    movable = {key: instance for key, instance in instances.items()
               if instance.rpartition('_')[2].isdigit()}
    assert len(movable) > 150
    _, recall, wrong = agreement(entities, movable)
    # The two plants look the same, and nobody could tell them apart on another day.
    assert set(wrong) <= {('plant_1', 'plant_2')}
    assert recall >= 0.7


def test_the_two_red_mugs_are_never_one(store, instances, entities):
    first, second = ({entities[item.id] for item in of_instance(store, instances, name)} - {None}
                     for name in ('red_mug_1', 'red_mug_2'))
    assert first
    assert second
    assert not first & second


def test_the_mug_that_was_drunk_from_ends_up_in_the_sink(store, instances, entities):
    began, ended = (nanoseconds(event['at']) for event in TRUTH['events']
                    if event['kind'] in ('drinks', 'drank'))
    drunk_from = {
        entities[item.id] for item in of_instance(store, instances, 'red_mug_1')
        if item.stamp_ns < ended and item.end_ns > began}
    assert len(drunk_from) == 1
    life = [item for item in observations(store) if item.entity_id in drunk_from]
    assert {instances.get(item.id, 'red_mug_1') for item in life} == {'red_mug_1'}
    last = max(life, key=lambda item: item.stamp_ns)
    assert 'sink' in f'{last.location} {last.event} {last.text}'


def test_the_other_mug_is_seen_on_the_shelf_to_the_end(store, instances):
    life = of_instance(store, instances, 'red_mug_2')
    assert life
    assert {item.location for item in life if item.location} == {'on shelf'}
