"""Remembers what was said: to the robot, near it, and by it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from std_msgs.msg import String

from emv_ros.ingest.messages import Converted
from emv_ros.ingest.speech import OWN_SPEAKER, utterance_from_ros, utterance_from_string
from emv_ros.msg import Utterance
from emv_ros.nodes.clocks import is_simulated
from emv_ros.nodes.echo import EchoGuard
from emv_ros.nodes.ingest import IngestNode
from emv_ros.nodes.inputs import TopicInput
from emv_ros.nodes.parameters import declare
from emv_ros.nodes.running import run


class SpeechIngest(IngestNode):
    """Utterances and Strings; the robot's own words are marked, also where it hears itself."""

    types = {'emv_ros/msg/Utterance': Utterance, 'std_msgs/msg/String': String}
    default_topics = ('speech',)

    def __init__(self, name: str = 'speech_ingest', **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self.own_topics: list[str] = declare(
            self, 'own_topics', ['own_speech'], "topics with the robot's own words; may be absent")
        self.speaker: str = declare(
            self, 'speaker', 'user', 'who speaks in messages that name nobody')
        self._echoes = EchoGuard()

    def topic_names(self) -> Iterable[tuple[str, bool]]:
        """Yield the topics of others, then the robot's own."""
        yield from super().topic_names()
        for topic in self.own_topics:
            if topic not in self.topics:
                yield topic, True

    def convert(self, message: Any, source: TopicInput, receipt_ns: int) -> list[Converted]:
        """Return the utterance with its speaker."""
        is_own = source.topic in {self.resolve_topic_name(topic) for topic in self.own_topics}
        speaker = OWN_SPEAKER if is_own else self.speaker
        if isinstance(message, String):
            heard = utterance_from_string(message, receipt_ns, speaker, is_own)
        else:
            heard = utterance_from_ros(message, receipt_ns, not is_simulated(self))
            heard = replace(heard, speaker=heard.speaker or speaker, is_own=heard.is_own or is_own)
        if heard.is_own:
            self._echoes.said(heard.text, receipt_ns)
        elif self._echoes.is_echo(heard.text, receipt_ns):
            heard = replace(heard, speaker=OWN_SPEAKER, is_own=True, extra={'heard_itself': True})
        return [(heard, None)]


def main(args: Sequence[str] | None = None) -> int:
    """Run the node alone."""
    return run(SpeechIngest, args)
