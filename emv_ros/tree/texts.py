"""The texts of nodes from templates: true, short, and without a model.

They quote recorded words and labels; nothing in them is an instruction. Values of parameters go
through a rule that drops what says nothing to a person (numbers, frames, hosts, joints).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
import re

from emv_ros.memory.documents import named_values
from emv_ros.records import Observation, Scene, SkillEvent, Status, Utterance
from emv_ros.timeline import format_duration
from emv_ros.tree.drafts import Draft, has_known_start

MAX_PARAMETERS = 4
MAX_VALUE_CHARS = 80
MAX_QUOTES = 6
MAX_HEADLINE_CHARS = 90
MAX_QUOTE_CHARS = 160
SHORTEST_TOLD_NS = 50_000_000
# How the text of a scene begins.
SAW = 'saw '
_SILENT_NAMES = {
    'frame', 'agent', 'hostname', 'host', 'dataset', 'provider', 'clocktype', 'uuid', 'guid',
    'robot', 'namespace', 'gazetargetname', 'status', 'mode', 'type'}
_TELLING_INNER = ('class', 'name', 'object', 'location', 'text', 'label', 'person', 'step')
# Coordinates that simulators write behind the name of a thing: 'Fridge|-02.78|+00.00|+02.22'.
_PLURAL = re.compile(r'(?<=[a-z])s\b')
_COORDINATES = re.compile(r'(\|[+-]?\d+(\.\d+)?)+')


def clip(text: str, limit: int) -> str:
    """Return a text on one line, cut at a word where it is longer than `limit`."""
    text = ' '.join(text.split())
    if len(text) <= limit:
        return text
    return text[:limit - 1].rsplit(' ', 1)[0].rstrip(' ,;:') + '…'


def quote(text: str) -> str:
    """Return recorded words in double quotes which nothing in them can end."""
    return '"' + clip(text.replace('"', "'"), MAX_QUOTE_CHARS) + '"'


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


def telling_parameters(run: SkillEvent) -> list[str]:
    """Return the values of a run's parameters that say something to a person."""
    said: dict[str, None] = {}
    for name, value in named_values(run.parameters):
        parts = name.lower().split('.')
        last = parts[-1].replace('_', '')
        if last in _SILENT_NAMES or value.lower() in parts or value.startswith('<'):
            continue
        if len(parts) > 2 or (len(parts) == 2 and not last.startswith(_TELLING_INNER)):
            continue
        if len(parts) == 2 and 'instance' in parts[0]:
            continue
        value = _COORDINATES.sub('', value).strip('"\' ')
        if value:
            said[clip(value, MAX_VALUE_CHARS)] = None
    return list(said)[:MAX_PARAMETERS]


def outcome(run: SkillEvent) -> str:
    """Return how a run ended and how long it took, as far as that is known."""
    status = '' if run.status is Status.UNKNOWN else str(run.status)
    if run.end_ns is None or not has_known_start(run):
        return status
    length_ns = run.end_ns - run.stamp_ns
    if length_ns < SHORTEST_TOLD_NS:
        return status
    return f'{status} after {format_duration(length_ns)}'


def words_of_scene(scene: Scene) -> str:
    """Return what a scene shows: 'mug (dirty), 2 × cup; mug on table'."""
    names: dict[str, int] = {}
    for item in scene.objects:
        name = f'{item.name} ({item.state})' if item.state else item.name
        names[name] = names.get(name, 0) + 1
    said = {item.instance: item.name for item in scene.objects if item.instance}
    seen = ', '.join(f'{count} × {name}' if count > 1 else name for name, count in names.items())
    relations = [f'{said.get(item.subject, item.subject)} {item.predicate} '
                 f'{said.get(item.object, item.object)}' for item in scene.relations]
    return '; '.join(part for part in (seen, ', '.join(dict.fromkeys(relations))) if part)


def words_of_speech(words: Utterance) -> str:
    """Return who said what, the robot's own words as the robot's."""
    speaker = words.speaker or ('robot' if words.is_own else 'someone')
    return f'{speaker} said {quote(words.text)}'


def words_of_observation(seen: Observation) -> str:
    """Return what was observed of a thing."""
    text = f'{seen.name} {seen.event}' if seen.event else seen.name
    parts = [text, seen.text, f'at {seen.location}' if seen.location else '']
    return ', '.join(part for part in parts if part)


def is_sighting(text: str) -> bool:
    """Whether a text tells nothing but what a scene showed."""
    return text.startswith(SAW)


def told_by(drafts: Iterable[Draft]) -> tuple[list[str], list[str]]:
    """Return what was seen (changes, then scenes, the latest first) and what was said, in order."""
    records = sorted((record for draft in drafts for record in draft.records),
                     key=lambda record: (record.stamp_ns, record.id or 0))
    scenes = [f'{SAW}{seen}' for record in records
              if isinstance(record, Scene) and (seen := words_of_scene(record))]
    things = [words_of_observation(record) for record in records if isinstance(record, Observation)]
    words = [words_of_speech(record) for record in records if isinstance(record, Utterance)]
    return list(dict.fromkeys((*things, *reversed(scenes)))), words


def event_text(draft: Draft, limit: int) -> str:
    """Return the text of an event: what was done, how it ended, what was seen and said."""
    run, annotation = draft.run, draft.annotation
    seen, words = told_by([draft])
    parts: list[str] = []
    if run is not None:
        spoken = {_bare(record.text) for record in draft.records if isinstance(record, Utterance)}
        values = [value for value in telling_parameters(run) if _bare(value) not in spoken]
        head = f'{run.skill} ({", ".join(values)})' if values else run.skill
        parts.append(' '.join(part for part in (head, outcome(run)) if part))
        if run.narration:
            parts.append(run.narration)
    elif annotation is not None:
        parts.append(annotation.text)
    parts.extend(_some(words))
    if seen:
        parts.append(join_within(seen, limit // 2, '; '))
    return clip('; '.join(parts), limit)


def goal_text(draft: Draft, limit: int) -> str:
    """Return the text of a goal: how it ended, its parts, what was seen and said in it."""
    run = draft.run
    head = draft.name
    if run is not None:
        values = telling_parameters(run)
        head = f'{head} ({", ".join(values)})' if values else head
        head = ' '.join(part for part in (head, outcome(run)) if part)
        if run.narration:
            head = f'{head}; {run.narration}'
    seen, words = told_by([draft])
    below = [part for part in draft.walk() if part is not draft and not part.children]
    more_words = [text for part in below if part.run for text in told_by([part])[1]]
    more_seen = [text for part in below if part.run for text in told_by([part])[0]]
    tail = [*_some([*words, *more_words])]
    if seen or more_seen:
        tail.append(join_within(dict.fromkeys((*seen, *more_seen)), limit // 4, '; '))
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
    end = summary.find(')', len(name))
    return clip(summary[:end + 1], MAX_HEADLINE_CHARS) if end > 0 else name


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


def _bare(text: str) -> str:
    return ' '.join(re.findall(r'\w+', text.lower()))


def _some(words: list[str]) -> list[str]:
    kept = list(dict.fromkeys(words))
    if len(kept) <= MAX_QUOTES:
        return kept
    return [*kept[:MAX_QUOTES - 1], f'{len(kept) - MAX_QUOTES + 1} more sayings']
