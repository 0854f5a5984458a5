"""Events and goals of a person's days in a kitchen, against what the lines say by a simple reading.

A record belongs to the goal in whose span it begins; where spans overlap, to the goal that began
last: who heats the soup while washing up handles the soup, and goes back to the dishes when that
is over. An observation is told in the event of the recipe step during which it began, the one that
began last (of two at once the one that ends last), and else is an event of its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from raw_logs import DATA, SECOND, grow, lines_of, nodes_of, share

LOG = DATA / 'hdepic_P01.jsonl'
pytestmark = pytest.mark.skipif(not LOG.exists(), reason='the log is not beside the checkout')
PAUSE = 900 * SECOND
NAMES = {'skill': 'skill', 'observation': 'name'}
KINDS = {'skill': 'skill_event', 'observation': 'observation'}


@pytest.fixture(scope='module')
def lines():
    return lines_of(LOG)


@pytest.fixture(scope='module')
def nodes(tmp_path_factory):
    with grow(LOG, tmp_path_factory.mktemp('memory')) as store:
        return nodes_of(store)


def goal_of(line, goals):
    """Return the goal that began last of those in whose span a line begins."""
    around = [goal for goal in goals if goal['start'] <= line['start'] < goal['end']]
    return max(around, key=lambda goal: (goal['start'], -goal['end']), default=None)


def key_of(line):
    return KINDS[line['type']], line['start'], line[NAMES[line['type']]]


def step_of(line, inside):
    """Return the step that tells an observation, among the lines of its goal."""
    during = [step for step in inside if step['type'] == 'skill'
              and (step['start'] <= line['start'] < step['end'] or step['start'] == line['start'])]
    return max(during, key=lambda step: (step['start'], step['end'], step['skill']), default=None)


def content_of(lines):
    """Return the lines in each goal by its number, those in none under None."""
    goals = [line for line in lines if line['type'] == 'goal']
    content = defaultdict(list)
    for line in lines:
        if line['type'] != 'goal':
            goal = goal_of(line, goals)
            content[goals.index(goal) if goal else None].append(line)
    return goals, content


def test_each_goal_holds_exactly_what_begins_in_it(lines, nodes):
    goals, content = content_of(lines)
    expected = []
    for number, goal in enumerate(goals):
        inside = content[number]
        # A step lasts as long as it was reported to, whatever was still in hand after it.
        ends = [line['end'] for line in inside
                if line['type'] == 'skill' or step_of(line, inside) is None]
        expected.append((
            goal['goal'], goal['start'], max([goal['end'], *ends]),
            tuple(sorted([('annotation', goal['start'], goal['goal']), *map(key_of, inside)]))))
    grown = [(node.name, node.start, node.end, tuple(node.all_records())) for node in nodes
             if any(kind == 'annotation' for kind, *_ in node.records)]
    assert len(grown) == 119
    assert sorted(grown) == sorted(expected)


def test_goals_that_overlap_stand_side_by_side(nodes):
    goals = [node for node in nodes if any(kind == 'annotation' for kind, *_ in node.records)]
    assert all(goal.parent is None and goal.level == 3 for goal in goals)
    overlapping = [(one.name, two.name) for one in goals for two in goals
                   if one is not two and one.start <= two.start < one.end]
    assert ('Washing up and cleaning and putting dishes in dishwasher',
            '(with interruptions) heat soup in microwave') in overlapping


def test_what_lies_in_no_goal_stands_alone(lines, nodes):
    _, content = content_of(lines)
    alone = [record for node in nodes if node.parent is None and node.level == 2
             for record in node.records]
    assert sorted(alone) == sorted(map(key_of, content[None]))
    assert len(alone) == 3


def test_a_recipe_is_a_goal_within_each_activity_that_follows_it(lines, nodes):
    goals, content = content_of(lines)
    expected = []
    for number, goal in enumerate(goals):
        recipes: dict[str, list[list[dict]]] = defaultdict(list)
        for line in content[number]:
            if line['type'] != 'skill':
                continue
            stretches = recipes[line['goal_stack'][0]]
            if stretches and line['start'] - max(
                    step['end'] for step in stretches[-1]) <= PAUSE:
                stretches[-1].append(line)
            else:
                stretches.append([line])
        for recipe, stretches in recipes.items():
            expected.extend((recipe, goal['goal'], tuple(sorted(map(key_of, steps))))
                            for steps in stretches)
    grown = [(node.name, node.parent.name, tuple(sorted(
        record for child in node.children for record in child.records
        if record[0] == 'skill_event'))) for node in nodes if node.level == 3 and not node.records]
    assert sorted(grown) == sorted(expected)
    assert Counter(node.level for node in nodes) == {2: 502 + lonely(nodes), 3: 119 + len(grown)}


def lonely(nodes):
    return sum(len(node.records) == 1 and node.records[0][0] == 'observation' for node in nodes)


def test_an_observation_is_told_by_the_step_it_began_in(lines, nodes):
    _, content = content_of(lines)
    expected = Counter()
    for number in content:
        for line in content[number]:
            if line['type'] != 'observation':
                continue
            step = step_of(line, content[number])
            expected[key_of(line), key_of(step) if step else None] += 1
    grown = Counter()
    for node in nodes:
        runs = [record for record in node.records if record[0] == 'skill_event']
        grown.update((record, runs[0] if runs else None) for record in node.records
                     if record[0] == 'observation')
    assert grown == expected
    assert sum(1 for _, step in grown if step) > 200


def test_texts_say_outcome_things_and_amounts(lines, nodes):
    steps = {key_of(line): line for line in lines if line['type'] == 'skill'}
    outcome, thing, amount, handled = [], [], [], []
    for node in (node for node in nodes if node.level == 2):
        run = next((record for record in node.records if record[0] == 'skill_event'), None)
        if run:
            line = steps[run]
            values = line['parameters']
            outcome.append(f') succeeded{took(line)}' in node.text)
            thing.append((values.get('ingredient') or values['step'][:60].strip())
                         in node.text.replace('\n', ' '))
            if isinstance(values.get('amount'), (int, float)):
                amount.append(f'({values["ingredient"]}, {values["amount"]:g} {values["unit"]})'
                              in node.text)
            assert 'N/A' not in node.text
        seen = dict.fromkeys(f'{name} moved' for kind, _, name in sorted(
            node.records, key=lambda record: record[1]) if kind == 'observation')
        told = [words in node.text for words in seen]
        if not all(told):  # too many for the text: it says how many it leaves out
            assert f'; +{told.count(False)} more' in node.text
        handled.extend(told)
    assert share(outcome) == share(thing) == share(amount) == 1.0
    assert len(outcome) == 502 and len(amount) == 29
    assert share(handled) > 0.99


def took(line):
    seconds = (line['end'] - line['start']) / SECOND
    if seconds < 0.05:
        return ''
    if seconds < 59.95:
        return f' after {seconds:.1f} s'
    return f' after {round(seconds) // 60} min {round(seconds) % 60:02d} s'


def test_steps_that_differ_are_told_apart(lines, nodes):
    steps = {line['parameters']['step'] for line in lines if 'step' in line.get('parameters', ())}
    told = {node.text.partition(' (')[2].partition(') succeeded')[0] for node in nodes
            if node.name in ('recipe_step', 'recipe_prep')}
    assert len(told) == len(steps)
