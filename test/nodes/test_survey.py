"""What the status tells of a memory."""

from __future__ import annotations

import shutil
import threading
import time
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from sqlalchemy import select, update

from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.nodes import survey as surveying
from emv_ros.nodes.survey import Survey
from emv_ros.records import ImageRecord
from emv_ros.settings import MemorySettings


def test_a_folder_that_is_gone_is_told(tmp_path):
    folder = tmp_path / 'memory'
    with MemoryStore.open(MemorySettings(), folder) as store:
        survey = Survey(store)
        shutil.rmtree(folder)
        survey.renew()
        assert str(folder) in survey.latest().problem
        survey.close()


def test_all_looks_are_of_one_thread(tmp_path, monkeypatch):
    # A thread for each look leaves what it allocated in another arena each time.
    monkeypatch.setattr(surveying, 'PERIOD_S', 0.0)
    monkeypatch.setattr(surveying, 'LONGEST_PAUSE_S', 0.0)
    threads = set()
    with MemoryStore.open(MemorySettings(), tmp_path / 'memory') as store:
        survey = Survey(store)
        find, looks = survey._find, []

        def noting():
            threads.add(threading.current_thread())
            looks.append(find())
            return looks[-1]

        monkeypatch.setattr(survey, '_find', noting)
        ends = time.monotonic() + 60
        while len(looks) < 20 and time.monotonic() < ends:
            survey.latest()
            with survey._changed:
                survey._changed.wait_for(survey._is_idle, 30)
        assert len(looks) == 20 and len(threads) == 1
        assert threading.current_thread() not in threads
        survey.close()
        assert not threads.pop().is_alive()
        count = len(looks)
        survey.renew()  # closed: it neither looks nor waits
        survey.latest()
        assert len(looks) == count


def test_a_look_that_fails_for_any_reason_is_not_the_last(tmp_path, monkeypatch):
    monkeypatch.setattr(surveying, 'MOMENT_S', -1.0)
    with MemoryStore.open(MemorySettings(), tmp_path / 'memory') as store:
        survey = Survey(store)
        find = survey._find
        monkeypatch.setattr(survey, '_find', lambda: 1 / 0)
        survey.renew()
        monkeypatch.setattr(survey, '_find', find)
        assert survey.latest().free_bytes == 0
        survey.renew()
        assert survey.latest().free_bytes > 0
        survey.close()


def test_what_was_forgotten_and_consolidated_is_told(tmp_path):
    with MemoryStore.open(MemorySettings(), tmp_path / 'memory') as store:
        survey = Survey(store)
        survey.renew()
        found = survey.latest()
        survey.close()
        assert (found.gone, found.forgettings, found.forgotten_ns, found.consolidated_ns) == (
            0, 0, None, None)
        data = cv2.imencode('.png', np.zeros((4, 4, 3), np.uint8))[1].tobytes()
        store.add_image(data, ImageRecord(stamp_ns=5, camera='c', sha256='', media_type='image/png',
                                          width=4, height=4))
        before = Survey(store)
        before.renew()
        assert before.latest().image_bytes == len(data)
        before.close()
        with store.writing() as session:
            session.execute(update(schema.ImageRow).values(gone='retention'))
            for stamp_ns, author in ((30, 'Ada'), (20, 'Ada'), (40, 'retention')):
                session.add(schema.AuditRow(
                    stamp_ns=stamp_ns, author=author, reason='asked to', counts={}))
            robot_id = session.scalar(select(schema.RobotRow.id))
            for begun_ns in (10**9, 3 * 10**9):
                session.add(schema.ConsolidationRow(
                    robot_id=robot_id, begun_ns=begun_ns, duration_s=0.5, records=1, up_to_ns=5,
                    events=0, goals=0, summaries=0, model_calls=0, prompt_tokens=0,
                    completion_tokens=0, cost=0.0, fallbacks=0, outcome='ok'))
        survey = Survey(store)
        survey.renew()
        found = survey.latest()
        survey.close()
    assert found.image_bytes == 0
    assert (found.gone, found.forgettings, found.forgotten_ns, found.retained_ns) == (1, 2, 30, 40)
    assert found.consolidated_ns == 3_500_000_000


@pytest.mark.parametrize(('took_s', 'pause_s'), [(0.01, 5), (1, 20), (2, 40), (100, 160)])
def test_looks_that_take_long_are_rare(tmp_path, monkeypatch, took_s, pause_s):
    now_s = [1000.0]
    monkeypatch.setattr(surveying, 'time', SimpleNamespace(monotonic=lambda: now_s[0]))
    with MemoryStore.open(MemorySettings(), tmp_path / 'memory') as store:
        survey = Survey(store)
        find, looks = survey._find, []

        def slow():
            looks.append(now_s[0])
            now_s[0] += took_s
            return find()

        monkeypatch.setattr(survey, '_find', slow)

        def looked():
            survey.latest()
            with survey._changed:
                survey._changed.wait_for(survey._is_idle, 30)
            return len(looks)

        assert looked() == 1
        now_s[0] = 1000 + pause_s - 0.001
        assert looked() == 1
        now_s[0] = 1000 + pause_s
        assert looked() == 2
        survey.close()
