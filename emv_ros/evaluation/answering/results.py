"""What came out of each question, one JSON line each, in a file that a broken run goes on with.

A line is on the disk before the next question is asked. What a crash left of a last line is taken
off when the file is opened again; any other line that is none is an error that names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
import json
import os
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from emv_ros.errors import EmvError

FILE = 'results.jsonl'

Key = tuple[str, str, str, str]


@dataclass(frozen=True, kw_only=True)
class Result:
    """One question, answered in one way by one model.

    `gold` holds the fields of Gold, nothing where nobody said what is right. `category` is '' where
    nobody could tell; `judged_by` is 'exact', 'model' or ''. Spans are (start, end) in ns:
    `windows` the evidence that the question names, `shown` what the way was given to answer from.
    `query_id` opens the trace in the memory `memory` (`emv show q12`).
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
            result = Result(**json.loads(line))
        except (ValueError, TypeError) as error:
            raise EmvError(f'{path}, line {number}: no result: {error}') from error
        found[result.key] = result
    return list(found.values()), end, len(content) - end


class ResultsFile:
    """The results of a run; a context manager. `dropped` is how much of a torn line went."""

    def __init__(self, folder: Path) -> None:
        """Open or make the file. Raises EmvError where it cannot be read or written."""
        self._path = folder / FILE
        found, end, self.dropped = read_results(self._path)
        self._results = {result.key: result for result in found}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = self._path.open('ab')
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
        line = json.dumps(asdict(result), ensure_ascii=False) + '\n'
        try:
            self._file.write(line.encode('utf-8', 'replace'))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise EmvError(f'cannot write {self._path}: {error.strerror or error}') from error
        self._results[result.key] = result
