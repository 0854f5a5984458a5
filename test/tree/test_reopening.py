"""Records that come late, change or vanish: exactly the path above them is made anew."""

from datetime import datetime
from zoneinfo import ZoneInfo

from life_parts import (
    DAY_S,
    SETTINGS,
    UTC,
    Scripted,
    at,
    below_days,
    check_whole,
    goal,
    joints,
    listed,
    open_memory,
    say,
    see,
    shape,
    span,
    told,
)
import pytest
from sqlalchemy import delete, inspect, select, text

from emv_ros.memory import schema
from emv_ros.memory.adding import renew_documents
from emv_ros.memory.queries import Window
from emv_ros.records import SkillReport, Status, Utterance
from emv_ros.retrieval.word_index import word_index
from emv_ros.timeline import HOUR_NS, Interval, parse_zone
from emv_ros.tree.consolidate import consolidate, waiting_records
from emv_ros.tree.reopening import next_piece, reopen, reopen_spans, scrub, take_up, waiting_spans
from emv_ros.tree.view import TreeView

pytestmark = pytest.mark.both_databases

SECRET = 'zanzibar'


def parrot(messages):
    """Repeat the last word of each line, so that a secret is in every summary above it."""
    return 'It was about ' + ' '.join(dict.fromkeys(
        word for line in listed(messages) for word in line.replace('"', ' ').split()
        if word.islower() and len(word) > 5 or word == SECRET))


def tables_with(store, word):
    """Return the tables of the database, shadow tables of the full-text index too, with a word."""
    found = set()
    with store.reading() as session:
        for table in inspect(session.connection()).get_table_names():
            for row in session.execute(text(f'SELECT * FROM "{table}"')):
                for value in row:
                    said = value.decode('utf-8', 'replace') if isinstance(
                        value, bytes) else str(value)
                    if word in said.lower():
                        found.add(table)
    return found


def search(store, word):
    with store.reading() as session:
        return word_index(session).count(word, 0, 2**62)


def texts(store):
    with store.reading() as session:
        return {row.id: (row.summary, row.made_by, row.start_ns, row.end_ns)
                for row in session.scalars(select(schema.NodeRow).order_by(schema.NodeRow.id))}


def remove(store, kind, *ids):
    """Delete records as whoever forgets them does."""
    with store.writing() as session:
        reopen(session, kind, ids)
        table, document = schema.KINDS[kind], schema.DocumentRow
        session.execute(delete(document).where(document.kind == kind, document.ref_id.in_(ids)))
        session.execute(delete(table).where(table.id.in_(ids)))
        scrub(session)


def a_month_of_words():
    """Two days in each of five weeks, of three hours with words and deeds each."""
    return [record for week in range(5) for day in (0, 1) for hour in range(3)
            for record in (
                say((7 * week + day) * DAY_S + hour * 3600, f'please fetch number {hour}'),
                *span('Fetch', (7 * week + day) * DAY_S + hour * 3600 + 10,
                      (7 * week + day) * DAY_S + hour * 3600 + 60))]


def test_a_secret_that_is_summarised_up_to_the_root_leaves_no_trace(store):
    ids = store.add_many([*a_month_of_words(), say(7 * DAY_S + 20, f'the safe is in {SECRET}')])
    consolidate(store, SETTINGS, model=Scripted(parrot), now_ns=at(36 * DAY_S))
    view = TreeView(store, Window(), UTC)
    assert SECRET in view.root.summary
    assert {'utterance', 'document', 'node'} <= tables_with(store, SECRET)
    before = texts(store)
    remove(store, 'utterance', ids[-1])
    # At once, before anything is consolidated.
    assert tables_with(store, SECRET) == set()
    assert search(store, SECRET) == 0
    assert waiting_records(store, 'r2')['reopened'] == 1
    model = Scripted(parrot)
    consolidate(store, SETTINGS, model=model, now_ns=at(36 * DAY_S))
    assert tables_with(store, SECRET) == set()
    check_whole(store)
    assert '…' not in {summary for summary, *_ in texts(store).values()}
    # Its group, its day, its week, and above them the ended part of the year.
    assert len(model.asked) <= 4
    after = texts(store)
    changed = {key for key in after if after[key] != before[key]}
    assert len(changed) <= 5
    assert waiting_records(store, 'r2')['reopened'] == 0


