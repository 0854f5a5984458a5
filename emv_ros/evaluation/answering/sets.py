"""Where questions are asked: of a memory that is there, a file's, or a simulated household's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
import shutil

from emv_ros.errors import EmvError
from emv_ros.evaluation.answering.ways import making_of, settings_of
from emv_ros.evaluation.evaluated_memory import make_memory
from emv_ros.evaluation.questions import AskedQuestion
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.embedders import TextEmbedder
from emv_ros.settings import Settings

Tell = Callable[[str], None]
Maker = Callable[[Path, Settings], None]


@dataclass(frozen=True)
class QuestionSet:
    """Questions of one memory. `open_for` opens the memory that a way needs, made if need be.

    `episodes` is the length of a simulated history, else None.
    """

    name: str
    questions: tuple[AskedQuestion, ...]
    open_for: Callable[[str], AbstractContextManager[MemoryStore]]
    episodes: int | None = None
    seed: int | None = None


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
    return made_below(folder / data.stem, settings, make, tell)


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


def made_below(folder: Path, settings: Settings, make: Maker,
               tell: Tell) -> Callable[[str], AbstractContextManager[MemoryStore]]:
    """Return what opens the memory in a folder, or, of a way that needs its own, beside it."""
    @contextmanager
    def opened(way: str) -> Iterator[MemoryStore]:
        making = making_of(way)
        made = folder.with_name(f'{folder.name}-{making}') if making else folder
        chosen_settings = settings_of(making, settings) if making else settings
        if not (made / 'memory.db').exists():
            made_whole(made, lambda part: make(part, chosen_settings), tell)
        memory = replace(settings.memory, folder=str(made), url='')
        with MemoryStore.open(memory, made) as store:
            yield store
    return opened


def made_whole(folder: Path, make: Callable[[Path], None], tell: Tell) -> None:
    """Make a folder beside its place: one that was broken off is never taken for a whole one."""
    part = folder.with_name(f'.{folder.name}.part')
    shutil.rmtree(part, ignore_errors=True)
    part.parent.mkdir(parents=True, exist_ok=True)
    tell(f'making {folder.name}')
    make(part)
    try:
        part.replace(folder)
    except OSError as error:
        raise EmvError(f'{folder} holds something else: {error}') from error
