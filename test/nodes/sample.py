"""A small memory to ask about, with known answers."""

from __future__ import annotations

import cv2
import numpy as np

from emv_ros.memory.store import MemoryStore
from emv_ros.records import ImageRecord, Observation, SkillReport, Status, Utterance
from emv_ros.settings import MemorySettings
from emv_ros.timeline import SECOND_NS

NOON_NS = 1_750_000_000 * SECOND_NS
PNG = cv2.imencode('.png', np.zeros((3, 4, 3), np.uint8))[1].tobytes()


def filled(where):
    """Return a memory with two runs of a skill, words, a picture, observations of two cups."""
    with MemoryStore.open(MemorySettings(), where) as store:
        for second, status in ((0, Status.RUNNING), (5, Status.SUCCEEDED), (60, Status.RUNNING),
                               (70, Status.FAILED)):
            store.add(SkillReport(
                stamp_ns=NOON_NS + second * SECOND_NS, skill='GraspObject', status=status,
                goal_stack=('Tidy',), parameters={'object': 'milk', 'code': '7', 'force': 2}))
        store.add(Utterance(stamp_ns=NOON_NS, speaker='user', text='Please bring the milk.'))
        store.add_image(PNG, ImageRecord(
            stamp_ns=NOON_NS + SECOND_NS, camera='head', sha256='', media_type='image/png',
            width=4, height=3))
        for second, instance in ((0, 'cup_1'), (1, 'cup_2'), (9, 'cup_1')):
            store.add(Observation(
                stamp_ns=NOON_NS + second * SECOND_NS, end_ns=NOON_NS + (second + 1) * SECOND_NS,
                name='cup', instance=instance))
    return where