@pytest.mark.parametrize('kind', ['utterance', 'skill_event', 'scene', 'annotation'])
def test_any_kind_of_record_can_go(store, kind):
    records = {'utterance': say(30, SECRET), 'annotation': goal(SECRET, 20, 70),
               'scene': see(30, SECRET), 'skill_event': span(SECRET, 20, 70)[1]}
    shape(store, [say(0, 'hello'), say(100, 'goodbye')])
    alone = below_days(store)
    (ref_id,) = store.add_many([records[kind]])
    shape(store)
    assert below_days(store) != alone
    remove(store, kind, ref_id)
    assert tables_with(store, SECRET) - {'scene_object'} == set()
    shape(store)
    check_whole(store)
    assert below_days(store) == alone


def test_a_goal_that_only_removed_runs_named_leaves_no_trace(store):
    shape(store, [*span('open', 0, 5, [SECRET, 'tidy']), *span('close', 10, 15, [SECRET, 'tidy']),
                  say(12, 'thanks'), *span('charge', 5000, 5005)])
    before = goals_of(store)
    assert set(before) == {SECRET, 'tidy'}
    remove(store, 'skill_event', 2)
    assert goals_of(store) == before  # the other run still tells of them
    consolidate(store, SETTINGS)
    assert goals_of(store) == before
    remove(store, 'skill_event', 1)
    assert tables_with(store, SECRET) == set()
    consolidate(store, SETTINGS)
    assert tables_with(store, SECRET) == set() and goals_of(store) == {}
    check_whole(store, SETTINGS)


def goals_of(store):
    with store.reading() as session:
        return {row.name: row.id for row in session.scalars(
            select(schema.NodeRow).where(schema.NodeRow.level == 3))}


def test_the_last_record_takes_the_tree_with_it(store):
    ids = store.add_many([say(0, 'one'), say(10, 'two')])
    shape(store)
    remove(store, 'utterance', *ids)
    shape(store)
    assert texts(store) == {}
    assert TreeView(store, Window(), UTC).root.summary == 'nothing is remembered here'


def test_a_day_that_lost_all_goes_and_its_neighbours_stay(store):
    ids = store.add_many([say(day * DAY_S, f'day {day}') for day in range(4)])
    shape(store)
    before = texts(store)
    remove(store, 'utterance', ids[1])
    tree = shape(store)
    assert [child[1] for child in tree[2]] == ['day 2024-03-04', 'day 2024-03-06', 'day 2024-03-07']
    assert sum(before.get(key) != row for key, row in texts(store).items()) == 1  # the week
    check_whole(store)


def test_raw_events_whose_records_vanished_go(store):
    ids = store.add_many([*(joints(second) for second in range(0, 600, 5)), say(4000, 'hello')])
    assert 'recorded 120 joint samples' in str(shape(store))
    remove(store, 'joint_sample', *ids[60:120])
    assert 'recorded 60 joint samples' in str(shape(store))
    remove(store, 'joint_sample', *ids[:60])
    assert shape(store) == (8, 'day 2024-03-04', [(2, 'user said "hello"')])
    check_whole(store)


def test_a_run_that_gets_its_end_later_is_made_anew(store):
    store.add(SkillReport(stamp_ns=at(0), skill='Cook', status=Status.RUNNING))
    shape(store, [say(DAY_S, 'next day')])
    assert 'Cook running' in str(texts(store))
    shape(store, [SkillReport(stamp_ns=at(50), skill='Cook', status=Status.FAILED)])
    assert 'Cook failed after 50.0 s' in str(texts(store)) and 'running' not in str(texts(store))
    check_whole(store)


