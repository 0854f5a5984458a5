"""Speech, skills, scenes and poses from message-like objects."""

from ingest_parts import SECOND, T0, Part, header, time
import pytest

from emv_ros.errors import RecordError
from emv_ros.ingest.poses import pose_from_ros
from emv_ros.ingest.scenes import scene_from_ros
from emv_ros.ingest.skills import ActionStatusReader, parameters_of, skill_report_from_ros
from emv_ros.ingest.speech import utterance_from_ros, utterance_from_string
from emv_ros.records import SceneRelation, Status

NAN = float('nan')


def said(text='Hello.', **fields):
    return Part(**{
        'header': header(), 'robot': '', 'speaker': 'user', 'text': text, 'is_own': False,
        'confidence': 0.0, 'language': '', 'end': time()} | fields)


def test_an_utterance():
    words = utterance_from_ros(
        said(confidence=0.5, language='de', end=time(1_700_000_002), robot='armar'), 5)
    assert (words.stamp_ns, words.end_ns) == (T0, T0 + 2 * SECOND)
    assert (words.speaker, words.text, words.robot) == ('user', 'Hello.', 'armar')
    assert (words.confidence, words.language, words.is_own) == (0.5, 'de', False)


@pytest.mark.parametrize('confidence', [0.0, NAN, 1.5, -0.1])
def test_a_confidence_that_says_nothing_is_none(confidence):
    assert utterance_from_ros(said(confidence=confidence), 5).confidence is None


@pytest.mark.parametrize(('fields', 'is_own'), [
    ({'is_own': True}, True), ({'speaker': 'robot'}, True),
    ({'speaker': 'ARMAR', 'robot': 'armar'}, True), ({'speaker': ''}, False)])
def test_the_robots_own_words(fields, is_own):
    assert utterance_from_ros(said(**fields), 5).is_own is is_own


@pytest.mark.parametrize('text', ['', '  \n'])
def test_nothing_said_is_refused(text):
    with pytest.raises(RecordError, match='no words'):
        utterance_from_ros(said(text), 5)
    with pytest.raises(RecordError, match='no words'):
        utterance_from_string(Part(data=text), 5)


def test_a_string_is_speech_of_nobody_known_at_its_receipt():
    words = utterance_from_string(Part(data='start'), T0)
    assert (words.stamp_ns, words.stamp_is_receipt, words.speaker) == (T0, True, '')


def skill(name='Grasp', status=2, **fields):
    return Part(**{
        'header': header(), 'robot': '', 'skill': name, 'status': status, 'goal_stack': [],
        'parameters': [], 'trigger': '', 'narration': '', 'id': '', 'parent_id': '',
        'end': time()} | fields)


def test_a_skill_report():
    report = skill_report_from_ros(skill(
        goal_stack=['Serve', '', 'Fetch'], trigger='command', narration='it slipped', id='x1',
        parent_id='x0', end=time(1_700_000_001), status=4, robot='armar',
        parameters=[Part(key='arm', value='0'), Part(key='to', value='the table')]), 5)
    assert (report.stamp_ns, report.end_ns) == (T0, T0 + SECOND)
    assert (report.skill, report.status, report.robot) == ('Grasp', Status.FAILED, 'armar')
    assert report.goal_stack == ('Serve', 'Fetch')
    assert report.parameters == {'arm': 0, 'to': 'the table'}
    assert (report.source_id, report.parent_source_id) == ('x1', 'x0')
    assert (report.trigger, report.narration) == ('command', 'it slipped')


@pytest.mark.parametrize(('number', 'status'), list(enumerate([
    'unknown', 'preparing', 'running', 'succeeded', 'failed', 'aborted', 'canceled'])))
def test_the_numbers_of_the_message(number, status):
    assert skill_report_from_ros(skill(status=number), 5).status == status


@pytest.mark.parametrize(('fields', 'told'), [
    ({'name': ' '}, 'names no skill'), ({'status': 7}, 'unknown status 7'),
    ({'end': time(5)}, 'before it starts')])
def test_a_bad_report_is_refused(fields, told):
    with pytest.raises(RecordError, match=told):
        skill_report_from_ros(skill(**fields), 5)


def test_parameters_are_json_where_they_read_as_that():
    pairs = [('a', '1.5'), ('b', 'true'), ('c', '{"x": [1, 2]}'), ('d', 'milk'), ('e', ''),
             ('f', '{"x": '), ('g', 'NaN'), ('h', '"quoted"'), ('i', '1'), ('i', '2')]
    assert parameters_of(Part(key=key, value=value) for key, value in pairs) == {
        'a': 1.5, 'b': True, 'c': {'x': [1, 2]}, 'd': 'milk', 'e': '', 'f': '{"x": ', 'g': 'NaN',
        'h': 'quoted', 'i': [1, 2]}


