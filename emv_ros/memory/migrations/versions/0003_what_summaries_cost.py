"""Consolidations leave an account, nodes their cost, and replies outlive a killed process."""

from alembic import op
import sqlalchemy as sa

revision = '0003'
down_revision = '0002'
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
TEXT, NUMBER, REAL = sa.String(), sa.BigInteger(), sa.Double()


def upgrade() -> None:
    """Add the tables and the column."""
    op.add_column('node', sa.Column('cost', REAL, nullable=False, server_default='0'))
    op.create_table(
        'model_reply',
        sa.Column('robot_id', ID, sa.ForeignKey('robot.id'), primary_key=True),
        sa.Column('key', TEXT, primary_key=True),
        _column('stamp_ns', NUMBER), _column('model', TEXT), _column('text', TEXT),
        _column('prompt_tokens', NUMBER), _column('completion_tokens', NUMBER),
        _column('cost', REAL))
    op.create_table(
        'consolidation',
        sa.Column('id', ID, primary_key=True, autoincrement=True),
        sa.Column('robot_id', ID, sa.ForeignKey('robot.id'), nullable=False),
        _column('begun_ns', NUMBER), _column('duration_s', REAL), _column('records', NUMBER),
        sa.Column('up_to_ns', NUMBER, nullable=True),
        *(_column(name, NUMBER) for name in (
            'events', 'goals', 'summaries', 'model_calls', 'prompt_tokens', 'completion_tokens')),
        _column('cost', REAL), _column('fallbacks', NUMBER), _column('outcome', TEXT),
        sqlite_autoincrement=True)
    op.create_index('ix_consolidation_robot_begun', 'consolidation', ['robot_id', 'begun_ns'])


def _column(name: str, kind: sa.types.TypeEngine[object]) -> sa.Column[object]:
    return sa.Column(name, kind, nullable=False)
