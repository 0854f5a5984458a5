"""The upper tree with a (scripted) model: groups, budget, trouble, return."""

from dataclasses import replace
import json

from life_parts import (
    DAY_S,
    SETTINGS as DEFAULTS,
    UTC,
    Scripted,
    at,
    check_whole,
    is_plain,
    listed,
    say,
    see,
    shape,
    span,
    told,
)
from sqlalchemy import select

from emv_ros.errors import ModelReplyError, ModelTimeoutError, ModelUnavailableError
from emv_ros.memory import schema
from emv_ros.memory.queries import Window
from emv_ros.tree.consolidate import consolidate
from emv_ros.tree.plain import PLAIN_VERSION, fixed
from emv_ros.tree.view import TreeView

SETTINGS = replace(DEFAULTS, model_groups=True)


def pairs(messages):
    """Group what is listed by twos, or tell of all as one, in words of the items."""
    lines = listed(messages)
    if is_plain(messages):
        return f'All about {lines[0].split()[-1]}'
    size = 2
    return json.dumps({'groups': [
        {'first': start + 1, 'last': min(start + size, len(lines)),
         'summary': f'All about {lines[start].split()[-1]}'}
        for start in range(0, len(lines), size)]})


def grow(store, records=None, **more):
    return shape(store, records, settings=SETTINGS, **more)


def words(count, day=0, step=10):
    return [say(day * DAY_S + n * step, f'w{day}x{n}') for n in range(count)]


def upper(store):
    with store.reading() as session:
        return [(row.level, row.made_by, row.summary) for row in session.scalars(
            select(schema.NodeRow).where(schema.NodeRow.level >= 4)
            .order_by(schema.NodeRow.start_ns, schema.NodeRow.level))]


def test_the_model_groups_and_summarises_up_to_the_root(store):
    model = Scripted(pairs)
    grow(store, [*words(12), *words(3, day=1)], model=model)
    check_whole(store)
    assert [made_by for _, made_by, _ in upper(store)] == ['model'] * 9
    assert [(level, text) for level, _, text in upper(store)][:2] == [
        (4, 'All about "w0x0"'), (8, 'All about "w0x0"')]
    # One grouping of twelve, a summary for each day and for the week.
    assert [len(listed(messages)) for messages in model.asked] == [12, 6, 3, 2]
    with store.reading() as session:
        day = session.scalars(select(schema.NodeRow).where(schema.NodeRow.level == 8)).first()
        assert (day.model, day.prompt_version, day.prompt_tokens, day.completion_tokens) == (
            'scripted', PLAIN_VERSION, 10, 5)


def test_nothing_new_asks_nothing(store):
    grow(store, words(12), model=Scripted(pairs))
    model = Scripted([])
    report = consolidate(store, SETTINGS, model=model)
    assert (report.model_calls, report.summaries, model.asked) == (0, 0, [])


def test_long_lists_are_grouped_in_parts_that_carry_the_last_group_over(store):
    model = Scripted(pairs)
    grow(store, words(60), model=model)
    groupings = [listed(messages) for messages in model.asked
                 if not is_plain(messages)]
    assert all(len(lines) <= SETTINGS.group_size for lines in groupings)
    assert groupings[1][0] == groupings[0][-2]  # the last pair of the first list is looked at again
    check_whole(store)


def test_only_the_right_edge_is_grouped_anew(store):
    grow(store, words(40), model=Scripted(pairs))
    with store.reading() as session:
        before = {row.id: row.summary for row in session.scalars(
            select(schema.NodeRow).where(schema.NodeRow.level == 4))}
    model = Scripted(pairs)
    store.add_many([say(400 + n * 10, f'new{n}') for n in range(3)])
    consolidate(store, SETTINGS, model=model)
    grouped = [listed(messages) for messages in model.asked
               if not is_plain(messages)]
    assert [len(lines) for lines in grouped] == [5]  # the last pair and the three new ones
    with store.reading() as session:
        after = {row.id: row.summary for row in session.scalars(
            select(schema.NodeRow).where(schema.NodeRow.level == 4))}
    assert {key: after[key] for key in before} == before
    check_whole(store)


def test_a_late_record_asks_only_for_its_group_and_the_path(store):
    grow(store, [*words(40, step=60), *words(12, day=1)], model=Scripted(pairs))
    model = Scripted(pairs)
    store.add(say(5 * 60 + 1, 'late'))
    consolidate(store, SETTINGS, model=model)
    grouped = [listed(messages) for messages in model.asked
               if not is_plain(messages)]
    assert [len(lines) for lines in grouped] == [3]  # the pair that it fell into, and itself
    assert len(model.asked) <= 5
    check_whole(store)


def test_errors_go_back_with_the_reply(store):
    wrong = json.dumps({'groups': [{'first': 1, 'last': 5, 'summary': 'Words.'},
                                   {'first': 5, 'last': 13, 'summary': 'Words.'}]})
    replies = [wrong]
    model = Scripted(lambda messages: replies.pop() if replies else pairs(messages))
    report = consolidate(store, SETTINGS, model=model) if store.add_many(words(12)) else None
    assert report.fallbacks == 0
    assert report.model_calls == 3
    second = model.asked[1]
    assert second[2] == {'role': 'assistant', 'content': wrong}
    assert 'group 2 overlaps the group before: it must start at 6' in second[3]['content']
    assert 'group 2 ends at 13, but the last item is 12' in second[3]['content']


