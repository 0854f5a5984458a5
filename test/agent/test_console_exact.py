"""The exact functions: right values, worked out by hand, on small memories."""

from households import Household
import pytest

from emv_ros.memory import schema
from emv_ros.memory.queries import Window
from emv_ros.records import Observation, SkillReport, Status, Utterance
from emv_ros.timeline import SECOND_NS

pytestmark = pytest.mark.both_databases

NOW = '2025-03-10 12:00'


@pytest.fixture
def week(home: Household) -> Household:
    home.run('SetTable', '2025-03-04 09:00', '2025-03-04 09:10')
    home.run('Grasp', '2025-03-04 09:01', '2025-03-04 09:02', 'failed', ['SetTable'],
             parameters={'object': 'red cup'}, narration='the hand slipped')
    home.run('Grasp', '2025-03-04 09:03', '2025-03-04 09:04', 'succeeded', ['SetTable'],
             parameters={'object': 'red cup'})
    home.run('Vacuum', '2025-03-05 14:00', '2025-03-05 14:30')
    home.run('Vacuum', '2025-03-05 14:37', '2025-03-05 14:40', 'aborted')
    home.goal('cooking soup', '2025-03-06 18:00', '2025-03-06 19:00')
    home.say('2025-03-05 14:35', 'please stop the noise')
    home.say('2025-03-05 14:36', 'I will vacuum later', 'robot')
    home.say('2025-03-06 08:00', 'good morning', 'Anna')
    for when, name, place in (('2025-03-04 10:00', 'mug', 'table'),
                              ('2025-03-04 10:01', 'mug', 'table'),
                              ('2025-03-04 10:02', 'mug', 'shelf'),
                              ('2025-03-06 18:30', 'blue mug', 'stove')):
        home.see(when, name, place)
    return home


@pytest.mark.parametrize(('expression', 'printed'), [
    ('len(events())', '6'),  # five runs and the goal that its source named
    ("len(events(skill='grasp'))", '2'),
    ("len(events(skill='Grasp', status='failed'))", '1'),
    ("len(events(status=['failed', 'aborted']))", '2'),
    ("len(events(status='FAILURE'))", '1'),
    ("len(events(goal='set table'))", '3'),  # the goal's own run counts
    ("len(events(text='red cup'))", '2'),
    ("len(events(text='red cup', when='2025-03-05'))", '0'),
    ("names(events(text='hand slipped'))", 'Grasp'),
    ('names(goals())', 'SetTable, Vacuum, cooking soup'),
    ("names(goals(status='aborted'))", 'Vacuum'),
    ("len(goals(when='March 5'))", '2'),
    ("times(events(skill='Vacuum'))",
     '2025-03-05 14:00:00 to 14:30:00, 2025-03-05 14:37:00 to 14:40:00'),
    ("total(events(skill='Vacuum'))", '0:33:00'),
    ("[r.seconds for r in events(skill='Grasp')]", '[60.0, 60.0]'),
    ("events(skill='Vacuum')[-1].day", '2025-03-05'),
    ("events(skill='Grasp')[0].parameters", "{'object': 'red cup'}"),
    ('[r.speaker for r in speech()]', "['user', 'robot', 'Anna']"),
    ("speech(speaker='anna')[0].text", 'good morning'),
    ("len(speech(text='noise'))", '1'),
    ("[(r.count, r.place) for r in seen('mug', when='2025-03-04')]",
     "[(2, 'on table'), (1, 'on shelf')]"),
    ("seen('mug')[-1].place", 'on shelf'),  # the blue mug is another name
    ("[r.name for r in seen('blue mug')]", "['blue mug']"),
    ("len(seen('green mug'))", '2'),  # there is none: the mug is shown
    ("len(seen('elephant'))", '0'),
    ("names(around('2025-03-05 14:36'))", 'Vacuum'),
    ("len(around('March 5 14:36', minutes=2))", '1'),
    ("names(around('March 5')) == names(goals(when='March 5'))", 'True'),
    ("names(before(events(skill='Vacuum')[0]))", 'SetTable'),
    ("names(after(events(skill='Vacuum')[0], 2))", 'Vacuum, cooking soup'),
    ("before(events(skill='Grasp')[1])[0].status", 'failed'),  # within the same goal
    ("len(before(events(skill='Grasp')[0]))", '0'),
    ("names(after(speech(text='noise')[0]))", 'Vacuum'),
    ("names(before(goals(text='soup')[0]))", 'Vacuum'),
    ("len(after(goals(text='soup')[0]))", '0'),
    ('events(limit=1)[0].name', 'SetTable'),
    ('events(limit=-1)[0].name', 'cooking soup'),
    ("biography('blue mug')", "['g4 2025-03-06 18:30:00 blue mug on stove']"),
    ('now()', '2025-03-10 12:00:00'),
    ("(now() - events(skill='Vacuum')[-1].start).days", '4'),
])
def test_exact_values(week: Household, expression: str, printed: str) -> None:
    with week.console(NOW) as console:
        assert console.value(expression) == printed


