"""Figures of a report, by hand from a few results; results as lines of a file."""

from __future__ import annotations

from dataclasses import asdict
import json
from pathlib import Path
import re
from typing import Any

import pytest

from emv_ros.errors import EmvError, SettingsError
from emv_ros.evaluation.answering.account import account_of, check_account
from emv_ros.evaluation.answering.plots import bars_of, drawn, lines_of
from emv_ros.evaluation.answering.report import report_of
from emv_ros.evaluation.answering.results import Result, ResultsFile, read_results
from emv_ros.evaluation.answering.scored import scored
from emv_ros.evaluation.answering.sets import chosen, digest_of, made_below
from emv_ros.evaluation.answering.tables import markdown
from emv_ros.evaluation.answering.ways import WAYS, known, making_of, settings_of
from emv_ros.evaluation.questions import AskedQuestion
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import Settings, with_values

TEXT, NONE = {'kind': 'text', 'text': 'x'}, {'kind': 'none'}


def result(number: int, category: str, **fields: Any) -> Result:
    values: dict[str, Any] = {
        'set': 'home', 'way': 'ours', 'model': 'm', 'id': f'i{number}', 'kind': 'when',
        'question': 'When?', 'gold': TEXT, 'status': 'ANSWERED', 'category': category,
        'judged_by': 'exact' if category else '', 'prompt_tokens': 100, 'completion_tokens': 10,
        'query_id': f'q{number}', 'episodes': 5, 'seconds': 2.0}
    return Result(**values | fields)


RESULTS = [
    result(1, 'correct'), result(2, 'correct_tmi', prompt_tokens=300),
    result(3, 'partially_correct_missing'), result(4, 'wrong', kind='where'),
    result(5, 'no_answer', status='NOT_RECORDED'), result(6, ''),
    result(7, 'correct', gold=NONE, status='NOT_RECORDED', kind='absent'),
    result(8, 'wrong', gold=NONE, kind='absent'),
    result(9, 'correct', episodes=100, prompt_tokens=200, completion_tokens=20),
    result(1, 'wrong', way='whole-history', prompt_tokens=5000)]


def test_scores_are_shares_of_what_was_judged() -> None:
    report = report_of(RESULTS)
    short, long, whole = report['totals']
    assert (short['way'], short['history'], long['history'], whole['way']) == (
        'ours', '5 episodes', '100 episodes', 'whole-history')
    assert (short['questions'], short['judged']) == (8, 7)
    assert (short['s_c'], short['s_p']) == (round(3 / 7, 4), round(4 / 7, 4))
    # Wilson's interval of 3 of 7, by hand: (0.4286 + 0.2744 ± 0.4066) / 1.5488.
    assert short['s_c_95'] == pytest.approx([0.158, 0.750], abs=2e-3)
    assert (short['prompt_tokens'], short['tokens'], short['seconds']) == (125.0, 135.0, 2.0)
    assert report['growth'] == [
        {'model': 'm', 'way': 'ours', 'from': 5, 'to': 100, 'ratio': round(220 / 135, 3)}]


def test_refusals_are_right_only_where_memory_does_not_tell() -> None:
    ours, whole = report_of(RESULTS)['refusals']
    assert (ours['unanswerable'], ours['refused_rightly']) == (2, 0.5)
    assert (ours['answerable'], ours['refused_wrongly']) == (7, round(1 / 7, 4))
    assert (whole['unanswerable'], whole['refused_rightly'], whole['refused_wrongly']) == (
        0, None, 0.0)


def test_what_went_wrong_is_listed_by_kind_with_what_opens_it() -> None:
    report = report_of(RESULTS)
    assert [row['query_id'] for row in report['failures']] == ['q3', 'q4', 'q5', 'q8', 'q1']
    text = markdown(report)
    assert '| ours | when | 2 | home q3, home q5 |' in text
    assert '| ours | 5 episodes | 8 (1 not judged) | 42.9 % |' in text
    assert re.search(r'\| ours \| T\(100\)/T\(5\) \| 1\.63 \|', text)
    assert not re.search(r'\b(?:nan|None)\b', text)
    assert bars_of(report)['ours: absent'] == {'wrong': 1}
    assert [length for length, _ in lines_of(report)['ours']] == [5, 100]


def test_models_beside_one_another_have_a_column() -> None:
    report = report_of([*RESULTS, result(1, 'correct', model='other')])
    assert '| model | way |' in markdown(report)
    assert '| model | way |' not in markdown(report_of(RESULTS))
    assert {'m, ours', 'other, ours'} <= set(lines_of(report))


