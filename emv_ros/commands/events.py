"""`emv events`: the runs of skills, filtered exactly."""

from __future__ import annotations

import argparse
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from emv_ros.commands.context import Context, add_window, positive
from emv_ros.commands.output import tell, write_json, write_table
from emv_ros.records import ID_LETTERS, Status

if TYPE_CHECKING:
    from emv_ros.records import SkillEvent


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('--skill', default='', help='runs of this skill; words of its name will do')
    parser.add_argument('--status', action='append', default=[],
                        choices=[str(status) for status in Status],
                        help='how the run stands; may be repeated')
    parser.add_argument('--goal', default='',
                        help='runs within this goal, however deep, and its own run')
    parser.add_argument('--text', default='', help='runs in whose text all these words stand')
    parser.add_argument('--limit', type=positive, metavar='N', help='at most this many')
    parser.add_argument('--newest', action='store_true', help='the latest first')
    add_window(parser)


def run(args: argparse.Namespace, context: Context) -> int:
    """List the runs in order of time; status 1 where there is none."""
    from emv_ros.memory.queries import Page, skill_events

    with context.open() as store:
        zone = context.zone(store)
        events = skill_events(
            store, context.window(store, args), skill=args.skill, status=args.status,
            goal=args.goal, text=args.text,
            page=Page(limit=args.limit, newest_first=args.newest))
    if context.as_json:
        write_json([event_fields(event, zone) for event in events])
    elif events:
        _write(events, zone)
    else:
        tell('emv events: no run of a skill fits')
    return int(not events)


def event_fields(event: SkillEvent, zone: tzinfo) -> dict[str, Any]:
    """Return a run as JSON knows it; times as RFC 3339 local to the zone, null where unknown."""
    from emv_ros.timeline import SECOND_NS, format_rfc3339

    duration_s = None if event.end_ns is None else (event.end_ns - event.stamp_ns) / SECOND_NS
    return {
        'id': f'{ID_LETTERS["skill_event"]}{event.id}', 'robot': event.robot, 'skill': event.skill,
        'status': str(event.status), 'goal_stack': list(event.goal_stack),
        'start': format_rfc3339(event.stamp_ns, zone),
        'end': None if event.end_ns is None else format_rfc3339(event.end_ns, zone),
        'duration_s': duration_s, 'parameters': dict(event.parameters), 'reports': event.reports}


def _write(events: list[SkillEvent], zone: tzinfo) -> None:
    from emv_ros.timeline import format_duration, format_stamp

    several = len({event.robot for event in events}) > 1
    write_table(
        ('id', 'start', 'duration', 'status', *(('robot',) if several else ()), 'skill', 'goal'),
        [(f'{ID_LETTERS["skill_event"]}{event.id}', format_stamp(event.stamp_ns, zone),
          '' if event.end_ns is None else format_duration(event.end_ns - event.stamp_ns),
          event.status, *((event.robot,) if several else ()), event.skill,
          ' > '.join(event.goal_stack)) for event in events])
