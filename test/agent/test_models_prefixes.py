"""Keeping computed prefixes: made once, read back, and no harm from a bad file or a full folder."""

from __future__ import annotations

from pathlib import Path

from emv_ros.agent.models.prefixes import KEPT, Prefixes, writable
from emv_ros.errors import ModelError

FIXED = [{'role': 'system', 'content': 'You answer questions.'}]


class Slot:
    """Stands for llama.cpp's state: what is in it, saved as a file's text."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.state, self.computed, self.full = folder, '', 0, False

    def order(self, order: str, name: str) -> None:
        path = self.folder / name
        if order == 'save':
            if self.full:
                raise ModelError('no space')
            path.write_text(self.state)
        elif path.read_text().startswith('computed'):
            self.state = path.read_text()
        else:
            raise ModelError('wrong magic')

    def compute(self) -> None:
        self.computed += 1
        self.state = f'computed {self.computed}'


def test_made_once_then_read_back(tmp_path: Path) -> None:
    slot = Slot(tmp_path)
    prefixes = Prefixes(tmp_path, 'weights 1', slot.order)
    prefixes.prepare(FIXED, slot.compute)
    prefixes.prepare(FIXED, slot.compute)
    assert slot.computed == 1
    later = Slot(tmp_path)
    Prefixes(tmp_path, 'weights 1', later.order).prepare(FIXED, later.compute)
    assert (later.computed, later.state) == (0, 'computed 1')
    other = Slot(tmp_path)
    Prefixes(tmp_path, 'weights 2', other.order).prepare(FIXED, other.compute)
    assert other.computed == 1


def test_damaged_file_is_made_anew(tmp_path: Path) -> None:
    slot = Slot(tmp_path)
    Prefixes(tmp_path, 'w', slot.order).prepare(FIXED, slot.compute)
    (path,) = tmp_path.iterdir()
    path.write_text('rubbish')
    Prefixes(tmp_path, 'w', slot.order).prepare(FIXED, slot.compute)
    assert slot.computed == 2
    assert path.read_text() == 'computed 2'


def test_full_disk_costs_time_only(tmp_path: Path) -> None:
    slot = Slot(tmp_path)
    slot.full = True
    Prefixes(tmp_path, 'w', slot.order).prepare(FIXED, slot.compute)
    assert slot.computed == 1
    assert list(tmp_path.iterdir()) == []


def test_only_the_newest_stay(tmp_path: Path) -> None:
    slot = Slot(tmp_path)
    prefixes = Prefixes(tmp_path, 'w', slot.order)
    for number in range(KEPT + 3):
        prefixes.prepare([{'role': 'system', 'content': str(number)}], slot.compute)
    assert len(list(tmp_path.iterdir())) == KEPT


def test_writable(tmp_path: Path) -> None:
    assert writable(tmp_path / 'new')
    (tmp_path / 'file').write_text('')
    assert not writable(tmp_path / 'file' / 'below')
