"""The moment between the cancel of a goal and its state saying so."""

from __future__ import annotations

import time
from typing import Any

from emv_ros.nodes.lifecycle import MemoryNode

# How long the state of a goal may lag behind its cancel, which reaches the work first.
LAG_S = 2.0
POLL_S = 0.005


def is_canceling(goal: Any, node: MemoryNode) -> bool:
    """Return whether a goal was canceled by its client, once its state had the time to follow.

    It was not where the node itself gives up all work because it stops.
    """
    until = time.monotonic() + LAG_S
    while not goal.is_cancel_requested and node.is_active and time.monotonic() < until:
        time.sleep(POLL_S)
    return bool(goal.is_cancel_requested)
