"""The bench of summaries over a small memory, with a model that the test scripts."""

from pathlib import Path
import sys

import pytest
from sqlalchemy import func, select

from emv_ros.evaluation.summaries import SummaryBench, copy_without_tree, shares
from emv_ros.memory import schema
from emv_ros.memory.database import sqlite_url
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import TreeSettings
from emv_ros.tree.account import Account
from emv_ros.tree.checks import Fault
from emv_ros.tree.consolidate import consolidate

sys.path.insert(0, str(Path(__file__).parents[1] / 'tree'))
from life_parts import Scripted, is_plain, listed, open_memory, say  # noqa: E402

SETTINGS = TreeSettings()


@pytest.fixture
def memory(tmp_path):
    with open_memory(tmp_path / 'memory') as store:
        store.add_many([*(say(n * 10, f'w{n}') for n in range(10)), say(2000, 'w10'),
                        say(2010, 'w11')])
        consolidate(store, SETTINGS)
        yield store


def bench(memory, tmp_path, replies, **more):
    folder = tmp_path / 'copy'
    folder.mkdir()
    copy_without_tree(memory, folder)
    with MemoryStore(folder, sqlite_url(folder), memory.robot) as copy:
        model = Scripted(replies)
        return SummaryBench(copy, memory.robot, None, TreeSettings(**more), model).run()


def told(messages):
    return f'All about {listed(messages)[0].split()[-1]}' if is_plain(messages) else 'no'


def test_a_copy_has_all_records_waiting_and_no_tree(memory, tmp_path):
    copy_without_tree(memory, tmp_path)
    with MemoryStore(tmp_path, sqlite_url(tmp_path), memory.robot) as copy, \
            copy.reading() as session:
        assert session.scalar(select(func.count()).select_from(schema.NodeRow)) == 0
        assert session.scalar(select(func.count()).select_from(schema.UtteranceRow).where(
            schema.UtteranceRow.pending)) == 12
    with memory.reading() as session:
        assert session.scalar(select(func.count()).select_from(schema.NodeRow)) > 12


def test_true_texts_count_as_served_at_the_first_try(memory, tmp_path):
    results = bench(memory, tmp_path, told)
    assert results['summaries'] == {
        'asked': 4, 'first_try': 4, 'after_asking_again': 0, 'fallback': 0, 'first_try_share': 1.0,
        'after_asking_again_share': 0.0, 'fallback_share': 0.0, 'refused': {}}
    assert (results['calls'], results['prompt_tokens'], results['completion_tokens']) == (4, 40, 20)
    assert results['left'] == {}
    assert [text.level for text in results['texts']] == [4, 4, 4, 8]
    assert results['texts'][0].summary == 'All about "w0"'


def test_what_was_refused_is_counted_by_kind(memory, tmp_path):
    def inventive(messages):
        good = told(messages)
        return good if len(messages) > 4 else f'{good} with a banana'
    results = bench(memory, tmp_path, inventive)
    counts = results['summaries']
    assert (counts['first_try'], counts['after_asking_again'], counts['fallback']) == (0, 4, 0)
    assert counts['refused'] == {'object': 4}


def test_texts_that_never_pass_are_fallbacks(memory, tmp_path):
    results = bench(memory, tmp_path, lambda messages: 'A banana.')
    assert results['summaries']['fallback'] == 4
    assert results['texts'] == []


def test_lists_are_counted_apart(memory, tmp_path):
    results = bench(memory, tmp_path, told, model_groups=True)
    assert results['lists']['fallback'] == 1
    assert results['lists']['refused'] == {'form': 2}
    assert results['summaries']['first_try'] > 0


def test_shares_of_nothing_are_not_told():
    account = Account()
    account.refuse([Fault('name', 'a'), Fault('name', 'b'), Fault('object', 'c')])
    assert shares(account) == {'asked': 0, 'first_try': 0, 'after_asking_again': 0, 'fallback': 0,
                               'refused': {'name': 1, 'object': 1}}
