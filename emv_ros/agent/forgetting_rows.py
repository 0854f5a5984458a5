"""What goes along with the records that are to be forgotten, and how all of it goes.

With a picture the scenes that were seen in it go, and observations that no other picture shows;
with scenes the observations that were made of them alone. Descriptions that were made beside what
goes are taken back, and made anew of what stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import and_, case, delete, exists, func, or_, select
from sqlalchemy.orm import Session

from emv_ros.biography.forgetting import (
    Plan,
    Ready,
    apply_plan,
    count,
    plan_named,
    plan_plain,
)
from emv_ros.biography.holding import held
from emv_ros.biography.mentions import AROUND_NS, SOURCE, take_back
from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.choosing import NAMED, OBJECTS, RAW, REPEATING
from emv_ros.memory.clearing import note_files
from emv_ros.memory.entities import merged_ids, standing
from emv_ros.memory.forgotten_runs import ForgottenRuns
from emv_ros.memory.going import Going
from emv_ros.timeline import SECOND_NS, Interval
from emv_ros.tree.reopening import reopen, reopen_spans

# In what goes: observations of entities that go as such; nodes that are written anew.
WHOLE, NODES = '*whole', '*node'
# Kinds whose words may stand in the descriptions of what was seen beside them.
TOLD = ('utterance', 'skill_event', 'annotation', 'scene')
# So long a stretch of joint samples is re-opened as one.
STRETCH_NS = 600 * SECOND_NS
LOT = 500

Step = Callable[[str, int, int], None]


def add_entities(session: Session, entities: set[int], going: Going) -> None:
    """Add all that entities hold, also while a rebuild goes on, to what goes as named."""
    into = standing(session, entities)
    ids = [key for keys in held(session, sorted(set(into.values()))).values() for key in keys]
    for kind in ('observation', NAMED, WHOLE):
        going.add(kind, ids)


def add_along(session: Session, going: Going) -> None:
    """Add what goes along with pictures and scenes, and what repeats the rest."""
    scene, seen, shown = schema.SceneRow, schema.ObservationRow, schema.ObservationImageRow
    images = going.ids('image')
    image = schema.ImageRow
    going.add_from('scene', select(scene.id).where(scene.image_id.in_(images)))
    # The robot's own scene of a picture names none: it has its camera and stamp.
    going.add_from('scene', select(scene.id).join(image, and_(
        image.robot_id == scene.robot_id, image.stamp_ns == scene.stamp_ns,
        image.camera == scene.camera, image.is_depth.is_(False))).where(
        image.id.in_(images), scene.image_id.is_(None)))
    here = exists().where(shown.observation_id == seen.id, shown.image_id.in_(images))
    elsewhere = exists().where(shown.observation_id == seen.id, shown.image_id.not_in(images))
    going.add_from('observation', select(seen.id).where(
        seen.made_by != SOURCE, here, ~elsewhere))
    going.add_from(REPEATING, select(seen.id).where(
        seen.made_by != SOURCE, here, elsewhere, seen.id.not_in(going.ids('observation'))))
    _add_of_scenes(session, going)
    _add_beside(session, going)
    going.without(REPEATING, 'observation')


def _add_of_scenes(session: Session, going: Going) -> None:
    """Add observations that were made of scenes by rule, of which none stays."""
    seen, part, scene = schema.ObservationRow, schema.SceneObjectRow, schema.SceneRow
    for lot in going.lots('scene'):
        pairs = session.execute(
            select(part.instance, scene.robot_id, scene.session_id, func.min(scene.stamp_ns),
                   func.max(scene.stamp_ns)).join(scene, scene.id == part.scene_id).where(
                among(scene.id, lot), part.instance != '').group_by(
                part.instance, scene.robot_id, scene.session_id)).all()
        found: dict[str, list[int]] = {'observation': [], REPEATING: []}
        for instance, robot_id, session_id, first_ns, last_ns in pairs:
            for item in session.execute(select(seen.id, seen.stamp_ns, seen.end_ns).where(
                    seen.instance == instance, seen.session_id == session_id,
                    seen.made_by != SOURCE, seen.clip_id.is_(None),
                    seen.stamp_ns <= last_ns, seen.end_ns >= first_ns)).all():
                stays = session.scalar(select(part.id).join(
                    scene, scene.id == part.scene_id).where(
                    scene.session_id == session_id, part.instance == instance,
                    # By the index of time, or each observation would read all of its session.
                    scene.robot_id == robot_id, scene.stamp_ns >= item.stamp_ns,
                    scene.stamp_ns <= item.end_ns, ~going.has('scene', scene.id)).limit(1))
                found['observation' if stays is None else REPEATING].append(item.id)
        for kind, ids in found.items():
            going.add(kind, ids)


def _add_beside(session: Session, going: Going) -> None:
    """Add descriptions that were made within two minutes of what somebody said or did."""
    seen = schema.ObservationRow
    for kind in TOLD:
        for robot_id, first_ns, last_ns in _spans(session, kind, going):
            going.add_from(REPEATING, select(seen.id).where(
                seen.robot_id == robot_id, seen.stamp_ns <= last_ns + AROUND_NS,
                seen.end_ns >= first_ns - AROUND_NS, seen.made_by != SOURCE,
                seen.clip_id.is_not(None), or_(seen.event != '', seen.text != '')))


def _spans(session: Session, kind: str, going: Going) -> Iterator[tuple[int, int, int]]:
    """Yield (robot, first, last) of stretches in which rows of a kind go."""
    row = schema.KINDS[kind]
    end = func.coalesce(row.end_ns, row.stamp_ns) if hasattr(row, 'end_ns') else row.stamp_ns
    piece = row.stamp_ns // STRETCH_NS
    yield from session.execute(select(
        row.robot_id, func.min(row.stamp_ns), func.max(end)).where(
        row.id.in_(going.ids(kind))).group_by(row.robot_id, piece)).all()


def count_nodes(session: Session, going: Going) -> int:
    """Count the nodes that tell of what goes, up to the root, and note those that hold it."""
    member, node = schema.NodeMemberRow, schema.NodeRow
    for kind in (*TOLD, 'observation'):
        going.add_from(NODES, select(member.node_id).where(
            member.kind == kind, member.ref_id.in_(going.ids(kind))))
    going.add_from(NODES, select(member.node_id).where(
        member.kind == 'observation', member.ref_id.in_(going.ids(REPEATING))))
    part = schema.SceneObjectRow
    going.add_from(NODES, select(member.node_id).where(
        member.kind == 'scene', member.ref_id.in_(
            select(part.scene_id).where(part.id.in_(going.ids(OBJECTS))))))
    known: set[int] = set(session.scalars(going.ids(NODES)))
    waiting = set(known)
    while waiting:
        found = set(session.scalars(select(node.parent_id).where(
            among(node.id, sorted(waiting)), node.parent_id.is_not(None))))
        waiting = {key for key in found if key is not None} - known
        known |= waiting
    return len(known)


def named_plan(session: Session, going: Going) -> Plan:
    """Return what goes with observations that were asked for as such, and with objects."""
    ids = [key for lot in going.lots(NAMED) for key in lot]
    return plan_named(session, ids, list(session.scalars(going.ids(WHOLE))),
                      list(session.scalars(going.ids(OBJECTS))))


def numbers(session: Session, plan: Plan, going: Going) -> Counter[str]:
    """Return how many rows of each name would go, the words of others aside."""
    counts = count(session, plan)
    for lot in plain_lots(going):
        counts.update(count(session, plan_plain(session, lot)))
    counts['entities'] = _count_entities(session, going)
    for kind, name in NAMES.items():
        counts[name] = going.count(kind)
    counts['nodes_rewritten'] = count_nodes(session, going)
    return counts


def _count_entities(session: Session, going: Going) -> int:
    """Count the entities that keep no observation, with those that were merged into them."""
    row = schema.ObservationRow
    touched = [key for key in session.scalars(select(row.entity_id).where(
        row.id.in_(going.ids('observation')), row.entity_id.is_not(None)).distinct())
        if key is not None]
    bare = [key for key, ids in held(session, touched).items()
            if len(going.among('observation', ids)) == len(set(ids))]
    return len(bare) + sum(map(len, merged_ids(session, bare).values()))


NAMES = {'image': 'images', 'joint_sample': 'joint_samples', 'pose': 'poses',
         'utterance': 'utterances', 'skill_event': 'skill_events', 'annotation': 'annotations',
         'scene': 'scenes', 'clip': 'clips'}


def plain_lots(going: Going) -> Iterator[list[int]]:
    """Yield the observations that go without being asked for as such, some at a time."""
    for lot in going.lots('observation'):
        named = going.among(NAMED, lot)
        if part := [key for key in lot if key not in named]:
            yield part


def freed_files(session: Session, going: Going) -> Iterator[tuple[str, str, int]]:
    """Yield the files (SHA-256, media type, bytes) that no row needs once all is gone.

    Also those that are gone by their rows, of 0 bytes: what is damaged or fresh lies there still.
    """
    row = schema.ImageRow
    last = '', ''
    size_there = func.max(case((row.gone == '', row.size_bytes), else_=0))
    while rows := session.execute(select(
            row.sha256, row.media_type, size_there.label('size_bytes')).where(
            going.has('image', row.id), or_(row.sha256 > last[0], and_(
                row.sha256 == last[0], row.media_type > last[1]))).group_by(
            row.sha256, row.media_type).order_by(row.sha256, row.media_type).limit(LOT)).all():
        last = rows[-1].sha256, rows[-1].media_type
        kept = {(item.sha256, item.media_type) for item in session.execute(
            select(row.sha256, row.media_type).where(
                row.sha256.in_([item.sha256 for item in rows]), ~going.has('image', row.id),
                row.gone == '').distinct())}
        for sha256, media_type, size in rows:
            if (sha256, media_type) not in kept:
                yield sha256, media_type, int(size or 0)


def drop(session: Session, plan: Plan, ready: Ready, going: Going, step: Step,
         is_told_by: Callable[[Any], bool]) -> Counter[str]:
    """Let all go, in the caller's transaction; return how many rows of each name went.

    is_told_by: whether an attribute of a description that is taken back tells what goes.
    """
    counts: Counter[str] = Counter(nodes_rewritten=count_nodes(session, going))
    _take_back_words(session, going, counts, is_told_by)
    done, total = 0, sum(going.count(kind) for kind in (*NAMES, 'observation'))
    for kind in TOLD:
        for lot in going.lots(kind):
            reopen(session, kind, lot)
    for kind in RAW:
        _reopen_stretches(session, kind, going)
    runs = ForgottenRuns(session)
    row: Any = schema.SkillEventRow
    for lot in going.lots('skill_event'):
        runs.add(session.scalars(select(row).where(among(row.id, lot)).order_by(row.id)))
    runs.save()
    counts.update(apply_plan(session, plan, ready, reopen))
    for lot in plain_lots(going):
        counts.update(apply_plan(session, plan_plain(session, lot), {}, reopen))
        done += len(lot)
        step('records', done, total)
    note_files(session, ((sha256, media_type) for sha256, media_type, _ in freed_files(
        session, going)))
    for kind, name in NAMES.items():
        counts[name] = going.count(kind)
        for lot in going.lots(kind):
            _delete(session, kind, lot)
            done += len(lot)
            step('records', done, total)
    session.expire_all()
    return counts


def _take_back_words(session: Session, going: Going, counts: Counter[str],
                     is_told_by: Callable[[Any], bool]) -> None:
    row = schema.ObservationRow
    for lot in going.lots(REPEATING):
        items = session.scalars(select(row).where(among(row.id, lot)).order_by(row.id)).all()
        take_back(session, items, reopen, is_told_by)
        counts['texts_of_others'] += len(items)


def _reopen_stretches(session: Session, kind: str, going: Going) -> None:
    spans: dict[int, list[Interval]] = {}
    for robot_id, first_ns, last_ns in _spans(session, kind, going):
        spans.setdefault(robot_id, []).append(Interval(first_ns, last_ns))
    for robot_id, found in spans.items():
        reopen_spans(session, robot_id, found)


def _delete(session: Session, kind: str, ids: list[int]) -> None:
    row, member, document = schema.KINDS[kind], schema.NodeMemberRow, schema.DocumentRow
    session.execute(delete(member).where(and_(
        member.kind == kind, among(member.ref_id, ids))))
    session.execute(delete(document).where(and_(
        document.kind == kind, among(document.ref_id, ids))))
    session.execute(delete(row).where(among(row.id, ids)))
