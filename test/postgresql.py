"""A real PostgreSQL server for the tests: on loopback, in a folder of its own, gone at the end.

It is started when the first test asks for it. PostgreSQL refuses to run as root, so that root
starts it as another user. Where its programs are absent the tests are skipped, unless
EMV_TEST_POSTGRESQL=required says that they have to run. The first programs on the PATH are taken,
so that `PATH=/usr/lib/postgresql/13/bin:$PATH` tests another version, from 13 on.
"""

from __future__ import annotations

from contextlib import suppress
import ctypes
import fcntl
import os
from pathlib import Path
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from typing import IO, Any

PLACES = '/usr/lib/postgresql/*/bin', '/usr/pgsql-*/bin', '/opt/homebrew/opt/postgresql*/bin'
START_LIMIT_S = 60.0
PR_SET_PDEATHSIG = 1
FOLDER = 'emv-postgresql-'
LOCALE = ('--encoding=UTF8', '--locale=C.UTF-8')
# Orders words by a language's rules, unlike SQLite: no test may depend on the order of bytes.
BY_LANGUAGE = ('--locale-provider=icu', '--icu-locale=en-US')  # of servers from 15 on
# Nothing needs to outlast the machine, but what was committed outlasts a server that is killed.
OPTIONS = {
    'listen_addresses': '127.0.0.1', 'unix_socket_directories': '', 'fsync': 'off',
    'full_page_writes': 'off', 'shared_buffers': '64MB', 'max_connections': '100',
    'autovacuum': 'off', 'log_min_messages': 'fatal', 'jit': 'off'}


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, those of the newest version, or None."""
    found = shutil.which('initdb')
    if found:
        return Path(found).resolve().parent
    folders = [folder for place in PLACES for folder in Path('/').glob(place[1:])
               if (folder / 'initdb').exists()]
    return max(folders, key=lambda folder: (len(str(folder)), str(folder)), default=None)


def reason_against() -> str:
    """Return why no server can be started here, '' where it can."""
    if programs() is None:
        return 'PostgreSQL is not installed (Debian: apt install postgresql)'
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return 'psycopg is not installed (pip install emv_ros[postgresql])'
    return ''


def is_required() -> bool:
    return os.environ.get('EMV_TEST_POSTGRESQL') == 'required'


class Server:
    """A server with its data in a temporary folder; it can be stopped, killed and started again."""

    def __init__(self) -> None:
        folder = programs()
        assert folder is not None
        self.programs = folder
        remove_stale(Path(tempfile.gettempdir()))
        self.folder = Path(tempfile.mkdtemp(prefix=FOLDER))
        self._in_use = mark_in_use(self.folder)
        self.data = self.folder / 'data'
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._user = _user()
        if self._user:
            shutil.chown(self.folder, *self._user)
        try:
            locale = (*LOCALE, *BY_LANGUAGE) if self.version >= 15 else LOCALE
            self._run('initdb', '-D', self.data, '-U', 'emv', '-A', 'trust', '--no-sync', *locale)
            self.start()
        except BaseException:
            self.remove()
            raise

    @property
    def version(self) -> int:
        """The major version of the programs."""
        said = subprocess.run([self.programs / 'postgres', '--version'], capture_output=True,
                              text=True, check=True).stdout
        found = re.search(r'\d+', said)
        assert found, said
        return int(found[0])

    def url(self, database: str) -> str:
        return f'postgresql+psycopg://emv@127.0.0.1:{self.port}/{database}'

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = [part for name, value in OPTIONS.items() for part in ('-c', f'{name}={value}')]
        with (self.folder / 'log').open('ab') as log:
            self._process = subprocess.Popen(
                [self.programs / 'postgres', '-D', self.data, '-p', str(self.port), *options],
                stdout=log, stderr=log, cwd=self.folder, preexec_fn=_die_with_parent,
                **self._as_user())
        limit = time.monotonic() + START_LIMIT_S
        while not self.answers():
            told = (self.folder / 'log').read_text()
            assert self._process.poll() is None, f'PostgreSQL did not start: {told}'
            assert time.monotonic() < limit, f'PostgreSQL does not answer: {told}'
            time.sleep(0.02)

    def answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.url('postgres').replace('+psycopg', '')).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self, is_killed: bool = False) -> None:
        """Stop it, at once; killed it does not even write down what it holds in memory."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT if is_killed else signal.SIGINT)
            self._process.wait(60)
            self._process = None

    def remove(self) -> None:
        self.stop(is_killed=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        self._in_use.close()

    def run(self, statement: str, database: str = 'postgres') -> list[Any]:
        """Run a statement outside a transaction and return its rows."""
        import psycopg

        with psycopg.connect(self.url(database).replace('+psycopg', ''),
                             autocommit=True) as connection:
            found = connection.execute(statement.encode())
            return found.fetchall() if found.description else []

    def _run(self, program: str, *arguments: Any) -> None:
        done = subprocess.run([self.programs / program, *arguments], capture_output=True, text=True,
                              cwd=self.folder, timeout=120, **self._as_user())
        assert done.returncode == 0, done.stdout + done.stderr

    def _as_user(self) -> dict[str, Any]:
        if not self._user:
            return {}
        return {'user': self._user[0], 'group': self._user[1], 'extra_groups': []}


def mark_in_use(folder: Path) -> IO[str]:
    """Hold a lock in a folder for as long as the file is open, and the process lives."""
    file = (folder / 'lock.new').open('w')
    fcntl.flock(file, fcntl.LOCK_EX)
    (folder / 'lock.new').rename(folder / 'lock')
    return file


def remove_stale(place: Path) -> None:
    """Remove the folders of test runs that were killed: nobody holds their locks."""
    for folder in place.glob(f'{FOLDER}*'):
        with suppress(OSError), (folder / 'lock').open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)


def _user() -> tuple[int, int] | None:
    """Return the user and group to start it as, None for ourselves."""
    if os.geteuid() != 0:
        return None
    for name in ('postgres', 'nobody'):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return found.pw_uid, found.pw_gid
    raise AssertionError('root may not run PostgreSQL, and there is no user to run it as')


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return int(probe.getsockname()[1])


_LIBC = ctypes.CDLL(None)


def _die_with_parent() -> None:
    """A test run that is killed leaves no server behind."""
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)
