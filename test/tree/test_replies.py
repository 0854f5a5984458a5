"""What counts as a usable reply of a model, case by case."""

import json

import pytest

from emv_ros.tree.checks import Fault
from emv_ros.tree.plain import errors_in, fixed, summary_in
from emv_ros.tree.prompt_size import tokens_of
from emv_ros.tree.replies import SYSTEM, Group, ask, most_items, parse

LINES = ['09:02 Go (kitchen) succeeded', '09:03 Grasp (mug) failed', '09:04 Grasp (mug) succeeded',
         '10:30 user said "thank you"']
GOOD = ('{"groups": [{"first": 1, "last": 3, "summary": "Went to the kitchen and took the mug."}, '
        '{"first": 4, "last": 4, "summary": "The user said thanks."}]}')


def errors_of(text, max_group=16):
    return tuple(fault.text for fault in parse(text, LINES, max_group, 600).errors)


def ranges(*pairs):
    return json.dumps({'groups': [{'first': first, 'last': last, 'summary': 'Mug, thanks.'}
                                  for first, last in pairs]})


@pytest.mark.parametrize('text', [
    GOOD, f'```json\n{GOOD}\n```', f'Here are the groups:\n{GOOD}\nI hope that helps.',
    f'```\n{GOOD}\n```\n```\nmore\n```', f'```json\n{{"note": 1}}\n```\n```json\n{GOOD}\n```',
    f'```json\n{GOOD}', f'As [asked], in the form {{first, last}}: {GOOD}',
    GOOD.replace('the kitchen', 'the\nkitchen'), GOOD.replace('}]}', '},]}'),
    GOOD.replace('}]}', '}],}')],
    ids=['bare', 'fence', 'prose', 'two fences', 'two fences with JSON', 'fence without end',
         'brackets in prose', 'raw newline', 'trailing comma', 'another trailing comma'])
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


@pytest.mark.parametrize('text, error', [
    ('', 'the reply is empty where JSON was asked for'),
    ('I cannot help with that.', "the reply holds no JSON: 'I cannot help with that.'"),
    ('{}', 'the reply has no list "groups"'), ('[]', 'the reply has no list "groups"'),
    ('{"groups": []}', 'the reply has no list "groups"'),
    ('{"groups": {"first": 1}}', 'the reply has no list "groups"'),
    ('null', 'the reply has no list "groups"'), ('"groups"', 'the reply has no list "groups"'),
    ('[1, 2]', 'group 1 needs whole numbers "first" and "last" and a text "summary"'),
    ('{"groups": [{"first": "1", "last": 4, "summary": "x"}]}', 'group 1 needs whole numbers'),
    ('{"groups": [{"first": 1, "last": 4, "summary": "  "}]}', 'group 1 needs whole numbers'),
    ('{"groups": [{"first": true, "last": 4, "summary": "x"}]}', 'group 1 needs whole numbers'),
    ('{"groups": [{"first": 1, "last": 4}]}', 'group 1 needs whole numbers')])
def test_replies_that_are_no_grouping(text, error):
    assert errors_of(text)[0].startswith(error)
    assert parse(text, LINES, 16, 600).groups == ()
    assert parse(text, LINES, 16, 600).errors[0].kind == 'form'


def test_a_bare_list_of_groups_is_taken():
    assert errors_of(json.dumps(json.loads(GOOD)['groups'])) == ()


@pytest.mark.parametrize('length', [30, 60, 100, len(GOOD) - 4, len(GOOD) - 2])
def test_a_reply_that_was_cut_off_is_refused(length):
    assert errors_of(GOOD[:length])


def test_the_prompt_echoed_is_no_reply():
    """Its example has the form that was asked for, but not the things that were recorded."""
    lines = ['09:10 open door (fridge) succeeded', *LINES[3:] * 4]
    echoed = parse(SYSTEM, lines, 16, 600)
    assert {fault.kind for fault in echoed.errors} >= {'groups', 'object'}
    plain = fixed()[2]['content']
    assert {fault.kind for fault in errors_in(plain, lines, lines, 600)} == {
        'nothing', 'object', 'number'}


def test_a_reply_behind_the_echoed_list_is_taken():
    assert errors_of('\n'.join(LINES) + f'\n{GOOD}') == ()


def test_too_large_groups():
    assert errors_of(ranges((1, 4)), max_group=3) == ('group 1 has more than 3 items',)


def test_a_summary_that_is_too_long():
    text = GOOD.replace('said thanks.', 'said thanks. ' * 100)
    assert errors_of(text) == ('the summary of group 2 is longer than 600 characters',)


def test_a_name_that_is_in_no_child():
    text = GOOD.replace('took the mug', 'took the mug to Alice')
    assert errors_of(text) == (
        'the summary of group 1: it says Alice, which none of its records says',)
    parsed = parse(text, LINES, 16, 600)
    assert parsed.doubtful == {0}
    assert [group.summary for group in parsed.without_doubtful()] == ['', 'The user said thanks.']


def test_words_of_other_groups():
    wrong = GOOD.replace('The user said thanks.', 'The user said thanks and grasped.')
    assert errors_of(wrong) == (
        'the summary of group 2: it says grasped, which only items of other groups say',)
    wrong = GOOD.replace('The user said thanks.', 'The user said thanks in the kitchen.')
    assert errors_of(wrong) == (
        'the summary of group 2: it says kitchen, which none of its records says',)


@pytest.mark.parametrize('text, was_cut, summary', [
    ('The mug was taken.', False, 'The mug was taken.'),
    ('```\nSummary: The mug\nwas taken.\n```', False, 'The mug was taken.'),
    ('```text\nThe mug was taken.\n```', False, 'The mug was taken.'),
    ('"The mug was taken."', False, 'The mug was taken.'),
    ('Mug taken. Then the robot went', True, 'Mug taken.'), ('Then the robot went', True, '')])
def test_plain_replies_in_all_wrappings(text, was_cut, summary):
    assert summary_in(text, was_cut) == summary


@pytest.mark.parametrize('summary, fault', [
    ('', Fault('no end', 'it has no end, or no words; use fewer words')),
    ('Took the mug. ' * 5, Fault('too long', 'it is longer than 60 characters')),
    ('I am sorry.', Fault('nothing', 'it tells nothing of the records')),
    ('Took the mug and an umbrella.',
     Fault('object', 'it says umbrella, which none of its records says', ('umbrella',)))])
def test_what_is_wrong_with_a_plain_summary(summary, fault):
    assert fault in errors_in(summary, LINES, LINES, 60)


def test_a_true_plain_summary():
    assert errors_in('Failed, then took the mug in the kitchen at 09:04.', LINES, LINES, 60) == []


def test_more_items_than_a_prompt_can_list_are_refused_before_it_is_built():
    most = most_items(3000)
    assert most > 12  # the default length of a list
    assert tokens_of(ask(['x' * 600] * most, 8, 3000)) <= 3000
    with pytest.raises(ValueError, match=f'{most + 1} items do not fit'):
        ask(['x'] * (most + 1), 8, 3000)
