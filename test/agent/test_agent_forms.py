"""The forms of the agent that it is compared with: each prompt and console is what it says."""

from dataclasses import replace

from households import Household, ScriptedModel, code
import pytest

from emv_ros.agent.agent import Agent
from emv_ros.agent.answers import QueryStatus, Question
from emv_ros.agent.forms import EXACT, form_of
from emv_ros.retrieval.search import Searcher
from emv_ros.settings import AgentSettings, ModelSettings, RetrievalSettings, Settings
from emv_ros.tree.levels import DAY

WHOLE = AgentSettings(way='whole_history')
TOOLS = AgentSettings(way='search_tools')
NO_EXACT = AgentSettings(exact_functions=False)
LOW = AgentSettings(top_level=3)


@pytest.fixture
def week(home: Household) -> Household:
    home.run('Vacuum', '2025-03-05 14:00', '2025-03-05 14:30')
    home.run('Mop', '2025-03-06 09:00', '2025-03-06 09:10', 'failed')
    home.say('2025-03-06 09:20', 'the floor is wet')
    home.see('2025-03-06 09:30', 'mug', 'table')
    home.see('2025-03-07 09:30', 'plate', 'shelf')
    home.consolidate()
    return home


def test_the_whole_history_is_in_the_one_prompt(week: Household) -> None:
    model = ScriptedModel([code("answer('I vacuumed on March 5.', evidence=['s1'])")])
    answer = week.ask('When did you vacuum?', model, agent=WHOLE)
    assert answer.status is QueryStatus.ANSWERED and len(model.prompts) == 1
    assert [item.id for item in answer.evidence] == ['s1']
    system, asked = (message['content'] for message in model.prompts[0])
    assert not any(f'{name}(' in system for name in (*EXACT, 'search', 'days'))
    lines = asked.splitlines()
    start = lines.index('History, 5 of 5 records:') + 1
    assert [line.split()[0] for line in lines[start:start + 5]] == ['s1', 's2', 'u1', 'g1', 'g2']
    assert 'Mop failed' in lines[start + 1] and 'the floor is wet' in lines[start + 2]
    trace = week.store.get('query', answer.query_id).trace
    assert {'s1', 's2', 'u1', 'g1', 'g2'} <= set(trace[0]['shown'])


def test_what_does_not_fit_of_a_history_is_told_and_the_latest_kept(week: Household) -> None:
    for minute in range(60):
        week.say(f'2025-03-08 10:{minute:02}', f'remark {minute} ' + 'and so on ' * 20)
    model = ScriptedModel([code("not_recorded('no cat')")])
    settings = Settings(agent=WHOLE, retrieval=RetrievalSettings(embedder='none'),
                        model=ModelSettings(context_tokens=2600))
    answer = Agent(week.store, settings, model).ask(Question(
        text='When did you feed the cat?', query_time_ns=week.at('2025-03-10 12:00')))
    assert answer.status is QueryStatus.NOT_RECORDED and len(model.prompts) == 1
    asked = model.last_prompt
    kept = [minute for minute in range(60) if f'remark {minute} ' in asked]
    assert 3 < len(kept) < 60 and kept == list(range(60 - len(kept), 60))
    assert f'History, {len(kept)} of 65 records:' in asked
    assert f'({65 - len(kept)} earlier records, up to 2025-03-08 10:{59 - len(kept):02}' in asked


def test_the_one_reply_is_taken_as_it_is(week: Household) -> None:
    model = ScriptedModel([code("answer('In July 1999.', evidence=['s1', 's99'])")])
    answer = week.ask('When did you vacuum?', model, agent=WHOLE)
    assert (answer.status, answer.answer) == (QueryStatus.ANSWERED, 'In July 1999.')
    assert 'not checked' in answer.message and [item.id for item in answer.evidence] == ['s1']
    nothing = week.ask('When did you vacuum?', ScriptedModel(['no code at all']), agent=WHOLE)
    assert nothing.status is QueryStatus.LIMIT and nothing.rounds == 1


@pytest.mark.parametrize('call', ["search('mop')", 'events()', 'days()', "seen('mug')"])
def test_beside_a_whole_history_nothing_is_looked_up(week: Household, call: str) -> None:
    answer = week.ask('When did you mop?', ScriptedModel([code(call)]), agent=WHOLE)
    trace = week.store.get('query', answer.query_id).trace
    assert 'there is no function' in trace[0]['output']


