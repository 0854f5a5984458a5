"""Writes memory_0001.db.gz beside it, a small memory of the first schema, as that version made it.

Any later version refuses: it would write its own schema.
"""

import gzip
from pathlib import Path
import sqlite3
import sys
import tempfile

from emv_ros.memory.database import sqlite_url
from emv_ros.memory.migrate import SCHEMA_VERSION
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Node, SkillReport, Status, Utterance
from emv_ros.timeline import SECOND_NS

NOON_NS = 1_709_294_400 * SECOND_NS


def main() -> int:
    """Write the file; 1 where this is another version."""
    if SCHEMA_VERSION != '0001':
        sys.stderr.write(f'this emv_ros has schema {SCHEMA_VERSION}, not 0001\n')
        return 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with MemoryStore(folder, sqlite_url(folder), 'robot') as memory:
            memory.begin_session(start_ns=NOON_NS, clock_source='sim', zone='Europe/Berlin')
            memory.add(Utterance(stamp_ns=NOON_NS, speaker='user', text='bring the cup'))
            with memory.writing() as session:  # four earlier runs were forgotten
                session.connection().exec_driver_sql(
                    "INSERT INTO sqlite_sequence VALUES ('skill_event', 4)")
            memory.add(SkillReport(stamp_ns=NOON_NS + SECOND_NS, skill='Grasp',
                                   status=Status.RUNNING, parameters={'object': 'cup'}))
            with memory.node_writer() as writer:
                writer.add(Node(robot='robot', level=2, start_ns=NOON_NS,
                                end_ns=NOON_NS + SECOND_NS, summary='a cup was asked for'),
                           members=[('utterance', 1), ('skill_event', 5)])
        connection = sqlite3.connect(folder / 'memory.db')
        for statement in ('PRAGMA journal_mode = DELETE', 'PRAGMA page_size = 512', 'VACUUM'):
            connection.execute(statement)
        connection.close()
        file = Path(__file__).with_name('memory_0001.db.gz')
        file.write_bytes(gzip.compress((folder / 'memory.db').read_bytes(), mtime=0))
    return 0


if __name__ == '__main__':
    sys.exit(main())
