"""What the status tells of a memory."""

from __future__ import annotations

import shutil

import cv2
import numpy as np
from sqlalchemy import select, update

from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
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


def test_what_was_forgotten_and_consolidated_is_told(tmp_path):
    with MemoryStore.open(MemorySettings(), tmp_path / 'memory') as store:
        survey = Survey(store)
        survey.renew()
        found = survey.latest()
        assert (found.gone, found.forgettings, found.forgotten_ns, found.consolidated_ns) == (
            0, 0, None, None)
        data = cv2.imencode('.png', np.zeros((4, 4, 3), np.uint8))[1].tobytes()
        store.add_image(data, ImageRecord(stamp_ns=5, camera='c', sha256='', media_type='image/png',
                                          width=4, height=4))
        before = Survey(store)
        before.renew()
        assert before.latest().image_bytes == len(data)
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
    assert found.image_bytes == 0
    assert (found.gone, found.forgettings, found.forgotten_ns, found.retained_ns) == (1, 2, 30, 40)
    assert found.consolidated_ns == 3_500_000_000
