"""What perception costs: pictures a second from the memory to observations in it, by stage.

Rendered pictures of a household are stored first, as a recording stores them; what is timed is the
pass that reads, detects, tracks, relates, compares looks and writes. The detector sees what it was
trained for, so that the number of things in a picture, on which the later stages depend, is told.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, islice
from pathlib import Path
import time
from typing import Any

from sqlalchemy import func, select

from emv_ros.evaluation.rendered.days import HEIGHT, START_NS, WIDTH, Days
from emv_ros.memory import schema
from emv_ros.memory.database import sqlite_url
from emv_ros.memory.store import MemoryStore
from emv_ros.memory.writer import BatchWriter
from emv_ros.perception.detections import Detector
from emv_ros.perception.looks import AppearanceModel
from emv_ros.perception.perceive import perceive
from emv_ros.records import ImageRecord
from emv_ros.settings import Settings
from emv_ros.timeline import SECOND_NS

PICTURES = 300
ROBOT, CAMERA = 'rendered', 'head'

Tell = Callable[[str], None]


def bench_perception(folder: Path, settings: Settings, detector: Detector,
                     appearance: AppearanceModel | None, pictures: int = PICTURES,
                     tell: Tell = lambda _: None) -> dict[str, Any]:
    """Return what a pass over rendered pictures took, in an empty memory in `folder`."""
    with MemoryStore(folder, sqlite_url(folder), ROBOT) as store:
        tell(f'storing {pictures} rendered pictures')
        writing_s = _store(store, pictures)
        tell(f'looking at them with {detector.name}')
        began, cpu = time.perf_counter(), time.process_time()
        report = perceive(store, settings, detector=detector, appearance=appearance, finish=True)
        seconds, cpu_s = time.perf_counter() - began, time.process_time() - cpu
        counts = store.counts()
        with store.reading() as session:
            objects = session.scalar(select(func.count()).select_from(schema.SceneObjectRow)) or 0
    looked = max(1, report.pictures)
    stages = {name: round(1000 * spent / looked, 2) for name, spent in report.seconds.items()}
    return {
        'detector': detector.name, 'looks': appearance.name if appearance else 'none',
        'picture': f'{WIDTH}x{HEIGHT}', 'pictures': report.pictures,
        'pictures_per_s': round(looked / seconds, 2), 'seconds': round(seconds, 2),
        'cpu_s': round(cpu_s, 2), 'stored_per_s': round(pictures / max(writing_s, 1e-9), 1),
        'ms_a_picture': {**stages, 'rest': round(
            1000 * (seconds - sum(report.seconds.values())) / looked, 2)},
        'boxes_a_picture': round(objects / looked, 2), 'clips': report.clips,
        'observations': counts['observation'], 'separations': report.separations,
        'problems': list(report.problems)}


def _store(store: MemoryStore, pictures: int) -> float:
    """Store pictures as a recording does, and return the seconds without the rendering."""
    writer, spent = BatchWriter(store), 0.0
    frames = chain.from_iterable(clip for day in range(10_000) for clip in Days(
        seed=day, days=1).clips())
    session_id = writer.begin_session(ROBOT, START_NS)
    for number, frame in enumerate(islice(frames, pictures)):
        began = time.perf_counter()
        stamp_ns = START_NS + number * SECOND_NS  # each of the days begins at one time
        writer.add_image(frame.jpeg, ImageRecord(
            stamp_ns=stamp_ns, robot=ROBOT, session_id=session_id, camera=CAMERA, sha256='',
            media_type='image/jpeg', width=WIDTH, height=HEIGHT))
        spent += time.perf_counter() - began
    began = time.perf_counter()
    writer.close()
    return spent + time.perf_counter() - began