def test_plots_are_pictures() -> None:
    pytest.importorskip('matplotlib')
    pictures = drawn(report_of(RESULTS))
    assert set(pictures) == {'score-and-tokens.png', 'failures-by-kind.png'}
    assert all(content.startswith(b'\x89PNG') for content in pictures.values())
    assert drawn(report_of([result(1, 'correct', episodes=None)])) == {}


def test_evidence_of_a_result_is_that_of_its_spans() -> None:
    """Two windows; of three cited records two lie in the first, a node over all counts nothing."""
    item = result(1, '', windows=((0, 10), (100, 110)), shown=((5, 6), (105, 106)), evidence=(
        {'id': 's1', 'start_ns': 1, 'end_ns': 2}, {'id': 's2', 'start_ns': 10, 'end_ns': 12},
        {'id': 's3', 'start_ns': 50, 'end_ns': 60}, {'id': 'n1', 'start_ns': 0, 'end_ns': 200}))
    found = scored(item)
    assert found.retrieval == pytest.approx({'precision': 2 / 3, 'recall': 0.5, 'f1': 4 / 7})
    assert (found.evidence_hit, found.evidence_covered) == (True, False)
    assert (found.shown_hit, found.shown_covered) == (True, True)
    again = scored(Result(**json.loads(json.dumps(asdict(found)))))
    assert again.retrieval == found.retrieval and again.category == 'no_answer'


def test_a_category_by_a_model_stays_and_one_by_rule_is_made_anew() -> None:
    kept = scored(result(1, 'correct_tmi', judged_by='model', answer='y'))
    assert (kept.category, kept.judged_by) == ('correct_tmi', 'model')
    number = {'kind': 'number', 'value': 3.0, 'text': '3'}
    anew = scored(result(1, 'wrong', gold=number, question='How often?', answer='3 times'))
    assert (anew.category, anew.judged_by) == ('correct', 'exact')


def test_the_last_line_of_a_key_counts_and_a_torn_one_does_not(tmp_path: Path) -> None:
    with ResultsFile(tmp_path) as file:
        file.add(RESULTS[0])
        file.add(RESULTS[1])
        file.add(result(1, 'wrong'))
        assert RESULTS[0].key in file and len(file.results) == 2
    path = tmp_path / 'results.jsonl'
    with path.open('ab') as torn:
        torn.write(b'{"set": "ho')
    found, end, dropped = read_results(path)
    assert [item.category for item in found] == ['wrong', 'correct_tmi']
    assert (dropped, end + dropped) == (11, path.stat().st_size)
    with ResultsFile(tmp_path) as file:
        assert file.dropped == 11 and path.stat().st_size == end


def test_each_way_is_a_change_of_settings_that_exist() -> None:
    for name, changes in WAYS.items():
        changed = settings_of(name, Settings())
        assert (changed == Settings()) == (not changes)
    assert [name for name in WAYS if making_of(name)] == ['no-biographies', 'by-name']
    assert known(['ours', 'by-name', 'ours']) == ['ours', 'by-name']
    with pytest.raises(EmvError, match="no way 'hers'"):
        known(['hers'])
    with pytest.raises(SettingsError):
        with_values(Settings(), {'agent.way': 'guess'})


def test_questions_are_chosen_by_kind_and_number() -> None:
    asked = [AskedQuestion(f'{kind}{number}', kind, '?') for number in range(3) for kind in 'ab']
    assert [item.id for item in chosen(asked, limit=2)] == ['a0', 'b0', 'a1', 'b1']
    assert [item.id for item in chosen(asked, ['b'], 1)] == ['b0']
    with pytest.raises(EmvError, match="two questions have the id 'a0'"):
        chosen([*asked, asked[0]])