def test_after_three_tries_the_plain_summaries(store):
    model = Scripted(lambda messages: 'I am sorry, I cannot do that.')
    store.add_many(words(12))
    report = consolidate(store, SETTINGS, model=model)
    # Two tries for the list; two for each group and for the day: a third said the same again.
    assert (report.model_calls, report.fallbacks) == (8, 3)
    assert [(level, made_by) for level, made_by, _ in upper(store)] == [
        (4, 'rule'), (8, 'rule'), (4, 'rule')]
    check_whole(store)
    # It is not asked again for what it could not do.
    assert consolidate(store, SETTINGS, model=Scripted([])).model_calls == 0


def test_the_second_try_gives_the_groups_and_asks_for_summaries_alone(store):
    """A model that cannot count to twelve is told where the groups are, and then one by one."""
    def weak(messages):
        if is_plain(messages):
            return pairs(messages)
        if len(messages) == 2:
            return '{"groups": []}'
        assert 'the reply has no list "groups"' in messages[3]['content']
        assert '{"first": 1, "last": 6}, {"first": 7, "last": 12}' in messages[3]['content']
        return json.dumps({'groups': [{'first': 1, 'last': 6, 'summary': 'First w0x0.'},
                                      {'first': 7, 'last': 12, 'summary': 'Words of Bob.'}]})
    store.add_many(words(12))
    model = Scripted(weak)
    report = consolidate(store, SETTINGS, model=model)
    assert [len(listed(messages)) for messages in model.asked] == [12, 12, 6, 2]
    assert report.fallbacks == 0
    assert [text for level, _, text in upper(store) if level == 4] == [
        'First w0x0.', 'All about "w0x6"']


def test_a_small_model_writes_of_groups_that_were_made_by_pauses(store):
    """Each episode has a prompt of its own, whose first messages are always the same."""
    model = Scripted(pairs)
    shape(store, [*words(10), say(2000, 'w1'), say(2010, 'w2')], model=model)
    assert all(is_plain(messages) for messages in model.asked)
    assert [len(listed(messages)) for messages in model.asked] == [5, 5, 2, 3]
    assert [text for level, _, text in upper(store) if level == 4] == [
        'All about "w0x0"', 'All about "w0x5"', 'All about "w1"']
    assert all(messages == fixed() for messages in model.fixed)
    assert {made_by for _, made_by, _ in upper(store)} == {'model'}
    check_whole(store)


def test_a_small_model_is_asked_again_for_what_changed_alone(store):
    shape(store, [*words(10), say(2000, 'w1'), say(2010, 'w2')], model=Scripted(pairs))
    model = Scripted(pairs)
    shape(store, [say(2020, 'w3')], model=model)
    assert [len(listed(messages)) for messages in model.asked] == [3, 3]
    assert {made_by for _, made_by, _ in upper(store)} == {'model'}


def test_prompts_leave_out_sightings_and_lengths_and_mark_what_failed(store):
    model = Scripted(lambda messages: 'It failed to grasp the mug.')
    shape(store, [say(0, 'the mug please'), see(2, 'mug', 'table'), see(4, 'table'),
                  *span('GraspObject', 5, 15, status='failed', parameters={'name': 'red_mug_1'}),
                  see(8, 'mug')], model=model)
    assert listed(model.asked[0]) == [
        '09:00 user said "the mug please"', '09:00 grasp object (red mug) FAILED']


def test_a_refused_sentence_is_asked_for_again_with_the_errors(store):
    replies = ['Mug and user.']
    model = Scripted(lambda messages: replies.pop(0))
    shape(store, [say(0, 'the mug'), say(5, 'now')], model=model)
    # A capital at the beginning is no name: the first reply stands.
    assert [text for _, _, text in upper(store)] == ['Mug and user.']
    replies[:] = ['The mug went to Bob.', 'The user asked for the mug.']
    shape(store, [say(9, 'again')], model=model)
    assert 'it says Bob, which none of its records says' in model.asked[-1][-1]['content']
    assert model.warmth[-1] > model.warmth[0] == 0.0


def test_a_model_that_repeats_itself_is_asked_anew_without_the_words(store):
    stubborn = ['It put the mug in the kitchen.'] * 2 + ['The user asked for the mug.']
    model = Scripted(lambda messages: stubborn.pop(0))
    report = consolidate(store, DEFAULTS, model=model) if store.add_many(
        [say(0, 'the mug'), say(5, 'now')]) else None
    assert (report.model_calls, report.fallbacks) == (3, 0)
    assert [text for _, _, text in upper(store)] == ['The user asked for the mug.']
    assert [len(messages) for messages in model.asked] == [4, 6, 4]
    assert model.asked[2][-1]['content'] == (
        model.asked[0][-1]['content'] + ' Do not use these words: "kitchen". No record has them.')
    assert model.warmth == [0.0, 0.6, 0.0]


