"""A hand-made memory with a row of every kind, and all that binds rows to one another."""

from __future__ import annotations

from memory_parts import at, joints, picture, report, said
import numpy as np
from sqlalchemy import select

from emv_ros.memory import schema
from emv_ros.memory.adding import renew_documents
from emv_ros.memory.node_heads import key_of, value_of
from emv_ros.memory.store import MemoryStore
from emv_ros.records import (
    Annotation,
    Node,
    Observation,
    Pose,
    QueryRecord,
    Scene,
    SceneObject,
    SceneRelation,
)

# The smallest JPEG and PNG heads that tell two pictures apart: a store keeps bytes as they are.
JPEG, DEPTH = b'\xff\xd8 a picture \xff\xd9', b'\x89PNG\r\n\x1a\n depth'


def fill(store: MemoryStore) -> None:
    """Fill an empty memory."""
    store.begin_session('robot', at(0), 'sim', 'Europe/Berlin', 'a bag')
    store.add_many([
        report(0.123456789, 'preparing', goal_stack=('Fetch', 'Hold'), trigger='bring it',
               parameters={'arm': 'left', 'deep': {'list': [1, None, 2.5]}}, source_id='r1'),
        report(1, 'running', source_id='r1'), report(2, 'running', source_id='r1'),
        report(4, 'failed', source_id='r1', narration='it slipped'),
        report(6, 'running', 'Wait', parent_source_id='r1'),
        said(3, 'bring the mug', confidence=0.75, language='en', end_ns=at(3.5)),
        said(5, 'I dropped it', is_own=True, extra={'loud': True}),
        joints(1, 0.5, -1.25),
        Pose(stamp_ns=at(1), frame='map', position=(1.0, 2.0, 0.0), orientation=(0, 0, 0, 1.0)),
        Pose(stamp_ns=at(2), frame='map', position=(1.5, 2.0, 0.0), stamp_is_receipt=True),
        Annotation(stamp_ns=at(0), end_ns=at(9), kind='goal', text='Fetch the mug'),
        Annotation(stamp_ns=at(4), end_ns=at(5), kind='narration', text='It fell.'),
        Annotation(stamp_ns=at(4), end_ns=at(5), kind='note', text='A kind of its own.')])
    _things(store)
    _tree(store)
    store.log_query(QueryRecord(
        question='Where is the mug?', status='ANSWERED', stamp_ns=at(90), query_time_ns=at(80),
        robots=('robot',), answer='On the table.', evidence=('o1', 'n3'), rounds=2,
        trace=({'code': 'search("mug")'},)))
    store.add(said(10, 'another robot', robot='helper'))


def _things(store: MemoryStore) -> None:
    image = store.add_image(JPEG, picture(1, frame='head_frame'))
    store.add_image(DEPTH, picture(1.5, is_depth=True, encoding='16UC1'))
    with store.writing() as session:
        clip = schema.ClipRow(robot_id=1, camera='head', start_ns=at(0), end_ns=at(30))
        mug, old, man = (
            schema.EntityRow(robot_id=1, name=name, is_person=name == 'Ann', attributes=attributes)
            for name, attributes in (('mug', {'aliases': ['cup'], 'named_by': 'Ann'}), ('cup', {}),
                                     ('Ann', {})))
        session.add_all([clip, mug, old, man])
        session.flush()
        mug_id, old.merged_into, clip_id = mug.id, mug.id, clip.id
    seen = [store.add(Observation(
        stamp_ns=at(start), end_ns=at(start + 5), name=name, text=text, clip_id=clip_id,
        entity_id=entity_id, confidence=0.5, first_bbox=(0, 0, 1, 1), made_by='model', model='m',
        attributes={'colour': 'red'}, extra=extra, is_person=name == 'person'))
        for start, name, text, entity_id, extra in (
            (1, 'mug', 'a red mug', mug_id, {}), (7, 'cup', 'the mug again', mug_id, {}),
            (8, 'cup', 'still there', mug_id, {'told_by': {'id': 2, 'since_ns': at(7)}}),
            (8, 'person', 'a person', None, {}))]
    scene = store.add(Scene(
        stamp_ns=at(1), camera='head', image_id=image, objects=(
            SceneObject(name='mug', instance='mug-1', bbox=(0.0, 0.0, 1.5, 2.0), confidence=0.5),
            SceneObject(name='table', position=(1.0, 2.0, 3.0), frame='map', state='clear')),
        relations=(SceneRelation(subject='mug-1', predicate='on', object='table'),)))
    with store.writing() as session:
        renew_documents(session, 'observation', list(session.scalars(
            select(schema.ObservationRow))))
        session.get_one(schema.SceneObjectRow, 1).observation_id = seen[0]
        session.get_one(schema.SceneRow, scene).pending = False
        session.add_all([
            schema.ObservationImageRow(observation_id=seen[0], image_id=image, bbox=[0, 0, 1, 1],
                                       is_crop=True),
            schema.ObservationImageRow(observation_id=seen[0], image_id=image, bbox=None,
                                       is_crop=False),
            schema.AppearanceRow(observation_id=seen[0], model='looks',
                                 vector=np.float32([0.25, -1]).tobytes()),
            schema.SeparationRow(first_id=seen[0], second_id=seen[3], shared_frames=4),
            schema.VerdictRow(first_id=seen[0], second_id=seen[1], verdict='same', author='Ann',
                              stamp_ns=at(60), reason='I saw it'),
            schema.NamingRow(observation_id=seen[0], name='mug', author='Ann', stamp_ns=at(61))])
        for key, value in {
                'association:1': {'id': 4}, 'described:1': {'id': 3}, 'tree:reopened:1': {
                    'spans': [[at(1), at(2)]]}, 'perception:1:1:head': {
                    'stamp_ns': at(1), 'image_id': 1}, 'perception:1': {
                    'seen': 2, 'scenes': 1}, 'symbolic:1': {'scene': 1, 'open': [
                        [1, 'mug-1', {'name': 'mug', 'now': [
                            at(1), at(2), at(1), 1, [], None, '', None, '', False]}]]},
                'looks:m': {'match': 0.7, 'consistent': 0.6}, 'lease:other': {}}.items():
            session.add(schema.StateRow(key=key, value=value))


def _tree(store: MemoryStore) -> None:
    with store.node_writer() as writer:
        def node(level: int, summary: str, **more: object) -> Node:
            return Node(robot='robot', level=level, start_ns=at(0), end_ns=at(9),
                        summary=summary, **more)

        inner = writer.add(node(3, 'Hold: failed', name='Hold', status='failed'))
        event = writer.add(node(2, 'Grasp failed', name='Grasp'), [
            ('skill_event', 1), ('utterance', 1), ('scene', 1), ('annotation', 1)])
        other = writer.add(node(2, 'It waited'), [('skill_event', 2)])
        outer = writer.add(node(3, 'Fetch: failed', name='Fetch'), children=[inner])
        writer.add(node(4, 'Nothing was fetched.', made_by='model', model='big', is_open=True,
                        prompt_version='7', prompt_tokens=5, completion_tokens=6, cost=0.25),
                   children=[outer, other])
        writer.update(event, parent_id=inner, ordinal=0)
        writer.settle('skill_event', [1])
        writer.session.add(schema.StateRow(key=key_of(5), value=value_of(
            'It began badly.', [(other, 'It waited')])))
