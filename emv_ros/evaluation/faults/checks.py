"""What must be true of a memory after a fault, told by its files alone.

Written without the code that keeps it true: it reads the database with SQLite, and the picture
files by their names. Only that it opens is asked of the memory itself.
"""

from __future__ import annotations

from contextlib import closing
import hashlib
from pathlib import Path
import sqlite3

from emv_ros.errors import EmvError
from emv_ros.evaluation.faults.life import text_of
from emv_ros.evaluation.faults.workers import open_store
from emv_ros.memory.database import DATABASE_FILE
from emv_ros.settings import Settings
from emv_ros.tree.consolidate import consolidate

MEMBER_KINDS = ('skill_event', 'utterance', 'scene', 'annotation', 'observation')
DOCUMENTED = ('utterance', 'skill_event', 'annotation', 'observation', 'node')


def faults_of(folder: Path, is_tree_checked: bool = True) -> list[str]:
    """Return what is wrong with a memory: it must open, be whole, and consolidate to a tree."""
    try:
        with open_store(folder):
            pass
        wrong = _wrong_rows(folder)
        if not wrong and is_tree_checked:
            with open_store(folder) as store:
                consolidate(store, Settings())
            wrong = [*_wrong_rows(folder), *_wrong_tree(folder)]
    except EmvError as error:
        return [str(error)]
    except sqlite3.DatabaseError as error:
        return [f'SQLite: {error}']
    return wrong


def _wrong_rows(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / DATABASE_FILE)) as connection:
        run = connection.execute
        wrong = [str(row[0]) for row in run('PRAGMA integrity_check(3)') if row[0] != 'ok']
        wrong += [f'{row[0]} {row[1]} points to no {row[2]}'
                  for row in run('PRAGMA foreign_key_check').fetchmany(3)]
        try:
            run("INSERT INTO document_text(document_text, rank) VALUES ('integrity-check', 1)")
        except sqlite3.DatabaseError:
            wrong.append('the full-text index does not agree with the texts')
        for kind in DOCUMENTED:
            for told, query in (
                    ('texts without', f'SELECT count(*) FROM document WHERE kind = ? AND ref_id '
                                      f'NOT IN (SELECT id FROM {kind})'),
                    ('members without', f'SELECT count(*) FROM node_member WHERE kind = ? AND '
                                        f'ref_id NOT IN (SELECT id FROM {kind})')):
                if count := run(query, (kind,)).fetchone()[0]:
                    wrong.append(f'{count} {told} {kind}')
        if count := run("SELECT count(*) FROM utterance WHERE id NOT IN (SELECT ref_id FROM "
                        "document WHERE kind = 'utterance')").fetchone()[0]:
            wrong.append(f'{count} utterances without a text')
        images = run("SELECT id, sha256, gone FROM image WHERE gone NOT IN ('missing', 'damaged', "
                     "'retention', 'forgotten')").fetchall()
    files = {path.stem: path for path in (folder / 'pictures').glob('??/*')
             if not path.name.startswith('.')}
    for key, sha256, _ in images:
        path = files.get(sha256)
        if path is None or hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
            wrong.append(f'i{key} has no whole picture file and is not marked')
    return wrong


def _wrong_tree(folder: Path) -> list[str]:
    """Check that each record has one path to one root, through spans that hold it."""
    with closing(sqlite3.connect(folder / DATABASE_FILE)) as connection:
        run = connection.execute
        nodes = {row[0]: row[1:] for row in run(
            'SELECT id, parent_id, level, start_ns, end_ns, robot_id FROM node')}
        members: dict[tuple[str, int], int] = {}
        for kind, ref_id, node_id in run('SELECT kind, ref_id, node_id FROM node_member'):
            members[kind, ref_id] = node_id
        records = [(kind, *row) for kind in MEMBER_KINDS for row in run(
            f'SELECT id, stamp_ns, robot_id, pending FROM {kind}')]
    wrong = []
    roots = [row[4] for row in nodes.values() if row[0] is None]
    if len(roots) != len(set(roots)):
        wrong.append(f'{len(roots)} roots of {len(set(roots))} robots')
    for kind, ref_id, stamp_ns, robot_id, pending in records:
        node_id, steps = members.get((kind, ref_id)), 0
        if pending or node_id is None:
            wrong.append(f'{kind} {ref_id} has no node')
            continue
        while node_id is not None and steps < 50:
            parent, _, start_ns, end_ns, owner = nodes[node_id]
            if not start_ns <= stamp_ns <= end_ns or owner != robot_id:
                wrong.append(f'{kind} {ref_id} lies outside n{node_id} above it')
            node_id, steps = parent, steps + 1
        if steps >= 50:
            wrong.append(f'{kind} {ref_id} has no way to a root')
    parents = {row[0] for row in nodes.values()}
    wrong += [f'n{key} has nothing below it' for key, row in nodes.items()
              if row[1] >= 4 and key not in parents]
    return wrong[:10]


def numbers_in(folder: Path) -> set[int]:
    """Return the numbers of the records of the life that are stored, with what they must hold.

    A picture whose row says that its file is lost is none of them.
    """
    with closing(sqlite3.connect(folder / DATABASE_FILE)) as connection:
        run = connection.execute
        found = {int(number) for number, text in run(
            "SELECT json_extract(extra, '$.n'), text FROM utterance")
            if number is not None and text.strip() == text_of(int(number)).strip()}
        found |= {int(source.removeprefix('run')) for source, in run(
            "SELECT source_id FROM skill_event WHERE source_id LIKE 'run%'")}
        found |= {int(number) for number, in run(
            "SELECT json_extract(extra, '$.n') FROM image WHERE gone = ''") if number is not None}
    return found


def marked_in(folder: Path) -> set[int]:
    """Return the numbers of pictures whose rows say that their file is lost."""
    with closing(sqlite3.connect(folder / DATABASE_FILE)) as connection:
        return {int(number) for number, in connection.execute(
            "SELECT json_extract(extra, '$.n') FROM image WHERE gone IN ('missing', 'damaged')")
            if number is not None}


def ids_of(folder: Path) -> dict[int, tuple[str, int]]:
    """Return of each stored number the table and id of its row."""
    with closing(sqlite3.connect(folder / DATABASE_FILE)) as connection:
        run = connection.execute
        found = {int(number): (table, int(key)) for table in ('utterance', 'image')
                 for key, number in run(f"SELECT id, json_extract(extra, '$.n') FROM {table}")
                 if number is not None}
        found |= {int(source.removeprefix('run')): ('skill_event', int(key)) for key, source in run(
            "SELECT id, source_id FROM skill_event WHERE source_id LIKE 'run%'")}
    return found
