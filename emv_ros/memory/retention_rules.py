"""What is too old, by the settings: a rule for each kind of record, cut at local midnights.

`days` are local days of the robot: kept are the present one and that many before it, whether they
have 23, 24 or 25 hours. What goes for want of room is in stages instead, see `SIZE` and `DISK`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta, tzinfo

from emv_ros.memory.picture_evidence import PictureEvidence
from emv_ros.memory.retention_lots import START, PictureScan, Place, RowScan, Scan
from emv_ros.settings import RetentionSettings
from emv_ros.timeline import SECOND_NS, day_span, local_date

# For want of room: pictures thin out first, then motion and scenes go; evidence comes last.
SIZE = ('half', 'half_of_scenes', 'joint_sample', 'pose', 'scene', 'evidence')
# The bytes of a server's database are not known, so that its rows make no room.
PICTURES = ('half', 'half_of_scenes', 'evidence')
# Rows of a database give no room back to the disk, so that here pictures alone go; at last also
# those that wait.
DISK = (*PICTURES, 'all')
PICTURE_RULES = frozenset(('thin', 'old', 'evidence', 'half', 'half_of_scenes', 'all'))
# Of the rules for other kinds than pictures, the setting of each.
_ROW_DAYS = {'joint_sample': 'motion_days', 'pose': 'motion_days', 'scene': 'scene_days',
             'utterance': 'utterance_days', 'skill_event': 'event_days',
             'annotation': 'event_days'}


@dataclass(frozen=True, slots=True)
class Rule:
    """Records of one kind that go: those that `name` takes, from a place on, before a stamp.

    One that makes room goes over all there is again and again, wherever its end is by now.
    """

    name: str
    before_ns: int
    start: Place = START
    makes_room: bool = False

    @property
    def key(self) -> str:
        """The name under which it is kept how far it came."""
        return f'room:{self.name}' if self.makes_room else self.name

    @property
    def kind(self) -> str:
        """The kind of the records."""
        return 'image' if self.name in PICTURE_RULES else self.name

    def scan(self, robot_id: int, evidence: PictureEvidence, is_looked_at: bool,
             settings: RetentionSettings) -> Scan:
        """Return a scan for the records of a robot that go."""
        if self.kind != 'image':
            return RowScan(robot_id, self.kind, self.before_ns, not self.makes_room)
        return PictureScan(robot_id, self.name, self.before_ns, evidence, is_looked_at,
                           round(settings.thin_period_s * SECOND_NS), not self.makes_room)


def rules_of(settings: RetentionSettings, now_ns: int, zone: tzinfo) -> list[Rule]:
    """Return what is too old for a robot in a zone, in the order in which it goes."""
    def cut(days: int) -> int:
        if not days:
            return 0
        day = local_date(now_ns, zone) - timedelta(days=days)
        return max(0, day_span(day, zone).start_ns)

    rules = []
    before_ns = 0
    # Each takes over where the one before ends, so that none is counted twice.
    for name, days in (('evidence', settings.evidence_days), ('old', settings.picture_days),
                       ('thin', settings.thin_days)):
        if cut(days) > before_ns:
            rules.append(Rule(name, cut(days), (before_ns, 0)))
            before_ns = cut(days)
    rules += [Rule(kind, before) for kind, name in _ROW_DAYS.items()
              if (before := cut(getattr(settings, name)))]
    return rules


def is_wanted(settings: RetentionSettings) -> bool:
    """Whether anything is to go, ever."""
    return any(getattr(settings, name) for name in (
        'thin_days', 'picture_days', 'evidence_days', *dict.fromkeys(_ROW_DAYS.values()),
        'max_bytes', 'min_free_bytes'))


def kinds_of(counts: Mapping[str, int]) -> str:
    """Return numbers by kind in words ('12 pictures, 3 poses')."""
    names = {'image': 'pictures', 'joint_sample': 'joint samples', 'pose': 'poses',
             'scene': 'scenes', 'utterance': 'utterances', 'skill_event': 'skill events',
             'annotation': 'goals and narrations'}
    return ', '.join(f'{count:,} {names[kind]}' for kind, count in counts.items() if count)
