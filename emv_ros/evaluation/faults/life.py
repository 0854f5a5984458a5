"""The life that is recorded under faults: record number n follows from n alone.

So a process that is killed needs tell only numbers, and afterwards it is known what each stands
for. Three of five are words, one is a run of a skill, one a picture of noise of a few kilobytes.
"""

from __future__ import annotations

from io import BytesIO
import random

from emv_ros.records import ImageRecord, Record, SkillReport, Status, Utterance
from emv_ros.timeline import SECOND_NS

ROBOT = 'robot'
BEGIN_NS = 1_709_294_400 * SECOND_NS
STEP_NS = 5 * SECOND_NS
SIDE = 48
THINGS = ('mug', 'kettle', 'sponge', 'apple', 'newspaper', 'plate', 'radio', 'towel')


def stamp_of(number: int) -> int:
    """Return when record `number` was made."""
    return BEGIN_NS + number * STEP_NS


def text_of(number: int) -> str:
    """Return the words of an utterance; no two are the same."""
    chance = random.Random(number)
    return f'word{number} about the {chance.choice(THINGS)} ' + 'and so on ' * chance.randrange(12)


def picture_of(number: int) -> bytes:
    """Return a PNG of noise; no two are the same."""
    from PIL import Image

    noise = random.Random(number).randbytes(SIDE * SIDE * 3)
    stream = BytesIO()
    Image.frombytes('RGB', (SIDE, SIDE), noise).save(stream, 'PNG', compress_level=1)
    return stream.getvalue()


def record_of(number: int) -> tuple[Record, bytes | None]:
    """Return record `number`, with the bytes of a picture."""
    stamp_ns = stamp_of(number)
    if number % 5 == 3:
        return SkillReport(stamp_ns=stamp_ns, end_ns=stamp_ns + SECOND_NS, skill='Wipe',
                           status=Status.SUCCEEDED, source_id=f'run{number}',
                           parameters={'object': THINGS[number % len(THINGS)]}), None
    if number % 5 == 4:
        return ImageRecord(stamp_ns=stamp_ns, camera='head', sha256='', media_type='image/png',
                           width=SIDE, height=SIDE, extra={'n': number}), picture_of(number)
    return Utterance(stamp_ns=stamp_ns, speaker='user', text=text_of(number),
                     extra={'n': number}), None


def number_of(record: Record) -> int:
    """Return the number of a record that was made here."""
    if isinstance(record, SkillReport):
        return int(record.source_id.removeprefix('run'))
    return int(record.extra['n'])
