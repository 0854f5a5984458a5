"""The small life that the worked examples are of: a robot in a house with a workshop.

It is made here and nowhere stored, so that each example can be replayed over it: its code must
give the answer that it is said to give. Times are local to ZONE; the questions are asked at NOW.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from emv_ros.records import (
    Annotation,
    Observation,
    Record,
    Scene,
    SceneObject,
    SceneRelation,
    SkillReport,
    Status,
    Utterance,
)
from emv_ros.timeline import from_datetime, parse_zone

ZONE, NOW = 'Europe/Berlin', '2025-05-05 18:00:00'  # a Monday
RECORDING = 'workshop-1'
Values = dict[str, str | int]

# Skill, start and end, how it ended, the goal around it, parameters, what was told of its end.
_HOUSE: tuple[tuple[str, str, str, str, str, Values, str], ...] = (
    ('Rest', '2024-10-10 10:00:00', '2024-10-10 11:00:00', '', '', {}, ''),
    ('CloseGate', '2025-04-10 20:00:00', '2025-04-10 20:01:00', '', '', {}, ''),
    ('SetTable', '2025-04-28 12:00:00', '2025-04-28 12:10:00', 'failed', '', {},
     'a chair stood in the way'),
    ('FoldTowel', '2025-04-29 10:00:00', '2025-04-29 10:05:00', 'failed', '', {},
     'the towel slipped'),
    ('VacuumCarpet', '2025-05-02 10:00:00', '2025-05-02 10:20:00', 'aborted', '', {}, ''),
    ('HandOver', '2025-05-03 09:20:00', '2025-05-03 09:20:40', '', '',
     {'thing': 'glue', 'person': 'Anna'}, ''),
    ('FeedCat', '2025-05-03 14:05:00', '2025-05-03 14:10:00', '', '', {}, ''),
    ('FillPlate', '2025-05-03 14:06:00', '2025-05-03 14:07:00', '', 'FeedCat',
     {'thing': 'tin'}, ''),
    ('OpenDrawer', '2025-05-03 14:05:10', '2025-05-03 14:05:40', '', 'FeedCat',
     {'thing': 'spoon_2'}, ''),
    ('GoToGarage', '2025-05-04 10:00:00', '2025-05-04 10:02:00', '', '', {}, ''),
    ('ChargeBattery', '2025-05-04 22:00:00', '2025-05-04 23:00:00', '', '', {}, ''),
    ('OpenDoor', '2025-05-05 08:00:00', '2025-05-05 08:01:00', '', '', {}, ''),
    ('BringLetter', '2025-05-05 08:30:00', '2025-05-05 08:31:00', 'failed', '',
     {'person': 'Peter'}, 'the door was locked'),
    ('CleanWindow', '2025-05-05 09:00:00', '2025-05-05 09:30:00', '', '', {}, ''),
    ('WipeGlass', '2025-05-05 09:05:00', '2025-05-05 09:20:00', '', 'CleanWindow',
     {'thing': 'sponge', 'mode': 'wet'}, ''),
    ('TakeThing', '2025-05-05 09:02:00', '2025-05-05 09:02:20', 'failed', 'CleanWindow',
     {'thing': 'rag'}, 'it slipped'),
    ('ScrapeGlass', '2025-05-05 09:21:00', '2025-05-05 09:22:00', '', 'CleanWindow',
     {'thing': 'spoon_1'}, ''))
_WET, _SMOOTH = 'Wet the bricks', 'Smooth the joint with a wet sponge'
_WORKSHOP: tuple[tuple[str, str, str, str, str, Values, str], ...] = (
    ('put_on_scale', '10:01:00', '10:01:30', '', 'Mixing Mortar',
     {'material': 'sand', 'amount': 12, 'unit': 'kg'}, ''),
    ('put_on_scale', '10:02:10', '10:02:50', '', 'Mixing Mortar',
     {'material': 'sand', 'amount': 15, 'unit': 'kg'}, ''),
    ('add_material', '10:04:00', '10:04:20', '', 'Mixing Mortar',
     {'material': 'sand', 'amount': 15, 'unit': 'kg'}, ''),
    ('add_material', '10:06:00', '10:06:20', '', 'Mixing Mortar',
     {'material': 'cement', 'amount': 5, 'unit': 'kg'}, ''),
    ('add_material', '10:10:00', '10:10:20', '', 'Mixing Mortar',
     {'material': 'lime', 'amount': 2, 'unit': 'kg'}, ''),
    ('make_ready', '10:16:00', '10:16:40', '', 'Walling', {'step': _WET}, ''),
    ('do_step', '10:18:00', '10:18:30', '', 'Walling', {'step': _WET}, ''),
    ('do_step', '10:24:00', '10:25:00', '', 'Walling', {'step': _SMOOTH}, ''))
_ACTIVITIES = (('mix mortar', '10:00:00', '10:15:00'), ('lay bricks', '10:17:00', '10:28:00'),
               ('clean the bucket', '10:34:00', '10:38:00'))
_MOVES = (('10:20:00', '10:20:05'), ('10:30:05', '10:30:15'), ('10:31:00', '10:31:30'))
_SAID = (('2025-05-01 09:00:00', 'Peter', 'the parcel is on its way'),
         ('2025-05-01 09:05:00', 'Anna', 'we played chess with the neighbour'),
         ('2025-05-03 14:04:50', 'Anna', 'Please feed the cat.'))
_SEEN = (('2025-05-01 10:00:00', 'blue bowl', '', 'shelf'),
         ('2025-05-01 10:01:00', 'umbrella', '', 'door'),
         ('2025-05-01 10:02:00', 'book', '', 'bed'),
         ('2025-05-01 10:03:00', 'bottle', '', 'tray'),
         ('2025-05-02 10:01:00', 'umbrella', '', 'rack'),
         ('2025-05-03 14:20:00', 'spoon', 'spoon_2', 'shelf'),
         ('2025-05-05 10:00:00', 'pen', '', 'desk'))


def records() -> Iterator[Record]:
    """Yield the records of the life, in no order."""
    for skill, start, end, status, goal, parameters, told in _HOUSE:
        yield from _run(skill, start, end, status, goal, parameters, told)
    for skill, start, end, status, goal, parameters, told in _WORKSHOP:
        yield from _run(skill, _in_may(start), _in_may(end), status, goal, parameters, told)
    for text, start, end in _ACTIVITIES:
        yield Annotation(stamp_ns=stamp(_in_may(start)), end_ns=stamp(_in_may(end)), kind='goal',
                         text=text, extra={'recording': RECORDING})
    for start, end in _MOVES:
        yield Observation(stamp_ns=stamp(_in_may(start)), end_ns=stamp(_in_may(end)),
                          name='ladder', instance='ladder_1', event='moved')
    for when, speaker, text in _SAID:
        yield Utterance(stamp_ns=stamp(when), speaker=speaker, text=text)
    for when, name, instance, place in _SEEN:
        yield Scene(stamp_ns=stamp(when), objects=(SceneObject(name=name, instance=instance),),
                    relations=(SceneRelation(subject=instance or name, predicate='on',
                                             object=place),))


def stamp(when: str) -> int:
    """Return the stamp of a local time of the life."""
    return from_datetime(datetime.fromisoformat(when), parse_zone(ZONE))


def _run(skill: str, start: str, end: str, status: str, goal: str, parameters: Values,
         told: str) -> Iterator[Record]:
    trigger = 'Please feed the cat.' if skill == 'FeedCat' else ''
    yield SkillReport(
        stamp_ns=stamp(start), end_ns=stamp(end), skill=skill,
        status=Status(status or 'succeeded'), goal_stack=(goal,) if goal else (),
        parameters=parameters, narration=told, trigger=trigger, source_id=f'{skill} {start}')


def _in_may(clock: str) -> str:
    return f'2025-05-03 {clock}'
