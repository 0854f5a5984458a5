"""The texts of nodes from templates: true, short, and without a model.

They quote recorded words and labels; nothing in them is an instruction. Which parameters of a run
are told is the business of `parameters`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
import re

from emv_ros.records import Observation, Record, Scene, SkillEvent, Status, Utterance
from emv_ros.timeline import format_duration
from emv_ros.tree.drafts import Draft, has_known_start
from emv_ros.tree.parameters import Choices, bare, told_parameters

MAX_VALUE_CHARS = 80
# A value that is alone, such as a step of a recipe, may be this long.
MAX_ONLY_VALUE_CHARS = 160
MAX_QUOTES = 6
MAX_HEADLINE_CHARS = 90
LEAST_QUOTE_CHARS, MAX_QUOTE_CHARS = 48, 160
SHORTEST_TOLD_NS = 50_000_000
# How the text of a scene begins; what an event is called of which nothing was told.
SAW, NOTHING = 'saw ', 'nothing told'
# A place that says how a thing lies there itself.
_IS_PLACED = re.compile(
    r'(?:on|in|inside|under|below|at|held by|next to|near|beside|behind)\b', re.IGNORECASE)
_PLURAL = re.compile(r'(?<=[a-z])s\b')


def clip(text: str, limit: int) -> str:
    """Return a text on one line, cut where it is longer than `limit`.

    The cut falls between words; not where they have no spaces between, and half would be lost.
    """
    text = ' '.join(text.split())
    if len(text) <= limit:
        return text
    kept = text[:limit - 1]
    space = kept.rfind(' ')
    return kept[:space if space >= limit // 2 else limit].rstrip(' ,;:') + '…'


def quote(text: str, limit: int = MAX_QUOTE_CHARS) -> str:
    """Return recorded words in double quotes which nothing in them can end."""
    return '"' + clip(text.replace('"', "'"), limit) + '"'


def join_within(parts: Iterable[str], limit: int, glue: str = ', ') -> str:
    """Join parts while they fit; say how many did not."""
    kept: list[str] = []
    left_out = 0
    size = 0
    for part in parts:
        if left_out or (kept and size + len(part) + len(glue) > limit - 12):
            left_out += 1
            continue
        kept.append(part)
        size += len(part) + len(glue)
    text = glue.join(kept)
    return clip(f'{text}{glue}+{left_out} more' if left_out else text, limit)


def head_of(draft: Draft, choices: Choices | None, spoken: Iterable[str] = ()) -> str:
    """Return what a run did, on what, how it ended and where; the name of what is no run.

    `spoken` are words, bare, that are told beside it.
    """
    run = draft.run
    if run is None:
        return draft.name
    values = told_parameters(run.skill, run.parameters, choices, spoken)
    limit = MAX_ONLY_VALUE_CHARS if len(values) == 1 else MAX_VALUE_CHARS
    told = ', '.join(clip(value, limit) for value in values)
    done = outcome(run)
    if draft.place and draft.place not in values:
        done = f'{done} at {clip(draft.place, MAX_VALUE_CHARS)}'.strip()
    parts = [run.skill, f'({told})' if told else '', done]
    return ' '.join(part for part in parts if part)


def outcome(run: SkillEvent) -> str:
    """Return how a run ended and how long it took, as far as that is known."""
    status = '' if run.status is Status.UNKNOWN else str(run.status)
    if run.end_ns is None and not run.status.is_final:
        return f'{status}, no end reported' if status else 'no end reported'
    if run.end_ns is None or not has_known_start(run):
        return status
    length_ns = run.end_ns - run.stamp_ns
    if length_ns < SHORTEST_TOLD_NS:
        return status
    return f'{status} after {format_duration(length_ns)}'


def words_of_scene(scene: Scene, limit: int) -> str:
    """Return what a scene shows, within a limit: 'mug (dirty), 2 × cup; mug on table'."""
    names: dict[str, int] = {}
    for item in scene.objects:
        name = f'{item.name} ({item.state})' if item.state else item.name
        names[name] = names.get(name, 0) + 1
    said = {item.instance: item.name for item in scene.objects if item.instance}
    relations = [f'{said.get(item.subject, item.subject)} {item.predicate} '
                 f'{said.get(item.object, item.object)}' for item in scene.relations]
    related = ', '.join(dict.fromkeys(relations))
    things = (f'{count} × {name}' if count > 1 else name for name, count in names.items())
    # Of both together the relations are the first to be cut, since they name the things again.
    seen = join_within(things, max(limit // 2, limit - len(related) - 2) if related else limit)
    related = clip(related, limit - len(seen) - 2) if related else ''
    return '; '.join(part for part in (seen, related) if part) or 'nothing'


def words_of_speech(words: Utterance, limit: int = MAX_QUOTE_CHARS) -> str:
    """Return who said what, the robot's own words as the robot's."""
    speaker = words.speaker or ('robot' if words.is_own else 'someone')
    return f'{speaker} said {quote(words.text, limit)}'


def words_of_observation(seen: Observation) -> str:
    """Return what was observed of a thing."""
    text = f'{seen.name} {seen.event}' if seen.event else seen.name
    where = seen.location if _IS_PLACED.match(seen.location) else f'at {seen.location}'
    parts = [text, seen.text, where if seen.location else '']
    return ', '.join(part for part in parts if part)


def is_of_scenes(seen: Observation) -> bool:
    """Whether an observation was made of scenes alone, which tell the same themselves.

    Of one that was tracked in pictures that holds as long as nothing happened to it.
    """
    if seen.clip_id is not None:
        return seen.made_by in ('detector', 'rule', 'model') and not seen.event
    return seen.made_by == 'rule' and bool(seen.instance) and seen.clip_id is None


def is_sighting(text: str) -> bool:
    """Whether a text tells nothing but what a scene showed."""
    return text.startswith(SAW)


def seen_in(records: Iterable[Record], limit: int) -> list[str]:
    """Return what was seen: changes and what was handled, then scenes, the latest first.

    Each scene is told within the limit.
    """
    kept = sorted((record for record in records if isinstance(record, Scene | Observation)),
                  key=lambda record: (record.stamp_ns, record.id or 0))
    has_scenes = any(isinstance(record, Scene) for record in kept)
    things = [words_of_observation(record) for record in kept if isinstance(record, Observation)
              and not (has_scenes and is_of_scenes(record))]
    scenes = [f'{SAW}{words_of_scene(record, limit - len(SAW))}' for record in kept
              if isinstance(record, Scene)]
    return list(dict.fromkeys((*things, *reversed(scenes))))


def said_in(records: Iterable[Record]) -> list[Utterance]:
    """Return what was said, in order."""
    return sorted((record for record in records if isinstance(record, Utterance)),
                  key=lambda record: (record.stamp_ns, record.id or 0))


def event_text(draft: Draft, limit: int, choices: Choices | None = None) -> str:
    """Return the text of an event: what was done, how it ended, what was seen and said."""
    said = said_in(draft.records)
    parts: list[str] = []
    if draft.run is not None:
        parts.append(head_of(draft, choices, [bare(words.text) for words in said]))
        if draft.run.narration:
            parts.append(draft.run.narration)
    elif draft.annotation is not None:
        parts.append(draft.annotation.text)
    # Words that are the whole event may fill it; within a run they share two thirds of it.
    room = limit * 2 // 3 if parts or len(said) > 1 else limit
    quoted = max(LEAST_QUOTE_CHARS, room // min(max(1, len(said)), MAX_QUOTES) - 24)
    parts.extend(_some([words_of_speech(words, quoted) for words in said]))
    # What was seen may fill the rest.
    room = max(limit // 3, limit - sum(len(part) + 2 for part in parts))
    seen = seen_in(draft.records, room)
    if seen:
        parts.append(join_within(seen, room, '; '))
    return clip('; '.join(part for part in parts if part), limit) or NOTHING


def goal_text(draft: Draft, limit: int, choices: Choices | None = None) -> str:
    """Return the text of a goal: how it ended, its parts, what was seen and said in it."""
    head = head_of(draft, choices)
    if draft.run is not None and draft.run.narration:
        head = f'{head}; {draft.run.narration}'
    head = clip(head, limit // 2)
    within = [*draft.records, *(record for part in draft.walk() if part.run and not part.children
                                and part is not draft for record in part.records)]
    tail = _some([words_of_speech(words) for words in said_in(within)])
    seen = seen_in(within, limit // 4)
    if seen:
        tail.append(join_within(seen, limit // 4, '; '))
    ending = clip('; '.join(tail), limit // 2)
    room = max(40, limit - len(head) - len(ending) - 4)
    parts = join_within(tally(
        (child.name, child.status, headline(child.name, child.summary))
        for child in without_sightings(draft.children)), room)
    return clip('; '.join(text for text in (f'{head}: {parts}', ending) if text), limit)


def without_sightings(drafts: Sequence[Draft]) -> Sequence[Draft]:
    """Return the drafts that tell more than what was seen; all where none does."""
    return [draft for draft in drafts if draft.name or not is_sighting(draft.summary)] or drafts


def headline(name: str, summary: str) -> str:
    """Return what a node is called in the text above it: its name with its parameters."""
    if not name:
        return clip(summary, MAX_HEADLINE_CHARS)
    if not summary.startswith(f'{name} ('):
        return clip(name, MAX_HEADLINE_CHARS)
    depth = 0
    for end in range(len(name) + 1, len(summary)):
        depth += (summary[end] == '(') - (summary[end] == ')')
        if not depth:
            whole = summary[:end + 1]
            return whole if end < MAX_HEADLINE_CHARS else (
                clip(whole[:-1], MAX_HEADLINE_CHARS - 1) + ')')
    return name


def tally(items: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Yield each headline once, with its number and how many did not succeed.

    Items are (name, status, headline).
    """
    counts: dict[str, int] = {}
    troubles: dict[str, dict[str, int]] = {}
    for name, status, said in items:
        counts[said] = counts.get(said, 0) + 1
        if name and status in ('failed', 'aborted', 'canceled'):
            trouble = troubles.setdefault(said, {})
            trouble[status] = trouble.get(status, 0) + 1
    for said, count in counts.items():
        text = f'{said} ×{count}' if count > 1 else said
        if said in troubles:
            bad = [status if number == count else f'{number} {status}'
                   for status, number in troubles[said].items()]
            text = f'{text} ({", ".join(bad)})'
        yield text


def raw_text(counts: Sequence[tuple[str, int]]) -> str:
    """Return the text of a stretch in which only pictures, joints or poses were recorded."""
    parts = [f'{count} {what}' if count != 1 else f'1 {_PLURAL.sub("", what, count=1)}'
             for what, count in counts]
    return 'recorded ' + ' and '.join(
        [', '.join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _some(words: list[str]) -> list[str]:
    kept = list(dict.fromkeys(words))
    if len(kept) <= MAX_QUOTES:
        return kept
    return [*kept[:MAX_QUOTES - 1], f'{len(kept) - MAX_QUOTES + 1} more sayings']
