"""Remembers scene graphs: what a robot's perception sees, and how it stands to one another.

Detections of vision_msgs are taken where that package is installed: it belongs to a distribution
of ROS 2, and is no requirement of this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from emv_ros.msg import SceneGraph
from emv_ros.nodes.ingest import IngestNode
from emv_ros.nodes.running import run

try:
    from vision_msgs.msg import Detection2DArray, Detection3DArray
except ModuleNotFoundError:
    DETECTIONS: dict[str, type] = {}
else:
    DETECTIONS = {'vision_msgs/msg/Detection2DArray': Detection2DArray,
                  'vision_msgs/msg/Detection3DArray': Detection3DArray}


class SceneIngest(IngestNode):
    """Scenes that another node made from pictures."""

    types = {'emv_ros/msg/SceneGraph': SceneGraph, **DETECTIONS}
    default_topics = ('scene_graph',)

    def __init__(self, name: str = 'scene_ingest', **kwargs: Any) -> None:
        super().__init__(name, **kwargs)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node alone."""
    return run(SceneIngest, args)
