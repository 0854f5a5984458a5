"""`emv tree` by id, hours and robots, and `emv stats` with the cost of the tree and its picture."""

from __future__ import annotations

import builtins
from datetime import UTC, datetime
import os
from pathlib import Path
import xml.etree.ElementTree as ElementTree

from PIL import Image
import pytest

from emv_ros.memory.costs import Cost, NodeSpan
from emv_ros.memory.schema import ConsolidationRow
from emv_ros.memory.store import MemoryStore
from emv_ros.timeline import SECOND_NS, parse_stamp, parse_zone

BERLIN = parse_zone('Europe/Berlin')


@pytest.fixture
def grown(filled):
    """Return `emv` over the consolidated EXPERIENCE."""
    assert filled('consolidate', '--no-model').status == 0
    return filled


def first_words(result):
    return [line.split()[0] for line in result.out.splitlines()]


def test_the_tree_below_a_node_and_the_way_to_a_record(grown):
    path = [item['id'] for item in grown('show', 's1', '--json').json['path']]
    whole = grown('tree', '--json').json[0]
    assert path[0] == whole['id']
    below = grown('tree', path[-2])
    assert (below.status, first_words(below)[0]) == (0, path[-2])
    assert set(first_words(below)) < set(first_words(grown('tree')))
    way = first_words(grown('tree', 's1'))
    assert [word for word in way if word != '…'] == path  # and nothing beside it
    node = grown('tree', 's1', '--json').json[0]
    for key in path:
        assert node['id'] == key
        node, = node['children'] or [None]
    for record in ('u1', 'g1', 'o1'):
        assert grown('tree', record).status == 0


@pytest.mark.parametrize(('words', 'status', 'told'), [
    (('n999',), 1, 'no node n999'), (('s999',), 1, 'no skill event s999'),
    (('x1',), 2, "'x1' is no id in the tree"), (('n',), 2, 'no id'), (('q1',), 2, 'no id'),
    (('e1',), 2, 'no id'), (('n1', '--day', 'today'), 2, '--day'),
    (('--day', 'soon'), 2, 'not understood'), (('--day', '30 February'), 2, 'no such day'),
    (('--level', '0'), 2, 'positive'), (('--children', 'x'), 2, 'invalid'),
    (('--day', '2024-06-25'), 1, 'nothing is in the tree of that time'),
    (('--robot', 'nobody'), 1, 'nobody')])
def test_what_names_nothing(grown, words, status, told):
    found = grown('tree', *words)
    assert (found.status, found.out) == (status, '')
    assert told in found.err


def test_a_record_that_waits_is_not_in_the_tree(filled):
    assert filled('tree', 's1').status == 1
    assert 's1 is not in the tree yet' in filled('tree', 's1').err


def test_hours_of_a_day_and_what_reaches_into_it(emv, tmp_path):
    path = tmp_path / 'night.jsonl'
    path.write_text(''.join(
        f'{{"t": "{start}", "t_end": "{end}", "type": "goal", "goal": "{name}"}}\n'
        for start, end, name in (
            ('2024-06-26T14:00:00+02:00', '2024-06-26T14:05:00+02:00', 'sweep'),
            ('2024-06-26T14:37:00+02:00', '2024-06-26T14:40:00+02:00', 'wipe'),
            ('2024-06-26T23:50:00+02:00', '2024-06-27T00:20:00+02:00', 'charge'))), 'utf-8')
    assert emv('import', path, '--zone', 'Europe/Berlin').status == 0
    assert emv('consolidate', '--no-model').status == 0

    def goals(day):
        return [name for name in ('sweep', 'wipe', 'charge')
                if any(f' {name}' in line for line in emv('tree', '--day', day).out.splitlines()
                       if ' L3 ' in line)]

    for day, found in (('2024-06-26', ['sweep', 'wipe', 'charge']), ('2024-06-26 14:00', ['sweep']),
                       ('2024-06-26 14:00 to 15:00', ['sweep', 'wipe']), ('2024-06', [
                           'sweep', 'wipe', 'charge']), ('2024-06-27', ['charge']),
                       ('2024-06-27 00:00', ['charge']), ('2024-06-27 00:20 to 12:00', []),
                       ('2024-06-26 20:00 to 21:00', [])):
        assert goals(day) == found, day
    line = next(line for line in emv('tree').out.splitlines() if 'charge' in line and 'L3' in line)
    assert '23:50:00 to 2024-06-27 00:20:00' in line


