"""The tables of a memory, as SQLAlchemy 2 typed classes; they hold rows, no behaviour.

Stamps are BIGINT nanoseconds since the Unix epoch. Ids are AUTOINCREMENT, so that none is ever
used again. Rows that wait for consolidation have `pending` set. `document` holds the searchable
text of each unit of retrieval; full-text and vector indices are derived from it. The tables of what
was done with a memory stand in `emv_ros.memory.accounts`, and are named here as well.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import JSON, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from emv_ros.memory.accounts import (
    AuditRow as AuditRow,
    ChangeRow as ChangeRow,
    ConsolidationRow as ConsolidationRow,
    ModelCallRow as ModelCallRow,
    ModelReplyRow as ModelReplyRow,
    QueryRow as QueryRow,
    StateRow as StateRow,
)
from emv_ros.memory.columns import COUNTED, Base, Recorded, link_to, new_id, part_of, recorded


class RobotRow(Base):
    """A robot whose life is remembered here."""

    __tablename__ = 'robot'
    __table_args__ = COUNTED
    id: Mapped[int] = new_id()
    name: Mapped[str] = mapped_column(unique=True)


class SessionRow(Base):
    """One run of a robot's clock."""

    __tablename__ = 'session'
    __table_args__ = COUNTED
    id: Mapped[int] = new_id()
    robot_id: Mapped[int] = mapped_column(ForeignKey('robot.id'), index=True)
    start_ns: Mapped[int]
    clock_source: Mapped[str]
    zone: Mapped[str]
    source: Mapped[str] = mapped_column(default='')


class ImageRow(Recorded, Base):
    """A picture in the content-addressed folder; `gone` says why its file is not there."""

    __tablename__ = 'image'
    __table_args__ = recorded('image', Index(
        'ix_image_gone', 'gone', sqlite_where=sa.text("gone <> ''"),
        postgresql_where=sa.text("gone <> ''")))
    camera: Mapped[str]
    sha256: Mapped[str] = mapped_column(index=True)
    media_type: Mapped[str]
    width: Mapped[int]
    height: Mapped[int]
    encoding: Mapped[str] = mapped_column(default='')
    is_depth: Mapped[bool] = mapped_column(default=False)
    size_bytes: Mapped[int] = mapped_column(default=0)
    frame: Mapped[str] = mapped_column(default='')
    gone: Mapped[str] = mapped_column(default='', server_default='')


class JointSampleRow(Recorded, Base):
    """Joint states by name."""

    __tablename__ = 'joint_sample'
    __table_args__ = recorded('joint_sample')
    names: Mapped[list[Any]]
    position: Mapped[list[Any]]
    velocity: Mapped[list[Any]]
    effort: Mapped[list[Any]]


class PoseRow(Recorded, Base):
    """A pose of the robot."""

    __tablename__ = 'pose'
    __table_args__ = recorded('pose')
    frame: Mapped[str]
    position: Mapped[list[Any]]
    orientation: Mapped[list[Any] | None] = mapped_column(JSON)


class UtteranceRow(Recorded, Base):
    """Words that were spoken."""

    __tablename__ = 'utterance'
    __table_args__ = recorded('utterance')
    speaker: Mapped[str]
    text: Mapped[str]
    is_own: Mapped[bool]
    confidence: Mapped[float | None]
    end_ns: Mapped[int | None]
    language: Mapped[str] = mapped_column(default='')


class SkillEventRow(Recorded, Base):
    """One execution of a skill."""

    __tablename__ = 'skill_event'
    __table_args__ = recorded(
        'skill_event', Index('ix_skill_event_skill', 'robot_id', 'skill', 'stamp_ns'),
        Index('ix_skill_event_source', 'robot_id', 'source_id'),
        Index('ix_skill_event_run', 'session_id', 'skill', 'source_id', 'stamp_ns'),
        Index('ix_skill_event_open', 'robot_id', 'skill', 'stamp_ns',
              sqlite_where=sa.text('end_ns IS NULL'), postgresql_where=sa.text('end_ns IS NULL')))
    skill: Mapped[str]
    status: Mapped[str]
    goal_stack: Mapped[list[Any]]
    parameters: Mapped[dict[str, Any]]
    trigger: Mapped[str]
    narration: Mapped[str]
    source_id: Mapped[str]
    parent_source_id: Mapped[str]
    end_ns: Mapped[int | None]
    transitions: Mapped[list[Any]]
    reports: Mapped[int]
    last_report_ns: Mapped[int]


class AnnotationRow(Recorded, Base):
    """A span that its source named."""

    __tablename__ = 'annotation'
    __table_args__ = recorded('annotation')
    kind: Mapped[str]
    text: Mapped[str]
    end_ns: Mapped[int]


