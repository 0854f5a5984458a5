"""Questions about simulated histories: right by hand for one, and without doubt for many."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime
import re

import pytest

from emv_ros.evaluation.histories.days import ZONE, live
from emv_ros.evaluation.histories.question_set import MAKERS, ask, drafts, write_questions
from emv_ros.evaluation.questions import GoldKind, read_questions
from emv_ros.evaluation.scoring.categories import CORRECT, Category
from emv_ros.evaluation.scoring.exact import score_exact
from emv_ros.records import Observation, Scene, SkillReport, Utterance
from emv_ros.timeline import from_datetime, local_date, parse_zone, to_datetime

ZONE_INFO = parse_zone(ZONE)
LIVES = ((5, 1), (5, 4), (25, 2), (25, 5), (100, 1), (100, 6))
KINDS = ('tasks', 'detail', 'before', 'after', 'by_object', 'by_action', 'at_time',
         'days_ago_list', 'when', 'how_many_days_ago', 'count', 'duration', 'failure',
         'first_last', 'where', 'which_like', 'said', 'yes_no', 'unanswerable')
# Skills whose tasks read alike whatever their particulars are.
ALIKE = {'load the dishwasher': 'LoadDishwasher', 'water the plants': 'WaterPlants',
         'feed the rabbit': 'FeedRabbit', 'put the groceries away': 'PutGroceriesAway',
         'take out the rubbish': 'TakeOutRubbish', 'sort the laundry': 'SortLaundry',
         'run the washing machine': 'RunWashingMachine', 'make the bed': 'MakeBed',
         'check the rooms': 'CheckRooms'}


@pytest.fixture(scope='module', params=LIVES, ids=str)
def lived(request):
    history = live(*request.param)
    return history, drafts(history.truth, request.param[1])


def tops(history):
    """Return [start, end, skill, status] of each run that stands in no other, from the records."""
    runs = {}
    for record in history.records:
        if isinstance(record, SkillReport) and not record.goal_stack:
            run = runs.setdefault(record.source_id, [record.stamp_ns, 0, record.skill, ''])
            run[1], run[3] = record.stamp_ns, str(record.status)
    return list(runs.values())


def stamp(text):
    return from_datetime(datetime.fromisoformat(text), ZONE_INFO)


def golds(kind, form, found):
    """Return the words of each answer, by the first wording of its question without its time."""
    return {re.sub(r' (on|yesterday|today)\b.*', '', draft.asks[0]): draft.gold
            for draft in found if (draft.kind, draft.form) == (kind, form)}


def test_answers_of_a_small_history_are_those_read_from_its_log_by_hand():
    """The log of seed 2: coffee and plants on 13 January, wallet and dishwasher on the 14th."""
    found = drafts(live(4, 2).truth, 2)
    one = {form: next(draft for draft in found if (draft.kind, draft.form) == form) for form in (
        ('days_ago_list', 'day'), ('which_like', 'which'), ('first_last', 'first_of_all'))}
    assert one['days_ago_list', 'day'].asks[0] in (
        'What did you do one day ago?', 'What did you do 1 day ago?')
    assert [words[0] for words in one['days_ago_list', 'day'].gold.items] == [
        'bring Henrik a coffee', 'water the plants']
    assert one['which_like', 'which'].gold.items == (('red mug 2', 'red_mug_2'),)
    assert one['first_last', 'first_of_all'].gold.items[0][:2] == (
        'bring Henrik a coffee', 'brought Henrik a coffee')
    times = golds('when', 'once', found)
    assert {ask: to_datetime(gold.times_ns[0], ZONE_INFO).strftime('%d %H:%M')
            for ask, gold in times.items()} == {
        'When did you bring Henrik a coffee?': '13 08:54',
        'When did you water the plants?': '13 12:38',
        'When did you look for the wallet of Henrik?': '14 17:02',
        'When did you load the dishwasher?': '14 20:32',
        'When did you bring somebody a hot drink?': '13 08:54',
        'When did you look for the wallet?': '14 17:02'}
    details = [[words[0] for words in draft.gold.items] for draft in found
               if draft.kind == 'detail']
    assert details == [['coffee'], ['Henrik'], ['fern', 'orchid'], ['bedside table'],
                       ['coffee table', 'sideboard', 'bedside table'], ['plate', 'yellow mug']]
    assert [draft.gold.is_ordered for draft in found if draft.kind == 'detail'] == [
        False, False, False, False, True, False]
    assert {ask: gold.text for ask, gold in golds('where', 'now', found).items()} == {
        'Where is the plate now?': 'dishwasher', 'Where is the yellow mug now?': 'dishwasher',
        'Where is the watering can now?': 'window sill'}
    assert {ask: gold.text for ask, gold in golds('said', 'who', found).items()} == {
        'Who asked you to bring somebody a hot drink': 'Henrik',
        'Who asked you to look for the wallet': 'Henrik',
        'Who asked you to load the dishwasher': 'Clara'}
    lengths = {draft.form: draft.gold.value for draft in found if draft.kind == 'duration'}
    assert lengths == {'bring_drink': pytest.approx(71, abs=1.1),
                       'water_plants': pytest.approx(51, abs=1.1),
                       'find_thing': pytest.approx(60, abs=1.1),
                       'load_dishwasher': pytest.approx(68, abs=1.1)}
    assert not [draft for draft in found if draft.kind == 'failure']


def test_no_wording_has_two_right_answers(lived):
    _, found = lived
    answers = defaultdict(set)
    for draft in found:
        for wording in draft.asks:
            gold = draft.gold
            answers[wording].add((gold.kind, gold.value, gold.times_ns, gold.items))
    assert {wording: golds for wording, golds in answers.items() if len(golds) > 1} == {}


def test_every_question_has_three_wordings_and_its_evidence(lived):
    history, found = lived
    runs = {(start, end) for start, end, *_ in tops(history)}
    last = history.records[-1].stamp_ns
    for draft in found:
        assert len(set(draft.asks)) >= 3
        is_none = draft.gold.kind is GoldKind.NONE or draft.form == 'not_done'
        assert bool(draft.evidence) is not is_none, draft
        assert all(history.records[0].stamp_ns <= span.start_ns < span.end_ns <= last + 10**10
                   for span in draft.evidence)
        if draft.kind in ('tasks', 'when', 'count', 'duration', 'at_time', 'by_object'):
            assert {(span.start_ns, span.end_ns) for span in draft.evidence} <= runs


def test_numbers_and_times_are_those_of_the_reports(lived):
    history, found = lived
    runs, checked = tops(history), 0
    for draft in found:
        asked = re.fullmatch(r'How many times did you (.*)\?', draft.asks[0])
        if draft.form == 'task' and asked and asked[1] in ALIKE:
            of_kind = [run for run in runs if run[2] == ALIKE[asked[1]]]
            assert draft.gold.value == len(of_kind)
            assert {run[3] for run in of_kind} == {'succeeded'}
            checked += 1
        if draft.kind == 'duration':
            (span,) = draft.evidence
            (length,) = [end - start for start, end, *_ in runs if start == span.start_ns]
            assert draft.gold.value == pytest.approx(length / 1e9, abs=0.06)
        if draft.form == 'failures':
            assert draft.gold.value == sum(run[3] == 'failed' for run in runs)
        if draft.kind == 'when' and draft.form in ('once', 'all', 'last'):
            assert {*draft.gold.times_ns} <= {run[0] for run in runs}
        if draft.form == 'tasks_of_day':
            day = local_date(draft.evidence[0].start_ns, ZONE_INFO)
            assert draft.gold.value == sum(local_date(run[0], ZONE_INFO) == day for run in runs)
    assert checked or len(runs) < 25


def test_a_task_told_by_its_day_alone_is_the_only_one_of_its_kind_then(lived):
    history, found = lived
    runs = tops(history)
    for draft in found:
        if draft.kind in ('duration', 'detail') and not re.search(r'\d:\d\d', draft.asks[0]):
            (span,) = draft.evidence
            (skill,) = [run[2] for run in runs if run[0] == span.start_ns]
            day = local_date(span.start_ns, ZONE_INFO)
            assert sum(run[2] == skill and local_date(run[0], ZONE_INFO) == day
                       for run in runs) == 1


def texts_of(history):
    for record in history.records:
        if isinstance(record, SkillReport):
            yield from (record.skill, record.trigger, record.narration,
                        *map(str, record.parameters.values()))
        elif isinstance(record, Utterance):
            yield record.text
        elif isinstance(record, Observation):
            yield from (record.name, record.event, record.location)
        elif isinstance(record, Scene):
            yield from (f'{thing.name} {thing.instance} {thing.state}' for thing in record.objects)


def test_what_was_never_is_in_no_record(lived):
    history, found = lived
    words = {word for text in set(texts_of(history))
             for word in re.findall(r'[a-z]+', re.sub(r'(?=[A-Z_])', ' ', text).lower())}
    rare = {re.findall(r'[a-z]+', draft.asks[0].lower())[-1 if draft.form == 'never_done' else -2]
            for draft in found if draft.form in ('never_done', 'never_seen')}
    assert {'lawn', 'bicycle', 'violin', 'telescope', 'passport'} <= rare
    assert rare & words == set()


def test_a_near_miss_did_happen_but_not_then(lived):
    history, found = lived
    runs, checked = tops(history), 0
    for draft in found:
        asked = re.fullmatch(r'At what time did you (.*?) on (?:[A-Z][a-z]+day )?'
                             r'(?:(\d+) ([A-Z]\w+)|([A-Z]\w+) (\d+))(?: 2026)?\?', draft.asks[0])
        if draft.form != 'other_day' or not asked or asked[1] not in ALIKE:
            continue
        day = datetime.strptime(f'{asked[2] or asked[5]} {asked[3] or asked[4]} 2026',
                                '%d %B %Y').date()
        of_kind = [local_date(run[0], ZONE_INFO) for run in runs if run[2] == ALIKE[asked[1]]]
        assert of_kind and day not in of_kind
        assert day in {local_date(run[0], ZONE_INFO) for run in runs}
        checked += 1
    assert checked or len(runs) < 25


def test_yes_and_no_are_both_asked(lived):
    _, found = lived
    assert {draft.gold.value for draft in found if draft.kind == 'yes_no'} == {0.0, 1.0}


@pytest.mark.parametrize('seed', [1, 2, 3])
def test_sets_hold_some_of_each_kind_and_read_back_as_they_are(tmp_path, seed):
    truth = live(100, seed).truth
    asked = ask(truth, seed, 3)
    assert Counter(question.kind for question in asked) == dict.fromkeys(KINDS, 3)
    assert len(MAKERS) == len(KINDS)
    write_questions(tmp_path / 'q_qa.jsonl', asked, ZONE_INFO)
    assert read_questions(tmp_path / 'q_qa.jsonl') == asked
    assert len({question.id for question in asked}) == len({q.text for q in asked}) == len(asked)
    for question in asked:
        assert question.query_time_ns > truth.tasks[-1].end_ns
        assert all(span.end_ns <= question.query_time_ns for span in question.evidence)


def test_the_scorer_takes_each_answer_for_right_and_that_of_another_kind_of_task_for_wrong():
    truth = live(60, 8).truth
    asked = ask(truth, 8, 12)
    taken = Counter()
    for question in asked:
        now = question.query_time_ns
        status = 'NOT_RECORDED' if question.gold.kind is GoldKind.NONE else 'ANSWERED'
        assert score_exact(question, question.gold.text, status, ZONE_INFO, now) == \
            Category.CORRECT, question
        others = [other.gold.text for other in asked
                  if (other.kind, other.gold.kind) == (question.kind, question.gold.kind)
                  and other.gold != question.gold]
        if others and question.kind in ('count', 'where', 'yes_no', 'before', 'how_many_days_ago'):
            other = others[len(question.text) % len(others)]
            taken[score_exact(question, other, 'ANSWERED', ZONE_INFO, now)] += 1
    assert taken[Category.WRONG] >= 0.9 * taken.total() > 20


def test_other_seeds_word_questions_otherwise():
    truth = live(25, 1).truth
    assert len({tuple(q.text for q in ask(truth, seed, 3)) for seed in range(5)}) == 5


@pytest.mark.parametrize(('episodes', 'seed'), [(5, 1), (25, 2), (60, 1)])
def test_no_question_tells_its_own_answer_and_one_number_does_not_do(
        episodes: int, seed: int) -> None:
    history = live(episodes, seed)
    asked = ask(history.truth, seed, 3)
    for question in asked:
        assert question.gold is not None and question.query_time_ns is not None
        if question.gold.kind is GoldKind.LIST:
            told = score_exact(question, question.text, 'ANSWERED', history.truth.zone,
                               question.query_time_ns)
            assert told not in CORRECT, question.text
    counts = [question.gold and question.gold.value for question in asked
              if question.kind == 'count']
    assert len(set(counts)) == len(counts) or episodes == 5
