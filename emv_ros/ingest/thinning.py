"""All policies together: whether a record of a stream is worth keeping."""

from __future__ import annotations

from emv_ros.ingest.compressed import small_picture
from emv_ros.ingest.joints import JointThinning
from emv_ros.ingest.policies import KeyframePolicy, RepeatGuard, Throttle, thumbnail
from emv_ros.records import ImageRecord, JointSample, Pose, Record, Utterance
from emv_ros.settings import IngestSettings
from emv_ros.timeline import SECOND_NS


class Thinning:
    """Applies the periods and thresholds of the settings to records, each kind by its own rule.

    Skill reports and scenes always pass: the tree folds what repeats. Not safe for several
    threads.
    """

    def __init__(self, settings: IngestSettings) -> None:
        self.keyframes = KeyframePolicy(
            _ns(settings.keyframe_period_s), settings.keyframe_change)
        self.joints = JointThinning(_ns(settings.joint_period_s), settings.joint_change)
        self.poses = Throttle(_ns(settings.pose_period_s))
        self.repeats = RepeatGuard(settings.utterance_repeat_limit)

    def keep(self, source: str, record: Record, data: bytes | None = None) -> bool:
        """Return whether to keep a record of a source; `data` are the bytes of a picture."""
        if isinstance(record, ImageRecord):
            return self.keyframes.keep(
                source, record.stamp_ns, lambda: thumbnail(small_picture(data or b'')))
        if isinstance(record, JointSample):
            return self.joints.keep(record)
        if isinstance(record, Pose):
            return self.poses.allow(source, record.stamp_ns)
        if isinstance(record, Utterance):
            return self.repeats.keep(record.speaker, record.text, record.stamp_ns)
        return True


def _ns(seconds: float) -> int:
    return round(seconds * SECOND_NS)
