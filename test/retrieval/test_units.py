"""Whole searches: which units come, with which times; what is read is read; what goes with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from small_memories import NOON_NS, say
from sqlalchemy import update

from emv_ros.memory import schema
from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Observation, SkillReport, Status, Utterance
from emv_ros.retrieval.budget import chosen, shown_spans
from emv_ros.retrieval.embedders import MiniLmEmbedder
from emv_ros.retrieval.excerpts import excerpts
from emv_ros.retrieval.finding import NO_NEW, Finder, Findings
from emv_ros.retrieval.search import Searcher
from emv_ros.retrieval.units import Span, Unit
from emv_ros.retrieval.word_fit import word_scores
from emv_ros.settings import RetrievalSettings, TreeSettings
from emv_ros.timeline import HOUR_NS, SECOND_NS, parse_zone
from emv_ros.token_estimate import estimate as tokens_of
from emv_ros.tree.consolidate import consolidate

BERLIN = parse_zone('Europe/Berlin')  # NOON_NS is 13:00 there, on Sunday, 1 March 2026
WORDS_ONLY = RetrievalSettings(embedder='none')
DAY_S = 86_400


def see(store: MemoryStore, name: str, *starts_s: int, instance: str = '', robot: str = 'r1',
        event: str = 'moved', entity_id: int | None = None) -> list[int]:
    return store.add_many(
        Observation(stamp_ns=NOON_NS + start * SECOND_NS, end_ns=NOON_NS + (start + 4) * SECOND_NS,
                    name=name, instance=instance, event=event, robot=robot, entity_id=entity_id)
        for start in starts_s)


def add_entity(store: MemoryStore, name: str) -> int:
    with store.writing() as session:
        row = schema.EntityRow(robot_id=store.robot_id(session, 'r1'), name=name, is_person=False,
                               attributes={})
        session.add(row)
        session.flush()
        return int(row.id)


def finder(store: MemoryStore, **changed: object) -> Finder:
    return Finder(store, Searcher(store, replace(WORDS_ONLY, **changed)))  # type: ignore[arg-type]


def shown(found: Findings, tokens: int = 1000) -> str:
    """Return the excerpts without a word of what this searcher lacks."""
    return excerpts(replace(found, note=''), BERLIN, tokens).text


def ids(found: Findings) -> list[list[int]]:
    return [[span.ref_id for span in unit.spans] for unit in found.units]


def test_an_observed_thing_is_one_unit_with_all_its_times(
        store: MemoryStore, minilm: MiniLmEmbedder) -> None:
    see(store, 'mug', 0, 100, DAY_S, instance='a')
    see(store, 'mug', 50, instance='b')
    see(store, 'mug', 60)  # of which nobody says what it is the same as
    for searching in (finder(store), Finder(store, Searcher(store, RetrievalSettings(), minilm))):
        found = searching.find('mug', zone=BERLIN)
        assert sorted(ids(found)) == [[1, 2, 3], [4], [5]]
        lines = excerpts(found, BERLIN).text.splitlines()
        assert ('o1 2026-03-01 13:00:00–13:00:04 "mug moved" ×3, o2 13:01:40–13:01:44, '
                'o3 2026-03-02 13:00:00–13:00:04') in lines


@pytest.mark.parametrize(('merge', 'expected'), [
    ('entity', [[1, 2], [3]]), ('name', [[1, 2, 3]]), ('events', [[1], [2], [3]]),
    ('none', [[1], [2], [3]])])
def test_what_is_one_thing_is_a_setting(
        store: MemoryStore, merge: str, expected: list[list[int]]) -> None:
    see(store, 'mug', 0, 100, instance='a')
    see(store, 'mug', 50, instance='b')
    found = sorted(sorted(unit) for unit in ids(finder(store, merge=merge).find('mug')))
    assert found == expected


def test_runs_of_one_skill_differ_by_goal_and_outcome(store: MemoryStore) -> None:
    def run(start_s: int, goal: str, status: Status = Status.SUCCEEDED) -> SkillReport:
        return SkillReport(stamp_ns=NOON_NS + start_s * SECOND_NS, skill='add', status=status,
                           goal_stack=(goal,), parameters={'what': 'milk'},
                           end_ns=NOON_NS + (start_s + 9) * SECOND_NS, robot='r1')
    store.add_many([run(0, 'Coffee'), run(60, 'Porridge'), run(120, 'Coffee'),
                    run(180, 'Coffee', Status.FAILED)])
    found = finder(store).find('When was milk added to coffee?', zone=BERLIN)
    assert ids(found)[0] == [1, 3]
    assert sorted(ids(found)) == [[1, 3], [2], [4]]
    assert excerpts(found, BERLIN).text.splitlines()[0] == (
        's1 2026-03-01 13:00:00–13:00:09 "add succeeded milk" for "Coffee" ×2, '
        's3 13:02:00–13:02:09')


def test_what_was_at_a_moment_comes_first_with_all_its_times(store: MemoryStore) -> None:
    for at, name in enumerate('abcdefgh'):
        see(store, 'knife', at * 100, at * 100 + 1000, instance=name)
    found = finder(store).find('How often did the knife seen at 2026-03-01 13:05:01 move?',
                               zone=BERLIN, limit=3)
    assert ids(found)[0] == [7, 8]  # 'd', 300 s after 13:00
    assert len(found.units) == 3


def test_where_nothing_was_at_a_moment_the_nearest_comes_first(store: MemoryStore) -> None:
    see(store, 'mug', 0, instance='a')
    see(store, 'mug', 3 * DAY_S, instance='b')
    see(store, 'mug', 5 * DAY_S, instance='c')
    found = finder(store).find('the mug seen at 2026-03-04 18:00', zone=BERLIN)
    assert ids(found)[0] == [2]
    assert 'nothing was found at 2026-03-04 17:50:00 to 18:11:00' in found.note


def test_a_window_from_words_holds_while_something_lies_in_it(store: MemoryStore) -> None:
    say(store, 'the mug is blue', start_s=0, robot='r1')
    say(store, 'the mug is red', start_s=DAY_S, robot='r1')
    now_ns = NOON_NS + 2 * DAY_S * SECOND_NS
    def asked(text: str, window: Window = Window()) -> Findings:  # noqa: B008
        return finder(store).find(text, window, now_ns=now_ns, zone=BERLIN)
    assert ids(asked('the mug yesterday')) == [[2]]
    far = asked('the mug last year')
    assert sorted(ids(far)) == [[1], [2]]
    assert 'nothing was found in 2025-01-01 00:00:00 to 2026-01-01 00:00:00' in far.note
    # The caller's own window wins, and the time of the question hides what came after.
    first = Window(end_ns=NOON_NS + HOUR_NS)
    assert ids(asked('the mug yesterday', first)) == [[1]]
    assert ids(asked('mug', Window(before_ns=NOON_NS + HOUR_NS))) == [[1]]


def test_of_a_full_day_without_words_its_episodes_are_told(store: MemoryStore) -> None:
    store.add_many(
        SkillReport(stamp_ns=NOON_NS + (day * DAY_S + at * 60) * SECOND_NS, skill=f'step{at}',
                    status=Status.SUCCEEDED, goal_stack=(f'Cook{at // 20}',),
                    end_ns=NOON_NS + (day * DAY_S + at * 60 + 5) * SECOND_NS, robot='r1')
        for day in range(2) for at in range(250))
    consolidate(store, TreeSettings(), zone='Europe/Berlin')
    now_ns = NOON_NS + 2 * DAY_S * SECOND_NS
    found = finder(store).find('yesterday', now_ns=now_ns, zone=BERLIN)
    first = found.units[0]
    assert first.kind == 'node'
    assert first.level == max(unit.level for unit in found.units) >= 4
    day = (NOON_NS + 11 * HOUR_NS, NOON_NS + 35 * HOUR_NS)  # midnight in Berlin
    assert all(day[0] <= span.start_ns <= span.end_ns <= day[1]
               for unit in found.units for span in unit.spans)
    assert 'nothing was found' not in found.note


def test_what_was_read_does_not_come_again(store: MemoryStore) -> None:
    see(store, 'mug', 0, 100, instance='a')
    see(store, 'mug', 50, instance='b')
    searching = finder(store)
    read = {('observation', 1), ('observation', 3)}
    left = searching.find('mug', read=read)
    assert ids(left) == [[2]]
    assert NO_NEW not in left.note
    again = searching.find('mug', read=read | {('observation', 2)})
    assert sorted(ids(again)) == [[1, 2], [3]]
    assert again.note.startswith(NO_NEW)
    assert NO_NEW not in searching.find('zebra', read=read).note


def test_of_very_many_times_the_first_and_the_last_are_shown(store: MemoryStore) -> None:
    see(store, 'mug', *range(0, 9000, 10), instance='a')  # 900 times
    found = finder(store).find('mug', zone=BERLIN)
    assert ids(found) == [[*range(1, 22), 898, 899, 900]]
    assert found.units[0].total == 900
    assert ids(finder(store).find('mug', spans=4)) == [[1, 898, 899, 900]]


def test_of_many_that_say_the_same_each_entity_has_its_own(
        store: MemoryStore, minilm: MiniLmEmbedder) -> None:
    one, two = add_entity(store, 'mug'), add_entity(store, 'mug')
    for at in range(0, 1000, 10):
        see(store, 'mug', at, entity_id=two if at % 100 == 30 else one)
    for searching in (finder(store), Finder(store, Searcher(store, RetrievalSettings(), minilm))):
        units = {unit.entity_id: unit for unit in searching.find('mug').units}
        assert [span.ref_id for span in units[two].spans] == list(range(4, 101, 10))
        assert (units[one].total, units[two].total) == (90, 10)
        assert all(span.ref_id % 10 != 4 for span in units[one].spans)


def test_spans_that_were_asked_for_are_shown() -> None:
    spans = [Span(at, at * 100, at * 100 + 50) for at in range(100)]
    kept = shown_spans(spans, lambda span: span.ref_id == 50, most=6)
    assert [span.ref_id for span in kept] == [0, 1, 50, 97, 98, 99]


def a_unit(ref_id: int, score: float, kind: str = 'skill_event', hour: int = 0,
           thing: str = '') -> Unit:
    start_ns = NOON_NS + hour * HOUR_NS + ref_id
    return Unit(key=(kind, ref_id), group=ref_id, kind=kind, robot='r1', robot_id=1, text='x',
                thing=thing, spans=[Span(ref_id, start_ns, start_ns)], score=score, total=1)


def best(units: Sequence[Unit], limit: int) -> list[int]:
    return [unit.spans[0].ref_id for unit in chosen(units, limit)]


def test_few_observations_while_there_is_something_else() -> None:
    seen = [a_unit(at, 2, 'observation', hour=at) for at in range(10)]
    done = [a_unit(at, 1, hour=at) for at in range(20, 25)]
    assert best([*seen, *done], 8) == [0, 1, 2, 3, 4, 5, 20, 21]
    assert best([*seen, *done[:1]], 8) == [0, 1, 2, 3, 4, 5, 20, 6]


def test_at_most_three_of_one_thing() -> None:
    assert best([a_unit(at, 2, 'observation', at, thing='e1') for at in range(9)], 8) == [0, 1, 2]


def test_not_all_of_one_hour_while_other_hours_have_something() -> None:
    crowd = [a_unit(at, 2) for at in range(10)]
    others = [a_unit(at, 1, hour=at) for at in range(20, 23)]
    assert best([*crowd, *others], 8) == [0, 1, 2, 3, 20, 21, 22, 4]


def test_an_entity_comes_with_other_times_and_namesakes(store: MemoryStore) -> None:
    one, two, three, _ = (add_entity(store, name) for name in ('mug', 'mug', 'mug', 'cup'))
    first = see(store, 'mug', 0, 100, entity_id=one)
    see(store, 'mug', 7200, entity_id=one, event='washed')
    other = see(store, 'mug', 30, entity_id=two)
    see(store, 'mug', 500, entity_id=three)
    with store.writing() as session:
        session.add(schema.SeparationRow(first_id=first[0], second_id=other[0], shared_frames=3))
    found = finder(store).find('mug moved', zone=BERLIN, limit=1)
    assert ids(found) == [[1, 2]]
    assert shown(found) == (
        'o1 2026-03-01 13:00:00–13:00:04 e1 "mug moved" ×2, o2 13:01:40–13:01:44 '
        'also seen 2026-03-01 15:00 others of this name: e2: different, e3: unresolved')
    early = finder(store).find('mug moved', Window(before_ns=NOON_NS + 200 * SECOND_NS), limit=1)
    assert (early.units[0].also_ns, early.units[0].verdicts) == ([], ['e2: different'])


def test_what_was_said_comes_with_the_reply(store: MemoryStore) -> None:
    store.add_many([
        Utterance(stamp_ns=NOON_NS, speaker='Anna', text='Where is my mug?', robot='r1'),
        Utterance(stamp_ns=NOON_NS + 3 * SECOND_NS, speaker='robot', is_own=True, robot='r1',
                  text='On the shelf')])
    found = finder(store).find('mug', zone=BERLIN)
    assert shown(found) == (
        'u1 2026-03-01 13:00:00 "Anna: Where is my mug?" → u2 "robot: On the shelf"')


def test_each_of_several_quoted_texts_is_asked_for(store: MemoryStore) -> None:
    say(store, *(f'stir the soup for {at} minutes with a spoon' for at in range(40)), robot='r1')
    say(store, 'chop one onion', start_s=500, robot='r1')
    found = finder(store).find('When: "stir the soup for 7 minutes with a spoon", "chop one onion"')
    assert {8, 41} <= {unit[0] for unit in ids(found)[:4]}


def test_forgotten_records_do_not_come_back(store: MemoryStore) -> None:
    see(store, 'mug', 0, 100, instance='a')
    searching = finder(store)
    assert ids(searching.find('mug')) == [[1, 2]]
    with store.writing() as session:
        session.delete(session.get(schema.ObservationRow, 1))
        session.execute(update(schema.DocumentRow).where(schema.DocumentRow.ref_id == 1)
                        .values(ref_id=99_999))
    assert all(1 not in unit for unit in ids(searching.find('mug')))


def test_a_moment_alone_finds_a_thing_with_all_its_times(store: MemoryStore) -> None:
    """Without other words nothing was searched for before, so that nothing is held yet."""
    mug = add_entity(store, 'mug')
    see(store, 'mug', *range(0, 200, 10), entity_id=mug)
    found = finder(store).find('2026-03-01 13:00:20', zone=BERLIN)
    assert ids(found) == [list(range(1, 21))]
    assert f'o1 2026-03-01 13:00:00–13:00:04 e{mug} "mug moved" ×20' in shown(found)


def test_an_end_after_the_question_is_not_known(store: MemoryStore) -> None:
    see(store, 'mug', 0, 100, instance='a')  # each of four seconds
    mug = add_entity(store, 'cup')
    see(store, 'cup', *range(0, 200, 10), entity_id=mug)
    before_ns = NOON_NS + 101 * SECOND_NS
    found = finder(store).find('mug and cup', Window(before_ns=before_ns))
    ends = {unit.name: unit.spans[-1].end_ns for unit in found.units}
    assert ends == {'mug': before_ns, 'cup': before_ns}


def test_all_that_say_the_same_are_counted_and_come_in_turn(store: MemoryStore) -> None:
    said = say(store, *['hello there'] * 900, robot='r1')
    searching = finder(store)
    found = searching.find('hello')
    assert [unit.total for unit in found.units] == [900]
    assert ids(found) == [said[:21] + said[-3:]]
    read = {('utterance', key) for key in said[:21] + said[-3:]}
    assert ids(searching.find('hello', read=read)) == [said[21:42] + said[-6:-3]]


def test_of_many_things_of_one_name_each_comes_in_turn(store: MemoryStore) -> None:
    for at in range(60):
        see(store, 'mug', *range(at * 10, at * 10 + 2), entity_id=add_entity(store, 'mug'))
    searching = finder(store)
    read: set[tuple[str, int]] = set()
    met: list[int | None] = []
    for _ in range(4):
        found = searching.find('mug', read=read)
        assert NO_NEW not in found.note
        met += [unit.entity_id for unit in found.units]
        read |= {(unit.kind, span.ref_id) for unit in found.units for span in unit.spans}
    assert len(met) == len(set(met)) == 60
    assert NO_NEW in searching.find('mug', read=read).note


def test_what_was_nearest_to_a_moment_comes_first(store: MemoryStore) -> None:
    say(store, 'the red mug broke', robot='r1')
    say(store, 'a mug came', start_s=7200, robot='r1')
    found = finder(store).find('red mug at 2026-03-01 16:30', zone=BERLIN)  # 1.5 h, 3.5 h before
    assert ids(found) == [[2], [1]]
    assert 'what was nearest comes first' in found.note


def test_a_question_of_any_length_is_read_in_time(store: MemoryStore) -> None:
    say(store, 'the mug', robot='r1')
    found = finder(store).find('mug ' + 'yesterday at noon ' * 100_000)
    assert found.times is not None and len(found.times.words) <= 2000


@pytest.mark.parametrize('tokens', [1, 30, 60, 150])
def test_the_best_unit_is_cut_to_the_budget(store: MemoryStore, tokens: int) -> None:
    say(store, *['hello there'] * 100, robot='r1')
    told = excerpts(replace(finder(store).find('hello'), note=''), BERLIN, tokens)
    assert tokens_of(told.text) <= max(tokens, 20)
    assert len(told.shown[0].spans) == told.text.count('u')
    assert told.text.startswith('u1 2026-03-01 13:00:00 "hello there" ×100')


@pytest.mark.parametrize('tokens', [10, 60, 200, 5000])
def test_the_budget_of_tokens_holds(store: MemoryStore, tokens: int) -> None:
    say(store, *(f'the mug is number {at}, which is a long thing to say' for at in range(30)),
        robot='r1')
    found = finder(store).find('mug', limit=12)
    told = excerpts(replace(found, note=''), BERLIN, tokens)
    assert tokens_of(told.text) <= max(tokens, 40)  # the best is shown in any case
    assert 1 <= len(told.shown) <= 12
    if len(told.shown) < 12:
        assert told.text.endswith(f'… {12 - len(told.shown)} more')


def test_an_empty_memory_says_so(store: MemoryStore) -> None:
    found = finder(store).find('mug yesterday')
    assert found.units == []
    assert 'the memory holds nothing to search in yet' in found.note
    assert excerpts(found, BERLIN).text.startswith('nothing found\n(')


def test_words_fit_by_how_rare_they_are() -> None:
    scores = word_scores(['the red mug'], ['a mug', 'a red mug', 'a cup', 'mugs'])
    assert scores[1] == 1.0
    assert scores[1] > scores[3] >= scores[0] > scores[2] == 0.0
