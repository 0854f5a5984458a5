"""The recording and the questions of the demonstration, and when each message is due in a replay.

The recording is made by scripts/make_demo_recording.py and travels with the package. A replay runs
in compressed time: no pause counts longer than a limit, and all is squeezed into a given time; the
stamps inside the messages stay as they are. Publishing is the business of emv_ros.nodes.replay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import json
from pathlib import Path

from emv_ros.errors import ImportFileError
from emv_ros.ingest.bag_reader import BagReader
from emv_ros.ingest.bag_salvage import RawMessage
from emv_ros.timeline import SECOND_NS

FOLDER = Path(__file__).parent
RECORDING = FOLDER / 'recording' / 'household'
QUESTIONS = FOLDER / 'questions.json'
WAYS = ('service', 'speech')

# The pauses between episodes take hours; in a replay they are as long as this, before all is
# compressed.
LONGEST_PAUSE_S = 5.0


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and whether it goes to the service or is spoken."""

    text: str
    via: str


@dataclass(frozen=True, slots=True)
class Recording:
    """The messages of a bag in order of time."""

    path: Path
    messages: Sequence[RawMessage]

    @property
    def types(self) -> dict[str, str]:
        """The type of each topic, such as sensor_msgs/msg/JointState."""
        return {message.topic.name: message.topic.type for message in self.messages}

    def counts(self) -> dict[str, int]:
        """Return how many messages each topic has."""
        counts = dict.fromkeys(sorted(self.types), 0)
        for message in self.messages:
            counts[message.topic.name] += 1
        return counts

    def due_s(self, duration_s: float, longest_pause_s: float = LONGEST_PAUSE_S) -> list[float]:
        """Return when each message is due, s after the first one; the last after `duration_s`."""
        offsets, now_s = [0.0], 0.0
        for before, message in zip(self.messages, self.messages[1:], strict=False):
            pause_s = (message.log_ns - before.log_ns) / SECOND_NS
            now_s += min(max(pause_s, 0.0), longest_pause_s)
            offsets.append(now_s)
        factor = duration_s / now_s if now_s else 0.0
        return [offset * factor for offset in offsets]


def read_recording(path: Path = RECORDING) -> Recording:
    """Return a bag (mcap, db3, or a folder of them), by default the one of the demonstration.

    Raises ImportFileError where there is none, or where it is damaged or empty.
    """
    reader = BagReader(path)
    messages = sorted(reader.messages(), key=lambda message: message.log_ns)
    if reader.notes:
        raise ImportFileError(f'{path} cannot be replayed: {"; ".join(reader.notes)}')
    if not messages:
        raise ImportFileError(f'{path} cannot be replayed: it holds no message')
    return Recording(path, messages)


def read_questions(path: Path = QUESTIONS) -> list[Question]:
    """Return questions of a JSON file: a list of objects with `question` and `via`.

    Raises ImportFileError that names the entry at fault.
    """
    try:
        content = json.loads(path.read_text(encoding='utf-8'))
    except (OSError, ValueError) as error:
        raise ImportFileError(f'cannot read questions from {path}: {error}') from error
    if not isinstance(content, list):
        raise ImportFileError(f'{path} holds no list of questions')
    return [_question(path, number, entry) for number, entry in enumerate(content, 1)]


def _question(path: Path, number: int, entry: object) -> Question:
    text, via = (entry.get('question'), entry.get('via', WAYS[0])) if isinstance(entry, dict) else (
        None, None)
    if not isinstance(text, str) or not text.strip():
        raise ImportFileError(f'question {number} of {path} has no text')
    if via not in WAYS:
        raise ImportFileError(
            f'question {number} of {path}: via must be {" or ".join(WAYS)}, not {via!r}')
    return Question(text.strip(), str(via))
