"""Evaluation of retrieval on a small life with known answers, without vectors."""

from __future__ import annotations

from datetime import UTC
import json
from pathlib import Path
import subprocess
import sys

import pytest

from emv_ros.cli import main
from emv_ros.errors import ImportFileError
from emv_ros.evaluation.proportions import wilson
from emv_ros.evaluation.questions import AskedQuestion, read_questions
from emv_ros.evaluation.retrieval import PLAIN, WayReport, evaluate_retrieval
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Observation
from emv_ros.settings import MemorySettings, RetrievalSettings
from emv_ros.timeline import SECOND_NS, Interval

ROOT = Path(__file__).resolve().parents[2]
# 2026-03-01 12:00:00 UTC
NOON_NS = 1_772_366_400 * SECOND_NS
WORDS_ONLY = RetrievalSettings(embedder='none')


def span(first_s: float, last_s: float) -> Interval:
    return Interval(NOON_NS + int(first_s * SECOND_NS), NOON_NS + int(last_s * SECOND_NS))


@pytest.mark.parametrize(('count', 'total', 'low', 'high'), [
    (8, 10, 0.490, 0.943), (0, 10, 0.0, 0.278), (10, 10, 0.722, 1.0), (0, 0, 0.0, 1.0)])
def test_intervals_of_shares(count: int, total: int, low: float, high: float) -> None:
    assert wilson(count, total) == pytest.approx((low, high), abs=5e-4)


def test_a_question_is_covered_where_all_its_windows_are_touched() -> None:
    report = WayReport('x')
    question = AskedQuestion('q', '', 'where?', (span(0, 5), span(100, 105)))
    report.add(question, [span(4, 6)], 10)
    report.add(question, [span(4, 6), span(105, 110)], 30)
    report.add(question, [span(50, 60)], 20)
    told = report.to_dict()
    assert (report.touched, report.covered, report.missed) == (2, 1, ['q', 'q'])
    assert (told['tokens'], told['touched_share'], told['covered_share']) == (20.0, 0.6667, 0.3333)


@pytest.mark.parametrize('text', ['', '?! "" *'])
def test_a_question_without_words_finds_nothing(tmp_path: Path, text: str) -> None:
    with MemoryStore.open(MemorySettings(robot='r'), tmp_path) as store:
        store.add(Observation(stamp_ns=NOON_NS, end_ns=NOON_NS, name='mug'))
        report, = evaluate_retrieval(store, [AskedQuestion('q', '', text, (span(0, 5),))],
                                     WORDS_ONLY, UTC, None, ways=[PLAIN])
    assert (report.questions, report.touched) == (1, 0)


def test_ways_of_searching_on_a_life_with_known_answers(tmp_path: Path) -> None:
    """Eight knives, 20 movements each: the movements of one are its evidence."""
    with MemoryStore.open(MemorySettings(robot='r1'), tmp_path) as store:
        store.add_many(
            Observation(stamp_ns=NOON_NS + (time * 100 + knife * 10) * SECOND_NS,
                        end_ns=NOON_NS + (time * 100 + knife * 10 + 4) * SECOND_NS,
                        name='knife', instance=f'k{knife}', event='moved')
            for time in range(20) for knife in range(8))
        asked = [AskedQuestion(
            'q1', '', 'How often did the knife seen at 2026-03-01 12:00:51 move?',
            tuple(span(time * 100 + 50, time * 100 + 54) for time in range(20)))]
        # Seen from before the knife moved a third time.
        early = [AskedQuestion('q2', '', asked[0].text, asked[0].evidence[:2],
                               NOON_NS + 200 * SECOND_NS)]
        ways = (PLAIN, 'full search', 'no same-entity edges', 'no times from the words')

        def covered(questions: list[AskedQuestion], units: int) -> list[int]:
            return [report.covered for report in evaluate_retrieval(
                store, questions, WORDS_ONLY, UTC, None, units, ways)]

        assert covered(asked, 4) == [0, 1, 0, 0]
        assert covered(early, 1) == [0, 1, 0, 0]


