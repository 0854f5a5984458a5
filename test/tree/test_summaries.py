"""The upper tree with a (scripted) model: groups, budget, trouble, return."""

from dataclasses import replace
import json

from life_parts import DAY_S, SETTINGS, UTC, Scripted, at, check_whole, listed, say, shape, told
from sqlalchemy import select

from emv_ros.errors import ModelReplyError, ModelTimeoutError, ModelUnavailableError
from emv_ros.memory import schema
from emv_ros.memory.queries import Window
from emv_ros.tree.consolidate import consolidate
from emv_ros.tree.replies import PROMPT_VERSION
from emv_ros.tree.view import TreeView


def pairs(messages):
    """Group what is listed by twos, or all as one, in words of the items."""
    lines = listed(messages)
    size = len(lines) if 'exactly one group' in messages[1]['content'] else 2
    return json.dumps({'groups': [
        {'first': start + 1, 'last': min(start + size, len(lines)),
         'summary': f'All about {lines[start].split()[-1]}'}
        for start in range(0, len(lines), size)]})


def words(count, day=0, step=10):
    return [say(day * DAY_S + n * step, f'w{day}x{n}') for n in range(count)]


def upper(store):
    with store.reading() as session:
        return [(row.level, row.made_by, row.summary) for row in session.scalars(
            select(schema.NodeRow).where(schema.NodeRow.level >= 4)
            .order_by(schema.NodeRow.start_ns, schema.NodeRow.level))]


def test_the_model_groups_and_summarises_up_to_the_root(store):
    model = Scripted(pairs)
    shape(store, [*words(12), *words(3, day=1)], model=model)
    check_whole(store)
    assert [made_by for _, made_by, _ in upper(store)] == ['model'] * 9
    assert [(level, text) for level, _, text in upper(store)][:2] == [
        (4, 'All about "w0x0"'), (8, 'All about "w0x0"')]
    # One grouping of twelve, a summary for each day and for the week.
    assert [len(listed(messages)) for messages in model.asked] == [12, 6, 3, 2]
    with store.reading() as session:
        day = session.scalars(select(schema.NodeRow).where(schema.NodeRow.level == 8)).first()
        assert (day.model, day.prompt_version, day.prompt_tokens, day.completion_tokens) == (
            'scripted', PROMPT_VERSION, 10, 5)


def test_nothing_new_asks_nothing(store):
    shape(store, words(12), model=Scripted(pairs))
    model = Scripted([])
    report = consolidate(store, SETTINGS, model=model)
    assert (report.model_calls, report.summaries, model.asked) == (0, 0, [])


def test_long_lists_are_grouped_in_parts_that_carry_the_last_group_over(store):
    model = Scripted(pairs)
    shape(store, words(60), model=model)
    groupings = [listed(messages) for messages in model.asked
                 if 'exactly one' not in messages[1]['content']]
    assert all(len(lines) <= SETTINGS.group_size for lines in groupings)
    assert groupings[1][0] == groupings[0][-2]  # the last pair of the first list is looked at again
    check_whole(store)


def test_only_the_right_edge_is_grouped_anew(store):
    shape(store, words(40), model=Scripted(pairs))
    with store.reading() as session:
        before = {row.id: row.summary for row in session.scalars(
            select(schema.NodeRow).where(schema.NodeRow.level == 4))}
    model = Scripted(pairs)
    store.add_many([say(400 + n * 10, f'new{n}') for n in range(3)])
    consolidate(store, SETTINGS, model=model)
    grouped = [listed(messages) for messages in model.asked
               if 'exactly one' not in messages[1]['content']]
    assert [len(lines) for lines in grouped] == [5]  # the last pair and the three new ones
    with store.reading() as session:
        after = {row.id: row.summary for row in session.scalars(
            select(schema.NodeRow).where(schema.NodeRow.level == 4))}
    assert {key: after[key] for key in before} == before
    check_whole(store)


def test_a_late_record_asks_only_for_its_group_and_the_path(store):
    shape(store, [*words(40, step=60), *words(12, day=1)], model=Scripted(pairs))
    model = Scripted(pairs)
    store.add(say(5 * 60 + 1, 'late'))
    consolidate(store, SETTINGS, model=model)
    grouped = [listed(messages) for messages in model.asked
               if 'exactly one' not in messages[1]['content']]
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


