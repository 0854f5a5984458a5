"""Small records: stamps are seconds after noon of 1 March 2024, UTC."""

from typing import Any

from emv_ros.records import ImageRecord, JointSample, SkillReport, Status, Utterance
from emv_ros.timeline import SECOND_NS, parse_stamp

NOON_NS = parse_stamp('2024-03-01T12:00:00Z')[0]


def at(seconds: float) -> int:
    return NOON_NS + round(seconds * SECOND_NS)


def report(seconds: float, status: str, skill: str = 'Grasp', **fields: Any) -> SkillReport:
    if 'until' in fields:
        fields['end_ns'] = at(fields.pop('until'))
    return SkillReport(stamp_ns=at(seconds), skill=skill, status=Status(status), **fields)


def said(seconds: float, text: str, **fields: Any) -> Utterance:
    return Utterance(stamp_ns=at(seconds), speaker='user', text=text, **fields)


def picture(seconds: float, **fields: Any) -> ImageRecord:
    return ImageRecord(stamp_ns=at(seconds), camera='head', sha256='', media_type='image/jpeg',
                       width=2, height=2, **fields)


def joints(seconds: float, *position: float) -> JointSample:
    return JointSample(stamp_ns=at(seconds), names=tuple('ab'[:len(position)]), position=position)
