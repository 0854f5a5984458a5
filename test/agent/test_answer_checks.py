"""What may go out as an answer: each refusal with what it tells the model to write instead."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from households import Household, ScriptedModel, code
import pytest

from emv_ros.agent.answers import EvidenceItem, QueryStatus
from emv_ros.agent.asked import (
    asks_for_words,
    asks_whether_done,
    is_mentioned,
    missing_things,
    names_a_time,
    things_in,
)
from emv_ros.agent.asked_times import asked_times, evidence_window
from emv_ros.agent.checks import Grounds, check_answer, says_nothing_known, tidy
from emv_ros.agent.cited import cited_ids
from emv_ros.agent.console.windows import Clock
from emv_ros.agent.roots import root_of
from emv_ros.agent.times_told import unknown_times, without_stamps_of
from emv_ros.timeline import HOUR_NS, Interval, from_datetime, parse_stamp, parse_zone


def item(id_: str, text: str, start: str = '2025-03-05T14:00:00Z',
         end: str = '2025-03-05T14:30:00Z', kind: str = 'skill_event') -> EvidenceItem:
    return EvidenceItem(id=id_, kind=kind, robot='r1', start_ns=parse_stamp(start)[0],
                        end_ns=parse_stamp(end)[0], text=f'{id_} {text}')


VACUUM = item('s1', '2025-03-05 14:00:00 to 14:30:00 Vacuum succeeded')
FAILED = item('s2', '2025-03-06 09:00:00 to 09:10:00 Vacuum failed',
              '2025-03-06T09:00:00Z', '2025-03-06T09:10:00Z')


def grounds(question: str = 'When did you vacuum?', *, recorded: str = 'vacuum',
            **fields: Any) -> Grounds:
    return Grounds(
        question, {'s1': VACUUM, 's2': FAILED}, 'Memory: 2025-03-01 08:00:00',
        lambda evidence: evidence.text, lambda word: is_mentioned(word, recorded),
        {'s1': 'succeeded', 's2': 'failed'}, **fields)


def refusal(text: str, ids: list[str], *args: Any, insists: bool = False, **fields: Any) -> str:
    return check_answer(text, ids, grounds(*args, **fields), insists).refused


@pytest.mark.parametrize(('question', 'ids', 'is_refused'), [
    ('Did you vacuum?', ['s1'], True), ('Have you ever vacuumed?', ['s2', 's1'], True),
    ('Did you vacuum?', ['s2'], True),  # that failed, but the other was shown, too
    ('Did you vacuum yesterday?', ['s1'], False), ('Did you fail to vacuum?', ['s1'], False),
    ('Did you vacuum twice?', ['s1'], False), ('Is there a vacuum?', ['s1'], False)])
def test_no_is_not_said_from_a_run_that_did_it(question: str, ids: list[str],
                                               is_refused: bool) -> None:
    told = refusal('No, I did not.', ids, question)
    assert told.startswith('s1 tells that it was done') is is_refused, told
    assert refusal('No, I did not.', ids, question, insists=True) == ''


@pytest.mark.parametrize(('day', 'is_refused'), [('2025-03-05', True), ('2025-03-06', False)])
def test_no_is_not_said_of_a_time_in_which_a_run_did_it(day: str, is_refused: bool) -> None:
    """What is cited does not matter: a filter of the model's own may have lost the run."""
    start_ns = parse_stamp(f'{day}T00:00:00Z')[0]
    told = check_answer('No.', ['n1'], replace(
        grounds(f'Did you vacuum on {day}?', asked=Interval(start_ns, start_ns + 24 * HOUR_NS)),
        shown={'n1': item('n1', 'vacuum', f'{day}T00:00:00Z', f'{day}T23:00:00Z', 'node'),
               's1': VACUUM, 's2': FAILED})).refused
    assert told.startswith('s1 tells that it was done') is is_refused, told


