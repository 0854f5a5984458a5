"""Remembers pictures of cameras: raw and compressed, colour and depth, thinned to keyframes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sensor_msgs.msg import CompressedImage, Image

from emv_ros.ingest.cdr import stamp_in
from emv_ros.ingest.door import PictureWorker, make_redactor
from emv_ros.ingest.images import camera_of
from emv_ros.ingest.messages import Converted
from emv_ros.ingest.policies import Throttle
from emv_ros.ingest.privacy import check_picture
from emv_ros.ingest.stamps import stamp_of
from emv_ros.nodes import qos
from emv_ros.nodes.clocks import is_simulated
from emv_ros.nodes.ingest import IngestNode
from emv_ros.nodes.inputs import TopicInput
from emv_ros.nodes.running import run
from emv_ros.nodes.status import NodeState
from emv_ros.perception.detectors import make_label_detector
from emv_ros.records import ImageRecord, Record
from emv_ros.timeline import SECOND_NS

REDACTING_S = 20.0  # for what waits to be redacted at the end
RARE_NS = SECOND_NS // 2  # from such a period of keyframes on, nearly all that waits is left out


class CameraIngest(IngestNode):
    """Any number of cameras; each is named by its topic without `image_raw` and the like."""

    types = {'sensor_msgs/msg/Image': Image, 'sensor_msgs/msg/CompressedImage': CompressedImage}
    default_topics = ('camera/image_raw', 'camera/image_raw/compressed')
    areas = ('memory', 'ingest', 'privacy', 'perception')
    is_stream = True
    is_raw = True
    depth = qos.PICTURE_DEPTH

    def __init__(self, name: str = 'camera_ingest', **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        # Looks at the stamp alone, so that no picture is compressed only to be left out.
        period_ns = round(self.settings.ingest.keyframe_period_s * SECOND_NS)
        self._due = Throttle(period_ns)
        if not is_simulated(self):  # simulated time may run many times as fast
            self.spare_ns = period_ns
            if period_ns >= RARE_NS:
                self.depth = qos.THINNED_PICTURE_DEPTH
        self._worker: PictureWorker | None = None

    def topic_names(self) -> Iterable[tuple[str, bool]]:
        """Yield the topics; of a camera that has several, each may be absent."""
        topics = Counter(camera_of(topic) for topic in self.topics)
        for topic, _ in super().topic_names():
            yield topic, topics[camera_of(topic)] > 1

    def may_keep(self, raw: bytes, source: TopicInput, receipt_ns: int) -> bool:
        """Return False where the picture comes too early after the one before."""
        source.counts.largest_bytes = max(source.counts.largest_bytes, len(raw))
        stamp = stamp_in(raw)
        if stamp is None:
            return True
        stamp_ns, _ = stamp_of(*stamp, receipt_ns, self.is_wall)
        return self._due.is_due(source.topic, stamp_ns)

    def keep(self, converted: Converted, source: TopicInput) -> bool:
        """Return whether the picture is a keyframe of its camera."""
        record, data = converted
        is_kept = self._thinning.keep(camera_of(source.topic), record, data)
        if is_kept:
            self._due.mark(source.topic, record.stamp_ns)
        return is_kept

    def open(self) -> None:
        """Open the memory, and load what covers pictures where the settings ask for it."""
        settings = self.settings
        redactor = make_redactor(
            settings.privacy, settings.ingest.jpeg_quality,
            partial(make_label_detector, settings.perception))
        super().open()
        if redactor is not None:
            self._worker = PictureWorker(
                redactor, settings.privacy.queue_size, self._intake.put_picture)

    def stop(self) -> None:
        """Listen no more, and write what was heard."""
        for source in self.inputs:
            source.close()
        if self._worker is not None:
            self._worker.flush(REDACTING_S)
        super().stop()

    def close(self) -> None:
        """Close the memory."""
        if self._worker is not None:
            self._worker.close(REDACTING_S)
            self._worker = None
        super().close()

    def pass_on(self, record: Record, source: TopicInput, data: bytes | None) -> None:
        """Hand a picture to what covers it, else to the writer."""
        if isinstance(record, ImageRecord):
            check_picture(record, self.settings.privacy)
        worker = self._worker

        def refused(reason: str) -> None:
            counts = source.counts
            counts.stored -= 1
            if reason:
                counts.refused, counts.refusal = counts.refused + 1, reason

        self._intake.add(record, source.topic, data, None if worker is None else (
            lambda picture, placed: worker.take(picture, placed, refused)))

    def state(self) -> NodeState:
        """Return what the status tells; a camera of which no topic is there is told too."""
        state = self._with_redaction(super().state())
        there = {camera_of(topic.topic) for topic in state.topics if topic.publishers}
        absent = sorted({camera_of(topic.topic) for topic in state.topics
                         if topic.is_optional} - there)
        return replace(state, problems=[
            *state.problems, *(f'no publisher of the camera {name}' for name in absent)])

    def _with_redaction(self, state: NodeState) -> NodeState:
        worker = self._worker
        if worker is None:
            return state
        return replace(
            state, queued=state.queued + worker.queued, dropped=state.dropped + worker.dropped,
            problems=[*state.problems, *filter(None, (worker.words,))],
            facts={**state.facts, 'pictures covered': worker.covered,
                   'slowest picture covered (s)': round(worker.slowest_s, 3)})


def main(args: Sequence[str] | None = None) -> int:
    """Run the node alone."""
    return run(CameraIngest, args)