def test_after_three_tries_one_plain_summary(store):
    model = Scripted(lambda messages: 'I am sorry, I cannot do that.')
    store.add_many(words(12))
    report = consolidate(store, SETTINGS, model=model)
    assert (report.model_calls, report.fallbacks) == (6, 2)
    assert [(level, made_by) for level, made_by, _ in upper(store)] == [
        (4, 'rule'), (8, 'rule'), (4, 'rule')]
    check_whole(store)
    # It is not asked again for what it could not do.
    assert consolidate(store, SETTINGS, model=Scripted([])).model_calls == 0


def test_the_last_try_gives_the_groups_and_asks_for_summaries_alone(store):
    """A model that cannot count to twelve is told where the groups are."""
    def weak(messages):
        task = messages[1]['content'].splitlines()[0]
        if 'Write a summary for each of these 2 groups' not in task:
            return pairs(messages) if 'exactly one' in task else '{"groups": []}'
        assert '{"first": 1, "last": 6}, {"first": 7, "last": 12}' in task
        return json.dumps({'groups': [{'first': 1, 'last': 6, 'summary': 'First words.'},
                                      {'first': 7, 'last': 12, 'summary': 'Last words.'}]})
    store.add_many(words(12))
    report = consolidate(store, SETTINGS, model=Scripted(weak))
    assert (report.model_calls, report.fallbacks) == (4, 0)
    assert [text for level, _, text in upper(store) if level == 4] == [
        'First words.', 'Last words.']


def test_an_invented_name_is_asked_for_again(store):
    def inventive(messages):
        reply = pairs(messages)
        return reply if len(messages) > 2 else reply.replace('All about', 'Alice met Bob about')
    model = Scripted(inventive)
    shape(store, words(12), model=model)
    assert 'says Bob, which none of its items says' in model.asked[1][3]['content']
    assert not any('Bob' in text for _, _, text in upper(store))


def test_good_groups_outlive_a_summary_that_cannot_stand(store):
    def inventive(messages):
        return pairs(messages).replace(json.dumps('All about "w0x2"'), '"Alice met Bob"')
    store.add_many(words(12))
    report = consolidate(store, SETTINGS, model=Scripted(inventive))
    assert report.fallbacks == 1
    assert [(level, made_by, text) for level, made_by, text in upper(store)][2:4] == [
        (4, 'rule', 'user said "w0x2", user said "w0x3"'), (4, 'model', 'All about "w0x4"')]


def test_a_model_that_is_gone_leaves_templates_and_is_made_up_for(store):
    for gone in (None, Scripted([], available=False),
                 Scripted([ModelUnavailableError('no server')]),
                 Scripted(lambda messages: ModelTimeoutError('too slow'))):
        shape(store, words(12), model=gone)
        assert {made_by for _, made_by, _ in upper(store)} == {'calendar'}
        check_whole(store)
    before = told(TreeView(store, Window(), UTC))
    shape(store, model=Scripted(pairs))
    assert {made_by for _, made_by, _ in upper(store)} == {'model'}
    assert told(TreeView(store, Window(), UTC)) != before
    check_whole(store)


def test_a_slow_model_gets_shorter_lists(store):
    def slow(messages):
        is_list = 'exactly one' not in messages[1]['content']
        too_long = is_list and len(listed(messages)) > 12
        return ModelTimeoutError('too slow') if too_long else pairs(messages)
    model = Scripted(slow)
    shape(store, words(30), model=model)
    assert [len(listed(messages)) for messages in model.asked[:3]] == [24, 12, 12]
    assert {made_by for _, made_by, _ in upper(store)} == {'model'}


def test_a_reply_that_the_client_refused_counts_as_a_try(store):
    replies = [ModelReplyError('no JSON')]
    shape(store, words(12), model=Scripted(
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
                    select(schema.NodeRow).where(schema.NodeRow.level == 2)).first()
                stolen.append(row.summary)
                session.delete(row)
        return pairs(messages)
    store.add_many(words(6))
    model = Scripted(thief)
    consolidate(store, SETTINGS, model=model)
    assert [len(listed(messages)) for messages in model.asked] == [6, 5]
    assert stolen == ['user said "w0x0"']
    assert upper(store) == [(8, 'model', 'All about "w0x1"')]
