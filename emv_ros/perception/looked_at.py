"""Which scenes of the robot's own lie among pictures, so that perception observes what they show.

It looks at pictures stored at the very stamps of such scenes. Single pictures far apart make no
observation: what scenes show between them is left to whoever reads scenes alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import and_, select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.among import among

Spans = dict[tuple[int, str], list[tuple[int, int]]]  # by session and camera: first, last stamp


def looked_at(session: Session, scene_ids: Sequence[int], ends_ns: tuple[int, int],
              gap_ns: int, visible_ns: int) -> Spans:
    """Return when perception sees for itself what the scenes show.

    It does where pictures come within `gap_ns` of one another for at least `visible_ns`, and
    `gap_ns` before and after. What runs past the first or the last stamp of the scenes (`ends_ns`)
    is taken to last.
    """
    scene, image = schema.SceneRow, schema.ImageRow
    runs: Spans = {}
    for session_id, camera, stamp_ns in session.execute(
            select(scene.session_id, scene.camera, scene.stamp_ns).join(image, and_(
                image.robot_id == scene.robot_id, image.stamp_ns == scene.stamp_ns,
                image.session_id == scene.session_id, image.camera == scene.camera)).where(
                among(scene.id, scene_ids), image.is_depth.is_(False)).distinct().order_by(
                scene.stamp_ns)):
        known = runs.setdefault((session_id, camera), [])
        if known and stamp_ns - known[-1][1] <= gap_ns:
            known[-1] = known[-1][0], stamp_ns
        else:
            known.append((stamp_ns, stamp_ns))
    return {key: [(first - gap_ns, last + gap_ns) for first, last in known
                  if last - first >= visible_ns or first - gap_ns <= ends_ns[0]
                  or last + gap_ns >= ends_ns[1]]
            for key, known in runs.items()}
