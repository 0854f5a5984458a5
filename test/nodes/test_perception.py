"""The perception node over real pictures: it looks, it rests, and it ends in a pass."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

pytest.importorskip('rclpy')

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from stand_in import wait_until

import emv_ros
from emv_ros.memory import queries
from emv_ros.memory.store import MemoryStore
from emv_ros.records import ImageRecord, Scene, SceneObject
from emv_ros.settings import MemorySettings
from emv_ros.timeline import SECOND_NS

pytestmark = pytest.mark.ros
NOON_NS = 1_750_000_000 * SECOND_NS
BOX = (20.0, 20.0, 60.0, 60.0)


def opened(folder):
    return MemoryStore.open(MemorySettings(), folder)


def film(store, seconds, boxes=False):
    """Store a picture a second, with a mug in each where the robot's detector sees it."""
    for second in seconds:
        pixels = np.full((80, 80, 3), 100, np.uint8)
        pixels[20:60, 20:60] = (30, 30, 200)
        stamp_ns = NOON_NS + second * SECOND_NS
        store.add_image(cv2.imencode('.png', pixels)[1].tobytes(), ImageRecord(
            stamp_ns=stamp_ns, camera='head', sha256='', media_type='image/png', width=80,
            height=80))
        if boxes:
            store.add(Scene(stamp_ns=stamp_ns, camera='head', objects=(
                SceneObject(name='mug', instance='m1', bbox=BOX),)))


def told(robot):
    return getattr(robot.statuses.get('perception'), 'message', '')


def test_with_nothing_to_see_with_it_rests_and_says_so(start, robot, tmp_path):
    folder = tmp_path / 'memory'
    with opened(folder) as store:
        film(store, range(3))
    robot.statuses.clear()
    start('perception', folder, perception__period_s=0.1)
    wait_until(lambda: 'names no detector' in told(robot), 'the note')
    with opened(folder) as store:
        assert not queries.scenes(store) and not queries.observations(store)


def test_a_detector_that_cannot_be_loaded_is_told(start, robot, tmp_path):
    robot.statuses.clear()
    process = start('perception', tmp_path / 'memory', perception__detector='absent.onnx')
    wait_until(lambda: 'nothing is detected' in told(robot), 'the note')
    assert 'absent.onnx' in told(robot)
    wait_until(lambda: 'absent.onnx' in process.output, 'the line in the log')


def test_configured_anew_it_tells_nothing_of_before(start, robot, tmp_path):
    checkpoint = tmp_path / 'late.onnx'
    folder = tmp_path / 'memory'
    with opened(folder) as store:
        film(store, range(40))
    robot.statuses.clear()
    start('perception', folder, perception__detector=str(checkpoint), perception__period_s=0.1,
          perception__appearance='none')
    wait_until(lambda: 'nothing is detected' in told(robot), 'the note')
    checkpoint.write_bytes((Path(emv_ros.__file__).parent / 'demo/detector/household.onnx')
                           .read_bytes())
    for number in (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP,
                   Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
        assert robot.call(ChangeState, 'perception/change_state',
                          transition=Transition(id=number)).success
    robot.statuses.clear()
    wait_until(lambda: 'perception' in robot.statuses, 'a status')
    with opened(folder) as store:
        wait_until(lambda: store.state('perception:1') is not None, 'a pass')
    wait_until(lambda: told(robot) == '', 'no note')


def test_it_looks_as_pictures_come_and_rests_when_the_camera_does(start, robot, tmp_path):
    folder = tmp_path / 'memory'
    with opened(folder) as store:
        film(store, range(31), boxes=True)
        start('perception', folder, perception__period_s=0.1, perception__clip_gap_s=1.0,
              perception__appearance='none')
        first = wait_until(lambda: queries.observations(store), 'the first clip')
        assert [(item.name, item.instance, item.stamp_ns) for item in first[:1]] == [
            ('mug', 'm1', NOON_NS)]
        assert first[0].end_ns == NOON_NS + 29 * SECOND_NS + 1
        # Two more: with the thirtieth they are seen for two seconds, once no picture comes.
        film(store, (31, 32), boxes=True)
        both = wait_until(lambda: (found := queries.observations(store)) and len(found) == 2
                          and found, 'the rest')
        assert both[1].end_ns == NOON_NS + 32 * SECOND_NS + 1
    # The last word of the node of the test before may still be on its way.
    wait_until(lambda: told(robot) == '', 'a status without a problem')