def test_search_prints_what_it_finds_and_its_rows_are_evidence(week: Household) -> None:
    with week.console(NOW) as console:
        assert console.lines("search('stop the noise', k=1)") == [
            'u1 2025-03-05 14:35:00 user said "please stop the noise"']
        assert 'u1' in console.library.shown.items
        assert console.lines("search('zebra')") == ['search found nothing']


def test_one_unit_tells_all_its_times_and_all_its_records_are_evidence(week: Household) -> None:
    with week.console(NOW) as console:
        lines = console.lines("search('vacuum', k=2)")
        assert lines[0].startswith('s4 2025-03-05 14:00:00')
        week.run('Vacuum', '2025-03-06 09:00', '2025-03-06 09:30')
    with week.console(NOW) as console:
        line = console.lines("search('vacuum succeeded', k=1)")[0]
        assert line == ('s4 2025-03-05 14:00:00–14:30:00 "Vacuum succeeded" ×2, '
                        's6 2025-03-06 09:00:00–09:30:00')
        assert {'s4', 's6'} <= set(console.library.shown.items)


def test_a_second_search_leaves_out_what_was_read(week: Household) -> None:
    with week.console(NOW) as console:
        first = console.lines("search('vacuum noise', k=2)")
        second = console.lines("search('the vacuum and its noise', k=2)")
        assert len(first) == len(second) == 2 and not set(first) & set(second)
        # Code may need the rows of what was only printed.
        assert console.lines("search('Vacuum noise', k=2)") == first
        assert console.library.shown.notes[-1].startswith('no new results')
        console.run("search('vacuum', k=50)")
        assert console.lines("search('a vacuum', k=2)") != ['search found nothing']
        assert any(note.startswith('no new results') for note in console.library.shown.notes)


def test_a_time_in_a_search_says_where_to_look(week: Household) -> None:
    with week.console(NOW) as console:
        assert console.lines("search('good words said on March 6')") == [
            'u3 2025-03-06 08:00:00 Anna said "good morning"']


def test_the_biography_of_an_entity(week: Household) -> None:
    with week.store.writing() as session:
        session.add(schema.EntityRow(
            robot_id=1, name='red cup', is_person=False, attributes={}))
    for when, name in (('2025-03-07 10:00', 'cup'), ('2025-03-08 10:00', 'mug')):
        week.store.add(Observation(stamp_ns=week.at(when), end_ns=week.at(when), name=name,
                                   entity_id=1))
    with week.console(NOW) as console:
        assert console.value("len(biography('e1'))") == '2'
        assert console.value("biography('e9')") == '[]'


def test_notes_tell_near_names_and_what_is_not_there(week: Household) -> None:
    with week.console(NOW) as console:
        console.run("events(skill='vacuum the carpet')")
        assert console.library.shown.notes == [
            "no skills are called 'vacuum the carpet'; the nearest are: Vacuum"]
        console.run("seen('green mug')")
        assert console.library.shown.notes == [
            "nothing is called 'green mug'; these are called 'mug'"]


def test_of_like_things_the_one_that_is_described(home: Household) -> None:
    for minute, instance in ((0, 'mug_1'), (1, 'mug_2'), (2, 'mug_1')):
        home.see(f'2025-03-04 10:0{minute}', 'mug', 'table', instance=instance)
    home.run('Serve', '2025-03-04 11:00', '2025-03-04 11:01', narration='brings coffee in mug_2')
    with home.console(NOW) as console:
        assert console.value("[r.instance for r in seen('mug')]") == "['mug_1', 'mug_2']"
        assert console.value("[r.instance for r in seen('mug with coffee')]") == "['mug_2']"
        assert 'is meant, by s1' in ' '.join(console.library.shown.notes)
        assert console.library.shown.links == ['s1']
        assert console.value("len(seen('mug from the moon'))") == '2'
        assert 'not told: mug_1, mug_2' in console.library.shown.notes[-1]