@pytest.mark.parametrize(('text', 'ids', 'is_refused'), [
    ('7 times', ['s1', 's2'], True), ('3 times.', ['s1', 's2'], True),
    ('2 times.', ['s1', 's2'], False), ('1 times', ['s1', 's2'], False),
    ('1 time', ['s1', 's2'], False), ('0 times', ['s1', 's2'], False),
    ('2 times of 5 times', ['s1', 's2'], False)])
def test_more_is_not_counted_than_the_evidence_holds(text: str, ids: list[str],
                                                     is_refused: bool) -> None:
    told = refusal(text, ids, 'How many times did you vacuum?')
    assert told.startswith('the evidence holds 2 runs') is is_refused, told
    assert refusal(text, ids, 'When did you vacuum?') == ''


def test_an_answer_that_passes_is_tidied() -> None:
    verdict = check_answer(' At  14:00:00.123+01:00 , I vacuumed .\n\n Done. ', ['s1'], grounds())
    assert verdict.text == 'At 14:00:00, I vacuumed.\nDone.'
    assert (verdict.evidence, verdict.count) == ((VACUUM,), 1)


@pytest.mark.parametrize(('text', 'ids', 'told'), [
    ('', ['s1'], 'the answer is empty'),
    (' \n ', ['s1'], 'the answer is empty'), (', ,', ['s1'], 'the answer is empty'),
    ('s1', ['s1'], 'the answer is empty'),
    ('{len(rows)} times', ['s1'], 'use an f-string'),
    ('{rows[0].when}', ['s1'], 'use an f-string'),
    ('yes', [], 'needs evidence'),
    ('yes', ['s9'], "'s9' was never shown"),
    ('yes', ["s1'); answer("], 'was never shown'),
    ('yes', ['s1', 'None'], "'None' was never shown"),
    ('At 15:00.', ['s1'], 'the answer says 15:00, which no row shows'),
    ('At 4:00 in the afternoon', ['s1'], 'the answer says 4:00'),
    ('On 2025-03-07.', ['s1'], 'the answer says 2025-03-07'),
    ('At 14:00:01.', ['s1'], 'the answer says 14:00:01'),
    ('On July 3.', ['s1'], 'the answer says July 3,'),
    ('On the 6th of March 2025.', ['s1'], 'the answer says 6th of March'),
])
def test_refusals(text: str, ids: list[str], told: str) -> None:
    assert told in refusal(text, ids)


@pytest.mark.parametrize('text', [
    'At 14:00.', 'At 14:00:00 on 2025-03-05.', 'At 2:00 PM.', 'At 2:30 p.m.', 'In all 0:30:00.',
    'It took 0:30:00, until 14:30.', 'On 2025-03-05.', 'Since 2025-03-01 08:00.', 'Room 101, 3:1',
    'On March 5th, 2025.', 'On 5 March.', 'On the 5th of March at 14:00.', 'In March 2025.',
    'Since March 1.', 'I may 3 times'])
def test_times_that_are_borne_out(text: str) -> None:
    assert refusal(text, ['s1']) == ''


def test_durations_between_pieces_of_evidence() -> None:
    told = ('',)
    assert unknown_times('0:40:00 in all, 0:10:00 the second', (VACUUM, FAILED), told) == ''
    assert unknown_times('18:30:00 between them', (VACUUM, FAILED), told) == ''  # 14:30 to 09:00
    assert unknown_times('0:41:00 in all', (VACUUM, FAILED), told) == '0:41:00'


def test_times_in_the_code_are_no_proof() -> None:
    output = without_stamps_of("print('at 15:00 on 2025-03-07')", 'at 15:00 on 2025-03-07\n16:00')
    assert output == 'at  on \n16:00'


