"""The page of a biography: whole, readable, and harmless whatever was recorded."""

from __future__ import annotations

from base64 import b64decode
from html.parser import HTMLParser
import re
from zoneinfo import ZoneInfo

import cv2
from entity_parts import NOON_NS, apart, entity, see
import numpy as np

from emv_ros.biography import corrections
from emv_ros.biography.line import line_of
from emv_ros.biography.page import page
from emv_ros.memory import schema
from emv_ros.memory.lives import lives
from emv_ros.memory.store import MemoryStore
from emv_ros.records import ImageRecord

BERLIN = ZoneInfo('Europe/Berlin')
ATTACK = '<script>alert(1)</script>"><img src=x onerror=alert(2)>\u202e<b>'
VOID = {'meta', 'img', 'br', 'link'}


class Elements(HTMLParser):
    """Collects elements, and checks that each that is opened is closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def elements(text: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Elements()
    parser.feed(text)
    assert not parser.open
    return parser.found


def crop(store: MemoryStore, observation_id: int, box: list[float] | None,
         data: bytes | None = None) -> int:
    """Add a picture (left half red, right half blue) that shows an observation in a box."""
    pixels = np.zeros((100, 200, 3), np.uint8)
    pixels[:, :100], pixels[:, 100:] = (0, 0, 255), (255, 0, 0)
    packed = cv2.imencode('.png', pixels)[1].tobytes() if data is None else data
    key = store.add_image(packed, ImageRecord(
        stamp_ns=NOON_NS, camera='head', sha256='', media_type='image/png', width=200,
        height=100, robot='r1'))
    with store.writing() as session:
        session.add(schema.ObservationImageRow(
            observation_id=observation_id, image_id=key, bbox=box, is_crop=box is not None))
    return key


def of(store: MemoryStore, key: str) -> str:
    life, = lives(store, ids=[key])[0]
    return page(store, life, BERLIN)


def test_a_page_tells_it_all(memory: MemoryStore) -> None:
    mug = entity(memory, 'mug')
    see(memory, 0, 'mug', mug, location='on shelf', event='taken', attributes={'colour': 'white'})
    see(memory, 86_400, 'cup', mug, location='in sink', text='a mug with a chip')
    entity(memory, 'my mug', seen=1), entity(memory, 'my mug', seen=1)
    entity(memory, 'old', seen=1)
    apart(memory, 1, 3)
    for step in ({'entity_ids': [mug, 4]},):
        corrections.merge(memory, **step, author='Anna', stamp_ns=NOON_NS)
    corrections.rename(memory, mug, 'my mug', author='Anna', stamp_ns=NOON_NS)
    crop(memory, 1, [120.0, 20.0, 180.0, 80.0])
    text = of(memory, 'e4')  # by its old id
    assert line_of(lives(memory, ids=['e1'])[0][0], BERLIN) == (
        'my mug, white: seen 3 times, from 2026-03-01 13:00 to 2026-03-02 13:00, last in sink')
    for words in ('<h1>my mug <small>e1</small></h1>', 'cup, mug, old', '<dd>e4</dd>',
                  '2026-03-01 13:00:00', '2026-03-02 13:00:04', '<h3>2026-03-01</h3>',
                  '<h3>2026-03-02</h3>', 'on shelf', 'taken', 'a mug with a chip',
                  '<b>13:00:00 to 13:00:04</b>', 'e2</b> is another: both were seen apart',
                  'e3</b> may be the same or another', 'colour: white'):
        assert words in text, words
    image, = (attributes for tag, attributes in elements(text) if tag == 'img')
    data = b64decode((image['src'] or '').removeprefix('data:image/jpeg;base64,'))
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    assert pixels.shape == (72, 72, 3)  # 60 px and a tenth on each side
    assert np.abs(pixels.astype(int) - (255, 0, 0)).max() < 12


def test_recorded_words_do_nothing(memory: MemoryStore) -> None:
    mug = entity(memory, ATTACK)
    see(memory, 0, ATTACK, mug, location=ATTACK, event=ATTACK, text=ATTACK, instance=ATTACK,
        attributes={ATTACK: ATTACK})
    text = of(memory, 'e1')
    tags = {tag for tag, _ in elements(text)}
    assert not tags & {'script', 'iframe', 'link', 'object', 'form', 'a', 'img', 'base'}
    assert not any(name.startswith('on') for _, attributes in elements(text) for name in attributes)
    assert '\u202e' not in text and not re.search(r'https?:', text)


def test_pictures_that_are_gone_leave_a_note(memory: MemoryStore) -> None:
    mug = entity(memory, 'mug', seen=1)
    assert mug == 1
    gone, broken = crop(memory, 1, [0.0, 0.0, 9.0, 9.0]), crop(memory, 1, None, b'no picture')
    outside = crop(memory, 1, [900.0, 0.0, 950.0, 9.0], cv2.imencode(
        '.png', np.full((100, 200, 3), 9, np.uint8))[1].tobytes())
    for path in memory.pictures:
        if path.read_bytes()[:4] == b'\x89PNG' and path.name.startswith(
                memory.get('image', gone).sha256):
            path.unlink()
    text = of(memory, 'e1')
    for key, reason in ((gone, 'missing'), (broken, 'decode'), (outside, 'outside')):
        note = re.search(rf'no picture i{key}: ([^<]*)', text)
        assert note and reason in note[1]
    assert str(memory.folder) not in text and '<img' not in text
    with memory.writing() as session:
        session.get_one(schema.ImageRow, broken).gone = 'retention'
    assert (f'<div class="gone">the picture i{broken} was dropped by retention</div>'
            in of(memory, 'e1'))


def test_a_long_life_is_told_at_both_ends(memory: MemoryStore) -> None:
    mug = entity(memory, 'mug', seen=620)
    text = of(memory, f'e{mug}')
    assert text.count('<article>') == 500 and text.count('<li>20') == 120
    elements(text)


def test_a_thing_without_an_entity_has_a_page_too(memory: MemoryStore) -> None:
    see(memory, 0, 'cup', instance='cup_1')
    assert '<small>cup_1</small>' in of(memory, 'cup_1')
