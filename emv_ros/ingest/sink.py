"""What the importers and the ingest nodes need of a store: a place to put records.

It holds no records and opens no database; the writer of emv_ros.memory fits it, and so does any
object with these three methods. That keeps ingest testable without a database.
"""

from __future__ import annotations

from typing import Protocol

from emv_ros.records import ImageRecord, Record


class RecordSink(Protocol):
    """A place to put records. All methods may be called from several threads."""

    def begin_session(
            self, robot: str, start_ns: int, clock_source: str, zone: str, source: str) -> int:
        """Return the id of a new session of the robot's clock.

        `clock_source` is 'wall', 'sim', 'bag' or 'file'; `zone` a name that timeline.parse_zone
        reads; `source` the file or node that the records come from.
        """

    def add(self, record: Record) -> None:
        """Take a record; the sink batches and commits by itself."""

    def add_image(self, data: bytes, record: ImageRecord) -> None:
        """Take the bytes of a picture with its record, whose `sha256` may be empty."""
