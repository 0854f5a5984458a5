"""The verbs that read: right rows, right times, and status 1 where nothing fits."""

from __future__ import annotations

import pytest

from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import MemorySettings


def test_events_as_json(filled):
    found = filled('events', '--status', 'failed', '--json')
    assert found.status == 0
    assert found.json == [{
        'id': 's1', 'robot': 'robot', 'skill': 'OpenFridge', 'status': 'failed',
        'goal_stack': ['FetchMilk'], 'start': '2024-06-26T20:00:00.000000000+02:00',
        'end': '2024-06-26T20:00:12.500000000+02:00', 'duration_s': 12.5,
        'parameters': {'arm': 'left'}, 'reports': 2}]


def test_events_filters(filled):
    def skills(*words):
        return [event['skill'] for event in filled('events', '--json', *words).json]

    assert skills() == ['OpenFridge', 'FetchMilk', 'WaterPlants']
    assert skills('--status', 'failed', '--status', 'aborted') == ['OpenFridge', 'FetchMilk']
    assert skills('--skill', 'open fridge') == ['OpenFridge']
    assert skills('--goal', 'fetch milk') == ['OpenFridge', 'FetchMilk']
    assert skills('--text', 'fridge left') == ['OpenFridge']
    assert skills('--day', '2024-06-27') == ['WaterPlants']
    assert skills('--start', '2024-06-26 20:00:30', '--end', '2024-06-27') == [
        'FetchMilk', 'WaterPlants']
    assert skills('--end', '2024-06-27 13:04') == ['OpenFridge', 'FetchMilk']
    assert skills('--limit', '1') == ['OpenFridge']
    assert skills('--limit', '1', '--newest') == ['WaterPlants']
    assert filled('events', '--skill', 'Dance', '--json').status == 1


def test_events_as_a_table(filled):
    lines = filled('events').out.splitlines()
    assert lines[0].split() == ['id', 'start', 'duration', 'status', 'skill', 'goal']
    assert lines[1].split() == [
        's1', '2024-06-26', '20:00:00', '12.5', 's', 'failed', 'OpenFridge', 'FetchMilk']


def test_recorded_escape_sequences_do_not_reach_the_terminal(emv, tmp_path):
    path = tmp_path / 'bad.jsonl'
    path.write_text('{"t": "2024-06-26T20:00:00Z", "type": "skill", "skill": "\\u001b[2JWipe", '
                    '"status": "succeeded", "goal_stack": []}\n', 'utf-8')
    assert emv('import', path).status == 0
    assert '\x1b' not in emv('events').out + emv('show', 's1').out
    assert emv('events', '--json').json[0]['skill'] == '\x1b[2JWipe'


def test_show_a_run_a_scene_and_a_picture_less_record(filled):
    run = filled('show', 's1', '--json').json
    assert run['stamp'] == '2024-06-26T20:00:00.000000000+02:00'
    assert run['transitions'] == [
        {'status': 'running', 'time': '2024-06-26T20:00:00.000000000+02:00'},
        {'status': 'failed', 'time': '2024-06-26T20:00:12.500000000+02:00'}]
    scene = filled('show', 'g1', '--json').json
    assert [item['name'] for item in scene['objects']] == ['mug', 'table']
    assert scene['relations'] == [{'subject': 'mug-1', 'predicate': 'on', 'object': 'table'}]
    assert 'I can see a soy milk' in filled('show', 'u1').out


def test_show_what_is_not_there(filled):
    found = filled('show', 's1', 's99', '--json')
    assert found.status == 1
    assert [item['id'] for item in found.json] == ['s1']
    assert 'no skill event s99' in found.err
    for letter in 'nsuaogiqec':
        assert filled('show', f'{letter}999').status == 1


def test_search_by_words(filled):
    found = filled('search', 'soy', 'milk', '--json')
    assert found.status == 0
    assert found.json['hits'][0]['id'] == 'u1'
    assert 'words only' in found.json['note']
    assert filled('search', 'submarine').status == 1
    assert filled('search', 'milk', '--day', '2024-06-26', '--kind', 'speech').status == 1


def test_entities_and_biography(filled):
    things = {item['name']: item for item in filled('entities', '--json').json}
    assert (things['mug']['observations'], things['mug']['sightings']) == (1, 1)
    assert things['mug']['first'] == '2024-06-27T13:05:00.000000000+02:00'
    assert [item['id'] for item in filled('biography', 'mug', '--json').json] == ['g1', 'o1']
    assert [item['id'] for item in filled('biography', 'mug-1', '--json').json] == ['g1', 'o1']
    assert filled('biography', 'unicorn').status == 1
    assert filled('biography', 'e7').status == 1


