"""The base of the ingest nodes: topics in, records to the writer, counts to the status.

Its callbacks convert and enqueue, nothing more; the writer's thread commits. Ingest nodes run on
an executor with one thread, the only one that loses no message of a fast publisher.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rclpy.clock import JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.serialization import deserialize_message

from emv_ros.errors import RecordError, StoreError, WithheldError
from emv_ros.ingest.messages import KINDS, Converted, Converter
from emv_ros.ingest.privacy import WordFilter
from emv_ros.ingest.thinning import Thinning
from emv_ros.nodes import qos
from emv_ros.nodes.clocks import is_simulated, wall_clock
from emv_ros.nodes.faults import guarded
from emv_ros.nodes.inputs import TopicInput
from emv_ros.nodes.intake import Intake
from emv_ros.nodes.lifecycle import MemoryNode
from emv_ros.nodes.parameters import declare
from emv_ros.nodes.places import take_place
from emv_ros.nodes.status import NodeState, StatusPublisher
from emv_ros.records import Record

LOOK_PERIOD_S = 0.2
# Messages that come within it are taken together. It must be far below what the shallowest queue
# holds (4 pictures, an eighth of a second of a fast camera).
PACE_S = 0.01


def decoded(raw: bytes, message_class: type, name: str) -> Any:
    """Return the message of these bytes. Raises RecordError where they are none of its type."""
    try:
        return deserialize_message(raw, message_class)
    except Exception as error:  # of the middleware, or of text that is no UTF-8
        raise RecordError(f'{len(raw)} bytes are no {name}: {error}') from error


class IngestNode(MemoryNode):
    """Listens to `topics` and remembers what it hears.

    A subclass names its `types` and default topics, and may change `convert` and `keep`. One of
    fast streams sets `is_raw`, and says by `may_keep` which messages need not be decoded, and by
    `spare_ns` within which time it keeps one at most.
    """

    areas = ('memory', 'ingest', 'privacy')
    types: Mapping[str, type] = {}
    default_topics: tuple[str, ...] = ()
    depth = qos.EVENT_DEPTH
    spare_ns = 0
    is_stream = False
    is_raw = False
    pace_s = PACE_S

    def __init__(self, name: str, intake: Intake | None = None, **kwargs: Any) -> None:
        """Declare parameters. Nodes that share a process share an `intake`."""
        super().__init__(name, **kwargs)
        self.topics: list[str] = declare(
            self, 'topics', list(self.default_topics),
            f'topics of the types {", ".join(self.types)}')
        self.inputs: list[TopicInput] = []
        self._intake = intake or Intake()
        self._previous: dict[str, Converted] = {}
        self._words = WordFilter(self.settings.privacy)
        self.withheld = 0
        self.faults.hide = self._words.text

    def topic_names(self) -> Iterable[tuple[str, bool]]:
        """Yield each topic, and whether it may be absent without harm."""
        return ((topic, False) for topic in dict.fromkeys(self.topics))

    def convert(self, message: Any, source: TopicInput, receipt_ns: int) -> list[Converted]:
        """Return the records of a message. Raises RecordError."""
        return self._converter.convert(KINDS[source.type], message, source.topic, receipt_ns)

    def may_keep(self, raw: bytes, source: TopicInput, receipt_ns: int) -> bool:
        """Return whether a message may be worth keeping, by its bytes. Raises RecordError."""
        return True

    def keep(self, converted: Converted, source: TopicInput) -> bool:
        """Return whether a record is worth keeping."""
        record, data = converted
        return self._thinning.keep(source.topic, record, data)

    def open(self) -> None:
        """Open the memory."""
        self.is_wall = not is_simulated(self)
        self._intake.acquire(
            self.settings, 'wall' if self.is_wall else 'sim', self.get_name())
        try:
            self._place = take_place(self.settings.folder, self.get_fully_qualified_name(),
                                     self.settings.memory.robot)
        except StoreError:
            self._intake.release()
            raise
        self._converter = Converter(self.settings.ingest, is_wall=self.is_wall)
        self._thinning = Thinning(self.settings.ingest)

    def start(self) -> None:
        """Listen."""
        self.inputs = [
            TopicInput(self, self.faults, topic, self.types, self.receive, self.depth, is_optional,
                       self.is_stream, self.is_raw, self.spare_ns)
            for topic, is_optional in self.topic_names()]
        self._looking = self.create_timer(LOOK_PERIOD_S, self.look, clock=wall_clock())
        self._jumps = self.get_clock().create_jump_callback(
            JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1)),
            post_callback=self.clock_jumped)
        self._status = StatusPublisher(self, self.state)
        self.look()

    def stop(self) -> None:
        """Listen no more, and write what was heard."""
        for source in self.inputs:
            source.close()
        self.destroy_timer(self._looking)
        self._jumps.unregister()
        try:
            self._intake.flush()
        finally:
            self._status.close()
            self.inputs = []

    def close(self) -> None:
        """Close the memory."""
        self._place.close()
        self._intake.release()

    @guarded
    def look(self) -> None:
        """Follow the publishers of all topics."""
        for source in self.inputs:
            source.look()

    def receive(self, message: Any, source: TopicInput) -> None:
        """Take one message; what cannot be kept is counted with its reason."""
        receipt_ns = self.get_clock().now().nanoseconds
        try:
            if self.is_raw:
                if not self.may_keep(message, source, receipt_ns):
                    source.counts.thinned += 1
                    return
                message = decoded(message, self.types[source.type], source.type)
            for converted in self.convert(message, source, receipt_ns):
                if self._is_repeated(converted, source) or not self.keep(converted, source):
                    source.counts.thinned += 1
                    continue
                record, data = converted
                self.pass_on(self._words.admit(record), source, data)
                source.counts.stored += 1
                source.counts.stamp_ns = record.stamp_ns
        except WithheldError:
            source.counts.thinned += 1
            self.withheld += 1
        except RecordError as error:
            said = self._words.text(str(error))
            source.counts.refused += 1
            if said != source.counts.refusal:
                self.get_logger().warning(f'{source.topic}: refused: {said}')
            source.counts.refusal = said

    def pass_on(self, record: Record, source: TopicInput, data: bytes | None) -> None:
        """Hand a record that may be kept to the writer."""
        self._intake.add(record, source.topic, data)

    def _is_repeated(self, converted: Converted, source: TopicInput) -> bool:
        """Return whether a record with a stamp of its own is the one before it again."""
        is_repeated = converted == self._previous.get(source.topic) and (
            not converted[0].stamp_is_receipt)
        self._previous[source.topic] = converted
        return is_repeated

    def clock_jumped(self, jump: TimeJump) -> None:
        """Begin a new session where the clock went back."""
        if jump.delta.nanoseconds < 0:
            self._intake.clock_went_back(self.get_clock().now().nanoseconds)

    def state(self) -> NodeState:
        """Return what the status tells."""
        names = {source.topic for source in self.inputs}
        topics = [source.state(names) for source in self.inputs]
        writer, survey = self._intake.writer, self._intake.survey
        findings = survey.latest() if survey else None
        problems = [
            self.faults.words, writer.last_error if writer else '',
            findings.problem if findings else '', *self._intake.notes,
            *(f'{state.topic}: {state.message}' for state in topics if not state.is_well)]
        return NodeState(
            findings=findings, topics=topics,
            queued=writer.queued if writer else 0, capacity=self._intake.capacity,
            dropped=writer.dropped.total() if writer else 0,
            refused=(writer.refused.total() if writer else 0) + sum(
                state.counts.refused for state in topics),
            problems=[words for words in problems if words],
            is_recording=writer is not None and not writer.is_kept_off, lag_s=self._intake.lag_s,
            facts={'withheld for privacy': self.withheld} if not self._words.is_idle else {})
