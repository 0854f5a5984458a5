"""Pictures of one camera to clips: the spans within which things are tracked.

A clip ends before it grows longer than the setting, at a pause of the camera, and with its session:
time that goes backwards opens a new session, so that it ends a clip as well. Which pictures of a
clip are looked at is decided here, too; nothing here reads a picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

from emv_ros.timeline import SECOND_NS

# So many pictures of a clip are looked at however many wait, or nothing would be seen in it.
LEAST_LOOKED_AT = 8


@dataclass(frozen=True, slots=True)
class Picture:
    """A stored picture of a camera, as far as clips need to know it."""

    id: int
    session_id: int
    stamp_ns: int
    sha256: str
    media_type: str

    @property
    def moment(self) -> tuple[int, int]:
        """Its place among the pictures of its camera."""
        return self.session_id, self.stamp_ns


@dataclass(frozen=True, slots=True)
class Clip:
    """Pictures of one camera and session, in order of time; at least one."""

    pictures: tuple[Picture, ...]

    @property
    def session_id(self) -> int:
        """The session that all of it belongs to."""
        return self.pictures[0].session_id

    @property
    def start_ns(self) -> int:
        """When its first picture was taken."""
        return self.pictures[0].stamp_ns

    @property
    def end_ns(self) -> int:
        """The first instant after its last picture."""
        return self.pictures[-1].stamp_ns + 1


def cut(pictures: Sequence[Picture], clip_s: float, gap_s: float) -> list[Clip]:
    """Return the clips of pictures, whatever order they come in.

    No clip spans `clip_s` or more, and within one no pause is longer than `gap_s`.
    """
    clips: list[Clip] = []
    current: list[Picture] = []
    for picture in sorted(pictures, key=lambda item: (*item.moment, item.id)):
        if current and (picture.session_id != current[0].session_id
                        or picture.stamp_ns - current[0].stamp_ns >= clip_s * SECOND_NS
                        or picture.stamp_ns - current[-1].stamp_ns > gap_s * SECOND_NS):
            clips.append(Clip(tuple(current)))
            current = []
        current.append(picture)
    return [*clips, Clip(tuple(current))] if current else clips


def stride_for(waiting: int, backlog: int) -> int:
    """Return n where every n-th picture is looked at, so that those that wait become few again."""
    return max(1, math.ceil(waiting / backlog))


def chosen(clip: Clip, period_s: float, stride: int = 1) -> list[Picture]:
    """Return the pictures of a clip to be looked at.

    They lie `period_s` or more apart, and no two of them have one stamp; of these every n-th, but
    LEAST_LOOKED_AT of them where there are so many.
    """
    kept: list[Picture] = []
    for picture in clip.pictures:
        if not kept or (picture.stamp_ns > kept[-1].stamp_ns
                        and picture.stamp_ns - kept[-1].stamp_ns >= period_s * SECOND_NS):
            kept.append(picture)
    stride = min(stride, max(1, len(kept) // LEAST_LOOKED_AT))
    return kept[::stride]
