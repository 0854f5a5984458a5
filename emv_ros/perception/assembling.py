"""From what was found in the pictures of a clip to its scenes, observations and separations."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from emv_ros.errors import EmvError, PerceptionError
from emv_ros.memory.clip_writer import Seen, SeenScene, Shown
from emv_ros.perception.colours import colour_of
from emv_ros.perception.crops import Crop, best
from emv_ros.perception.detections import Box, Detection, iou
from emv_ros.perception.exposure import exposed
from emv_ros.perception.looking import ClipLook, Glance, Tally
from emv_ros.perception.looks import AppearanceModel, Vectors
from emv_ros.perception.presence import shown
from emv_ros.perception.regrouping import STAYED, Track, mean_of, regrouped
from emv_ros.perception.separations import separations
from emv_ros.perception.settling import settled
from emv_ros.perception.stored_boxes import DETECTOR
from emv_ros.records import Observation, Scene, SceneObject, SceneRelation
from emv_ros.timeline import SECOND_NS

if TYPE_CHECKING:
    from emv_ros.settings import Settings

BATCH = 32
WHOLE_FRAMES = 3

# Of a thing in a scene: its key, its box, its distance in m, the place of its observation.
_Part = tuple[Hashable, Detection, float | None, int | None]


@dataclass(frozen=True, slots=True)
class Assembled:
    """What is stored of a clip."""

    scenes: list[SeenScene]
    observations: list[Seen]
    separations: list[tuple[int, int, int]]


def assemble(look: ClipLook, settings: Settings, appearance: AppearanceModel | None,
             robot: str, camera: str, detector: str, tally: Tally) -> Assembled:
    """Return the scenes, observations and separations of a clip that was looked at."""
    tracks = tracks_of(look.glances)
    crops = {track.keys[0]: best(look.album.of(track.keys), settings.perception.crops)
             for track in tracks}
    with tally.timed('looks'):
        vectors = _embedded(tracks, crops, appearance, tally)
    for track in tracks:
        track.vectors = vectors.get(track.keys[0])
    if appearance is not None:
        tracks = regrouped(tracks, appearance.thresholds.regroup)
    shortest_ns = round(settings.perception.min_visible_s * SECOND_NS)
    told_of = [number for number, track in enumerate(tracks)
               if len(track.seen) > 1 and track.visible_ns(look.stamps) >= shortest_ns]
    things = [tracks[number] for number in told_of]
    seen = [_seen(track, look, crops, vectors, settings.perception.crops, robot)
            for track in things]
    with tally.timed('relate'):
        made = _Scenes(look, tracks, told_of, shortest_ns)
        scenes = [made.at(place, robot, camera, detector)
                  for place in range(len(look.glances)) if made.parts[place]]
    return Assembled(scenes, seen, separations(things, settings.biography))


def tracks_of(glances: Sequence[Glance]) -> list[Track]:
    """Return the tracks of a clip; what stands twice in one picture counts by its surer box."""
    tracks: dict[Hashable, Track] = {}
    for place, glance in enumerate(glances):
        for key, item in zip(glance.tracks, glance.detections, strict=True):
            track = tracks.setdefault(key, Track([key]))
            known = track.seen.get(place)
            if known is None or (item.confidence or 0.0) > (known.confidence or 0.0):
                track.seen[place] = item
    return list(tracks.values())


def _embedded(tracks: Sequence[Track], crops: dict[Hashable, list[Crop]],
              appearance: AppearanceModel | None, tally: Tally) -> dict[Hashable, Vectors]:
    """Return the vectors of the crops of each track that has some."""
    pixels = [exposed(crop.pixels, crop.gain) for track in tracks for crop in crops[track.keys[0]]]
    if appearance is None or not pixels:
        return {}
    try:
        rows = np.concatenate([appearance.embed(pixels[start:start + BATCH])
                               for start in range(0, len(pixels), BATCH)])
        if rows.shape != (len(pixels), appearance.dimension):
            raise PerceptionError(f'{len(pixels)} crops, but looks of shape {rows.shape}')
    except Exception as error:  # of a network, whatever it is: things are seen all the same
        said = str(error) if isinstance(error, EmvError) else f'{type(error).__name__}: {error}'
        tally.tell('without_looks', f'the model of looks {appearance.name} failed: {said}')
        return {}
    found, start = {}, 0
    for track in tracks:
        count = len(crops[track.keys[0]])
        mine = rows[start:start + count]
        if count and np.isfinite(mine).all() and mine.any(axis=1).all():
            found[track.keys[0]] = mine
        elif count:
            tally.tell('without_looks', f'the model of looks {appearance.name} gave numbers that '
                       'are none')
        start += count
    return found


def _seen(track: Track, look: ClipLook, crops: dict[Hashable, list[Crop]],
          vectors: dict[Hashable, Vectors], count: int, robot: str) -> Seen:
    """Return the observation of a thing, with its best crops and whole frames."""
    every = [(crop, vectors[key][place] if key in vectors else None)
             for key in track.keys for place, crop in enumerate(crops.get(key, ()))]
    chosen = best([crop for crop, _ in every], count)
    rows = [row for crop in chosen for known, row in every
            if known is crop and row is not None]
    vector = None if not rows else mean_of(np.stack(rows)).astype('<f4').tobytes()
    shown = [Shown(image_id=crop.image_id, bbox=crop.bbox, is_crop=True) for crop in chosen]
    return Seen(observation=_observation(track, look, chosen, robot),
                shown=[*shown, *_whole_frames(track, look, chosen)], vector=vector)


def _observation(track: Track, look: ClipLook, chosen: Sequence[Crop], robot: str) -> Observation:
    places = sorted(track.seen)
    first, last = places[0], places[-1]
    name = track.name
    sure = [item.confidence for item in track.seen.values()
            if item.name == name and item.confidence is not None]
    attributes: dict[str, Any] = {}
    if chosen and (colour := colour_of(chosen[0].pixels)):
        attributes['colour'] = colour
    if state := track.seen[last].state:
        attributes['state'] = state
    return Observation(
        stamp_ns=look.stamps[first], end_ns=look.stamps[last] + 1, robot=robot, name=name,
        instance=track.instance, attributes=attributes, is_person=_is_person(track),
        confidence=round(sum(sure) / len(sure), 4) if sure else None,
        first_bbox=track.seen[first].bbox, last_bbox=track.seen[last].bbox, made_by='detector')


def _is_person(track: Track) -> bool:
    name = track.name
    return next(item.is_person for item in track.seen.values() if item.name == name)


def _whole_frames(track: Track, look: ClipLook, chosen: Sequence[Crop]) -> list[Shown]:
    """Return the first and last picture of a thing, and that of its best crop, in order of time."""
    places = sorted(track.seen)
    wanted = {places[0], places[-1]}
    best_id = chosen[0].image_id if chosen else None
    wanted |= {place for place in places if look.glances[place].picture.id == best_id}
    if len(wanted) < WHOLE_FRAMES:
        wanted.add(places[len(places) // 2])
    return [Shown(image_id=look.glances[place].picture.id, bbox=track.seen[place].bbox,
                  is_crop=False) for place in sorted(wanted)]


@dataclass(frozen=True, slots=True)
class _Last:
    """How what scenes show was seen last: its key there, its track, its box, its distance in m."""

    key: Hashable
    track: Hashable
    bbox: Box
    depth_m: float | None


class _Scenes:
    """Makes the scenes of a clip, in order of time."""

    def __init__(self, look: ClipLook, tracks: Sequence[Track], told_of: Sequence[int],
                 shortest_ns: int) -> None:
        self._look = look
        self._tracks = tracks
        self._observation = {track: number for number, track in enumerate(told_of)}
        self._track_of = {key: number for number, track in enumerate(tracks)
                          for key in track.keys}
        self._shown = shown(tracks, look.stamps, self._observation, shortest_ns, look.before)
        self._last: dict[int, _Last] = {}
        self.parts = [
            self._as_stored(place, glance) if glance.stored else self._as_shown(place, glance)
            for place, glance in enumerate(look.glances)]
        self._relations = settled(
            [look.related(glance, [part[:3] for part in parts])
             for glance, parts in zip(look.glances, self.parts, strict=True)],
            [{key for key, *_ in parts} for parts in self.parts])

    def at(self, place: int, robot: str, camera: str, detector: str) -> SeenScene:
        """Return the scene of a picture; one that is the robot's own stays as it came."""
        glance, parts = self._look.glances[place], self.parts[place]
        names = {key: item.instance or item.name for key, item, _, _ in parts}
        order = {key: number for number, (key, *_) in enumerate(parts)}
        relations = [
            SceneRelation(subject=names[first], predicate=predicate, object=names[second])
            for first, predicate, second in sorted(self._relations[place], key=lambda told: (
                order[told[0]], told[1], order[told[2]]))]
        scene = Scene(
            stamp_ns=glance.picture.stamp_ns, robot=robot, session_id=glance.picture.session_id,
            camera=camera, image_id=glance.picture.id, relations=tuple(relations),
            id=glance.stored.scene_id if glance.stored else None,
            extra={} if glance.stored else {DETECTOR: detector},
            objects=() if glance.stored else tuple(_object(item) for _, item, _, _ in parts))
        return SeenScene(scene=scene, shows=[number for _, _, _, number in parts],
                         known_objects=glance.stored.objects if glance.stored else None)

    def _as_stored(self, place: int, glance: Glance) -> list[_Part]:
        parts: list[_Part] = []
        for key, item, depth_m in zip(glance.tracks, glance.detections, glance.depths_m,
                                      strict=True):
            track = self._track_of[key]
            # Of two boxes of one instance in one picture one counts.
            number = self._observation.get(track) if (
                self._tracks[track].seen.get(place) is item) else None
            parts.append((key, item, depth_m, number))
        return parts

    def _as_shown(self, place: int, glance: Glance) -> list[_Part]:
        found = {id(item): (key, depth_m) for item, key, depth_m in zip(
            glance.detections, glance.tracks, glance.depths_m, strict=True)}
        parts: list[_Part] = []
        for part in self._shown[place]:
            item, last = part.detection, self._last.get(part.key)
            if last is None or not part.is_filled:
                track, depth_m = found.get(id(item), (None, None))
                # What jumps, so that its track was lost, has left its relations behind.
                is_new = last is None or (
                    track != last.track and iou(item.bbox, last.bbox) < STAYED)
                key = ('shown', part.key, place) if last is None or is_new else last.key
                last = self._last[part.key] = _Last(key, track, item.bbox, depth_m)
            parts.append((last.key, item, last.depth_m, self._observation.get(part.track)))
        return parts


def _object(item: Detection) -> SceneObject:
    return SceneObject(name=item.name, instance=item.instance, bbox=item.bbox,
                       confidence=item.confidence, state=item.state)
