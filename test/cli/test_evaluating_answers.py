"""`emv eval qa` and `emv eval report`, with a model that is a real server on loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import threading
from typing import Any

from fake_provider import Behaviour, Provider, provider
import pytest

Emv = Callable[..., Any]
QUESTIONS = [
    {'id': 'when', 'kind': 'when', 'question': 'When did you water the plants?',
     'answer': '2024-06-27 13:04', 'gold': {'kind': 'time', 'times': ['2024-06-27T13:04:00+02:00']},
     'evidence': [['2024-06-27T13:03:30+02:00', '2024-06-27T13:04:30+02:00']]},
    {'id': 'often', 'kind': 'count', 'question': 'How often did opening the fridge fail?',
     'answer': 'once', 'gold': {'kind': 'number', 'value': 1},
     'query_time': '2024-06-28T12:00:00+02:00',
     'evidence': [['2024-06-26T20:00:00+02:00', '2024-06-26T20:00:13+02:00']]},
    {'id': 'cat', 'kind': 'absent', 'question': 'When did you feed the cat?',
     'gold': {'kind': 'none'}, 'answer': 'That is not recorded.'},
    {'id': 'tell', 'kind': 'open', 'question': 'What did you tell about milk?',
     'answer': 'that there is soy milk'}]
REPLIES = {
    'water the plants': "rows = events(skill='WaterPlants')\nanswer(times(rows), evidence=rows)",
    'fridge fail': "rows = events(skill='OpenFridge')\nanswer('Twice.', evidence=rows)",
    'feed the cat': "rows = events(text='feed the cat')\nnot_recorded('no cat')",
    'milk': "rows = speech('milk')\nanswer('I can see a soy milk.', evidence=rows)"}


def reply(request: dict[str, Any]) -> str:
    """Answer by the question that stands last; a judge's question gets a class."""
    asked = request['messages'][-1]['content']
    if 'Right answer' in asked:
        return '{"class": "correct_tmi"}'
    return next(f'```python\n{code}\n```' for words, code in REPLIES.items()
                if words in asked.rpartition('Question:')[2])


@pytest.fixture
def model() -> Iterator[Provider]:
    with provider(Behaviour(text=reply)) as server:
        yield server


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / 'mine_qa.jsonl'
    path.write_text(''.join(json.dumps(line) + '\n' for line in QUESTIONS), 'utf-8')
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / 'out'


def settings(server: Provider) -> tuple[str, ...]:
    return ('--set', 'model.model=openai/fake', '--set', f'model.api_base={server.address}/v1')


def lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / 'results.jsonl').read_text('utf-8').splitlines()]


def test_questions_of_a_memory(filled: Emv, model: Provider, questions: Path, out: Path) -> None:
    done = filled(*settings(model), 'eval', '--qa', questions, '--out', out)
    assert done.status == 0, done.err
    when, often, cat, tell = lines(out)
    assert (when['category'], when['status'], when['judged_by']) == ('correct', 'ANSWERED', 'exact')
    assert [item['id'] for item in when['evidence']] == ['s3'] and when['evidence_covered'] is True
    assert when['retrieval'] == {'precision': 1.0, 'recall': 1.0, 'f1': 1.0}
    assert often['category'] == 'wrong' and often['evidence_hit'] is True
    assert (cat['status'], cat['category'], cat['query_id']) == ('NOT_RECORDED', 'correct', 'q3')
    assert (tell['category'], tell['judged_by']) == ('', '')
    assert (when['prompt_tokens'], when['completion_tokens'], when['rounds']) == (11, 3, 1)
    assert when['model'] == 'openai/fake' and when['way'] == 'ours' and when['set'] == 'mine_qa'
    row, = [line for line in done.out.splitlines() if 'ours' in line]
    assert '4 (1 not judged)' in row and '66.7 %' in row
    opened = filled('show', often['query_id'])
    for words in ('How often did opening the fridge fail?', 'Twice.',
                  "rows = events(skill='OpenFridge')", 'evidence'):
        assert words in opened.out
    assert '  s1 2024-06-26 20:00:00 OpenFridge failed' in opened.out.splitlines()
    assert 'reply' not in opened.out and 'state' not in opened.out
    assert filled('--json', 'show', often['query_id']).json['evidence'] == ['s1']
    report = json.loads((out / 'report.json').read_text())
    assert report['refusals'][0] | {'refused_rightly': 1.0, 'refused_wrongly': 0.0} == (
        report['refusals'][0])
    assert [row['query_id'] for row in report['failures']] == ['q2']
    markdown = (out / 'report.md').read_text()
    assert 'mine_qa q2' in markdown and '| ours | mine_qa | 4 (1 not judged) | 66.7 %' in markdown


