"""From heard words to spoken ones, over real DDS."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')

from slow_model import SlowModel, serving
from stand_in import wait_until
from std_msgs.msg import String

from emv_ros.memory.store import MemoryStore
from emv_ros.msg import Utterance
from emv_ros.nodes.speech_bridge import ABSENT, BUSY, FAILED
from emv_ros.records import SkillReport, Status
from emv_ros.settings import MemorySettings
from emv_ros.timeline import SECOND_NS

pytestmark = pytest.mark.ros
NOON_NS = 1_750_000_000 * SECOND_NS


@pytest.fixture
def folder(tmp_path):
    with MemoryStore.open(MemorySettings(), tmp_path / 'memory') as store:
        store.add(SkillReport(stamp_ns=NOON_NS, skill='FeedCat', status=Status.SUCCEEDED))
    return tmp_path / 'memory'


def test_a_question_is_answered_and_nothing_else(start, robot, folder):
    start('query', folder, model__model='none', retrieval__embedder='none')
    start('speech_bridge', folder)
    said, own = robot.listen(String, 'say'), robot.listen(Utterance, 'own_speech')
    speech = robot.publisher(Utterance, 'speech')
    wait_until(lambda: 'speech_bridge' in robot.statuses
               and not robot.statuses['speech_bridge'].message, 'the bridge and the action')
    # Not to the robot; the robot's own; then a question.
    for words in (Utterance(text='The cat is hungry.'),
                  Utterance(text='When did I feed the cat?', is_own=True),
                  Utterance(text='When did I feed the cat?', speaker='Robot'),
                  Utterance(text='When did you feed the cat?', speaker='Ada')):
        speech.publish(words)
    wait_until(lambda: said, 'an answer')
    assert 'feed' in said[0].data.lower()
    wait_until(lambda: own, 'the own words')
    assert own[0].is_own and own[0].text == said[0].data and own[0].header.stamp.sec > 0
    # The robot hears itself: not a question, also where it ends in a question mark.
    speech.publish(Utterance(text=said[0].data))
    state = wait_until(lambda: (now := robot.topic('speech_bridge', '/speech')).received == 5
                       and now, 'all heard')
    assert (state.stored, state.thinned) == (1, 4) and len(said) == 1


def test_one_question_at_a_time_and_a_memory_that_is_gone(start, robot, folder):
    model = SlowModel('pass', 60.0)
    with serving(model) as url:
        query = start('query', folder, model__model='openai/slow', model__api_base=url,
                      retrieval__embedder='none')
        start('speech_bridge', folder, wake_words=['robo'], topics=['asked'])
        said = robot.listen(String, 'say')
        speech = robot.publisher(String, 'asked')
        wait_until(lambda: robot.topic('speech_bridge', '/asked')
                   and not robot.statuses['speech_bridge'].message, 'the bridge and the action')
        speech.publish(String(data='When did you feed the cat?'))  # without the wake word
        speech.publish(String(data='Robo, when did you feed the cat?'))
        wait_until(lambda: model.calls, 'a call of the model', 40)
        speech.publish(String(data='What did you do, Robo?'))
        wait_until(lambda: [item.data for item in said] == [BUSY], 'a word that it is busy')
        assert query.stop() == 0, query.output  # and with it the question
        wait_until(lambda: len(said) == 2, 'it gives up')
        assert said[1].data in (FAILED, ABSENT)
        wait_until(lambda: robot.statuses['speech_bridge'].message, 'it is told')
        speech.publish(String(data='Hey Robo, where is the cat?'))
        wait_until(lambda: len(said) == 3, 'an answer')
        assert said[2].data == ABSENT
