"""What a robot at full rate publishes in the bench of ingest: numbered, and the same each time.

Everything follows from its number, so that afterwards it is known what must have been stored.
Messages are made elsewhere; nothing here needs ROS.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

JOINTS = 30
WIDTH, HEIGHT = 1280, 720
JOINT_NAMES = tuple(f'joint_{number:02d}' for number in range(JOINTS))
AMPLITUDE_RAD = 0.5
SLOWEST_HZ, FASTEST_HZ = 0.1, 0.5
# The arm moves and rests in turn, as arms do.
MOVE_S, REST_S = 5.0, 5.0

SKILLS = ('grasp_object', 'place_object', 'navigate_to', 'open_door', 'look_around', 'hand_over',
          'wipe_table', 'pour_water')
THINGS = ('red cup', 'milk carton', 'cereal box', 'blue plate', 'kettle', 'sponge', 'apple',
          'remote control', 'newspaper', 'flower pot', 'tin can', 'wooden spoon')
PLACES = ('kitchen table', 'shelf', 'sink', 'sofa', 'hallway', 'fridge', 'window sill')
EVENTS_PER_GOAL = 100


@dataclass(frozen=True)
class Load:
    """How much is published, and for how long; a rate of 0 publishes none of a kind."""

    seconds: float = 600.0
    camera_hz: float = 30.0
    joint_hz: float = 500.0
    events_hz: float = 50.0
    utterances_hz: float = 10.0

    def counts(self) -> dict[str, int]:
        """Return how many messages of each kind are published in all."""
        rates = {'image': self.camera_hz, 'joint': self.joint_hz, 'event': self.events_hz,
                 'utterance': self.utterances_hz}
        return {kind: round(rate * self.seconds) for kind, rate in rates.items()}


def positions(seconds: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Return the joint positions (… × JOINTS, rad) some seconds after the begin."""
    periods, within = np.divmod(np.asarray(seconds, np.float64), MOVE_S + REST_S)
    moved_s = periods * MOVE_S + np.minimum(within, MOVE_S)
    hz = np.linspace(SLOWEST_HZ, FASTEST_HZ, JOINTS)
    found: NDArray[np.float64] = AMPLITUDE_RAD * np.sin(2 * np.pi * hz * moved_s[..., None])
    return found


def event_id(number: int) -> str:
    """Return the identity of an execution."""
    return f'load-{number:06d}'


def event_words(number: int) -> tuple[str, str, str, str]:
    """Return skill, thing, place and goal of an execution."""
    return (SKILLS[number % len(SKILLS)], THINGS[number // 3 % len(THINGS)],
            PLACES[number // 5 % len(PLACES)], f'errand {number // EVENTS_PER_GOAL}')


def utterance_text(number: int) -> str:
    """Return what is said; no two are equal."""
    thing, place = THINGS[number % len(THINGS)], PLACES[number // 7 % len(PLACES)]
    return f'please bring the {thing} from the {place}, order {number}'


def question_text(number: int) -> str:
    """Return what is asked of the memory meanwhile."""
    thing, place = THINGS[number % len(THINGS)], PLACES[number % len(PLACES)]
    return (f'When did you last take the {thing}?', f'What was said about the {place}?',
            f'Did you put the {thing} on the {place}?')[number % 3]


def picture() -> NDArray[np.uint8]:
    """Return the pixels (HEIGHT × WIDTH × 3, BGR) of the camera: shades, edges and noise."""
    rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
    shade = 60 + 90 * columns / WIDTH + 60 * rows / HEIGHT
    made = np.stack([shade, np.roll(shade, 300, axis=1), 255 - shade], axis=-1)
    random = np.random.default_rng(1)
    for _ in range(40):
        top, left = random.integers(0, HEIGHT - 90), random.integers(0, WIDTH - 120)
        made[top:top + 90, left:left + 120] = random.integers(0, 256, 3)
    made += random.normal(0, 4, made.shape)
    return np.asarray(np.clip(made, 0, 255), np.uint8)


def mark(number: int) -> bytes:
    """Return the pixels with which a picture begins, so that no two are equal (96 bytes)."""
    bits = np.unpackbits(np.frombuffer(number.to_bytes(4, 'big'), np.uint8))
    return np.repeat(bits * 255, 3).astype(np.uint8).tobytes()