def test_a_model_that_never_yields_is_left_after_three_tries(store):
    model = Scripted(lambda messages: 'It put the mug in the kitchen.')
    store.add_many([say(0, 'the mug'), say(5, 'now')])
    report = consolidate(store, replace(DEFAULTS, attempts=10), model=model)
    assert (report.model_calls, report.fallbacks) == (3, 1)


def test_an_invented_name_is_asked_for_again(store):
    def inventive(messages):
        reply = pairs(messages)
        return reply if len(messages) > 2 else reply.replace('All about', 'Alice met Bob about')
    model = Scripted(inventive)
    grow(store, words(12), model=model)
    assert 'it says Alice, Bob, which none of its records says' in model.asked[1][3]['content']
    assert not any('Bob' in text for _, _, text in upper(store))


def test_good_groups_outlive_a_summary_that_cannot_stand(store):
    def inventive(messages):
        return (pairs(messages).replace(json.dumps('All about "w0x2"'), '"Alice met Bob"')
                .replace('All about "w0x2"', 'Alice met Bob'))
    store.add_many(words(12))
    report = consolidate(store, SETTINGS, model=Scripted(inventive))
    assert report.fallbacks == 1
    assert [(level, made_by, text) for level, made_by, text in upper(store)][2:4] == [
        (4, 'rule', 'user said "w0x2", user said "w0x3"'), (4, 'model', 'All about "w0x4"')]


def test_a_model_that_is_gone_leaves_templates_and_is_made_up_for(store):
    for gone in (None, Scripted([], available=False),
                 Scripted([ModelUnavailableError('no server')]),
                 Scripted(lambda messages: ModelTimeoutError('too slow'))):
        grow(store, words(12) if gone is None else (), model=gone)
        assert {made_by for _, made_by, _ in upper(store)} == {'calendar'}
        check_whole(store)
    before = told(TreeView(store, Window(), UTC))
    grow(store, model=Scripted(pairs))
    assert {made_by for _, made_by, _ in upper(store)} == {'model'}
    assert told(TreeView(store, Window(), UTC)) != before
    check_whole(store)


def test_a_slow_model_gets_shorter_lists(store):
    def slow(messages):
        too_long = not is_plain(messages) and len(listed(messages)) > 12
        return ModelTimeoutError('too slow') if too_long else pairs(messages)
    model = Scripted(slow)
    shape(store, words(30), model=model, settings=replace(SETTINGS, group_size=24))
    assert [len(listed(messages)) for messages in model.asked[:3]] == [24, 12, 12]
    assert {made_by for _, made_by, _ in upper(store)} == {'model'}


def test_a_reply_that_the_client_refused_counts_as_a_try(store):
    replies = [ModelReplyError('no JSON')]
    grow(store, words(12), model=Scripted(
        lambda messages: replies.pop() if replies else pairs(messages)))
    assert {made_by for _, made_by, _ in upper(store)} == {'model'}


def test_the_budget_of_calls_holds_and_the_rest_follows(store):
    settings = replace(SETTINGS, call_budget=2)
    store.add_many(words(60))
    for _ in range(20):
        report = consolidate(store, settings, model=Scripted(pairs))
        assert report.model_calls <= 2
        check_whole(store)
        if not report.model_calls:
            break
    assert {made_by for _, made_by, _ in upper(store)} == {'model'}


def test_what_still_goes_on_waits_for_rest(store):
    model = Scripted(pairs)
    store.add_many(words(12))
    consolidate(store, SETTINGS, model=model, now_ns=at(130))
    assert (model.asked, {made_by for _, made_by, _ in upper(store)}) == ([], {'calendar'})
    consolidate(store, SETTINGS, model=model, now_ns=at(130 + 901))
    assert {made_by for _, made_by, _ in upper(store)} == {'model'}


def test_no_model_by_setting(store):
    settings = replace(SETTINGS, use_model=False)
    store.add_many(words(12))
    assert consolidate(store, settings, model=Scripted([])).model_calls == 0


def test_no_prompt_grows_with_the_day(store):
    model = Scripted(pairs)
    store.add_many([say(n * 5, 'a long story ' * 12 + str(n)) for n in range(500)])
    consolidate(store, replace(SETTINGS, call_budget=1000), model=model)
    assert max(len(messages[1]['content']) for messages in model.asked) < 9000
    check_whole(store)


def test_what_the_model_wrote_of_a_tree_that_changed_meanwhile_is_dropped(store):
    """One event vanishes during a call to the model: the text is asked for anew, without it."""
    stolen = []

    def thief(messages):
        if not stolen:
            with store.writing() as session:
                row = session.scalars(
                    select(schema.NodeRow).where(schema.NodeRow.level == 2)
                    .order_by(schema.NodeRow.id)).first()
                stolen.append(row.summary)
                session.delete(row)
        return pairs(messages)
    store.add_many(words(6))
    model = Scripted(thief)
    consolidate(store, SETTINGS, model=model)
    assert [len(listed(messages)) for messages in model.asked] == [6, 5]
    assert stolen == ['user said "w0x0"']
    assert upper(store) == [(8, 'model', 'All about "w0x1"')]
