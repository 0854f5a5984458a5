"""A plain recorder of the topics of the bench, to compare with: every message goes to an MCAP file.

It does what `ros2 bag record` does: takes messages as bytes and writes them as they are. Files are
cut at a size and, since ten minutes of pictures are 50 GB, counted and removed once they are full;
most never reach the disk. The account is a line of JSON on stdout.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
import json
from pathlib import Path
import shutil
import sys
from typing import Any

from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rosbags.rosbag2 import StoragePlugin, Writer

from emv_ros.ingest.bag_types import standard_types
from emv_ros.nodes import qos
from emv_ros.nodes.lifecycle import MemoryNode
from emv_ros.nodes.load_publisher import TOPICS
from emv_ros.nodes.parameters import declare
from emv_ros.nodes.running import run

TYPES = {'image': 'sensor_msgs/msg/Image', 'joint': 'sensor_msgs/msg/JointState',
         'event': 'emv_ros/msg/SkillEvent', 'utterance': 'emv_ros/msg/Utterance'}
FILE_BYTES = 200_000_000


class LoadRecorder(MemoryNode):
    """Writes what it hears into files below a folder."""

    areas = ()

    def __init__(self, name: str = 'load_recorder', **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self.folder = Path(declare(self, 'folder', '', 'where the files lie; must not exist'))
        self.account = Path(declare(self, 'account', '', 'file for the account as JSON'))
        self.rows: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.file_bytes = 0
        self._files = 0
        self._in_file = 0
        self._types = standard_types()

    def open(self) -> None:
        """Open the first file."""
        self.folder.mkdir(parents=True)
        self._begin_file()

    def start(self) -> None:
        """Listen."""
        for kind, (topic, message_class, _) in TOPICS.items():
            self.create_subscription(
                message_class, topic, self._taker(kind), QoSProfile(
                    depth=qos.PICTURE_DEPTH if kind == 'image' else qos.EVENT_DEPTH,
                    history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.RELIABLE),
                raw=True)

    def close(self) -> None:
        """Close the file, and write the account."""
        self._end_file()
        self.account.write_text(json.dumps({
            'rows': dict(self.rows), 'bytes': dict(self.bytes), 'file_bytes': self.file_bytes,
            'files': self._files}))

    def _taker(self, kind: str) -> Any:
        def take(data: bytes, info: Any) -> None:
            self._writer.write(self._connections[kind], info['received_timestamp'], data)
            self.rows[kind] += 1
            self.bytes[kind] += len(data)
            self._in_file += len(data)
            if self._in_file >= FILE_BYTES:
                self._end_file()
                self._begin_file()
        return take

    def _begin_file(self) -> None:
        self._path = self.folder / f'part_{self._files}'
        self._writer = Writer(self._path, version=8, storage_plugin=StoragePlugin.MCAP)
        self._writer.open()
        self._connections = {
            kind: self._writer.add_connection(
                f'/{topic}', TYPES[kind], typestore=self._types)
            for kind, (topic, _, _) in TOPICS.items()}
        self._in_file = 0
        self._files += 1

    def _end_file(self) -> None:
        self._writer.close()
        self.file_bytes += sum(file.stat().st_size for file in self._path.iterdir())
        shutil.rmtree(self._path)


def main(args: Sequence[str] | None = None) -> int:
    """Record until a signal comes."""
    return run(LoadRecorder, args)


if __name__ == '__main__':
    sys.exit(main())
