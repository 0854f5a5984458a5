"""Real pictures: three like cups that are shuffled by hand, apart in nearly every frame."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from film import MeanColour
import pytest
from red_cups import FILM, RedCups
from sqlalchemy import select

from emv_ros.ingest.importing import import_path
from emv_ros.memory import queries, schema
from emv_ros.memory.writer import BatchWriter
from emv_ros.perception.perceive import perceive
from emv_ros.settings import IngestSettings, Settings

pytestmark = pytest.mark.skipif(not FILM.exists(), reason='the film is not here')


def test_cups_apart_in_a_picture_are_never_one(memory):
    writer = BatchWriter(memory)
    import_path(FILM, writer, IngestSettings(), 'robot')
    assert writer.close()
    report = perceive(memory, Settings(), detector=RedCups(), appearance=MeanColour(),
                      finish=True)
    assert (report.pictures, report.damaged, report.problems) == (100, 0, ())
    found = queries.observations(memory)
    assert len(found) >= 3 and {item.name for item in found} == {'cup'}
    assert {item.attributes['colour'] for item in found} == {'red'}
    with memory.reading() as session:
        apart = {(row.first_id, row.second_id): row.shared_frames
                 for row in session.scalars(select(schema.SeparationRow))}
        owner, scene = schema.SceneObjectRow.observation_id, schema.SceneObjectRow.scene_id
        seen = session.execute(select(scene, owner).where(owner.is_not(None))).all()
    # In no picture has an observation two boxes.
    assert max(Counter(tuple(row) for row in seen).values()) == 1
    # Each pair that a picture shows is told apart, in as many pictures as show both.
    by_scene: dict[int, set[int]] = {}
    for scene_id, ref_id in seen:
        by_scene.setdefault(scene_id, set()).add(ref_id)
    together = Counter(pair for ids in by_scene.values() for pair in combinations(sorted(ids), 2))
    assert dict(together) == apart
    # Three stand side by side at some time, so that three are apart pairwise.
    assert any(all(pair in apart for pair in combinations(three, 2))
               for three in combinations(sorted(item.id for item in found), 3))
