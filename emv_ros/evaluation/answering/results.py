"""What came out of each question, one JSON line each, in a file that a broken run goes on with.

A line is on the disk before the next question is asked. What a crash left of a last line is taken
off when the file is opened again; any other line that is none is an error that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
import fcntl
import json
import logging
import math
import os
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from emv_ros.errors import EmvError, SettingsError
from emv_ros.evaluation.questions import Gold, GoldKind
from emv_ros.evaluation.scoring.categories import Category
from emv_ros.timeline import parse_zone

FILE = 'results.jsonl'
LOCK = '.lock'

Key = tuple[str, str, str, str]

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Result:
    """One question, answered in one way by one model.

    `gold` holds the fields of Gold, nothing where nobody said what is right. `category` is '' where
    nobody could tell; `judged_by` is 'exact', 'model' or ''. Spans are (start, end) in ns:
    `windows` the evidence that the question names, `shown` what the way was given to answer from.
    `query_id` opens the trace in the memory `memory` (`emv show q12`); without it, as of a memory
    that cannot be written, it is not known what was shown.
    """

    set: str
    way: str
    model: str
    id: str
    kind: str
    question: str
    choices: tuple[str, ...] = ()
    gold: Mapping[str, Any] = field(default_factory=dict)
    episodes: int | None = None
    seed: int | None = None
    answer: str = ''
    status: str = ''
    message: str = ''
    category: str = ''
    judged_by: str = ''
    choice: int | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    rounds: int = 0
    seconds: float = 0.0
    evidence: tuple[Mapping[str, Any], ...] = ()
    windows: tuple[tuple[int, int], ...] = ()
    shown: tuple[tuple[int, int], ...] = ()
    retrieval: Mapping[str, float] = field(default_factory=dict)
    evidence_hit: bool | None = None
    evidence_covered: bool | None = None
    shown_hit: bool | None = None
    shown_covered: bool | None = None
    query_time_ns: int = 0
    zone: str = 'UTC'
    query_id: str = ''
    memory: str = ''

    @property
    def key(self) -> Key:
        """What no two results share."""
        return self.set, self.way, self.model, self.id

    @property
    def tokens(self) -> int:
        """Tokens both ways."""
        return self.prompt_tokens + self.completion_tokens


# Fields of one text or number, with a value of their kind.
_DEFAULTS: Mapping[str, str | float] = {
    **dict.fromkeys(('set', 'way', 'model', 'id', 'kind', 'question'), ''),
    **{name: item.default for name, item in Result.__dataclass_fields__.items()
       if isinstance(item.default, str | int | float)}}


def read_results(path: Path) -> tuple[list[Result], int, int]:
    """Return the results of a file, where its whole lines end, and the bytes of a torn last line.

    Of several lines of one key the last counts. Raises EmvError, naming the line, for a whole line
    that is no result.
    """
    try:
        content = path.read_bytes() if path.exists() else b''
    except OSError as error:
        raise EmvError(f'cannot read {path}: {error.strerror or error}') from error
    end = content.rfind(b'\n') + 1
    found: dict[Key, Result] = {}
    for number, line in enumerate(content[:end].splitlines(), 1):
        try:
            result = _result(json.loads(line))
        except (ValueError, TypeError, SettingsError) as error:
            raise EmvError(f'{path}, line {number}: no result: {error}') from error
        found[result.key] = result
    return list(found.values()), end, len(content) - end


def _result(item: Any) -> Result:
    """Return the result that a line holds. Raises ValueError, TypeError for what is none."""
    result = Result(**item)
    for name, default in _DEFAULTS.items():
        value = getattr(result, name)
        fits = (isinstance(value, str) if isinstance(default, str) else
                type(value) in (int, float) and math.isfinite(value))
        if not fits:
            raise ValueError(f'{name} is {value!r}')
    for name, fits in (
            ('choices', _is_list(result.choices, lambda choice: isinstance(choice, str))),
            ('windows', _is_list(result.windows, _is_span)),
            ('shown', _is_list(result.shown, _is_span)),
            ('evidence', _is_list(result.evidence, lambda item: isinstance(item, dict) and
                                  'id' in item and _is_span(
                                      [item.get('start_ns'), item.get('end_ns')]))),
            ('retrieval', isinstance(result.retrieval, dict)),
            ('episodes', result.episodes is None or type(result.episodes) is int),
            ('category', result.category in ('', *Category)),
            ('gold', _is_gold(result.gold))):
        if not fits:
            raise ValueError(f'{name} is {getattr(result, name)!r}')
    parse_zone(result.zone)
    return result


def _is_list(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list | tuple) and all(map(fits, value))


def _is_span(value: Any) -> bool:
    return (isinstance(value, list | tuple) and [type(end) for end in value] == [int, int]
            and value[0] <= value[1])


def _is_gold(value: Any) -> bool:
    return isinstance(value, dict) and (not value or (
        set(value) <= set(Gold.__dataclass_fields__) and value.get('kind') in list(GoldKind)
        and isinstance(value.get('value', 0.0), int | float | None)
        and _is_list(value.get('times_ns', ()), lambda stamp: type(stamp) is int)
        and _is_list(value.get('items', ()), lambda words: _is_list(
            words, lambda word: isinstance(word, str)))))


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep the folder of a run for one process; one that ends, however it does, gives it back.

    Raises EmvError where another has it or where it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open('ab')
    except OSError as error:
        raise EmvError(f'cannot write {folder}: {error.strerror or error}') from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise EmvError(f'another run keeps its results in {folder}; name another --out, or '
                           'wait for it') from error
        except OSError as error:  # a network share without locks
            log.warning('whether another run writes into %s is not known: %s', folder, error)
        yield


class ResultsFile:
    """The results of a run; a context manager. `dropped` is how much of a torn line went."""

    def __init__(self, folder: Path) -> None:
        """Open or make the file. Raises EmvError where it cannot be read or written."""
        self._path = folder / FILE
        found, end, self.dropped = read_results(self._path)
        self._results = {result.key: result for result in found}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = self._path.open('ab', buffering=0)
            if self.dropped:
                self._file.truncate(end)
        except OSError as error:
            raise EmvError(f'cannot write {self._path}: {error.strerror or error}') from error

    def __enter__(self) -> ResultsFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._file.close()

    @property
    def results(self) -> list[Result]:
        """The results so far."""
        return list(self._results.values())

    def __contains__(self, key: Key) -> bool:
        return key in self._results

    def add(self, result: Result) -> None:
        """Keep a result, in the place of one of its key; it is on the disk when this returns."""
        line = (json.dumps(asdict(result), ensure_ascii=False) + '\n').encode('utf-8', 'replace')
        end = os.fstat(self._file.fileno()).st_size
        try:
            while line:  # a disk that gets full takes a part first
                line = line[self._file.write(line):]
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(end)
            raise EmvError(f'cannot write {self._path}: {error.strerror or error}') from error
        self._results[result.key] = result
