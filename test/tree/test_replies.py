"""What counts as a usable reply of a model, case by case."""

import pytest

from emv_ros.tree.checks import imagined_failure, invented_in, misplaced_in, untold_failures
from emv_ros.tree.plain import errors_in, summary_in
from emv_ros.tree.replies import Group, parse

LINES = ['09:02 Go (kitchen) succeeded', '09:03 Grasp (mug) failed', '09:04 Grasp (mug) succeeded',
         '10:30 user said "thank you"']
GOOD = ('{"groups": [{"first": 1, "last": 3, "summary": "Went to the kitchen and took the mug."}, '
        '{"first": 4, "last": 4, "summary": "Thanks."}]}')


def errors_of(text, max_group=16):
    return parse(text, LINES, max_group, 600).errors


def ranges(*pairs):
    import json

    return json.dumps({'groups': [{'first': first, 'last': last, 'summary': 'Something.'}
                                  for first, last in pairs]})


@pytest.mark.parametrize('text', [
    GOOD, f'```json\n{GOOD}\n```', f'Here are the groups:\n{GOOD}\nI hope that helps.',
    f'```\n{GOOD}\n```\n```\nmore\n```', GOOD.replace('Thanks.', 'Tha\nnks.')])
def test_good_replies_in_all_wrappings(text):
    parsed = parse(text, LINES, 16, 600)
    assert parsed.errors == ()
    assert [(group.first, group.last) for group in parsed.groups] == [(1, 3), (4, 4)]
    assert parsed.groups[0] == Group(1, 3, 'Went to the kitchen and took the mug.')


@pytest.mark.parametrize('pairs, error', [
    (((1, 2), (2, 4)), 'group 2 overlaps the group before: it must start at 3'),
    (((1, 2), (4, 4)), 'items 3 to 3 are in no group'),
    (((2, 4),), 'items 1 to 1 are in no group'),
    (((1, 3),), 'items 4 to 4 are in no group'),
    (((1, 5),), 'group 1 ends at 5, but the last item is 4'),
    (((3, 1), (4, 4)), 'group 1 runs backwards (3 to 1)'),
    (((3, 4), (1, 2)), 'items 1 to 2 are in no group')])
def test_ranges_that_do_not_cover_the_list_once(pairs, error):
    assert error in errors_of(ranges(*pairs))


@pytest.mark.parametrize('text', [
    '', 'I cannot help with that.', '{}', '[]', '{"groups": []}', '{"groups": {"first": 1}}',
    '[1, 2]', GOOD[:60], GOOD.replace('}]}', '},]}'), 'null', '"groups"',
    '{"groups": [{"first": "1", "last": 4, "summary": "x"}]}',
    '{"groups": [{"first": 1, "last": 4, "summary": "  "}]}',
    '{"groups": [{"first": true, "last": 4}]}', '{"groups": [{"first": 1, "last": 4}]}'])
def test_replies_that_are_no_grouping(text):
    assert errors_of(text)
    assert parse(text, LINES, 16, 600).groups == ()


def test_too_large_groups():
    assert errors_of(ranges((1, 4)), max_group=3) == ('group 1 has more than 3 items',)
    assert errors_of(ranges((1, 4)), max_group=4) == ()


def test_a_summary_that_is_too_long():
    text = GOOD.replace('Thanks.', 'Thanks. ' * 100)
    assert errors_of(text) == ('the summary of group 2 is longer than 600 characters',)


@pytest.mark.parametrize('summary, found', [
    ('Went to the kitchen and took the mug at the second attempt.', []),
    ('The robot grasped the mug at 09:04.', []), ('At 9 things were quiet. Grasp failed.', ['9']),
    ('Took the mug 2 times, then 3 words.', []), ('Met Alice in the kitchen.', ['Alice']),
    ('The Mug was taken to the Kitchen.', []), ('Took 17 mugs at 09:05.', ['17', '09:05']),
    ('GraspObject of NASA failed.', ['GraspObject', 'NASA'])])
def test_names_and_numbers_that_no_item_says(summary, found):
    assert invented_in(summary, LINES) == found


def test_words_of_other_groups():
    assert misplaced_in('Failed to grasp the mug.', LINES[3:], LINES) == ['failed', 'grasp']
    assert misplaced_in('Thanked the robot for the tour.', LINES[3:], LINES) == []
    assert misplaced_in('Went to the kitchen and took the mug.', LINES[:3], LINES) == []
    wrong = GOOD.replace('Thanks.', 'The kitchen is clean.')
    assert errors_of(wrong) == (
        'the summary of group 2 says kitchen, which only items of other groups say',)


@pytest.mark.parametrize('summary, found', [
    ('At 7:05 PM the tours of Tuesday ended.', []), ('At 19:05 the Tours ended.', []),
    ('In the morning of Tuesday 12 May.', []), ('In the morning of Friday.', ['Friday']),
    ('At 7:06 it ended.', ['7:06'])])
def test_times_and_days_in_other_forms_are_no_inventions(summary, found):
    assert invented_in(summary, ['Tuesday 12 May 2026 19:05 Tour succeeded']) == found


def test_failures_are_told_and_none_imagined():
    lines = ['15:25 pour water (glass) FAILED', '15:26 user said "thanks"']
    assert untold_failures('Water was poured.', lines) == lines[:1]
    for summary in ('Failed to pour.', 'The robot could not pour water.', 'It tried to pour.'):
        assert untold_failures(summary, lines) == []
    assert imagined_failure('Took the glass but failed to go on.', lines[1:]) == 'failed'
    assert imagined_failure('Failed to pour water.', lines) == ''


@pytest.mark.parametrize('text, was_cut, summary', [
    ('The mug was taken.', False, 'The mug was taken.'),
    ('```\nSummary: The mug\nwas taken.\n```', False, 'The mug was taken.'),
    ('"The mug was taken."', False, 'The mug was taken.'),
    ('Mug taken. Then the robot went', True, 'Mug taken.'), ('Then the robot went', True, '')])
def test_plain_replies_in_all_wrappings(text, was_cut, summary):
    assert summary_in(text, was_cut) == summary


def test_what_is_wrong_with_a_plain_summary():
    def wrong(summary):
        return errors_in(summary, LINES, LINES, 60)
    assert wrong('Took the mug in the kitchen at 09:04.') == []
    assert wrong('') == ['it has no end, or no words; use fewer words']
    assert wrong('Took the mug. ' * 5) == ['it is longer than 60 characters']
    assert wrong('I am sorry.') == ['it tells nothing of the records']
    assert wrong('Took the mug, an umbrella and Alice.') == [
        'it says Alice, umbrella, which none of its records says']