@pytest.mark.parametrize(('text', 'ids', 'question', 'told'), [
    ('2 times', ['s1', 's2'], 'How many times did vacuuming fail?', "status='failed'"),
    ('1 time', ['s1'], 'How often did vacuuming fail?', "status='failed'"),
    ('0 times', ['s1'], 'How many times did vacuuming fail?', ''),
    ('It never failed.', ['s1'], 'How many times did vacuuming fail?', ''),
    ('1 time', ['s2'], 'How many times did vacuuming fail?', ''),
    ('2 times', ['s1', 's2'], 'How many times did you vacuum?', ''),
    ('2 times', ['s1', 's2'], 'How many runs failed or succeeded?', ''),
    ('It failed.', ['s1', 's2'], 'When did vacuuming fail?', ''),
])
def test_counts_of_a_status(text: str, ids: list[str], question: str, told: str) -> None:
    refused = refusal(text, ids, question, recorded='vacuuming')
    assert (told in refused) if told else ('status' not in refused)


def test_the_thing_asked_for_must_be_in_the_evidence() -> None:
    question = 'When did you vacuum the carpet?'
    assert 'memory does: search(' in refusal('Yes.', ['s1'], question, recorded='vacuum carpet')
    told = refusal('At 14:00.', ['s1'], question)
    assert told == ('nothing recorded mentions carpet: use rows that are about it under another '
                    'name, or call not_recorded(reason)')
    # Some other name for it may be meant: insisting passes while part of the question is held.
    assert refusal('At 14:00.', ['s1'], question, insists=True) == ''
    # Not so where nothing of what was asked is held: a misheard question gets no invention.
    misheard = 'When did you water the plants?'
    verdict = check_answer('At 14:00.', ['s1'], grounds(misheard), insists=True)
    assert verdict.absent == ('water', 'plants')


def test_saying_no() -> None:
    question = 'Did you vacuum the carpet?'
    assert refusal('No, never.', ['s1'], question) == ''  # no carpet anywhere
    told = refusal('No.', ['s1'], question, recorded='vacuum carpet')
    assert told == "memory does mention carpet: look with search('carpet') before saying no"
    assert refusal('No.', ['s1'], question, recorded='vacuum carpet', insists=True) == ''


@pytest.mark.parametrize(('question', 'passes'), [
    ('Is the vacuum in the kitchen?', False), ('When did you vacuum?', False),
    ('What did you say about the vacuum?', True), ('Did you mention the vacuum?', True),
    ('When did you first see the vacuum?', True), ('Which vacuum did you detect?', True),
    ('Did Anna find the vacuum?', False)])
def test_the_robots_own_words_show_only_what_it_said(question: str, passes: bool) -> None:
    verdict = check_answer('Yes.', ['s1'], grounds(
        question, recorded='vacuum kitchen anna', is_own=lambda evidence: True), insists=True)
    assert verdict.is_hearsay is not passes
    assert passes or "only by the robot's own words" in verdict.refused
    mixed = check_answer('Yes.', ['s1', 's2'], grounds(
        question, recorded='vacuum', is_own=lambda evidence: evidence.id == 's1'), insists=True)
    assert not mixed.is_hearsay


def test_unrelated_evidence_does_not_bear_out_the_robots_own_words() -> None:
    door = item('s1', '2025-03-05 14:00:00 robot said "the door is open"')
    spoken = Grounds('Is the door open?', {'s1': door, 's2': FAILED}, '',
                     lambda evidence: evidence.text, lambda word: True,
                     is_own=lambda evidence: evidence.id == 's1')
    for insists in (False, True):
        assert check_answer('Yes.', ['s1', 's2'], spoken, insists).is_hearsay


def test_answers_heard_again_are_never_evidence() -> None:
    verdict = check_answer('Yes.', ['s1'], grounds(
        'What did you say about the vacuum?', is_own=lambda evidence: True,
        is_echo=lambda evidence: True))
    assert verdict.is_hearsay and 'only repeats an answer' in verdict.refused


@pytest.mark.parametrize(('given', 'ids'), [
    (['s1', 'S2', 's1'], ['s1', 's2']), (['s1, s2'], ['s1', 's2']),
    (["['s1', 's2']"], ['s1', 's2']),
    (['s1 2025-03-05 14:00:00 to 14:30:00 Vacuum "s9"'], ['s1']), (['(s1)'], ['s1']),
    (["s1'); answer('x'"], ["s1'); answer('x'"]), (['s1 s2 and more'], ['s1 s2 and more']),
    ([' ' * 190 + 'x'], [' ' * 190 + 'x']), (['s1' * 500], ['s1' * 500]), ([], [])])
