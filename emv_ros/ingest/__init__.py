"""From messages, bags and files to records; no ROS is needed."""

from emv_ros.ingest.importing import import_path
from emv_ros.ingest.report import ImportReport
from emv_ros.ingest.sink import RecordSink

__all__ = ['ImportReport', 'RecordSink', 'import_path']
