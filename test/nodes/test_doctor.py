"""`emv doctor` looks at the topics of the nodes, over real DDS."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip('rclpy')

from sensor_msgs.msg import Image, JointState
from stand_in import wait_until
from std_msgs.msg import String

from emv_ros.msg import Utterance

pytestmark = pytest.mark.ros

CONFIG = """
/**:
  ros__parameters:
    memory.robot: r2
camera_ingest:
  ros__parameters:
    topics: [front/image_raw, front/image_raw/compressed, wrong/image_raw]
speech_ingest:
  ros__parameters:
    topics: [speach]
joint_state_ingest:
  ros__parameters:
    topics: [joint_states]
"""


def doctor(tmp_path, *words):
    (tmp_path / 'emv.yaml').write_text(CONFIG)
    done = subprocess.run(
        [sys.executable, '-m', 'emv_ros.cli', '--memory', str(tmp_path / 'none'), '--config',
         str(tmp_path / 'emv.yaml'), 'doctor', '--json', '--set', 'retrieval.embedder=none',
         *words], capture_output=True, text=True, env=os.environ, timeout=120)
    assert 'Traceback' not in done.stderr, done.stderr
    return {item['name']: item for item in json.loads(done.stdout)}


def test_each_topic_is_told_with_its_publishers(robot, tmp_path):
    made = [robot.publisher(Image, 'front/image_raw', wait=False, reliable=False),
            robot.publisher(String, 'wrong/image_raw', wait=False),
            robot.publisher(Utterance, 'speech', wait=False),
            robot.publisher(JointState, 'joint_states', wait=False)]
    found = doctor(tmp_path)
    told = {name.removeprefix('topic '): item for name, item in found.items()
            if name.startswith('topic ')}
    assert told['/joint_states']['state'] == 'ok'
    assert told['/joint_states']['detail'] == (
        '1 publishers, sensor_msgs/msg/JointState, reliable, volatile')
    assert told['/front/image_raw']['state'] == 'note'
    assert 'best effort' in told['/front/image_raw']['detail']
    assert 'publish reliably' in told['/front/image_raw']['mend']
    assert '/front/image_raw/compressed' not in told  # of a camera one is enough
    assert told['/wrong/image_raw']['state'] == 'wrong'
    assert 'std_msgs/msg/String' in told['/wrong/image_raw']['detail']
    assert told['/speach']['state'] == 'note'
    assert told['/speach']['mend'].startswith('did you mean /speech?')
    assert told['/odom']['state'] == 'note' and '/own_speech' not in told
    # Nothing is left of the look: no node, no subscription.
    wait_until(lambda: not robot.node.count_subscribers('joint_states'), 'its end')
    assert not any(name.startswith('topic ') for name in doctor(tmp_path, '--no-topics'))
    for publisher in made:
        robot.node.destroy_publisher(publisher)