def test_ids_out_of_what_is_given(given: list[str], ids: list[str]) -> None:
    assert cited_ids(given) == ids


@pytest.mark.parametrize('question', [
    'When was the last time that you mopped?', 'When did you last mop?', 'What did you do last?',
    'How many days have passed since you mopped?', 'How many weeks is it since you mopped?',
    'On which day did you mop most recently?', 'What is your most recent task?'])
def test_a_question_for_a_time_names_none(question: str) -> None:
    assert not names_a_time(question)


def test_how_a_word_is_spelt_does_not_matter() -> None:
    assert is_mentioned('programme', 'RunWashingMachine program=quick')
    assert is_mentioned('program', 'the programmes') and is_mentioned('colors', 'two colours')
    assert is_mentioned('gray', 'a grey mug') and not is_mentioned('hour', 'a horse')


def test_what_a_question_asks_about() -> None:
    assert things_in('When did you water the plants?') == ['water', 'plants']
    assert things_in('How many times did ReceiveObjectFromHuman fail?') == ['receive', 'human']
    assert things_in("What is Anna's mug?") == ['anna', 'mug']
    assert things_in('What did you do on June 26 shortly after 8 PM?') == []
    assert missing_things('Did you water the plants?', 'WaterPlant succeeded') == []
    assert missing_things('Did you water the plants?', 'FillKettle water') == ['plants']
    assert names_a_time('What did you do yesterday?') and not names_a_time('Where is the mug?')
    assert not names_a_time('How many days ago did you mop?')
    assert names_a_time('How many days did you mop last week?')
    assert names_a_time('What did you do last Monday?') and names_a_time('On which day in May?')
    assert asks_whether_done('Is it true that you had to eat?')
    assert asks_whether_done('Did you eat?') and asks_whether_done("Haven't you eaten?")
    assert not asks_whether_done('Is the door open?') and not asks_whether_done('When did it?')
    assert asks_for_words('What did you say?') and asks_for_words('When did you see the mug?')
    assert not asks_for_words('Is the door open?')


@pytest.mark.parametrize(('word', 'root'), [
    ('watered', 'water'), ('Plants', 'plant'), ('making', 'mak'), ('stopped', 'stop'),
    ('tried', 'try'), ('dishes', 'dish'), ('fed', 'feed'), ('brought', 'bring'),
    # Words that only look like forms of others.
    ('string', 'string'), ('spring', 'spring'), ('speed', 'speed'), ('red', 'red'),
    ('bed', 'bed'), ('king', 'king'), ('glass', 'glass')])
def test_roots(word: str, root: str) -> None:
    assert root_of(word) == root
    assert is_mentioned(word, f'the {word} there')


def test_forms_of_a_word_are_mentioned() -> None:
    assert is_mentioned('watered', 'WaterPlants succeeded')
    assert is_mentioned('washing', 'he washed up') and is_mentioned('wash', 'washing')
    assert not is_mentioned('string', 'StrawberryJam') and not is_mentioned('cat', 'category')


@pytest.mark.parametrize(('text', 'unknown'), [
    ('It is not recorded.', True), ('I do not know.', True), ("I don't remember that.", True),
    ('No information about it.', True), ('The memory does not tell.', True),
    ('That was not stored in memory.', True), ('It was not stored in the fridge.', False),
    ('Not recorded', True), ('Unknown.', True), ('Not found in the kitchen.', False),
    ('At 14:00.', False), ('No, never.', False), ('I knew it at 14:00.', False)])
def test_answers_that_say_that_nothing_is_known(text: str, unknown: bool) -> None:
    assert says_nothing_known(text) is unknown


def test_tidy_bounds_the_length() -> None:
    assert len(tidy('x' * 100_000)) == 2000


# With a memory and the loop.