def test_what_is_there_is_not_asked_again(filled: Emv, model: Provider, questions: Path,
                                          out: Path) -> None:
    words = (*settings(model), 'eval', 'qa', '--qa', questions, '--out', out)
    assert filled(*words, '--kinds', 'count').status == 0
    assert len(model.requests) == 1 and len(lines(out)) == 1
    assert filled(*words).status == 0
    assert len(model.requests) == 4
    assert filled(*words).status == 0 and len(model.requests) == 4
    assert [line['id'] for line in lines(out)] == ['often', 'when', 'cat', 'tell']


def test_a_torn_last_line_is_asked_again(filled: Emv, model: Provider, questions: Path,
                                         out: Path) -> None:
    words = (*settings(model), 'eval', 'qa', '--qa', questions, '--out', out)
    filled(*words)
    path = out / 'results.jsonl'
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    done = filled(*words)
    assert done.status == 0 and 'last line of the results was torn' in done.err
    assert len(model.requests) == 5
    assert [line['id'] for line in lines(out)] == ['when', 'often', 'cat', 'tell']
    path.write_bytes(b'{"set": 1}\n' + whole)
    broken = filled(*words)
    assert broken.status == 1 and 'results.jsonl, line 1: no result' in broken.err


def test_killed_in_the_middle_it_goes_on(filled: Emv, questions: Path, out: Path,
                                         tmp_path: Path) -> None:
    hold = threading.Event()
    asked = [Behaviour(text=reply), Behaviour(text=reply), Behaviour(text=reply, hold=hold),
             Behaviour(text=reply)]
    with provider(*asked) as server:
        words = [*settings(server), 'eval', 'qa', '--qa', str(questions), '--out', str(out)]
        child = subprocess.Popen(
            [sys.executable, '-m', 'emv_ros.cli', '--set', 'retrieval.embedder=none', *words],
            env=os.environ | {'EMV_MEMORY': str(tmp_path / 'memory')}, stderr=subprocess.DEVNULL)
        try:
            while len(server.requests) < 3:
                server.arrived.clear()
                assert child.poll() is None and server.arrived.wait(60)
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait()
            hold.set()
        assert [line['id'] for line in lines(out)] == ['when', 'often']
        assert filled(*words).status == 0
        assert len(server.requests) == 5
    assert [line['id'] for line in lines(out)] == ['when', 'often', 'cat', 'tell']


def test_interrupted_it_keeps_what_is_done(filled: Emv, questions: Path, out: Path,
                                           tmp_path: Path) -> None:
    with provider(Behaviour(text=reply), Behaviour(hang=True)) as server:
        words = [*settings(server), 'eval', 'qa', '--qa', str(questions), '--out', str(out)]
        child = subprocess.Popen(
            [sys.executable, '-m', 'emv_ros.cli', '--set', 'retrieval.embedder=none', *words],
            env=os.environ | {'EMV_MEMORY': str(tmp_path / 'memory')}, stderr=subprocess.DEVNULL)
        while len(server.requests) < 2:
            server.arrived.clear()
            assert child.poll() is None and server.arrived.wait(60)
        child.send_signal(signal.SIGINT)
        assert child.wait(60) == 130
    assert [line['id'] for line in lines(out)] == ['when']


def test_other_settings_are_not_mixed(filled: Emv, model: Provider, questions: Path,
                                      out: Path) -> None:
    words = (*settings(model), 'eval', 'qa', '--qa', questions, '--out', out)
    filled(*words)
    other = filled('--set', 'agent.max_rounds=3', *words)
    assert other.status == 1 and 'agent.max_rounds was 8, is 3' in other.err
    changed = [QUESTIONS[0] | {'question': 'When?'}, *QUESTIONS[1:]]
    questions.write_text(''.join(json.dumps(line) + '\n' for line in changed), 'utf-8')
    assert "mine_qa asked something else as 'when'" in filled(*words).err
    assert len(model.requests) == 4
    questions.write_text(''.join(json.dumps(line) + '\n' for line in QUESTIONS), 'utf-8')
    again = filled('--set', 'agent.max_rounds=3', *words, '--again')
    assert again.status == 0 and len(lines(out)) == 4
    assert len((out / 'results-1.jsonl').read_text().splitlines()) == 4