def test_stats(filled):
    counts = filled('stats', '--json').json
    records = {kind: count for kind, count in counts['records'].items() if count}
    assert records == {'skill_event': 3, 'skill_report': 4, 'utterance': 1, 'scene': 1,
                       'observation': 1}
    assert counts['first'] == '2024-06-26T20:00:00.000000000+02:00'
    assert counts['last'] == '2024-06-27T13:06:20.000000000+02:00'
    assert 'skill reports' in filled('stats').out


def test_times_follow_the_zone_that_was_set(filled):
    found = filled('events', '--json', '--set', 'memory.time_zone=Pacific/Auckland', '--limit', '1')
    assert found.json[0]['start'] == '2024-06-27T06:00:00.000000000+12:00'


def test_only_the_named_robot(filled, experience):
    assert filled('--robot', 'other', 'import', experience).status == 0
    assert len(filled('events', '--json').json) == 6
    assert len(filled('events', '--robot', 'other', '--json').json) == 3
    found = filled('events', '--robot', 'nobody')
    assert (found.status, 'other, robot' in found.err) == (1, True)


@pytest.mark.parametrize('words', [('show', 's1'), ('rename', 'e1', 'cup'), ('merge', 'e1', 'e1'),
                                   ('split', 'e1', 'o1'), ('forget', 's1')])
def test_what_is_of_another_robot_is_refused(filled, experience, tmp_path, words):
    assert filled('--robot', 'other', 'import', experience).status == 0
    with MemoryStore.open(MemorySettings(robot='robot'), tmp_path / 'memory') as store, \
            store.writing() as session:
        session.add(schema.EntityRow(robot_id=1, name='mug', is_person=False, attributes={}))
        session.query(schema.ObservationRow).filter_by(robot_id=1).update({'entity_id': 1})
    done = filled('--robot', 'other', *words)
    assert done.status == 1 and ('is of another robot: robot' in done.err
                                 or 'no record fits' in done.err)
    if words[0] == 'show':
        assert filled('--robot', 'robot', *words).status == 0


def test_the_tree_before_and_after_consolidation(filled):
    found = filled('tree')
    assert (found.status, 'emv consolidate' in found.err) == (1, True)
    made = filled('consolidate', '--no-model', '--json')
    assert (made.status, made.json['model_calls'], made.json['vectors']) == (0, 0, 0)
    lines = filled('tree', '--day', '2024-06-26').out.splitlines()
    assert '2024-06-26 20:00:00' in lines[0]
    assert any(line.startswith('  ') and 'OpenFridge' in line for line in lines)
    assert not any('WaterPlants' in line for line in lines)
    assert filled('tree', '--day', '2024-06-25').status == 1
    assert max(map(len, filled('tree', '--width', '60').out.splitlines())) <= 60
    top, = filled('tree', '--json', '--level', '8').json
    assert [day['start'][:10] for day in top['children']] == ['2024-06-26', '2024-06-27']
    assert all(not day['children'] for day in top['children'])


def test_a_node_with_its_place(filled):
    assert filled('consolidate', '--no-model').status == 0
    event = filled('show', 's1', '--json').json
    assert len(event['path']) >= 2
    node = filled('show', event['path'][-1]['id'], '--json').json
    assert 's1' in [item['id'] for item in node['members']]
    root = filled('show', event['path'][0]['id'], '--json').json
    assert (root['path'], root['children'] != []) == ([], True)


def test_a_question_without_a_model(filled):
    found = filled('--set', 'model.model=none', 'ask', 'when', 'did', 'you', 'see', 'the', 'soy',
                   'milk?', '--at', '2024-06-28', '--json')
    assert (found.status, found.json['status']) == (0, 'RETRIEVED_ONLY')
    assert 'u1' in [item['id'] for item in found.json['evidence']]
    query = filled('show', found.json['query_id'], '--json').json
    assert query['question'] == 'when did you see the soy milk?'
    assert query['query_time'] == '2024-06-29T00:00:00.000000000+02:00'
    told = filled('--set', 'model.model=none', 'ask', 'soy milk', '--at', '2024-06-28').out
    assert 'RETRIEVED_ONLY' in told
    assert '2024-06-27 13:03:18' in told


def test_a_question_sees_nothing_later_than_its_time(filled):
    found = filled('--set', 'model.model=none', 'ask', 'when did you see the soy milk?', '--at',
                   '2024-06-26 22:00', '--json')
    assert 'u1' not in [item['id'] for item in found.json['evidence']]
    found = filled('--set', 'model.model=none', 'ask', 'soy milk?', '--at', '2024-06-01', '--json')
    assert (found.status, found.json['status']) == (1, 'NOT_RECORDED')
