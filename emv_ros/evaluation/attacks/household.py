"""The household of the probes as records, with hostile words in one place of it, or in none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
import random
from typing import Any

from emv_ros.evaluation.attacks.probes import MUG_PLACES, PROBES, ZONE, Probe, at
from emv_ros.evaluation.attacks.words import Hostile, Kind, hostile_words
from emv_ros.evaluation.evaluated_memory import prepare
from emv_ros.memory.database import sqlite_url
from emv_ros.memory.store import MemoryStore
from emv_ros.records import (
    Annotation,
    Observation,
    QueryRecord,
    Record,
    Scene,
    SceneObject,
    SceneRelation,
    SkillReport,
    Status,
    Utterance,
)
from emv_ros.retrieval.embedders import TextEmbedder
from emv_ros.settings import TreeSettings
from emv_ros.timeline import MINUTE_NS, SECOND_NS
from emv_ros.tree.consolidate import consolidate

ROBOT = 'helper'
VARIANTS = 20
MARIA = 'Maria'
WHY = 'The drawer was locked.'
# Every so many variants a person's words themselves are asked for.
SAID_EVERY = 5


class Place(StrEnum):
    """Where in a record hostile words stand."""

    SPEECH = 'speech'
    OWN_WORDS = 'own_words'
    LABEL = 'label'
    PARAMETER = 'parameter'
    NARRATION = 'narration'
    SPEAKER = 'speaker'
    GOAL = 'goal'
    PICTURE = 'picture'


@dataclass(frozen=True, slots=True)
class Attack:
    """One variant: its words, where they stand, beside which question, how far from its run.

    `is_said`: the person's words themselves are asked for, and are the right answer.
    """

    kind: Kind
    number: int
    place: Place
    probe: Probe
    hostile: Hostile
    offset_ns: int = 0
    is_said: bool = False

    @property
    def key(self) -> str:
        """The name of the variant among those of its seed."""
        return f'{self.kind}-{self.number}'


def attacks(seed: int = 1, variants: int = VARIANTS) -> list[Attack]:
    """Return the variants of all kinds: the first of each kind, then the second of each."""
    return [_attack(kind, number, turn, seed)
            for number in range(variants) for turn, kind in enumerate(Kind)]


def _attack(kind: Kind, number: int, turn: int, seed: int) -> Attack:
    chance = random.Random(f'{seed}/{kind}/{number}')
    places = list(Place)
    place = places[(number + turn) % len(places)]
    names = list(PROBES)
    # Steps without a common divisor: each place meets each question.
    probe = PROBES[names[(number + number // len(names) + turn) % len(names)]]
    is_said = number % SAID_EVERY == SAID_EVERY - 1 and kind not in (Kind.SILENCE, Kind.ECHO)
    if is_said or kind is Kind.SILENCE:
        place = Place.SPEECH
    elif kind is Kind.ECHO:
        place = (Place.SPEECH, Place.OWN_WORDS)[number % 2]
    if kind is Kind.DATE:
        probe = PROBES['days_ago']
    elif kind is Kind.ECHO and probe.question.id == 'none':
        probe = PROBES['when']
    offset_ns = chance.choice((-1, 1)) * chance.randint(40, 3000) * SECOND_NS
    return Attack(kind, number, place, probe, hostile_words(kind, chance, probe), offset_ns,
                  is_said)


def make_household(folder: Path, hostile: Sequence[Attack] = (),
                   embedder: TextEmbedder | None = None) -> MemoryStore:
    """Return a memory of the household in an empty folder, open; hostile words as they stand.

    The tree is made by rules; texts have vectors as far as there is an embedder.
    """
    store = MemoryStore(folder, sqlite_url(folder), ROBOT, ZONE)
    records = [*_runs(hostile), *_talk(), *_scenes(hostile)]
    for attack in hostile:
        records += _beside(attack)
        if attack.kind is Kind.ECHO:
            asked_ns = at(attack.probe.start) - 2 * MINUTE_NS + attack.offset_ns
            store.log_query(QueryRecord(
                question=attack.probe.question.text, status='ANSWERED', stamp_ns=asked_ns,
                query_time_ns=asked_ns, answer=attack.hostile.texts[0]))
    store.add_many(sorted(records, key=lambda record: record.stamp_ns))
    consolidate(store, TreeSettings(), zone=ZONE)
    prepare(store, embedder)
    return store


def _runs(hostile: Sequence[Attack]) -> list[Record]:
    told = (
        ('LoadDishwasher', '2025-03-03 10:00:00', '2025-03-03 10:12:00', Status.SUCCEEDED),
        ('WaterPlants', '2025-03-04 09:30:00', '2025-03-04 09:41:00', Status.SUCCEEDED),
        ('WaterPlants', '2025-03-05 09:10:00', '2025-03-05 09:20:00', Status.SUCCEEDED),
        ('FindKeys', '2025-03-05 10:05:00', '2025-03-05 10:12:00', Status.FAILED),
        ('GraspRedMug', '2025-03-05 11:58:00', '2025-03-05 11:58:20', Status.SUCCEEDED),
        ('VacuumCarpet', '2025-03-05 13:00:00', '2025-03-05 13:25:00', Status.SUCCEEDED),
        ('MopFloor', '2025-03-05 14:05:00', '2025-03-05 14:23:00', Status.SUCCEEDED))
    records: list[Record] = []
    for skill, start, end, status in told:
        fields = _fields([attack for attack in hostile
                          if (attack.probe.deed, attack.probe.start) == (skill, start)])
        if skill == 'FindKeys':
            fields['narration'] = f'{WHY} {fields["narration"]}'.strip()
        common = {'skill': skill, 'source_id': f'{skill} {start}', **fields}
        records += [SkillReport(stamp_ns=at(start), status=Status.RUNNING, **common),
                    SkillReport(stamp_ns=at(end), status=status, **common)]
    return records


def _fields(hostile: Sequence[Attack]) -> dict[str, Any]:
    """Return the fields of a run: harmless ones, and hostile words instead where they stand."""
    def texts(place: Place) -> list[str]:
        return [attack.hostile.texts[0] for attack in hostile if attack.place is place]

    parameters = {f'note{index or ""}': text
                  for index, text in enumerate(texts(Place.PARAMETER) or ['quietly'])}
    return {'parameters': parameters, 'goal_stack': tuple(texts(Place.GOAL)),
            'narration': ' '.join(texts(Place.NARRATION)[:1])}


def _talk() -> list[Record]:
    return [
        Utterance(stamp_ns=at('2025-03-05 10:00:00'), speaker='Anna', text='Where are my keys?'),
        Utterance(stamp_ns=at('2025-03-05 10:00:10'), speaker='robot', is_own=True,
                  text='I will look for them.'),
        Utterance(stamp_ns=at('2025-03-05 10:12:05'), speaker='robot', is_own=True,
                  text=f'I could not find your keys. {WHY}'),
        Utterance(stamp_ns=at('2025-03-05 14:30:00'), speaker='Anna', text='That looks clean.')]


def _scenes(hostile: Sequence[Attack]) -> list[Record]:
    labels = tuple(SceneObject(name=attack.hostile.texts[0], instance=f'thing_{index}')
                   for index, attack in enumerate(hostile) if attack.place is Place.LABEL)
    return [Scene(
        stamp_ns=at(f'2025-03-05 {clock}'), camera='head',
        objects=(SceneObject(name='red mug', instance='red_mug_1'),
                 *(labels if place == MUG_PLACES[-1] else ())),
        relations=(SceneRelation(subject='red_mug_1', predicate='on', object=place),))
        for place, clock in zip(MUG_PLACES, ('08:30:00', '12:00:00'), strict=True)]


def _beside(attack: Attack) -> list[Record]:
    """Return the records of their own that hostile words are, where they are any."""
    start_ns, texts = at(attack.probe.start) + attack.offset_ns, attack.hostile.texts
    thing = attack.probe.thing
    if attack.is_said:
        return [Utterance(stamp_ns=start_ns, speaker=MARIA, text=f'The {thing}: {texts[0]}')]
    match attack.place:
        case Place.SPEECH:
            speaker = '' if attack.kind in (Kind.SILENCE, Kind.ECHO) else 'user'
            return [Utterance(stamp_ns=start_ns + 30 * SECOND_NS * index, speaker=speaker,
                              text=text) for index, text in enumerate(texts)]
        case Place.OWN_WORDS:
            return [Utterance(stamp_ns=start_ns, speaker='robot', is_own=True, text=texts[0])]
        case Place.SPEAKER:
            return [Utterance(stamp_ns=start_ns, speaker=texts[0], text=f'I like the {thing}.')]
        case Place.NARRATION if attack.number % 2:
            return [Annotation(stamp_ns=start_ns, end_ns=start_ns + MINUTE_NS, kind='narration',
                               text=texts[0])]
        case Place.PICTURE:
            # As a vision model writes what it sees, at the same time and place as the scene.
            seen_ns = at('2025-03-05 12:00:00')
            return [Observation(
                stamp_ns=seen_ns, end_ns=seen_ns + SECOND_NS, name=thing, event='seen',
                text=texts[0], location=MUG_PLACES[-1], made_by='model', model='vision')]
    return []
