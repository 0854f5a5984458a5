"""What of a summary its items do not bear out, kind by kind, and what they do."""

import pytest

from emv_ros.tree.checks import (
    faults_in,
    imagined_failure,
    invented_names,
    invented_things,
    misplaced_in,
    speaks_of,
    told_as_done,
    untold_failures,
)
from emv_ros.tree.counts import untrue_hours, untrue_numbers
from emv_ros.tree.nouns import nouns_in
from emv_ros.tree.speech import handed_wrongly, misheard, strangers

LINES = ['09:02 Go (kitchen) succeeded', '09:03 Grasp (mug) failed', '09:04 Grasp (mug) succeeded',
         '10:30 user said "thank you"']


def kinds(summary, lines, facts=()):
    return [fault.kind for fault in faults_in(summary, lines, facts)]


@pytest.mark.parametrize('summary, found', [
    ('Went to the kitchen and took the mug at the second attempt.', []),
    ('Met Alice in the kitchen.', ['Alice']), ('The Mug was taken to the Kitchen.', []),
    ('GraspObject of NASA failed.', ['GraspObject', 'NASA']),
    ('Alice took the mug.', ['Alice']), ('Peter took the mug.', ['Peter']),
    ('Cleaned the mug, then went on.', []), ('Went home. Zoe took the mug.', ['Zoe']),
    ('Grasped the mug at 9 AM.', [])])
def test_names_that_no_item_says(summary, found):
    assert invented_names(summary, LINES) == found


@pytest.mark.parametrize('summary, found', [
    ('The robot picked up the banana.', ['banana']),
    ('It grasped the mug and put it on the table.', ['table']),
    ('It cleaned the mug in the bathroom with a sponge.', ['bathroom', 'sponge']),
    ('It took the mug, a plate and spoon.', ['plate', 'spoon']),
    ('It moved cups.', ['cups']), ('It poured milk.', ['milk']),
    ('Milk was poured.', ['Milk']), ('It navigated to sideboard.', ['sideboard']),
    ('It grasped the red mug.', ['red']), ('It opened the soymilk.', ['soymilk']),
    # True, in other forms, or of no thing.
    ('The robot grasped the mugs in the kitchen.', []),
    ('The robot attempted to grasp the mug and then succeeded.', []),
    ('The robot performed a series of actions at several locations.', []),
    ('The user thanked the robot after the completion of the task.', []),
    ('After a failure, the robot managed to grasp the mug successfully.', []),
    ('The grasping of the mug was repeated.', []), ('It saw nothing else.', [])])
def test_things_that_no_item_says(summary, found):
    assert invented_things(summary, LINES) == found


@pytest.mark.parametrize('said, summary', [
    ('BringNamedObjectFromLocation (mobile-kitchen/counter)', 'It brought an object from the '
     'counter of the kitchen.'),
    ('pour soy-milk', 'It poured the soymilk.'), ('sweep breadcrumbs', 'It swept the crumbs.'),
    ('prepare coffee', 'The preparation of the coffee.'), ('wash knives', 'It washed a knife.'),
    ('open refrigerator', 'It opened the fridge.'), ('soak rice', 'The rice was soaked.'),
    ('Say succeeded; robot said "hello"', 'The robot gave a speech.'),
    ('washing up the dishes', 'It washed a dish.')])
def test_other_forms_and_spellings_of_what_was_said(said, summary):
    assert invented_things(summary, [said]) == []


def test_a_part_of_a_word_is_not_the_word():
    assert invented_things('It opened the cupboard.', ['take cup']) == ['cupboard']
    assert invented_things('It opened the dishwasher.', ['wash dishes']) == ['dishwasher']


def test_verbs_are_no_things():
    assert nouns_in('The robot places the mug, opens the door and moves to the left.') == [
        'mug', 'door']
    assert nouns_in('It wanted to open the door and close the window.') == ['door', 'window']
    assert nouns_in('The robot saw a mug and left.') == ['mug']
    assert nouns_in('It took a mug, drove home, and felt the door.') == ['mug', 'door']
    assert nouns_in('It opens the door, places the mug, and plates.') == ['door', 'mug', 'plates']


@pytest.mark.parametrize('summary, found', [
    ('Grasped the mug twice.', []), ('Grasped at the second attempt.', []),
    ('Grasped the mug three times.', ['three']), ('Took two mugs.', []),
    ('Took a dozen mugs.', ['dozen']), ('Took 17 mugs at 09:05.', ['17', '09:05']),
    ('At 9 things were quiet.', ['9']), ('Dealt with 4 records.', []), ('Once, one mug.', []),
    ('It did three things.', []), ('It took a second.', []),
    ('Succeeded at the third try.', ['third'])])
def test_numbers_that_follow_from_no_item(summary, found):
    assert untrue_numbers(summary, LINES) == found


