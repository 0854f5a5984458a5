"""A power cut at a random moment: what was not brought to the disk by a sync may be lost.

An ingest of the real parts is traced once (`system_calls`). For each cut, the calls up to a random
one are played back onto a copy of what was there before. What was written to a file since its last
sync is then kept, dropped or torn, each piece of 512 bytes by chance and in any order; names that
were made, changed or removed since the last sync of their folder are there or not by chance, in the
order in which they were made, as file systems keep them. What the process said before the cut was
acknowledged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from pathlib import Path
from random import Random
import shutil

from emv_ros.evaluation.faults.checks import numbers_in
from emv_ros.evaluation.faults.outcome import Outcome, judge
from emv_ros.evaluation.faults.prepared import DONE, WAITING, Prepared
from emv_ros.evaluation.faults.process import Worker
from emv_ros.evaluation.faults.system_calls import Call, calls_of, tracer

SECTOR = 512
# Records that are acknowledged before a traced ingest is ended.
TRACED = 400
# SQLite's index of its log is memory that processes share: it is made anew after a boot.
NOT_ON_DISK = '-shm'
SYNCED = -1


@dataclass
class _File:
    """A file: its bytes on disk, and what was done to it since its last sync."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)  # None: cut to there
    size: int = 0

    def sync(self) -> None:
        for at, data in self.pending:
            _apply(self.durable, at, data)
        self.pending = []


def _apply(content: bytearray, at: int, data: bytes | None) -> None:
    if data is None:
        if len(content) > at:
            del content[at:]
        content.extend(bytes(at - len(content)))
        return
    content.extend(bytes(max(0, at + len(data) - len(content))))
    content[at:at + len(data)] = data


class Disk:
    """Files below a folder as a disk holds them, for the calls that are played onto it."""

    def __init__(self, before: Path | None) -> None:
        """Begin with a folder, all of which is on disk."""
        self.files: dict[int, _File] = {}
        self.names: dict[str, int] = {}
        self.durable_names: dict[str, int] = {}
        self._changes: list[tuple[str, int | None]] = []  # names since, None where one was removed
        self._numbers = count()
        for path in sorted(before.rglob('*')) if before else ():
            if path.is_file() and not path.name.endswith(NOT_ON_DISK):
                data = bytearray(path.read_bytes())
                number = self._new(_File(data, size=len(data)))
                self.names[str(path.relative_to(before or path))] = number
        self.durable_names = dict(self.names)

    def _new(self, file: _File) -> int:
        number = next(self._numbers)
        self.files[number] = file
        return number

    def play(self, call: Call) -> None:
        """Do what a call did."""
        if call.path.endswith(NOT_ON_DISK) or call.kind in ('said', 'mkdir'):
            return
        if call.kind == 'sync':
            self._sync(call.path)
        elif call.kind == 'rename':
            if call.path in self.names:
                self._name(call.other, self.names[call.path])
                self._name(call.path, None)
        elif call.kind == 'unlink':
            self._name(call.path, None)
        elif call.kind == 'create':
            if call.path not in self.names:
                self._name(call.path, self._new(_File()))
        else:
            self._change(call)

    def _change(self, call: Call) -> None:
        if call.path not in self.names:  # opened before it was traced, and removed since
            return
        file = self.files[self.names[call.path]]
        if call.kind == 'truncate':
            file.pending.append((call.at, None))
            file.size = call.at
        else:
            at = file.size if call.at < 0 else call.at
            file.pending.append((at, call.data))
            file.size = max(file.size, at + len(call.data))

    def _sync(self, path: str) -> None:
        if path in self.names:
            self.files[self.names[path]].sync()
            return
        prefix = f'{path}/' if path else ''  # a folder: the names right in it
        kept = []
        for name, number in self._changes:
            if name.startswith(prefix) and '/' not in name[len(prefix):]:
                _set(self.durable_names, name, number)
            else:
                kept.append((name, number))
        self._changes = kept

    def _name(self, name: str, number: int | None) -> None:
        _set(self.names, name, number)
        self._changes.append((name, number))

    def cut(self, folder: Path, chance: Random) -> None:
        """Write what a cut leaves into a new folder."""
        names = dict(self.durable_names)
        for name, number in self._changes[:chance.randint(0, len(self._changes))]:
            _set(names, name, number)
        folder.mkdir(parents=True)
        for name, number in names.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_left(self.files[number], chance))


def _set(names: dict[str, int], name: str, number: int | None) -> None:
    if number is None:
        names.pop(name, None)
    else:
        names[name] = number


def _left(file: _File, chance: Random) -> bytes:
    """Return the bytes of a file after a cut: pieces of what was not synced, in any order."""
    content = bytearray(file.durable)
    share = chance.choice((0.0, 0.5, 0.9, 1.0))
    for at, data in file.pending:
        if data is None:
            if chance.random() < share:
                _apply(content, at, None)
            continue
        for start in range(0, len(data), SECTOR):
            if chance.random() < share:
                _apply(content, at + start, data[start:start + SECTOR])
    return bytes(content)


@dataclass
class Trace:
    """The calls of one ingest, and the memory that it began with."""

    calls: Sequence[Call]
    before: Path


def trace(prepared: Prepared) -> Trace | None:
    """Trace an ingest that goes on a filled memory; None where `strace` is not there."""
    with prepared.copy(prepared.filled) as folder:
        before = prepared.root / 'before_cuts'
        shutil.copytree(folder, before)
        log = folder.with_name('calls.log')
        words = tracer(log)
        if words is None:
            return None
        worker = Worker('ingest', folder, range(DONE + WAITING, DONE + WAITING + TRACED), words)
        worker.end()
        if len(worker.numbers) < TRACED:
            return None  # it may not be traced here
        return Trace(list(calls_of(log, folder)), before)


@lru_cache(1)
def _traced(root: Path) -> Trace | None:
    """Trace the ingest of a bench once."""
    return trace(Prepared(root))


def cut(prepared: Prepared, chance: Random) -> Outcome | None:
    """Cut the power of an ingest at a random moment; None where none can be traced."""
    traced = _traced(prepared.root)
    return None if traced is None else cut_at_random(prepared, chance, traced)


def cut_at_random(prepared: Prepared, chance: Random, traced: Trace) -> Outcome:
    """Cut the power of the traced ingest at a random moment, and judge what is left."""
    places = [number for number, call in enumerate(traced.calls) if call.kind != 'said']
    upto = chance.choice(places)
    disk = Disk(traced.before)
    said = b''
    for call in traced.calls[:upto]:
        disk.play(call)
        said += call.data if call.kind == 'said' else b''
    told = {int(word) for line in said.decode().splitlines() if line[:1].isdigit()
            for word in line.split()}
    with prepared.copy(None) as folder:
        disk.cut(folder, chance)
        return judge(folder, told | numbers_in(traced.before))