def test_a_day_of_several_robots(grown, experience):
    assert grown('--robot', 'other', 'import', experience, '--zone', 'Europe/Berlin').status == 0
    assert grown('consolidate', '--no-model').status == 0
    tops = [line for line in grown('tree', '--day', '2024-06-26').out.splitlines()
            if line[0] == 'n']
    assert ['(robot, ' in tops[0], '(other, ' in tops[1], len(tops)] == [True, True, 2]
    root, *days = grown('tree', '--depth', '1').out.splitlines()
    assert root.startswith('n0 L13') and len(days) == 2
    alone = grown('tree', '--robot', 'other', '--day', '2024-06-26').out
    both = grown('tree', '--day', '2024-06-26').out
    assert 'other' not in alone and 2 * alone.count('\n') == both.count('\n')
    strange = grown('tree', '--robot', 'other', 's1')
    assert (strange.status, strange.err) == (1, 'emv tree: s1 is of another robot: robot\n')


def test_a_long_life_shows_the_levels_that_fit(emv, tmp_path):
    path = tmp_path / 'long.jsonl'
    path.write_text(''.join(
        f'{{"t": "2024-06-{day:02d}T{8 + n // 60:02d}:{n % 60:02d}:00Z", "type": "skill", '
        f'"skill": "Do{n}", "status": "succeeded", "goal_stack": []}}\n'
        for day in range(1, 5) for n in range(200)), 'utf-8')
    assert emv('import', path).status == 0
    assert emv('consolidate', '--no-model').status == 0
    found = emv('tree')
    assert len(found.out.splitlines()) < 500 and ' L2 ' not in found.out
    assert '800 nodes below level 4 are not shown: --level 2 shows them' in found.err
    assert emv('tree', '--level', '2').out.count(' L2 ') == 800
    assert emv('tree', '--day', '2024-06-02').out.count(' L2 ') == 200
    assert emv('tree', '--json').out.count('"level": 2') == 800
    root, week, day, cut, more = emv('tree', '--children', '1', '--level', '8').out.splitlines()
    assert '… 1 more: emv tree n' in cut and more == (
        f'  … 1 more: emv tree {root.split()[0]} --children 2')


# Cost

HOUR_NS = 3600 * SECOND_NS


def note(folder: Path, when: str | None, **counts: float) -> None:
    """Write into the account of consolidations, as if one had run up to a time."""
    store = MemoryStore(folder, f'sqlite:///{folder}/memory.db', 'robot')
    with store.writing() as session:
        values = {'records': 1, 'events': 1, 'goals': 0, 'summaries': 2, 'model_calls': 0,
                  'prompt_tokens': 0, 'completion_tokens': 0, 'cost': 0.0, 'fallbacks': 0,
                  'duration_s': 0.5, 'outcome': 'done', **counts}
        session.add(ConsolidationRow(
            robot_id=1, begun_ns=parse_stamp('2025-01-01T00:00:00Z')[0],
            up_to_ns=None if when is None else parse_stamp(when)[0], **values))
    store.close()


def without_account(folder: Path) -> None:
    store = MemoryStore(folder, f'sqlite:///{folder}/memory.db', 'robot')
    with store.writing() as session:
        session.query(ConsolidationRow).delete()
    store.close()


def test_the_cost_of_each_day_in_the_zone_of_the_robot(grown, tmp_path):
    folder = tmp_path / 'memory'
    without_account(folder)
    assert grown('stats', '--json').json['cost_by_day'] == []
    note(folder, '2024-06-26T21:59:00Z', model_calls=2, prompt_tokens=300, completion_tokens=40)
    note(folder, '2024-06-26T22:01:00Z', model_calls=1, prompt_tokens=100, completion_tokens=10,
         cost=0.25, fallbacks=1)  # after midnight in Berlin
    note(folder, None, model_calls=4, prompt_tokens=50, duration_s=2.0)  # texts anew
    days = grown('stats', '--json').json['cost_by_day']
    assert [(day['robot'], day['day'], day['consolidations'], day['model_calls'],
             day['prompt_tokens'], day['completion_tokens'], day['duration_s'], day['cost'],
             day['fallbacks']) for day in days] == [
        ('robot', '2024-06-26', 1, 2, 300, 40, 0.5, 0.0, 0),
        ('robot', '2024-06-27', 2, 5, 150, 10, 2.5, 0.25, 1)]
    table = grown('stats').out.partition('cost of the tree by day:')[2].splitlines()
    assert table[2].split() == ['2024-06-26', 'robot', '1', '1', '0.5', '2', '300', '+', '40', '0']