class SceneRow(Recorded, Base):
    """A scene graph: its objects and relations are rows of their own."""

    __tablename__ = 'scene'
    __table_args__ = recorded('scene')
    camera: Mapped[str] = mapped_column(default='')
    image_id: Mapped[int | None] = mapped_column(link_to('image'), index=True)


class SceneObjectRow(Base):
    """An object in a scene."""

    __tablename__ = 'scene_object'
    __table_args__ = (
        Index('ix_scene_object_name', 'robot_id', 'name', 'stamp_ns'),
        Index('ix_scene_object_observation', 'observation_id',
              sqlite_where=sa.text('observation_id IS NOT NULL'),
              postgresql_where=sa.text('observation_id IS NOT NULL')), COUNTED)
    id: Mapped[int] = new_id()
    scene_id: Mapped[int] = mapped_column(part_of('scene'), index=True)
    robot_id: Mapped[int] = mapped_column(ForeignKey('robot.id'))
    stamp_ns: Mapped[int]
    name: Mapped[str]
    instance: Mapped[str]
    bbox: Mapped[list[Any] | None] = mapped_column(JSON)
    position: Mapped[list[Any] | None] = mapped_column(JSON)
    frame: Mapped[str]
    confidence: Mapped[float | None]
    state: Mapped[str]
    # The observation whose box this is, where one was made of it.
    observation_id: Mapped[int | None] = mapped_column(link_to('observation'))


class SceneRelationRow(Base):
    """A relation between two objects of a scene."""

    __tablename__ = 'scene_relation'
    __table_args__ = COUNTED
    id: Mapped[int] = new_id()
    scene_id: Mapped[int] = mapped_column(part_of('scene'), index=True)
    subject: Mapped[str]
    predicate: Mapped[str]
    object: Mapped[str]


class NodeRow(Base):
    """A node of the history tree, level 2 and up."""

    __tablename__ = 'node'
    __table_args__ = (
        Index('ix_node_level_start', 'robot_id', 'level', 'start_ns'),
        Index('ix_node_top', 'robot_id', 'level', 'start_ns',
              sqlite_where=sa.text('parent_id IS NULL'),
              postgresql_where=sa.text('parent_id IS NULL')), COUNTED)
    id: Mapped[int] = new_id()
    robot_id: Mapped[int] = mapped_column(ForeignKey('robot.id'))
    level: Mapped[int]
    start_ns: Mapped[int]
    end_ns: Mapped[int]
    summary: Mapped[str]
    name: Mapped[str]
    status: Mapped[str]
    parent_id: Mapped[int | None] = mapped_column(link_to('node'), index=True)
    ordinal: Mapped[int]
    is_open: Mapped[bool]
    made_by: Mapped[str]
    model: Mapped[str]
    prompt_version: Mapped[str]
    prompt_tokens: Mapped[int]
    completion_tokens: Mapped[int]
    cost: Mapped[float] = mapped_column(default=0.0)


class NodeMemberRow(Base):
    """Which L0 or L1 record a node was made of; each record belongs to one node at most."""

    __tablename__ = 'node_member'
    kind: Mapped[str] = mapped_column(primary_key=True)
    ref_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    node_id: Mapped[int] = mapped_column(part_of('node'), index=True)


class ClipRow(Base):
    """A span of one camera in which objects were tracked."""

    __tablename__ = 'clip'
    __table_args__ = (Index('ix_clip_robot_start', 'robot_id', 'start_ns'), COUNTED)
    id: Mapped[int] = new_id()
    robot_id: Mapped[int] = mapped_column(ForeignKey('robot.id'))
    camera: Mapped[str]
    start_ns: Mapped[int]
    end_ns: Mapped[int]


class EntityRow(Base):
    """One physical object or person across time; one that was merged stands for `merged_into`."""

    __tablename__ = 'entity'
    __table_args__ = (Index('ix_entity_name', 'name', 'robot_id'), COUNTED)
    id: Mapped[int] = new_id()
    robot_id: Mapped[int] = mapped_column(ForeignKey('robot.id'), index=True)
    name: Mapped[str]
    is_person: Mapped[bool]
    attributes: Mapped[dict[str, Any]]
    merged_into: Mapped[int | None] = mapped_column(link_to('entity'), index=True)