def test_what_was_done_several_times_counts():
    lines = ['19:26 Say succeeded; robot said "hello" (7 times)', '19:40 look ×3']
    for summary in ('It said hello seven times.', 'It said hello 7 times.', 'It looked thrice.'):
        assert untrue_numbers(summary, lines) == []
    assert untrue_numbers('It said hello six times.', lines) == ['six']


@pytest.mark.parametrize('summary, found', [
    ('At 7:05 PM the tours of Tuesday ended.', []), ('At 19:05 the Tours ended.', []),
    ('In the morning of Tuesday 12 May.', []), ('On May 12 of 2026.', []),
    ('At 7:06 it ended.', ['7:06'])])
def test_times_and_days_in_other_forms_are_no_inventions(summary, found):
    fact = 'Tuesday 12 May 2026 19:05 Tuesday 12 May 19:20 Tour succeeded'
    assert untrue_numbers(summary, ['19:05 Tour succeeded'], [fact]) == found
    assert invented_names(summary, [fact]) == []
    assert invented_names('In the morning of Friday.', [fact]) == ['Friday']


def test_little_words_that_lines_share_are_not_counted():
    lines = ['10:00 to 10:01 go to kitchen', '10:02 to 10:03 grasp milk FAILED',
             '10:04 to 10:05 carry it to fridge']
    assert untrue_numbers('It failed three times to grasp the milk.', lines) == ['three']


def test_times_of_day():
    assert untrue_hours('In the evening it toured.', ['19:05 Tour']) == []
    assert untrue_hours('In the morning it toured.', ['19:05 Tour']) == ['morning']
    assert untrue_hours('In the morning it said so.', ['19:05 robot said "good morning"']) == []
    assert untrue_hours('In the morning it toured.', ['Tour']) == []


@pytest.mark.parametrize('summary, lines, found', [
    ('The user was given the mug.', ['hand over object to human'], ['user']),
    ('The robot gave her the mug.', ['user said "mug"'], ['her']),
    ('The robot gave her the mug.', ['alice said "mug"'], []),
    ('The human took it.', ['grasp mug'], ['human']),
    ('The person took it.', ['hand over object to human'], []),
    ('The user asked for it.', LINES, [])])
def test_persons_of_whom_nothing_is_known(summary, lines, found):
    assert strangers(summary, lines) == found


SPOKEN = ['09:00 user said "bring me the milk"', '09:01 robot said "I will bring it"',
          '09:02 grasp (milk) succeeded', '09:03 open (fridge) succeeded']


@pytest.mark.parametrize('summary', [
    'The user asked for the milk, and the robot said "I will bring it".',
    'The user said "bring me the milk".', 'The user asked the robot to bring milk.',
    "At the user's request the robot grasped the milk and opened the fridge.",
    'The user asked for milk; the robot opened the fridge.'])
def test_who_said_what_rightly(summary):
    assert misheard(summary, SPOKEN) == []


@pytest.mark.parametrize('summary, lines, part', [
    ('The robot said "bring me the milk".', SPOKEN, 'the robot said "bring me the milk", but'),
    ('The user replied "I will bring it".', SPOKEN, 'a person said "I will bring it", but'),
    ('The user said "bring me the cake".', SPOKEN, 'quotes "bring me the cake", which no record'),
    ('The user asked for the fridge.', SPOKEN, 'the user asked for "fridge"'),
    ('The user requested the mug.', SPOKEN[1:], 'a person spoke or asked'),
    ('The mug was requested by the user.', SPOKEN[1:], 'a person spoke or asked'),
    ('The robot said so.', SPOKEN[2:], 'the robot spoke')])
def test_who_said_what_wrongly(summary, lines, part):
    assert part in '; '.join(misheard(summary, lines))


def test_who_is_named_but_did_not_speak():
    lines = ['09:00 mia said "my birthday is on Friday"', '09:01 Tom took the book from the shelf']
    assert 'Tom spoke' in '; '.join(misheard('Tom said that his birthday is on Friday.', lines))
    assert misheard('Mia said that her birthday is on Friday; Tom took the book.', lines) == []
    assert misheard('Tom asked for it.', [*lines, '09:02 Tom then asked for the book.']) == []


def test_requests_in_another_language_are_not_judged():
    lines = ['09:00 user said "bring mir bitte die Milch aus der Küche"', '09:02 grasp (milk)']
    assert misheard('The user asked for the milk.', lines) == []


def test_summaries_are_believed_who_spoke():
    lines = ['09:00 The user asked for the milk; the robot handed it over.']
    assert misheard('The user requested milk.', lines) == []
    assert kinds('The user requested milk, which the robot handed over.', lines) == []


