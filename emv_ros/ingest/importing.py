"""Import of whatever a person names: a bag or an experience file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from emv_ros.errors import ImportFileError
from emv_ros.ingest.report import ImportReport
from emv_ros.ingest.sink import RecordSink
from emv_ros.settings import IngestSettings

EXPERIENCE_SUFFIXES = ('.jsonl', '.ndjson')


def import_path(
        path: Path | str, sink: RecordSink, settings: IngestSettings | None = None,
        robot: str = 'robot', zone: str | None = None, topics: Sequence[str] | None = None,
        thin: bool = False,
        progress: Callable[[int, int], None] | None = None) -> ImportReport:
    """Put the records of an experience file (.jsonl) or a bag (.mcap, .db3, folder) into the sink.

    `zone` is that of the robot: by default the offset of the stamps, or UTC for a bag. `topics`
    and `thin` are for bags alone. Raises ImportFileError, naming the path, where nothing can be
    imported from it.
    """
    path = Path(path)
    settings = settings or IngestSettings()
    check_path(path)
    if path.is_file() and path.suffix in EXPERIENCE_SUFFIXES:
        from emv_ros.ingest.experience import import_experience

        return import_experience(path, sink, robot, zone, progress, settings)
    from emv_ros.ingest.bags import import_bag

    report = import_bag(path, sink, settings, robot, zone, topics, thin, progress)
    others = [file.name for file in sorted(path.iterdir())
              if file.suffix in EXPERIENCE_SUFFIXES] if path.is_dir() else []
    if others:
        report.notes.append(f'the folder was read as a bag, and not its experience files '
                            f'{", ".join(others)}: name each to read it')
    return report


def check_path(path: Path) -> None:
    """Raise ImportFileError where a path is nothing that can be imported; reads no content."""
    if not path.exists():
        raise ImportFileError(f'there is no file or folder {path}')
    if path.is_file() and path.suffix in EXPERIENCE_SUFFIXES:
        return
    if path.suffix == '.bag' and path.is_file():
        raise ImportFileError(f'{path} is a bag of ROS 1: convert it with rosbags-convert first')
    if path.is_file() and path.suffix not in ('.mcap', '.db3'):
        raise ImportFileError(
            f'{path} is of an unknown kind: neither an experience file ('
            f'{", ".join(EXPERIENCE_SUFFIXES)}) nor a bag (.mcap, .db3 or a folder)')
    from emv_ros.ingest.bag_reader import bag_files

    bag_files(path)
