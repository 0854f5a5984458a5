"""From stored pictures to observations, with right values worked out from what was drawn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
import signal
import subprocess
import sys
import threading

from film import (
    BLUE,
    GREEN,
    RED,
    ColourDetector,
    MeanColour,
    Scripted,
    at,
    box_of,
    drawn,
    stored,
)
import numpy as np
import pytest
from sqlalchemy import select

from emv_ros.errors import StoreError
from emv_ros.memory import queries, schema
from emv_ros.memory.clip_writer import mark_of
from emv_ros.perception.detections import Detection
from emv_ros.perception.perceive import can_see, perceive
from emv_ros.records import Pose, Scene, SceneObject, SceneRelation
from emv_ros.settings import Settings

SETTINGS = Settings()
LEFT, RIGHT = (RED, 40, 100), (RED, 200, 100)


def rows(memory, table):
    with memory.reading() as session:
        return list(session.scalars(select(table).order_by(*table.__table__.primary_key)))


def with_perception(**changes) -> Settings:
    return replace(SETTINGS, perception=replace(SETTINGS.perception, **changes))


def film(memory, seconds, *things, **options):
    """Store a picture a second of things that stand still."""
    return [stored(memory, second, drawn(*things), **options) for second in seconds]


def test_two_cups_apart_are_two_observations_with_their_separation(memory):
    ids = film(memory, range(6), LEFT, RIGHT, (BLUE, 120, 20))
    report = perceive(memory, SETTINGS, detector=ColourDetector(), appearance=MeanColour(),
                      finish=True)
    assert (report.pictures, report.clips, report.scenes, report.waiting) == (6, 1, 6, 0)
    found = queries.observations(memory)
    assert sorted((item.name, item.attributes['colour']) for item in found) == [
        ('bottle', 'blue'), ('cup', 'red'), ('cup', 'red')]
    assert {(item.stamp_ns, item.end_ns) for item in found} == {(at(0), at(5) + 1)}
    assert {item.made_by for item in found} == {'detector'}
    assert [item.confidence for item in found] == [0.9] * 3
    clip, = rows(memory, schema.ClipRow)
    assert (clip.start_ns, clip.end_ns, clip.camera) == (at(0), at(5) + 1, 'head')
    assert {item.clip_id for item in found} == {clip.id}
    assert all((row.first_id < row.second_id, row.shared_frames) == (True, 6)
               for row in rows(memory, schema.SeparationRow))
    assert len(rows(memory, schema.SeparationRow)) == report.separations == 3
    # The boxes are those that were drawn, give or take what JPEG does to edges.
    cups = sorted((item for item in found if item.name == 'cup'),
                  key=lambda item: item.first_bbox[0])
    for item, thing in zip(cups, (LEFT, RIGHT), strict=True):
        assert np.allclose(item.first_bbox, box_of(thing), atol=2)
        assert np.allclose(item.last_bbox, box_of(thing), atol=2)
    shown = [row for row in rows(memory, schema.ObservationImageRow)
             if row.observation_id == cups[0].id]
    assert [row.is_crop for row in shown] == sorted((row.is_crop for row in shown), reverse=True)
    assert {row.image_id for row in shown} <= set(ids)
    assert 1 <= sum(row.is_crop for row in shown) <= 4
    assert {row.image_id for row in shown if not row.is_crop} >= {ids[0], ids[-1]}
    assert all(np.allclose(row.bbox, box_of(LEFT), atol=2) for row in shown)


def test_looks_scenes_and_texts_are_stored_with_it(memory):
    ids = film(memory, range(4), LEFT, (BLUE, 200, 100))
    perceive(memory, SETTINGS, detector=ColourDetector(), appearance=MeanColour(), finish=True)
    cup = queries.observations(memory, name='cup')[0]
    looks = {row.observation_id: row for row in rows(memory, schema.AppearanceRow)}
    vector = np.frombuffer(looks[cup.id].vector, '<f4')
    assert looks[cup.id].model == 'mean-colour' and np.isclose(np.linalg.norm(vector), 1)
    assert vector.argmax() == 2  # red, of BGR
    scenes = queries.scenes(memory)
    assert [scene.stamp_ns for scene in scenes] == [at(second) for second in range(4)]
    assert [scene.image_id for scene in scenes] == ids
    assert all({item.name for item in scene.objects} == {'cup', 'bottle'} for scene in scenes)
    assert {scene.camera for scene in scenes} == {'head'}
    assert [relation.predicate for relation in scenes[-1].relations] == ['right of']
    owners = {(row.name, row.observation_id) for row in rows(memory, schema.SceneObjectRow)}
    assert ('cup', cup.id) in owners and len(owners) == 2
    assert queries.observations(memory, text='red cup') == [cup]


def test_again_finds_nothing_new(memory):
    film(memory, range(6), LEFT)
    detector = ColourDetector()
    perceive(memory, SETTINGS, detector=detector, finish=True)
    again = perceive(memory, SETTINGS, detector=detector, finish=True)
    assert (again.pictures, again.clips, again.observations) == (0, 0, 0)
    assert detector.calls == 6


def test_a_clip_waits_until_it_is_full(memory):
    film(memory, range(31), LEFT)
    report = perceive(memory, SETTINGS, detector=ColourDetector())
    assert (report.clips, report.pictures, report.waiting) == (1, 30, 1)
    film(memory, (31, 32, 33), LEFT)
    report = perceive(memory, SETTINGS, detector=ColourDetector())
    assert (report.clips, report.waiting) == (0, 4)
    report = perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    assert (report.clips, report.pictures, report.observations) == (1, 4, 1)
    # The numbers of tracks begin anew in each clip; the observations are two.
    first, second = queries.observations(memory)
    assert (first.clip_id, first.end_ns) != (second.clip_id, second.end_ns)


def test_a_clip_is_over_once_time_went_on_without_the_camera(memory):
    film(memory, range(5), LEFT)
    memory.add(Pose(stamp_ns=at(8.9), frame='map', position=(0, 0, 0)))
    assert perceive(memory, SETTINGS, detector=ColourDetector()).waiting == 5
    memory.add(Pose(stamp_ns=at(9.1), frame='map', position=(0, 0, 0)))
    assert perceive(memory, SETTINGS, detector=ColourDetector()).clips == 1


def test_other_recordings_do_not_end_a_clip(memory):
    memory.begin_session(start_ns=at(0))
    memory.add(Pose(stamp_ns=at(60), frame='map', position=(0, 0, 0)))
    session = memory.begin_session(start_ns=at(0))  # the clock begins again
    film(memory, range(5), LEFT, session_id=session)
    assert perceive(memory, SETTINGS, detector=ColourDetector()).waiting == 5


def test_a_new_session_at_the_same_stamps_is_looked_at(memory):
    film(memory, range(5), LEFT)
    perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    film(memory, range(5), LEFT, session_id=memory.begin_session(start_ns=at(0)))
    report = perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    assert (report.clips, report.observations, report.late) == (1, 1, 0)


def test_an_import_while_the_robot_records_cuts_no_clip_short(memory):
    """Each pass finds two more pictures of the robot; a bag of long ago came in between."""
    own = memory.begin_session(start_ns=at(0))
    film(memory, range(10), LEFT, session_id=own)
    bag = memory.begin_session(start_ns=at(-9000), clock_source='bag')
    film(memory, range(-9000, -8960), RIGHT, session_id=bag)
    for second in range(10, 70, 2):
        film(memory, (second, second + 1), LEFT, session_id=own)
        perceive(memory, SETTINGS, detector=ColourDetector())
    perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    assert sorted((row.start_ns, row.end_ns) for row in rows(memory, schema.ClipRow)) == [
        (at(first), at(last) + 1) for first, last in (
            (-9000, -8971), (-8970, -8961), (0, 29), (30, 59), (60, 69))]
    assert len(queries.observations(memory)) == 5


def test_a_camera_that_goes_on_in_a_new_session_ends_the_clip_of_the_old_one(memory):
    film(memory, range(5), LEFT, session_id=memory.begin_session(start_ns=at(0)))
    film(memory, range(-3, 2), LEFT, session_id=memory.begin_session(start_ns=at(-3)))
    report = perceive(memory, SETTINGS, detector=ColourDetector())
    assert (report.clips, report.pictures, report.waiting) == (1, 5, 5)


def test_late_pictures_make_a_clip_of_their_own_where_no_clip_is(memory):
    film(memory, range(100, 105), LEFT)
    perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    film(memory, range(50, 54), LEFT)  # before all of it
    stored(memory, 102.5, drawn(LEFT))  # within it
    film(memory, range(105, 108), LEFT)  # goes on
    report = perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    assert (report.clips, report.pictures, report.late) == (2, 7, 1)
    assert sorted((row.start_ns, row.end_ns) for row in rows(memory, schema.ClipRow)) == [
        (at(50), at(53) + 1), (at(100), at(104) + 1), (at(105), at(107) + 1)]
    again = perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    assert (again.clips, again.late) == (0, 0)


def test_late_pictures_are_told_once_whatever_order_they_come_in(memory):
    film(memory, range(100, 105), LEFT)
    perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    film(memory, range(60, 64), LEFT)
    film(memory, range(20, 24), LEFT)
    report = perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    assert (report.clips, report.late) == (2, 0)
    report = perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    assert (report.clips, report.late) == (0, 0)


def test_late_pictures_wait_where_their_clip_changed_meanwhile(memory):
    """One of them is forgotten while they are looked at, and pictures wait after them."""
    film(memory, range(100, 105), LEFT)
    perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    lost = film(memory, range(50, 55), LEFT)[0]
    film(memory, range(120, 125), LEFT)

    def forget(done, _total):
        if done == 3:
            with memory.writing() as session:
                session.delete(session.get(schema.ImageRow, lost))

    report = perceive(memory, SETTINGS, detector=ColourDetector(), finish=True, progress=forget)
    assert len(report.problems) == 1
    perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    assert sorted((row.start_ns, row.end_ns) for row in rows(memory, schema.ClipRow)) == [
        (at(51), at(54) + 1), (at(100), at(104) + 1), (at(120), at(124) + 1)]


def test_cameras_and_depth_are_kept_apart(memory):
    film(memory, range(4), LEFT)
    film(memory, range(4), RIGHT, camera='wrist')
    with memory.writing() as session:
        for row in session.scalars(select(schema.ImageRow).where(
                schema.ImageRow.camera == 'wrist', schema.ImageRow.stamp_ns > at(2))):
            row.is_depth = True
    report = perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    assert (report.clips, report.pictures, report.separations) == (2, 7, 0)
    assert sorted(row.camera for row in rows(memory, schema.ClipRow)) == ['head', 'wrist']


def test_what_is_seen_too_shortly_is_no_observation(memory):
    film(memory, (0, 1), LEFT)
    film(memory, range(2, 8), (BLUE, 200, 100))
    stored(memory, 8, drawn((GREEN, 100, 100)))
    report = perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    assert [item.name for item in queries.observations(memory)] == ['bottle']
    assert report.scenes == 9  # what was seen is in the scenes all the same
    # Of one picture there is no observation whatever the setting.
    unset = [row.observation_id for row in rows(memory, schema.SceneObjectRow)]
    assert unset.count(None) == 3


def test_an_empty_picture_makes_no_scene(memory):
    film(memory, range(3))
    report = perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    assert (report.pictures, report.scenes, report.clips) == (3, 0, 1)


def test_a_black_first_picture(memory):
    stored(memory, 0, np.zeros((240, 320, 3), np.uint8))
    film(memory, range(1, 5), LEFT)
    perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    found, = queries.observations(memory)
    assert (found.stamp_ns, found.end_ns) == (at(1), at(4) + 1)


def test_a_new_number_in_each_picture_is_one_observation(memory):
    """A thing that jumps so far that no tracker follows, and looks the same."""
    places = [(RED, left, top) for left, top in (
        (40, 20), (220, 150), (30, 150), (230, 20), (120, 90), (20, 30))]
    for second, thing in enumerate(places):
        stored(memory, second, drawn(thing))
    report = perceive(memory, SETTINGS, detector=ColourDetector(), appearance=MeanColour(),
                      finish=True)
    found, = queries.observations(memory)
    assert report.observations == 1
    assert (found.stamp_ns, found.end_ns) == (at(0), at(5) + 1)


def test_two_like_things_that_jump_are_never_one(memory):
    for second in range(6):
        shift = 90 * (second % 2)
        stored(memory, second, drawn((RED, 20, 20 + shift), (RED, 230, 110 - shift)))
    perceive(memory, SETTINGS, detector=ColourDetector(), appearance=MeanColour(), finish=True)
    objects = rows(memory, schema.SceneObjectRow)
    pairs = [(row.scene_id, row.observation_id) for row in objects if row.observation_id]
    assert pairs and len(pairs) == len(set(pairs))
    apart = {(row.first_id, row.second_id) for row in rows(memory, schema.SeparationRow)}
    together = {(one, other) for scene, one in pairs for place, other in pairs
                if scene == place and one < other}
    assert together and together == apart


def test_damaged_and_missing_pictures_are_named_and_cost_nothing_else(memory):
    ids = film(memory, range(6), LEFT)
    files = {ref_id: memory.pictures.path(row.sha256, row.media_type)
             for ref_id, row in ((row.id, row) for row in rows(memory, schema.ImageRow))}
    other = stored(memory, 6, b'no picture at all')
    cut_off = stored(memory, 7, drawn(LEFT, RIGHT))
    row = memory.get('image', cut_off)
    path = memory.pictures.path(row.sha256, row.media_type)
    path.write_bytes(path.read_bytes()[:200])
    gone = stored(memory, 8, drawn(RIGHT))
    row = memory.get('image', gone)
    memory.pictures.path(row.sha256, row.media_type).unlink()
    assert files[ids[0]].exists()
    report = perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    assert (report.pictures, report.damaged, report.observations) == (6, 3, 1)
    told = ' '.join(report.problems)
    for ref_id, words in ((other, 'do not decode'), (cut_off, 'is damaged'), (gone, 'is missing')):
        assert f'picture i{ref_id}: ' in told and words in told


def test_pictures_of_a_disk_that_is_away_wait_for_it(memory):
    film(memory, range(5), LEFT)
    folder = memory.pictures.folder
    away = folder.rename(folder.with_name('away'))
    with pytest.raises(StoreError, match='the folder of pictures .* is missing'):
        perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    away.rename(folder)

    def take_away(done, _total):
        if done == 3:
            folder.rename(away)

    with pytest.raises(StoreError, match='the folder of pictures .* is missing'):
        perceive(memory, SETTINGS, detector=ColourDetector(), finish=True, progress=take_away)
    away.rename(folder)
    report = perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    assert (report.pictures, report.observations) == (5, 1)


def test_grey_pictures_and_png(memory):
    for second in range(3):
        stored(memory, second, drawn(LEFT), kind='png')
    for second in range(3, 6):
        stored(memory, second, drawn(LEFT)[..., 2])  # red as brightness, one channel
    stored(memory, 6, drawn(LEFT)[..., 2].astype(np.uint16) * 257, kind='png')
    report = perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    assert (report.pictures, report.damaged, report.scenes) == (7, 0, 3)


def test_a_detector_that_raises_costs_its_picture(memory):
    film(memory, range(5), LEFT)
    cup = [Detection(name='cup', bbox=box_of(LEFT), confidence=0.8)]
    script = [cup, cup, RuntimeError('out of memory'), cup, cup]
    report = perceive(memory, SETTINGS, detector=Scripted(script), finish=True)
    assert (report.pictures, report.failed, report.observations) == (4, 1, 1)
    assert report.problems == ('the detector script failed: RuntimeError: out of memory',)


def test_a_detector_that_always_raises_does_not_hold_up_what_comes(memory):
    film(memory, range(5), LEFT)
    script = [ValueError(f'bad {number}') for number in range(5)]
    report = perceive(memory, SETTINGS, detector=Scripted(script), finish=True)
    assert (report.failed, report.clips, report.observations) == (5, 1, 0)
    film(memory, range(20, 24), LEFT)
    report = perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    assert (report.clips, report.pictures) == (1, 4)


def test_boxes_that_are_none_are_left_out(memory):
    film(memory, range(3), LEFT)
    boxes = [(float('nan'), 0., 10., 10.), (50., 50., 40., 60.), (400., 300., 500., 400.),
             (-10., -10., 60., 60.)]
    script = [[Detection(name='cup', bbox=box) for box in boxes]] * 3
    perceive(memory, SETTINGS, detector=Scripted(script), finish=True)
    assert [tuple(row.bbox) for row in rows(memory, schema.SceneObjectRow)] == [(0, 0, 60, 60)] * 3
    # It touches the border: there is no crop, and so no looks of it.
    found, = queries.observations(memory)
    shown = rows(memory, schema.ObservationImageRow)
    assert found.confidence is None and shown and not any(row.is_crop for row in shown)


def test_hundreds_of_boxes_are_looked_at_in_time(memory):
    """A detector with a low threshold: 300 boxes, of which the largest are related."""
    film(memory, range(3), LEFT)
    small = [Detection(name='crumb', confidence=0.5, bbox=(x, y, x + 8.0, y + 8.0))
             for x in np.arange(0.0, 300.0, 10) for y in np.arange(0.0, 90.0, 10)]
    large = [Detection(name='cup', confidence=0.4, bbox=box_of(thing)) for thing in (LEFT, RIGHT)]
    report = perceive(memory, SETTINGS, detector=Scripted([[*small, *large]] * 3), finish=True)
    assert report.scenes == 3 and report.seconds['relate'] < 3 * 3
    assert any(item.subject == item.object == 'cup'
               for item in queries.scenes(memory)[-1].relations)


@pytest.mark.parametrize(('changes', 'kept'), [
    ({'name': 'cup\ud800'}, ('cup', 0.9)), ({'name': 'a\n"cup"\0'}, ('a "cup"', 0.9)),
    ({'name': 'cup' * 9999}, (('cup' * 67)[:200], 0.9)), ({'name': ' \n'}, None),
    ({'name': None}, None), ({'name': 5}, None), ({'bbox': None}, None),
    ({'bbox': (40., 100., 90.)}, None), ({'bbox': (40., 100., 90., 160., 1.)}, None),
    ({'bbox': tuple(np.float32(box_of(LEFT)))}, ('cup', 0.9)), ({'confidence': 'high'}, None),
    ({'confidence': 7.0}, ('cup', 1.0)), ({'confidence': -1.0}, ('cup', 0.0)),
    ({'confidence': float('nan')}, ('cup', None)), ({'state': '\ud800'}, ('cup', 0.9))])
def test_what_no_memory_could_hold_costs_its_detection_alone(memory, changes, kept):
    film(memory, range(4), LEFT, RIGHT)
    bad = replace(Detection(name='cup', bbox=box_of(LEFT), confidence=0.9), **changes)
    good = Detection(name='plate', bbox=box_of(RIGHT), confidence=0.8)
    perceive(memory, SETTINGS, detector=Scripted([[bad, good]] * 4), finish=True)
    found = {item.name: item.confidence for item in queries.observations(memory)}
    assert found == {'plate': 0.8, **dict([kept] if kept else [])}


class Odd(MeanColour):
    """A model of looks that gives other rows than it should."""

    def __init__(self, change):
        self._change = change

    def embed(self, crops):
        return self._change(super().embed(crops))


@pytest.mark.parametrize(('change', 'with_looks'), [
    (lambda looks: looks[:-1], 0), (lambda looks: looks[:, :2], 0),
    (lambda looks: looks.ravel(), 0), (lambda looks: None, 0),
    (lambda looks: looks * np.nan, 0), (lambda looks: looks * 0, 0),
    (lambda looks: np.where(np.arange(3) == looks.argmax(axis=1)[:, None], looks, 0), 2),
    (lambda looks: np.where(looks.argmax(axis=1)[:, None] == 2, np.inf, looks), 1)])
def test_looks_that_are_none_are_not_stored(memory, change, with_looks):
    film(memory, range(4), LEFT, (BLUE, 200, 100))
    report = perceive(memory, SETTINGS, detector=ColourDetector(), appearance=Odd(change),
                      finish=True)
    looks = [np.frombuffer(row.vector, '<f4') for row in rows(memory, schema.AppearanceRow)]
    assert report.observations == 2 and len(looks) == with_looks
    assert np.isfinite(looks).all() and bool(report.problems) == (with_looks < 2)


class Broken(MeanColour):
    """A model of looks that fails."""

    def embed(self, crops):
        raise RuntimeError('no weights')


def test_a_model_of_looks_that_raises_costs_the_looks(memory):
    film(memory, range(4), LEFT)
    report = perceive(memory, SETTINGS, detector=ColourDetector(), appearance=Broken(),
                      finish=True)
    assert report.observations == 1 and not rows(memory, schema.AppearanceRow)
    assert report.problems == ('the model of looks mean-colour failed: RuntimeError: no weights',)


def test_only_some_are_looked_at_to_catch_up(memory):
    film(memory, range(60), LEFT)
    settings = with_perception(backlog=20)
    report = perceive(memory, settings, detector=ColourDetector(), catch_up=True, finish=True)
    assert (report.clips, report.pictures, report.passed_over) == (2, 20, 40)
    assert perceive(memory, settings, detector=ColourDetector(), finish=True).pictures == 0


def test_an_import_passes_nothing_over(memory):
    film(memory, range(60), LEFT)
    report = perceive(memory, with_perception(backlog=20), detector=ColourDetector(), finish=True)
    assert (report.pictures, report.passed_over) == (60, 0)


def test_canceled_in_a_clip_it_is_looked_at_again(memory):
    film(memory, range(40), LEFT)
    cancel, detector = threading.Event(), ColourDetector()

    def watch(done, total):
        assert total == 40
        if done == 35:
            cancel.set()

    report = perceive(memory, SETTINGS, detector=detector, finish=True, cancel=cancel,
                      progress=watch)
    assert report.canceled and report.clips == 1
    report = perceive(memory, SETTINGS, detector=detector, finish=True)
    assert (report.clips, report.pictures) == (1, 10)
    assert detector.calls == 45
    assert len(queries.scenes(memory)) == 40


def test_nothing_to_see_with(memory):
    film(memory, range(5), LEFT)
    report = perceive(memory, SETTINGS, finish=True)
    assert report.is_blind and report.clips == 0 and not can_see(memory)
    # A detector that comes later looks at all of it.
    assert perceive(memory, SETTINGS, detector=ColourDetector(), finish=True).pictures == 5
    assert not can_see(memory)  # its own scenes are no boxes of the robot


def test_an_empty_memory(memory):
    assert perceive(memory, SETTINGS, detector=ColourDetector(), finish=True).clips == 0


def test_scenes_do_not_flicker_and_observations_rest_on_what_was_detected(memory):
    film(memory, range(40), LEFT, RIGHT)
    cup, bottle = (Detection(name=name, bbox=box_of(thing), confidence=0.9)
                   for name, thing in (('cup', LEFT), ('bottle', RIGHT)))
    ghost = Detection(name='vase', bbox=(10., 10., 40., 40.), confidence=0.4)
    script = [[cup, bottle] for _ in range(40)]
    script[7] = [bottle]
    script[12] = [cup, bottle, ghost]
    script[29] = []  # the last picture of the first clip, of which nobody knows how it goes on
    script[30] = [cup]  # the first of the second
    perceive(memory, SETTINGS, detector=Scripted(script), finish=True)
    scenes = queries.scenes(memory)
    assert [scene.stamp_ns for scene in scenes] == [at(second) for second in range(40)
                                                    if second != 29]
    assert {tuple(sorted(item.name for item in scene.objects)) for scene in scenes} == {
        ('bottle', 'cup')}
    assert len({scene.relations for scene in scenes}) == 1 and scenes[7].relations
    filled = [item for scene in scenes for item in scene.objects if item.confidence is None]
    assert [(item.name, item.bbox) for item in filled] == [
        ('cup', box_of(LEFT)), ('bottle', box_of(RIGHT))]
    links = [row.observation_id for row in rows(memory, schema.SceneObjectRow)]
    assert all(links) and len(set(links)) == len(queries.observations(memory)) == 4
    starts = {(item.name, item.stamp_ns) for item in queries.observations(memory)}
    assert starts == {('cup', at(0)), ('bottle', at(0)), ('cup', at(30)), ('bottle', at(31))}
    boxed = {row.image_id for row in rows(memory, schema.ObservationImageRow)}
    assert not boxed & {scenes[7].image_id} or all(
        row.bbox == list(box_of(RIGHT)) for row in rows(memory, schema.ObservationImageRow)
        if row.image_id == scenes[7].image_id)
    assert [row.shared_frames for row in rows(memory, schema.SeparationRow)] == [28, 9]


def test_what_jumps_has_its_new_relations_at_once(memory):
    film(memory, range(12), LEFT, RIGHT)
    bottle = Detection(name='bottle', bbox=(140., 100., 190., 160.), confidence=0.9)
    before, after = (Detection(name='cup', bbox=(left, 100., left + 50, 160.), confidence=0.9)
                     for left in (60., 220.))
    script = [[bottle, before]] * 6 + [[bottle, after]] * 6
    perceive(memory, SETTINGS, detector=Scripted(script), finish=True)
    told = [scene.relations for scene in queries.scenes(memory)]
    assert told == [told[0]] * 6 + [told[-1]] * 6
    assert len(told[0]) == len(told[-1]) == 1


def given(memory, second, *objects, camera='head', relations=()):
    """Store a scene with boxes as a robot's own detector gives it."""
    return memory.add(Scene(stamp_ns=at(second), camera=camera, objects=objects,
                            relations=relations))


