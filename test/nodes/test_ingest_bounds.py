"""What ingest keeps in mind has a bound, however many messages come."""

from __future__ import annotations

import gc
from pathlib import Path
import sys
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import KeyValue
from sensor_msgs.msg import JointState

from emv_ros.ingest.messages import KINDS, Converter
from emv_ros.ingest.thinning import Thinning
from emv_ros.msg import SkillEvent, Utterance
from emv_ros.nodes.echo import EchoGuard
from emv_ros.nodes.inputs import REMEMBERED, TopicInput
from emv_ros.nodes.intake import Intake
from emv_ros.settings import Settings, with_values
from emv_ros.timeline import SECOND_NS

NOON_NS = 1_780_000_000 * SECOND_NS
TOGETHER = 100  # records of one commit: statements of one length


def blocks() -> int:
    """Return the number of pieces of memory that Python holds."""
    gc.collect()
    return sys.getallocatedblocks()


def messages(number: int) -> list[tuple[str, object]]:
    """Return an event, words and a joint state, no two of them alike."""
    stamp = dict(zip(('sec', 'nanosec'), divmod(NOON_NS + number * SECOND_NS, SECOND_NS),
                     strict=True))
    event = SkillEvent(
        skill=f'skill {number % 7}', status=SkillEvent.STATUS_SUCCEEDED, id=f'run {number}',
        goal_stack=[f'errand {number // 10}'], parameters=[KeyValue(key='no', value=str(number))])
    words = Utterance(speaker='user', text=f'bring me number {number}')
    joints = JointState(name=['a', 'b'], position=[float(number), 0.0])
    made = (('emv_ros/msg/SkillEvent', event), ('emv_ros/msg/Utterance', words),
            ('sensor_msgs/msg/JointState', joints))
    for _, message in made:
        message.header.stamp.sec, message.header.stamp.nanosec = stamp.values()
    return list(made)


def test_events_words_and_joint_states_leave_nothing_behind(tmp_path: Path) -> None:
    settings = with_values(Settings(), {'memory.folder': str(tmp_path)})
    intake, echoes = Intake(), EchoGuard()
    intake.acquire(settings, 'wall', 'test')
    converter = Converter(settings.ingest, is_wall=True)
    thinning = Thinning(settings.ingest)

    def take(numbers: range) -> None:
        for number in numbers:
            receipt_ns = NOON_NS + number * SECOND_NS
            for name, message in messages(number):
                for record, data in converter.convert(KINDS[name], message, name, receipt_ns):
                    assert thinning.keep(name, record, data)
                    echoes.is_echo(getattr(record, 'text', ''), receipt_ns)
                    intake.add(record, name, data)
            if number % TOGETHER == TOGETHER - 1:
                intake.flush()
                assert intake.lag_s is not None

    try:
        take(range(600))
        before = blocks()
        take(range(600, 1200))
        grown = blocks() - before
        assert intake.writer is not None and intake.writer.written.total() == 3600
    finally:
        intake.release()
    # Of 1800 records not one block each is left: not an id, not a name, not a stamp.
    assert grown < 600


def test_messages_by_which_a_repeat_is_noticed_are_bounded() -> None:
    node = SimpleNamespace(resolve_topic_name=lambda name: name)
    source = TopicInput(node, None, 'speech', {}, lambda *_: None)

    def hear(numbers: range) -> None:
        for number in numbers:
            info = {'source_timestamp': NOON_NS + number, 'publication_sequence_number': number}
            assert source._is_new(info) and not source._is_new(info)

    hear(range(2 * REMEMBERED))
    before = blocks()
    hear(range(2 * REMEMBERED, 100_000))
    assert abs(blocks() - before) < REMEMBERED
