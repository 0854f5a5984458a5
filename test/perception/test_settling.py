"""Relations of a clip from when its things came together."""

from emv_ros.perception.settling import settled

ON, BY = ('mug', 'on', 'table'), ('mug', 'next to', 'bowl')
BOTH = {'mug', 'table', 'bowl'}


def test_what_is_sure_only_later_holds_since_both_came():
    assert settled([[], [], [], [ON], [ON]], [{'table'}, *[BOTH] * 4]) == [
        set(), {ON}, {ON}, {ON}, {ON}]
    assert settled([[], [], [ON]], [BOTH] * 3) == [{ON}] * 3


def test_what_began_while_both_were_there_is_not_moved():
    assert settled([[]] * 6 + [[ON]], [BOTH] * 7) == [set()] * 6 + [{ON}]


def test_what_was_somewhere_else_was_not_there():
    held = ('mug', 'held by', 'gripper')
    assert settled([[held], [ON]], [{*BOTH, 'gripper'}] * 2) == [{held}, {ON}]
    before = ('mug', 'left of', 'bowl')
    assert settled([[before], [BY]], [BOTH] * 2) == [{before}, {BY}]
    assert settled([[ON], [ON, BY]], [BOTH] * 2) == [{ON, BY}] * 2
