"""Indices without which a consolidation or an ingest gets slower with the age of the memory."""

from alembic import op
import sqlalchemy as sa

revision = '0004'
down_revision = '0003'
branch_labels = None
depends_on = None

RECORDED = ('image', 'joint_sample', 'pose', 'utterance', 'skill_event', 'annotation', 'scene',
            'observation')


def upgrade() -> None:
    """Make what waits, the tops of trees and the run of a report found at once."""
    if op.get_bind().dialect.name == 'sqlite':
        # SQLite takes a partial index only for a query that says the same, which is `pending = 1`.
        for table in RECORDED:
            op.drop_index(f'ix_{table}_pending', table)
            op.create_index(f'ix_{table}_pending', table, ['robot_id', 'stamp_ns'],
                            sqlite_where=sa.text('pending = 1'))
    no_parent = sa.text('parent_id IS NULL')
    op.create_index('ix_node_top', 'node', ['robot_id', 'level', 'start_ns'],
                    sqlite_where=no_parent, postgresql_where=no_parent)
    op.create_index('ix_skill_event_run', 'skill_event',
                    ['session_id', 'skill', 'source_id', 'stamp_ns'])
