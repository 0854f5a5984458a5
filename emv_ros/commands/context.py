"""What every verb needs: the settings, the memory, the robot's zone, the window asked for.

This is the border to the outside: here, and nowhere in the core, the wall clock is read for "now".
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
import signal
import threading
import time
from typing import TYPE_CHECKING

from emv_ros.errors import NotFoundError, SettingsError, StoreError
from emv_ros.settings import Settings, load, walk, with_values

if TYPE_CHECKING:
    from emv_ros.memory.queries import Window
    from emv_ros.memory.store import MemoryStore

WORDS_OF_TRUTH = {'true': True, 'yes': True, 'on': True, '1': True,
                  'false': False, 'no': False, 'off': False, '0': False}


class UsageError(ValueError):
    """Arguments that do not fit together; the exit status is 2."""


@dataclass(frozen=True)
class Context:
    """The common options of a call. `robot` is '' where none was named."""

    settings: Settings
    as_json: bool = False
    is_verbose: bool = False
    robot: str = ''

    @property
    def robots(self) -> tuple[str, ...]:
        """The named robot, or none for all."""
        return (self.robot,) if self.robot else ()

    def open(self) -> MemoryStore:
        """Open the memory that is there. Raises StoreError where there is none, and makes none."""
        folder, file = self.settings.folder, self.database_file
        try:
            is_file = folder.exists() and not folder.is_dir()
            is_there = file is None or file.exists()
        except OSError as error:
            raise StoreError(f'{folder} cannot be looked at: {error.strerror}') from error
        if is_file:
            raise StoreError(f'{folder} is a file; a memory is a folder')
        if not is_there:
            raise StoreError(f'there is no memory in {folder}: `emv import` or `emv run` makes '
                             'one, and --memory names another folder')
        store = self.open_or_make()
        if self.robot and self.robot not in store.robots():
            known = ', '.join(store.robots()) or 'none'
            store.close()
            raise NotFoundError(f'this memory knows no robot {self.robot!r}; it knows: {known}')
        return store

    def open_or_make(self) -> MemoryStore:
        """Open the memory, made where there is none yet."""
        from emv_ros.memory.store import MemoryStore

        return MemoryStore.open(self.settings.memory, self.settings.folder.absolute())

    def check_own(self, store: MemoryStore, kind: str, ref_ids: Iterable[int]) -> None:
        """Raise NotFoundError for a record that is of another robot than the named one, if any."""
        from emv_ros.memory.details import details
        from emv_ros.records import ID_LETTERS

        for ref_id in ref_ids if self.robot else ():
            robot = details(store, kind, ref_id).robot
            if robot not in ('', self.robot):
                raise NotFoundError(f'{ID_LETTERS[kind]}{ref_id} is of another robot: {robot}')

    @property
    def database_file(self) -> Path | None:
        """Where the SQLite database lies or would lie; None for a database on a server."""
        from sqlalchemy.engine import make_url
        from sqlalchemy.exc import ArgumentError

        from emv_ros.memory.database import DATABASE_FILE

        if not self.settings.memory.url:
            return self.settings.folder / DATABASE_FILE
        try:
            url = make_url(self.settings.memory.url)
        except (ArgumentError, ValueError):  # their message may hold a password
            raise SettingsError('memory.url is no database URL') from None
        is_file = url.get_backend_name() == 'sqlite' and url.database not in (None, '', ':memory:')
        return Path(str(url.database)) if is_file else None

    def zone(self, store: MemoryStore) -> tzinfo:
        """Return the zone in which times are shown and read: the setting's, else the robot's."""
        from emv_ros.timeline import parse_zone

        return parse_zone(self.settings.memory.time_zone or store.zone_of(self.robots))

    def now_ns(self) -> int:
        """Return the wall clock's time."""
        return time.time_ns()

    def window(self, store: MemoryStore, args: argparse.Namespace) -> Window:
        """Return the window that --day, --start and --end ask for.

        Raises TimeExpressionError for words that mean no time, UsageError for an early end.
        """
        from emv_ros.memory.queries import Window
        from emv_ros.whens import parse_until, parse_when

        zone, now_ns = self.zone(store), self.now_ns()
        if args.day is not None:
            if args.start is not None or args.end is not None:
                raise UsageError('--day does not go together with --start and --end')
            day = parse_when(args.day, now_ns, zone)
            return Window(robots=self.robots, start_ns=day.start_ns, end_ns=day.end_ns)
        start_ns = None if args.start is None else parse_when(args.start, now_ns, zone).start_ns
        end_ns = None if args.end is None else parse_until(args.end, now_ns, zone)
        if start_ns is not None and end_ns is not None and end_ns < start_ns:
            raise UsageError(f'the end {args.end!r} lies before the start {args.start!r}')
        return Window(robots=self.robots, start_ns=start_ns, end_ns=end_ns)


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Yield an event that the first Ctrl-C sets; a second one interrupts as usual.

    What watches the event ends in order and keeps what it did. Raises KeyboardInterrupt at the end
    where the event was set.
    """
    event = threading.Event()
    before = signal.getsignal(signal.SIGINT)

    def handle(_number: int, _frame: object) -> None:
        event.set()
        signal.signal(signal.SIGINT, before)

    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, handle)
    try:
        yield event
    finally:
        if before is signal.default_int_handler:
            signal.signal(signal.SIGINT, before)
    if event.is_set():
        raise KeyboardInterrupt


def add_window(parser: argparse.ArgumentParser) -> None:
    """Add --day, --start and --end, which Context.window reads."""
    parser.add_argument('--day', metavar='TIME',
                        help="a day or other stretch: 2024-06-27, yesterday, 'June 2024'")
    parser.add_argument('--start', metavar='TIME',
                        help="not before: 'YYYY-MM-DD[ HH:MM[:SS]]', RFC 3339, '2 hours ago', ...")
    parser.add_argument('--end', metavar='TIME',
                        help='not after; a day is meant to its end, a clock time to its start')


def positive(text: str) -> int:
    """Return a whole number from 1 for argparse."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f'{text} is not positive')
    return number


def settings_of(config: Path | None, changes: Sequence[str], memory: str, robot: str) -> Settings:
    """Return the settings of a file, changed by NAME=VALUE words, the folder and the robot.

    Raises SettingsError, which names the file or the setting.
    """
    settings = with_values(load(config), dict(map(_typed, changes)))
    given = {'memory.folder': memory, 'memory.robot': robot}
    return with_values(settings, {name: value for name, value in given.items() if value})


def _typed(change: str) -> tuple[str, object]:
    """Return the name and the value of 'agent.max_rounds=3', in the type of the setting."""
    name, equals, text = change.partition('=')
    name, text = name.strip(), text.strip()
    if not equals:
        raise SettingsError(f'--set takes NAME=VALUE, not {change!r}')
    item = dict(walk()).get(name)
    if item is None:
        raise SettingsError(f'there is no setting {name!r}')
    kind: type = type(item.default)
    try:
        return name, WORDS_OF_TRUTH[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError) as error:
        raise SettingsError(f'{name} must be of type {kind.__name__}, not {text!r}') from error