def test_first_and_last_are_right_where_there_are_too_many(home: Household) -> None:
    home.store.add_many(
        Utterance(stamp_ns=home.at(f'2025-03-04 10:{minute:02d}:{second:02d}'), speaker='user',
                  text=f'tick {minute} {second}') for minute in range(60) for second in range(20))
    with home.console(NOW) as console:
        assert console.lines('rows = speech()\nprint(len(rows), rows[0].text, rows[-1].text)') == [
            '1000 tick 0 0 tick 59 19']
        assert 'more than 1000' in console.library.shown.notes[0]


def test_top_goals_are_found_behind_many_nested_runs(home: Household) -> None:
    first_ns = home.at('2025-03-04 10:00')
    home.store.add_many(
        SkillReport(stamp_ns=first_ns + second * SECOND_NS, end_ns=first_ns + second * SECOND_NS,
                    skill='Step', status=Status.SUCCEEDED, source_id=str(second),
                    goal_stack=('Cook',)) for second in range(1100))
    home.run('Wash', '2025-03-04 11:00', '2025-03-04 11:05')
    with home.console(NOW) as console:
        assert console.value('names(goals())') == 'Cook, Wash'
        assert console.value('len(around("2025-03-04 10:59", minutes=4))') == '1'


def test_one_robot_of_two(home: Household) -> None:
    home.run('Vacuum', '2025-03-04 10:00', '2025-03-04 10:10', robot='r2')
    home.run('Mop', '2025-03-04 10:00', '2025-03-04 10:10')
    with home.console(NOW, question=Window(robots=('r2',))) as console:
        assert console.value('names(events())') == 'Vacuum'
        assert console.value('len(events(skill="Mop"))') == '0'


def test_look_without_a_vision_model_tells_what_was_stored(week: Household) -> None:
    with week.console(NOW, looks=1) as console:
        said = console.value("look(seen('blue mug')[0], 'what is there?')")
        assert said == ('no vision model looked; stored with the picture: blue mug; '
                        'blue mug on stove')
        assert 'no more pictures' in console.run("look(seen('mug')[0], 'again?')").error


def test_nothing_later_than_the_question_is_seen(week: Household) -> None:
    week.consolidate()
    with week.console('2025-03-05 14:10') as console:
        assert console.value('[(r.name, r.status) for r in events()]') == (
            "[('SetTable', 'succeeded'), ('Grasp', 'failed'), ('Grasp', 'succeeded'), "
            "('Vacuum', 'running')]")
        assert console.value("events(skill='Vacuum')[0].end") == '2025-03-05 14:00:00'
        assert console.value('len(speech())') == '0'
        assert console.value("seen('blue mug', when='2025-03-06')") == '[]'
        console.run("search('vacuum soup morning noise blue')")
        later = [item for item in console.library.shown.items.values()
                 if item.start_ns >= week.at('2025-03-05 14:10')]
        assert later == []
        console.run("events(skill='cook')\nseen('stove')\nspeech(speaker='Anne')")
        assert not any('Anna' in note or 'blue' in note for note in console.library.shown.notes)
        assert console.value('[n.day for n in days()]') == "['2025-03-04']"


def test_a_running_goal_ends_at_the_question(week: Household) -> None:
    with week.console('2025-03-06 18:20') as console:
        assert console.value("goals(text='soup')[0].when") == '2025-03-06 18:00:00 to 18:20:00'


def test_arguments_that_are_not_there_are_taken_as_words_or_as_a_time(week: Household) -> None:
    with week.console(NOW) as console:
        output = console.run("print(names(events(skill='Grasp', object='cup', date='March 4')))")
        assert output.text.splitlines() == [
            '(object= was taken as text=)', '(date= was taken as when=)', 'Grasp']
        output = console.run("print(len(goals(text='soup', person='Ada')))")
        assert output.text.splitlines() == ['(person= was taken as text=)', '0']
        assert "unexpected keyword argument 'count'" in console.run('events(count=3)').error
        output = console.run("print(names(goals(text='last week')))")
        assert output.text.splitlines() == [
            '(text= was taken as when=)', 'SetTable, Vacuum, cooking soup']


@pytest.mark.parametrize(('choices', 'found'), [((), '0'), (('cup', 'mug'), '3')])
def test_of_choices_a_goal_may_be_called_otherwise(
        week: Household, choices: tuple[str, ...], found: str) -> None:
    with week.console(NOW, choices=choices) as console:
        assert console.value("len(events(goal='TableSetting'))") == found
        assert any("these are of 'SetTable'" in note
                   for note in console.library.shown.notes) is bool(choices)
