"""The schema has one version; older files come along, newer and foreign ones are refused."""

from contextlib import closing
import gzip
from pathlib import Path
import sqlite3

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from memory_parts import at, report, said
import pytest
from sqlalchemy import select

from emv_ros.errors import PictureGoneError, SchemaError
from emv_ros.memory import queries, schema
from emv_ros.memory.columns import Base
from emv_ros.memory.database import DATABASE_FILE, open_engine, sqlite_url
from emv_ros.memory.migrate import MIGRATIONS, SCHEMA_VERSION
from emv_ros.memory.store import MemoryStore

# Made by data/make_memory_0001.py with that version.
OLD_FILE = Path(__file__).parent / 'data' / 'memory_0001.db.gz'


def open_in(folder: Path) -> MemoryStore:
    return MemoryStore(folder, sqlite_url(folder), 'robot')


def version_of(folder: Path) -> str:
    with closing(sqlite3.connect(folder / DATABASE_FILE)) as connection:
        return str(connection.execute('SELECT version_num FROM alembic_version').fetchone()[0])


def made_by_migrations(folder: Path, revision: str) -> None:
    config = Config()
    config.set_main_option('script_location', str(MIGRATIONS))
    engine = open_engine(sqlite_url(folder), 5.0)
    with engine.begin() as connection:
        config.attributes['connection'] = connection
        command.upgrade(config, revision)
    engine.dispose()


def test_the_version_is_that_of_the_newest_migration() -> None:
    config = Config()
    config.set_main_option('script_location', str(MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_heads() == [SCHEMA_VERSION]


def test_migrations_make_what_the_models_say(tmp_path: Path) -> None:
    made_by_migrations(tmp_path, 'head')
    engine = open_engine(sqlite_url(tmp_path), 5.0)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={
            'compare_type': True,
            'include_name': lambda name, kind, _: not (
                kind == 'table' and str(name).startswith('document_text'))})
        # SQLAlchemy cannot read what becomes of a link that a column was added with, see below.
        assert [change for change in compare_metadata(context, Base.metadata)
                if change[0] not in ('remove_fk', 'add_fk')] == []
        for name, table in Base.metadata.tables.items():
            made = connection.exec_driver_sql(f'PRAGMA foreign_key_list({name})').mappings()
            assert {(row['from'], row['table'], row['to'], row['on_delete']) for row in made} == {
                (link.parent.name, link.column.table.name, link.column.name,
                 link.ondelete or 'NO ACTION') for link in table.foreign_keys}, name
    engine.dispose()


def test_every_counted_id_is_never_used_again(tmp_path: Path) -> None:
    with open_in(tmp_path), closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as connection:
        made = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))
    for name, table in Base.metadata.tables.items():
        if 'id' in table.columns:
            assert 'AUTOINCREMENT' in made[name], name


