"""A consolidation whose process is killed goes on where it was, and pays for nothing twice."""

from collections import Counter
import os
from pathlib import Path
import signal

from life_parts import DAY_S, SETTINGS, Scripted, at, listed, open_memory, say, span
import pytest
from sqlalchemy import event
from whole import below_days, calendar, check_whole

from emv_ros.tree import stretch
from emv_ros.tree.consolidate import consolidate

pytestmark = pytest.mark.both_databases

NOW_NS = at(9 * DAY_S)


def records():
    return [record for day in (0, 1, 7) for hour in range(3) for record in (
        say(day * DAY_S + hour * 3600, f'word{day}x{hour}'),
        *span('Fetch', day * DAY_S + hour * 3600 + 5, day * DAY_S + hour * 3600 + 60),
        *(say(day * DAY_S + hour * 3600 + 100 + n, f'thanks{n}') for n in range(3)))]


def run_and_be_killed(folder, countdown, name, asked):
    """Consolidate in a process that kills itself at the n-th commit or statement."""
    pid = os.fork()
    if pid:
        _, status = os.waitpid(pid, 0)
        return os.WIFSIGNALED(status)
    try:
        left = [countdown]

        def kill(*_):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        with open_memory(folder) as store:
            event.listen(store._engine, name, kill)
            consolidate(store, SETTINGS, model=noting(asked), now_ns=NOW_NS)
    finally:
        os._exit(0)


def noting(asked: Path):
    """Return a model that notes each prompt in a file before it replies."""
    def reply(messages):
        with asked.open('a') as file:
            file.write(' / '.join(listed(messages)) + '\n')
        words = listed(messages)[0].replace('"', ' ').replace('.', ' ').split()
        return f'The robot spoke of {words[-1]}.'
    return Scripted(reply)


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs fork')
@pytest.mark.parametrize('name, steps', [
    ('commit', (3, 5, 9, 14)), ('before_cursor_execute', (40, 90, 170, 333))])
def test_killed_again_and_again_it_ends_as_if_it_had_not_been(
        tmp_path, monkeypatch, name, steps):
    check_kills(tmp_path, monkeypatch, name, steps)


@pytest.mark.sqlite_only  # the two above do for a server
@pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs fork')
@pytest.mark.parametrize('name, steps', [
    ('commit', (1, 2, 4, 7, 11, 30)), ('before_cursor_execute', (15, 250, 700))])
def test_killed_at_other_moments(tmp_path, monkeypatch, name, steps):
    check_kills(tmp_path, monkeypatch, name, steps)


def check_kills(tmp_path, monkeypatch, name, steps):
    monkeypatch.setattr(stretch, 'CHUNK', 12)
    with open_memory(tmp_path / 'once') as once:
        once.add_many(records())
        consolidate(once, SETTINGS, model=noting(tmp_path / 'once.txt'), now_ns=NOW_NS)
        expected = below_days(once), calendar(once)
    folder, asked = tmp_path / 'killed', tmp_path / 'asked.txt'
    with open_memory(folder) as store:
        store.add_many(records())
    killed = 0
    for countdown in steps:
        killed += run_and_be_killed(folder, countdown, name, asked)
        with open_memory(folder) as store:
            check_whole(store)
    assert killed >= 2
    with open_memory(folder) as store:
        consolidate(store, SETTINGS, model=noting(asked), now_ns=NOW_NS)
        check_whole(store, SETTINGS)
        assert (below_days(store), calendar(store)) == expected
    counts = Counter(asked.read_text().splitlines())
    # A reply that came in the very moment of a kill, before it was kept, is asked for again.
    assert sum(counts.values()) - len(counts) <= killed
    assert set(counts) == set((tmp_path / 'once.txt').read_text().splitlines())
