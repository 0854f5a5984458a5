"""Why the file of a picture is not there, where it is not; on PostgreSQL a full-text index."""

from alembic import op
import sqlalchemy as sa

revision = '0009'
down_revision = '0008'
branch_labels = None
depends_on = None

IS_GONE = sa.text("gone <> ''")

# As SQLite's index: words of letters and digits, without case and accents, by Porter's stems. What
# stands between words becomes a space, or PostgreSQL would take 'a/b' for a path.
ACCENTS = r'[\u0300-\u036f]+'
BETWEEN = (r'[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8'
           r'\u00bb\u00bf\u00d7\u00f7\u2000-\u206f\u20a0-\u20cf\u2190-\u245f\u2500-\u2bff'
           r'\u3000-\u3004\u3008-\u3020]+')
TEXT_INDEX = (
    'CREATE TEXT SEARCH DICTIONARY emv_porter (TEMPLATE = snowball, LANGUAGE = porter)',
    'CREATE TEXT SEARCH CONFIGURATION emv_words (PARSER = default)',
    """ALTER TEXT SEARCH CONFIGURATION emv_words ADD MAPPING FOR asciiword, word, numword, int,
        uint, float, sfloat, version WITH emv_porter""",
    f"""CREATE FUNCTION emv_plain(said text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT lower(regexp_replace(
            regexp_replace(normalize(said, NFD), '{ACCENTS}', '', 'g'), '{BETWEEN}', ' ', 'g'))
        $$""",
    """ALTER TABLE document ADD COLUMN words tsvector
        GENERATED ALWAYS AS (to_tsvector('emv_words', emv_plain(text))) STORED""",
    'CREATE INDEX ix_document_words ON document USING gin (words) WITH (fastupdate = off)')


def upgrade() -> None:
    """Add the reason, '' for all pictures so far: `emv doctor` finds those that are missing."""
    op.add_column('image', sa.Column('gone', sa.String(), nullable=False, server_default=''))
    # Few rows, which are counted at each opening of a page that tells of them.
    op.create_index('ix_image_gone', 'image', ['gone'],
                    sqlite_where=IS_GONE, postgresql_where=IS_GONE)
    if op.get_bind().dialect.name == 'postgresql':
        for statement in TEXT_INDEX:
            op.execute(statement)
