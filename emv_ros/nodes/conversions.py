"""Records, questions and answers to messages and back; the only place that knows both shapes.

Pure functions, `x_from_ros` and `x_to_ros`. What ingest reads of messages is in emv_ros.ingest,
which needs their fields only. A zero time in a request is an open end; None becomes what the
field's comment calls unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
import json
import math
from typing import Any

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import KeyValue
from sensor_msgs.msg import CompressedImage

from emv_ros.agent.answers import Answer, EvidenceItem, Progress, QueryStatus, Question
from emv_ros.agent.console.rows import shown_id
from emv_ros.biography.line import line_of
from emv_ros.errors import EmvError, RecordError
from emv_ros.ingest.stamps import exact_stamp
from emv_ros.memory.lives import Life
from emv_ros.memory.queries import Window
from emv_ros.msg import (
    EntityBiography,
    EpisodeNode,
    EventRecord,
    Evidence,
    MemoryStatus,
    ObservationRecord,
    RecordCounts,
    TopicStatus,
    Utterance,
)
from emv_ros.nodes.consolidation_run import Outcome, Request, Step
from emv_ros.nodes.topic_state import TopicState
from emv_ros.records import ImageRecord, Node, Observation, SkillEvent, Status
from emv_ros.timeline import SECOND_NS


class UnsupportedError(EmvError):
    """A request for what a later version brings."""


MAX_SEC = 2**31 - 1  # builtin_interfaces/Time ends in 2038
STATUSES = tuple(Status)
QUERY_STATUSES = tuple(QueryStatus)
MADE_BY = {'rule': EpisodeNode.MADE_BY_RULE, 'calendar': EpisodeNode.MADE_BY_CALENDAR,
           'model': EpisodeNode.MADE_BY_MODEL}
KINDS = {
    'node': Evidence.KIND_NODE, 'observation': Evidence.KIND_OBSERVATION,
    'entity': Evidence.KIND_ENTITY, 'image': Evidence.KIND_IMAGE,
    'utterance': Evidence.KIND_UTTERANCE, 'skill_event': Evidence.KIND_SKILL_EVENT,
    'clip': Evidence.KIND_CLIP, 'scene': Evidence.KIND_SCENE,
    'joint_sample': Evidence.KIND_JOINT_SAMPLE, 'pose': Evidence.KIND_POSE,
    'annotation': Evidence.KIND_ANNOTATION}
COUNTS = {'images': 'image', 'joint_samples': 'joint_sample', 'poses': 'pose',
          'utterances': 'utterance', 'skill_events': 'skill_event', 'scenes': 'scene',
          'annotations': 'annotation', 'nodes': 'node', 'clips': 'clip',
          'observations': 'observation', 'entities': 'entity'}
# By phase of the agent, the name of the constant in the action's feedback.
PHASES = {'searching': 'PHASE_RETRIEVING', 'thinking': 'PHASE_MODEL', 'running': 'PHASE_CONSOLE',
          'answering': 'PHASE_CHECKING', 'queued': 'PHASE_QUEUED'}


# Times

def time_to_ros(stamp_ns: int | None) -> Time:
    """Return a stamp as a message, zero for None; one beyond 2038 becomes the last that fits."""
    sec, nanosec = divmod(stamp_ns or 0, SECOND_NS)
    return Time(sec=sec, nanosec=nanosec) if sec <= MAX_SEC else Time(
        sec=MAX_SEC, nanosec=SECOND_NS - 1)


def time_from_ros(time: Any) -> int | None:
    """Return the stamp of a message, None for zero. Raises RecordError where it is none."""
    if not time.sec and not time.nanosec:
        return None
    return exact_stamp(time.sec, time.nanosec)


def window_from_ros(request: Any) -> Window:
    """Return whose records a request means, and when. Raises RecordError for a window backwards."""
    start_ns, end_ns = time_from_ros(request.start), time_from_ros(request.end)
    if start_ns is not None and end_ns is not None and end_ns < start_ns:
        raise RecordError('the window ends before it starts')
    before = getattr(request, 'query_time', None)
    return Window(robots=tuple(name for name in request.robots if name), start_ns=start_ns,
                  end_ns=end_ns, before_ns=None if before is None else time_from_ros(before))


# Questions and answers

def question_from_ros(request: Any, now_ns: int) -> Question:
    """Return the question of a request or a goal; asked at `now_ns` where it names no time.

    Raises RecordError where it holds no question, or limits that are none.
    """
    if not request.question.strip():
        raise RecordError('the question is empty')
    if request.session_id:
        raise RecordError('questions that follow up on others are not answered in this version: '
                          'leave session_id empty and ask a question that stands alone')
    limit_s = float(request.time_limit_s)
    if not math.isfinite(limit_s) or limit_s < 0:
        raise RecordError(f'the time limit is {limit_s} s')
    window = window_from_ros(request)
    return Question(
        text=request.question, query_time_ns=window.before_ns or now_ns, robots=window.robots,
        start_ns=window.start_ns, end_ns=window.end_ns, max_rounds=request.max_rounds,
        max_tokens=request.max_tokens, time_limit_s=limit_s)


def answer_to_ros(answer: Answer, result: Any) -> Any:
    """Fill in a response of the service, or a result of the action, and return it."""
    result.status = QUERY_STATUSES.index(answer.status)
    result.message, result.answer = answer.message, answer.answer
    result.evidence = [evidence_to_ros(item) for item in answer.evidence]
    result.query_id = '' if answer.query_id is None else shown_id('query', answer.query_id)
    result.model, result.rounds = answer.model, answer.rounds
    result.prompt_tokens, result.completion_tokens = answer.prompt_tokens, answer.completion_tokens
    result.duration_s = float(answer.duration_s)
    return result


def progress_to_ros(progress: Progress, elapsed_s: float, feedback: Any) -> Any:
    """Fill in the feedback of the action and return it."""
    feedback.phase = getattr(feedback, PHASES.get(progress.phase, 'PHASE_UNKNOWN'))
    feedback.round, feedback.command = progress.round, progress.command
    feedback.prompt_tokens = progress.prompt_tokens
    feedback.completion_tokens = progress.completion_tokens
    feedback.elapsed_s = float(elapsed_s)
    return feedback


def evidence_to_ros(item: EvidenceItem, score: float | None = None) -> Evidence:
    """Return one piece of evidence."""
    return Evidence(
        id=item.id, kind=KINDS.get(item.kind, Evidence.KIND_UNKNOWN), robot=item.robot,
        start=time_to_ros(item.start_ns), end=time_to_ros(item.end_ns), text=item.text,
        image_path=item.image_path, score=_number(score))


# Consolidation

def consolidation_from_ros(goal: Any, now_ns: int | None) -> Request:
    """Return what a goal asks for. Raises UnsupportedError, or RecordError for bad limits."""
    if goal.rebuild or time_from_ros(goal.start) or time_from_ros(goal.end):
        raise UnsupportedError('this version consolidates what is new or touched, of all times: '
                               'leave rebuild false, and start and end zero')
    limit_s = float(goal.time_limit_s)
    if not math.isfinite(limit_s) or limit_s < 0:
        raise RecordError(f'the time limit is {limit_s} s')
    return Request(tuple(name for name in goal.robots if name), goal.without_model,
                   goal.max_tokens, limit_s, now_ns)


def outcome_to_ros(outcome: Outcome, result: Any) -> Any:
    """Fill in the result of a consolidation and return it."""
    result.status = getattr(result, f'STATUS_{outcome.status.upper()}')
    result.message, result.tokens = outcome.message, outcome.tokens
    result.nodes_made, result.nodes_changed = outcome.made, outcome.changed
    result.nodes_removed, result.unconsolidated = outcome.removed, outcome.unconsolidated
    result.duration_s = float(outcome.duration_s)
    return result


def step_to_ros(step: Step, feedback: Any) -> Any:
    """Fill in the feedback of a consolidation and return it."""
    feedback.phase = getattr(feedback, f'PHASE_{step.phase.upper()}')
    feedback.level, feedback.done, feedback.total = step.level, step.done, step.total
    feedback.tokens, feedback.elapsed_s = step.tokens, float(step.elapsed_s)
    return feedback


# Records

def event_to_ros(event: SkillEvent) -> EventRecord:
    """Return an execution of a skill."""
    return EventRecord(
        id=shown_id('skill_event', event.id), robot=event.robot, skill=event.skill,
        status=STATUSES.index(event.status), goal_stack=list(event.goal_stack),
        start=time_to_ros(event.stamp_ns), end=time_to_ros(event.end_ns),
        has_end=event.end_ns is not None,
        transition_statuses=[STATUSES.index(Status(status)) for status, _ in event.transitions],
        transition_stamps=[time_to_ros(stamp_ns) for _, stamp_ns in event.transitions],
        parameters=parameters_to_ros(event.parameters), trigger=event.trigger,
        narration=event.narration, source_id=event.source_id, parent_id=event.parent_source_id)


def node_to_ros(
        node: Node, child_ids: Iterable[int] = (), score: float | None = None) -> EpisodeNode:
    """Return a node of the tree with the ids of its children."""
    return EpisodeNode(
        id=shown_id('node', node.id), robot=node.robot, level=node.level,
        start=time_to_ros(node.start_ns), end=time_to_ros(node.end_ns), name=node.name,
        summary=node.summary, status=STATUSES.index(Status(node.status or Status.UNKNOWN)),
        parent_id='' if node.parent_id is None else shown_id('node', node.parent_id),
        order=node.ordinal, child_ids=[shown_id('node', key) for key in child_ids],
        is_open=node.is_open, made_by=MADE_BY.get(node.made_by, EpisodeNode.MADE_BY_UNKNOWN),
        model=node.model, prompt_version=node.prompt_version,
        tokens=node.prompt_tokens + node.completion_tokens, score=_number(score))


def observation_to_ros(item: Observation, image_ids: Iterable[int] = ()) -> ObservationRecord:
    """Return an observation with the ids of its pictures."""
    return ObservationRecord(
        id=shown_id('observation', item.id), robot=item.robot,
        entity_id='' if item.entity_id is None else shown_id('entity', item.entity_id),
        clip_id='' if item.clip_id is None else shown_id('clip', item.clip_id),
        start=time_to_ros(item.stamp_ns), end=time_to_ros(item.end_ns), name=item.name,
        summary=item.text, event=item.event, location=item.location,
        attributes=parameters_to_ros(item.attributes), is_person=item.is_person,
        image_ids=[shown_id('image', key) for key in image_ids],
        confidence=_number(item.confidence))


def life_to_ros(life: Life, shown: int, zone: tzinfo | None = None,
                image_ids: Mapping[int, Sequence[int]] | None = None) -> EntityBiography:
    """Return what was observed of one thing, in order of time; `shown` observations in full.

    With a zone also in words. `image_ids` are those of the pictures of observations.
    """
    pictures = image_ids or {}
    observations = life.observations
    return EntityBiography(
        id=life.id, robots=sorted({item.robot for item in observations}), name=life.name,
        aliases=sorted({*life.aliases, *(item.name for item in observations)} - {life.name}),
        summary='' if zone is None else line_of(life, zone),
        is_person=life.is_person, first_seen=time_to_ros(observations[0].stamp_ns),
        last_seen=time_to_ros(max(item.end_ns for item in observations)),
        observation_count=len(observations),
        observations=[observation_to_ros(item, pictures.get(item.id or 0, ()))
                      for item in observations[:shown]],
        also_seen=[time_to_ros(item.stamp_ns) for item in observations[shown:]],
        different_from=[shown_id('entity', key) for key in life.different],
        unresolved_with=[shown_id('entity', key) for key in life.unresolved], score=math.nan)


def picture_to_ros(image: ImageRecord, data: bytes) -> CompressedImage:
    """Return a stored picture; its frame is the camera."""
    message = CompressedImage(format='png' if image.media_type == 'image/png' else 'jpeg')
    if image.is_depth:
        message.format = '16UC1; png compressed'
    message.header.stamp = time_to_ros(image.stamp_ns)
    message.header.frame_id = image.camera
    message.data.frombytes(data)
    return message


def parameters_to_ros(parameters: Mapping[str, Any]) -> list[KeyValue]:
    """Return parameters by name; what is no text, or would read as something else, is JSON."""
    return [KeyValue(key=key, value=_text_or_json(value)) for key, value in parameters.items()]


def own_words_to_ros(text: str, now_ns: int, robot: str) -> Utterance:
    """Return what the robot itself says."""
    said = Utterance(robot=robot, speaker='robot', text=text, is_own=True, confidence=math.nan)
    said.header.stamp = time_to_ros(now_ns)
    return said


# Status

def status_to_ros(state: Any, *, stamp_ns: int, robot: str, node: str,
                  is_active: bool) -> MemoryStatus:
    """Return the status of a node from its NodeState."""
    message = MemoryStatus(
        robot=robot, node=node, message='; '.join(state.problems), state=_state(state, is_active),
        queue_size=state.queued, queue_capacity=state.capacity, dropped=state.dropped,
        refused=state.refused, last_consolidation=time_to_ros(state.last_consolidation_ns),
        model=state.model, model_ready=state.is_model_ready, model_errors=state.model_errors,
        lag_s=_number(state.lag_s),
        topics=[topic_to_ros(topic) for topic in state.topics])
    message.header.stamp = time_to_ros(stamp_ns)
    found = state.findings
    if found is not None:
        message.memory, message.schema_version = found.memory, found.schema_version
        message.counts = counts_to_ros(found.counts)
        message.start, message.end = time_to_ros(found.start_ns), time_to_ros(found.end_ns)
        message.unconsolidated = found.unconsolidated
        message.database_bytes, message.image_bytes = found.database_bytes, found.image_bytes
        message.free_bytes, message.model_tokens = found.free_bytes, found.model_tokens
    return message


def _state(state: Any, is_active: bool) -> int:
    if not is_active:
        return MemoryStatus.STATE_INACTIVE
    if not state.is_recording:
        return MemoryStatus.STATE_ERROR
    return MemoryStatus.STATE_DEGRADED if state.problems else MemoryStatus.STATE_OK


def topic_to_ros(state: TopicState) -> TopicStatus:
    """Return how a topic is doing."""
    counts = state.counts
    return TopicStatus(
        topic=state.topic, type=state.type, state=int(state.health), publishers=state.publishers,
        reliable=state.is_reliable, received=counts.received, stored=counts.stored,
        thinned=counts.thinned, dropped=counts.lost, refused=counts.refused,
        rate_hz=_number(state.rate_hz), age_s=_number(state.age_s),
        last_stamp=time_to_ros(counts.stamp_ns), message=state.message)


def counts_to_ros(counts: Mapping[str, int]) -> RecordCounts:
    """Return the numbers of records by kind, as MemoryStore.counts gives them."""
    return RecordCounts(**{field: counts.get(kind, 0) for field, kind in COUNTS.items()})


def statuses_from_ros(numbers: Iterable[int]) -> list[Status]:
    """Return the states of skills by their numbers. Raises RecordError for one that is none."""
    found = list(numbers)
    for number in found:
        if number >= len(STATUSES):
            raise RecordError(f'{number} is none of SkillEvent.STATUS_*')
    return [STATUSES[number] for number in found]


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _text_or_json(value: Any) -> str:
    if isinstance(value, str):
        try:
            json.loads(value)
        except (ValueError, RecursionError):
            return value
    return json.dumps(value, ensure_ascii=False)