class ObservationRow(Recorded, Base):
    """One object or person seen or handled for a while."""

    __tablename__ = 'observation'
    __table_args__ = recorded(
        'observation', Index('ix_observation_name', 'robot_id', 'name', 'stamp_ns'),
        Index('ix_observation_instance', 'instance', 'robot_id'))
    end_ns: Mapped[int]
    name: Mapped[str]
    instance: Mapped[str]
    event: Mapped[str]
    text: Mapped[str]
    location: Mapped[str]
    attributes: Mapped[dict[str, Any]]
    is_person: Mapped[bool]
    clip_id: Mapped[int | None] = mapped_column(link_to('clip'))
    entity_id: Mapped[int | None] = mapped_column(link_to('entity'), index=True)
    confidence: Mapped[float | None]
    first_bbox: Mapped[list[Any] | None] = mapped_column(JSON)
    last_bbox: Mapped[list[Any] | None] = mapped_column(JSON)
    made_by: Mapped[str] = mapped_column(default='source')
    model: Mapped[str] = mapped_column(default='')
    prompt_version: Mapped[str] = mapped_column(default='')


class ObservationImageRow(Base):
    """A crop (box inside an image) or a whole frame that shows an observation."""

    __tablename__ = 'observation_image'
    __table_args__ = COUNTED
    id: Mapped[int] = new_id()
    observation_id: Mapped[int] = mapped_column(part_of('observation'), index=True)
    image_id: Mapped[int] = mapped_column(part_of('image'), index=True)
    bbox: Mapped[list[Any] | None] = mapped_column(JSON)
    is_crop: Mapped[bool]


class AppearanceRow(Base):
    """What an observation looks like, float32 little-endian, by the model that made it."""

    __tablename__ = 'appearance'
    observation_id: Mapped[int] = mapped_column(part_of('observation'), primary_key=True)
    model: Mapped[str] = mapped_column(primary_key=True)
    vector: Mapped[bytes] = mapped_column(sa.LargeBinary)


class SeparationRow(Base):
    """Two observations that were seen apart in one frame: never the same entity."""

    __tablename__ = 'separation'
    first_id: Mapped[int] = mapped_column(part_of('observation'), primary_key=True)
    second_id: Mapped[int] = mapped_column(
        part_of('observation'), primary_key=True, index=True)
    shared_frames: Mapped[int]


class VerdictRow(Base):
    """What an operator said of two observations: 'same' or 'different'; survives every rebuild."""

    __tablename__ = 'verdict'
    __table_args__ = (sa.UniqueConstraint('first_id', 'second_id'), COUNTED)
    id: Mapped[int] = new_id()
    first_id: Mapped[int] = mapped_column(part_of('observation'))
    second_id: Mapped[int] = mapped_column(part_of('observation'), index=True)
    verdict: Mapped[str]
    author: Mapped[str]
    stamp_ns: Mapped[int]
    reason: Mapped[str] = mapped_column(default='')


class NamingRow(Base):
    """What an operator calls the entity that holds an observation; survives every rebuild."""

    __tablename__ = 'naming'
    __table_args__ = COUNTED
    id: Mapped[int] = new_id()
    observation_id: Mapped[int] = mapped_column(part_of('observation'), index=True)
    name: Mapped[str]
    author: Mapped[str]
    stamp_ns: Mapped[int]
    reason: Mapped[str] = mapped_column(default='')


class DocumentRow(Base):
    """The searchable text of a unit: a node, utterance, skill event, annotation or observation."""

    __tablename__ = 'document'
    __table_args__ = (
        sa.UniqueConstraint('kind', 'ref_id'),
        Index('ix_document_robot_start', 'robot_id', 'start_ns'), COUNTED)
    id: Mapped[int] = new_id()
    kind: Mapped[str]
    ref_id: Mapped[int]
    robot_id: Mapped[int] = mapped_column(ForeignKey('robot.id'))
    start_ns: Mapped[int]
    end_ns: Mapped[int]
    text: Mapped[str]


class EmbeddingRow(Base):
    """The vector of a document, float32 little-endian, by the model that made it."""

    __tablename__ = 'embedding'
    document_id: Mapped[int] = mapped_column(part_of('document'), primary_key=True)
    model: Mapped[str] = mapped_column(primary_key=True)
    vector: Mapped[bytes] = mapped_column(sa.LargeBinary)


class PictureEmbeddingRow(Base):
    """The vector of a picture, float32 little-endian, by the model that made it."""

    __tablename__ = 'picture_embedding'
    image_id: Mapped[int] = mapped_column(part_of('image'), primary_key=True)
    model: Mapped[str] = mapped_column(primary_key=True)
    vector: Mapped[bytes] = mapped_column(sa.LargeBinary)


# The table of each kind of record, by the name that documents, members and ids use.
KINDS: dict[str, type[Any]] = {
    'image': ImageRow, 'joint_sample': JointSampleRow, 'pose': PoseRow, 'utterance': UtteranceRow,
    'skill_event': SkillEventRow, 'annotation': AnnotationRow, 'scene': SceneRow,
    'observation': ObservationRow, 'node': NodeRow, 'clip': ClipRow, 'entity': EntityRow,
    'query': QueryRow}
