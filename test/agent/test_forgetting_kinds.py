"""Records of every kind are forgotten: chosen in all ways, gone from every byte, and for good."""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import signal
from typing import Any

import cv2
from databases import database_url, files_with
import numpy as np
import pytest
from sqlalchemy import func, select

from emv_ros.agent.agent import Agent
from emv_ros.agent.answers import Question
from emv_ros.agent.forgetting import forget
from emv_ros.biography.rebuild import rebuild
from emv_ros.biography.upkeep import keep
from emv_ros.errors import (
    ForgettingCanceledError,
    NotFoundError,
    RecordError,
    ShareError,
    StoreBusyError,
)
from emv_ros.memory import schema
from emv_ros.memory.choosing import Choice
from emv_ros.memory.clearing import alone, is_noted
from emv_ros.memory.exporting import export_memory
from emv_ros.memory.store import MemoryStore
from emv_ros.perception.perceive import perceive
from emv_ros.perception.symbolic import observe_scenes
from emv_ros.records import (
    Annotation,
    ImageRecord,
    JointSample,
    ModelCall,
    Observation,
    Pose,
    QueryRecord,
    Scene,
    SceneObject,
    SkillReport,
    Status,
    Utterance,
)
from emv_ros.retrieval.embedders import MiniLmEmbedder
from emv_ros.retrieval.index import embed_missing
from emv_ros.retrieval.search import Searcher
from emv_ros.settings import RetrievalSettings, Settings, TreeSettings
from emv_ros.timeline import HOUR_NS, SECOND_NS, parse_stamp
from emv_ros.tree.consolidate import consolidate
from emv_ros.tree.journal import Journal, PaidReply

NOON_NS = parse_stamp('2024-03-01T12:00:00Z')[0]
SECRET = 'quetzalcoatl77'
WORDS_ONLY = Settings(retrieval=RetrievalSettings(embedder='none'))

pytestmark = pytest.mark.both_databases


def at(seconds: float) -> int:
    return NOON_NS + round(seconds * SECOND_NS)


