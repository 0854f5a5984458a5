"""All nodes in one process: for robots with one computer, and for installations without launch.

Each is still a node of its own, with its name, parameters and transitions; `autostart: false`
keeps one out. Ingest has an executor with one thread, which nothing slow shares.
"""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor

from emv_ros.nodes.camera_ingest import CameraIngest
from emv_ros.nodes.consolidation import ConsolidationNode
from emv_ros.nodes.intake import Intake
from emv_ros.nodes.joint_state_ingest import JointStateIngest
from emv_ros.nodes.perception import PerceptionNode
from emv_ros.nodes.pose_ingest import PoseIngest
from emv_ros.nodes.query import QueryNode
from emv_ros.nodes.running import Group, run_groups
from emv_ros.nodes.scene_ingest import SceneIngest
from emv_ros.nodes.skill_ingest import SkillIngest
from emv_ros.nodes.speech_bridge import SpeechBridge
from emv_ros.nodes.speech_ingest import SpeechIngest

INGEST = (SkillIngest, SpeechIngest, SceneIngest, PoseIngest, JointStateIngest, CameraIngest)


def groups() -> list[Group]:
    """Return the nodes with the executors that they run on."""
    intake = Intake()
    query, consolidation = QueryNode(), ConsolidationNode()
    threads = query.threads + consolidation.threads
    return [
        (SingleThreadedExecutor, [kind(intake=intake) for kind in INGEST]),
        (lambda: MultiThreadedExecutor(threads), [query, consolidation]),
        (SingleThreadedExecutor, [PerceptionNode()]),
        (SingleThreadedExecutor, [SpeechBridge()])]


def main(args: Sequence[str] | None = None) -> int:
    """Run all nodes."""
    return run_groups(groups, args)
