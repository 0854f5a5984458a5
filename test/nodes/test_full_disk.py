"""A full disk: nodes say so, lose no event or word, and go on when there is room again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import time

import pytest

pytest.importorskip('rclpy')

from sensor_msgs.msg import CompressedImage
from stand_in import result_of, sent, wait_until

from emv_ros.action import Consolidate
from emv_ros.evaluation.faults.life import picture_of
from emv_ros.evaluation.faults.prepared import add
from emv_ros.evaluation.faults.resources import fill, small_disk
from emv_ros.memory import queries
from emv_ros.memory.store import MemoryStore
from emv_ros.msg import MemoryStatus, Utterance
from emv_ros.settings import MemorySettings
from emv_ros.timeline import SECOND_NS

pytestmark = pytest.mark.ros
LIMIT_S = 60.0


@pytest.fixture
def disk() -> Iterator[Path]:
    with small_disk() as folder:
        if folder is None:
            pytest.skip('a small disk cannot be mounted here')
        yield folder


def stamped(message, number):
    stamp_ns = time.time_ns()
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns + number, SECOND_NS)
    return message


def words(folder):
    with MemoryStore.open(MemorySettings(), folder) as store:
        return {item.text for item in queries.utterances(store)}


def test_words_and_pictures(start, robot, disk):
    folder = disk / 'memory'
    start('memory', folder, **{'model.model': 'none', 'retrieval.embedder': 'none',
                               'tree.period_s': 600.0, 'status_period_s': 0.5,
                               'camera_ingest:topics': ['head/image_raw/compressed']})
    speech = robot.publisher(Utterance, 'speech')
    camera = robot.publisher(CompressedImage, 'head/image_raw/compressed')
    speech.publish(stamped(Utterance(text='before'), 0))
    wait_until(lambda: 'before' in words(folder), 'the first words')
    ballast = fill(disk, 20_000)
    for number in range(40):
        speech.publish(stamped(Utterance(text=f'said {number} ' + 'so ' * 300), number))
        camera.publish(stamped(CompressedImage(format='png', data=picture_of(number)), number))
    wait_until(lambda: 'full' in robot.statuses['speech_ingest'].message, 'the status', LIMIT_S)
    assert robot.statuses['speech_ingest'].state == MemoryStatus.STATE_ERROR
    ballast.unlink()
    wait_until(lambda: len(words(folder)) == 41, 'all words', LIMIT_S)
    wait_until(lambda: 'full' not in robot.statuses['speech_ingest'].message, 'the end of it',
               LIMIT_S)
    camera.publish(stamped(CompressedImage(format='png', data=picture_of(99)), 99))
    with MemoryStore.open(MemorySettings(), folder) as store:
        wait_until(lambda: any(store.picture(item.id) == picture_of(99)
                               for item in queries.images(store)), 'the last picture', LIMIT_S)


def test_consolidation(start, robot, disk):
    folder = disk / 'memory'
    start('consolidation', folder, **{'model.model': 'none', 'retrieval.embedder': 'none',
                                      'tree.period_s': 600.0})
    with MemoryStore.open(MemorySettings(), folder) as store:
        add(store, range(300))
    client = robot.action_client(Consolidate, 'consolidate')
    ballast = fill(disk, 8_000)
    done = result_of(sent(client, Consolidate.Goal()), LIMIT_S)
    assert done.result.status == done.result.STATUS_ERROR
    assert 'full' in done.result.message
    ballast.unlink()
    done = result_of(sent(client, Consolidate.Goal()), LIMIT_S)
    assert done.result.status == done.result.STATUS_OK, done.result
    with MemoryStore.open(MemorySettings(), folder) as store:
        assert queries.nodes(store)


@pytest.mark.parametrize('is_new', [True, False])
def test_a_node_that_starts_on_a_full_disk_waits_for_room(start, robot, disk, is_new):
    folder = disk / 'memory'
    if not is_new:
        MemoryStore.open(MemorySettings(), folder).close()
    ballast = fill(disk, 0)
    process = start('speech_ingest', folder)
    wait_until(lambda: 'waits for room' in process.output, 'the log', LIMIT_S)
    assert 'full' in process.output or 'No space left' in process.output, process.output
    assert process.process.poll() is None
    ballast.unlink()
    wait_until(lambda: 'running: ' in process.output, 'the start', LIMIT_S)
    robot.publisher(Utterance, 'speech').publish(stamped(Utterance(text='hello'), 0))
    wait_until(lambda: 'hello' in words(folder), 'the words', LIMIT_S)
    wait_until(lambda: 'speech_ingest' in robot.statuses, 'the status', LIMIT_S)
    # Of a disk that had no room it tells nothing more.
    assert 'failed' not in robot.statuses['speech_ingest'].message


def test_a_node_that_waits_for_room_can_be_ended(start, disk):
    ballast = fill(disk, 0)
    process = start('speech_ingest', disk / 'memory')
    wait_until(lambda: 'waits for room' in process.output, 'the log', LIMIT_S)
    assert process.stop() == 0
    ballast.unlink()
