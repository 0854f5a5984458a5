"""Which pictures something still shows: biographies and answers; and which tell an event by edges.

`evidence` are the pictures of observations (crops and frames) and what stored answers cite: the
pictures themselves, those of scenes, and for words and runs of skills the picture that is shown
with them. `edges` are the first and last picture of each camera in each event. Both are asked for
pictures of one robot that lie near one another in time, and remember what they read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.dropped import EVENT
from emv_ros.records import ID_LETTERS
from emv_ros.timeline import HOUR_NS, SECOND_NS

# As `agent.evidence` has it: a picture this close to a moment shows it.
NEAR_NS = 5 * SECOND_NS
# An event that began longer before is not looked for.
LONGEST_NS = 24 * HOUR_NS
_KINDS = {letter: kind for kind, letter in ID_LETTERS.items()}
_MOMENTS = ('utterance', 'skill_event', 'annotation')

Edge = tuple[str, bool, int]  # camera, whether it is depth, stamp


def cited(session: Session) -> dict[str, set[int]]:
    """Return the ids that stored answers cite, by kind."""
    found: dict[str, set[int]] = {}
    for (evidence,) in session.execute(select(schema.QueryRow.evidence)):
        for shown in evidence if isinstance(evidence, list) else ():
            words = str(shown)
            if words[:1] in _KINDS and words[1:].isdecimal() and words.isascii():
                found.setdefault(_KINDS[words[0]], set()).add(int(words[1:]))
    return found


@dataclass
class PictureEvidence:
    """What shows the pictures of one robot, read for one run."""

    robot_id: int
    cited: dict[str, set[int]]
    _moments: list[tuple[int, int]] | None = None
    _shown: dict[tuple[int, int], set[int]] = field(default_factory=dict)
    _edges: dict[int, set[Edge]] = field(default_factory=dict)

    def evidence(self, session: Session, rows: Sequence[Any]) -> set[int]:
        """Return the ids of those of the pictures that are evidence."""
        ids = [row.id for row in rows]
        part, scene = schema.ObservationImageRow, schema.SceneRow
        found = set(session.scalars(select(part.image_id).where(among(part.image_id, ids))))
        found |= self.cited.get('image', set()).intersection(ids)
        if scenes := self.cited.get('scene'):
            found |= set(session.scalars(select(scene.image_id).where(
                among(scene.image_id, ids), among(scene.id, sorted(scenes)))))
        first_ns, last_ns = rows[0].stamp_ns - NEAR_NS, rows[-1].stamp_ns + NEAR_NS
        for moment in self._cited_moments(session):
            if moment[0] <= last_ns and moment[1] >= first_ns:
                if moment not in self._shown:
                    self._shown[moment] = self._shown_at(session, *moment)
                found |= self._shown[moment]
        return found

    def edges(self, session: Session, rows: Sequence[Any]) -> set[int]:
        """Return the ids of those of the pictures that are the first or last of an event."""
        node = schema.NodeRow
        known: set[Edge] = set()
        for node_id, start_ns, end_ns in session.execute(
                select(node.id, node.start_ns, node.end_ns).where(
                    node.robot_id == self.robot_id, node.level == EVENT,
                    node.start_ns >= rows[0].stamp_ns - LONGEST_NS,
                    node.start_ns <= rows[-1].stamp_ns, node.end_ns >= rows[0].stamp_ns)):
            if node_id not in self._edges:
                self._edges[node_id] = self._edges_of(session, start_ns, end_ns)
            known |= self._edges[node_id]
        return {row.id for row in rows if (row.camera, row.is_depth, row.stamp_ns) in known}

    def with_scene(self, session: Session, rows: Sequence[Any]) -> set[int]:
        """Return the ids of those of the pictures that a scene was made of."""
        scene = schema.SceneRow
        return set(session.scalars(select(scene.image_id).where(
            among(scene.image_id, [row.id for row in rows]))))

    def _cited_moments(self, session: Session) -> list[tuple[int, int]]:
        if self._moments is None:
            self._moments = []
            for kind in _MOMENTS:
                table = schema.KINDS[kind]
                self._moments += [
                    (start_ns, max(start_ns, end_ns or start_ns))
                    for start_ns, end_ns in session.execute(
                        select(table.stamp_ns, table.end_ns).where(
                            table.robot_id == self.robot_id,
                            among(table.id, sorted(self.cited.get(kind, ())))))]
        return self._moments

    def _shown_at(self, session: Session, start_ns: int, end_ns: int) -> set[int]:
        """Return the first picture inside a span, else the nearest one within five seconds."""
        row = schema.ImageRow
        kept = (row.robot_id == self.robot_id, row.gone == '', row.is_depth.is_(False))
        first = session.scalar(select(row.id).where(
            *kept, row.stamp_ns >= start_ns, row.stamp_ns <= end_ns)
            .order_by(row.stamp_ns, row.id).limit(1))
        if first is None:
            first = session.scalar(select(row.id).where(
                *kept, row.stamp_ns >= start_ns - NEAR_NS, row.stamp_ns < end_ns + NEAR_NS)
                .order_by(func.abs(row.stamp_ns - start_ns), row.id).limit(1))
        return set() if first is None else {first}

    def _edges_of(self, session: Session, start_ns: int, end_ns: int) -> set[Edge]:
        row = schema.ImageRow
        found: set[Edge] = set()
        for camera, is_depth, first_ns, last_ns in session.execute(
                select(row.camera, row.is_depth, func.min(row.stamp_ns), func.max(row.stamp_ns))
                .where(row.robot_id == self.robot_id, row.gone == '', row.stamp_ns >= start_ns,
                       row.stamp_ns <= end_ns).group_by(row.camera, row.is_depth)):
            found |= {(camera, is_depth, first_ns), (camera, is_depth, last_ns)}
        return found