def test_boxes_of_the_robot_are_used_as_they_come(memory):
    film(memory, range(5), LEFT, RIGHT)
    mug = SceneObject(name='mug', instance='mug-7', bbox=box_of(LEFT), state='full')
    other = SceneObject(name='mug', bbox=box_of(RIGHT), confidence=0.7)
    ids = [given(memory, second, mug, other) for second in range(5)]
    assert can_see(memory)
    report = perceive(memory, SETTINGS, appearance=MeanColour(), finish=True)
    assert (report.pictures, report.observations, report.is_blind) == (5, 2, False)
    assert len(queries.scenes(memory)) == 5  # none is doubled
    named = {item.instance: item for item in queries.observations(memory)}
    assert set(named) == {'mug-7', ''}
    assert named['mug-7'].attributes == {'colour': 'red', 'state': 'full'}
    assert len(rows(memory, schema.SeparationRow)) == 1
    scene = queries.scenes(memory, ids=[ids[2]])[0]
    assert scene.image_id and [item.predicate for item in scene.relations] == ['left of']
    assert {row.observation_id for row in rows(memory, schema.SceneObjectRow)} == {
        item.id for item in named.values()}


def test_boxes_of_a_picture_of_another_size_are_brought_to_the_stored_one(memory):
    """The robot's detector saw the 320 × 240 of the camera at 640 × 480, and says so."""
    film(memory, range(4), LEFT)
    double = tuple(2 * edge for edge in box_of(LEFT))
    for second in range(4):
        memory.add(Scene(stamp_ns=at(second), camera='head', objects=(
            SceneObject(name='mug', instance='m', bbox=double),),
            extra={'image_width': 640, 'image_height': 480}))
    perceive(memory, SETTINGS, appearance=MeanColour(), finish=True)
    found, = queries.observations(memory)
    assert (found.first_bbox, found.attributes) == (box_of(LEFT), {'colour': 'red'})