def test_three_searches_and_nothing_else(week: Household) -> None:
    model = ScriptedModel([
        code("rows = search_text('wet floor')"),
        code("rows = search_time('2025-03-05 14:10', k=1)"),
        code("rows = search_place('on table')"), code('rows = events()'),
        code("answer('On the table.', evidence=rows)")])
    answer = week.ask('Where was the mug?', model, agent=TOOLS)
    assert answer.status is QueryStatus.ANSWERED
    assert [item.id for item in answer.evidence] == ['g1']
    outputs = [step['output'] for step in week.store.get('query', answer.query_id).trace]
    assert 'u1 2025-03-06 09:20' in outputs[0] and outputs[0].count('u1 2025') == 1
    assert outputs[1].startswith('s1 2025-03-05 14:00') and len(outputs[1].splitlines()) == 1
    assert outputs[2].startswith('g1 ') and 'shelf' not in outputs[2]
    assert 'there is no function events() here' in outputs[3]
    system = model.prompts[0][0]['content']
    assert all(f'{name}(' in system for name in ('search_text', 'search_time', 'search_place'))
    for message in model.prompts[0]:
        assert not any(f' {name}(' in f' {message["content"]}' for name in EXACT)


def test_the_nearest_in_time_are_on_both_sides(week: Household) -> None:
    model = ScriptedModel([code("rows = search_time('2025-03-06 09:15', k=3)")])
    answer = week.ask('What happened at 9:15 on March 6?', model, agent=TOOLS)
    output = week.store.get('query', answer.query_id).trace[0]['output']
    assert [line.split()[0] for line in output.splitlines()] == ['s2', 'u1', 'g1']


def test_without_exact_functions(week: Household) -> None:
    model = ScriptedModel([code('rows = events()'), code("rows = search('vacuum')"),
                           code("answer(f'At {times(rows[:1])}.', evidence=rows[:1])")])
    answer = week.ask('When did you vacuum?', model, agent=NO_EXACT)
    assert answer.status is QueryStatus.ANSWERED
    trace = week.store.get('query', answer.query_id).trace
    assert 'there is no function events() here' in trace[0]['output']
    for message in model.prompts[0]:
        assert not any(f'\n{name}(' in f'\n{message["content"]}' for name in EXACT)
        assert not any(f'= {name}(' in message['content'] for name in EXACT)
    assert 'search(text' in model.prompts[0][0]['content']


def test_each_function_of_the_console_is_exact_or_is_not(week: Household) -> None:
    """One that is added to the console must be told apart here, too."""
    with week.console('2025-03-10 12:00') as console:
        library = console.library
        there = form_of(NO_EXACT).functions(
            library, Searcher(week.store, RetrievalSettings(embedder='none'), None))
        whole = library.functions()
    absent = {name for name, function in there.items() if '_missing' in function.__qualname__}
    kept = {'_days', '_children_of', '_expand', '_collapse', '_records', '_collapse_all_but',
            '_search_node', '_search', '_look', '_answer', '_not_recorded', '_pick'}
    assert set(whole) - absent == kept
    rules = form_of(NO_EXACT).fixed[0]['content']
    assert not any(line.startswith(f'{name}(') for line in rules.splitlines() for name in EXACT)
    assert 'where(' not in rules and 'request(' not in rules and 'goals_with(' not in rules


def test_what_a_refusal_proposes_can_be_run_with_three_searches(week: Household) -> None:
    model = ScriptedModel([code("rows = search('wet floor', when='2025-03-06', k=3)"),
                           code("answer('It was wet.', evidence=rows[:1])")])
    answer = week.ask('What was said of the floor?', model, agent=TOOLS)
    assert answer.status is QueryStatus.ANSWERED and answer.evidence[0].id == 'u1'


def test_a_tree_without_summaries_ends_at_the_goals(week: Household) -> None:
    model = ScriptedModel([code('print(memory.expand())'), code("search('Vacuum March')"),
                           code('days()')])
    answer = week.ask('What did you do?', model, agent=replace(LOW, max_rounds=3))
    shown = [key for step in week.store.get('query', answer.query_id).trace
             for key in step.get('shown', ()) if key[0] == 'n' and key != 'n0']
    assert shown and all(week.store.get('node', int(key[1:])).level <= 3 for key in shown)
    assert 'days(when' not in model.prompts[0][0]['content']
    ours = week.ask('What did you do?', ScriptedModel([code('print(memory.expand())')]))
    levels = [week.store.get('node', int(key[1:])).level
              for step in week.store.get('query', ours.query_id).trace
              for key in step.get('shown', ()) if key[0] == 'n' and key != 'n0']
    assert max(levels) >= DAY  # so the other test can fail


def test_without_examples_the_question_follows_the_rules(week: Household) -> None:
    model = ScriptedModel([code("not_recorded('no')")])
    week.ask('When did you vacuum?', model, agent=AgentSettings(examples=0))
    assert [message['role'] for message in model.prompts[0]] == ['system', 'user']
    assert len(form_of(AgentSettings()).fixed) > 1


def test_the_fixed_beginning_never_changes_within_a_form(week: Household) -> None:
    for settings in (AgentSettings(), WHOLE, TOOLS, NO_EXACT, LOW):
        fixed = list(form_of(settings).fixed)
        for question in ('When did you vacuum?', 'Where was the mug?'):
            model = ScriptedModel([code("not_recorded('no')")])
            week.ask(question, model, agent=settings)
            assert all(prompt[:len(fixed)] == fixed for prompt in model.prompts)
