"""Corrections of entities and their pictures over real DDS."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')

import cv2
import numpy as np

from emv_ros import srv
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.records import ImageRecord, Observation
from emv_ros.settings import MemorySettings
from emv_ros.timeline import SECOND_NS

pytestmark = pytest.mark.ros
NOON_NS = 1_750_000_000 * SECOND_NS
ASK = srv.CorrectEntity.Request
RED, BLUE = (0, 0, 255), (255, 0, 0)


def kitchen(folder):
    """Return a memory with three mugs, seen twice each; the first two apart in one picture."""
    pixels = np.zeros((40, 80, 3), np.uint8)
    pixels[:, :40], pixels[:, 40:] = RED, BLUE
    with MemoryStore.open(MemorySettings(), folder) as store:
        store.add_image(cv2.imencode('.png', pixels)[1].tobytes(), ImageRecord(
            stamp_ns=NOON_NS, camera='head', sha256='', media_type='image/png', width=80,
            height=40))
        with store.writing() as session:
            for _ in range(3):
                session.add(schema.EntityRow(robot_id=store.robot_id(session, store.robot),
                                             name='mug', is_person=False, attributes={}))
        for place in range(6):
            start_ns = NOON_NS + 100 * place * SECOND_NS
            store.add(Observation(
                stamp_ns=start_ns, end_ns=start_ns + SECOND_NS, name='mug', confidence=0.75,
                attributes={'colour': 'white'}, location='on shelf', entity_id=1 + place // 2))
        with store.writing() as session:
            session.add(schema.SeparationRow(first_id=1, second_id=3, shared_frames=8))
            session.add(schema.ObservationImageRow(
                observation_id=1, image_id=1, bbox=None, is_crop=False))
            session.add(schema.ObservationImageRow(
                observation_id=1, image_id=1, bbox=[50.0, 10.0, 70.0, 30.0], is_crop=True))
    return folder


@pytest.fixture
def served(start):
    start('query', kitchen(start.folder), model__model='none', retrieval__embedder='none')


def correct(robot, **fields):
    return robot.call(srv.CorrectEntity, 'correct_entity', **fields)


def test_corrections(served, robot):
    done = correct(robot, operation=ASK.OPERATION_MERGE, entity_ids=['e2', 'e3'], author='Anna',
                   name='my mug')
    assert (done.status, done.verdict_id) == (done.STATUS_OK, 'verdict 1')
    entity, = done.entities
    assert (entity.id, entity.name, list(entity.aliases)) == ('e2', 'my mug', ['mug'])
    assert entity.observation_count == 4 and not entity.observations and not entity.also_seen
    again = correct(robot, operation=ASK.OPERATION_MERGE, entity_ids=['e2', 'e3'])
    assert again.status == again.STATUS_OK and 'already' in again.message and not again.verdict_id

    old, = robot.call(srv.GetBiography, 'get_biography', entity_ids=['e3']).entities
    assert old.id == 'e2' and [item.id for item in old.observations] == ['o3', 'o4', 'o5', 'o6']
    assert old.observations[0].confidence == 0.75
    assert old.summary == ('my mug, white: seen 4 times, from 2025-06-15 15:10 to '
                           '2025-06-15 15:15, last on shelf')
    by_alias = robot.call(srv.GetBiography, 'get_biography', name='mug')
    assert {item.id for item in by_alias.entities} == {'e1', 'e2'}

    done = correct(robot, operation=ASK.OPERATION_SPLIT, entity_ids=['e3'],
                   observation_ids=['o6'])
    assert [item.id for item in done.entities] == ['e2', 'e4'] and done.verdict_id
    done = correct(robot, operation=ASK.OPERATION_RENAME, entity_ids=['e4'], name='beaker')
    assert done.status == done.STATUS_OK and done.verdict_id.startswith('name ')
    found = robot.call(srv.GetBiography, 'get_biography', name='beaker')
    assert [item.id for item in found.entities] == ['e4']


@pytest.mark.parametrize(('fields', 'status', 'words'), [
    ({}, 'INVALID_REQUEST', 'OPERATION'),
    ({'operation': 1, 'entity_ids': ['e1', 'e2']}, 'INVALID_REQUEST', 'seen apart in 8 pictures'),
    ({'operation': 1, 'entity_ids': ['e1', 'e77']}, 'NOT_FOUND', 'e77'),
    ({'operation': 1, 'entity_ids': ['e1', 'mug']}, 'INVALID_REQUEST', "'mug'"),
    ({'operation': 1, 'entity_ids': ['e1']}, 'INVALID_REQUEST', 'two entities'),
    ({'operation': 2, 'entity_ids': ['e1']}, 'INVALID_REQUEST', 'observations'),
    ({'operation': 2, 'entity_ids': ['e1'], 'observation_ids': ['o99']}, 'NOT_FOUND', 'o99'),
    ({'operation': 2, 'entity_ids': ['e1', 'e2'], 'observation_ids': ['o1']}, 'INVALID_REQUEST',
     'exactly one'),
    ({'operation': 3, 'entity_ids': ['e1'], 'name': ' '}, 'INVALID_REQUEST', 'empty'),
    ({'operation': 3, 'entity_ids': ['e1'], 'name': 'x', 'observation_ids': ['o1']},
     'INVALID_REQUEST', 'no observations')])
def test_what_is_refused(tmp_path, fields, status, words):
    from emv_ros.nodes.corrections import Corrections

    with MemoryStore.open(MemorySettings(), kitchen(tmp_path)) as store:
        response = Corrections(store, lambda: NOON_NS).correct(
            ASK(**fields), srv.CorrectEntity.Response())
        assert response.status == getattr(response, f'STATUS_{status}')
        assert words in response.message and not response.entities and not response.verdict_id


def test_what_was_seen_apart_is_merged_by_force_alone(served, robot):
    refused = correct(robot, operation=ASK.OPERATION_MERGE, entity_ids=['e1', 'e2'])
    assert refused.status == refused.STATUS_INVALID_REQUEST and 'seen apart' in refused.message
    done = correct(robot, operation=ASK.OPERATION_MERGE, entity_ids=['e1', 'e2'], force=True)
    assert done.status == done.STATUS_OK, done.message
    entity, = done.entities
    assert entity.id == 'e1' and entity.observation_count == 4


def test_pictures_of_an_observation_and_an_entity(served, robot):
    def pictures(text, **fields):
        found = robot.call(srv.GetEvidenceImage, 'get_evidence_image', evidence_ids=[text],
                           **fields)
        return found, [cv2.imdecode(np.frombuffer(bytes(item.data), np.uint8), cv2.IMREAD_COLOR)
                       for item in found.images]

    found, (crop, whole) = pictures('o1')
    assert [item.format for item in found.images] == ['jpeg', 'png']
    assert list(found.image_ids) == ['i1', 'i1'] and list(found.evidence_ids) == ['o1', 'o1']
    # A box of 20 × 20 px with a tenth around it, in the blue half.
    assert crop.shape == (24, 24, 3) and whole.shape == (40, 80, 3)
    assert np.abs(crop.astype(int) - BLUE).max() < 12
    _, (crop,) = pictures('e1', max_edge=10)
    assert crop.shape == (10, 10, 3)
    found, none = pictures('e77')
    assert found.status == found.STATUS_NOT_FOUND and not none
