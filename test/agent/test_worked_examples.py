"""The worked examples that ship: each is replayed over their life and gives its answer there."""

from collections.abc import Iterator

from databases import database_url
from households import Household, open_memory
import pytest

from emv_ros.agent.examples import Example, all_examples, choose, kind_of, masked
from emv_ros.agent.examples_life import NOW, ZONE, records
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.similarity import Similarity

NOT_RECORDED = 'NOT_RECORDED'


@pytest.fixture(scope='module')
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Household]:
    """The life that the examples are of."""
    folder = tmp_path_factory.mktemp('life')
    house = Household(MemoryStore(folder, database_url(folder), 'r1', ZONE), ZONE)
    house.store.add_many(list(records()))
    house.consolidate()
    yield house
    house.store.close()


@pytest.fixture(scope='module')
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Household]:
    """A memory of nothing."""
    house = open_memory(tmp_path_factory.mktemp('empty'))
    yield house
    house.store.close()


@pytest.mark.parametrize('example', all_examples(), ids=lambda example: example.question)
def test_an_example_gives_its_answer(life: Household, example: Example) -> None:
    with life.console(NOW, choices=example.choices) as console:
        output = console.run(example.code)
        assert output.error == ''
        ending = console.library.ending
        if example.output:  # it shows how to go on after a look, over rows of its own
            assert ending is None and example.then
            return
        assert ending is not None
        assert (ending.text if ending.is_answer else NOT_RECORDED) == example.gives
        if ending.is_answer:
            assert ending.ids and all(item in console.library.shown.items for item in ending.ids)


@pytest.mark.parametrize('example', all_examples(), ids=lambda example: example.question)
def test_an_example_answers_nothing_in_an_empty_memory(empty: Household,
                                                       example: Example) -> None:
    with empty.console(NOW, choices=example.choices) as console:
        output = console.run(example.code)
        ending = console.library.ending
        # A choice is refused, a denial has no day to rest on, and all else is not recorded.
        refusals = ('got no rows', 'was seen within')
        assert output.error == '' or 'one of them has no rows' in output.error or (
            example.choices and any(refusal in output.error for refusal in refusals))
        assert ending is None or not ending.is_answer or not ending.ids


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
    ('How many times did GraspCup fail?', 'How many times did FoldTowel fail?'),
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
    assert chosen[-1].question == like
    assert len(chosen) >= 3
    assert {kind_of(item.question) for item in chosen[:-3]} <= {kind_of(question)}
    assert kind_of(question) == kind_of(like)


def test_a_question_with_choices_gets_examples_with_choices() -> None:
    question = 'In which order were the spices put into the pot?'
    assert all(item.choices for item in choose(question, 4, Similarity(), has_choices=True))
    assert not any(item.choices for item in choose(question, 4, Similarity()))
    last = choose(question, 4, Similarity(), has_choices=True)[-1]
    assert last.question.startswith('What was the order')


def test_no_examples_where_none_are_wanted() -> None:
    assert choose('When?', 0, Similarity()) == []


