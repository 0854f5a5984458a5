"""The first schema: tables of the memory, with a full-text index over documents on SQLite."""

from typing import Any

from alembic import op
import sqlalchemy as sa

revision = '0001'
down_revision = None
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
TEXT, NUMBER, REAL, FLAG = sa.String(), sa.BigInteger(), sa.Double(), sa.Boolean()

# The index holds no copy of the text: triggers keep it equal to the documents in the same
# transaction.
TEXT_INDEX = (
    """CREATE VIRTUAL TABLE document_text USING fts5(
        text, content='document', content_rowid='id', tokenize='porter unicode61')""",
    """CREATE TRIGGER document_text_insert AFTER INSERT ON document BEGIN
        INSERT INTO document_text(rowid, text) VALUES (new.id, new.text); END""",
    """CREATE TRIGGER document_text_delete AFTER DELETE ON document BEGIN
        INSERT INTO document_text(document_text, rowid, text)
        VALUES ('delete', old.id, old.text); END""",
    """CREATE TRIGGER document_text_update AFTER UPDATE OF text ON document BEGIN
        INSERT INTO document_text(document_text, rowid, text)
        VALUES ('delete', old.id, old.text);
        INSERT INTO document_text(rowid, text) VALUES (new.id, new.text); END""")


def upgrade() -> None:
    """Make every table."""
    _make_accounts()
    _make_robots()
    _make_tree()
    _make_documents()
    _make_biography()
    _make_records()
    _make_scenes()
    _make_pairs()


def _table(name: str, *parts: Any, counted: bool = True) -> None:
    """Make a table; a counted one gives each row an id that is never used again."""
    ids = [sa.Column('id', ID, primary_key=True, autoincrement=True)] if counted else []
    op.create_table(name, *ids, *parts, sqlite_autoincrement=counted)


def _recorded(name: str, *parts: Any) -> None:
    """Make a table of L0 or L1 records, found by time, and by time where they are pending."""
    _table(name, _robot(), _link('session_id', 'session.id'), _column('stamp_ns', NUMBER),
           _column('stamp_is_receipt', FLAG), _column('extra', sa.JSON()),
           _column('pending', FLAG), *parts)
    op.create_index(f'ix_{name}_robot_stamp', name, ['robot_id', 'stamp_ns'])
    op.create_index(f'ix_{name}_pending', name, ['robot_id', 'stamp_ns'],
                    sqlite_where=sa.text('pending'), postgresql_where=sa.text('pending'))
    _index(name, 'session_id')


def _column(name: str, kind: Any, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=nullable)


def _texts(*names: str) -> list[sa.Column[Any]]:
    return [_column(name, TEXT) for name in names]


def _numbers(*names: str) -> list[sa.Column[Any]]:
    return [_column(name, NUMBER) for name in names]


def _lists(*names: str) -> list[sa.Column[Any]]:
    return [_column(name, sa.JSON()) for name in names]


def _link(name: str, target: str, ondelete: str | None = None, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, ID, sa.ForeignKey(target, ondelete=ondelete),
                     nullable=options.pop('nullable', ondelete == 'SET NULL'), **options)


def _robot() -> sa.Column[Any]:
    return _link('robot_id', 'robot.id')


def _index(table: str, *columns: str) -> None:
    op.create_index(f'ix_{table}_{"_".join(columns)}', table, list(columns))


def _make_accounts() -> None:
    _table('audit', *_numbers('stamp_ns'), *_texts('author', 'reason'), *_lists('counts'))
    _table('model_call', *_texts('purpose', 'model'), *_numbers('stamp_ns'),
           _column('duration_s', REAL), *_numbers('prompt_tokens', 'completion_tokens'),
           _column('cost', REAL), *_texts('outcome', 'detail'),
           _column('query_id', NUMBER, nullable=True))
    _index('model_call', 'stamp_ns')
    _table('query', *_texts('question', 'status'), *_numbers('stamp_ns', 'query_time_ns'),
           *_lists('robots'), *_texts('answer', 'message'), *_lists('evidence', 'trace'),
           *_numbers('rounds', 'prompt_tokens', 'completion_tokens'),
           _column('duration_s', REAL), *_texts('model'))
    _index('query', 'stamp_ns')
    _table('state', sa.Column('key', TEXT, primary_key=True), *_lists('value'), counted=False)


def _make_robots() -> None:
    _table('robot', *_texts('name'), sa.UniqueConstraint('name'))
    _table('session', _robot(), *_numbers('start_ns'), *_texts('clock_source', 'zone', 'source'))
    _index('session', 'robot_id')


