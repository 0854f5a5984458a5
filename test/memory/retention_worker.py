"""Runs retention over a memory until it is done or killed: `python retention_worker.py FOLDER`."""

from pathlib import Path
import sys

from databases import database_url
from memory_parts import at

from emv_ros.memory.retention import retain
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import Settings, with_values

if __name__ == '__main__':
    folder = Path(sys.argv[1])
    with MemoryStore(folder, database_url(folder), 'robot') as memory:
        retain(memory, with_values(Settings(), {
            'memory.max_share': 1.0, 'retention.picture_days': 1, 'retention.motion_days': 1}),
            now_ns=at(30 * 86_400), time_limit_s=1e9, fresh_s=0.0)
