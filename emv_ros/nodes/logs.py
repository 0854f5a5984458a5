"""What the core logs with `logging` goes on to the log of a node, by one handler."""

from __future__ import annotations

import logging
from typing import Any

CORE = 'emv_ros'


class NodeLogHandler(logging.Handler):
    """Forwards log records to an rclpy logger."""

    def __init__(self, logger: Any) -> None:
        super().__init__(logging.INFO)
        self._logger = logger
        self.setFormatter(logging.Formatter('%(name)s: %(message)s'))

    def emit(self, record: logging.LogRecord) -> None:
        """Forward one record."""
        words = self.format(record)
        if record.levelno >= logging.ERROR:
            self._logger.error(words)
        elif record.levelno >= logging.WARNING:
            self._logger.warning(words)
        else:
            self._logger.info(words)


def forward_logs(logger: Any) -> None:
    """Forward the logs of the core to this logger, and to no other."""
    core = logging.getLogger(CORE)
    for handler in [item for item in core.handlers if isinstance(item, NodeLogHandler)]:
        core.removeHandler(handler)
    core.addHandler(NodeLogHandler(logger))
    core.setLevel(logging.INFO)
    core.propagate = False
