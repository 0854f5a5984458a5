"""The biography of one thing as a page of HTML: one file, to be read by people and sent around.

Pictures are in it as data, cut out of the stored ones by their boxes; there are no scripts, and
nothing is loaded from anywhere. What was recorded is escaped: it is text, whatever it says. A
picture that is gone or damaged leaves a note in its place. Nothing here writes a file.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import tzinfo
from html import escape

from emv_ros.biography.line import line_of
from emv_ros.biography.page_style import STYLE
from emv_ros.errors import EmvError
from emv_ros.memory.cutting import Shown, shown_in
from emv_ros.memory.gone_pictures import why_gone
from emv_ros.memory.lives import SEEN_APART, Life
from emv_ros.memory.store import MemoryStore
from emv_ros.quoting import plain_line
from emv_ros.records import Observation
from emv_ros.timeline import Interval, format_duration, format_span, format_stamp

# Longest edge of a crop, px; crops of an observation; observations with pictures, the latest.
CROP_EDGE = 240
CROPS = 4
PICTURED = 200
FULL = 500  # observations in full; of more, the first and the last half
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
COLOUR, OTHER_KEYS = 'colour', frozenset(('aliases', 'named_by'))


def page(store: MemoryStore, life: Life, zone: tzinfo) -> str:
    """Return the page of a life; times are local to the zone."""
    title = f'{life.id} {life.name}' if life.id != life.name else life.name
    full, others = _chosen(life.observations)
    pictures = shown_in(store, [item.id for item in full[-PICTURED:] if item.id is not None])
    shown = {key: [_picture(store, one, life.name) for one in ones[:CROPS]]
             for key, ones in pictures.items()}
    body = [f'<h1>{_text(life.name or life.id)} <small>{_text(life.id)}</small></h1>',
            f'<p class="line">{_text(line_of(life, zone))}.</p>', _facts(life, zone),
            '<h2>What was observed</h2>',
            *_days(full, shown, life.name, zone), _also_seen(others, zone), _namesakes(life)]
    return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<title>{_text(title)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n'
            + '\n'.join(filter(None, body)) + '\n</main>\n</body>\n</html>\n')


def _text(text: str) -> str:
    """Return recorded text on one line, which no browser takes for anything else."""
    return escape(plain_line(text))


def _chosen(seen: Sequence[Observation]) -> tuple[Sequence[Observation], Sequence[Observation]]:
    if len(seen) <= FULL:
        return seen, ()
    half = FULL // 2
    return [*seen[:half], *seen[-half:]], seen[half:-half]


def _facts(life: Life, zone: tzinfo) -> str:
    first = life.observations[0].stamp_ns
    last = max(item.end_ns for item in life.observations)
    names = sorted({*life.aliases, *(item.name for item in life.observations)} - {life.name, ''})
    facts = {
        'What': 'a person' if life.is_person else 'a thing',
        'Also called': ', '.join(names),
        'Once known as': ', '.join(f'e{key}' for key in life.merged),
        'Robot': ', '.join(sorted({item.robot for item in life.observations})),
        'First seen': format_stamp(first, zone), 'Last seen': format_stamp(last, zone),
        'Observations': str(len(life.observations)), 'Time zone': str(zone)}
    rows = ''.join(f'<dt>{name}</dt><dd>{_text(value)}</dd>'
                   for name, value in facts.items() if value)
    return f'<dl>{rows}</dl>'


def _days(seen: Sequence[Observation], shown: Mapping[int, Sequence[str]], name: str,
          zone: tzinfo) -> list[str]:
    parts: list[str] = []
    day = ''
    for item in seen:
        if (today := format_stamp(item.stamp_ns, zone)[:10]) != day:
            day = today
            parts.append(f'<h3>{day}</h3>')
        parts.append(_observation(item, shown.get(item.id or 0, ()), name, zone))
    return parts


def _observation(item: Observation, pictures: Sequence[str], name: str, zone: tzinfo) -> str:
    span = Interval(item.stamp_ns, max(item.stamp_ns, item.end_ns))
    when = format_span(span, zone).removeprefix(format_stamp(item.stamp_ns, zone)[:10]).strip()
    lasted = format_duration(span.end_ns - span.start_ns) if span.end_ns > span.start_ns else ''
    told = {key: value for key, value in item.attributes.items() if key not in OTHER_KEYS}
    lines = [
        f'<p class="when"><b>{_text(when)}</b> {_text(lasted)} <i>o{item.id}</i></p>',
        _paragraph('what', ' '.join(filter(None, (
            item.name if item.name != name else '',
            f'({item.instance})' if item.instance else '')))),
        _paragraph('where', item.location), _paragraph('event', item.event),
        _paragraph('text', item.text),
        _paragraph('told', '; '.join(f'{key}: {value}' for key, value in told.items()
                                     if isinstance(value, str | int | float) and value != ''))]
    if pictures:
        lines.append(f'<div class="crops">{"".join(pictures)}</div>')
    return f'<article>{"".join(filter(None, lines))}</article>'


def _paragraph(kind: str, text: str) -> str:
    return f'<p class="{kind}">{_text(text)}</p>' if text.strip() else ''


def _picture(store: MemoryStore, shown: Shown, name: str) -> str:
    """Return a picture as an element, or why it is not there."""
    if shown.image.gone:
        return f'<div class="gone">{_text(why_gone(shown.image))}</div>'
    try:
        if shown.bbox is None:
            width, height = shown.image.width, shown.image.height
            data = Shown(shown.image, (0.0, 0.0, float(width), float(height))).read(
                store, CROP_EDGE)
        else:
            data = shown.read(store, CROP_EDGE)
    except EmvError as error:
        reason = str(error).replace(str(store.folder), '…')
        return f'<div class="gone">no picture i{shown.image.id}: {_text(reason)}</div>'
    what = f'{name or "it"} in picture i{shown.image.id}'
    kind = ' class="whole"' if shown.bbox is None else ''
    return (f'<img{kind} alt="{_text(what)}" title="{_text(what)}" '
            f'src="data:image/jpeg;base64,{b64encode(data).decode("ascii")}">')


def _also_seen(seen: Sequence[Observation], zone: tzinfo) -> str:
    if not seen:
        return ''
    times = ''.join(f'<li>{format_stamp(item.stamp_ns, zone)} <i>o{item.id}</i></li>'
                    for item in seen)
    return f'<h2>Also seen</h2><ul class="times">{times}</ul>'


def _namesakes(life: Life) -> str:
    if not life.different and not life.unresolved:
        return ''
    told = [f'<li><b>e{key}</b> is another: '
            + ('both were seen apart in one picture' if life.reasons.get(key) == SEEN_APART
               else 'a person said so') + '</li>' for key in life.different]
    told += [f'<li><b>e{key}</b> may be the same or another: nothing tells</li>'
             for key in life.unresolved]
    return (f'<h2>Others called {_text(life.name)}</h2><ul class="others">{"".join(told)}</ul>')
