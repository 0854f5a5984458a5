"""The demonstration as a user runs it: nodes, topics, tree, model, service and speech, answers."""

import json
import os
from pathlib import Path
import re
import subprocess
import sys

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('emv_ros.msg')

from emv_ros.agent.evidence import items_of
from emv_ros.agent.models import weights
from emv_ros.demo.replay import read_questions
from emv_ros.memory.queries import skill_events
from emv_ros.memory.schema import QueryRow
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import MemorySettings
from emv_ros.timeline import parse_stamp

EXPECTED = json.loads(Path(__file__).with_name('expected.json').read_text())
LIMIT_S = 600  # what a user is promised after the set-up


def run_demo(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, '-m', 'emv_ros.cli', '--memory', str(folder), 'demo', *arguments],
        capture_output=True, text=True, timeout=LIMIT_S, check=False,
        env={**os.environ, 'ROS_DOMAIN_ID': '87'})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def asked(folder: Path) -> list[QueryRow]:
    with MemoryStore.open(MemorySettings(folder=str(folder))) as store, store.reading() as session:
        return list(session.query(QueryRow).order_by(QueryRow.id))


@pytest.mark.ros
@pytest.mark.model
@pytest.mark.timeout(LIMIT_S + 60)
@pytest.mark.skipif(weights.find(weights.folder()) is None, reason='no weights here')
def test_five_questions_are_answered_from_what_was_replayed(tmp_path: Path) -> None:
    shown = run_demo(tmp_path, '--replay-s', '20')

    queries = asked(tmp_path)
    assert [query.status for query in queries] == [item['status'] for item in EXPECTED]
    with MemoryStore.open(MemorySettings(folder=str(tmp_path))) as store:
        for query, expected in zip(queries, EXPECTED, strict=True):
            for words in expected['says']:
                assert any(word in query.answer.lower() for word in words), query.answer
            items = items_of(store, query.evidence)
            assert len(items) == len(query.evidence)
            for start, end in expected['evidence']:
                first, last = parse_stamp(start)[0], parse_stamp(end)[0]
                assert any(item.start_ns <= last and item.end_ns >= first for item in items)
            assert not expected['evidence'] or any(
                Path(item.image_path).is_file() for item in items if item.image_path)
        assert len(skill_events(store, status=['failed'])) == 2
    for question in read_questions():
        assert question.text in shown
    assert len(re.findall(r'^ +status +\w+, \d+ rounds, \d+ \+ \d+ tokens, [\d.]+ s', shown,
                          re.MULTILINE)) == 5


@pytest.mark.ros
@pytest.mark.timeout(LIMIT_S + 60)
def test_without_a_model_the_best_evidence_comes_back(tmp_path: Path) -> None:
    shown = run_demo(tmp_path, '--replay-s', '20', '--no-model')

    # Both mugs have a life, each of which says that it is not the other.
    assert 'Things called red mug, by their looks: 2' in shown
    assert len(re.findall(r'^ +e\d+ red mug: .*; not the same as e\d+ \(seen apart\)$', shown,
                          re.MULTILINE)) == 2
    queries = asked(tmp_path)
    assert {query.status for query in queries} == {'RETRIEVED_ONLY'}
    assert len(queries) == 5
    assert all(query.evidence for query in queries)
