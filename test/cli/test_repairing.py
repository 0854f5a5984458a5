"""`emv doctor --repair` on the command line: what it says, what it keeps, how it ends."""

from contextlib import closing
from pathlib import Path
import sqlite3


def file_of(folder: Path) -> Path:
    return folder / 'memory' / 'memory.db'


def repair(emv, *words):
    return emv('doctor', '--no-topics', '--repair', *words)


def test_a_whole_memory(filled, tmp_path):
    done = repair(filled)
    assert 'nothing had to be mended' in done.out
    assert done.status == 0, done.out
    assert not list((tmp_path / 'memory').glob('*before-repair*'))


def test_a_file_that_was_cut_short(filled, tmp_path):
    file = file_of(tmp_path)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute('VACUUM')
    with file.open('r+b') as stream:
        stream.truncate(file.stat().st_size - 5000)
    refused = filled('events')
    assert refused.status == 1 and 'emv doctor --repair' in refused.err
    assert filled('doctor', '--no-topics').status == 1
    done = repair(filled)
    assert done.status == 0, done.out
    assert 'the file was cut short by 2 pages' in done.out
    assert f'copy   {file}.before-repair-1' in done.out
    assert filled('events').status == 0


def test_for_programs(filled, tmp_path):
    with closing(sqlite3.connect(file_of(tmp_path))) as connection, connection:
        connection.execute('DELETE FROM session')
    done = repair(filled, '--json')
    assert done.status == 0
    assert set(done.json) == {'repair', 'findings'}
    assert set(done.json['repair']) == {'copy', 'mended', 'lost', 'notes', 'lost_rows'}
    assert done.json['repair']['mended'] == ['1 session rows made again']
    assert {item['name'] for item in done.json['findings']} >= {'database', 'schema', 'pictures'}


def test_where_there_is_none(emv, tmp_path):
    done = repair(emv)
    assert done.status == 1 and 'no memory' in done.err
    assert not (tmp_path / 'memory').exists()
