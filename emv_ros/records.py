"""Frozen records of everything that a memory holds; they carry data, no behaviour.

Stamps are integer nanoseconds since the Unix epoch (UTC). `id` is None until the store has given
one. What a source did not say is None (numbers), '' (words) or empty (collections). Records
travel from ingest to the store and from the store to all readers; the shapes of the tables are
the store's own business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

# The letter before an id wherever a person or a model sees it.
ID_LETTERS = {
    'node': 'n', 'observation': 'o', 'entity': 'e', 'image': 'i', 'utterance': 'u',
    'skill_event': 's', 'clip': 'c', 'annotation': 'a', 'scene': 'g', 'query': 'q',
}


class Status(StrEnum):
    """How a skill stands; the numbers of emv_ros/msg/SkillEvent in this order from 0."""

    UNKNOWN = 'unknown'
    PREPARING = 'preparing'
    RUNNING = 'running'
    SUCCEEDED = 'succeeded'
    FAILED = 'failed'
    ABORTED = 'aborted'
    CANCELED = 'canceled'

    @property
    def is_final(self) -> bool:
        """Whether the skill is over."""
        return self in (Status.SUCCEEDED, Status.FAILED, Status.ABORTED, Status.CANCELED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One run of a robot's clock. `clock_source` is 'wall', 'sim', 'bag' or 'file'."""

    robot: str
    start_ns: int
    clock_source: str = 'wall'
    zone: str = 'UTC'
    source: str = ''
    id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What all L0 and L1 records share.

    The store fills in `robot` and `session_id` where they are empty.
    """

    stamp_ns: int
    robot: str = ''
    session_id: int | None = None
    id: int | None = None
    stamp_is_receipt: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRecord(Record):
    """A stored picture: its file is named by the SHA-256 of its bytes. Sizes in pixels."""

    camera: str
    sha256: str
    media_type: str  # image/jpeg, image/png
    width: int
    height: int
    encoding: str = ''  # of the message that it came from
    is_depth: bool = False  # 16-bit PNG, millimetres, 0 where unknown
    size_bytes: int = 0
    frame: str = ''
    # Why the file is not there: 'retention', 'missing', 'damaged', 'forgotten'; '' where it is.
    gone: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class JointSample(Record):
    """Joint states by name; rad or m, rad/s or m/s, N m or N; None where unknown."""

    names: Sequence[str]
    position: Sequence[float | None]
    velocity: Sequence[float | None] = ()
    effort: Sequence[float | None] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pose(Record):
    """A pose of the robot: metres and a unit quaternion x, y, z, w in `frame`."""

    frame: str
    position: tuple[float, float, float]
    orientation: tuple[float, float, float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance(Record):
    """Words that were spoken. `is_own`: by this robot. `confidence` in 0..1."""

    speaker: str
    text: str
    is_own: bool = False
    confidence: float | None = None
    end_ns: int | None = None
    language: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillReport(Record):
    """One status report of a skill as a robot sends it; reports fold into a SkillEvent.

    `goal_stack` names the goals around it from the outermost inwards, without the skill itself.
    `end_ns` is set where the report tells a whole span at once.
    """

    skill: str
    status: Status
    goal_stack: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    trigger: str = ''
    narration: str = ''
    source_id: str = ''
    parent_source_id: str = ''
    end_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillEvent(Record):
    """One execution of a skill, from all reports about it. `stamp_ns` is its start.

    `end_ns` is None while it runs, or where its end was never reported. `transitions` lists
    (status, stamp_ns) of each change of state; `reports` counts the reports that were folded in.
    """

    skill: str
    status: Status
    goal_stack: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    trigger: str = ''
    narration: str = ''
    source_id: str = ''
    parent_source_id: str = ''
    end_ns: int | None = None
    transitions: tuple[tuple[str, int], ...] = ()
    reports: int = 1
    last_report_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation(Record):
    """A span that its source named.

    Its kind is 'goal' (an activity, L3) or 'narration' (what happened, L2).
    """

    kind: str
    text: str
    end_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneObject:
    """An object in a scene. `bbox` x1, y1, x2, y2 in pixels; `position` x, y, z in metres."""

    name: str
    instance: str = ''
    bbox: tuple[float, float, float, float] | None = None
    position: tuple[float, float, float] | None = None
    frame: str = ''
    confidence: float | None = None
    state: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneRelation:
    """A relation between two objects, each named by its instance where it has one, else by name."""

    subject: str
    predicate: str
    object: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene(Record):
    """A scene graph (L1): what was seen at one instant."""

    objects: tuple[SceneObject, ...]
    relations: tuple[SceneRelation, ...] = ()
    camera: str = ''
    image_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation(Record):
    """One object or person seen or handled for a while [stamp_ns, end_ns).

    `first_bbox` and `last_bbox` are its boxes (x1, y1, x2, y2, px) in the first and the last
    picture of its clip that show it. `made_by` says who wrote its words: 'source', 'detector' (no
    more than a name yet), 'rule' or 'model', then by `model` under `prompt_version`.
    """

    name: str
    end_ns: int
    instance: str = ''
    event: str = ''
    text: str = ''
    location: str = ''
    attributes: Mapping[str, Any] = field(default_factory=dict)
    is_person: bool = False
    clip_id: int | None = None
    entity_id: int | None = None
    confidence: float | None = None
    first_bbox: tuple[float, float, float, float] | None = None
    last_bbox: tuple[float, float, float, float] | None = None
    made_by: str = 'source'
    model: str = ''
    prompt_version: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node of the history tree, level 2 (event), 3 (goal) or 4 and up (summary).

    `made_by` is 'rule', 'calendar' or 'model'; `model` and `prompt_version` name what wrote a
    model's summary, for `cost` US dollars (0: unknown). `name` and `status` are the skill or goal
    and its outcome, on levels 2 and 3.
    """

    robot: str
    level: int
    start_ns: int
    end_ns: int
    summary: str
    name: str = ''
    status: str = ''
    parent_id: int | None = None
    ordinal: int = 0
    is_open: bool = False
    made_by: str = 'rule'
    model: str = ''
    prompt_version: str = ''
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One call to a model.

    `stamp_ns` is when it began (wall clock); `outcome` 'ok' or the error's name.
    """

    purpose: str
    model: str
    stamp_ns: int
    duration_s: float
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    outcome: str = 'ok'
    detail: str = ''
    query_id: int | None = None
    id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRecord:
    """One question with its answer, evidence and trace (a list of JSON-ready steps)."""

    question: str
    status: str
    stamp_ns: int
    query_time_ns: int
    robots: tuple[str, ...] = ()
    answer: str = ''
    message: str = ''
    evidence: tuple[str, ...] = ()
    trace: tuple[Mapping[str, Any], ...] = ()
    rounds: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    duration_s: float = 0.0
    model: str = ''
    id: int | None = None
