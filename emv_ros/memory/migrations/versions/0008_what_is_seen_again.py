"""What observations look like, what operators say of them, and whose each box in a scene is."""

from alembic import op
import sqlalchemy as sa

revision = '0008'
down_revision = '0007'
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
TEXT, NUMBER = sa.String(), sa.BigInteger()
IS_KNOWN = sa.text('observation_id IS NOT NULL')
# The kinds of records that have a searchable text, each in the table of its name.
TOLD = ('node', 'utterance', 'skill_event', 'annotation', 'observation')


def upgrade() -> None:
    """Add the tables of looks and names, and the columns that tie them together."""
    op.create_table(
        'appearance',
        sa.Column('observation_id', ID, sa.ForeignKey(
            'observation.id', name=op.f('fk_appearance_observation_id'), ondelete='CASCADE'),
            nullable=False),
        sa.Column('model', TEXT, nullable=False),
        sa.Column('vector', sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint('observation_id', 'model', name=op.f('pk_appearance')))
    op.create_table(
        'naming',
        sa.Column('id', ID, primary_key=True, autoincrement=True),
        sa.Column('observation_id', ID, sa.ForeignKey(
            'observation.id', name=op.f('fk_naming_observation_id'), ondelete='CASCADE'),
            nullable=False),
        sa.Column('name', TEXT, nullable=False), sa.Column('author', TEXT, nullable=False),
        sa.Column('stamp_ns', NUMBER, nullable=False),
        sa.Column('reason', TEXT, nullable=False),
        sqlite_autoincrement=True)
    op.create_index('ix_naming_observation_id', 'naming', ['observation_id'])
    op.add_column('verdict', _text('reason'))
    for table in ('separation', 'verdict'):  # pairs are asked for from both ends
        op.create_index(f'ix_{table}_second_id', table, ['second_id'])
    # SQLite adds a link in place where the new column is empty.
    for table, column, target in (('scene_object', 'observation_id', 'observation'),
                                  ('entity', 'merged_into', 'entity')):
        if op.get_bind().dialect.name == 'sqlite':
            op.execute(f'ALTER TABLE {table} ADD COLUMN {column} INTEGER '
                       f'REFERENCES {target} (id) ON DELETE SET NULL')
        else:
            op.add_column(table, sa.Column(column, ID, sa.ForeignKey(
                f'{target}.id', name=op.f(f'fk_{table}_{column}'), ondelete='SET NULL')))
    op.create_index('ix_scene_object_observation', 'scene_object', ['observation_id'],
                    sqlite_where=IS_KNOWN, postgresql_where=IS_KNOWN)
    op.create_index('ix_entity_merged_into', 'entity', ['merged_into'])
    op.add_column('observation', sa.Column('confidence', sa.Double()))
    op.add_column('observation', sa.Column('first_bbox', sa.JSON()))
    op.add_column('observation', sa.Column('last_bbox', sa.JSON()))
    op.add_column('observation', _text('made_by', 'source'))
    op.add_column('observation', _text('model'))
    op.add_column('observation', _text('prompt_version'))
    # Whoever deletes a record, and however: its text is found no more.
    is_sqlite = op.get_bind().dialect.name == 'sqlite'
    for statement in _sqlite() if is_sqlite else _postgresql():
        op.execute(statement)


def _sqlite() -> list[str]:
    return [f"""CREATE TRIGGER untold_{table} AFTER DELETE ON {table} BEGIN
        DELETE FROM document WHERE kind = '{table}' AND ref_id = old.id; END""" for table in TOLD]


def _postgresql() -> list[str]:
    return ["""CREATE FUNCTION untold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        DELETE FROM document WHERE kind = TG_TABLE_NAME AND ref_id = old.id; RETURN NULL;
        END $$""", *(f"""CREATE TRIGGER untold_{table} AFTER DELETE ON {table}
        FOR EACH ROW EXECUTE FUNCTION untold()""" for table in TOLD)]


def _text(name: str, default: str = '') -> sa.Column[str]:
    return sa.Column(name, TEXT, nullable=False, server_default=default)