def test_of_two_scenes_of_a_picture_that_with_identities_counts(memory):
    film(memory, range(4), LEFT)
    for second in range(4):
        given(memory, second, SceneObject(name='thing', bbox=box_of(LEFT)),
              SceneObject(name='thing', bbox=box_of(RIGHT)))
        given(memory, second, SceneObject(name='mug', instance='m', bbox=box_of(LEFT)))
    perceive(memory, SETTINGS, finish=True)
    assert [(item.name, item.instance) for item in queries.observations(memory)] == [('mug', 'm')]


def test_a_scene_keeps_the_relations_that_the_robot_gave(memory):
    film(memory, range(3), LEFT, RIGHT)
    told = SceneRelation(subject='mug', predicate='beside', object='mug')
    for second in range(3):
        given(memory, second, SceneObject(name='mug', bbox=box_of(LEFT)),
              SceneObject(name='mug', bbox=box_of(RIGHT)), relations=(told,))
    perceive(memory, SETTINGS, finish=True)
    assert [scene.relations for scene in queries.scenes(memory)] == [(told,)] * 3


def test_the_detector_looks_where_the_robot_gave_no_boxes(memory):
    film(memory, range(6), LEFT)
    detector = ColourDetector()
    for second in range(3):
        given(memory, second, SceneObject(name='mug', instance='m', bbox=box_of(LEFT)))
    given(memory, 4, SceneObject(name='table'))  # no box
    perceive(memory, SETTINGS, detector=detector, finish=True)
    assert detector.calls == 3
    assert sorted((item.name, item.instance) for item in queries.observations(memory)) == [
        ('cup', ''), ('mug', 'm')]


