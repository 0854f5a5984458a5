"""Looks in the model's stead at the edges: spent calls, sources' own goals, noes and yeses."""

from households import BERLIN, Household, ScriptedModel, code
import pytest

from emv_ros.agent.answers import Answer, EvidenceItem, QueryStatus
from emv_ros.agent.asked import asks_whether_not_done, names_a_time
from emv_ros.agent.asked_times import AskedTime, leading_out
from emv_ros.agent.checks import MAX_EVIDENCE, Grounds, check_answer
from emv_ros.agent.endings import _words_of
from emv_ros.settings import AgentSettings
from emv_ros.timeline import SECOND_NS, Interval, parse_zone

NOW = '2025-03-07 12:00'
GIVES_UP = code("not_recorded('nothing')")
FROM_ROWS = code('answer(told(rows), evidence=rows)')
NOT_IRONED = code("rows = goals(text='iron')", "not_recorded('nothing was ironed')")


def test_a_look_is_made_though_all_calls_are_spent(days: Household) -> None:
    spent = code("rows = goals(text='wipe')", "not_recorded('nothing')")
    answer = days.ask('What did you do on March 6?', ScriptedModel([spent, FROM_ROWS]), NOW,
                      agent=AgentSettings(console_calls=1))
    assert (answer.status, answer.answer) == (QueryStatus.ANSWERED, 'mop')


def test_what_a_source_calls_an_activity_was_done(days: Household) -> None:
    days.goal('cook soup', '2025-03-03 10:00', '2025-03-03 11:00')
    wrong = code("rows = events(skill='Cook')", "not_recorded('nothing was done')")
    answer = days.ask('What did you do on March 3?', ScriptedModel([wrong, FROM_ROWS]), NOW)
    assert (answer.status, answer.answer) == (QueryStatus.ANSWERED, 'cook soup')


def test_three_searches_look_at_the_time_that_is_asked_about(days: Household) -> None:
    answer = days.ask('What did you do on March 6?', ScriptedModel([GIVES_UP, FROM_ROWS]), NOW,
                      agent=AgentSettings(way='search_tools'))
    assert answer.status is QueryStatus.ANSWERED and 'mop' in answer.answer


def ironed(days: Household, question: str) -> Answer:
    return days.ask(question, ScriptedModel([NOT_IRONED]), NOW)


@pytest.mark.parametrize(('question', 'told'), [
    ('Did you iron after March 5?', 'No, nothing about that is recorded on the days that memory '
                                    'covers (2025-03-06).'),
    ('Did you iron before March 5?', ''),
    ('Is it true that you did not iron on March 5?',
     'Yes, nothing about that is recorded on the days that memory covers (2025-03-05).')])
def test_a_no_is_of_the_days_that_are_asked_about(
        days: Household, question: str, told: str) -> None:
    answer = ironed(days, question)
    assert answer.answer == told
    assert answer.status is (QueryStatus.ANSWERED if told else QueryStatus.NOT_RECORDED)


@pytest.mark.parametrize(('question', 'way'), [
    ('Did you mop before March 5, 2025?', 'before'), ('Did you mop by March 5 2025?', 'by'),
    ('Did you mop after the March 5 2025?', 'after'), ('Did you mop on March 5, 2025?', ''),
    ('Did you mop after lunch on March 5, 2025?', '')])
def test_a_question_leads_out_of_a_time(question: str, way: str) -> None:
    assert leading_out(question, AskedTime('March 5 2025', None, '')) == way
    assert leading_out(question, AskedTime('before March 5 2025', None, '')) == way


@pytest.mark.parametrize(('question', 'is_so'), [
    ('Is it true that you did not mop?', True), ("Is it so that you haven't mopped?", True),
    ('Is it true that the robot never mopped?', True), ('Is it true that you mopped?', False),
    ('Is it true that you mopped and did not vacuum?', False), ('Did you not mop?', False)])
def test_a_yes_may_mean_that_nothing_was_done(question: str, is_so: bool) -> None:
    assert asks_whether_not_done(question) is is_so


@pytest.mark.parametrize(('question', 'is_so'), [
    ('How long ago did you mop?', False), ('How long has it been since you mopped?', False),
    ('How long is it since you mopped?', False), ('At what time of day did you mop?', False),
    ('How much time has passed since you mopped?', False), ('On what weekday was it?', False),
    ('On which day of the week did you mop?', False), ('On how many different days?', False),
    ('On which day of last week did you mop?', True), ('How long did you mop yesterday?', True),
    ('How long since Monday?', True), ('At what time on March 5 did you mop?', True)])
def test_that_it_asks_when_names_no_time(question: str, is_so: bool) -> None:
    assert names_a_time(question) is is_so


def test_less_than_a_second_from_midnight_is_not_a_day(home: Household) -> None:
    midnight_ns = home.at('2025-03-05 00:00')
    assert _words_of(Interval(midnight_ns + SECOND_NS // 5, midnight_ns + SECOND_NS // 2),
                     parse_zone(BERLIN)) == '2025-03-05 00:00:00 to 2025-03-05 00:00:01'


def test_of_much_evidence_only_what_goes_out_is_looked_up() -> None:
    looked: list[str] = []

    def look(item: EvidenceItem) -> str:
        looked.append(item.id)
        return ''

    shown = {f's{key}': EvidenceItem(
        id=f's{key}', kind='skill_event', robot='r1', start_ns=key, end_ns=key,
        text='Vacuum' if key == 900 else 'Run') for key in range(1000)}
    for question in ('How often did you vacuum?', 'Did you vacuum?'):
        verdict = check_answer('No, never', shown, Grounds(
            question, shown, '', look, lambda word: True, dict.fromkeys(shown, 'succeeded'),
            is_own=lambda item: bool(look(item))))
        assert not verdict.refused or 'was done' in verdict.refused
        assert set(looked) == set(list(shown)[:MAX_EVIDENCE])
