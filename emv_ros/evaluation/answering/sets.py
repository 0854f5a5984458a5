"""Where questions are asked: of a memory that is there, a file's, or a simulated household's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
import hashlib
import json
from pathlib import Path
import shutil
from typing import Any

from emv_ros import __version__
from emv_ros.errors import EmvError
from emv_ros.evaluation.answering.ways import making_of, settings_of
from emv_ros.evaluation.evaluated_memory import make_memory
from emv_ros.evaluation.questions import AskedQuestion
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.embedders import TextEmbedder
from emv_ros.settings import Settings, walk

Tell = Callable[[str], None]
Maker = Callable[[Path, Settings], None]

ACCOUNT = 'made.json'
# The areas of settings that a memory is made with.
MAKING = ('ingest.', 'privacy.', 'perception.', 'biography.', 'tree.')


@dataclass(frozen=True)
class QuestionSet:
    """Questions of one memory. `open_for` opens the memory that a way needs, made if need be.

    `episodes` is the length of a simulated history, else None; `source` says which memory it is.
    """

    name: str
    questions: tuple[AskedQuestion, ...]
    open_for: Callable[[str], AbstractContextManager[MemoryStore]]
    episodes: int | None = None
    seed: int | None = None
    source: str = ''


def chosen(questions: Sequence[AskedQuestion], kinds: Sequence[str] = (),
           limit: int | None = None) -> tuple[AskedQuestion, ...]:
    """Return the questions of some kinds, at most the first `limit` of each.

    Raises EmvError for a kind that no question has, and where two questions have one id.
    """
    there = dict.fromkeys(question.kind for question in questions)
    if unknown := [kind for kind in kinds if kind not in there]:
        raise EmvError(f'no question is of the kind {unknown[0]!r}; there are: '
                       f'{", ".join(filter(None, there)) or "none"}')
    counts: dict[str, int] = {}
    found: dict[str, AskedQuestion] = {}
    for question in questions:
        if question.id in found:
            raise EmvError(f'two questions have the id {question.id!r}')
        counts[question.kind] = counts.get(question.kind, 0) + 1
        if (not kinds or question.kind in kinds) and (
                limit is None or counts[question.kind] <= limit):
            found[question.id] = question
    return tuple(found.values())


def memory_for_file(data: Path, folder: Path, settings: Settings, embedder: TextEmbedder | None,
                    tell: Tell) -> Callable[[str], AbstractContextManager[MemoryStore]]:
    """Return what opens the memory of an experience file, made below `folder`."""
    def make(made_in: Path, chosen_settings: Settings) -> None:
        make_memory(made_in, data, chosen_settings, embedder, tell)
    return made_below(folder / data.stem, settings, make, tell, digest_of(data))


def memory_that_is_there(
        open_memory: Callable[[], MemoryStore]
        ) -> Callable[[str], AbstractContextManager[MemoryStore]]:
    """Return what opens one memory for all ways but those that need one of their own."""
    @contextmanager
    def opened(way: str) -> Iterator[MemoryStore]:
        if making_of(way):
            raise EmvError(f'the way {way} needs a memory that is made for it')
        with open_memory() as store:
            yield store
    return opened


def made_below(folder: Path, settings: Settings, make: Maker, tell: Tell,
               source: str = '') -> Callable[[str], AbstractContextManager[MemoryStore]]:
    """Return what opens the memory in a folder, or, of a way that needs its own, beside it.

    `source` says what the memory is made of. Opening raises EmvError for one of anything else.
    """
    @contextmanager
    def opened(way: str) -> Iterator[MemoryStore]:
        making = making_of(way)
        made = folder.with_name(f'{folder.name}-{making}') if making else folder
        chosen_settings = settings_of(making, settings) if making else settings
        made_whole(made, lambda part: make(part, chosen_settings), tell,
                   made_with(chosen_settings, source))
        memory = replace(settings.memory, folder=str(made), url='')
        with MemoryStore.open(memory, made) as store:
            yield store
    return opened


def made_with(settings: Settings, source: str) -> dict[str, Any]:
    """Return what a memory depends on: what it is made of, and the settings that make it."""
    names = [name for name, _ in walk() if name.startswith(MAKING) or name == 'retrieval.embedder']
    return {'version': __version__, 'source': source, **{
        name: getattr(getattr(settings, name.partition('.')[0]), name.partition('.')[2])
        for name in names}}


def made_whole(folder: Path, make: Callable[[Path], None], tell: Tell,
               account: dict[str, Any]) -> None:
    """Make a memory where there is none yet, beside its place: one is there whole or not at all.

    Raises EmvError, naming what differs, where one is there that was made otherwise.
    """
    if (folder / 'memory.db').exists():
        _check_made(folder, account)
        return
    part = folder.with_name(f'.{folder.name}.part')
    shutil.rmtree(part, ignore_errors=True)
    part.parent.mkdir(parents=True, exist_ok=True)
    tell(f'making {folder.name}')
    make(part)
    try:
        (part / ACCOUNT).write_text(json.dumps(account, indent=1) + '\n', 'utf-8')
        part.replace(folder)
    except OSError as error:
        raise EmvError(f'{folder} holds something else: {error}') from error


def _check_made(folder: Path, account: dict[str, Any]) -> None:
    path = folder / ACCOUNT
    if not path.exists():  # made by `emv eval retrieval --keep`
        return
    try:
        before = json.loads(path.read_text('utf-8'))
    except (OSError, ValueError) as error:
        raise EmvError(f'cannot read {path}: {error}') from error
    if differences := [f'{name} was {before.get(name)!r}, is {value!r}'
                       for name, value in account.items() if before.get(name) != value]:
        raise EmvError(f'the memory in {folder} was made otherwise: {"; ".join(differences)}. '
                       'Remove it, or name another folder')


def digest_of(path: Path) -> str:
    """Return what tells a file from others. Raises EmvError where it cannot be read."""
    try:
        with path.open('rb') as file:
            return hashlib.file_digest(file, 'sha256').hexdigest()[:16]
    except OSError as error:
        raise EmvError(f'cannot read {path}: {error.strerror or error}') from error
