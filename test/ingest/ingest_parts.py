"""What the tests of ingest share: a sink that lists, and messages with the fields of ROS 2's."""

from array import array
from types import SimpleNamespace as Part

T0 = 1_700_000_000_000_000_000  # 2023-11-14T22:13:20Z
SECOND = 1_000_000_000


class ListSink:
    """Keeps what it is given, in order."""

    def __init__(self):
        self.sessions, self.records, self.pictures = [], [], []

    def begin_session(self, robot, start_ns, clock_source, zone, source):
        self.sessions.append((robot, start_ns, clock_source, zone, source))
        return len(self.sessions)

    def add(self, record):
        self.records.append(record)

    def add_image(self, data, record):
        self.records.append(record)
        self.pictures.append(data)


def header(sec=1_700_000_000, nanosec=0, frame=''):
    return Part(stamp=time(sec, nanosec), frame_id=frame)


def time(sec=0, nanosec=0):
    return Part(sec=sec, nanosec=nanosec)


def image(encoding, height, width, data, step=None, is_bigendian=0, **head):
    """A sensor_msgs/Image; `data` as the bytes of its rows."""
    return Part(
        header=header(**head), encoding=encoding, height=height, width=width,
        step=len(data) // height if step is None else step, is_bigendian=is_bigendian,
        data=array('B', data))


def joint_state(names, position=(), velocity=(), effort=(), **head):
    return Part(header=header(**head), name=list(names), position=array('d', position),
                velocity=array('d', velocity), effort=array('d', effort))