def _make_tree() -> None:
    _table('node', _robot(), *_numbers('level', 'start_ns', 'end_ns'),
           *_texts('summary', 'name', 'status'), _link('parent_id', 'node.id', 'SET NULL'),
           *_numbers('ordinal'), _column('is_open', FLAG),
           *_texts('made_by', 'model', 'prompt_version'),
           *_numbers('prompt_tokens', 'completion_tokens'))
    op.create_index('ix_node_level_start', 'node', ['robot_id', 'level', 'start_ns'])
    _index('node', 'parent_id')
    _table('node_member', sa.Column('kind', TEXT, primary_key=True),
           sa.Column('ref_id', NUMBER, primary_key=True, autoincrement=False),
           _link('node_id', 'node.id', 'CASCADE'), counted=False)
    _index('node_member', 'node_id')


def _make_documents() -> None:
    _table('document', *_texts('kind'), *_numbers('ref_id'), _robot(),
           *_numbers('start_ns', 'end_ns'), *_texts('text'),
           sa.UniqueConstraint('kind', 'ref_id'))
    op.create_index('ix_document_robot_start', 'document', ['robot_id', 'start_ns'])
    _table('embedding', _link('document_id', 'document.id', 'CASCADE', primary_key=True),
           sa.Column('model', TEXT, primary_key=True), _column('vector', sa.LargeBinary()),
           counted=False)
    if op.get_bind().dialect.name == 'sqlite':
        for statement in TEXT_INDEX:
            op.execute(statement)


def _make_biography() -> None:
    _table('clip', _robot(), *_texts('camera'), *_numbers('start_ns', 'end_ns'))
    op.create_index('ix_clip_robot_start', 'clip', ['robot_id', 'start_ns'])
    _table('entity', _robot(), *_texts('name'), _column('is_person', FLAG),
           *_lists('attributes'))
    _index('entity', 'robot_id')
    _recorded('observation', *_numbers('end_ns'),
              *_texts('name', 'instance', 'event', 'text', 'location'), *_lists('attributes'),
              _column('is_person', FLAG), _link('clip_id', 'clip.id', 'SET NULL'),
              _link('entity_id', 'entity.id', 'SET NULL'))
    op.create_index('ix_observation_name', 'observation', ['robot_id', 'name', 'stamp_ns'])
    _index('observation', 'entity_id')


def _make_records() -> None:
    _recorded('image', *_texts('camera', 'sha256', 'media_type'), *_numbers('width', 'height'),
              *_texts('encoding'), _column('is_depth', FLAG), *_numbers('size_bytes'),
              *_texts('frame'))
    _index('image', 'sha256')
    _recorded('joint_sample', *_lists('names', 'position', 'velocity', 'effort'))
    _recorded('pose', *_texts('frame'), *_lists('position'),
              _column('orientation', sa.JSON(), nullable=True))
    _recorded('utterance', *_texts('speaker', 'text'), _column('is_own', FLAG),
              _column('confidence', REAL, nullable=True), _column('end_ns', NUMBER, nullable=True),
              *_texts('language'))
    _recorded('skill_event', *_texts('skill', 'status'), *_lists('goal_stack', 'parameters'),
              *_texts('trigger', 'narration', 'source_id', 'parent_source_id'),
              _column('end_ns', NUMBER, nullable=True), *_lists('transitions'),
              *_numbers('reports', 'last_report_ns'))
    op.create_index('ix_skill_event_skill', 'skill_event', ['robot_id', 'skill', 'stamp_ns'])
    op.create_index('ix_skill_event_source', 'skill_event', ['robot_id', 'source_id'])
    _recorded('annotation', *_texts('kind', 'text'), *_numbers('end_ns'))


def _make_scenes() -> None:
    _recorded('scene', *_texts('camera'), _link('image_id', 'image.id', 'SET NULL'))
    _table('scene_object', _link('scene_id', 'scene.id', 'CASCADE'), _robot(),
           *_numbers('stamp_ns'), *_texts('name', 'instance'),
           _column('bbox', sa.JSON(), nullable=True), _column('position', sa.JSON(), nullable=True),
           *_texts('frame'), _column('confidence', REAL, nullable=True), *_texts('state'))
    op.create_index('ix_scene_object_name', 'scene_object', ['robot_id', 'name', 'stamp_ns'])
    _index('scene_object', 'scene_id')
    _table('scene_relation', _link('scene_id', 'scene.id', 'CASCADE'),
           *_texts('subject', 'predicate', 'object'))
    _index('scene_relation', 'scene_id')


def _make_pairs() -> None:
    _table('observation_image', _link('observation_id', 'observation.id', 'CASCADE'),
           _link('image_id', 'image.id', 'CASCADE'),
           _column('bbox', sa.JSON(), nullable=True), _column('is_crop', FLAG))
    _index('observation_image', 'observation_id')
    _table('separation', _link('first_id', 'observation.id', 'CASCADE', primary_key=True),
           _link('second_id', 'observation.id', 'CASCADE', primary_key=True),
           *_numbers('shared_frames'), counted=False)
    _table('verdict', _link('first_id', 'observation.id', 'CASCADE'),
           _link('second_id', 'observation.id', 'CASCADE'), *_texts('verdict', 'author'),
           *_numbers('stamp_ns'), sa.UniqueConstraint('first_id', 'second_id'))
