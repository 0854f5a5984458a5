"""Pictures lie under the hash of their bytes: whole or not at all, once, checked when read."""

from pathlib import Path

import pytest

from emv_ros.errors import NotFoundError, StoreError
from emv_ros.memory.pictures import PictureFolder


@pytest.fixture
def pictures(tmp_path: Path) -> PictureFolder:
    return PictureFolder(tmp_path / 'pictures')


def test_bytes_come_back_from_under_their_hash(pictures: PictureFolder) -> None:
    # printf abc | sha256sum
    name = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
    assert pictures.write(b'abc', 'image/png') == name
    assert pictures.read(name, 'image/png') == b'abc'
    assert list(pictures) == [pictures.folder / 'ba' / f'{name}.png']


def test_the_same_bytes_are_stored_once(pictures: PictureFolder) -> None:
    first = pictures.write(b'picture', 'image/jpeg')
    file = pictures.path(first, 'image/jpeg')
    before = file.stat().st_ino
    assert pictures.write(b'picture', 'image/jpeg') == first
    assert file.stat().st_ino == before
    assert len(list(pictures)) == 1


def test_half_a_file_is_written_anew(pictures: PictureFolder) -> None:
    name = pictures.write(b'picture', 'image/jpeg')
    pictures.path(name, 'image/jpeg').write_bytes(b'pict')
    pictures.write(b'picture', 'image/jpeg')
    assert pictures.read(name, 'image/jpeg') == b'picture'


def test_a_crash_leaves_a_part_that_is_no_picture(
        pictures: PictureFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, 'replace', crash)
        pictures.write(b'picture', 'image/jpeg')
    assert list(pictures) == []
    assert len(list(pictures.folder.rglob('*.part'))) == 1
    name = pictures.write(b'picture', 'image/jpeg')
    assert pictures.read(name, 'image/jpeg') == b'picture'


def test_a_missing_and_a_damaged_file_are_named(pictures: PictureFolder) -> None:
    name = pictures.write(b'picture', 'image/jpeg')
    file = pictures.path(name, 'image/jpeg')
    file.write_bytes(b'pictura')
    with pytest.raises(StoreError, match=f'{file} is damaged'):
        pictures.read(name, 'image/jpeg')
    pictures.delete(name, 'image/jpeg')
    pictures.delete(name, 'image/jpeg')
    with pytest.raises(NotFoundError, match=f'{file} is missing'):
        pictures.read(name, 'image/jpeg')


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / 'pictures').write_text('')
    with pytest.raises(StoreError, match='cannot store a picture of 3 bytes'):
        PictureFolder(tmp_path / 'pictures').write(b'abc', 'image/png')
