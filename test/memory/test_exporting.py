"""Exports: the same memory comes back, a part of it too, and what is not whole is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import json
from pathlib import Path
from typing import Any

from databases import database_url, rows
from hypothesis import HealthCheck, given, settings, strategies as st
from memory_contents import contents, states
from memory_parts import at, joints, picture, report, said
import pytest
from sqlalchemy import select, update
from whole_memory import DEPTH, JPEG, fill

from emv_ros.errors import ExportError, ImportFileError, StoreError
from emv_ros.memory import restoring, schema
from emv_ros.memory.dropped import drop_rows
from emv_ros.memory.export_format import FILE
from emv_ros.memory.export_reader import check_export, export_file
from emv_ros.memory.exporting import export_memory
from emv_ros.memory.imports import cut_off, fingerprint
from emv_ros.memory.queries import Window
from emv_ros.memory.restoring import RestoreReport, restore
from emv_ros.memory.store import MemoryStore
from emv_ros.memory.taking_back import take_back
from emv_ros.records import Annotation, JointSample

pytestmark = pytest.mark.both_databases


@contextmanager
def opened(folder: Path) -> Iterator[MemoryStore]:
    with MemoryStore(folder, database_url(folder), 'robot', busy_timeout_s=5.0) as store:
        yield store


def bring_in(store: MemoryStore, folder: Path, robot: str = '',
             **more: Any) -> RestoreReport | dict[str, Any]:
    file = folder / FILE
    return restore(store, check_export(file), fingerprint(file), at(0), robot, **more)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / FILE).read_text('utf-8').splitlines()]


@pytest.fixture
def whole(memory: MemoryStore, tmp_path: Path) -> Path:
    """Return an export of `memory`, which holds everything."""
    fill(memory)
    export_memory(memory, tmp_path / 'out', now_ns=at(100), with_queries=True)
    return tmp_path / 'out'


def test_everything_comes_back(memory, whole, tmp_path):
    with opened(tmp_path / 'other') as other:
        done = bring_in(other, whole)
        assert (done.robots, done.lost_count) == (['helper', 'robot'], 0)
        assert other.picture(1) == JPEG
        assert other.picture(2) == DEPTH
        assert other.get('query', 1).evidence == ('o1', 'n3')
    assert contents(tmp_path / 'other', queries=True) == contents(memory.folder, queries=True)
    kept = {key: value for key, value in states(memory.folder).items() if key != 'lease:other'}
    assert {key: value for key, value in states(tmp_path / 'other').items()
            if not key.startswith('import:')} == kept


def test_everything_comes_back_beside_another_robot(memory, whole, tmp_path):
    with opened(tmp_path / 'other') as other:
        for _ in range(7):
            other.begin_session('stranger', at(0))
        other.add_many([said(second, f'words {second}', robot='stranger') for second in range(9)])
        other.add_image(JPEG, picture(50, robot='stranger'))
        before = contents(other.folder)
        bring_in(other, whole)
        last = other.add(said(99, 'later', robot='stranger'))
        assert last > 9 + 3
        assert other.get('query', 1).evidence == ('o1', 'n3')
        there = states(other.folder)
        session_id = there['symbolic:2']['open'][0][0]
        assert session_id == 8
        assert f'perception:2:{session_id}:head' in there
    after = contents(tmp_path / 'other')
    for table, every in contents(memory.folder).items():
        assert set(every) <= set(after[table]), table
        assert set(before[table]) <= set(after[table]), table


def test_lines_have_the_form_of_experience_files(whole):
    found = {line['type']: line for line in lines(whole)}
    skill = next(line for line in lines(whole) if line['type'] == 'skill')
    assert (skill['t'], skill['t_end']) == (
        '2024-03-01T13:00:00.123456789+01:00', '2024-03-01T13:00:04.000000000+01:00')
    assert (skill['id'], skill['status'], skill['reports']) == ('r1', 'failed', 4)
    assert skill['goal_stack'] == ['Fetch', 'Hold']
    assert found['goal']['goal'] == 'Fetch the mug'
    assert found['narration']['text'] == 'It fell.'
    assert found['annotation']['kind'] == 'note'
    assert found['scene']['relations'] == [
        {'subject': 'mug-1', 'predicate': 'on', 'object': 'table'}]
    assert (whole / found['image']['path']).read_bytes() == DEPTH
    assert all('t' in line for line in lines(whole))
    assert found['end']['counts']['speech'] == 3


def test_questions_stay_at_home_unless_asked_for(memory, tmp_path):
    fill(memory)
    export_memory(memory, tmp_path / 'out', now_ns=at(100))
    assert 'Where is the mug?' not in (tmp_path / 'out' / FILE).read_text('utf-8')


def test_one_robot_alone_and_under_another_name(memory, tmp_path):
    fill(memory)
    export_memory(memory, tmp_path / 'out', Window(robots=('helper',)), now_ns=at(100))
    with opened(tmp_path / 'other') as other:
        bring_in(other, tmp_path / 'out', 'third')
        assert other.robots() == ['third']
        assert other.counts()['utterance'] == 1
        assert other.counts()['node'] == 0


def test_a_part_by_time_has_no_tree_and_waits_for_one(memory, tmp_path):
    fill(memory)
    export_memory(memory, tmp_path / 'out', Window(start_ns=at(4), end_ns=at(8)), now_ns=at(100))
    found = lines(tmp_path / 'out')
    assert {line['text'] for line in found if line['type'] == 'speech'} == {'I dropped it'}
    assert [line['text'] for line in found if line['type'] == 'observation'] == [
        'a red mug', 'the mug again']
    assert not any(line['type'] in ('image', 'node', 'node_head', 'separation') for line in found)
    assert {line['name'] for line in found if line['type'] == 'entity'} == {'mug', 'cup'}
    with opened(tmp_path / 'other') as other:
        bring_in(other, tmp_path / 'out')
        assert other.get('utterance', 2).text == 'I dropped it'
    assert all(row['pending'] for row in rows(
        tmp_path / 'other', 'SELECT pending FROM skill_event'))
    assert not rows(tmp_path / 'other', 'SELECT id FROM observation_image')


def test_pictures_that_are_damaged_or_gone_are_named(memory, tmp_path):
    fill(memory)
    first, second = memory.get('image', 1), memory.get('image', 2)
    memory.pictures.path(first.sha256, first.media_type).write_bytes(b'other')
    memory.pictures.path(second.sha256, second.media_type).unlink()
    report = export_memory(memory, tmp_path / 'out', now_ns=at(100))
    assert (report.damaged_count, report.pictures) == (2, 0)
    assert report.damaged[0].startswith('i1:') and 'damaged' in report.damaged[0]
    assert report.damaged[1].startswith('i2:') and 'missing' in report.damaged[1]
    with opened(tmp_path / 'other') as other:
        assert bring_in(other, tmp_path / 'out').lost_count == 2
    with memory.writing() as session:  # there each row says that its file is not there
        session.execute(update(schema.ImageRow).values(gone='missing'))
    assert contents(tmp_path / 'other') == contents(memory.folder)


def test_what_became_of_pictures_goes_along(memory, tmp_path):
    fill(memory)
    with memory.writing() as session:
        session.get(schema.ImageRow, 1).gone = 'retention'
    report = export_memory(memory, tmp_path / 'out', now_ns=at(100))
    assert (report.damaged_count, report.pictures) == (0, 1)
    first, second = (line for line in lines(tmp_path / 'out') if line['type'] == 'image')
    assert (first['gone'], 'path' in first, 'gone' in second, 'path' in second) == (
        'retention', False, False, True)
    with opened(tmp_path / 'other') as other:
        assert bring_in(other, tmp_path / 'out').lost_count == 0
    assert contents(tmp_path / 'other') == contents(memory.folder)


def test_what_nodes_lost_to_retention_goes_along(memory, tmp_path):
    fill(memory)
    member = schema.NodeMemberRow
    with memory.writing() as session:
        kind, ref_id, node_id = session.execute(
            select(member.kind, member.ref_id, member.node_id).where(
                member.kind == 'utterance').limit(1)).one()
        stamp_ns = session.get(schema.UtteranceRow, ref_id).stamp_ns
        drop_rows(session, session.get(schema.NodeRow, node_id).robot_id, kind,
                  {ref_id: stamp_ns})
        summary = session.get(schema.NodeRow, node_id).summary
    export_memory(memory, tmp_path / 'out', now_ns=at(100))
    with opened(tmp_path / 'other') as other:
        other.add(said(0, 'another robot', robot='second'))  # takes an id
        bring_in(other, tmp_path / 'out')
        with other.reading() as session:
            there, = session.execute(select(schema.NodeRow.summary, member.kind).join(
                member, member.node_id == schema.NodeRow.id).where(
                member.kind.startswith('dropped_'))).all()
    assert tuple(there) == (summary, 'dropped_utterance')


def test_an_import_that_is_cut_off_goes_on_and_doubles_nothing(
        memory, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(restoring, 'LOT', 3)
    with opened(tmp_path / 'other') as other:
        for lot in range(1, 13):
            calls = iter(range(lot))

            def stop(left: Iterator[int] = calls) -> None:
                if next(left, None) is None:
                    raise StoreError('cut off')

            try:
                done = bring_in(other, whole, before_lot=stop)
                break
            except StoreError:
                with other.reading() as session:
                    assert len(cut_off(session)) == 1
        assert isinstance(done, RestoreReport) and done.went_on
        again = bring_in(other, whole)
        assert again['is_done'] and again['records'] == len(lines(whole)) - 1
    assert contents(tmp_path / 'other', queries=True) == contents(memory.folder, queries=True)


def test_what_came_in_can_be_taken_back(memory, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(restoring, 'LOT', 5)
    with opened(tmp_path / 'other') as other:
        other.add(said(1, 'mine', robot='stranger'))
        before = contents(other.folder)
        calls = iter(range(9))

        def stop() -> None:
            if next(calls, None) is None:
                raise StoreError('cut off')

        with pytest.raises(StoreError):
            bring_in(other, whole, before_lot=stop)
        assert contents(other.folder) != before
        assert take_back(other, '', fingerprint(whole / FILE)) > 20
        assert contents(other.folder) == before
        assert states(other.folder) == {}
        assert list(other.pictures) == []
        assert isinstance(bring_in(other, whole), RestoreReport)


def test_a_reference_to_nothing_leaves_nothing_behind(memory, whole, tmp_path):
    changed = [line | ({'clip': 77} if line['type'] == 'observation' else {})
               for line in lines(whole)]
    (whole / FILE).write_text(''.join(json.dumps(line) + '\n' for line in changed), 'utf-8')
    with opened(tmp_path / 'other') as other:
        with pytest.raises(ImportFileError, match='cannot be stored'):
            bring_in(other, whole)
        assert (other.robots(), sum(other.counts().values()), states(other.folder)) == ([], 0, {})


def test_a_robot_that_is_there_is_refused(memory, whole):
    with pytest.raises(ImportFileError, match="already holds records of the robot 'robot'"):
        bring_in(memory, whole)
    with pytest.raises(ImportFileError, match='holds 2 robots'):
        bring_in(memory, whole, 'third')


@pytest.mark.parametrize(('change', 'told'), [
    (lambda text: text[:len(text) * 2 // 3], 'was cut off in line'),
    (lambda text: text[:text.rindex('\n', 0, -1) + 1], 'lacks its last line'),
    (lambda text: text.replace('"version":1', '"version":2'), 'of version 2; .* up to 1'),
    (lambda text: text.replace('"version":1', '"version":"x"'), 'names no version'),
    (lambda text: text.replace('"type":"pose"', '"type":"smell"', 1), "type 'smell' is none"),
    (lambda text: text.replace('"status":"failed"', '"status":7', 1), '`status` is int, not str'),
    (lambda text: text.replace('"robot":"helper"', '"robot":"x"', 1), "names the robot 'x'"),
    (lambda text: text.replace('12:', '77:').replace('13:', '77:'), 'no such time'),
    (lambda text: '\n'.join(line for line in text.split('\n') if 'bring the mug' not in line),
     'is not whole'),
    (lambda text: text + '{"type":"end"}\n', 'after the end'),
    (lambda text: text.replace('bring the mug', '\\ud800'), 'half a character')])
def test_what_is_not_whole_is_refused(whole, change, told):
    file = whole / FILE
    file.write_text(change(file.read_text('utf-8')), 'utf-8')
    assert export_file(whole) == export_file(file) == file
    with pytest.raises(ImportFileError, match=told):
        check_export(file)


def test_an_export_takes_its_name_at_the_end_alone(memory, tmp_path):
    fill(memory)

    def stop(done: int) -> None:
        raise KeyboardInterrupt

    memory.add_many([said(second, 'words') for second in range(600)])
    with pytest.raises(KeyboardInterrupt):
        export_memory(memory, tmp_path / 'out', now_ns=at(100), progress=stop)
    assert not (tmp_path / 'out').exists()
    (tmp_path / 'out').mkdir()
    export_memory(memory, tmp_path / 'out', now_ns=at(100))
    with pytest.raises(ExportError, match='is there already'):
        export_memory(memory, tmp_path / 'out', now_ns=at(100))
    memory.add(said(20, 'and more'))
    export_memory(memory, tmp_path / 'out', now_ns=at(100), overwrite=True)
    assert 'and more' in (tmp_path / 'out' / FILE).read_text('utf-8')
    (tmp_path / 'mine').mkdir()
    (tmp_path / 'mine/letter.txt').write_text('dear Ann')
    with pytest.raises(ExportError, match='is no export'):
        export_memory(memory, tmp_path / 'mine', now_ns=at(100), overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ['memory', 'mine', 'out']


WORDS = st.text(st.characters(codec='utf-8'), min_size=1, max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2**53, 2**53) | WORDS
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6)


@pytest.mark.sqlite_only  # two databases for each example; test_fleet has odd values on both
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(words=WORDS, speaker=WORDS, values=st.dictionaries(WORDS, VALUES, max_size=3),
       angles=st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False),
                       min_size=1, max_size=3), stamp=st.integers(0, 4 * 10**18))
def test_odd_contents_come_back(tmp_path_factory, words, speaker, values, angles, stamp):
    folder = tmp_path_factory.mktemp('odd')
    with opened(folder / 'one') as one, opened(folder / 'two') as two:
        one.add_many([
            said(0, words, extra=values), report(1, 'running', speaker, parameters=values),
            joints(2, 1.0), JointSample(stamp_ns=stamp, names=tuple('abc'[:len(angles)]),
                                        position=tuple(angles), extra=values),
            Annotation(stamp_ns=stamp, end_ns=stamp, kind=speaker, text=words)])
        export_memory(one, folder / 'out', now_ns=at(0))
        bring_in(two, folder / 'out')
    assert contents(folder / 'two') == contents(folder / 'one')


@pytest.mark.parametrize(
    'words', ['line\nbreak\r\n', 'nul \0 inside', '\u2028 \u2029', '🤖 é', '"\\'])
def test_texts_that_break_lines_elsewhere(memory, tmp_path, words):
    memory.add(said(0, words, extra={words: '\ud800'}))  # half a character, in JSON alone
    export_memory(memory, tmp_path / 'out', now_ns=at(0))
    with opened(tmp_path / 'other') as other:
        bring_in(other, tmp_path / 'out')
    assert contents(tmp_path / 'other') == contents(memory.folder)
