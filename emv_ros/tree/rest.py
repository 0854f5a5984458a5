"""When nodes have come to rest: a model writes of what is over, so that no text is paid for daily.

Judged by the robot's time; without it all is at rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

from emv_ros.memory.schema import NodeRow
from emv_ros.timeline import local_date
from emv_ros.tree.levels import DAY, Path, path_named, path_of, span_of


class Rest:
    """What is over at a time of the robot, in its zone."""

    def __init__(self, now_ns: int | None, zone: tzinfo, pause_ns: int) -> None:
        """Take what ended less than `pause_ns` before `now_ns` as going on."""
        self.now_ns = now_ns
        self.zone = zone
        self.pause_ns = pause_ns

    def is_live(self, node: NodeRow) -> bool:
        """Whether a node may well go on: then a template does until it has come to rest."""
        return self.now_ns is not None and 0 <= self.now_ns - node.end_ns < self.pause_ns

    def goes_on(self, node: NodeRow) -> bool:
        """Whether a node is a period above the day in which the robot still is."""
        return node.level > DAY and self._is_now(path_named(node.name))

    def over_in(self, node: NodeRow, children: Sequence[NodeRow]) -> int:
        """Return how many of the first children of a period lie in parts of it that are over.

        A lone day below a month stands for its week, and so on.
        """
        length = len(path_named(node.name)) + 1
        for place, child in enumerate(children):
            if self._is_now(path_of(local_date(child.start_ns, self.zone))[:length]):
                return place
        return len(children)

    def _is_now(self, path: Path) -> bool:
        if self.now_ns is None:
            return False
        span = span_of(path, self.zone)
        return span is None or span.contains(self.now_ns)
