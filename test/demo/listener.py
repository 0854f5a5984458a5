"""Counts what a replay publishes, as another process: one line of JSON once all is there."""

import json
import sys
import time

import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy

from emv_ros.demo.replay import read_recording
from emv_ros.nodes.replay_topics import message_class
from emv_ros.timeline import SECOND_NS


def main(limit_s: float) -> int:
    recording = read_recording()
    wanted = recording.counts()
    stamps: dict[str, list[int]] = {topic: [] for topic in wanted}

    def listener(topic):
        def receive(message):
            stamp = message.header.stamp if hasattr(message, 'header') else None
            stamps[topic].append(stamp.sec * SECOND_NS + stamp.nanosec if stamp else 0)
        return receive

    rclpy.init()
    node = rclpy.create_node('listener')
    profile = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
    for topic, kind in recording.types.items():
        node.create_subscription(message_class(kind, topic), topic, listener(topic), profile)
    ends_s = time.monotonic() + limit_s
    while time.monotonic() < ends_s and any(len(stamps[one]) < wanted[one] for one in wanted):
        rclpy.spin_once(node, timeout_sec=0.2)
    node.destroy_node()
    rclpy.shutdown()
    sys.stdout.write(json.dumps(stamps) + '\n')
    return 0


if __name__ == '__main__':
    sys.exit(main(float(sys.argv[1])))