def test_an_action_status_topic_reports_each_change_once():
    def goals(*pairs):
        return Part(status_list=[
            Part(goal_info=Part(goal_id=Part(uuid=[number] * 16)), status=status)
            for number, status in pairs])

    reader, topic = ActionStatusReader(), '/navigate_to_pose/_action/status'
    messages = [goals((1, 1)), goals((1, 2)), goals((1, 2)), goals((1, 4), (2, 2)),
                goals((1, 4), (2, 6))]
    reports = [[(r.source_id[:2], r.status.value) for r in reader.reports(m, topic, T0 + i)]
               for i, m in enumerate(messages)]
    assert reports == [[('01', 'preparing')], [('01', 'running')], [],
                       [('01', 'succeeded'), ('02', 'running')], [('02', 'aborted')]]
    assert reader.reports(goals((3, 2)), topic, T0)[0].skill == 'navigate_to_pose'


def thing(name='mug', **fields):
    return Part(**{
        'name': name, 'instance': '', 'has_bbox': False, 'bbox': [0.0] * 4, 'has_position': False,
        'position': Part(x=0.0, y=0.0, z=0.0), 'confidence': 0.0, 'state': ''} | fields)


def seen(objects, relations=(), **fields):
    return Part(**{
        'header': header(frame='map'), 'robot': '', 'camera': '', 'image_width': 0,
        'image_height': 0, 'objects': objects, 'relations': list(relations)} | fields)


def test_a_scene():
    scene = scene_from_ros(seen(
        [thing(instance='mug_1', has_bbox=True, bbox=[1, 2, 3, 4], confidence=0.75, state='full'),
         thing('table', has_position=True, position=Part(x=1, y=2, z=0.5))],
        [Part(subject='mug_1', predicate='on', object='table')], camera='head',
        image_width=640, image_height=480), 5)
    mug, table = scene.objects
    assert (mug.name, mug.instance, mug.bbox) == ('mug', 'mug_1', (1.0, 2.0, 3.0, 4.0))
    assert (mug.position, mug.confidence, mug.state) == (None, 0.75, 'full')
    assert (table.bbox, table.position, table.frame) == (None, (1.0, 2.0, 0.5), 'map')
    assert table.confidence is None
    assert scene.relations == (SceneRelation(subject='mug_1', predicate='on', object='table'),)
    assert (scene.camera, scene.extra) == ('head', {'image_width': 640, 'image_height': 480})


def test_a_scene_keeps_what_is_good_and_tells_the_rest():
    scene = scene_from_ros(seen(
        [thing(''), thing('cup'), thing('box', has_bbox=True, bbox=[9, 0, 1, 1]),
         thing('can', has_position=True, position=Part(x=NAN, y=0, z=0))],
        [Part(subject='cup', predicate='', object='')]), 5)
    assert [item.name for item in scene.objects] == ['cup']
    assert scene.extra['refused'] == [
        'object 1: it has no name', "object 3: the box of 'box' ends before it begins: "
        '[9.0, 0.0, 1.0, 1.0]', 'object 4: the position is not finite: [nan, 0.0, 0.0]',
        'relation 1: it lacks a subject or a predicate']


def test_a_scene_that_saw_nothing_is_one_but_one_of_bad_objects_is_refused():
    assert scene_from_ros(seen([]), 5).objects == ()
    with pytest.raises(RecordError, match='object 1: it has no name'):
        scene_from_ros(seen([thing('')]), 5)


def at(x=1.0, turn=(0, 0, 0, 1)):
    names = ('x', 'y', 'z', 'w')
    return Part(position=Part(x=x, y=2.0, z=3.0),
                orientation=Part(**dict(zip(names, turn, strict=True))))


@pytest.mark.parametrize('inner', [at(), Part(pose=at(), covariance=[0.0] * 36)])
def test_a_pose_of_each_message(inner):
    pose = pose_from_ros(Part(header=header(frame='map'), pose=inner), 5)
    assert (pose.stamp_ns, pose.frame, pose.position) == (T0, 'map', (1.0, 2.0, 3.0))
    assert pose.orientation == (0.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(('turn', 'expected', 'is_told'), [
    ((0, 0, 0, 0), None, False), ((0, 0, 0, 1.05), (0, 0, 0, 1), False),
    ((0, 0, 3, 4), None, True), ((NAN, 0, 0, 1), None, True)])
def test_an_orientation_is_a_unit_quaternion_or_unknown(turn, expected, is_told):
    pose = pose_from_ros(Part(header=header(), pose=at(turn=turn)), 5)
    assert pose.orientation == expected
    assert ('refused' in pose.extra) is is_told


def test_a_pose_that_is_nowhere_is_refused():
    with pytest.raises(RecordError, match='position is not finite'):
        pose_from_ros(Part(header=header(), pose=at(x=NAN)), 5)
