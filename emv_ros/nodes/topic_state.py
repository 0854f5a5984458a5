"""How a topic is doing, from its publishers and counts: the words and the state of its status."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from emv_ros.nodes.qos import SAFE_PICTURE_BYTES

PICTURE_TYPES = ('sensor_msgs/msg/Image', 'sensor_msgs/msg/CompressedImage')


class TopicHealth(IntEnum):
    """The constants STATE_* of emv_ros/msg/TopicStatus."""

    UNKNOWN = 0
    NO_PUBLISHER = 1
    SILENT = 2
    ACTIVE = 3
    STALE = 4
    INCOMPATIBLE = 5


@dataclass
class TopicCounts:
    """What came over a topic since its node became active; `received_s` is monotonic."""

    received: int = 0
    stored: int = 0
    thinned: int = 0
    refused: int = 0
    lost: int = 0
    largest_bytes: int = 0
    received_s: float | None = None
    stamp_ns: int = 0
    refusal: str = ''
    before: tuple[float, int] = (0.0, 0)  # when the rate was asked last, and `received` then

    def rate_hz(self, now_s: float) -> float | None:
        """Return the messages a second since this was last asked; None the first time."""
        (then_s, then), self.before = self.before, (now_s, self.received)
        return (self.received - then) / (now_s - then_s) if 0 < then_s < now_s else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicState:
    """A look at one topic. `foreign` are types that are published there and not read.

    `mismatch` names the quality of service that a publisher does not offer, `meant` a topic that
    is there and looks like this one.
    """

    topic: str
    type: str
    publishers: int
    is_subscribed: bool
    is_reliable: bool
    expected: tuple[str, ...]
    foreign: tuple[str, ...]
    stale_s: float
    is_optional: bool
    is_stream: bool
    counts: TopicCounts
    now_s: float
    rate_hz: float | None = None
    mismatch: str = ''
    meant: str = ''

    @property
    def age_s(self) -> float | None:
        """Time since the latest message; None before the first."""
        received_s = self.counts.received_s
        return None if received_s is None else self.now_s - received_s

    @property
    def health(self) -> TopicHealth:
        """Return the state."""
        if self.publishers and self.foreign and not self.is_subscribed:
            return TopicHealth.INCOMPATIBLE
        is_quiet = self.age_s is None or self.age_s > self.stale_s
        if self.publishers and self.mismatch and is_quiet:
            return TopicHealth.INCOMPATIBLE
        if self.age_s is not None:
            return TopicHealth.STALE if is_quiet else TopicHealth.ACTIVE
        return TopicHealth.SILENT if self.publishers else TopicHealth.NO_PUBLISHER

    @property
    def is_well(self) -> bool:
        """Return whether nothing needs attention; between events silence is as it should be."""
        quiet = TopicHealth.SILENT, TopicHealth.STALE
        if not self.message or self.health in quiet and not self.is_stream:
            return True
        return self.is_optional and self.health in (*quiet, TopicHealth.NO_PUBLISHER)

    @property
    def message(self) -> str:
        """What is wrong and what to do about it; empty if nothing is."""
        return '; '.join(words for words in (
            self._of_publishers(), self._of_transport(), self._of_refusals()) if words)

    def _of_publishers(self) -> str:
        match self.health:
            case TopicHealth.NO_PUBLISHER:
                return 'no publisher: ' + (
                    f'did you mean {self.meant}?' if self.meant
                    else 'is the name right, and its node running?')
            case TopicHealth.INCOMPATIBLE if self.is_subscribed:
                return self._of_mismatch()
            case TopicHealth.INCOMPATIBLE:
                return (f'its publishers send {", ".join(self.foreign)}, and this node reads '
                        f'{" or ".join(self.expected)}')
            case TopicHealth.SILENT:
                return 'there is a publisher, but no message has come yet'
            case TopicHealth.STALE if self.publishers:
                return f'no message for {self.age_s or 0:.0f} s'
            case TopicHealth.STALE:
                return f'its publisher is gone, no message for {self.age_s or 0:.0f} s'
        if self.foreign:
            return f'another publisher sends {", ".join(self.foreign)}, which is not read'
        return self._of_mismatch() if self.mismatch else ''

    def _of_mismatch(self) -> str:
        return (f'a publisher is not heard: its quality of service does not fit, in '
                f'{self.mismatch}; let it offer what the others offer')

    def _of_transport(self) -> str:
        counts = self.counts
        is_picture = self.is_subscribed and not self.is_reliable and self.type in PICTURE_TYPES
        if is_picture and (not counts.received or counts.largest_bytes > SAFE_PICTURE_BYTES):
            return ('its publisher is best effort: pictures larger than 0.5 MB get lost in the '
                    'default shared memory of Fast DDS; publish reliably, or start the publisher '
                    'with FASTDDS_DEFAULT_PROFILES_FILE set to config/fastdds.xml of emv_ros')
        return f'{counts.lost} messages got lost on the way' if counts.lost else ''

    def _of_refusals(self) -> str:
        counts = self.counts
        return f'{counts.refused} messages refused, the latest: {counts.refusal}' if (
            counts.refused) else ''