@pytest.fixture
def talk(home: Household) -> Household:
    home.run('Vacuum', '2025-03-05 14:00', '2025-03-05 14:30')
    home.say('2025-03-05 15:00', 'The door is open', 'robot')
    home.run('Say', '2025-03-05 15:00', '2025-03-05 15:00:05',
             parameters={'text': 'The door is open'})
    home.say('2025-03-05 16:00', 'I can see a milk', 'robot')
    return home


@pytest.mark.parametrize('search', ["speech(text='door')", "events(skill='Say')"])
def test_own_words_do_not_tell_how_the_world_stands(talk: Household, search: str) -> None:
    model = ScriptedModel([
        code(f'rows = {search}', f'answer({text!r}, evidence=rows)')
        for text in ('Yes, the door is open.', 'The door is open.')])
    answer = talk.ask('Is the door open?', model)
    assert answer.status is QueryStatus.NOT_RECORDED
    assert answer.message == "only the robot's own words tell of it"
    assert "only by the robot's own words" in model.last_prompt


def test_own_words_tell_what_was_said_and_what_was_detected(talk: Household) -> None:
    said = code("rows = speech(text='door')", 'answer(rows[0].text, evidence=rows)')
    assert talk.ask('What did you say about the door?', ScriptedModel([said])).answer == (
        'The door is open')
    seen = code("rows = speech(text='milk')", "answer(f'At {rows[0].when}', evidence=rows)")
    assert talk.ask('When did you see the milk?', ScriptedModel([seen])).answer == (
        'At 2025-03-05 16:00:00')


def test_an_answer_heard_again_is_no_fact(talk: Household) -> None:
    first = talk.ask('When did you vacuum?', ScriptedModel([code(
        "rows = events(skill='Vacuum')",
        "answer(f'I vacuumed the attic at {rows[0].when}.', evidence=rows)")]),
        now='2025-03-06 10:00')
    assert first.status is QueryStatus.ANSWERED
    talk.say('2025-03-06 10:00:05', first.answer, 'user')  # the microphone took it for the user
    words = code("rows = speech(text='attic')", "answer(f'Yes, {rows[0].text}', evidence=rows)")
    answer = talk.ask('Did the user say when you vacuumed the attic?',
                      ScriptedModel([words, words.replace('Yes', 'Indeed')]))
    assert answer.status is QueryStatus.NOT_RECORDED
    # A person's words that no answer held are evidence.
    talk.say('2025-03-06 11:00', 'the attic is dusty', 'user')
    other = code("rows = speech(text='attic dusty')", 'answer(rows[0].text, evidence=rows)')
    assert talk.ask('What did the user say about the attic?', ScriptedModel([other])).answer == (
        'the attic is dusty')


@pytest.mark.parametrize(('question', 'evidence', 'refusal'), [
    ('What did you grasp on March 4?', ('s1',), ''), ('What did you grasp on March 5?', ('s1',),
                                                      'another time'),
    ('What did you grasp after March 3?', ('s1',), ''), ('What did you grasp?', ('s1',), ''),
    ('What did you grasp on March 3 and March 5?', ('s1',), '')])
def test_evidence_lies_in_the_time_asked(question: str, evidence: tuple[str, ...],
                                         refusal: str) -> None:
    zone = parse_zone('Europe/Berlin')
    at = from_datetime(datetime(2025, 3, 4, 10), zone)
    clock = Clock(from_datetime(datetime(2025, 3, 10), zone), zone,
                  from_datetime(datetime(2025, 3, 9), zone))
    asked = evidence_window(question, asked_times(question, clock))
    item = EvidenceItem(id='s1', kind='skill_event', robot='r', start_ns=at, end_ns=at + 10**9,
                        text='s1 Grasp cup')
    verdict = check_answer('the cup', evidence, Grounds(
        question, {'s1': item}, '', lambda item: 'grasp cup', lambda word: True, asked=asked))
    assert refusal in verdict.refused and bool(refusal) == bool(verdict.refused)


