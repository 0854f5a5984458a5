"""Runs that are still open are found at once, however many of the same skill came after."""

from alembic import op
import sqlalchemy as sa

revision = '0002'
down_revision = '0001'
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the index."""
    op.create_index(
        'ix_skill_event_open', 'skill_event', ['robot_id', 'skill', 'stamp_ns'],
        sqlite_where=sa.text('end_ns IS NULL'), postgresql_where=sa.text('end_ns IS NULL'))
