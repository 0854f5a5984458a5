"""The first schema: tables of the memory, with a full-text index over documents on SQLite."""

from alembic import op
import sqlalchemy as sa

revision = '0001'
down_revision = None
branch_labels = None
depends_on = None

# The index holds no copy of the text: triggers keep it equal to the documents in the same transaction.
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


def _index_text() -> None:
    for statement in TEXT_INDEX:
        op.execute(statement)


def upgrade() -> None:
    op.create_table('audit',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('stamp_ns', sa.BigInteger(), nullable=False),
    sa.Column('author', sa.String(), nullable=False),
    sa.Column('reason', sa.String(), nullable=False),
    sa.Column('counts', sa.JSON(), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_audit')),
    sqlite_autoincrement=True
    )
    op.create_table('model_call',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('purpose', sa.String(), nullable=False),
    sa.Column('model', sa.String(), nullable=False),
    sa.Column('stamp_ns', sa.BigInteger(), nullable=False),
    sa.Column('duration_s', sa.Double(), nullable=False),
    sa.Column('prompt_tokens', sa.BigInteger(), nullable=False),
    sa.Column('completion_tokens', sa.BigInteger(), nullable=False),
    sa.Column('cost', sa.Double(), nullable=False),
    sa.Column('outcome', sa.String(), nullable=False),
    sa.Column('detail', sa.String(), nullable=False),
    sa.Column('query_id', sa.BigInteger(), nullable=True),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_model_call')),
    sqlite_autoincrement=True
    )
    with op.batch_alter_table('model_call', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_model_call_stamp_ns'), ['stamp_ns'], unique=False)

    op.create_table('query',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('question', sa.String(), nullable=False),
    sa.Column('status', sa.String(), nullable=False),
    sa.Column('stamp_ns', sa.BigInteger(), nullable=False),
    sa.Column('query_time_ns', sa.BigInteger(), nullable=False),
    sa.Column('robots', sa.JSON(), nullable=False),
    sa.Column('answer', sa.String(), nullable=False),
    sa.Column('message', sa.String(), nullable=False),
    sa.Column('evidence', sa.JSON(), nullable=False),
    sa.Column('trace', sa.JSON(), nullable=False),
    sa.Column('rounds', sa.BigInteger(), nullable=False),
    sa.Column('prompt_tokens', sa.BigInteger(), nullable=False),
    sa.Column('completion_tokens', sa.BigInteger(), nullable=False),
    sa.Column('duration_s', sa.Double(), nullable=False),
    sa.Column('model', sa.String(), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_query')),
    sqlite_autoincrement=True
    )
    with op.batch_alter_table('query', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_query_stamp_ns'), ['stamp_ns'], unique=False)

    op.create_table('robot',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('name', sa.String(), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_robot')),
    sa.UniqueConstraint('name', name=op.f('uq_robot_name')),
    sqlite_autoincrement=True
    )
    op.create_table('state',
    sa.Column('key', sa.String(), nullable=False),
    sa.Column('value', sa.JSON(), nullable=False),
    sa.PrimaryKeyConstraint('key', name=op.f('pk_state'))
    )
    op.create_table('clip',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('robot_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('camera', sa.String(), nullable=False),
    sa.Column('start_ns', sa.BigInteger(), nullable=False),
    sa.Column('end_ns', sa.BigInteger(), nullable=False),
    sa.ForeignKeyConstraint(['robot_id'], ['robot.id'], name=op.f('fk_clip_robot_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_clip')),
    sqlite_autoincrement=True
    )
    with op.batch_alter_table('clip', schema=None) as batch_op:
        batch_op.create_index('ix_clip_robot_start', ['robot_id', 'start_ns'], unique=False)

    op.create_table('document',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('kind', sa.String(), nullable=False),
    sa.Column('ref_id', sa.BigInteger(), nullable=False),
    sa.Column('robot_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('start_ns', sa.BigInteger(), nullable=False),
    sa.Column('end_ns', sa.BigInteger(), nullable=False),
    sa.Column('text', sa.String(), nullable=False),
    sa.ForeignKeyConstraint(['robot_id'], ['robot.id'], name=op.f('fk_document_robot_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_document')),
    sa.UniqueConstraint('kind', 'ref_id', name=op.f('uq_document_kind_ref_id')),
    sqlite_autoincrement=True
    )
    with op.batch_alter_table('document', schema=None) as batch_op:
        batch_op.create_index('ix_document_robot_start', ['robot_id', 'start_ns'], unique=False)

    op.create_table('entity',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('robot_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('name', sa.String(), nullable=False),
    sa.Column('is_person', sa.Boolean(), nullable=False),
    sa.Column('attributes', sa.JSON(), nullable=False),
    sa.ForeignKeyConstraint(['robot_id'], ['robot.id'], name=op.f('fk_entity_robot_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_entity')),
    sqlite_autoincrement=True
    )
    with op.batch_alter_table('entity', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_entity_robot_id'), ['robot_id'], unique=False)

    op.create_table('node',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('robot_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('level', sa.BigInteger(), nullable=False),
    sa.Column('start_ns', sa.BigInteger(), nullable=False),
    sa.Column('end_ns', sa.BigInteger(), nullable=False),
    sa.Column('summary', sa.String(), nullable=False),
    sa.Column('name', sa.String(), nullable=False),
    sa.Column('status', sa.String(), nullable=False),
    sa.Column('parent_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=True),
    sa.Column('ordinal', sa.BigInteger(), nullable=False),
    sa.Column('is_open', sa.Boolean(), nullable=False),
    sa.Column('made_by', sa.String(), nullable=False),
    sa.Column('model', sa.String(), nullable=False),
    sa.Column('prompt_version', sa.String(), nullable=False),
    sa.Column('prompt_tokens', sa.BigInteger(), nullable=False),
    sa.Column('completion_tokens', sa.BigInteger(), nullable=False),
    sa.ForeignKeyConstraint(['parent_id'], ['node.id'], name=op.f('fk_node_parent_id'), ondelete='SET NULL'),
    sa.ForeignKeyConstraint(['robot_id'], ['robot.id'], name=op.f('fk_node_robot_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_node')),
    sqlite_autoincrement=True
    )
    with op.batch_alter_table('node', schema=None) as batch_op:
        batch_op.create_index('ix_node_level_start', ['robot_id', 'level', 'start_ns'], unique=False)
        batch_op.create_index(batch_op.f('ix_node_parent_id'), ['parent_id'], unique=False)

    op.create_table('session',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('robot_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('start_ns', sa.BigInteger(), nullable=False),
    sa.Column('clock_source', sa.String(), nullable=False),
    sa.Column('zone', sa.String(), nullable=False),
    sa.Column('source', sa.String(), nullable=False),
    sa.ForeignKeyConstraint(['robot_id'], ['robot.id'], name=op.f('fk_session_robot_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_session')),
    sqlite_autoincrement=True
    )
    with op.batch_alter_table('session', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_session_robot_id'), ['robot_id'], unique=False)

    op.create_table('annotation',
    sa.Column('kind', sa.String(), nullable=False),
    sa.Column('text', sa.String(), nullable=False),
    sa.Column('end_ns', sa.BigInteger(), nullable=False),
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('robot_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('session_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('stamp_ns', sa.BigInteger(), nullable=False),
    sa.Column('stamp_is_receipt', sa.Boolean(), nullable=False),
    sa.Column('extra', sa.JSON(), nullable=False),
    sa.Column('pending', sa.Boolean(), nullable=False),
    sa.ForeignKeyConstraint(['robot_id'], ['robot.id'], name=op.f('fk_annotation_robot_id')),
    sa.ForeignKeyConstraint(['session_id'], ['session.id'], name=op.f('fk_annotation_session_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_annotation')),
    sqlite_autoincrement=True
    )
    with op.batch_alter_table('annotation', schema=None) as batch_op:
        batch_op.create_index('ix_annotation_pending', ['robot_id', 'stamp_ns'], unique=False, sqlite_where=sa.text('pending'), postgresql_where=sa.text('pending'))
        batch_op.create_index('ix_annotation_robot_stamp', ['robot_id', 'stamp_ns'], unique=False)
        batch_op.create_index(batch_op.f('ix_annotation_session_id'), ['session_id'], unique=False)

    op.create_table('embedding',
    sa.Column('document_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('model', sa.String(), nullable=False),
    sa.Column('vector', sa.LargeBinary(), nullable=False),
    sa.ForeignKeyConstraint(['document_id'], ['document.id'], name=op.f('fk_embedding_document_id'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('document_id', 'model', name=op.f('pk_embedding'))
    )
    op.create_table('image',
    sa.Column('camera', sa.String(), nullable=False),
    sa.Column('sha256', sa.String(), nullable=False),
    sa.Column('media_type', sa.String(), nullable=False),
    sa.Column('width', sa.BigInteger(), nullable=False),
    sa.Column('height', sa.BigInteger(), nullable=False),
    sa.Column('encoding', sa.String(), nullable=False),
    sa.Column('is_depth', sa.Boolean(), nullable=False),
    sa.Column('size_bytes', sa.BigInteger(), nullable=False),
    sa.Column('frame', sa.String(), nullable=False),
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('robot_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('session_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('stamp_ns', sa.BigInteger(), nullable=False),
    sa.Column('stamp_is_receipt', sa.Boolean(), nullable=False),
    sa.Column('extra', sa.JSON(), nullable=False),
    sa.Column('pending', sa.Boolean(), nullable=False),
    sa.ForeignKeyConstraint(['robot_id'], ['robot.id'], name=op.f('fk_image_robot_id')),
    sa.ForeignKeyConstraint(['session_id'], ['session.id'], name=op.f('fk_image_session_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_image')),
    sqlite_autoincrement=True
    )
    with op.batch_alter_table('image', schema=None) as batch_op:
        batch_op.create_index('ix_image_pending', ['robot_id', 'stamp_ns'], unique=False, sqlite_where=sa.text('pending'), postgresql_where=sa.text('pending'))
        batch_op.create_index('ix_image_robot_stamp', ['robot_id', 'stamp_ns'], unique=False)
        batch_op.create_index(batch_op.f('ix_image_session_id'), ['session_id'], unique=False)
        batch_op.create_index(batch_op.f('ix_image_sha256'), ['sha256'], unique=False)

    op.create_table('joint_sample',
    sa.Column('names', sa.JSON(), nullable=False),
    sa.Column('position', sa.JSON(), nullable=False),
    sa.Column('velocity', sa.JSON(), nullable=False),
    sa.Column('effort', sa.JSON(), nullable=False),
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('robot_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('session_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('stamp_ns', sa.BigInteger(), nullable=False),
    sa.Column('stamp_is_receipt', sa.Boolean(), nullable=False),
    sa.Column('extra', sa.JSON(), nullable=False),
    sa.Column('pending', sa.Boolean(), nullable=False),
    sa.ForeignKeyConstraint(['robot_id'], ['robot.id'], name=op.f('fk_joint_sample_robot_id')),
    sa.ForeignKeyConstraint(['session_id'], ['session.id'], name=op.f('fk_joint_sample_session_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_joint_sample')),
    sqlite_autoincrement=True
    )
    with op.batch_alter_table('joint_sample', schema=None) as batch_op:
        batch_op.create_index('ix_joint_sample_pending', ['robot_id', 'stamp_ns'], unique=False, sqlite_where=sa.text('pending'), postgresql_where=sa.text('pending'))
        batch_op.create_index('ix_joint_sample_robot_stamp', ['robot_id', 'stamp_ns'], unique=False)
        batch_op.create_index(batch_op.f('ix_joint_sample_session_id'), ['session_id'], unique=False)

    op.create_table('node_member',
    sa.Column('kind', sa.String(), nullable=False),
    sa.Column('ref_id', sa.BigInteger(), autoincrement=False, nullable=False),
    sa.Column('node_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.ForeignKeyConstraint(['node_id'], ['node.id'], name=op.f('fk_node_member_node_id'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('kind', 'ref_id', name=op.f('pk_node_member'))
    )
    with op.batch_alter_table('node_member', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_node_member_node_id'), ['node_id'], unique=False)

    op.create_table('observation',
    sa.Column('end_ns', sa.BigInteger(), nullable=False),
    sa.Column('name', sa.String(), nullable=False),
    sa.Column('instance', sa.String(), nullable=False),
    sa.Column('event', sa.String(), nullable=False),
    sa.Column('text', sa.String(), nullable=False),
    sa.Column('location', sa.String(), nullable=False),
    sa.Column('attributes', sa.JSON(), nullable=False),
    sa.Column('is_person', sa.Boolean(), nullable=False),
    sa.Column('clip_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=True),
    sa.Column('entity_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=True),
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('robot_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('session_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('stamp_ns', sa.BigInteger(), nullable=False),
    sa.Column('stamp_is_receipt', sa.Boolean(), nullable=False),
    sa.Column('extra', sa.JSON(), nullable=False),
    sa.Column('pending', sa.Boolean(), nullable=False),
    sa.ForeignKeyConstraint(['clip_id'], ['clip.id'], name=op.f('fk_observation_clip_id'), ondelete='SET NULL'),
    sa.ForeignKeyConstraint(['entity_id'], ['entity.id'], name=op.f('fk_observation_entity_id'), ondelete='SET NULL'),
    sa.ForeignKeyConstraint(['robot_id'], ['robot.id'], name=op.f('fk_observation_robot_id')),
    sa.ForeignKeyConstraint(['session_id'], ['session.id'], name=op.f('fk_observation_session_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_observation')),
    sqlite_autoincrement=True
    )
    with op.batch_alter_table('observation', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_observation_entity_id'), ['entity_id'], unique=False)
        batch_op.create_index('ix_observation_name', ['robot_id', 'name', 'stamp_ns'], unique=False)
        batch_op.create_index('ix_observation_pending', ['robot_id', 'stamp_ns'], unique=False, sqlite_where=sa.text('pending'), postgresql_where=sa.text('pending'))
        batch_op.create_index('ix_observation_robot_stamp', ['robot_id', 'stamp_ns'], unique=False)
        batch_op.create_index(batch_op.f('ix_observation_session_id'), ['session_id'], unique=False)

    op.create_table('pose',
    sa.Column('frame', sa.String(), nullable=False),
    sa.Column('position', sa.JSON(), nullable=False),
    sa.Column('orientation', sa.JSON(), nullable=True),
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('robot_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('session_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('stamp_ns', sa.BigInteger(), nullable=False),
    sa.Column('stamp_is_receipt', sa.Boolean(), nullable=False),
    sa.Column('extra', sa.JSON(), nullable=False),
    sa.Column('pending', sa.Boolean(), nullable=False),
    sa.ForeignKeyConstraint(['robot_id'], ['robot.id'], name=op.f('fk_pose_robot_id')),
    sa.ForeignKeyConstraint(['session_id'], ['session.id'], name=op.f('fk_pose_session_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_pose')),
    sqlite_autoincrement=True
    )
    with op.batch_alter_table('pose', schema=None) as batch_op:
        batch_op.create_index('ix_pose_pending', ['robot_id', 'stamp_ns'], unique=False, sqlite_where=sa.text('pending'), postgresql_where=sa.text('pending'))
        batch_op.create_index('ix_pose_robot_stamp', ['robot_id', 'stamp_ns'], unique=False)
        batch_op.create_index(batch_op.f('ix_pose_session_id'), ['session_id'], unique=False)

    op.create_table('skill_event',
    sa.Column('skill', sa.String(), nullable=False),
    sa.Column('status', sa.String(), nullable=False),
    sa.Column('goal_stack', sa.JSON(), nullable=False),
    sa.Column('parameters', sa.JSON(), nullable=False),
    sa.Column('trigger', sa.String(), nullable=False),
    sa.Column('narration', sa.String(), nullable=False),
    sa.Column('source_id', sa.String(), nullable=False),
    sa.Column('parent_source_id', sa.String(), nullable=False),
    sa.Column('end_ns', sa.BigInteger(), nullable=True),
    sa.Column('transitions', sa.JSON(), nullable=False),
    sa.Column('reports', sa.BigInteger(), nullable=False),
    sa.Column('last_report_ns', sa.BigInteger(), nullable=False),
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('robot_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('session_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('stamp_ns', sa.BigInteger(), nullable=False),
    sa.Column('stamp_is_receipt', sa.Boolean(), nullable=False),
    sa.Column('extra', sa.JSON(), nullable=False),
    sa.Column('pending', sa.Boolean(), nullable=False),
    sa.ForeignKeyConstraint(['robot_id'], ['robot.id'], name=op.f('fk_skill_event_robot_id')),
    sa.ForeignKeyConstraint(['session_id'], ['session.id'], name=op.f('fk_skill_event_session_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_skill_event')),
    sqlite_autoincrement=True
    )
    with op.batch_alter_table('skill_event', schema=None) as batch_op:
        batch_op.create_index('ix_skill_event_pending', ['robot_id', 'stamp_ns'], unique=False, sqlite_where=sa.text('pending'), postgresql_where=sa.text('pending'))
        batch_op.create_index('ix_skill_event_robot_stamp', ['robot_id', 'stamp_ns'], unique=False)
        batch_op.create_index(batch_op.f('ix_skill_event_session_id'), ['session_id'], unique=False)
        batch_op.create_index('ix_skill_event_skill', ['robot_id', 'skill', 'stamp_ns'], unique=False)
        batch_op.create_index('ix_skill_event_source', ['robot_id', 'source_id'], unique=False)

    op.create_table('utterance',
    sa.Column('speaker', sa.String(), nullable=False),
    sa.Column('text', sa.String(), nullable=False),
    sa.Column('is_own', sa.Boolean(), nullable=False),
    sa.Column('confidence', sa.Double(), nullable=True),
    sa.Column('end_ns', sa.BigInteger(), nullable=True),
    sa.Column('language', sa.String(), nullable=False),
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('robot_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('session_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('stamp_ns', sa.BigInteger(), nullable=False),
    sa.Column('stamp_is_receipt', sa.Boolean(), nullable=False),
    sa.Column('extra', sa.JSON(), nullable=False),
    sa.Column('pending', sa.Boolean(), nullable=False),
    sa.ForeignKeyConstraint(['robot_id'], ['robot.id'], name=op.f('fk_utterance_robot_id')),
    sa.ForeignKeyConstraint(['session_id'], ['session.id'], name=op.f('fk_utterance_session_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_utterance')),
    sqlite_autoincrement=True
    )
    with op.batch_alter_table('utterance', schema=None) as batch_op:
        batch_op.create_index('ix_utterance_pending', ['robot_id', 'stamp_ns'], unique=False, sqlite_where=sa.text('pending'), postgresql_where=sa.text('pending'))
        batch_op.create_index('ix_utterance_robot_stamp', ['robot_id', 'stamp_ns'], unique=False)
        batch_op.create_index(batch_op.f('ix_utterance_session_id'), ['session_id'], unique=False)

    op.create_table('observation_image',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('observation_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('image_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('bbox', sa.JSON(), nullable=True),
    sa.Column('is_crop', sa.Boolean(), nullable=False),
    sa.ForeignKeyConstraint(['image_id'], ['image.id'], name=op.f('fk_observation_image_image_id'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['observation_id'], ['observation.id'], name=op.f('fk_observation_image_observation_id'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_observation_image')),
    sqlite_autoincrement=True
    )
    with op.batch_alter_table('observation_image', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_observation_image_observation_id'), ['observation_id'], unique=False)

    op.create_table('scene',
    sa.Column('camera', sa.String(), nullable=False),
    sa.Column('image_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=True),
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('robot_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('session_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('stamp_ns', sa.BigInteger(), nullable=False),
    sa.Column('stamp_is_receipt', sa.Boolean(), nullable=False),
    sa.Column('extra', sa.JSON(), nullable=False),
    sa.Column('pending', sa.Boolean(), nullable=False),
    sa.ForeignKeyConstraint(['image_id'], ['image.id'], name=op.f('fk_scene_image_id'), ondelete='SET NULL'),
    sa.ForeignKeyConstraint(['robot_id'], ['robot.id'], name=op.f('fk_scene_robot_id')),
    sa.ForeignKeyConstraint(['session_id'], ['session.id'], name=op.f('fk_scene_session_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_scene')),
    sqlite_autoincrement=True
    )
    with op.batch_alter_table('scene', schema=None) as batch_op:
        batch_op.create_index('ix_scene_pending', ['robot_id', 'stamp_ns'], unique=False, sqlite_where=sa.text('pending'), postgresql_where=sa.text('pending'))
        batch_op.create_index('ix_scene_robot_stamp', ['robot_id', 'stamp_ns'], unique=False)
        batch_op.create_index(batch_op.f('ix_scene_session_id'), ['session_id'], unique=False)

    op.create_table('separation',
    sa.Column('first_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('second_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('shared_frames', sa.BigInteger(), nullable=False),
    sa.ForeignKeyConstraint(['first_id'], ['observation.id'], name=op.f('fk_separation_first_id'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['second_id'], ['observation.id'], name=op.f('fk_separation_second_id'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('first_id', 'second_id', name=op.f('pk_separation'))
    )
    op.create_table('verdict',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('first_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('second_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('verdict', sa.String(), nullable=False),
    sa.Column('author', sa.String(), nullable=False),
    sa.Column('stamp_ns', sa.BigInteger(), nullable=False),
    sa.ForeignKeyConstraint(['first_id'], ['observation.id'], name=op.f('fk_verdict_first_id'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['second_id'], ['observation.id'], name=op.f('fk_verdict_second_id'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_verdict')),
    sa.UniqueConstraint('first_id', 'second_id', name=op.f('uq_verdict_first_id_second_id')),
    sqlite_autoincrement=True
    )
    op.create_table('scene_object',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('scene_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('robot_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('stamp_ns', sa.BigInteger(), nullable=False),
    sa.Column('name', sa.String(), nullable=False),
    sa.Column('instance', sa.String(), nullable=False),
    sa.Column('bbox', sa.JSON(), nullable=True),
    sa.Column('position', sa.JSON(), nullable=True),
    sa.Column('frame', sa.String(), nullable=False),
    sa.Column('confidence', sa.Double(), nullable=True),
    sa.Column('state', sa.String(), nullable=False),
    sa.ForeignKeyConstraint(['robot_id'], ['robot.id'], name=op.f('fk_scene_object_robot_id')),
    sa.ForeignKeyConstraint(['scene_id'], ['scene.id'], name=op.f('fk_scene_object_scene_id'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_scene_object')),
    sqlite_autoincrement=True
    )
    with op.batch_alter_table('scene_object', schema=None) as batch_op:
        batch_op.create_index('ix_scene_object_name', ['robot_id', 'name', 'stamp_ns'], unique=False)
        batch_op.create_index(batch_op.f('ix_scene_object_scene_id'), ['scene_id'], unique=False)

    op.create_table('scene_relation',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('scene_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('subject', sa.String(), nullable=False),
    sa.Column('predicate', sa.String(), nullable=False),
    sa.Column('object', sa.String(), nullable=False),
    sa.ForeignKeyConstraint(['scene_id'], ['scene.id'], name=op.f('fk_scene_relation_scene_id'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_scene_relation')),
    sqlite_autoincrement=True
    )
    with op.batch_alter_table('scene_relation', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_scene_relation_scene_id'), ['scene_id'], unique=False)

    if op.get_bind().dialect.name == 'sqlite':
        _index_text()