@pytest.mark.parametrize('line, true, false', [
    ('receive object from human succeeded',
     ('The robot received the object from the human.', 'It took the object from the person.',
      'The human handed the object to the robot.', 'The object was handed to the robot.'),
     ('The robot handed the object over to the human.', 'The object was given to the human.')),
    # Its steps move the limb.
    ('receive object from human succeeded: open hand, look at human hand, close hand',
     ('The robot asked a person to give it the object.', 'The user handed the robot an object.'),
     ('The robot gave the human the object.', 'The robot hands the object over.')),
    ('hand over object to human succeeded',
     ('The robot handed over the object.', 'The human received the object.',
      'The object was delivered to the human.', 'The human took the object.'),
     ('The robot received the object from the human.', 'The human gave an object to the robot.'))])
def test_what_went_from_hand_to_hand(line, true, false):
    assert [handed_wrongly(summary, [line]) for summary in true] == [''] * len(true)
    assert all(handed_wrongly(summary, [line]) for summary in false)


def test_where_both_happened_hands_are_not_judged():
    lines = ['receive object from human succeeded', 'hand over object to human succeeded']
    assert handed_wrongly('The robot gave the object to the human.', lines) == ''


@pytest.mark.parametrize('summary, speaks', [
    ('The robot looked in all four directions.', True), ('It kept looking.', True),
    ('I am sorry, but I cannot help with that.', False), ('The robot succeeded.', False),
    ('Sure! Here is the summary you asked for:', False)])
def test_a_summary_speaks_of_its_items(summary, speaks):
    assert speaks_of(summary, ['20:17 look up succeeded', '20:17 look down succeeded']) == speaks


def test_words_of_other_groups():
    assert misplaced_in('Failed to grasp the mug.', LINES[3:], LINES) == ['failed', 'grasp']
    assert misplaced_in('Thanked the robot for the tour.', LINES[3:], LINES) == []
    assert misplaced_in('Went to the kitchen and took the mug.', LINES[:3], LINES) == []


def test_failures_are_told_and_none_imagined():
    lines = ['15:25 pour water (glass) FAILED', '15:26 user said "thanks"']
    assert untold_failures('Water was poured.', lines) == lines[:1]
    for summary in ('Failed to pour.', 'The robot could not pour water.', 'It tried to pour.'):
        assert untold_failures(summary, lines) == []
    assert imagined_failure('Took the glass but failed to go on.', lines[1:]) == 'failed'
    assert imagined_failure('Failed to pour water.', lines) == ''


@pytest.mark.parametrize('summary, word', [
    ('It went to the counter, grasped the milk, but could not see it.', 'grasped'),
    ('The milk was grasped. It failed to see.', 'grasped'),
    ('It failed to grasp the milk and to see.', ''), ('It tried to grasp, but failed.', ''),
    ('It went to the counter; the milk could not be grasped.', ''),
    ('It saw the milk, as grasping failed.', 'saw')])
def test_what_failed_is_not_told_as_done(summary, word):
    lines = ['15:07 navigate (counter) succeeded', '15:17 grasp (milk) FAILED',
             '15:23 see now FAILED']
    assert told_as_done(summary, lines) == word
    assert told_as_done(summary, [*lines, '15:30 grasp (milk) and see succeeded']) == ''
    assert told_as_done(summary, [*lines, '15:18 grasp (milk): open hand']) == word


# What the local model wrote of real records, as people judge it: true sentences pass, and what is
# refused is refused for the words that are not so.
@pytest.mark.parametrize('summary, lines, kind', [
    ('The robot received an object from a human and navigated to the home location.',
     ['13:03 receive object from human: look at',
      '13:05 navigate to named location (home) succeeded'], []),
    ('The robot failed to see the object; it successfully shaped the hand three times.',
     ['15:26 what can you see now FAILED', '15:32 shape hand (Close) succeeded (3 times)'], []),
    ('The robot said its name and navigated to home and sideboard, but could not see anything.',
     ['19:27 Say succeeded; robot said "My name is armar"', '19:29 navigate (home) succeeded',
      '19:30 navigate (mobile kitchen/sideboard)', '19:37 what can you see now FAILED'], []),
    ('The robot cleaned and cleared the kitchen, then continued to soften the dates with butter.',
     ['12:24 Clean and Clear: right glove moved, spoon moved',
      '12:26 Continue softening the dates with butter: wooden spatula moved'], ['object']),
    ('The user unpacked groceries, prepared yeast and flour.',
     ['10:01 Unpack groceries: bag moved', '10:07 Prepare yeast and flour: jar moved'],
     ['person']),
    ('The robot navigated to the futureium, and introduced itself.',
     ['14:33 navigate to location (futurium berlin/home)', '14:34 Introduction: home pose'],
     ['object'])])
def test_real_replies(summary, lines, kind):
    assert kinds(summary, lines) == kind
