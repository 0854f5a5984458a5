"""What `emv doctor` checks of the settings: keys, the time zone, the clock, privacy, topics."""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
from typing import Any

from emv_ros.commands.context import Context
from emv_ros.errors import EmvError
from emv_ros.memory.checkup import Finding
from emv_ros.settings import walk
from emv_ros.timeline import SECOND_NS, format_rfc3339, parse_zone, system_zone

AHEAD_NS = 60 * SECOND_NS  # so far two clocks may be apart
OLDEST_NOW_NS = 1_704_067_200 * SECOND_NS  # 2024: a clock before it was never set


def check_keys(context: Context) -> Iterator[Finding]:
    """Check that the environment holds each key that a setting names."""
    named = {name: value for name, item in walk() if name.endswith('_env')
             and (value := _value(context, name))}
    for name, variable in named.items():
        if not os.environ.get(variable):
            yield Finding('key', 'wrong', f'{name} names {variable}, which is not set',
                          f'export {variable}=…, or leave {name} empty')
    if named and all(os.environ.get(variable) for variable in named.values()):
        yield Finding('key', 'ok', f'{", ".join(sorted(set(named.values())))} set')


def check_parameters(config: Path | None) -> Iterator[Finding]:
    """Check that what a parameter file says of single nodes is something that they know."""
    if config is None:
        return
    import yaml

    content = yaml.safe_load(config.read_text(encoding='utf-8'))  # it was read before
    known = dict.fromkeys(name for name, _ in walk())
    wrong = []
    for node, parameters in _of_nodes(content):
        name = node.rpartition('/')[2]
        if not isinstance(parameters, dict):
            wrong.append(f'the parameters of {node} are {parameters!r}')
            continue
        own = list(_flat(parameters))
        if name not in NODE_PARAMETERS:
            if name != '**':
                wrong.append(f'there is no node {node}')
            continue
        wrong += [f'{node} has no parameter {key}' for key in own
                  if key not in known and key not in NODE_PARAMETERS[name]
                  and key not in OF_EVERY_NODE and not key.startswith('qos_overrides')]
    if wrong:
        yield Finding('parameters', 'wrong', f'in {config}: {"; ".join(wrong)}',
                      'ROS ignores what it does not know: compare with config/emv.yaml')
    else:
        yield Finding('parameters', 'ok', f'{config} says nothing that no node knows')


def check_time(context: Context, is_usable: bool) -> Iterator[Finding]:
    """Check the clock of this machine and the zone; then whether records lie in the future."""
    now_ns = context.now_ns()
    is_set = now_ns > OLDEST_NOW_NS
    yield Finding('clock', 'ok' if is_set else 'wrong', f'it is {format_rfc3339(now_ns)}',
                  '' if is_set else 'set the clock (NTP): records would get wrong times')
    named = context.settings.memory.time_zone
    try:
        parse_zone(named or system_zone())
    except EmvError as error:
        yield Finding('time zone', 'wrong', str(error), 'set memory.time_zone as Europe/Berlin')
        return
    yield Finding('time zone', 'ok', named or f'{system_zone()}, of the system')
    if is_usable:
        yield from _records(context, now_ns, named or system_zone())


def _records(context: Context, now_ns: int, zone: str) -> Iterator[Finding]:
    from sqlalchemy import func, select

    from emv_ros.memory import schema

    with context.open() as store, store.reading() as session:
        ahead = {table.__tablename__: count for table in (
            schema.ImageRow, schema.UtteranceRow, schema.SkillEventRow, schema.SceneRow,
            schema.JointSampleRow, schema.PoseRow)
            if (count := session.scalar(select(func.count()).select_from(table).where(
                table.stamp_ns > now_ns + AHEAD_NS)))}
        recorded = store.zone_of(context.robots)
    if ahead:
        told = ', '.join(f'{count:,} of {kind}' for kind, count in ahead.items())
        yield Finding('records', 'wrong', f'some lie in the future: {told}',
                      'a clock was wrong: set the clocks of the robot and of this machine alike')
    if recorded != zone:
        yield Finding('time zone', 'note', f'the robot recorded in {recorded}, this is {zone}',
                      f'times are shown in that of the robot, or set memory.time_zone to {zone}')


def check_privacy(context: Context) -> Iterator[Finding]:
    """Check that what privacy asks for can be done; say so where it asks for nothing."""
    from emv_ros.commands.private import asked_of_privacy, picture_redactor
    from emv_ros.ingest.privacy import WordFilter

    asked = asked_of_privacy(context.settings)
    if not asked:
        yield Finding('privacy', 'ok', 'everything is kept as it is: nothing is asked for')
        return
    try:
        WordFilter(context.settings.privacy)
        picture_redactor(context.settings)
    except (EmvError, ImportError) as error:
        yield Finding('privacy', 'wrong', str(error),
                      'until then the nodes that it holds for do not start')
    else:
        yield Finding('privacy', 'ok', f'asked for and ready: {", ".join(asked)}')


def check_topics(context: Context, config: Path | None, look_s: float) -> Iterator[Finding]:
    """Look at the topics of the nodes, where there is ROS."""
    from emv_ros.commands.running import check_ros, ros_arguments

    try:
        check_ros()
    except EmvError:
        return  # told already
    from emv_ros.nodes.topic_checkup import check_topics

    try:
        yield from check_topics(ros_arguments(context.settings, config), look_s)
    except EmvError as error:
        yield Finding('topics', 'wrong', str(error), 'see the message; --no-topics leaves this out')


def _value(context: Context, name: str) -> Any:
    area, _, key = name.partition('.')
    return getattr(getattr(context.settings, area), key)


def _of_nodes(content: Any, prefix: str = '') -> Iterator[tuple[str, Any]]:
    """Yield each node that a parameter file names, with its parameters as they stand there."""
    if not isinstance(content, dict):
        return
    for name, inner in content.items():
        if not isinstance(inner, dict):
            continue
        if 'ros__parameters' in inner:
            yield f'{prefix}{name}', inner['ros__parameters']
        else:
            yield from _of_nodes(inner, f'{prefix}{name}/')


def _flat(content: dict[str, Any], prefix: str = '') -> Iterator[str]:
    for name, value in content.items():
        if isinstance(value, dict):
            yield from _flat(value, f'{prefix}{name}.')
        else:
            yield f'{prefix}{name}'


OF_EVERY_NODE = ('autostart', 'use_sim_time', 'start_type_description_service')
NODE_PARAMETERS = {
    'camera_ingest': ('topics',), 'joint_state_ingest': ('topics',),
    'speech_ingest': ('topics', 'own_topics', 'speaker'), 'skill_ingest': ('topics', 'actions'),
    'pose_ingest': ('topics', 'tf_frame', 'tf_child'), 'scene_ingest': ('topics',),
    'speech_bridge': ('topics', 'say_topic', 'own_topic', 'wake_words', 'action'),
    'perception': (), 'consolidation': (), 'query': ('preload',)}
