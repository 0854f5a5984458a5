"""Why the file of a picture is not there, where it is not."""

from alembic import op
import sqlalchemy as sa

revision = '0009'
down_revision = '0008'
branch_labels = None
depends_on = None

IS_GONE = sa.text("gone <> ''")


def upgrade() -> None:
    """Add the reason, '' for all pictures so far: `emv doctor` finds those that are missing."""
    op.add_column('image', sa.Column('gone', sa.String(), nullable=False, server_default=''))
    # Few rows, which are counted at each opening of a page that tells of them.
    op.create_index('ix_image_gone', 'image', ['gone'],
                    sqlite_where=IS_GONE, postgresql_where=IS_GONE)