# The picture

@pytest.mark.parametrize('name', ['tree.png', 'tree.SVG'])
def test_a_plot_is_written(grown, tmp_path, name):
    path = tmp_path / name
    note(tmp_path / 'memory', '2024-06-26T21:59:00Z', model_calls=2, prompt_tokens=300)
    found = grown('stats', '--plot', path)
    assert (found.status, found.out) == (0, '')
    assert str(path) in found.err
    if name.endswith('png'):
        with Image.open(path) as image:
            assert image.width == 1200 and image.height > 800
            assert len(image.convert('RGB').getcolors(10**6)) > 20
    else:
        words = ''.join(ElementTree.parse(path).getroot().itertext())
        assert 'svg' in ElementTree.parse(path).getroot().tag and 'dc:' not in words
    assert grown('stats', '--plot', path, '--json').json['cost_by_day']


def test_what_cannot_be_plotted_is_told(emv, grown, tmp_path, monkeypatch):
    found = grown('stats', '--plot', tmp_path / 'tree.gif')
    assert (found.status, '.png or .svg' in found.err) == (2, True)
    found = grown('stats', '--plot', tmp_path / 'nowhere' / 'tree.png')
    assert (found.status, 'cannot write' in found.err) == (1, True)
    assert 'No such file' in found.err
    (tmp_path / 'folder.png').mkdir()
    found = grown('stats', '--plot', tmp_path / 'folder.png')
    assert (found.status, 'cannot write' in found.err) == (1, True)
    really = builtins.__import__

    def without(name, *rest):
        if name.startswith('matplotlib'):
            raise ImportError(name)
        return really(name, *rest)

    monkeypatch.setattr(builtins, '__import__', without)
    found = grown('stats', '--plot', tmp_path / 'tree.png')
    assert (found.status, "pip install 'emv_ros[plots]'" in found.err) == (1, True)
    assert not (tmp_path / 'tree.png').exists()


def test_an_empty_tree_has_no_picture(filled, tmp_path):
    found = filled('stats', '--plot', tmp_path / 'tree.png')
    assert (found.status, 'the tree is empty' in found.err) == (1, True)
    assert not (tmp_path / 'tree.png').exists()


def drawn(spans, spent, zone=BERLIN):
    from emv_ros.commands.plotting import drawn as draw

    figure = draw(spans, spent, zone)
    figure.draw_without_rendering()
    return figure


def span(level: int, start: str, end: str, made_by: str = 'calendar', robot: str = 'r1'):
    return NodeSpan(robot, level, parse_stamp(start)[0], parse_stamp(end)[0], made_by)


