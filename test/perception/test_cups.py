"""Real pictures: three like cups that are shuffled by hand, apart in nearly every frame."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
import math

from film import MeanColour
import pytest
from red_cups import FILM, RedCups
from sqlalchemy import select

from emv_ros.biography.association import associate
from emv_ros.ingest.importing import import_path
from emv_ros.memory import queries, schema
from emv_ros.memory.writer import BatchWriter
from emv_ros.perception.perceive import perceive
from emv_ros.settings import IngestSettings, Settings

pytestmark = pytest.mark.skipif(not FILM.exists(), reason='the film is not here')


@pytest.fixture
def film(memory):
    """Return a memory that holds the film."""
    writer = BatchWriter(memory)
    import_path(FILM, writer, IngestSettings(), 'robot')
    assert writer.close()
    return memory


def test_cups_apart_in_a_picture_are_never_one(film):
    memory = film
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


@pytest.mark.parametrize('clip_s', [1.5, 3.0, 30.0])
def test_no_entity_stands_twice_in_a_picture(film, clip_s):
    """Over the whole film and across clips, where by looks each cup could be each other."""
    settings = replace(Settings(), perception=replace(
        Settings().perception, clip_s=clip_s, min_visible_s=0.5))
    report = perceive(film, settings, detector=RedCups(), appearance=MeanColour(), finish=True)
    assert report.clips == math.ceil(9.95 / clip_s)
    associate(film, settings.biography, 'robot', (0.5, 0.5))
    part, told = schema.SceneObjectRow, schema.ObservationRow
    with film.reading() as session:
        places = session.execute(
            select(part.scene_id, told.entity_id).join(told, told.id == part.observation_id)).all()
    assert all(entity_id for _, entity_id in places)
    assert max(Counter(tuple(row) for row in places).values()) == 1
    # Where there are several clips, entities have observations in more than one.
    entities = {entity_id for _, entity_id in places}
    assert len(entities) < report.observations or report.clips == 1
