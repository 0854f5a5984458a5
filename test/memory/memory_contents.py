"""What a memory says, read by plain SQL and told without ids: two that say the same are equal.

Written without the code of the memory: rows are named by what they hold.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from databases import rows as plain

JSON_COLUMNS = {'goal_stack', 'parameters', 'extra', 'attributes', 'names', 'position', 'velocity',
                'effort', 'orientation', 'transitions', 'bbox', 'first_bbox', 'last_bbox',
                'robots', 'evidence', 'trace'}
# The columns that point to a row, and its table.
LINKS = {'robot_id': 'robot', 'session_id': 'session', 'image_id': 'image', 'clip_id': 'clip',
         'entity_id': 'entity', 'observation_id': 'observation', 'scene_id': 'scene',
         'merged_into': 'entity', 'parent_id': 'node', 'node_id': 'node', 'first_id': 'observation',
         'second_id': 'observation'}
# What names a row of a table; the rows of the tests differ in it.
NAMED_BY = {
    'robot': ('name',), 'session': ('robot_id', 'start_ns', 'source'),
    'image': ('stamp_ns', 'camera', 'sha256'), 'clip': ('camera', 'start_ns', 'end_ns'),
    'observation': ('robot_id', 'stamp_ns', 'end_ns', 'name', 'instance', 'text'),
    'scene': ('robot_id', 'stamp_ns', 'camera'), 'entity': ('robot_id', 'name'),
    'node': ('robot_id', 'level', 'start_ns', 'end_ns', 'name', 'summary', 'ordinal'),
    'utterance': ('robot_id', 'stamp_ns', 'text'), 'annotation': ('robot_id', 'stamp_ns', 'text'),
    'skill_event': ('robot_id', 'stamp_ns', 'skill', 'source_id', 'goal_stack', 'last_report_ns',
                    'parameters'),
    'joint_sample': ('stamp_ns', 'position'), 'pose': ('stamp_ns', 'position'), 'query': ()}
TABLES = ('robot', 'session', 'image', 'joint_sample', 'pose', 'utterance', 'skill_event',
          'annotation', 'scene', 'scene_object', 'scene_relation', 'node', 'node_member', 'clip',
          'entity', 'observation', 'observation_image', 'appearance', 'separation', 'verdict',
          'naming', 'document')


def contents(folder: Path, queries: bool = False) -> dict[str, list[str]]:
    """Return, of each table, its rows as texts in order."""
    rows = {table: plain(folder, f'SELECT * FROM {table}')
            for table in (*TABLES, *(('query',) if queries else ()))}
    by_id = {table: {row['id']: row for row in every if 'id' in row}
             for table, every in rows.items()}
    return {table: sorted(json.dumps(_told(table, row, by_id), sort_keys=True)
                          for row in every) for table, every in rows.items()}


def _told(table: str, row: dict[str, Any], by_id: dict[str, Any]) -> dict[str, Any]:
    told = {name: _value(name, value, by_id) for name, value in row.items()
            if name not in ('id', 'ref_id')}
    if 'ref_id' in row:
        told['what'] = _name(row['kind'], row['ref_id'], by_id)
    if table == 'observation' and 'told_by' in told['extra']:
        root = told['extra']['told_by']
        told['extra'] |= {'told_by': root | {'id': _name('observation', root['id'], by_id)}}
    return told


def _value(name: str, value: Any, by_id: dict[str, Any]) -> Any:
    if name in LINKS:
        return None if value is None else _name(LINKS[name], value, by_id)
    if name in JSON_COLUMNS and isinstance(value, str):
        return json.loads(value)
    return value.hex() if isinstance(value, bytes) else value


def _name(table: str, ref_id: int, by_id: dict[str, Any]) -> list[Any]:
    row = by_id[table][ref_id]
    return [table, *(_value(name, row[name], by_id) for name in NAMED_BY[table])]


def states(folder: Path) -> dict[str, Any]:
    """Return what stands in `state`."""
    return {row['key']: _value('extra', row['value'], {})
            for row in plain(folder, 'SELECT key, value FROM state')}