def test_a_memory_of_something_else_is_not_taken(tmp_path: Path) -> None:
    made: list[Any] = []

    def make(folder: Path, settings: Settings) -> None:
        made.append(folder)
        MemoryStore.open(settings.memory, folder).close()

    data, others = tmp_path / 'day.jsonl', with_values(Settings(), {'biography.identity': 'name'})
    data.write_text('1')
    opened = made_below(tmp_path / 'day', Settings(), make, made.append, digest_of(data))
    for way in ('ours', 'whole-history', 'by-name', 'by-name'):
        with opened(way) as store:
            assert store.folder.name == ('day-by-name' if way == 'by-name' else 'day')
    made_folders = [item for item in made if isinstance(item, Path)]
    assert [folder.name for folder in made_folders] == ['.day.part', '.day-by-name.part']
    with pytest.raises(EmvError, match="biography.identity was 'looks', is 'name'"), made_below(
            tmp_path / 'day', others, make, made.append, digest_of(data))('ours'):
        pass
    data.write_text('2')
    with pytest.raises(EmvError, match='made otherwise: source was'), made_below(
            tmp_path / 'day', Settings(), make, made.append, digest_of(data))('ours'):
        pass


def test_an_account_names_what_differs(tmp_path: Path) -> None:
    first, other = AskedQuestion('1', 'a', 'When?'), AskedQuestion('2', 'a', 'Where?')
    check_account(tmp_path, account_of(Settings(), {'home': [first]}))
    check_account(tmp_path, account_of(Settings(), {'home': [other], 'away': [first]}))
    check_account(tmp_path, account_of(Settings(), {'home': [first, other]}))
    moved = with_values(Settings(), {'memory.folder': '/elsewhere', 'model.threads': 3})
    check_account(tmp_path, account_of(moved, {'home': [first]}))
    changed = with_values(Settings(), {'retrieval.units': 3})
    with pytest.raises(EmvError, match='retrieval.units was 16, is 3'):
        check_account(tmp_path, account_of(changed, {'home': [first]}))
    with pytest.raises(EmvError, match="home asked something else as '1'"):
        check_account(tmp_path, account_of(
            Settings(), {'home': [AskedQuestion('1', 'a', 'Why?')]}))
    check_account(tmp_path, account_of(changed, {'home': [first]}), again=True)


def test_kinds_have_a_column_for_each_way_and_each_length() -> None:
    text = markdown(report_of(RESULTS))
    assert '| kind | ours | whole-history |' in text
    assert '| when | 60.0 % of 5 | 0.0 % of 1 |' in text
    row = next(line for line in text.splitlines() if line.startswith('| ours | when | 6 (1 not'))
    assert row.endswith('| 50.0 % | 100.0 % |')


def test_an_empty_answer_is_no_refusal() -> None:
    """Whoever runs out of time has not said that nothing is recorded."""
    row, = report_of([
        result(1, 'no_answer', gold=NONE, status='TIMEOUT', answer=''),
        result(2, 'correct', gold=NONE, status='ANSWERED', answer='That is not recorded.'),
        result(3, 'no_answer', status='TIMEOUT', answer=''),
        result(4, 'no_answer', answer='I do not know.'),
        result(5, 'correct', answer='yes')])['refusals']
    assert (row['unanswerable'], row['refused_rightly']) == (2, 0.5)
    assert (row['answerable'], row['refused_wrongly']) == (3, round(1 / 3, 4))


def test_what_was_shown_is_not_known_without_a_trace() -> None:
    """A memory that cannot be written keeps no trace: nothing is said of what was shown."""
    windows = {'windows': ((0, 10),), 'gold': {}}
    known = scored(result(1, '', shown=((5, 6),), **windows))
    unknown = scored(result(2, '', query_id='', **windows))
    assert (known.shown_hit, unknown.shown_hit, unknown.shown_covered) == (True, None, None)
    row, = report_of([known, unknown])['totals']
    assert (row['with_evidence'], row['shown_hit'], row['shown_covered']) == (2, 1.0, 1.0)
    row, = report_of([unknown])['totals']
    assert (row['evidence_hit'], row['shown_hit']) == (0.0, None)


@pytest.mark.parametrize('status', ['LIMIT', 'TIMEOUT'])
@pytest.mark.parametrize('gold', [
    {'kind': 'number', 'value': 3.0}, NONE, TEXT,
    {'kind': 'choice', 'value': 0.0}])
def test_the_records_that_search_gives_at_a_limit_are_no_answer(
        status: str, gold: dict[str, Any]) -> None:
    """Also where the right word stands in them, and whatever a model made of them before."""
    found = scored(result(1, 'correct', gold=gold, status=status, judged_by='model',
                          choices=('3 times', 'twice'), question='How often?', answer='3 times'))
    assert (found.category, found.judged_by) == ('no_answer', 'exact')
    row, = report_of([found])['refusals']
    assert not row['refused_rightly'] and not row['refused_wrongly']
