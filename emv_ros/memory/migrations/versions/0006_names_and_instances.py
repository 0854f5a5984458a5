"""Indices by which others of a name, and the observations of an instance, are found at once."""

from alembic import op

revision = '0006'
down_revision = '0005'
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the indices."""
    op.create_index('ix_entity_name', 'entity', ['name', 'robot_id'])
    op.create_index('ix_observation_instance', 'observation', ['instance', 'robot_id'])
