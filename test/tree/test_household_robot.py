"""The tree of a real humanoid's log of two days, where it lies beside the checkout."""

from datetime import date
from pathlib import Path

from life_parts import SETTINGS, below_days, check_whole, open_memory
import pytest

from emv_ros.ingest.importing import import_path
from emv_ros.memory.queries import Window
from emv_ros.memory.writer import BatchWriter
from emv_ros.timeline import format_stamp, local_date, parse_zone
from emv_ros.tree.consolidate import consolidate
from emv_ros.tree.render import render_tree
from emv_ros.tree.view import TreeView

LOG = Path(__file__).resolve().parents[3] / 'shared' / 'data' / 'armar7_june.jsonl'
ZONE = parse_zone('Europe/Berlin')

pytestmark = pytest.mark.skipif(not LOG.exists(), reason='the log is not beside the checkout')


@pytest.fixture(scope='module')
def memory(tmp_path_factory):
    with open_memory(tmp_path_factory.mktemp('memory'), 'armar7', 'Europe/Berlin') as store:
        writer = BatchWriter(store)
        import_path(LOG, writer, robot='armar7', zone='Europe/Berlin')
        writer.close()
        consolidate(store, SETTINGS)
        yield store


def lines_of(memory, day):
    view = TreeView(memory, Window(), ZONE)
    tops = [node for node in view.days() if local_date(node.start_ns, ZONE) == day]
    return render_tree(view, tops=tops, width=2000).splitlines()


def test_the_tree_is_whole_and_has_both_days(memory):
    check_whole(memory)
    days = TreeView(memory, Window(), ZONE).days()
    assert [(day.name, format_stamp(day.start_ns, ZONE), format_stamp(day.end_ns, ZONE))
            for day in days] == [
        ('day 2024-06-26', '2024-06-26 18:38:20', '2024-06-26 20:23:41'),
        ('day 2024-06-27', '2024-06-27 13:03:18', '2024-06-27 15:34:23')]


def test_goals_nest_as_the_log_says_in_local_time(memory):
    lines = [line.strip().partition(' ')[2] for line in lines_of(memory, date(2024, 6, 26))]
    at = lines.index('L3 18:41:59 ✓ HomePose succeeded: MoveJointsToNamedConfiguration (Home)')
    assert lines[at + 1:at + 3] == [
        'L3 18:41:59 ✓ MoveJointsToNamedConfiguration (Home) succeeded: MoveJointsToPosition',
        'L2 18:41:59 ✓ MoveJointsToPosition succeeded']
    indents = [len(line) - len(line.lstrip())
               for line in lines_of(memory, date(2024, 6, 26))[at:at + 3]]
    assert indents == [indents[0], indents[0] + 2, indents[0] + 4]


def test_the_three_failures_to_receive_an_object(memory):
    failed = [row for row in below_days(memory)
              if row[3] == 'ReceiveObjectFromHuman' and row[4] == 'failed']
    assert [format_stamp(row[1], ZONE)[:16] for row in failed] == [
        '2024-06-26 19:58', '2024-06-26 20:07', '2024-06-26 20:22']
    assert 'LookAtHumanFace ×11' in failed[0][5] and 'CloseHand (aborted)' in failed[0][5]


def test_what_was_seen_and_said_is_in_the_texts(memory):
    lines = '\n'.join(lines_of(memory, date(2024, 6, 27)))
    assert 'saw soy-milk' in lines and 'saw apple-tea' in lines
    assert 'robot said "Hello!"' in lines
    assert 'GraspNamedObjectWithinReach (milk) failed after 8.7 s' in lines
