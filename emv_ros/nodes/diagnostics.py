"""The state of a node as diagnostics: what `rqt_robot_monitor` and an aggregator read.

The same NodeState as in the status of the memory, told as REP-107 has it: a name 'node: what', the
robot as hardware, a level, a message, and values by name. `/diagnostics` is one for all robots of a
domain, so it is not put under a namespace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import math
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from emv_ros.nodes.conversions import time_to_ros
from emv_ros.nodes.topic_state import TopicHealth, TopicState
from emv_ros.timeline import SECOND_NS, format_rfc3339

TOPIC = '/diagnostics'
UNKNOWN = 'unknown'


def diagnostics_to_ros(state: Any, *, stamp_ns: int, robot: str, node: str,
                       is_active: bool) -> DiagnosticArray:
    """Return the diagnostics of a node from its NodeState: the node's own, then each topic's."""
    name = node.strip('/')
    message = DiagnosticArray()
    message.header.stamp = time_to_ros(stamp_ns)
    level, said = _of_node(state, is_active)
    message.status = [DiagnosticStatus(
        level=level, name=f'{name}: memory', message=said, hardware_id=robot,
        values=_values(dict(_facts(state, stamp_ns))))]
    message.status += [_of_topic(topic, name, robot) for topic in state.topics]
    return message


def _of_node(state: Any, is_active: bool) -> tuple[bytes, str]:
    if not is_active:
        return DiagnosticStatus.WARN, 'inactive: nothing is recorded or answered'
    said = '; '.join(state.problems)
    if not state.is_recording:
        return DiagnosticStatus.ERROR, said or 'not recording'
    return (DiagnosticStatus.WARN, said) if said else (DiagnosticStatus.OK, 'all is well')


def _of_topic(state: TopicState, node: str, robot: str) -> DiagnosticStatus:
    counts = state.counts
    return DiagnosticStatus(
        level=_level(state), name=f'{node}: {state.topic}', hardware_id=robot,
        message=state.message or state.health.name.lower().replace('_', ' '),
        values=_values({
            'state': state.health.name.lower().replace('_', ' '),
            'type': state.type or UNKNOWN, 'publishers': state.publishers,
            'reliable': state.is_reliable, 'rate (Hz)': state.rate_hz, 'age (s)': state.age_s,
            'received': counts.received, 'stored': counts.stored, 'thinned': counts.thinned,
            'refused': counts.refused, 'dropped': counts.lost}))


def _level(state: TopicState) -> bytes:
    if state.is_well:
        return DiagnosticStatus.OK
    if state.health is TopicHealth.INCOMPATIBLE:
        return DiagnosticStatus.ERROR
    return DiagnosticStatus.STALE if state.health is TopicHealth.STALE else DiagnosticStatus.WARN


def _facts(state: Any, now_ns: int) -> Iterator[tuple[str, object]]:
    """Yield what is known of a node, by name with its unit."""
    if state.capacity:
        yield 'queue (records)', state.queued
        yield 'queue capacity (records)', state.capacity
    yield 'dropped', state.dropped
    yield 'refused', state.refused
    if state.lag_s is not None:
        yield 'lag (s)', state.lag_s
    found = state.findings
    if found is not None:
        yield 'memory', found.memory
        yield 'schema', found.schema_version
        yield from ((f'records: {kind}', count) for kind, count in found.counts.items())
        yield 'latest record', _when(found.end_ns)
        yield 'unconsolidated (records)', found.unconsolidated
        yield 'database (bytes)', found.database_bytes
        yield 'pictures (bytes)', found.image_bytes
        yield 'free (bytes)', found.free_bytes
        yield 'model tokens', found.model_tokens
        yield 'pictures gone', found.gone
        yield 'forgettings', found.forgettings
        yield 'latest forgetting', _when(found.forgotten_ns)
        yield 'latest retention', _when(found.retained_ns)
    consolidated_ns = state.last_consolidation_ns or (found.consolidated_ns if found else None)
    yield 'last consolidation', _when(consolidated_ns)
    if consolidated_ns and consolidated_ns <= now_ns:  # else now is simulated, and that is not
        yield 'last consolidation age (s)', (now_ns - consolidated_ns) / SECOND_NS
    if state.model:
        yield 'model', state.model
        yield 'model ready', state.is_model_ready
        yield 'model errors', state.model_errors
    yield from state.facts.items()


def _when(stamp_ns: int | None) -> str:
    return format_rfc3339(stamp_ns) if stamp_ns else 'never'


def _values(facts: Mapping[str, object]) -> list[KeyValue]:
    return [KeyValue(key=key, value=_text(value)) for key, value in facts.items()]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, float) and math.isnan(value):
        return UNKNOWN
    return f'{value:.3f}' if isinstance(value, float) else str(value)
