"""The bench over a short life: what it reports adds up. How long it took is never asserted."""

from __future__ import annotations

import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from emv_ros.cli import main
from emv_ros.evaluation.consolidation import SERIES
from emv_ros.evaluation.from_scratch import nights_to_measure

DAYS = 6


@pytest.fixture(scope='module')
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place = tmp_path_factory.mktemp('bench')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('EMV_CACHE', str(place / 'cache'))  # no weights: tokens are estimated
        assert main(['bench', 'consolidate', '--days', str(DAYS), '--work', str(place), '--out',
                     str(place / 'out.json')]) == 0
    assert [path.name for path in place.iterdir()] == ['out.json']
    found: dict[str, Any] = json.loads((place / 'out.json').read_text('utf-8'))
    return found


def test_each_day_is_told_and_the_sums_are_theirs(results):
    days = results['days']
    assert [cost['day'] for cost in days] == list(range(1, DAYS + 1))
    for name, total in results['total'].items():
        assert total == pytest.approx(sum(cost[name] for cost in days))
    assert results['model'] == 'extractive (bench only)'
    assert results['tokens_by'].startswith('estimate')
    life = results['life']
    assert life['episodes'] == 5 * DAYS
    assert life['l0_records'] == sum(life['records'][kind] for kind in (
        'image', 'joint_sample', 'pose', 'utterance', 'skill_event'))
    assert 1500 * DAYS < life['l0_records'] < 2500 * DAYS
    assert all(cost['calls'] and cost['rows'] and cost['commits'] for cost in days)
    assert all(cost['prompt_tokens'] == cost['counted_tokens'] for cost in days)


def test_no_prompt_is_over_the_budget(results):
    assert results['prompt_budget_tokens'] < results['context_tokens'] == 8192
    assert results['prompts_over_budget'] == 0
    assert results['longest_prompt'] == max(cost['longest_prompt'] for cost in results['days'])
    assert 0 < results['longest_prompt'] <= results['prompt_budget_tokens']


def test_what_must_be_flat_has_a_verdict(results):
    assert set(results['flat']) == set(SERIES)
    for name, found in results['flat'].items():
        values = [cost[name] for cost in results['days']]
        assert (found['first'], found['last']) == (values[0], values[-1])
        assert found['mean'] == pytest.approx(sum(values) / DAYS)
        assert isinstance(found['is_flat'], bool)


def test_starting_over_is_measured_at_the_first_and_the_last_night(results):
    for rival in results['from_scratch'].values():
        first, last = rival['nights']
        assert (first['day'], last['day'], rival['is_integrated']) == (1, DAYS, True)
        assert last['prompt_tokens'] > first['prompt_tokens'] > 0
        # The nights between lie on a line.
        assert rival['total']['prompt_tokens'] == pytest.approx(
            DAYS * (first['prompt_tokens'] + last['prompt_tokens']) / 2)
        grown = results['total']['prompt_tokens']
        assert rival['ratio_of_totals']['prompt_tokens'] == pytest.approx(
            rival['total']['prompt_tokens'] / grown)
    anew = results['from_scratch']['our_tree_anew']
    # In the first night both do the same.
    assert anew['nights'][0]['prompt_tokens'] == results['days'][0]['prompt_tokens']
    papers = results['from_scratch']['papers_way']['nights'][-1]
    assert papers['calls'] < anew['nights'][-1]['calls']
    assert papers['longest_prompt'] > anew['nights'][-1]['longest_prompt']


def test_the_tree_is_whole(results):
    tree = results['tree']
    assert (tree['roots'], tree['one_path'], tree['records_waiting']) == (1, 1.0, 0)
    assert tree['nodes'] == sum(tree['nodes_by_level'].values())
    assert tree['depth'] >= 4
    assert tree['nodes_by_level']['8'] == DAYS
    assert tree['longest_text'] <= 600


def test_the_table_for_a_person(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv('EMV_CACHE', str(tmp_path))
    assert main(['bench', 'consolidate', '--days', '1', '--no-rebuild', '--work',
                 str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert 'A life of 1 days' in told and 'exactly one path' in told
    assert 'each night' not in told


@pytest.mark.parametrize(('words', 'status', 'told'), [
    (['--days', '0'], 2, 'not positive'),
    (['--out', '/nowhere/at/all.json'], 2, 'cannot be written: /nowhere/at/all.json: No such'),
    (['--out', '/'], 2, 'cannot be written: /: Is a directory'),
    (['--model', 'embedded'], 1, 'emv model pull'),
    (['--work', '/nowhere'], 1, '/nowhere'),
    (['--days', '10000000'], 1, 'of disk'),
])
def test_what_cannot_be_done_is_refused_at_once(words, status, told, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv('EMV_CACHE', str(tmp_path))
    assert main(['bench', 'consolidate', *words]) == status
    assert told in capsys.readouterr().err


def test_the_bench_must_be_named(capsys):
    assert main(['bench']) == 2
    assert main(['bench', 'dance']) == 2
    assert "invalid choice: 'dance'" in capsys.readouterr().err


def test_an_interrupted_run_leaves_nothing_behind(tmp_path: Path):
    running = subprocess.Popen(
        [sys.executable, '-m', 'emv_ros.cli', 'bench', 'consolidate', '--work', str(tmp_path),
         '--no-rebuild'],
        env={**os.environ, 'EMV_CACHE': str(tmp_path)}, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while not list(tmp_path.glob('emv-bench-*/lived/memory.db')) and time.monotonic() < until:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    assert running.wait(60) == 130
    assert not list(tmp_path.iterdir())


def test_nights_to_measure():
    assert nights_to_measure(25, 10) == [1, 10, 20, 25]
    assert nights_to_measure(1, 10) == [1]
    assert nights_to_measure(3, 1) == [1, 2, 3]
