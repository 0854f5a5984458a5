"""Events of household tasks with a user who talks to the robot, against the lines themselves.

Every run and every saying is an event of its own, in their order, with a text that follows from
its line alone. What the robot's eyes would have shown is added to some of the log, one scene a
deed, to see what cuts scenes: other things or states, words, pauses.
"""

from __future__ import annotations

from itertools import pairwise
import json
import re

import pytest
from raw_logs import DATA, SECOND, grow, lines_of, nodes_of, one_line

from emv_ros.settings import TreeSettings

LOG = DATA / 'teach.jsonl'
pytestmark = pytest.mark.skipif(not LOG.exists(), reason='the log is not beside the checkout')
DEEDS = {'Open': 'open', 'Close': 'closed', 'ToggleOn': 'on', 'ToggleOff': 'off',
         'Slice': 'sliced', 'Pickup': 'held', 'Place': 'full'}

# Wide groups: what is above the events takes the time and is not looked at here.
WIDE = TreeSettings(group_size=200, fan_out=100)


def text_of(line):
    """Return what an event of a line must say."""
    if line['type'] == 'speech':
        return f'{line["speaker"]} said "{one_line(line["text"])}"'
    thing = re.sub(r'(\|[+-]?[\d.]+)+', '', line['parameters'].get('object', ''))
    return f'{line["skill"]} ({thing}) {line["status"]}' if thing else (
        f'{line["skill"]} {line["status"]}')


def test_every_run_and_saying_is_one_event_with_its_text(tmp_path):
    lines = [line for line in lines_of(LOG) if line['type'] != 'pose']
    with grow(LOG, tmp_path / 'memory', settings=WIDE) as store:
        nodes = nodes_of(store)
    assert len(nodes) == 5219 + 475
    assert sorted((node.start, node.end, node.text) for node in nodes) == sorted(
        (line['start'], line['start'], text_of(line)) for line in lines)
    assert all(node.level == 2 and node.parent is None for node in nodes)
    assert all(len(node.records) == 1 for node in nodes)
    order = [node.start for node in nodes]
    assert order == sorted(order)


@pytest.fixture
def with_scenes(tmp_path):
    """Return the path of the first part of the log with a scene after each deed and each step."""
    lines = [line for line in lines_of(LOG) if line['type'] in ('skill', 'speech')][:700]
    states: dict[str, str] = {}
    path = tmp_path / 'seen.jsonl'
    with path.open('w', encoding='utf-8') as file:
        for line in lines:
            start = line.pop('start')
            line.pop('end')
            file.write(json.dumps(line) + '\n')
            thing = line.get('parameters', {}).get('object', '').partition('|')[0]
            if line['type'] != 'skill':
                continue
            if thing and line['status'] == 'succeeded' and line['skill'] in DEEDS:
                states[thing] = DEEDS[line['skill']]
            file.write(json.dumps({
                't': stamp_after(line['t']), 'type': 'scene', 'relations': [], 'objects': [
                    {'name': name, 'state': state} for name, state in sorted(states.items())],
            }) + '\n')
            assert start
    return path


def stamp_after(stamp):
    """Return the stamp a tenth of a millisecond later."""
    head, fraction, zone = stamp[:20], stamp[20:26], stamp[26:]
    return f'{head}{int(fraction) + 100:06d}{zone}'


def test_scenes_are_cut_by_a_change_by_words_and_by_a_pause(with_scenes, tmp_path):
    lines = lines_of(with_scenes)
    expected, last = [], None
    for line in lines:
        if line['type'] == 'speech':
            last = None
        if line['type'] != 'scene':
            continue
        shown = {(item['name'], item['state']) for item in line['objects']}
        if last and last[2] == shown and line['start'] - last[1] <= 60 * SECOND:
            last[1] = line['start']
            last[3] += 1
        else:
            last = [line['start'], line['start'], shown, 1]
            expected.append(last)
    with grow(with_scenes, tmp_path / 'memory') as store:
        nodes = nodes_of(store)
    seen = [node for node in nodes if node.records[0][0] == 'scene']
    assert [(node.start, node.end, len(node.records)) for node in seen] == [
        (start, end, count) for start, end, _, count in expected]
    for node, (_, _, shown, _) in zip(seen, expected, strict=True):
        if shown:
            assert node.text == 'saw ' + ', '.join(
                f'{name} ({state})' for name, state in sorted(shown))
    changes = sum(one[2] != two[2] for one, two in pairwise(expected))
    assert changes > 30 and len(expected) > changes  # words and pauses cut, too