def correct(store, ref_id, **values):
    """Correct an utterance as whoever corrects it does."""
    with store.writing() as session:
        reopen(session, 'utterance', [ref_id])
        row = session.get_one(schema.UtteranceRow, ref_id)
        for name, value in (values | {'pending': True}).items():
            setattr(row, name, value)
        renew_documents(session, 'utterance', [row])


def test_words_that_are_corrected_are_gone_up_to_the_root(store):
    ids = store.add_many([*a_month_of_words(), say(8 * DAY_S + 200, SECRET)])
    consolidate(store, SETTINGS, model=Scripted(parrot))
    node = next(key for key, row in texts(store).items() if row[0] == f'user said "{SECRET}"')
    correct(store, ids[-1], text='silence')
    consolidate(store, SETTINGS, model=Scripted(parrot))
    assert tables_with(store, SECRET) == set()
    assert texts(store)[node][0] == 'user said "silence"'
    assert 'silence' in TreeView(store, Window(), UTC).root.summary
    check_whole(store)


@pytest.mark.parametrize('is_told', [True, False])
def test_a_stamp_that_is_corrected_moves_the_event_to_its_day(store, is_told):
    """Also where whoever corrected it did not say so: its old node is found by its record."""
    ids = store.add_many([say(0, 'one'), say(30, 'two'), say(DAY_S, 'three')])
    shape(store)
    if is_told:
        correct(store, ids[1], stamp_ns=at(DAY_S + 60))
    else:
        with store.writing() as session:
            row = session.get_one(schema.UtteranceRow, ids[1])
            row.stamp_ns, row.pending = at(DAY_S + 60), True
    assert shape(store) == (9, 'week 2024-03 W10', [
        (8, 'day 2024-03-04', [(2, 'user said "one"')]),
        (8, 'day 2024-03-05', [(2, 'user said "three"'), (2, 'user said "two"')])])
    check_whole(store)
    assert 'two' not in next(row[0] for row in texts(store).values() if '04 March' in row[0])


def test_a_late_record_in_a_past_week_asks_for_its_path_alone(store):
    store.add_many(a_month_of_words())
    consolidate(store, SETTINGS, model=Scripted(parrot), now_ns=at(40 * DAY_S))
    before = texts(store)
    store.add(say(8 * DAY_S + 70, 'later'))
    model = Scripted(parrot)
    consolidate(store, SETTINGS, model=model, now_ns=at(40 * DAY_S))
    # The day, the week, and the month, which is over.
    assert len(model.asked) == 3
    changed = [row for key, row in texts(store).items() if before.get(key) != row]
    assert len(changed) <= 5  # those, the root, and the event itself
    assert all(row[1] == 'model' for row in changed if row[0].startswith('It was'))
    check_whole(store)


def test_what_goes_on_looking_the_same_keeps_its_texts(store):
    """A sight that lasts longer says nothing new: no text is lost, no model asked."""
    store.add_many([say(0, 'the kitchen'), *span('Go', 10, 20), see(40, 'mug')])
    consolidate(store, SETTINGS, model=Scripted(lambda _: 'The user spoke of the kitchen.'))
    model = Scripted([])
    store.add(see(70, 'mug'))
    consolidate(store, SETTINGS, model=model)
    assert model.asked == []
    root = TreeView(store, Window(), UTC).root
    assert (root.made_by, root.end_ns) == ('model', at(70))
    check_whole(store)


def test_re_opened_spans_join_split_and_go(store):
    store.add(say(0, 'hello'))
    hours = [Interval(hour * HOUR_NS, hour * HOUR_NS + 10) for hour in range(4)]
    with store.writing() as session:
        robot_id = store.robot_id(session, 'r2')
        reopen_spans(session, robot_id, [hours[2], hours[0], Interval(5, 20), hours[1]])
        assert waiting_spans(session, robot_id) == [Interval(0, 20), *hours[1:3]]
        assert next_piece(session, robot_id) == Interval(0, 20)
        take_up(session, robot_id, Interval(8, HOUR_NS + 4))
        assert waiting_spans(session, robot_id) == [
            Interval(0, 7), Interval(HOUR_NS + 5, HOUR_NS + 10), hours[2]]
        take_up(session, robot_id, Interval(0, 3 * HOUR_NS))
        assert waiting_spans(session, robot_id) == []
        assert next_piece(session, robot_id) is None


