"""Events (L2) of one stretch of time: which record is an event of its own, and which joins another.

- A run of a skill without parts is one event.
- Scenes in a row that show the same things in the same relations, within the same innermost
  running skill, are one event. Words and pauses cut it. Scenes and words within a run without
  other parts join the event of that run, as long as only one thing was seen; else the run becomes
  a goal with an event for each thing.
- An utterance outside such a run is an event, and so is a narration that the source gave. The
  robot's own words are of the run that was told to say them, if one was going on.
- An observation joins the latest-starting run, scene or narration around its start, or is an
  event. Either way it lies in the activity that it began in. One that was made of scenes joins the
  event of the scene that it began with, and adds nothing to its text: the scenes tell it.
- Where nothing but pictures, joints and poses was recorded for a while, that is an event, one a
  clock hour at most. These raw records have no membership in nodes: they lie under whichever node
  covers their stamp.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from emv_ros.records import Annotation, Observation, Record, Scene, SkillEvent, Utterance
from emv_ros.settings import TreeSettings
from emv_ros.timeline import SECOND_NS
from emv_ros.tree.drafts import Draft
from emv_ros.tree.goals import Nesting
from emv_ros.tree.parameters import Choices, bare, texts_in
from emv_ros.tree.places import find_places
from emv_ros.tree.texts import event_text, goal_text, is_of_scenes

# So many of the runs going on are asked whether they were told to say what was said.
LOOK_BACK = 32


@dataclass(frozen=True, slots=True)
class Stretch:
    """All L0 and L1 records of one robot that events are made of, within a span."""

    runs: Sequence[SkillEvent] = ()
    utterances: Sequence[Utterance] = ()
    scenes: Sequence[Scene] = ()
    annotations: Sequence[Annotation] = ()
    observations: Sequence[Observation] = ()

    def __iter__(self):  # type: ignore[no-untyped-def]
        yield from (*self.runs, *self.utterances, *self.scenes, *self.annotations,
                    *self.observations)


@dataclass(eq=False, slots=True)
class _Sight:
    """The scenes that make up one event so far."""

    signature: object
    parent: Draft | None
    draft: Draft
    last_ns: int


class _Running:
    """Which goal or run is innermost at a stamp: the one that began last, the deepest of these.

    Asked in order of time. What has ended is dropped from the end of the list once it is met, so
    that a stamp costs no more for a thousand runs that nobody ended.
    """

    def __init__(self, drafts: Iterable[Draft], gap_ns: int) -> None:
        """`gap_ns` is how long a run without an end goes on after the last thing in it."""
        self._waiting = sorted(drafts, key=lambda draft: (draft.start_ns, _depth(draft)))
        self._waiting.reverse()
        self._gap_ns = gap_ns
        self._going: list[Draft] = []
        self._spoken: dict[int, set[str]] = {}

    def at(self, stamp_ns: int) -> Draft | None:
        """Return the innermost at a stamp."""
        while self._waiting and self._waiting[-1].start_ns <= stamp_ns:
            self._going.append(self._waiting.pop())
        while self._going and not self._goes_on(self._going[-1], stamp_ns):
            self._going.pop()
        return self._going[-1] if self._going else None

    def saying(self, words: Utterance) -> Draft | None:
        """Return the innermost run whose parameters hold the words, of the latest that go on."""
        text = bare(words.text)
        if self.at(words.stamp_ns) is None or not text:
            return None
        for draft in self._going[:-1 - LOOK_BACK:-1]:
            if draft.run is not None and self._goes_on(draft, words.stamp_ns):
                if id(draft) not in self._spoken:
                    self._spoken[id(draft)] = {
                        bare(value) for value in texts_in(draft.run.parameters)}
                if text in self._spoken[id(draft)]:
                    return draft
        return None

    def _goes_on(self, draft: Draft, stamp_ns: int) -> bool:
        until_ns = draft.until_ns + (self._gap_ns if draft.is_open else 0)
        return (stamp_ns < min(until_ns, draft.horizon_ns)) or stamp_ns == draft.start_ns


def derive(stretch: Stretch, settings: TreeSettings,
           choices: Choices | None = None) -> list[Draft]:
    """Return the top-level drafts of a stretch, in order of time, with all below them.

    `choices` are the parameters that were found to tell what a skill does; None: by rule alone.
    """
    goals = [item for item in stretch.annotations if item.kind == 'goal']
    nesting = Nesting(stretch.runs, goals, round(settings.goal_gap_s * SECOND_NS))
    gap_ns = round(settings.event_gap_s * SECOND_NS)
    _place_moments(stretch, nesting, gap_ns)
    for draft in [draft for top in nesting.top for draft in top.walk()]:
        if draft.run is not None:
            _absorb(draft)
    _place_observations(stretch.observations, nesting)
    for draft in nesting.top:
        draft.settle()
        find_places(draft)
        for part in reversed(list(draft.walk())):
            text = goal_text if part.children or part.level > 2 else event_text
            part.summary = text(part, settings.max_summary_chars, choices)
    return sorted(nesting.top, key=lambda draft: (draft.start_ns, draft.end_ns))


def _place_moments(stretch: Stretch, nesting: Nesting, gap_ns: int) -> None:
    """Make events of scenes, words and narrations, each under what was running."""
    running = _Running([draft for top in nesting.top for draft in top.walk()], gap_ns)
    sights: dict[tuple[int | None, str], _Sight] = {}
    moments: list[Record] = [*stretch.scenes, *stretch.utterances, *(
        item for item in stretch.annotations if item.kind != 'goal')]
    moments.sort(key=lambda item: (item.stamp_ns, type(item).__name__, item.id or 0))
    for record in moments:
        parent = running.at(record.stamp_ns)
        if isinstance(record, Scene):
            _see(record, parent, nesting, sights, gap_ns)
            continue
        if isinstance(record, Utterance):
            sights.clear()
            parent = (running.saying(record) if record.is_own else None) or parent
        end_ns = getattr(record, 'end_ns', None) or record.stamp_ns
        nesting.put(Draft(start_ns=record.stamp_ns, end_ns=max(end_ns, record.stamp_ns),
                          session_id=record.session_id, records=[record]), parent)


def _see(scene: Scene, parent: Draft | None, nesting: Nesting,
         sights: dict[tuple[int | None, str], _Sight], gap_ns: int) -> None:
    key = scene.session_id, scene.camera
    sight = sights.get(key)
    signature = signature_of(scene)
    if (sight and sight.signature == signature and sight.parent is parent
            and scene.stamp_ns - sight.last_ns <= gap_ns):
        sight.draft.records.append(scene)
        sight.draft.end_ns = sight.draft.until_ns = sight.last_ns = scene.stamp_ns
        if parent is not None:
            parent.until_ns = max(parent.until_ns, scene.stamp_ns)
        return
    draft = Draft(start_ns=scene.stamp_ns, end_ns=scene.stamp_ns, session_id=scene.session_id,
                  records=[scene])
    nesting.put(draft, parent)
    sights[key] = _Sight(signature, parent, draft, scene.stamp_ns)


def signature_of(scene: Scene) -> object:
    """Return what two scenes share that show the same: objects, states and relations."""
    return (frozenset((item.name, item.instance, item.state) for item in scene.objects),
            frozenset((item.subject, item.predicate, item.object) for item in scene.relations))


def _absorb(draft: Draft) -> None:
    """Let what was seen and said in a run without other parts join its event."""
    if not draft.children or any(child.run or child.children or not child.records
                                 for child in draft.children):
        return
    signatures = {signature_of(record) for child in draft.children for record in child.records
                  if isinstance(record, Scene)}
    if len(signatures) > 1:
        return
    inside = sorted((record for child in draft.children for record in child.records),
                    key=lambda record: (record.stamp_ns, record.id or 0))
    draft.records.extend(inside)
    draft.end_ns = max(draft.end_ns, *(child.end_ns for child in draft.children))
    draft.children.clear()


def _place_observations(observations: Sequence[Observation], nesting: Nesting) -> None:
    leaves = [draft for top in nesting.top for draft in top.walk()
              if not draft.children and draft.level == 2
              and not isinstance(draft.records[0], Utterance)]
    running = _Running(leaves, 0)
    goals = _Running([draft for top in nesting.top for draft in top.walk()
                      if draft.run and draft.children], 0)
    scenes = {(record.session_id, record.stamp_ns): draft for draft in leaves
              for record in draft.records if isinstance(record, Scene)}
    for seen in sorted(observations, key=lambda item: (item.stamp_ns, item.id or 0)):
        holder = scenes.get((seen.session_id, seen.stamp_ns)) if is_of_scenes(seen) else None
        if holder is not None:
            holder.records.append(seen)
            continue
        activity = nesting.activity_at(seen.stamp_ns)
        leaf, goal = (draft if activity is None or draft is None or draft.is_within(activity)
                      else None for draft in (running.at(seen.stamp_ns), goals.at(seen.stamp_ns)))
        if leaf is not None:
            leaf.records.append(seen)
            continue
        nesting.put(Draft(start_ns=seen.stamp_ns, end_ns=max(seen.stamp_ns, seen.end_ns),
                          session_id=seen.session_id, records=[seen]), goal)


def _depth(draft: Draft) -> int:
    depth = 0
    while draft.parent is not None:
        draft, depth = draft.parent, depth + 1
    return depth