def open_store(folder: Path) -> MemoryStore:
    return MemoryStore(folder, database_url(folder), 'r2', busy_timeout_s=5.0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with open_store(tmp_path / 'memory') as opened:
        yield opened


def wipe(store: MemoryStore, *references: tuple[str, int], **conditions: Any) -> Any:
    options = {name: conditions.pop(name) for name in (
        'force', 'max_share', 'dry_run', 'progress', 'cancel') if name in conditions}
    return forget(store, Choice(references=references, **conditions), author='ann',
                  reason='asked to', stamp_ns=at(10**6), **options)


def picture(word: str = '', seed: int = 0) -> bytes:
    """A JPEG file of noise; a word stands in a comment, as cameras write them."""
    pixels = np.random.default_rng(seed).integers(0, 255, (60, 80, 3), np.uint8)
    data = cv2.imencode('.jpg', pixels)[1].tobytes()
    said = word.encode()
    return data[:2] + b'\xff\xfe' + (len(said) + 2).to_bytes(2, 'big') + said + data[2:]


def show(store: MemoryStore, seconds: float, word: str = '', seed: int = 0) -> int:
    return store.add_image(picture(word, seed), ImageRecord(
        stamp_ns=at(seconds), camera='head', sha256='', media_type='image/jpeg', width=80,
        height=60))


def run(seconds: float, status: str, skill: str = 'Fetch', **more: Any) -> SkillReport:
    return SkillReport(stamp_ns=at(seconds), skill=skill, status=Status(status), **more)


class Telltale:
    """A model of summaries that repeats all that it is shown, as those of long prompts do."""

    def __init__(self) -> None:
        self.available, self.asked = True, list[str]()

    def name(self, purpose: str) -> str:
        return 'telltale'

    def complete(self, messages: list[dict[str, Any]], **_: Any) -> Any:
        shown = messages[-1]['content']
        self.asked.append(str(messages))
        words = f'The user said {SECRET}.' if SECRET in shown.lower() else 'Some things were said.'

        class Reply:
            text, model, cost, prompt_tokens, completion_tokens = words, 'telltale', 0.0, 10, 5
        return Reply()


def ids(store: MemoryStore, kind: str) -> list[int]:
    row = schema.KINDS[kind]
    with store.reading() as session:
        return list(session.scalars(select(row.id).order_by(row.id)))


def live(store: MemoryStore) -> dict[str, int]:
    """Live two days in which a secret is said, done, seen, shown and asked for."""
    made = dict(zip(('words', 'other', 'scene', 'goal'), store.add_many([
        Utterance(stamp_ns=at(0), speaker='user', text=f'the word is {SECRET.upper()}, keep it'),
        Utterance(stamp_ns=at(60), speaker='user', text='please bring the red cup'),
        Scene(stamp_ns=at(30), camera='head', objects=(
            SceneObject(name=f'{SECRET} box', instance='b1', bbox=(5, 5, 30, 30)),
            SceneObject(name='cup', instance='c1'))),
        Annotation(stamp_ns=at(5), end_ns=at(20), kind='goal', text=f'hide {SECRET}')]),
        strict=True))
    store.add_many([
        run(5, 'running', 'Say', parameters={'words': {'inner': [SECRET]}}),
        run(9, 'succeeded', 'Say', parameters={'words': {'inner': [SECRET]}}),
        run(62, 'running', parameters={'thing': 'cup'}),
        run(80, 'succeeded', parameters={'thing': 'cup'}),
        Utterance(stamp_ns=at(86_400), speaker='user', text='good morning'),
        run(86_410, 'running', parameters={'thing': 'cup'}),
        run(86_420, 'succeeded', parameters={'thing': 'cup'})])
    made['image'] = show(store, 30, SECRET)
    made['same'] = show(store, 86_400, seed=1)
    return made


def grow(store: MemoryStore, model: Any = None) -> None:
    observe_scenes(store, WORDS_ONLY, 'r2')
    keep(store, WORDS_ONLY, 'r2')
    consolidate(store, TreeSettings(), model=model)


def ask(store: MemoryStore, words: str) -> Any:
    return Agent(store, WORDS_ONLY).ask(Question(text=words, query_time_ns=at(200_000)))


def test_a_secret_is_gone_from_every_byte_and_does_not_come_back(
        store: MemoryStore, tmp_path: Path) -> None:
    folder = store.folder
    made = live(store)
    grow(store, Telltale())
    with store.reading() as session:
        root = session.scalars(select(schema.NodeRow).order_by(
            schema.NodeRow.level.desc()).limit(1)).one()
        assert SECRET in root.summary.lower()  # it went up to the root
    store.log_call(ModelCall(purpose='summary', model='m', stamp_ns=1, duration_s=1.0,
                             outcome='ModelReplyError', detail=f'no JSON: "{SECRET} is"'))
    assert SECRET in ask(store, f'what is {SECRET}?').answer.lower()
    store.log_query(QueryRecord(
        question='what about the cup?', status='ANSWERED', stamp_ns=1, query_time_ns=at(200_000),
        answer='please bring the red cup', evidence=(f'u{made["other"]}',)))
    embed_missing(store, MiniLmEmbedder())
    Searcher(store, RetrievalSettings()).search(SECRET)
    assert len(files_with(folder, SECRET)) > 1

    images = wipe(store, *(('image', key) for key in ids(store, 'image')[:1]))
    assert images.numbers['images'] == 1
    told = wipe(store, text=SECRET, dry_run=True)
    done = wipe(store, text=SECRET)
    assert {name: told.numbers[name] for name in ('utterances', 'skill_events', 'annotations')} == {
        'utterances': 1, 'skill_events': 1, 'annotations': 1}
    assert all(done.numbers[name] >= number for name, number in told.numbers.items())
    assert files_with(folder, SECRET) == [] and not is_noted(store)

    observe_scenes(store, WORDS_ONLY, 'r2')
    perceive(store, WORDS_ONLY, finish=True)
    rebuild(store, Settings().biography, 'r2', (0.7, 0.6))
    model = Telltale()
    grow(store, model)
    embed_missing(store, MiniLmEmbedder())
    found = Searcher(store, RetrievalSettings()).search(f'{SECRET} red cup')
    assert all(SECRET not in hit.text.lower() for hit in found.hits)
    assert SECRET not in ask(store, 'what is the word?').answer.lower()
    assert model.asked and SECRET not in ''.join(model.asked).lower()
    export_memory(store, tmp_path / 'export', now_ns=1, with_queries=True)
    store.fold_log()
    assert files_with(folder, SECRET) == [] and files_with(tmp_path / 'export', SECRET) == []
    with store.reading() as session:
        # What was asked about the cup is still known; what showed the secret is not.
        assert set(session.scalars(select(schema.QueryRow.question))) == {
            'what about the cup?', 'what is the word?'}
        audits = session.scalars(select(schema.AuditRow)).all()
        assert [(item.author, item.reason) for item in audits] == [('ann', 'asked to')] * 2
        assert all(isinstance(value, int) for item in audits for value in item.counts.values())
        assert session.scalars(select(schema.ModelCallRow.detail)).all() == ['']
        assert session.scalars(select(schema.SceneObjectRow.name)).all() == []


def test_by_its_id_a_record_goes_with_what_was_said_of_it(store: MemoryStore) -> None:
    made = live(store)
    grow(store, Telltale())
    ask(store, f'what is {SECRET}?')
    done = wipe(store, ('utterance', made['words']), ('skill_event', 1), ('annotation', 1),
                ('scene', made['scene']), ('image', made['image']))
    assert done.numbers['questions'] == 1
    grow(store, Telltale())
    assert files_with(store.folder, SECRET) == []
    assert store.get('utterance', made['other']).text == 'please bring the red cup'


def test_a_node_stands_for_all_beneath_it(store: MemoryStore) -> None:
    live(store)
    store.add_many([JointSample(stamp_ns=at(7), names=('a',), position=(1.0,)),
                    Pose(stamp_ns=at(90_000), frame='map', position=(0.0, 0.0, 0.0))])
    grow(store)
    with store.reading() as session:
        row = schema.NodeRow
        day = session.scalars(select(row.id).where(row.level == 8).order_by(row.start_ns)).first()
    with pytest.raises(NotFoundError, match='n999'):
        wipe(store, ('node', 999))
    wipe(store, ('node', day))
    assert files_with(store.folder, SECRET) == []
    assert len(ids(store, 'utterance')) == 1 and len(ids(store, 'skill_event')) == 1
    assert ids(store, 'pose') == [1] and ids(store, 'joint_sample') == []
    grow(store)
    with pytest.raises(NotFoundError):  # nothing is left of it, and its number is not used again
        wipe(store, ('node', day))
    live(store)
    grow(store)
    with pytest.raises(NotFoundError):
        wipe(store, ('node', day))


def test_forgotten_ids_are_never_used_again(store: MemoryStore) -> None:
    first = store.add_many([Utterance(stamp_ns=at(n), speaker='a', text='hello') for n in range(3)])
    wipe(store, *(('utterance', key) for key in first))
    again = store.add_many([Utterance(stamp_ns=at(n), speaker='a', text='hello') for n in range(3)])
    assert min(again) > max(first)
    with pytest.raises(NotFoundError, match=f'u{first[0]}'):
        wipe(store, ('utterance', first[0]))
    assert ids(store, 'utterance') == again


def test_an_open_search_finds_what_is_left_and_what_comes(store: MemoryStore) -> None:
    """Ten things, three of them forgotten, five new ones: each is found under its own name."""
    things = ['teapot', 'hammer', 'violin', 'banana', 'umbrella', 'candle', 'football', 'blanket',
              'microscope', 'wheelbarrow']
    later = ['cactus', 'telescope', 'sandwich', 'bicycle', 'trumpet']

    def tell(names: list[str], start: int) -> dict[str, int]:
        return dict(zip(names, store.add_many(Utterance(
            stamp_ns=at(start + n), speaker='', text=f'there is a {name} here')
            for n, name in enumerate(names)), strict=True))

    known = tell(things, 0)
    searcher = Searcher(store, RetrievalSettings())
    embed_missing(store, MiniLmEmbedder())
    assert searcher.search('violin').hits[0].ref_id == known['violin']
    gone = ['hammer', 'candle', 'wheelbarrow']
    wipe(store, *(('utterance', known.pop(name)) for name in gone))
    known |= tell(later, 100)
    embed_missing(store, MiniLmEmbedder())
    for name, key in known.items():
        assert searcher.search(name).hits[0].ref_id == key, name
    # By meaning alone: no such word was said.
    assert searcher.search('a cup of tea').hits[0].ref_id == known['teapot']
    assert searcher.search('thorny plant').hits[0].ref_id == known['cactus']
    for name in gone:
        assert name not in ' '.join(hit.text for hit in searcher.search(name).hits)


def test_a_time_takes_whole_records_that_lie_in_it_or_cross_it(store: MemoryStore) -> None:
    store.add_many([
        Utterance(stamp_ns=at(10), speaker='', text='before it'),
        Utterance(stamp_ns=at(18), end_ns=at(21), speaker='', text='into it'),
        Utterance(stamp_ns=at(18), end_ns=at(20), speaker='', text='up to it'),
        Utterance(stamp_ns=at(20), speaker='', text='at its start'),
        Utterance(stamp_ns=at(30), speaker='', text='at its end'),
        Observation(stamp_ns=at(0), end_ns=at(100), name='long'),
        run(5, 'running'), run(25, 'succeeded'), run(40, 'running', 'Later')])
    told = wipe(store, start_ns=at(20), end_ns=at(30), dry_run=True)
    assert {name: number for name, number in told.numbers.items() if name in (
        'utterances', 'observations', 'skill_events')} == {
        'utterances': 2, 'observations': 1, 'skill_events': 1}
    wipe(store, start_ns=at(20), end_ns=at(30))
    with store.reading() as session:
        assert session.scalars(select(schema.UtteranceRow.text).order_by(
            schema.UtteranceRow.id)).all() == ['before it', 'up to it', 'at its end']
        assert session.scalars(select(schema.SkillEventRow.skill)).all() == ['Later']
    wipe(store, start_ns=at(30))
    wipe(store, end_ns=at(11))
    with store.reading() as session:
        assert session.scalars(select(schema.UtteranceRow.text)).all() == ['up to it']


def test_conditions_hold_together(store: MemoryStore) -> None:
    def say(robot: str, speaker: str, text: str, second: float) -> Utterance:
        return Utterance(stamp_ns=at(second), robot=robot, speaker=speaker, text=text)

    store.add_many([say('r1', 'Anna', 'Straße  und\nBrücke', 0), say('r1', 'anna', 'hello', 1),
                    say('r2', 'Anna', 'hello', 2), say('r1', 'Annabel', 'hello', 3)])
    store.add(run(4, 'succeeded', parameters={'to': {'say': 'Über die BRÜCKE "jetzt"'}}))

    def left(**conditions: Any) -> dict[str, int]:
        found = wipe(store, dry_run=True, **conditions).numbers
        return {name: found[name] for name in ('utterances', 'skill_events') if name in found}

    assert left(speakers=('ANNA',)) == {'utterances': 3}
    assert left(speakers=('anna',), robots=('r1',), start_ns=at(1)) == {'utterances': 1}
    assert left(text='brücke') == {'utterances': 1, 'skill_events': 1}
    assert left(text='STRASSE UND brücke') == {'utterances': 1}
    assert left(text='brücke "JETZT"') == {'skill_events': 1}
    assert left(text='brücke', kinds=frozenset({'skill_event'})) == {'skill_events': 1}
    for conditions in ({'text': 'x%y'}, {'speakers': ('Ann',)}, {'robots': ('r2',),
                                                               'start_ns': at(9)}):
        with pytest.raises(NotFoundError, match='no record fits'):
            left(**conditions)
    with pytest.raises(NotFoundError, match="'r9'"):
        left(robots=('r9',))
    with pytest.raises(RecordError, match='nothing says'):
        left()


def test_the_guard_counts_by_kind_and_gives_way_to_force(store: MemoryStore) -> None:
    store.add_many(Utterance(stamp_ns=at(n), speaker='a', text='x') for n in range(40))
    store.add_many(Pose(stamp_ns=at(n), frame='map', position=(0.0, 0.0, 0.0)) for n in range(5))
    with pytest.raises(ShareError, match='21 of 40 rows of the kind utterance'):
        wipe(store, start_ns=at(19), max_share=0.5)
    assert len(ids(store, 'utterance')) == 40
    wipe(store, end_ns=at(20), kinds=frozenset({'utterance'}), max_share=0.5)
    wipe(store, kinds=frozenset({'pose'}), max_share=0.5)  # of so few any share may go
    wipe(store, kinds=frozenset({'utterance'}), max_share=0.5, force=True)
    assert ids(store, 'utterance') == ids(store, 'pose') == []


def test_a_picture_file_stays_while_another_row_has_its_bytes(store: MemoryStore) -> None:
    first, second = show(store, 0, SECRET), show(store, 5, SECRET)
    wipe(store, ('image', first))
    assert store.picture(second) == picture(SECRET)
    told = wipe(store, ('image', second), dry_run=True)
    assert told.bytes == len(picture(SECRET))
    wipe(store, ('image', second))
    assert files_with(store.folder, SECRET) == []


def test_with_its_only_picture_what_was_seen_in_it_goes(store: MemoryStore) -> None:
    images = [show(store, 0, 'a'), show(store, 5, 'b', 1)]
    seen = store.add_many(Observation(
        stamp_ns=at(0), end_ns=at(5), name=name, made_by=made_by, event='lay there',
        attributes={'clothing': 'red coat', 'detected': 'thing'})
        for name, made_by in (('only', 'rule'), ('both', 'model'), ('told', 'source')))
    with store.writing() as session:
        session.add_all(schema.ObservationImageRow(
            observation_id=key, image_id=image, bbox=None, is_crop=True)
            for key, image in ((seen[0], images[0]), (seen[1], images[0]), (seen[1], images[1]),
                               (seen[2], images[0])))
    wipe(store, ('image', images[0]))
    assert ids(store, 'observation') == seen[1:]
    both = store.get('observation', seen[1])  # told anew, of what is left
    assert (both.name, both.event, dict(both.attributes)) == ('thing', '', {})
    assert store.get('observation', seen[2]).event == 'lay there'


@pytest.mark.parametrize('source_id', ['', 'goal-1'])
def test_a_run_that_goes_on_is_not_made_anew_by_its_later_reports(
        store: MemoryStore, source_id: str) -> None:
    def report(seconds: float, status: str, word: str = SECRET) -> SkillReport:
        return run(seconds, status, 'Say', parameters={'text': word}, source_id=source_id)

    store.add_many([report(0, 'running'), run(1, 'running', 'Other')])
    wipe(store, ('skill_event', 1))
    assert store.add_many([report(2, 'running'), report(3, 'succeeded')]) == [0, 0]
    assert store.add(report(4, 'succeeded')) == 0  # told again
    assert files_with(store.folder, SECRET) == [] and len(ids(store, 'skill_event')) == 1
    other = store.add(run(5, 'running', 'Say', parameters={'text': 'hello'}, source_id='goal-2'))
    assert store.get('skill_event', other).parameters == {'text': 'hello'}
    # Long after it, the same words begin another run.
    assert store.add(report(4000, 'running')) > 0


def test_what_was_under_way_meanwhile_keeps_nothing_of_it(store: MemoryStore) -> None:
    live(store)
    journal = Journal(store, 'r2')
    answer = Agent(store, WORDS_ONLY).ask(
        Question(text='what is the word?', query_time_ns=at(200_000)),
        on_progress=lambda _: (
            wipe(store, text=SECRET) if files_with(store.folder, SECRET) else None))
    journal.keep('key', PaidReply(f'It is {SECRET}'))
    store.fold_log()
    assert answer.query_id is None and files_with(store.folder, SECRET) == []
    after = Journal(store, 'r2')
    after.keep('key', PaidReply('It is good'))
    assert after.find('key') is not None
    assert ask(store, 'what was said?').query_id is not None


def test_words_in_a_name_that_a_person_gave_go(store: MemoryStore) -> None:
    with store.writing() as session:
        robot_id = store.robot_id(session, 'r2')
        session.add(schema.EntityRow(robot_id=robot_id, name=f'cup of {SECRET}', is_person=False,
                                     attributes={}))
    store.add(Observation(stamp_ns=at(0), end_ns=at(5), name='cup', entity_id=1))
    with store.writing() as session:
        session.add(schema.NamingRow(observation_id=1, name=f'cup of {SECRET}', author='ann',
                                     stamp_ns=1))
    wipe(store, text=SECRET)
    assert files_with(store.folder, SECRET) == [] and ids(store, 'observation') == [1]
    with store.reading() as session:
        assert session.get_one(schema.EntityRow, 1).name == 'cup'


def test_one_forgets_at_a_time_and_a_cancel_before_the_end_forgets_nothing(
        store: MemoryStore) -> None:
    import threading

    live(store)
    with alone(store.folder), pytest.raises(StoreBusyError, match='another forgetting'):
        wipe(store, ('utterance', 1))
    cancel = threading.Event()
    with pytest.raises(ForgettingCanceledError):
        wipe(store, end_ns=at(100), cancel=cancel, progress=lambda phase, *_: (
            cancel.set() if phase == 'summaries' else None))
    assert ids(store, 'utterance') == [1, 2, 3]
    with pytest.raises(RecordError, match='repeats'):
        forget(store, Choice(text='word'), author='', reason='the word', stamp_ns=1)


@pytest.mark.parametrize('phase', ['records', 'summaries', 'cleared'])
def test_what_a_killed_forgetting_left_is_done_when_the_memory_is_opened(
        tmp_path: Path, phase: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / 'memory'
    with open_store(folder) as store:
        live(store)
        grow(store)
    pid = os.fork()
    if not pid:
        try:
            if phase == 'cleared':  # after the commit, before anything else
                monkeypatch.setattr('emv_ros.agent.forgetting.clear', lambda opened: (
                    os.kill(os.getpid(), signal.SIGKILL) if is_noted(opened) else ''))
            with open_store(folder) as store:
                wipe(store, end_ns=at(50), progress=lambda told, *_: (
                    os.kill(os.getpid(), signal.SIGKILL) if told == phase else None))
        finally:
            os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    assert files_with(folder, SECRET)
    with open_store(folder) as store:
        if phase != 'cleared':
            assert len(ids(store, 'utterance')) == 3  # all or nothing
            wipe(store, end_ns=at(50))
        assert files_with(folder, SECRET) == [] and len(ids(store, 'utterance')) == 2
        with store.reading() as session:
            assert session.scalar(select(func.count()).select_from(schema.AuditRow)) == 1


def test_many_records_of_a_time_go_at_once(store: MemoryStore) -> None:
    """Samples, utterances and observations of two hours, of which one goes: more than a lot."""
    for start in range(0, 7200, 1200):
        store.add_many([JointSample(stamp_ns=at(start + n / 5), names=('a',), position=(0.0,))
                        for n in range(1000)])
        store.add_many([Utterance(stamp_ns=at(start + n), speaker='', text=f'word{start + n}')
                        for n in range(300)])
        store.add_many([Observation(stamp_ns=at(start + n), end_ns=at(start + n) + 1, name='cup')
                        for n in range(300)])
    done = wipe(store, start_ns=NOON_NS, end_ns=NOON_NS + HOUR_NS)
    assert {name: done.numbers[name] for name in (
        'joint_samples', 'utterances', 'observations')} == {
        'joint_samples': 3000, 'utterances': 900, 'observations': 900}
    assert len(ids(store, 'joint_sample')) == 3000
