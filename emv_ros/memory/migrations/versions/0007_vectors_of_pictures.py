"""Pictures have vectors, with their changes in the journal; what shows a picture is found fast."""

from alembic import op
import sqlalchemy as sa

revision = '0007'
down_revision = '0006'
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
TABLE, KIND = 'picture_embedding', 'picture'
EVENTS = ('INSERT', 'DELETE', 'UPDATE OF model, vector')


def upgrade() -> None:
    """Make the table, the triggers that note what came and went in it, and two indices."""
    op.create_table(
        TABLE,
        sa.Column('image_id', ID, sa.ForeignKey(
            'image.id', name=op.f('fk_picture_embedding_image_id'), ondelete='CASCADE'),
            nullable=False),
        sa.Column('model', sa.String(), nullable=False),
        sa.Column('vector', sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint('image_id', 'model', name=op.f('pk_picture_embedding')))
    op.create_index('ix_observation_image_image_id', 'observation_image', ['image_id'])
    op.create_index('ix_scene_image_id', 'scene', ['image_id'])
    is_sqlite = op.get_bind().dialect.name == 'sqlite'
    for statement in _sqlite() if is_sqlite else _postgresql():
        op.execute(statement)


def _sqlite() -> list[str]:
    return [f"""CREATE TRIGGER change_{TABLE}_{_verb(event)} AFTER {event} ON {TABLE} BEGIN
        INSERT INTO change (kind, ref_id) VALUES ('{KIND}', {_row(event)}.image_id); END"""
            for event in EVENTS]


def _postgresql() -> list[str]:
    # Writers wait for one another, as those of the other triggers of the journal do.
    noted = {row: f"""PERFORM pg_advisory_xact_lock(hashtext('emv_ros change'));
        INSERT INTO change (kind, ref_id) VALUES ('{KIND}', {row}.image_id);
        RETURN NULL;""" for row in ('old', 'new')}
    return [f"""CREATE FUNCTION change_{TABLE}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF TG_OP = 'DELETE' THEN {noted['old']} END IF; {noted['new']} END $$""", *(
        f"""CREATE TRIGGER change_{TABLE}_{_verb(event)} AFTER {event} ON {TABLE}
        FOR EACH ROW EXECUTE FUNCTION change_{TABLE}()""" for event in EVENTS)]


def _verb(event: str) -> str:
    return event.split()[0].lower()


def _row(event: str) -> str:
    return 'old' if event == 'DELETE' else 'new'
