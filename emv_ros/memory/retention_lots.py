"""What is to go of one robot's records, found a lot at a time in order of time.

A scan walks over the old rows of one kind and says of each lot what goes. Rows that wait for
consolidation are passed over, pictures that perception has yet to look at too, and by age records
of a simulated clock, whose stamps are no dates. Nothing is changed here: whoever counts and whoever
drops reads the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import and_, exists, func, or_, select
from sqlalchemy.orm import Session, aliased

from emv_ros.memory import schema
from emv_ros.memory.clip_writer import Mark, mark_of
from emv_ros.memory.picture_evidence import PictureEvidence

PICTURE_LOT = 200
LOTS = {'joint_sample': 200, 'scene': 100, 'skill_event': 100, 'utterance': 200, 'annotation': 200}
ROW_LOT = 500

Place = tuple[int, int]  # stamp_ns and id of a row; a scan goes on behind it
START: Place = (-1, 0)


@dataclass(frozen=True, slots=True)
class Lot:
    """The {id: stamp_ns} of rows of a kind that go, and where a scan goes on.

    `sizes` are the bytes of pictures as files, by id.
    """

    kind: str
    stamps: dict[int, int]
    at: Place
    sizes: dict[int, int] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        """The bytes of all of them as files."""
        return sum(self.sizes.values())

    def first(self, count: int, size_bytes: int) -> Lot:
        """Return the first of them: at most `count`, and no more than have so many bytes."""
        kept, size = 0, 0
        for key in self.stamps:
            if kept == count or self.sizes and size >= size_bytes:
                break
            kept, size = kept + 1, size + self.sizes.get(key, 0)
        if kept == len(self.stamps):
            return self
        stamps = dict(list(self.stamps.items())[:kept])
        last = next(reversed(stamps.items())) if stamps else None
        return Lot(self.kind, stamps, (last[1], last[0]) if last else self.at,
                   {key: self.sizes[key] for key in stamps if key in self.sizes})


@dataclass
class PictureScan:
    """A scan over the kept pictures of a robot before a stamp.

    rule: 'thin' leaves one in `period_ns` of each camera; 'old' takes all that are no evidence;
    'evidence' takes all; 'half' takes every second one that neither is evidence, nor the first or
    last of an event, nor made a scene; 'half_of_scenes' those that made a scene, too; 'all' takes
    also what waits for consolidation or to be looked at.
    """

    robot_id: int
    rule: str
    before_ns: int
    evidence: PictureEvidence
    is_looked_at: bool = False  # whether perception looks at every picture
    period_ns: int = 0
    is_by_age: bool = True
    _last: dict[tuple[str, bool], int] = field(default_factory=dict)
    _count: dict[tuple[str, bool], int] = field(default_factory=dict)
    _marks: dict[tuple[str, int], Mark] = field(default_factory=dict)

    def lot(self, session: Session, at: Place) -> Lot | None:
        """Return what goes behind a place, perhaps nothing; None at the end."""
        row = schema.ImageRow
        rows = session.execute(
            select(row.id, row.session_id, row.stamp_ns, row.camera, row.is_depth, row.size_bytes,
                   row.pending).where(
                row.robot_id == self.robot_id, row.gone == '', row.stamp_ns < self.before_ns,
                *_behind(row, at), *_dated(row, self.is_by_age))
            .order_by(row.stamp_ns, row.id).limit(PICTURE_LOT)).all()
        if not rows:
            return None
        going = self._going(session, rows)
        return Lot('image', {item.id: item.stamp_ns for item in going},
                   (rows[-1].stamp_ns, rows[-1].id),
                   {item.id: item.size_bytes for item in going})

    def _going(self, session: Session, rows: Sequence[Any]) -> list[Any]:
        if self.rule == 'all':
            return list(rows)
        settled = [row for row in rows
                   if not row.pending and not self._is_awaited(session, row)]
        if self.rule == 'evidence' or not settled:
            return settled
        kept = self.evidence.evidence(session, settled)
        if self.rule == 'old':
            return [row for row in settled if row.id not in kept]
        kept |= self.evidence.edges(session, settled)
        if self.rule == 'half':
            kept |= self.evidence.with_scene(session, settled)
        return [row for row in settled if self._is_thinned(row, row.id in kept)]

    def _is_awaited(self, session: Session, row: Any) -> bool:
        """Whether perception has yet to look at a picture."""
        if row.is_depth:
            return False
        stream = row.camera, row.session_id
        if stream not in self._marks:
            self._marks[stream] = mark_of(session, self.robot_id, *stream)
        mark = self._marks[stream]
        if mark == Mark():  # so far nobody looked at any picture of the stream
            return self.is_looked_at
        return bool(row.stamp_ns > mark.stamp_ns or row.id > mark.image_id)

    def _is_thinned(self, row: Any, is_kept: bool) -> bool:
        camera = row.camera, row.is_depth
        if self.rule == 'thin':
            last_ns = self._last.get(camera)
            if not is_kept and last_ns is not None and row.stamp_ns - last_ns < self.period_ns:
                return True
            self._last[camera] = row.stamp_ns
            return False
        if is_kept:
            return False
        self._count[camera] = self._count.get(camera, 0) + 1
        return self._count[camera] % 2 == 0


@dataclass
class RowScan:
    """A scan over the records of another kind that ended before a stamp."""

    robot_id: int
    kind: str
    before_ns: int
    is_by_age: bool = True

    def lot(self, session: Session, at: Place) -> Lot | None:
        """Return what goes behind a place; None at the end."""
        table = schema.KINDS[self.kind]
        ended: list[Any] = [table.stamp_ns < self.before_ns]
        if self.kind == 'skill_event':
            ended.append(func.coalesce(table.end_ns, table.last_report_ns) < self.before_ns)
        elif hasattr(table, 'end_ns'):
            ended.append(func.coalesce(table.end_ns, table.stamp_ns) < self.before_ns)
        if self.kind == 'scene':
            ended.append(~_has_picture())
        rows = session.execute(
            select(table.id, table.stamp_ns).where(
                table.robot_id == self.robot_id, table.pending.is_(False), *ended,
                *_behind(table, at), *_dated(table, self.is_by_age))
            .order_by(table.stamp_ns, table.id).limit(LOTS.get(self.kind, ROW_LOT))).all()
        if not rows:
            return None
        return Lot(self.kind, {item.id: item.stamp_ns for item in rows},
                   (rows[-1].stamp_ns, rows[-1].id))


Scan = PictureScan | RowScan


def lots_of(session: Session, scan: Scan, at: Place = START) -> Iterator[Lot]:
    """Yield all lots behind a place, those that are empty too, as the memory stands."""
    while (lot := scan.lot(session, at)) is not None:
        at = lot.at
        yield lot


def _behind(table: Any, at: Place) -> tuple[Any, ...]:
    # The first condition alone finds its place in an index.
    return (table.stamp_ns >= at[0],
            or_(table.stamp_ns > at[0], and_(table.stamp_ns == at[0], table.id > at[1])))


def _dated(table: Any, is_by_age: bool) -> tuple[Any, ...]:
    run = aliased(schema.SessionRow)
    return (~exists().where(run.id == table.session_id, run.clock_source == 'sim'),) * is_by_age


def _has_picture() -> Any:
    """Whether a picture of a scene is kept: its boxes tell what that shows, also to forget it."""
    scene, image = schema.SceneRow, aliased(schema.ImageRow)
    own = exists().where(image.id == scene.image_id, image.gone == '')
    beside = exists().where(
        image.robot_id == scene.robot_id, image.stamp_ns == scene.stamp_ns,
        image.camera == scene.camera, image.gone == '')
    return or_(own, beside)
