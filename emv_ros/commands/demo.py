"""`emv demo`: nodes as processes, a recording over real topics, questions to the memory it made.

What the pictures show is found by the robot's own eyes: a detector that comes with the package,
tracking, and the biographies of what was seen again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
import json
import os
from pathlib import Path
import tempfile
import time
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from emv_ros.commands.context import Context, positive
from emv_ros.commands.demo_shown import show_answer, show_lives
from emv_ros.commands.output import Progress, plain, size, tell, write
from emv_ros.errors import EmvError, ModelError, StoreError

if TYPE_CHECKING:
    from emv_ros.demo.processes import Processes
    from emv_ros.demo.replay import Question
    from emv_ros.nodes.demo_client import DemoClient

NODES = ('camera_ingest', 'joint_state_ingest', 'speech_ingest', 'skill_ingest', 'pose_ingest',
         'perception', 'consolidation', 'query', 'speech_bridge')
ZONE = 'Europe/Berlin'  # where the recording plays
START_LIMIT_S = 90.0
CONSOLIDATION_LIMIT_S = 150.0
STORED_LIMIT_S = 60.0
STILL_S = 5.0  # without another picture: the rest was lost
PERCEPTION_LIMIT_S = 240.0
LIKE_THINGS = 'red mug'  # of which the household has two
POLL_S = 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('--replay-s', type=positive, default=60, metavar='S',
                        help='how long the replay of the three days takes (default: 60 s)')
    parser.add_argument('--no-model', action='store_true',
                        help='search only, without the language model and its weights')


def run(args: argparse.Namespace, context: Context) -> int:
    """Play the demonstration; status 0 where every question came back."""
    from emv_ros.demo.processes import Processes
    from emv_ros.demo.replay import read_questions

    client_type = _client_type()
    folder = _folder(context)
    model = 'none' if args.no_model else _model(context)
    environment = _environment(folder)
    began = time.monotonic()
    tell(f'The memory of this demonstration is made in {folder}')
    with Processes(folder / 'logs', environment) as processes:
        for name in NODES:
            processes.start(name, f'emv_ros.nodes.{name}', _parameters(folder, model))
        with _in_environment(environment), client_type(processes.check) as client:
            client.wait_for_nodes(START_LIMIT_S)
            tell(f'{len(NODES)} nodes are up; replaying three days in {args.replay_s} s')
            _replay(processes, folder, args.replay_s)
            _perceive(processes, folder)
            _consolidate(client, model)
            with _store(folder) as store:
                show_lives(store, LIKE_THINGS, ZoneInfo(ZONE))
            for number, question in enumerate(read_questions(), 1):
                _ask(client, folder, number, question)
    tell(f'\nDone in {time.monotonic() - began:.0f} s. Look around with:\n'
         f'  emv --memory {folder} tree\n  emv --memory {folder} events --status failed\n'
         f'  emv --memory {folder} entities\n'
         f'  emv --memory {folder} ask --at "2026-05-14 20:00" "What did you do on May 13?"')
    return 0


def _client_type() -> Any:
    try:
        from emv_ros.nodes.demo_client import DemoClient
    except ImportError as error:
        raise EmvError(f'the demonstration needs ROS 2 and the interfaces of emv_ros: {error}. '
                       'Install the package (`pip install .`), or build and source your '
                       'workspace') from error
    return DemoClient


def _folder(context: Context) -> Path:
    """Return a folder without a memory: the one that was named, else a new one."""
    from emv_ros.memory.database import DATABASE_FILE

    named = context.settings.memory.folder
    if not named:
        return Path(tempfile.mkdtemp(prefix='emv_demo_'))
    folder = Path(named).expanduser().absolute()
    if (folder / DATABASE_FILE).exists():
        raise StoreError(f'{folder} holds a memory already; the demonstration begins with none')
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _model(context: Context) -> str:
    """Return the model to use; the embedded one's weights are fetched where they are missing."""
    from emv_ros.agent.models import ModelClient, weights

    settings = context.settings.model
    cache = weights.folder(settings.cache_folder)
    if settings.model == 'embedded' and weights.find(cache) is None:
        tell(weights.NOTICE)
        try:
            with Progress('weights') as progress:
                weights.pull(cache, lambda done, total: progress.update(
                    f'{size(done)} of {size(total)} ({done / total:.0%})'))
        except ModelError as error:
            tell(f'The language model cannot be had ({error}).')
    reason = ModelClient(settings).why_unavailable()
    if reason:
        tell(f'Without a language model: {reason}. Questions bring the best evidence only.')
        return 'none'
    return settings.model


def _environment(folder: Path) -> dict[str, str]:
    """Return the environment of all processes: traffic stays on this machine, in a domain apart."""
    environment = dict(os.environ)
    environment.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    environment.setdefault('ROS_DOMAIN_ID', str(10 + os.getpid() % 80))
    environment['ROS_LOG_DIR'] = str(folder / 'logs')
    return environment