@pytest.mark.parametrize(('question', 'told'), [
    ('When did you last vacuum for Clara?', 'look for vacuum clara, too'),
    ('Clara, when did you last vacuum?', ''),  # who is spoken to begins the sentence
    ('When did you last vacuum for Dora?', ''),  # never recorded: another check's
    ('When did you last vacuum for clara?', '')])
def test_a_name_that_memory_knows_is_not_said_otherwise(question: str, told: str) -> None:
    refused = refusal('At 2025-03-05 14:00:00.', ['s1'], question, recorded='vacuum clara')
    assert refused.startswith('no row of the evidence names clara') is bool(told)
    assert told in refused
    for fields in ({'insists': True}, {'parts': frozenset({'s1'})}):
        assert 'names' not in refusal('At 2025-03-05 14:00:00.', ['s1'], question,
                                      recorded='vacuum clara', **fields)


@pytest.mark.parametrize('said', ['When did you vacuum?', 'when did you vacuum'])
def test_the_question_is_no_answer(said: str) -> None:
    assert refusal(said, ['s1']).startswith('that is the question')


@pytest.mark.parametrize(('question', 'is_refused'), [
    ('How many tasks did you have?', True), ('How many of your jobs went wrong?', True),
    ('The number of activities in March?', True), ('How many actions went wrong?', False),
    ('How often did you vacuum?', False)])
def test_a_part_of_a_task_is_not_counted_as_a_task(question: str, is_refused: bool) -> None:
    refused = refusal('2: vacuum, vacuum', ['s1', 's2'], question, parts=frozenset({'s2'}))
    assert refused.startswith('s2 is a part of a task') is is_refused
    assert not refusal('2: vacuum, vacuum', ['s1', 's2'], question).startswith('s2')


@pytest.mark.parametrize(('question', 'ids', 'is_refused'), [
    ('Which task came after you had to vacuum?', ['s2'], True),
    ('Which of your jobs made you vacuum?', ['s2'], True),
    ('Which task made you vacuum?', ['s1', 's2'], False),  # beside the task itself
    ('What did you do next?', ['s2'], False)])
def test_a_part_of_a_task_is_not_named_as_a_task(
        question: str, ids: list[str], is_refused: bool) -> None:
    refused = refusal('vacuum', ids, question, parts=frozenset({'s2'}))
    assert refused.startswith('s2 is a part of a task') is is_refused


def test_a_task_bears_out_what_was_done_for_it(home: Household) -> None:
    home.say('2025-03-05 09:00', 'the newspaper is late', 'Ada')
    home.run('TakeDelivery', '2025-03-05 08:59', '2025-03-05 09:10')
    home.run('Receive', '2025-03-05 09:01', '2025-03-05 09:02', goal_stack=('TakeDelivery',),
             parameters={'giver': 'courier'})
    taken = code("rows = goals(text='delivery')", "answer(f'At {times(rows)}.', evidence=rows)")
    asked = 'When did you take a delivery from the {}?'
    assert home.ask(asked.format('courier'), ScriptedModel([taken])).rounds == 1
    assert home.ask(asked.format('newspaper'), ScriptedModel([taken])).rounds > 1  # said, not done


def test_a_part_bears_out_whom_its_task_was_for(home: Household) -> None:
    for day, person in (('05', 'Ada'), ('06', 'Bea')):
        home.run('BringTea', f'2025-03-{day} 09:00', f'2025-03-{day} 09:10',
                 parameters={'person': person})
        home.run('Grasp', f'2025-03-{day} 09:01', f'2025-03-{day} 09:02', 'failed',
                 stack=['BringTea'], parameters={'object': f'mug {day}'})
    part = code("rows = events(skill='Grasp', when='March 5')",
                'answer(rows[0].thing, evidence=rows)')
    asked = 'Which thing could you not grasp at the first attempt on March 5, for {}?'
    answer = home.ask(asked.format('Ada'), ScriptedModel([part]))
    assert (answer.answer, answer.rounds) == ('mug 05', 1)
    assert home.ask(asked.format('Bea'), ScriptedModel([part])).rounds > 1