def test_a_long_re_opened_span_is_taken_in_pieces(store, monkeypatch):
    shape(store, [say(second, f'w{second}') for second in range(0, 40_000, 400)])
    before = below_days(store)
    monkeypatch.setattr('emv_ros.tree.reopening.PIECE', 10)
    with store.writing() as session:
        reopen_spans(session, store.robot_id(session, 'r2'), [Interval(at(0), at(40_000))])
    steps = []
    consolidate(store, SETTINGS, progress=lambda done, total: steps.append(done))
    assert len(steps) >= 2
    assert below_days(store) == before
    check_whole(store)


def days_of(store, zone):
    return [(day.name, [told(TreeView(store, Window(), zone), child.id)[1]
                        for child in TreeView(store, Window(), zone).children(day.id)])
            for day in TreeView(store, Window(), zone).days()]


ZONES = ['UTC', 'America/Los_Angeles', 'Pacific/Auckland', 'Asia/Kathmandu']
# Clocks went forward in Los Angeles on 10 March 2024, and back in Auckland on 7 April.
DATES = ['2024-01-31', '2024-02-29', '2024-12-31', '2024-03-09', '2024-03-10', '2024-04-06',
         '2024-04-07', '2020-12-31', '2024-12-29']


@pytest.mark.sqlite_only  # calendars are the same everywhere
@pytest.mark.parametrize('name', ZONES)
@pytest.mark.parametrize('date', DATES)
def test_a_goal_across_midnight_belongs_to_the_day_it_starts_in(tmp_path, name, date):
    def moment(clock, later=0):
        local = datetime.fromisoformat(f'{date}T{clock}').replace(tzinfo=ZoneInfo(name))
        return round(local.timestamp() + later) * 10 ** 9

    with open_memory(tmp_path, zone=name) as store:
        store.add_many([
            SkillReport(stamp_ns=moment('23:50'), skill='Clean', status=Status.RUNNING),
            SkillReport(stamp_ns=moment('23:50', 1200), skill='Wipe', status=Status.SUCCEEDED,
                        goal_stack=('Clean',)),
            SkillReport(stamp_ns=moment('23:50', 1800), skill='Clean', status=Status.SUCCEEDED),
            Utterance(stamp_ns=moment('23:50', 3000), speaker='user', text='good night')])
        consolidate(store, SETTINGS)
        check_whole(store)
        following = datetime.fromisoformat(date).toordinal() + 1
        assert days_of(store, parse_zone(name)) == [
            (f'day {date}', ['Clean']),
            (f'day {datetime.fromordinal(following):%Y-%m-%d}', ['user said "good night"'])]


@pytest.mark.sqlite_only  # as above
def test_weeks_at_the_turn_of_a_year_have_their_names(tmp_path):
    """30 December 2024 is in ISO week 1, and 1 January 2021 in week 53."""
    with open_memory(tmp_path) as store:
        for day in ('2020-12-30', '2020-12-31', '2021-01-01', '2021-01-02', '2024-12-29',
                    '2024-12-30', '2024-12-31', '2025-01-01'):
            stamp_ns = round(datetime.fromisoformat(f'{day}T12:00:00+00:00').timestamp()) * 10 ** 9
            shape(store, [Utterance(stamp_ns=stamp_ns, speaker='user', text=day)])
            check_whole(store)
        with store.reading() as session:
            names = set(session.scalars(
                select(schema.NodeRow.name).where(schema.NodeRow.level == 9)))
        assert names == {'week 2020-12 W53', 'week 2021-01 W53', 'week 2024-12 W01'}