def test_a_memory_is_made_of_a_file_and_ways_beside_one_another(
        emv: Emv, model: Provider, experience: Path, questions: Path, out: Path) -> None:
    words = (*settings(model), 'eval', 'qa', '--data', experience, '--qa', questions, '--out', out,
             '--limit', '1', '--kinds', 'when', '--way', 'ours', '--way', 'no-examples', '--way',
             'whole-history', '--way', 'no-biographies')
    assert emv('import', experience, '--zone', 'Europe/Berlin').status == 0
    done = emv(*words)
    assert done.status == 0, done.err
    assert {line['way'] for line in lines(out)} == {'ours', 'no-examples', 'whole-history',
                                                    'no-biographies'}
    assert sorted(path.name for path in (out / 'memories').iterdir()) == [
        'experience', 'experience-no-biographies']
    by_way = {line['way']: line for line in lines(out)}
    whole = by_way['whole-history']
    assert 'History, ' in model.requests[2]['messages'][-1]['content']
    assert whole['shown_covered'] is True and len(whole['shown']) >= 4
    assert by_way['ours']['memory'] != by_way['no-biographies']['memory']


def test_a_model_judges_where_no_rule_can(filled: Emv, model: Provider, questions: Path,
                                          out: Path) -> None:
    words = (*settings(model), 'eval', 'qa', '--qa', questions, '--out', out)
    filled(*words)
    assert filled(*words, '--judge').status == 0
    assert len(model.requests) == 5
    report = filled('--json', 'eval', 'report', '--out', out).json
    assert (report['totals'][0]['judged'], report['totals'][0]['s_c']) == (4, 0.75)
    filled(*words, '--judge')
    assert len(model.requests) == 5  # judged once


def test_questions_without_an_answer_are_asked_again(filled: Emv, questions: Path,
                                                     out: Path) -> None:
    with provider(Behaviour(status=400, text='out of order')) as server:
        words = ('--set', 'model.retries=0', *settings(server), 'eval', 'qa', '--qa', questions,
                 '--out', out)
        failed = filled(*words)
        assert failed.status == 1 and '3 questions in a row got no answer' in failed.err
        assert lines(out) == []
        server.behaviours[:] = [Behaviour(text=reply)]
        assert filled(*words).status == 0
    assert len(lines(out)) == 4


@pytest.mark.parametrize(('words', 'said'), [
    (('--out', 'o'), 'needs questions: --qa FILE, or --episodes N'),
    (('--qa', 'nowhere_qa.jsonl'), 'there is no file nowhere_qa.jsonl'),
    (('--qa', '{questions}', '--way', 'best'), "there is no way 'best'; there are: ours, whole-"),
    (('--qa', '{questions}', '--model', 'none'), "'none' is no model"),
    (('--qa', '{questions}', '--kinds', 'why'),
     "no question is of the kind 'why'; there are: when"),
    (('--data', '{experience}', '--data', '{experience}', '--qa', '{questions}'),
     '2 --data and 1 --qa'),
    (('--qa', '{questions}', '--episodes', '5'), 'not both'),
    (('--qa', '{questions}', '--way', 'no-biographies'), 'needs a memory that is made for it'),
    (('--qa', '{questions}', '--way', 'search-tools'), 'needs text vectors'),
    (('--qa', '{experience}'), 'experience.jsonl, line 1: no question'),
    (('--qa', '{questions}', '--model', 'embedded'), 'the model embedded cannot be asked')])
def test_mistakes_are_named(filled: Emv, experience: Path, questions: Path,
                            words: tuple[str, ...], said: str) -> None:
    done = filled('--set', 'model.model=openai/fake', 'eval', 'qa', *(
        word.format(questions=questions, experience=experience) for word in words))
    assert done.status in (1, 2) and said in done.err, done.err


def test_a_report_needs_results(filled: Emv, out: Path) -> None:
    assert 'needs the results: --out' in filled('eval', 'report').err
    assert filled('eval', 'report', '--out', out).status == 2
