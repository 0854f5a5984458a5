"""What is asked each night, or for each report, is found by an index, however old the memory is."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Select, func, select
from sqlalchemy.dialects import sqlite

from emv_ros.memory import schema
from emv_ros.memory.folding import LOADED
from emv_ros.memory.store import MemoryStore

WAITING = ('image', 'joint_sample', 'pose', 'utterance', 'skill_event', 'annotation', 'scene',
           'observation')


def plan(memory: MemoryStore, query: Select[Any]) -> str:
    """Return how SQLite goes about a query, with its values in it as it is run."""
    compiled = query.compile(dialect=sqlite.dialect(), compile_kwargs={'render_postcompile': True})
    values = tuple(compiled.params[name] for name in compiled.positiontup or ())
    with memory.reading() as session:
        steps = session.connection().exec_driver_sql(f'EXPLAIN QUERY PLAN {compiled}', values)
        return ' / '.join(str(step[3]) for step in steps)


@pytest.mark.parametrize('kind', WAITING)
def test_what_waits_is_found_without_what_does_not(memory, kind):
    table = schema.KINDS[kind]
    first = select(func.min(table.stamp_ns)).where(table.robot_id == 1, table.pending)
    assert f'ix_{kind}_pending' in plan(memory, first)
    several = select(table.stamp_ns).where(
        table.robot_id == 1, table.pending).order_by(table.stamp_ns).limit(800)
    assert f'ix_{kind}_pending' in plan(memory, several)


@pytest.mark.parametrize('is_high', [True, False])
def test_nodes_without_a_parent_are_found_without_the_others(memory, is_high):
    row = schema.NodeRow
    level = row.level >= 8 if is_high else row.level <= 3
    query = select(row.id).where(row.robot_id == 1, row.parent_id.is_(None), level,
                                 row.start_ns <= 10, row.end_ns >= 5)
    assert 'ix_node_top' in plan(memory, query)


def test_the_runs_of_a_report_are_found_without_all_others_of_the_skill(memory):
    row = schema.SkillEventRow
    query = select(row).where(
        row.robot_id == 1, row.skill == 'Grasp', row.session_id == 3, row.source_id == 'r7'
    ).order_by(row.stamp_ns.desc(), row.id.desc()).limit(LOADED)
    assert 'ix_skill_event_run (session_id=? AND skill=? AND source_id=?)' in plan(memory, query)