@contextmanager
def _in_environment(environment: dict[str, str]) -> Iterator[None]:
    """Give this process the same ROS settings while its client lives."""
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _parameters(folder: Path, model: str) -> list[str]:
    values: dict[str, Any] = {
        'use_sim_time': 'true', 'memory.folder': folder, 'memory.time_zone': ZONE,
        'memory.robot': 'household_robot', 'model.model': model,
        'perception.detector': 'household', 'perception.backlog': 5000,  # none is passed over
        # As a robot is calibrated for its own camera: a mug in the sink shows half of itself.
        'biography.consistent_similarity': 0.65, 'biography.group_similarity': 0.96,
        'tree.period_s': '3600.0'}  # the tree is made on request here, to be seen
    arguments = ['--ros-args']
    for name, value in values.items():
        arguments += ['-p', f'{name}:={value}']
    # The bridge listens to a microphone of its own; speech_ingest stores what it hears, too.
    return [*arguments, '-p', 'speech_ingest:topics:=[/speech, /asr, /microphone]',
            '-p', 'speech_bridge:topics:=[/microphone]', '-p', 'speech_bridge:wake_words:=[robot]']


def _replay(processes: Processes, folder: Path, seconds: int) -> None:
    """Replay the recording and wait until all of its events and words are committed.

    Pictures may be lost on the way where the machine is too busy: no more than come are waited for.
    """
    account = json.loads(processes.run(
        'replay', 'emv_ros.nodes.replay', ['--ros-args', '-p', f'duration_s:={float(seconds)}'],
        seconds + 120.0).splitlines()[-1])
    published = account['published']
    reports = published.get('/skill_events', 0)
    words = published.get('/speech', 0) + published.get('/asr', 0)
    pictures = published.get('/camera/image_raw/compressed', 0)
    counts: dict[str, int] = {'image': 0}
    grew_s = time.monotonic()

    def is_stored() -> bool:
        nonlocal grew_s
        now = _counts(folder)
        if now['image'] > counts['image']:
            grew_s = time.monotonic()
        counts.update(now)
        is_still = time.monotonic() - grew_s > STILL_S
        return bool(counts['skill_report'] >= reports and counts['utterance'] >= words
                    and (counts['image'] >= pictures or is_still))

    _wait(is_stored, processes.check, STORED_LIMIT_S,
          lambda: f'{reports} status reports and {words} utterances were sent, but '
                  f'{counts.get("skill_report")} and {counts.get("utterance")} stored')
    tell(f'{account["messages"]} messages were replayed; stored: {reports} status reports as '
         f'{counts["skill_event"]} events, {counts["utterance"]} utterances, {counts["image"]} '
         f'of {pictures} pictures, {counts["joint_sample"]} joint samples, {counts["pose"]} poses')


def _perceive(processes: Processes, folder: Path) -> None:
    """Wait until all pictures were looked at; the node takes the last clip when no more come."""
    tell('Looking at the rest of the pictures')
    left = 0

    def is_seen() -> bool:
        nonlocal left
        left = _left_to_see(folder)
        return not left

    _wait(is_seen, processes.check, PERCEPTION_LIMIT_S,
          lambda: f'{left} pictures were not looked at within {PERCEPTION_LIMIT_S:.0f} s')
    counts = _counts(folder)
    tell(f'{counts["scene"]} scenes and {counts["observation"]} observations were made of them, in '
         f'{counts["clip"]} clips')


def _left_to_see(folder: Path) -> int:
    from emv_ros.perception.waiting import waiting

    with _store(folder) as store, store.reading() as session:
        return sum(len(camera.new) + len(camera.late) for robot_id in store.robot_ids(session)
                   for camera in waiting(session, robot_id, 0)[0].values())


def _counts(folder: Path) -> dict[str, int]:
    with _store(folder) as store:
        return dict(store.counts())


def _store(folder: Path) -> Any:
    from emv_ros.memory.store import MemoryStore
    from emv_ros.settings import MemorySettings

    return MemoryStore.open(replace(MemorySettings(), folder=str(folder)))


def _wait(is_done: Callable[[], bool], check: Callable[[], None], limit_s: float,
          why: Callable[[], str]) -> None:
    ends = time.monotonic() + limit_s
    while not is_done():
        check()
        if time.monotonic() > ends:
            raise EmvError(why())
        time.sleep(POLL_S)


def _consolidate(client: DemoClient, model: str) -> None:
    from emv_ros.action import Consolidate

    tell('Consolidating: events, goals, summaries')
    goal = Consolidate.Goal(without_model=model == 'none', time_limit_s=CONSOLIDATION_LIMIT_S)
    result = client.consolidate(CONSOLIDATION_LIMIT_S + 120.0, goal)
    tell(f'{result.nodes_made} nodes were made with {result.tokens} tokens in '
         f'{result.duration_s:.0f} s. {result.message}'.strip())


def _ask(client: DemoClient, folder: Path, number: int, question: Question) -> None:
    """Ask one question its way, and show what came back."""
    limit_s = 300.0
    write(f'\n{number}. {question.text}  (by {question.via})')
    if question.via == 'speech':
        said = client.speak(question.text, limit_s)
        write(f'   says      {plain(said)}')
    else:
        client.ask(question.text, limit_s)
    with _store(folder) as store:
        show_answer(store)
