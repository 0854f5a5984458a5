"""A short look at the topics that the nodes would listen to: who publishes there, and what.

The nodes are made as `emv run` makes them, with the same parameters, so that their topics are the
same; they serve nothing, subscribe to nothing and are gone after the look.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import time
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.exceptions import ParameterException

from emv_ros.errors import EmvError
from emv_ros.ingest.images import camera_of
from emv_ros.memory.checkup import Finding
from emv_ros.nodes import qos
from emv_ros.nodes.camera_ingest import CameraIngest
from emv_ros.nodes.ingest import IngestNode
from emv_ros.nodes.likely_topics import nearest
from emv_ros.nodes.memory import INGEST
from emv_ros.nodes.topic_state import PICTURE_TYPES

POLL_S = 0.1
BEST_EFFORT = ('publish reliably, or start the publisher with FASTDDS_DEFAULT_PROFILES_FILE set to '
               'config/fastdds.xml of emv_ros: larger pictures get lost else')


def check_topics(ros_args: Sequence[str], look_s: float) -> Iterator[Finding]:
    """Look for at most `look_s` at the topics of all ingest nodes.

    `ros_args` are arguments for ROS: parameters and parameter files. Raises EmvError where ROS
    cannot be started with them.
    """
    context = Context()
    nodes: list[IngestNode] = []
    try:
        rclpy.init(args=list(ros_args), context=context)
        for kind in INGEST:
            nodes.append(kind(
                context=context, enable_communication_interface=False, enable_rosout=False,
                start_parameter_services=False))
        ends_s = time.monotonic() + look_s
        while time.monotonic() < ends_s and any(map(_absent, nodes)):
            time.sleep(POLL_S)
        for node in nodes:
            yield from _of_node(node)
    except (ParameterException, RuntimeError) as error:
        raise EmvError(f'the topics cannot be looked at: {error}') from error
    finally:
        for node in nodes:
            node.destroy_node()
        context.try_shutdown()


def _topics(node: IngestNode) -> dict[str, bool]:
    """Return the topics of a node by their full names, and whether each may be absent."""
    return {node.resolve_topic_name(topic): is_optional
            for topic, is_optional in node.topic_names()}


def _absent(node: IngestNode) -> list[str]:
    """Return the topics that should be there and are not; of a camera one is enough."""
    topics = _topics(node)
    there = {topic for topic in topics if node.count_publishers(topic)}
    absent = [topic for topic in topics if topic not in there]
    if isinstance(node, CameraIngest):
        cameras = {camera_of(topic) for topic in there}
        return [topic for topic in absent if camera_of(topic) not in cameras]
    return [topic for topic in absent if not topics[topic]]


def _of_node(node: IngestNode) -> Iterator[Finding]:
    topics = _topics(node)
    absent = _absent(node)
    for topic in topics:
        name = f'topic {topic}'
        offers = node.get_publishers_info_by_topic(topic)
        if topic in absent:
            meant = nearest(node, topic, node.types, topics)
            yield Finding(
                name, 'note', f'nobody publishes it, for {node.get_name()}',
                f'did you mean {meant}? name it in the topics of {node.get_name()}' if meant else
                f'start its publisher, or change the topics of {node.get_name()}')
        elif offers:
            yield _of_offers(name, node, offers)


def _of_offers(name: str, node: IngestNode, offers: Sequence[Any]) -> Finding:
    kinds = sorted({offer.topic_type for offer in offers})
    usable = [offer for offer in offers if offer.topic_type in node.types]
    if not usable:
        return Finding(name, 'wrong', f'it carries {", ".join(kinds)}',
                       f'{node.get_name()} reads {" or ".join(node.types)}: name another topic')
    profile = qos.following([offer.qos_profile for offer in usable], node.depth)
    told = (f'{len(offers)} publishers, {", ".join(kinds)}, {qos.in_words(profile)}')
    if len(kinds) > 1:
        return Finding(name, 'wrong', told, 'one topic has one type: rename what is not meant')
    if kinds[0] in PICTURE_TYPES and not qos.is_reliable(profile):
        return Finding(name, 'note', told, BEST_EFFORT)
    return Finding(name, 'ok', told)
