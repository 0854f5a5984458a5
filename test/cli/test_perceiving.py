"""`emv perceive` over a memory with pictures."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from emv_ros.memory import queries
from emv_ros.memory.store import MemoryStore
from emv_ros.perception import detectors
from emv_ros.perception.detections import Detection
from emv_ros.records import ImageRecord
from emv_ros.settings import MemorySettings
from emv_ros.timeline import SECOND_NS

BOX = (20.0, 20.0, 60.0, 60.0)


class Frame:
    """A detector that sees a cup at one place, whatever it is shown."""

    name = 'frame'

    def detect(self, pixels):
        return [Detection(name='cup', bbox=BOX, confidence=0.9)]


@pytest.fixture
def pictures(emv, tmp_path):
    """Return `emv` over a memory with five pictures, a second apart."""
    with MemoryStore.open(MemorySettings(), tmp_path / 'memory') as store:
        for second in range(5):
            data = cv2.imencode('.png', np.full((80, 80, 3), second, np.uint8))[1].tobytes()
            store.add_image(data, ImageRecord(
                stamp_ns=(1_750_000_000 + second) * SECOND_NS, camera='head', sha256='',
                media_type='image/png', width=80, height=80))
    return emv


def test_without_a_detector_it_says_what_is_missing(pictures):
    done = pictures('perceive')
    assert (done.status, done.out) == (1, '')
    assert done.err == ('emv perceive: perception.detector names no detector, and no scene of the '
                        'robot has boxes: pictures are not looked at\n')


def test_a_checkpoint_that_is_not_there(pictures):
    done = pictures('perceive', '--set', 'perception.detector=absent.onnx')
    assert done.status == 1 and 'absent.onnx' in done.err and 'Traceback' not in done.err


def test_finish_takes_the_last_clip_too(pictures, monkeypatch, tmp_path):
    monkeypatch.setattr(detectors, 'make_detector', lambda settings: Frame())
    looks = ('--set', 'perception.appearance=none')
    done = pictures('perceive', *looks)
    assert done.status == 0
    assert done.out == (
        '0 pictures looked at: 0 clips, 0 scenes, 0 observations, 0 pairs seen apart\n'
        '  5 pictures wait in a clip that is not over; --finish takes them too\n')
    done = pictures('perceive', *looks, '--finish', '--json').json
    assert (done['pictures'], done['clips'], done['observations'], done['problems']) == (
        5, 1, 1, [])
    assert done['seconds']['read'] > 0
    with MemoryStore.open(MemorySettings(), tmp_path / 'memory') as store:
        assert [item.name for item in queries.observations(store)] == ['cup']
