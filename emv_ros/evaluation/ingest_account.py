"""What must be stored of what was published, by the policies themselves, against what is stored.

Events and words are matched one by one. Of pictures and joint states the policies are run again
over all that was published, in its order, and say which must be there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select

from emv_ros.evaluation import load
from emv_ros.ingest.joints import JointThinning
from emv_ros.ingest.policies import KeyframePolicy
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.records import JointSample
from emv_ros.settings import IngestSettings
from emv_ros.timeline import SECOND_NS

CAMERA = 'camera'
NEAR = 0.75  # of a period: its neighbours lie a whole one away


def account(store: MemoryStore, settings: IngestSettings, published: dict[str, NDArray[np.int64]],
            joint_hz: float) -> dict[str, dict[str, int]]:
    """Return by kind what was published, what had to be stored, is stored, and is lost.

    `published` has the stamps by number. `lost` counts what had to be stored and is not, `other`
    what is stored and had not to be. Where a picture or a joint state is lost on the way, the next
    one is kept in its place, and shifts those that follow: one is lost if none is stored within
    three quarters of a period of it.
    """
    with store.reading() as session:
        event = schema.SkillEventRow
        found: dict[str, Iterable[Any]] = {
            'event': session.scalars(select(event.source_id)).all(),
            'utterance': session.scalars(select(schema.UtteranceRow.text)).all(),
            'image': session.scalars(select(schema.ImageRow.stamp_ns)).all(),
            'joint': session.scalars(select(schema.JointSampleRow.stamp_ns)).all()}
    due: dict[str, Iterable[Any]] = {
        'event': map(load.event_id, range(len(published.get('event', ())))),
        'utterance': map(load.utterance_text, range(len(published.get('utterance', ())))),
        'image': keyframes(published.get('image', ()), settings),
        'joint': joint_samples(published.get('joint', ()), joint_hz, settings)}
    within_ns = {'image': round(settings.keyframe_period_s * NEAR * SECOND_NS),
                 'joint': round(settings.joint_period_s * NEAR * SECOND_NS)}
    return {kind: _compared(len(published.get(kind, ())), list(due[kind]), list(found[kind]),
                            within_ns.get(kind, 0))
            for kind in due}


def _compared(published: int, due: list[Any], found: list[Any], within: int = 0) -> dict[str, int]:
    wanted, stored = set(due), set(found)
    lost = wanted - stored
    if within and stored:
        near = np.array(sorted(stored))
        lost = {stamp for stamp in lost if np.abs(near - stamp).min() > within}
    return {'published': published, 'due': len(wanted), 'stored': len(found), 'lost': len(lost),
            'other': len(stored - wanted), 'twice': len(found) - len(stored)}


def keyframes(stamps: Iterable[int], settings: IngestSettings) -> list[int]:
    """Return the stamps of the pictures that are keyframes; all of them differ."""
    policy = KeyframePolicy(round(settings.keyframe_period_s * SECOND_NS))
    return [int(stamp) for stamp in stamps
            if policy.keep(CAMERA, int(stamp), lambda: np.zeros((1, 1), np.uint8))]


def joint_samples(
        stamps: Iterable[int], rate_hz: float, settings: IngestSettings) -> list[int]:
    """Return the stamps of the joint states in which something moved."""
    policy = JointThinning(round(settings.joint_period_s * SECOND_NS), settings.joint_change)
    return [int(stamp) for number, stamp in enumerate(stamps)
            if policy.keep(JointSample(
                stamp_ns=int(stamp), names=load.JOINT_NAMES,
                position=tuple(load.positions(number / rate_hz).tolist())))]


def bytes_stored(store: MemoryStore) -> dict[str, int]:
    """Return the bytes of database and pictures, and the number of rows and tree nodes."""
    with store.reading() as session:
        pictures = session.scalar(select(func.sum(schema.ImageRow.size_bytes))) or 0
    counts = store.counts()
    return {'database': sum(file.stat().st_size for file in store.folder.glob('memory.db*')),
            'pictures': int(pictures),
            'rows': sum(counts[kind] for kind in (
                'image', 'joint_sample', 'skill_event', 'utterance')),
            'nodes': counts['node']}
