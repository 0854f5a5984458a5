"""From recognised speech to the query action, and from its answer to a text to say.

It asks only what is addressed to the robot, never what the robot said itself, one question at a
time. What it says goes out twice: as text for the speech synthesis, and as the robot's own
Utterance, which the memory keeps as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from std_msgs.msg import String

from emv_ros.action import QueryEpisodicMemory
from emv_ros.errors import WithheldError
from emv_ros.ingest.privacy import WordFilter
from emv_ros.msg import Utterance
from emv_ros.nodes import conversions, qos
from emv_ros.nodes.addressing import question_in
from emv_ros.nodes.asking import Asker
from emv_ros.nodes.clocks import wall_clock
from emv_ros.nodes.echo import EchoGuard
from emv_ros.nodes.faults import guarded
from emv_ros.nodes.inputs import TopicInput
from emv_ros.nodes.lifecycle import MemoryNode
from emv_ros.nodes.outputs import Output
from emv_ros.nodes.parameters import declare
from emv_ros.nodes.running import run
from emv_ros.nodes.status import NodeState, StatusPublisher

TYPES = {'emv_ros/msg/Utterance': Utterance, 'std_msgs/msg/String': String}
LOOK_PERIOD_S = 0.2
GRACE_S = 30.0  # beyond the time limit of the agent
NOBODY = 'user'  # who speaks in messages that name nobody, as in speech_ingest

BUSY = 'One moment, I am still thinking about the last question.'
ABSENT = 'I cannot reach my memory at the moment.'
FAILED = 'Sorry, I could not find an answer to that.'
WITHHELD = 'I am not to keep what was said, so I do not answer it.'
UNKNOWN = 'I have nothing recorded about that.'


class SpeechBridge(MemoryNode):
    """Lets a person ask by voice."""

    areas = ('memory', 'privacy', 'agent')

    def __init__(self, name: str = 'speech_bridge', **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self.topics: list[str] = declare(self, 'topics', ['speech'], 'topics of recognised speech')
        self.say_topic: str = declare(self, 'say_topic', 'say', 'where texts to be spoken go')
        self.own_topic: str = declare(
            self, 'own_topic', 'own_speech', "where they go as the robot's own Utterance")
        self.wake_words: list[str] = declare(
            self, 'wake_words', [''], 'names that the robot answers to; none: to every question')
        self.action: str = declare(
            self, 'action', 'query_episodic_memory', 'action that answers questions')
        self._echoes = EchoGuard()
        self._words = WordFilter(self.settings.privacy)
        self.faults.hide = self._words.text
        self.inputs: list[TopicInput] = []

    def start(self) -> None:
        """Listen."""
        self._say = Output(self, String, self.say_topic, qos.events())
        self._own = Output(self, Utterance, self.own_topic, qos.events())
        self._asker = Asker(
            self, self.action, self.settings.agent.time_limit_s + GRACE_S, self.take)
        self.inputs = [TopicInput(self, self.faults, topic, TYPES, self.receive)
                       for topic in self.topics]
        self._timer = self.create_timer(LOOK_PERIOD_S, self.look, clock=wall_clock())
        self._status = StatusPublisher(self, self.state)

    def stop(self) -> None:
        """Listen no more, and give up an open question."""
        for source in self.inputs:
            source.close()
        self.destroy_timer(self._timer)
        self._asker.close()
        self._status.close()
        for output in (self._say, self._own):
            output.close()

    def receive(self, message: Any, source: TopicInput) -> None:
        """Ask what was heard, where it is a question to the robot."""
        is_plain = isinstance(message, String)
        text = message.data if is_plain else message.text
        now_ns = self.get_clock().now().nanoseconds
        is_own = not is_plain and (message.is_own or message.speaker.casefold() == 'robot')
        question = None if is_own or self._echoes.is_echo(text, now_ns) else question_in(
            text, self.wake_words)
        if question is None:
            source.counts.thinned += 1
        elif not self._may_be_kept(text, '' if is_plain else message.speaker):
            source.counts.thinned += 1
            self.say(WITHHELD)
        elif self._asker.is_busy:
            self.say(BUSY)
        elif not self._asker.is_reachable:
            self.say(ABSENT)
        else:
            source.counts.stored += 1
            goal = QueryEpisodicMemory.Goal(question=self._words.text(question))
            if not is_plain:
                goal.query_time = message.header.stamp
            self._asker.ask(goal)

    def _may_be_kept(self, text: str, speaker: str) -> bool:
        """Return whether words may be asked at all: a question is kept with its answer."""
        try:
            self._words.check(text, speaker or NOBODY)
        except WithheldError:
            return False
        return True

    def take(self, result: Any) -> None:
        """Say a result of the action, or what its absence means."""
        if result is not None:
            self.say(spoken(result))
        else:
            self.say(FAILED if self._asker.is_reachable else ABSENT)

    def say(self, text: str) -> None:
        """Have a text spoken, and remembered as the robot's own words."""
        now_ns = self.get_clock().now().nanoseconds
        self._echoes.said(text, now_ns)
        self._own.publish(conversions.own_words_to_ros(text, now_ns, self.settings.memory.robot))
        self._say.publish(String(data=text))

    @guarded
    def look(self) -> None:
        """Follow the publishers, and give up a question whose answer does not come."""
        for source in self.inputs:
            source.look()
        self._asker.look()

    def state(self) -> NodeState:
        """Return what the status tells."""
        names = {source.topic for source in self.inputs}
        topics = [source.state(names) for source in self.inputs]
        problems = [self.faults.words, *(
            f'{state.topic}: {state.message}' for state in topics if not state.is_well)]
        if not self._asker.is_reachable:
            problems.append(f'nobody serves the action {self.action}')
        problems += [self._say.problem, self._own.problem]
        return NodeState(topics=topics, problems=[words for words in problems if words])


def spoken(result: Any) -> str:
    """Return what to say about a result of the action."""
    if result.answer.strip():
        return str(result.answer)
    return {result.STATUS_NOT_RECORDED: UNKNOWN, result.STATUS_BUSY: BUSY}.get(
        result.status, FAILED)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node alone."""
    return run(SpeechBridge, args)