def test_without_a_detector_other_cameras_wait_for_one(memory):
    film(memory, range(4), LEFT)
    film(memory, range(4), LEFT, camera='wrist')
    for second in range(4):
        given(memory, second, SceneObject(name='mug', instance='m', bbox=box_of(LEFT)))
    report = perceive(memory, SETTINGS, finish=True)
    assert (report.pictures, report.clips) == (4, 1)
    assert perceive(memory, SETTINGS, finish=True).clips == 0
    report = perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    assert (report.pictures, report.clips) == (4, 1)


def test_an_instance_that_stands_twice_in_a_picture_counts_by_its_surer_box(memory):
    film(memory, range(3), LEFT, RIGHT)
    for second in range(3):
        given(memory, second, SceneObject(
            name='mug', instance='m', bbox=box_of(LEFT), confidence=0.4), SceneObject(
            name='mug', instance='m', bbox=box_of(RIGHT), confidence=0.9))
    perceive(memory, SETTINGS, finish=True)
    found, = queries.observations(memory)
    assert found.first_bbox == box_of(RIGHT)
    assert sum(row.observation_id is None for row in rows(memory, schema.SceneObjectRow)) == 3


@pytest.mark.parametrize('robots', [('a', 'b')])
def test_robots_are_kept_apart(memory, robots):
    for robot in robots:
        session = memory.begin_session(robot, start_ns=at(0))
        for second in range(4):
            ref_id = stored(memory, second, drawn(LEFT), session_id=session)
            with memory.writing() as rows_:
                rows_.get(schema.ImageRow, ref_id).robot_id = memory.robot_id(rows_, robot)
    report = perceive(memory, SETTINGS, robot='a', detector=ColourDetector(), finish=True)
    assert (report.clips, report.pictures) == (1, 4)
    assert {item.robot for item in queries.observations(memory)} == {'a'}
    assert perceive(memory, SETTINGS, detector=ColourDetector(), finish=True).pictures == 4


