"""One consolidator at a time: real processes that hold the lease, die, fall silent, are reborn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
import subprocess
import sys
import time

from life_parts import SETTINGS, Scripted, open_memory, say
import pytest
from sqlalchemy import select

from emv_ros.errors import StoreBusyError
from emv_ros.memory import schema
from emv_ros.tree.consolidate import consolidate
from emv_ros.tree.lease import KEY, LENGTH_S, HeldStore, Lease, Seat, holding

pytestmark = pytest.mark.both_databases

HOLDER = """
import sys
from pathlib import Path
from life_parts import open_memory
from emv_ros.tree.lease import holding

with open_memory(Path(sys.argv[1])) as store, holding(store) as lease:
    print(lease.holder, flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_process(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield a process that holds the lease until its input ends, and the holder's name."""
    process = subprocess.Popen(
        [sys.executable, '-c', HOLDER, str(folder)], cwd=Path(__file__).parent, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def held_by(store, seat, expires_in_s=100.0, holder='robot7/1/x'):
    store.set_state(KEY, {
        'holder': holder, 'expires_s': time.time() + expires_in_s, 'system': seat.system,
        'pid': seat.pid, 'born': seat.born})


def test_the_second_of_two_processes_is_refused_by_name(store):
    with another_process(store.folder) as (process, holder):
        host, pid, _ = holder.split('/')
        assert int(pid) == process.pid
        with pytest.raises(StoreBusyError, match=f'process {pid} on {host}'):
            consolidate(store, SETTINGS)
        process.communicate('')  # it ends by itself, and gives the lease back
    assert store.state(KEY) is None
    consolidate(store, SETTINGS)


def test_a_killed_holder_is_followed_at_once_even_before_its_parent_knows(store):
    with another_process(store.folder) as (process, _):
        process.kill()
        # Not yet waited for: it is a zombie, which still has its pid.
        limit = time.monotonic() + 10
        while ') Z ' not in Path(f'/proc/{process.pid}/stat').read_text():
            assert time.monotonic() < limit
        store.add(say(0, 'hello'))
        assert consolidate(store, SETTINGS).events == 1


def test_a_holder_elsewhere_is_followed_when_its_lease_has_run_out(store):
    elsewhere = replace(Seat.own(), system='another boot/pid:[4026531836]')
    held_by(store, elsewhere)
    with pytest.raises(StoreBusyError, match='process 1 on robot7'):
        consolidate(store, SETTINGS)
    held_by(store, elsewhere, expires_in_s=-1.0)
    consolidate(store, SETTINGS)
    # A lease for longer than any is given: the clock was set back since.
    held_by(store, elsewhere, expires_in_s=3 * LENGTH_S)
    consolidate(store, SETTINGS)


def test_a_pid_says_nothing_of_another_container_or_boot(store):
    """The pid is free here; whoever has it there may well be alive."""
    unused = 2 ** 22 + 1  # above the largest pid
    held_by(store, replace(Seat.own(), pid=unused, system='other'))
    with pytest.raises(StoreBusyError):
        consolidate(store, SETTINGS)
    held_by(store, replace(Seat.own(), pid=unused))
    consolidate(store, SETTINGS)


def test_a_pid_that_another_process_has_now_is_no_holder(store):
    held_by(store, Seat.own())
    with pytest.raises(StoreBusyError):
        consolidate(store, SETTINGS)
    held_by(store, replace(Seat.own(), born='12'))
    consolidate(store, SETTINGS)


def test_a_lease_of_an_earlier_version_runs_out(store):
    store.set_state(KEY, {'holder': 'robot7/1/x', 'expires_s': time.time() + 100})
    with pytest.raises(StoreBusyError):
        consolidate(store, SETTINGS)
    store.set_state(KEY, {'holder': 'robot7/1/x', 'expires_s': time.time() - 1})
    consolidate(store, SETTINGS)


def nodes(store):
    with store.reading() as session:
        return sorted((row.id, row.level, row.summary, row.made_by)
                      for row in session.scalars(select(schema.NodeRow)))


def test_who_lost_the_lease_during_a_call_writes_nothing_more(store):
    """The other took over while the model took its time; its tree stays as it made it."""
    before = []

    def slow(messages):
        held_by(store, Seat.own(), holder='robot7/99/y')
        before.extend(nodes(store))
        return 'All about "w0".'
    store.add_many([say(n * 10, f'w{n}') for n in range(3)])
    with pytest.raises(StoreBusyError, match=r'took over .*process 99 on robot7'):
        consolidate(store, SETTINGS, model=Scripted(slow))
    assert nodes(store) == before != []
    assert store.state(KEY)['holder'] == 'robot7/99/y'  # not given back in its name


def test_every_write_of_the_holder_sees_the_lease_and_no_other_write_does(store):
    with holding(store) as lease:
        held = HeldStore(store, lease)
        held.set_state('a', {'b': 1})
        held_by(store, Seat.own(), holder='robot7/99/y')
        for write in (lambda: held.add(say(0, 'hello')), lambda: held.set_state('a', {'b': 2}),
                      lambda: held.node_writer().__enter__()):
            with pytest.raises(StoreBusyError, match='process 99 on robot7'):
                write()
        assert held.state('a') == {'b': 1}
        store.add(say(0, 'hello'))


def test_the_holder_keeps_its_lease_without_a_write_each_time(store, monkeypatch):
    lease = Lease(store)
    lease.renew()
    first = store.state(KEY)
    lease.renew()
    assert store.state(KEY) == first
    now = time.monotonic()
    monkeypatch.setattr(time, 'monotonic', lambda: now + 31)
    lease.renew()
    assert store.state(KEY)['expires_s'] > first['expires_s']


def test_two_memories_have_two_leases(store, tmp_path):
    with open_memory(tmp_path / 'other') as other, holding(other):
        consolidate(store, SETTINGS)
