"""Evidence from outside: ids that exist, that were shown, within the window and the time asked."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from emv_ros.agent.agent import Agent
from emv_ros.agent.answers import Answer, EvidenceItem, QueryStatus, Question
from emv_ros.agent.console.rows import evidence_item, row_of, span_of
from emv_ros.agent.models import ModelClient, Reply
from emv_ros.evaluation.attacks.household import make_household
from emv_ros.evaluation.attacks.probes import ASKED_AT, ZONE, at
from emv_ros.evaluation.evidence_checks import evidence_problems
from emv_ros.memory.store import MemoryStore
from emv_ros.records import QueryRecord
from emv_ros.settings import RetrievalSettings, Settings
from emv_ros.timeline import parse_zone

# Runs of the household by id: dishwasher on the 3rd, plants on the 4th and 5th, and so on.
DISHWASHER, PLANTS_4, PLANTS_5, MOP = 's1', 's2', 's3', 's7'


@pytest.fixture(scope='module')
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    with make_household(tmp_path_factory.mktemp('house')) as made:
        yield made


def item(store: MemoryStore, shown: str) -> EvidenceItem:
    record = store.get('skill_event', int(shown[1:]))
    return evidence_item(row_of('skill_event', record, parse_zone(ZONE)), span_of(record))


def problems(store: MemoryStore, text: str, *ids: str, now: str = ASKED_AT,
             handed_out: tuple[str, ...] | None = None, **window: object) -> list[str]:
    trace = () if handed_out is None else ({'code': 'x', 'shown': list(handed_out)},)
    query = store.log_query(QueryRecord(
        question=text, status='ANSWERED', stamp_ns=at(now), query_time_ns=at(now), trace=trace))
    answer = Answer(status=QueryStatus.ANSWERED, answer='so', query_id=query,
                    evidence=tuple(item(store, shown) for shown in ids))
    return evidence_problems(store, answer, Question(
        text=text, query_time_ns=at(now), **window))  # type: ignore[arg-type]


def test_what_exists_and_was_shown_is_right(store: MemoryStore) -> None:
    assert problems(store, 'When did you mop?', MOP, handed_out=(MOP, 'u1')) == []
    assert problems(store, 'When did you mop?', MOP) == []  # an account of before


def test_an_answer_without_evidence(store: MemoryStore) -> None:
    assert problems(store, 'When did you mop?') == ['an answer without evidence']


def test_what_was_not_shown(store: MemoryStore) -> None:
    assert problems(store, 'When did you mop?', MOP, PLANTS_5, handed_out=(MOP,)) == [
        f'{PLANTS_5} was not shown']


def test_what_is_printed_was_shown(store: MemoryStore) -> None:
    query = store.log_query(QueryRecord(
        question='?', status='ANSWERED', stamp_ns=1, query_time_ns=1, trace=(
            {'code': 'x', 'shown': [], 'output': f'But these records may tell it:\n{MOP} '
             '2025-03-05 14:05:00 to 14:23:00 MopFloor succeeded'},)))
    answer = Answer(status=QueryStatus.ANSWERED, answer='so', query_id=query,
                    evidence=(item(store, MOP),))
    assert evidence_problems(store, answer, Question(
        text='When did you mop?', query_time_ns=at(ASKED_AT))) == []


def test_what_does_not_exist(store: MemoryStore) -> None:
    forged = replace(item(store, MOP), id='s927')
    answer = Answer(status=QueryStatus.ANSWERED, answer='so', evidence=(
        forged, replace(forged, id='the row')))
    assert evidence_problems(store, answer, Question(text='When?', query_time_ns=at(ASKED_AT))) == [
        's927 does not exist', "'the row' is no id"]


def test_what_lies_after_the_question(store: MemoryStore) -> None:
    assert problems(store, 'When did you mop?', MOP, PLANTS_5, now='2025-03-05 12:00:00') == [
        f'{MOP} lies after the time of the question']


def test_what_lies_outside_the_window(store: MemoryStore) -> None:
    assert problems(store, 'When?', PLANTS_4, PLANTS_5, MOP, start_ns=at('2025-03-05 00:00:00'),
                    end_ns=at('2025-03-05 12:00:00')) == [
        f'{PLANTS_4} lies before the window of the question',
        f'{MOP} lies after the window of the question']


def test_another_robots_record(store: MemoryStore) -> None:
    assert problems(store, 'When?', MOP, robots=('other',)) == [
        f'{MOP} is of another robot, helper']


@pytest.mark.parametrize(('text', 'wrong'), [
    ('What did you do yesterday?', [DISHWASHER, PLANTS_5, MOP]),
    ('What did you do on March 3?', [PLANTS_4, PLANTS_5, MOP]),
    ('What happened on March 4 and March 5?', [DISHWASHER]),
    ('What did you do today at 14:10?', [DISHWASHER, PLANTS_4, PLANTS_5]),
    ('What did you do before March 5?', []),  # a time to start from bounds nothing
    ('How often did you water the plants?', [])])
def test_the_time_that_a_question_names(store: MemoryStore, text: str, wrong: list[str]) -> None:
    found = problems(store, text, DISHWASHER, PLANTS_4, PLANTS_5, MOP)
    assert [told.split()[0] for told in found] == wrong
    assert all('outside the time asked for' in told for told in found)


def test_a_run_that_was_not_over_ends_at_the_question(store: MemoryStore, tmp_path: Path) -> None:
    record = item(store, MOP)
    now = '2025-03-05 14:10:00'
    answer = Answer(status=QueryStatus.ANSWERED, answer='so', evidence=(record,))
    question = Question(text='What are you doing?', query_time_ns=at(now))
    assert evidence_problems(store, answer, question) == [
        f'{MOP} lies after the time of the question']
    answer = replace(answer, evidence=(replace(record, end_ns=at(now)),))
    assert evidence_problems(store, answer, question) == []


class Silent(ModelClient):
    """Looks for what is not there, and says so."""

    def complete(self, messages: Any, **options: Any) -> Any:
        return Reply(text="```python\nsearch('zebra')\nnot_recorded('no zebra')\n```", cost=0.0,
                     model='silent', prompt_tokens=9, completion_tokens=9, duration_s=0.0,
                     truncated=False)

    def count_tokens(self, text: str) -> int:
        return len(text) // 4

    def why_unavailable(self, purpose: str = 'agent') -> str:
        return '' if purpose == 'agent' else 'none'


def test_a_plain_no_rests_on_days_that_its_account_holds(store: MemoryStore) -> None:
    settings = Settings(retrieval=RetrievalSettings(embedder='none'))
    asked = Question(text='Did you ever wash the zebra?', query_time_ns=at(ASKED_AT))
    answer = Agent(store, settings, Silent(settings.model)).ask(asked)
    assert answer.status is QueryStatus.ANSWERED and answer.answer.startswith('No')
    assert answer.evidence and answer.query_id is not None
    trace = store.get('query', answer.query_id).trace
    assert {item.id for item in answer.evidence} <= set(trace[-1]['shown'])
    assert evidence_problems(store, answer, asked) == []
