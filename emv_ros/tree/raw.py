"""Events of stretches in which only pictures, joint samples and poses were recorded.

Reads stamps alone, and only of the gaps that other events leave. A gap beside a skill is the
pause between two skills unless it lasts longer than `event_gap_s`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.timeline import HOUR_NS, Interval
from emv_ros.tree.drafts import Draft
from emv_ros.tree.texts import raw_text

RAW_KINDS = ('image', 'joint_sample', 'pose')


@dataclass(frozen=True, slots=True, order=True)
class RawStamp:
    """When a raw record was made, and what it is, in words ('pictures of camera wrist')."""

    stamp_ns: int
    what: str


def raw_drafts(session: Session, robot_id: int, span: Interval, drafts: Sequence[Draft],
               gap_ns: int) -> list[Draft]:
    """Return the events of raw records in the parts of the span that the drafts leave free."""
    skills = sorted(((draft.start_ns, draft.end_ns) for draft in drafts
                     if draft.name or draft.annotation), key=lambda skill: skill[1])
    found: list[Draft] = []
    for gap in free_gaps(span, drafts):
        near = _near(gap, skills, gap_ns)
        if near and gap.end_ns - gap.start_ns < gap_ns:
            continue  # the pause between two skills: not worth a look
        found.extend(group_raw(_stamps(session, robot_id, gap), near, gap_ns))
    return found


def _near(gap: Interval, skills: Sequence[tuple[int, int]], gap_ns: int) -> list[Interval]:
    """Return the spans of skills that end before a gap or begin after it, but not long."""
    first = bisect_left(skills, gap.start_ns - gap_ns, key=lambda skill: skill[1])
    return [Interval(start_ns, end_ns) for start_ns, end_ns in skills[first:]
            if start_ns <= gap.end_ns + gap_ns]


def free_gaps(span: Interval, drafts: Iterable[Draft]) -> Iterator[Interval]:
    """Yield the parts of the span between the drafts; both ends belong to a gap."""
    at_ns = span.start_ns
    for draft in sorted(drafts, key=lambda item: item.start_ns):
        if draft.start_ns > at_ns:
            yield Interval(at_ns, draft.start_ns)
        at_ns = max(at_ns, draft.end_ns)
    if span.end_ns >= at_ns:
        yield Interval(at_ns, span.end_ns + 1)


def group_raw(stamps: Sequence[RawStamp], skills: Sequence[Interval], gap_ns: int) -> list[Draft]:
    """Return an event for each stretch of raw records without a pause, cut at clock hours (UTC)."""
    drafts: list[Draft] = []
    start = 0
    for index in range(1, len(stamps) + 1):
        if index < len(stamps) and not _is_cut(stamps[index - 1], stamps[index], gap_ns):
            continue
        part = stamps[start:index]
        start = index
        first_ns, last_ns = part[0].stamp_ns, part[-1].stamp_ns
        if last_ns - first_ns < gap_ns and any(
                skill.start_ns - gap_ns <= last_ns and first_ns <= skill.end_ns + gap_ns
                for skill in skills):
            continue
        counts = Counter(stamp.what for stamp in part)
        drafts.append(Draft(start_ns=first_ns, end_ns=last_ns,
                            summary=raw_text(sorted(counts.items(), key=_raw_order))))
    return drafts


def _is_cut(before: RawStamp, after: RawStamp, gap_ns: int) -> bool:
    return (after.stamp_ns - before.stamp_ns > gap_ns
            or after.stamp_ns // HOUR_NS != before.stamp_ns // HOUR_NS)


def _raw_order(item: tuple[str, int]) -> tuple[int, str]:
    kinds = ('pictures', 'depth', 'joint', 'poses')
    return next(rank for rank, kind in enumerate(kinds) if item[0].startswith(kind)), item[0]


def _stamps(session: Session, robot_id: int, gap: Interval) -> list[RawStamp]:
    found: list[RawStamp] = []
    image = schema.ImageRow
    for table, what in ((schema.JointSampleRow, 'joint samples'), (schema.PoseRow, 'poses')):
        found.extend(RawStamp(stamp_ns, what) for stamp_ns in session.scalars(
            select(table.stamp_ns).where(table.robot_id == robot_id, table.stamp_ns >= gap.start_ns,
                                         table.stamp_ns < gap.end_ns)))
    # What a picture shows is told by its scene, where there is one.
    is_told = exists().where(schema.SceneRow.image_id == image.id)
    rows = session.execute(select(image.stamp_ns, image.camera, image.is_depth).where(
        image.robot_id == robot_id, image.stamp_ns >= gap.start_ns, image.stamp_ns < gap.end_ns,
        ~is_told))
    found.extend(RawStamp(stamp_ns, f'{"depth " if is_depth else ""}pictures of {_camera(camera)}')
                 for stamp_ns, camera, is_depth in rows)
    return sorted(found)


def _camera(name: str) -> str:
    return name if 'camera' in name.lower() else f'camera {name}'.strip()