def test_questions_are_read_and_bad_lines_named(tmp_path: Path) -> None:
    file = tmp_path / 'x_qa.jsonl'
    line = {'id': 'a', 'kind': 'k', 'question': 'When?', 'query_time': '2026-03-01T12:00:00+00:00',
            'evidence': [['2026-03-01T13:00:00+01:00', '2026-03-01T12:00:05+00:00']]}
    file.write_text(json.dumps(line) + '\n\n', 'utf-8')
    assert read_questions(file) == [AskedQuestion('a', 'k', 'When?', (span(0, 5),), NOON_NS)]
    for bad in ('[]', '{}', 'x', '{"question": "a", "evidence": [["1", "2"]]}'):
        file.write_text(f'{json.dumps(line)}\n{bad}\n', 'utf-8')
        with pytest.raises(ImportFileError, match='line 2'):
            read_questions(file)
    with pytest.raises(ImportFileError, match='nowhere'):
        read_questions(tmp_path / 'nowhere.jsonl')


def test_the_command_makes_a_memory_and_one_table(tmp_path: Path) -> None:
    data, questions = tmp_path / 'day.jsonl', tmp_path / 'day_qa.jsonl'
    data.write_text(''.join(json.dumps({
        't': f'2026-03-01T12:0{at}:00+00:00', 't_end': f'2026-03-01T12:0{at}:09+00:00',
        'type': 'observation', 'name': name, 'event': 'moved'}) + '\n'
        for at, name in enumerate(('mug', 'fork', 'mug'))), 'utf-8')
    questions.write_text(json.dumps({'id': '1', 'question': 'Where is the fork?', 'evidence': [
        ['2026-03-01T12:01:00+00:00', '2026-03-01T12:01:09+00:00']]}), 'utf-8')
    command = [sys.executable, '-m', 'emv_ros.cli', '--set', 'retrieval.embedder=none', 'eval',
               'retrieval', '--data', str(data), '--qa', str(questions), '--json']
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120,
                          check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert {(row['data'], row['questions']) for row in rows} == {('day', 1)}
    assert {row['way']: row['covered'] for row in rows}['full search'] == 1
    short = subprocess.run([*command, '--data', str(data)], cwd=ROOT, capture_output=True,
                           text=True, timeout=60, check=False)
    assert short.returncode == 2
    assert '2 --data and 1 --qa' in short.stderr


def test_what_is_kept_is_whole_or_refused(tmp_path: Path,
                                          capsys: pytest.CaptureFixture[str]) -> None:
    data, questions, kept = (tmp_path / name for name in ('day.jsonl', 'day_qa.jsonl', 'kept'))
    data.write_text(json.dumps({'t': '2026-03-01T12:00:00+00:00', 'type': 'speech',
                                'speaker': 'Anna', 'text': 'a fork'}), 'utf-8')
    questions.write_text(json.dumps({'question': 'Who has a fork?', 'evidence': [
        ['2026-03-01T12:00:00+00:00', '2026-03-01T12:00:00+00:00']]}), 'utf-8')
    words = ['--set', 'retrieval.embedder=none', 'eval', 'retrieval', '--keep', str(kept), '--json']
    once = ['--data', str(data), '--qa', str(questions)]
    (kept / '.day.part').mkdir(parents=True)  # of a run that was broken off
    (kept / 'day').mkdir()
    (kept / 'day' / 'notes.txt').write_text('mine')
    assert main([*words, *once]) == 2
    assert 'holds something else' in capsys.readouterr().err
    assert (kept / 'day' / 'notes.txt').read_text() == 'mine'
    (kept / 'day' / 'notes.txt').unlink()
    for _ in range(2):  # made, then used
        assert main([*words, *once]) == 0
        assert {row['way']: row['covered'] for row in json.loads(
            capsys.readouterr().out)}['full search'] == 1
    assert not (kept / '.day.part').exists()
    assert main([*words, *once, *once]) == 2
    assert 'of one name' in capsys.readouterr().err
