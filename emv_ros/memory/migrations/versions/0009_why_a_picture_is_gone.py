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
# Numbers that PostgreSQL takes for signs and SQLite for letters (½, ², ①): each becomes a letter
# that no text holds, a hieroglyph.
NUMBERS = ''.join(chr(code) for first, last in (
    (0xb2, 0xb3), (0xb9, 0xb9), (0xbc, 0xbe), (0x2070, 0x2070), (0x2074, 0x2079),
    (0x2080, 0x2089), (0x2150, 0x215f), (0x2189, 0x2189), (0x2460, 0x249b), (0x24ea, 0x24ff),
    (0x2776, 0x2793)) for code in range(first, last + 1))
LETTERS = ''.join(chr(0x13000 + number) for number in range(len(NUMBERS)))
TEXT_INDEX = (
    'CREATE TEXT SEARCH DICTIONARY emv_porter (TEMPLATE = snowball, LANGUAGE = porter)',
    'CREATE TEXT SEARCH CONFIGURATION emv_words (PARSER = default)',
    """ALTER TEXT SEARCH CONFIGURATION emv_words ADD MAPPING FOR asciiword, word, numword, int,
        uint, float, sfloat, version WITH emv_porter""",
    f"""CREATE FUNCTION emv_plain(said text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT lower(regexp_replace(regexp_replace(normalize(
            translate(said, '{NUMBERS}', '{LETTERS}'), NFD), '{ACCENTS}', '', 'g'),
            '{BETWEEN}', ' ', 'g'))
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
