"""Questions to the local model about a real robot's log of two days: what must come out."""

from collections.abc import Callable, Iterator
from pathlib import Path
import time

import pytest

from emv_ros.agent.agent import Agent
from emv_ros.agent.answers import Answer, QueryStatus, Question
from emv_ros.agent.models.client import ModelClient
from emv_ros.memory.names import squash
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import MemorySettings, Settings
from emv_ros.timeline import parse_stamp

LOG = Path(__file__).resolve().parents[3] / 'shared' / 'data' / 'armar7_june.jsonl'
MODEL = ModelClient(Settings().model)
NOW_NS, _ = parse_stamp('2024-07-05T12:00:00+02:00')
LIMIT_S = 180.0

pytestmark = [
    pytest.mark.model, pytest.mark.timeout(900),
    pytest.mark.skipif(not LOG.exists(), reason='the log is not beside the checkout'),
    pytest.mark.skipif(not MODEL.available, reason='the weights are not here')]


@pytest.fixture(scope='module')
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Answer]]:
    from emv_ros.ingest.experience import import_experience
    from emv_ros.memory.writer import BatchWriter
    from emv_ros.tree.consolidate import consolidate

    store = MemoryStore.open(MemorySettings(robot='armar7', time_zone='Europe/Berlin'),
                             tmp_path_factory.mktemp('armar'))
    writer = BatchWriter(store)
    assert import_experience(LOG, writer, 'armar7', 'Europe/Berlin').read == 1175
    assert writer.close()
    consolidate(store, Settings(), zone='Europe/Berlin')
    MODEL.warm()
    agent = Agent(store, Settings(), MODEL)

    def ask_it(question: str) -> Answer:
        began = time.monotonic()
        answer = agent.ask(Question(text=question, query_time_ns=NOW_NS, time_limit_s=LIMIT_S))
        assert time.monotonic() - began < LIMIT_S + 5
        return answer

    yield ask_it
    store.close()


def test_when_the_soy_milk_was_first_seen(ask: Callable[[str], Answer]) -> None:
    answer = ask('when did you first see the soy milk?')
    assert answer.status is QueryStatus.ANSWERED, answer
    assert '2024-06-27 13:03:18' in answer.answer
    assert parse_stamp('2024-06-27T13:03:18+02:00')[0] in [
        item.start_ns for item in answer.evidence]


def test_what_was_done_shortly_after_eight(ask: Callable[[str], Answer]) -> None:
    answer = ask('What did you do at June 26 shortly after 8 PM?')
    assert answer.status is QueryStatus.ANSWERED, answer
    told = squash(answer.answer)  # 'receive object from human', or the skill's name
    assert 'receiveobjectfromhuman' in told and 'handover' in told
    assert answer.evidence


def test_whether_the_dishwasher_was_ever_loaded(ask: Callable[[str], Answer]) -> None:
    answer = ask('Did you ever load the dishwasher in June?')
    assert answer.status is QueryStatus.ANSWERED, answer
    assert answer.answer.startswith('No')  # the log knows no word of it
    assert answer.evidence


def test_how_often_receiving_failed(ask: Callable[[str], Answer]) -> None:
    answer = ask('How many times did ReceiveObjectFromHuman fail?')
    assert answer.status is QueryStatus.ANSWERED, answer
    assert '3' in answer.answer.split(':')[0] and len(answer.evidence) == 3
    assert [part in answer.answer for part in ('19:58', '20:07', '20:22')] == [True] * 3


def test_plants_were_never_watered(ask: Callable[[str], Answer]) -> None:
    answer = ask('When did you water the plants?')
    assert answer.status is QueryStatus.NOT_RECORDED, answer
    assert answer.answer == ''
