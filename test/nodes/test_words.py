"""What counts as a question to the robot, and as an echo of it; no ROS needed."""

from __future__ import annotations

import pytest

from emv_ros.nodes.addressing import question_in
from emv_ros.nodes.echo import EchoGuard
from emv_ros.timeline import SECOND_NS

ANSWER = 'I put the milk into the fridge at 13:03, and then I closed the door.'


@pytest.mark.parametrize('text, question', [
    ('When did you see the milk?', 'When did you see the milk?'),
    ('where is my cup', 'where is my cup'),
    ('You saw it, right?', 'You saw it, right?'),
    ('Bring me the milk.', None), ('Whatever.', None), ('', None), ('?', None), (' … ', None)])
def test_without_wake_words(text, question):
    assert question_in(text) == question


@pytest.mark.parametrize('text, question', [
    ('Robo, where is my cup?', 'where is my cup?'),
    ('Hey robo where is my cup', 'where is my cup'),
    ('Where is my cup, Robo?', 'Where is my cup?'),
    ('ROBO FOUR: what did you do today', 'what did you do today'),
    ('Robo', None), ('Hey Robo!', None),
    ('Where is my cup?', None), ('The robots are here.', None)])
def test_with_wake_words(text, question):
    assert question_in(text, ['robo', 'robo four']) == question


@pytest.mark.parametrize('text, is_echo', [
    (ANSWER, True),
    ('i put the milk into the fridge at thirteen and then i closed the door', True),
    ('then I closed the door', True),
    ('Did I put the milk into the fridge at 13:03?', False),
    ('yes', False), ('the fridge', False), ('', False),
    ('Please put the butter into the fridge as well.', False)])
def test_echoes(text, is_echo):
    guard = EchoGuard()
    guard.said(ANSWER, 100 * SECOND_NS)
    assert guard.is_echo(text, 110 * SECOND_NS) is is_echo
    assert not guard.is_echo(text, 300 * SECOND_NS)


def test_an_answer_that_is_a_question_is_heard_as_one():
    guard = EchoGuard()
    guard.said('Do you mean the red cup?', 0)
    assert guard.is_echo('do you mean the red cup?', SECOND_NS)
