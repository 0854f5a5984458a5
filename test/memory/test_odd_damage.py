"""Damage that leaves pages whole, or puts other rows in the place of what is lost."""

from pathlib import Path
import shutil

from damaged_files import PAGE, is_whole, open_in, pages_of, run, wipe
from memory_parts import report, said
import pytest

from emv_ros.agent.repairing import repair_memory
from emv_ros.errors import StoreError
from emv_ros.memory import queries
from emv_ros.memory.checkup import check_database
from emv_ros.memory.database import DATABASE_FILE
from emv_ros.memory.pictures import PictureFolder
from emv_ros.settings import Settings

WORDS = 150


@pytest.fixture(scope='module')
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('filled') / 'memory'
    with open_in(folder) as memory:
        memory.add_many([said(5 * number, f'word {number} ' + 'so ' * 25)
                         for number in range(WORDS)])
        memory.add_many([report(2000, 'running', source_id='r1', parameters={'arm': 'left'}),
                         report(2001, 'succeeded', source_id='r1')])
        assert memory.rewrite()
    return folder


@pytest.fixture
def folder(filled: Path, tmp_path: Path) -> Path:
    shutil.copytree(filled, tmp_path / 'memory')
    return tmp_path / 'memory'


def lost_and_left(folder: Path) -> tuple[set[int], set[int]]:
    """Mend; return the numbers of utterances that were told as lost, and those that are left."""
    done = repair_memory(folder, Settings())
    assert is_whole(folder)
    assert all(lost.last < 2**20 for lost in done.lost_rows), done.lost
    return ({number for lost in done.lost_rows if lost.table == 'utterance'
             for number in range(lost.first, lost.last + 1)},
            {int(str(row[0])) for row in run(folder, 'SELECT id FROM utterance')})


def replaced(file: Path, old: bytes, new: bytes) -> None:
    """Put other bytes in the place of some, wherever they stand."""
    assert len(old) == len(new)
    data = file.read_bytes()
    assert old in data
    file.write_bytes(data.replace(old, new))


@pytest.mark.parametrize('which', [1, 3, -1])
def test_another_page_of_the_table_in_the_place_of_one(folder: Path, which: int) -> None:
    """Its rows are whole, and stand there twice: what is gone are others, and they are told."""
    file = folder / DATABASE_FILE
    pages = pages_of(file, 'utterance')
    data = file.read_bytes()
    other = pages[2]
    wipe(file, pages[which], with_bytes=data[(other - 1) * PAGE:other * PAGE])
    lost, left = lost_and_left(folder)
    assert lost | left == set(range(1, WORDS + 1))
    assert not lost & left and 5 < len(lost) < 60


def test_a_leaf_in_the_place_of_the_first_page_of_a_table(folder: Path) -> None:
    file = folder / DATABASE_FILE
    root, = run(folder, "SELECT rootpage FROM sqlite_master WHERE name = 'utterance'")[0]
    leaf = pages_of(file, 'utterance')[1]
    data = file.read_bytes()
    wipe(file, int(str(root)), with_bytes=data[(leaf - 1) * PAGE:leaf * PAGE])
    lost, left = lost_and_left(folder)
    assert lost | left == set(range(1, WORDS + 1)) and left and not lost & left


def test_zeros_over_a_part_of_a_page(folder: Path) -> None:
    """Its rows have the number 0 then, and no columns."""
    file = folder / DATABASE_FILE
    page = pages_of(file, 'utterance')[2]
    data = bytearray(file.read_bytes())
    data[page * PAGE - 512:page * PAGE] = bytes(512)
    file.write_bytes(data)
    lost, left = lost_and_left(folder)
    assert lost and min(lost) > 0 and lost | left == set(range(1, WORDS + 1))


def test_a_text_that_is_none_costs_a_character(folder: Path) -> None:
    file = folder / DATABASE_FILE
    replaced(file, b'word 77 so', b'word 77 \xffo')
    with open_in(folder) as memory, pytest.raises(StoreError, match='doctor --repair') as caught:
        queries.utterances(memory)
    assert 'word' not in str(caught.value)
    done = repair_memory(folder, Settings())
    assert 'parts of 1 rows of utterance could not be read: u78' in done.lost
    with open_in(folder) as memory:
        found = queries.utterances(memory)
        assert len(found) == WORDS and found[77].text.startswith('word 77 \ufffdo so')
        assert [item.text for item in queries.utterances(memory, text='word 77')] == [
            found[77].text]
    again = repair_memory(folder, Settings())
    assert (again.mended, again.lost) == ([], [])


def test_one_damaged_byte_does_not_cost_a_row_beside_a_damaged_page(folder: Path) -> None:
    file = folder / DATABASE_FILE
    replaced(file, b'word 77 so', b'word 77 \xffo')
    pages = pages_of(file, 'utterance')
    data = file.read_bytes()
    wipe(file, next(page for page in pages if b'word 77 ' not in data[
        (page - 1) * PAGE:page * PAGE]))
    lost, left = lost_and_left(folder)
    assert 78 in left and lost | left == set(range(1, WORDS + 1))


def test_json_that_is_none(folder: Path) -> None:
    replaced(folder / DATABASE_FILE, b'{"arm": "left"}', b'["arm": "left"}')
    run(folder, "UPDATE utterance SET extra = '{' WHERE id = 5")
    run(folder, "INSERT INTO state VALUES ('lease:x', '{')")
    with open_in(folder) as memory, pytest.raises(StoreError, match='doctor --repair'):
        queries.utterances(memory)
    done = repair_memory(folder, Settings())
    assert {line.partition(':')[0] for line in done.lost} == {
        'parts of 1 rows of utterance could not be read',
        'parts of 1 rows of skill event could not be read', 'state'}
    with open_in(folder) as memory:
        assert queries.utterances(memory)[4].extra == {}
        assert [item.parameters for item in queries.skill_events(memory)] == [{}]
        assert memory.state('lease:x') is None


def test_a_last_page_cut_within_is_told(folder: Path) -> None:
    """SQLite takes zeros for what is missing of it."""
    file = folder / DATABASE_FILE
    with file.open('r+b') as stream:
        stream.truncate(file.stat().st_size - 100)
    assert 'the file was cut short by 1 pages' in repair_memory(folder, Settings()).mended
    assert is_whole(folder)


@pytest.mark.parametrize('new', [b'CREATE TABLE \xc2tterance (', b'CREATE TABLE utterance {'])
def test_damaged_words_of_a_table(folder: Path, new: bytes) -> None:
    """They are known: its rows are there, and are read by the words of an undamaged file."""
    file = folder / DATABASE_FILE
    replaced(file, b'CREATE TABLE utterance (', new)
    with pytest.raises(StoreError, match='doctor --repair'):
        open_in(folder)
    assert any(finding.state == 'wrong' for finding in check_database(
        file, PictureFolder(folder / 'pictures')))
    lost, left = lost_and_left(folder)
    assert (lost, left) == (set(), set(range(1, WORDS + 1)))


def test_a_damaged_name_of_a_column(folder: Path) -> None:
    replaced(folder / DATABASE_FILE, b'speaker VARCHAR', b'speakxr VARCHAR')
    assert lost_and_left(folder) == (set(), set(range(1, WORDS + 1)))