def test_the_mark_is_that_of_the_last_clip(memory):
    ids = film(memory, range(5), LEFT)
    perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    with memory.reading() as session:
        robot_id, = memory.robot_ids(session)
        mark = mark_of(session, robot_id, 'head', memory.get('image', ids[0]).session_id)
    assert (mark.stamp_ns, mark.image_id) == (at(4), ids[-1])


def test_another_process_between_finding_and_looking_doubles_nothing(memory):
    """The other one looks at all cameras after this one found what waits, and before it looks."""
    film(memory, range(40), LEFT)
    film(memory, range(40), LEFT, camera='wrist')

    def other(done, _total):
        if done == 1:
            perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)

    report = perceive(memory, SETTINGS, detector=ColourDetector(), finish=True, progress=other)
    assert report.clips == 0 and len(report.problems) == 2
    assert len(rows(memory, schema.ClipRow)) == 4 and len(queries.scenes(memory)) == 80


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from databases import database_url
from film import ColourDetector
from pathlib import Path
from emv_ros.memory.store import MemoryStore
from emv_ros.perception.perceive import perceive
from emv_ros.settings import Settings

class Killed(ColourDetector):
    def detect(self, pixels):
        if self.calls == 40:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().detect(pixels)

folder = Path(sys.argv[2])
with MemoryStore(folder, database_url(folder), 'robot') as store:
    perceive(store, Settings(), detector=Killed(), finish=True)
"""


def test_killed_in_a_clip_nothing_is_lost_or_doubled(memory):
    film(memory, range(70), LEFT, RIGHT)
    done = subprocess.run([sys.executable, '-c', KILLED, str(Path(__file__).parent),
                           str(memory.folder)], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert len(queries.scenes(memory)) == 30  # the first clip
    report = perceive(memory, SETTINGS, detector=ColourDetector(), finish=True)
    assert (report.clips, report.pictures) == (2, 40)
    scenes = queries.scenes(memory)
    assert [scene.stamp_ns for scene in scenes] == [at(second) for second in range(70)]
    assert len(queries.observations(memory)) == 6
    assert len(rows(memory, schema.ClipRow)) == len(rows(memory, schema.SeparationRow)) == 3
