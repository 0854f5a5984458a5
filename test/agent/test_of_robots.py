"""Two robots in one memory: what is asked of one tells nothing of the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from databases import database_url
from households import BERLIN, Household, ScriptedModel, code
import pytest

from emv_ros.biography.association import associate
from emv_ros.memory.lives import lives
from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Observation
from emv_ros.settings import BiographySettings
from emv_ros.timeline import parse_zone
from emv_ros.tree.view import TreeView

pytestmark = pytest.mark.both_databases

NOW = '2025-03-10 12:00'
# What each says, names and carries: the words of one never come from the other.
WORDS = {'ada': 'plum', 'bob': 'gravel'}


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Household]:
    """Yield a memory of two robots, at the same times in the same places; opened as ada."""
    stores = [MemoryStore(tmp_path, database_url(tmp_path), name, BERLIN) for name in WORDS]
    for store in stores:
        house, word = Household(store, BERLIN), WORDS[store.robot]
        house.run('Grasp', '2025-03-04 09:01', '2025-03-04 09:02', 'succeeded', ['Tidy'],
                  parameters={'object': f'{word} cup'}, narration=f'took the {word} cup')
        house.say('2025-03-04 09:05', f'bring the {word} please')
        house.see('2025-03-04 09:06', f'{word} mug', 'table')
        house.goal(f'washing {word}', '2025-03-04 10:00', '2025-03-04 10:10')
        store.add_many(Observation(
            stamp_ns=house.at(f'2025-03-04 11:0{at}'), end_ns=house.at(f'2025-03-04 11:0{at + 1}'),
            name=f'{word} bowl', event='seen', text=f'a bowl of {word}', instance='bowl_1')
            for at in (0, 2))
        associate(store, BiographySettings(), store.robot)
        house.consolidate()
    yield Household(stores[0], BERLIN)
    for store in stores:
        store.close()


@pytest.mark.parametrize('robot', WORDS)
@pytest.mark.parametrize('asked', [
    'print(events())', 'print(goals())', 'print(speech())', "print(seen('mug'))",
    "print(seen('bowl'))", "print(around('2025-03-04 10:05'))", "search('cup mug bowl bring')",
    "search('gravel plum')", 'memory.expand(); print(memory)', "print(events(text='cup'))",
    "search('bring', start='2025-03-04', end='2025-03-05')"])
def test_each_function_tells_of_the_one_robot(fleet: Household, robot: str, asked: str) -> None:
    other, = {*WORDS} - {robot}
    window = Window(robots=(robot,), before_ns=fleet.at(NOW))
    with fleet.console(NOW, question=window) as console:
        output = console.run(asked)
        told = '\n'.join((output.text, *console.library.shown.notes,
                          console.library.state.render(len, 100_000)))
        assert output.error == ''
    assert WORDS[robot] in told
    assert WORDS[other] not in told.replace('gravel plum', '')
    assert f'{other}' not in told


def test_no_robot_named_tells_of_both(fleet: Household) -> None:
    with fleet.console(NOW) as console:
        told = console.run('print(speech())').text
    assert all(word in told for word in WORDS.values())


def test_trees_and_biographies_are_of_one_robot(fleet: Household) -> None:
    for robot, word in WORDS.items():
        window = Window(robots=(robot,))
        found, _ = lives(fleet.store, window)
        assert {life.name for life in found} == {f'{word} bowl'}
        assert {item.robot for life in found for item in life.observations} == {robot}
        view = TreeView(fleet.store, window, parse_zone(BERLIN))
        waiting, texts = [view.root], []
        while waiting:
            node = waiting.pop()
            texts.append(f'{node.name} {node.summary}')
            waiting += view.children(node.id or 0)
        assert any(word in text for text in texts)
        assert not any(other in text for text in texts
                       for name, other in WORDS.items() if name != robot)


def test_a_question_of_one_robot_shows_the_model_nothing_of_the_other(fleet: Household) -> None:
    model = ScriptedModel([code("search('cup bring bowl')", 'print(speech())', 'print(events())'),
                           code("not_recorded('no')")])
    answer = fleet.ask('What was brought?', model, robots=('bob',))
    prompts = '\n'.join(message['content'] for prompt in model.prompts for message in prompt)
    assert 'gravel' in prompts and 'plum' not in prompts
    assert 'plum' not in answer.answer


def test_an_unknown_robot_has_no_memories(fleet: Household) -> None:
    with fleet.console(NOW, question=Window(robots=('eve',), before_ns=fleet.at(NOW))) as console:
        for asked in ('print(len(events()))', 'print(len(speech()))', "print(len(seen('mug')))"):
            assert console.lines(asked) == ['0']