def test_what_the_picture_shows():
    spans = [span(2, '2024-06-26T08:00:00Z', '2024-06-26T08:00:00Z', 'rule'),
             span(8, '2024-06-26T08:00:00Z', '2024-06-26T20:00:00Z', 'model'),
             span(8, '2024-06-28T08:00:00Z', '2024-06-30T20:00:00Z'),
             span(9, '2024-06-26T08:00:00Z', '2024-06-30T20:00:00Z', 'rule')]
    spent = [Cost(robot='r1', up_to_ns=parse_stamp(when)[0], model_calls=calls,
                  prompt_tokens=100 * calls, completion_tokens=10 * calls, duration_s=1.5,
                  summaries=2, fallbacks=1)
             for when, calls in (('2024-06-26T19:00:00Z', 2), ('2024-06-26T23:00:00Z', 3),
                                 ('2024-06-27T05:00:00Z', 4))]
    figure = drawn(spans, spent)
    tree, tokens, seconds, calls, summaries = figure.axes[:5]
    assert [label.get_text() for label in tree.get_yticklabels()] == [
        'L2 event (1)', 'L8 day (2)', 'L9 week (1)']
    assert [text.get_text() for text in tree.get_legend().get_texts()] == [
        'events and goals, from records (1)', 'text from a template (1)', 'text by a model (1)',
        'left to the rule: the model failed (1)']
    # Days of Berlin: 23:00 UTC is on the next.
    prompt, completion = tokens.containers
    assert [bar.get_height() for bar in prompt] == [200, 700]
    assert [bar.get_height() for bar in completion] == [20, 70]
    assert [datetime.fromtimestamp(bar.get_x() * 86400, UTC).isoformat() for bar in prompt] == [
        '2024-06-25T22:00:00+00:00', '2024-06-26T22:00:00+00:00']
    assert [round(bar.get_width(), 6) for bar in prompt] == [1, 1]
    assert [bar.get_height() for bar in seconds.containers[0]] == [1.5, 3]
    assert [bar.get_height() for bar in calls.containers[0]] == [2, 7]
    assert [bar.get_height() for bar in summaries.containers[1]] == [1, 2]
    assert tokens.get_ylabel() == 'model tokens\nper day'
    assert seconds.get_ylabel() == 'time taken [s]\nper day'
    so_far = [axis for axis in figure.axes[5:] if axis.get_ylabel() == 'sum so far']
    assert so_far[0].lines[0].get_ydata().tolist() == [0, 220, 990]
    assert summaries.get_xlabel() == 'local time from 2024-06-26 (CEST)'
    assert '990' not in figure.get_suptitle() and '9 model calls' in figure.get_suptitle()


@pytest.mark.parametrize(('end', 'unit'), [
    ('2024-06-26T08:00:00Z', 'minute'), ('2024-06-26T09:00:00Z', 'minute'),
    ('2024-06-27T08:00:00Z', 'hour'), ('2024-07-27T08:00:00Z', 'day'),
    ('2034-07-27T08:00:00Z', 'week')])
def test_the_unit_of_cost_follows_the_length_of_the_life(end, unit):
    start = '2024-06-26T08:00:00Z'
    cost = Cost(robot='r1', up_to_ns=parse_stamp(end)[0], model_calls=1)
    figure = drawn([span(8, start, end)], [cost])
    assert figure.axes[2].get_ylabel() == f'time taken [s]\nper {unit}'


def test_several_robots_have_a_panel_each_and_names_are_no_formulas():
    spans = [span(8, '2024-06-26T08:00:00Z', '2024-06-26T20:00:00Z', robot=robot)
             for robot in ('$a_b$', '机器人', 'r\x1b[2J', *'cdefgh')]
    cost = Cost(robot='c', up_to_ns=spans[0].end_ns, duration_s=1)
    figure = drawn(spans, [cost])
    titles = [axis.get_title(loc='left') for axis in figure.axes]
    assert [title for title in titles if title] == [r'\$a_b\$', *'cdefg'][:6]
    assert '9 robots, of which 6 are drawn' in figure.get_suptitle()
    assert figure.axes[6].get_ylabel() == 'model tokens\nper hour, all robots'
    # Without a model there are no tokens; the panel says so.
    assert [text.get_text() for text in figure.axes[6].texts] == ['none']
    assert len(drawn(spans[:1], []).axes) == 1
    assert 'no consolidation is on record' in drawn(spans[:1], []).get_suptitle()


def test_no_display_is_needed(grown, tmp_path, monkeypatch):
    monkeypatch.delenv('DISPLAY', raising=False)
    monkeypatch.setitem(os.environ, 'MPLBACKEND', 'TkAgg')
    assert grown('stats', '--plot', tmp_path / 'tree.png').status == 0


def test_growth_tells_bytes_by_kind(emv, experience) -> None:
    assert emv('import', experience, '--zone', 'Europe/Berlin').status == 0
    told = emv('stats', '--growth')
    assert told.status == 0 and told.out.splitlines()[0].split()[:2] == ['kind', 'records']
    assert 'hours of recording' in told.out
    found = emv('--json', 'stats', '--growth').json
    assert found['database']['skill_event']['rows'] >= 4096
    assert found['bytes_per_hour']['skill_event'] == round(
        sum(found['database']['skill_event'].values()) / found['hours'])
