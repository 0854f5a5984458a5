"""What was really the case, as the simulator knows it: the yardstick of the tests."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from household.messages import SECOND_NS
from household.robot import Robot
from household.story import ZONE


def truth_of(robot: Robot) -> dict[str, Any]:
    """Return counts, failures, runs of skills, events and last places after the story."""
    return {
        'time_zone': ZONE.key,
        'messages': dict(Counter(topic for _, topic, _ in sorted(robot.recording.messages))),
        'failures': [
            {'skill': run.skill, 'parameters': dict(run.parameters), 'goals': list(run.goals),
             'at': local(run.end_ns), 'why': run.narration}
            for run in robot.runs if run.status == 'failed'],
        'runs': [
            {'id': run.run, 'skill': run.skill, 'status': run.status, 'goals': list(run.goals),
             'parent': run.parent, 'parameters': dict(run.parameters), 'start': local(run.begin_ns),
             'end': local(run.end_ns)} for run in robot.runs],
        'events': [
            {'kind': fact['kind'], 'at': local(fact['at_ns']),
             **{key: value for key, value in fact.items() if key not in ('kind', 'at_ns')}}
            for fact in robot.facts],
        'last_place': {
            thing.instance: thing.place or thing.holder
            for thing in robot.world.things.values() if thing.place or thing.holder},
    }


def local(stamp_ns: int) -> str:
    """Return a stamp as RFC 3339 in the zone of the story, cut to milliseconds."""
    moment = datetime.fromtimestamp(stamp_ns // SECOND_NS, ZONE)
    moment = moment.replace(microsecond=stamp_ns % SECOND_NS // 1_000_000 * 1000)
    return moment.isoformat(timespec='milliseconds')
