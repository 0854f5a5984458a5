"""What search keeps beside the database learns of each change from a journal, in its order."""

from alembic import op
import sqlalchemy as sa

revision = '0005'
down_revision = '0004'
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
TEXT, NUMBER = sa.String(), sa.BigInteger()

# The journal keeps this many rows; whoever is further behind reads everything anew.
KEPT = 200_000
# Old rows go in lots of this size.
LOT = 1000

# Of each table: the columns of (kind, id) that its changes are noted under (a kind in quotes is the
# same for all), the columns whose change matters (none: rows only come and go), and which rows.
UNITS = "{row}.kind IN ('utterance', 'skill_event', 'annotation', 'observation')"
WATCHED = (
    ('node', "'node'", 'id', ('robot_id', 'level', 'parent_id', 'start_ns', 'end_ns'), ''),
    ('node_member', 'kind', 'ref_id', ('node_id',), UNITS),
    ('clip', "'clip'", 'id', ('robot_id', 'camera', 'start_ns', 'end_ns'), ''),
    ('entity', "'entity'", 'id', ('robot_id',), ''),
    ('observation', "'observation'", 'id', ('clip_id', 'entity_id'), ''),
    ('document', 'kind', 'ref_id', ('robot_id', 'start_ns', 'end_ns'), ''),
    ('document', "'document'", 'id', ('robot_id', 'kind', 'start_ns', 'end_ns', 'text'), ''),
    ('embedding', "'document'", 'document_id', ('model', 'vector'), ''))


def upgrade() -> None:
    """Make the journal and the triggers that write it."""
    is_sqlite = op.get_bind().dialect.name == 'sqlite'
    # Two memories that were one (a copy that was put back) may agree in ids; they differ in this.
    token = '(random())' if is_sqlite else '(floor(random() * 9e18)::bigint)'
    op.create_table(
        'change',
        sa.Column('id', ID, primary_key=True, autoincrement=True),
        sa.Column('kind', TEXT, nullable=False), sa.Column('ref_id', NUMBER, nullable=False),
        sa.Column('token', NUMBER, nullable=False, server_default=sa.text(token)),
        sqlite_autoincrement=True)
    for statement in _sqlite() if is_sqlite else _postgresql():
        op.execute(statement)
    # A journal is never empty, so that each memory has a token by which its caches know it.
    op.execute("INSERT INTO change (kind, ref_id) VALUES ('memory', 0)")


def _sqlite() -> list[str]:
    made = [f"""CREATE TRIGGER change_prune AFTER INSERT ON change WHEN new.id % {LOT} = 0 BEGIN
        DELETE FROM change WHERE id <= new.id - {KEPT}; END"""]
    for table, kind, ref_id, columns, which in WATCHED:
        for event in ('INSERT', 'DELETE', f'UPDATE OF {", ".join(columns)}'):
            verb = event.split()[0].lower()
            row = 'old' if verb == 'delete' else 'new'
            when = f'WHEN {which.format(row=row)}' if which else ''
            made.append(f"""CREATE TRIGGER change_{table}_{_under(kind)}_{verb}
                AFTER {event} ON {table} {when} BEGIN
                INSERT INTO change (kind, ref_id)
                VALUES ({_value(kind, row)}, {row}.{ref_id}); END""")
    return made


def _postgresql() -> list[str]:
    """Return triggers that also make writers wait for one another.

    Numbers of the journal would else be committed out of their order, and a reader miss some.
    """
    made = [f"""CREATE FUNCTION change_prune() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        DELETE FROM change WHERE id <= new.id - {KEPT}; RETURN NULL; END $$""",
            f"""CREATE TRIGGER change_prune AFTER INSERT ON change FOR EACH ROW
        WHEN (new.id % {LOT} = 0) EXECUTE FUNCTION change_prune()"""]
    for table, kind, ref_id, columns, which in WATCHED:
        name = f'change_{table}_{_under(kind)}'
        noted = {row: f"""PERFORM pg_advisory_xact_lock(hashtext('emv_ros change'));
            INSERT INTO change (kind, ref_id) VALUES ({_value(kind, row)}, {row}.{ref_id});
            RETURN NULL;""" for row in ('old', 'new')}
        made.append(f"""CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF TG_OP = 'DELETE' THEN {noted['old']} END IF; {noted['new']} END $$""")
        for event in ('INSERT', 'DELETE', f'UPDATE OF {", ".join(columns)}'):
            verb = event.split()[0].lower()
            row = 'old' if verb == 'delete' else 'new'
            when = f'WHEN ({which.format(row=row)})' if which else ''
            made.append(f"""CREATE TRIGGER {name}_{verb} AFTER {event} ON {table}
                FOR EACH ROW {when} EXECUTE FUNCTION {name}()""")
    return made


def _under(kind: str) -> str:
    return kind.strip("'")


def _value(kind: str, row: str) -> str:
    return kind if kind.startswith("'") else f'{row}.{kind}'