def test_a_file_of_the_first_version_comes_along(tmp_path: Path) -> None:
    (tmp_path / DATABASE_FILE).write_bytes(gzip.decompress(OLD_FILE.read_bytes()))
    assert version_of(tmp_path) == '0001'
    with open_in(tmp_path) as memory:
        assert version_of(tmp_path) == SCHEMA_VERSION
        event, = queries.skill_events(memory)
        assert (event.id, event.skill, event.status) == (5, 'Grasp', 'running')
        assert [item.text for item in queries.utterances(memory)] == ['bring the cup']
        node, = queries.nodes(memory)
        assert (node.summary, node.cost) == ('a cup was asked for', 0.0)
        with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as connection:
            indices = {name for name, in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'index'")}
        assert {'ix_entity_name', 'ix_observation_instance', 'ix_node_top'} <= indices
        with memory.reading() as session:  # tables that the first version did not have
            assert [session.scalars(select(table)).all() for table in (
                schema.ConsolidationRow, schema.ModelReplyRow)] == [[], []]
        memory.add_many([report(9, 'succeeded', session_id=1), said(9, 'thanks')])
        event, = queries.skill_events(memory)
        assert (event.id, event.end_ns) == (5, at(9))
        with memory.reading() as session:
            assert session.connection().exec_driver_sql(
                'SELECT rowid FROM document_text WHERE document_text MATCH ? ORDER BY rowid',
                ('cup OR succeeded OR thanks',)).scalars().all() == [1, 2, 3, 4]


@pytest.mark.parametrize('version', ['0099', '9999', 'b1946ac92492'])
def test_a_newer_version_is_refused_by_name(tmp_path: Path, version: str) -> None:
    open_in(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as connection:
        connection.execute('UPDATE alembic_version SET version_num = ?', (version,))
        connection.commit()
    with pytest.raises(SchemaError, match=f'schema {version}, made by a newer emv_ros') as caught:
        open_in(tmp_path)
    assert str(tmp_path / DATABASE_FILE) in str(caught.value)
    assert version_of(tmp_path) == version


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as connection:
        connection.execute('CREATE TABLE bookmarks (url)')
    with pytest.raises(SchemaError, match='bookmarks'):
        open_in(tmp_path)


def test_a_copy_without_a_write_ahead_log_gets_one(tmp_path: Path) -> None:
    with open_in(tmp_path) as memory:
        memory.add(said(0, 'a'))
    with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as connection:
        connection.execute('PRAGMA journal_mode = DELETE')
    with open_in(tmp_path) as memory, closing(
            sqlite3.connect(tmp_path / DATABASE_FILE)) as connection:
        assert connection.execute('PRAGMA journal_mode').fetchone() == ('wal',)
        assert memory.counts()['utterance'] == 1


def test_what_was_observed_before_looks_were_kept_comes_along(tmp_path: Path) -> None:
    made_by_migrations(tmp_path, '0007')
    with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as connection, connection:
        connection.execute("INSERT INTO robot (id, name) VALUES (1, 'robot')")
        connection.execute("INSERT INTO session (id, robot_id, start_ns, clock_source, zone, "
                           "source) VALUES (1, 1, 0, 'wall', 'UTC', '')")
        connection.execute("INSERT INTO entity (id, robot_id, name, is_person, attributes) "
                           "VALUES (3, 1, 'mug', 0, '{}')")
        for key in (7, 8):
            connection.execute(
                'INSERT INTO observation (id, robot_id, session_id, stamp_ns, stamp_is_receipt, '
                'extra, pending, end_ns, name, instance, event, text, location, attributes, '
                f"is_person, entity_id) VALUES ({key}, 1, 1, {key}, 0, '{{}}', 1, 9, 'mug', 'm1', "
                "'', '', '', '{}', 0, 3)")
        connection.execute('INSERT INTO verdict (id, first_id, second_id, verdict, author, '
                           "stamp_ns) VALUES (1, 7, 8, 'same', 'me', 5)")
    with open_in(tmp_path) as memory:
        first, second = queries.observations(memory)
        assert (first.id, first.entity_id, first.made_by, first.model) == (7, 3, 'source', '')
        assert (first.confidence, first.first_bbox, second.last_bbox) == (None, None, None)
        with memory.writing() as session:
            assert session.get(schema.VerdictRow, 1).reason == ''
            assert session.get(schema.EntityRow, 3).merged_into is None
            session.add(schema.AppearanceRow(observation_id=7, model='m', vector=b'\0\0\0\0'))
            session.add(schema.NamingRow(observation_id=7, name='my mug', author='me', stamp_ns=9))
        with memory.writing() as session:  # what belongs to an observation goes with it
            session.delete(session.get(schema.ObservationRow, 7))
        with memory.reading() as session:
            assert [session.scalars(select(table)).all() for table in (
                schema.AppearanceRow, schema.NamingRow, schema.VerdictRow)] == [[], [], []]


def test_pictures_of_before_their_loss_was_told_come_along(tmp_path: Path) -> None:
    made_by_migrations(tmp_path, '0008')
    with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as connection, connection:
        connection.execute("INSERT INTO robot (id, name) VALUES (1, 'robot')")
        connection.execute("INSERT INTO session (id, robot_id, start_ns, clock_source, zone, "
                           "source) VALUES (1, 1, 0, 'wall', 'UTC', '')")
        connection.execute(
            'INSERT INTO image (id, robot_id, session_id, stamp_ns, stamp_is_receipt, extra, '
            'pending, camera, sha256, media_type, width, height, encoding, is_depth, size_bytes, '
            "frame) VALUES (9, 1, 1, 5, 0, '{}', 0, 'head', 'aa', 'image/jpeg', 4, 3, '', 0, 7, "
            "'')")
    with open_in(tmp_path) as memory:
        assert version_of(tmp_path) == SCHEMA_VERSION
        image, = queries.images(memory)
        assert (image.id, image.gone, queries.images(memory, is_kept=False)) == (9, '', [])
        with memory.writing() as session:
            session.get_one(schema.ImageRow, 9).gone = 'retention'
        assert queries.images(memory, is_kept=True) == []
        with pytest.raises(PictureGoneError, match='^the picture i9 was dropped by retention$'):
            memory.picture(9)
