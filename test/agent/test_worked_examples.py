"""The worked examples that ship: each runs in the console as it stands, and ends as it should."""

from collections.abc import Iterator

from households import Household, open_memory
import pytest

from emv_ros.agent.examples import Example, all_examples, choose, kind_of, masked
from emv_ros.retrieval.similarity import Similarity

NOW = '2025-05-05 18:00'  # a Monday


@pytest.fixture(scope='module')
def home_life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Household]:
    """A memory with something for each example."""
    home = open_memory(tmp_path_factory.mktemp('home'))
    home.run('SetTable', '2025-04-28 12:00', '2025-04-28 12:10', 'failed')
    home.run('FoldTowel', '2025-04-29 10:00', '2025-04-29 10:05', 'failed')
    home.run('VacuumCarpet', '2025-05-02 10:00', '2025-05-02 10:20', 'aborted')
    home.run('FeedCat', '2025-05-03 14:05', '2025-05-03 14:10')
    home.run('CloseGate', '2025-04-10 20:00', '2025-04-10 20:01')
    home.run('CleanWindow', '2025-05-05 09:00', '2025-05-05 09:30')
    home.run('GoToGarage', '2025-05-04 10:00', '2025-05-04 10:02')
    home.run('ChargeBattery', '2025-05-04 22:00', '2025-05-04 23:00')
    home.run('OpenDoor', '2025-05-05 08:00', '2025-05-05 08:01')
    home.run('BringLetter', '2025-05-05 08:30', '2025-05-05 08:31', 'failed')
    home.say('2025-05-01 09:00', 'the parcel is on its way', 'Peter')
    home.say('2025-05-01 09:05', 'we played chess with the neighbour', 'Anna')
    for when, name, place in (('2025-05-01 10:00', 'blue bowl', 'shelf'),
                              ('2025-05-01 10:01', 'umbrella', 'door'),
                              ('2025-05-01 10:02', 'book', 'bed'),
                              ('2025-05-01 10:03', 'bottle', 'tray'),
                              ('2025-05-05 10:00', 'pen', 'desk')):
        home.see(when, name, place)
    home.run('Rest', '2024-10-10 10:00', '2024-10-10 11:00')
    home.consolidate()
    yield home
    home.store.close()


@pytest.mark.parametrize('example', all_examples(), ids=lambda example: example.question)
def test_an_example_runs(home_life: Household, example: Example) -> None:
    with home_life.console(NOW) as console:
        output = console.run(example.code)
        assert output.error == ''
        ending = console.library.ending
        if example.output:
            assert ending is None and example.then
        else:
            assert (ending and ending.text) or output.text.startswith(('s', 'n', 'u', 'g'))
            assert ending is None or not ending.is_answer or all(
                item in console.library.shown.items for item in ending.ids)


@pytest.mark.parametrize('example', all_examples(), ids=lambda example: example.question)
def test_an_example_runs_in_an_empty_memory(home: Household, example: Example) -> None:
    with home.console(NOW) as console:
        assert console.run(example.code).error == ''


def test_what_comes_after_a_look_is_code_that_ends() -> None:
    for example in all_examples():
        assert bool(example.output) == bool(example.then)
        assert not example.then or example.then.startswith(('answer(', 'not_recorded('))


def test_things_are_masked() -> None:
    assert masked('How many times did ReceiveObjectFromHuman fail?') == (
        'how many times did thing fail?')
    assert masked('When did you see the soy milk on 27 June?') == (
        'when did you see the thing on 0 june?')


@pytest.mark.parametrize(('question', 'like'), [
    ('How many times did GraspCup fail?', 'How many times did setting the table fail?'),
    ('How often did OpenFridge fail yesterday?', 'How often did FoldTowel fail last week?'),
    ('When did you first see the soy milk?', 'When did you first see the blue bowl?'),
    ('Did you ever load the dishwasher?', 'Did you ever feed the cat?'),
    ('Did you load the dishwasher in June?', 'Did you close the gate in April?'),
    ('Did the mug I drank from end up in the sink?',
     'Did the bottle that Anna opened get onto the tray?'),
    ('Where is the cup that you gave me?', 'Where is the book that I read in bed?'),
    ('What did you do on June 26 shortly after 8 PM?',
     'What did you do on May 3 shortly after 2 PM?')])
def test_the_example_of_the_same_kind_stands_last(question: str, like: str) -> None:
    chosen = choose(question, 4, Similarity())
    assert len(chosen) == 4 and chosen[-1].question == like
    assert kind_of(question) == kind_of(like)


def test_no_examples_where_none_are_wanted() -> None:
    assert choose('When?', 0, Similarity()) == []
