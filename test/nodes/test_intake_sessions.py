"""Records that come before their session can begin wait with it; none is lost."""

from __future__ import annotations

from pathlib import Path
import threading

import pytest

from emv_ros.errors import StoreFullError
from emv_ros.memory import queries
from emv_ros.memory.store import MemoryStore
from emv_ros.nodes.intake import Intake
from emv_ros.records import Utterance
from emv_ros.settings import Settings, with_values
from emv_ros.timeline import SECOND_NS

NOON_NS = 1_780_000_000 * SECOND_NS


def words(stamp_ns: int, text: str) -> Utterance:
    return Utterance(stamp_ns=stamp_ns, text=text, speaker='user')


def test_words_before_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = threading.Event()

    def refuse(*_: object) -> int:
        tried.set()
        raise StoreFullError('no room')

    settings = with_values(Settings(), {'memory.folder': str(tmp_path), 'memory.robot': 'ada'})
    intake = Intake()
    intake.acquire(settings, 'sim', 'speech_ingest')
    try:
        with monkeypatch.context() as patch:
            patch.setattr(MemoryStore, 'begin_session', refuse)
            for number in range(3):
                intake.add(words(NOON_NS + number, str(number)), 'speech')
            assert tried.wait(10)
            intake.clock_went_back(NOON_NS - 3600 * SECOND_NS)
            intake.add(words(NOON_NS - 3600 * SECOND_NS, '3'), 'speech')
        intake.flush()
        assert intake.writer is not None and not intake.writer.refused
    finally:
        intake.release()
    with MemoryStore.open(settings.memory) as store:
        found = {item.text: item.session_id for item in queries.utterances(store)}
        assert set(found) == {'0', '1', '2', '3'}
        assert found['0'] == found['1'] == found['2'] != found['3']
        assert store.counts()['session'] == 2
