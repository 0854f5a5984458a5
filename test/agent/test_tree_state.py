"""The tree in the prompt under its budget: what is given up, and what never is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
import re
import shutil
import time

from households import Household, ScriptedModel, code, open_memory
import pytest

from emv_ros.agent.answers import QueryStatus
from emv_ros.agent.console.tree_state import TreeState
from emv_ros.agent.models.client import ModelClient
from emv_ros.memory.queries import Window
from emv_ros.records import Node
from emv_ros.settings import AgentSettings, ModelSettings, Settings
from emv_ros.timeline import SECOND_NS, parse_zone
from emv_ros.tree.view import TreeView

NOW = '2025-03-10 12:00'
HOUR_S = 3600
BUDGET = AgentSettings().state_tokens
Count = Callable[[str], int]

# What ModelClient says of a provider's model, and the dearest that a tokenizer can be.
estimate = ModelClient(ModelSettings(model='openai/some')).count_tokens


def one_a_byte(text: str) -> int:
    return len(text.encode())


COUNTS = pytest.mark.parametrize('count', [estimate, one_a_byte])


def add_day(home: Household, day: int, hours: Sequence[Sequence[str]]) -> tuple[int, list[int]]:
    """Add a day (L8) with a goal (L3) for each hour from eight, and its events, one a second."""
    start_ns = home.at(f'2025-03-{day:02d} 08:00')

    def node(level: int, from_s: float, to_s: float, text: str) -> Node:
        return Node(robot='r1', level=level, start_ns=start_ns + round(from_s * SECOND_NS),
                    end_ns=start_ns + round(to_s * SECOND_NS), summary=text)

    with home.store.node_writer() as writer:
        goals = []
        for place, texts in enumerate(hours):
            first = place * HOUR_S
            events = [writer.add(node(2, first + at, first + at, text))
                      for at, text in enumerate(texts)]
            goals.append(writer.add(node(3, first, first + max(1, len(texts)), f'goal {place}'),
                                    children=events))
        day_id = writer.add(node(8, 0, len(hours) * HOUR_S, f'day {day}'), children=goals)
    return day_id, goals


@pytest.fixture(scope='module')
def wide(tmp_path_factory: pytest.TempPathFactory, empty_memory: Path) -> Iterator[Household]:
    """Four days of ten goals; one goal has 3,000 scenes, one 500 ticks, one is in Chinese."""
    folder = tmp_path_factory.mktemp('wide')
    shutil.copytree(empty_memory, folder, dirs_exist_ok=True)
    home = open_memory(folder)
    home.run('Walk', '2025-03-05 08:00', '2025-03-05 08:10')
    days = []
    for day in (3, 4, 5, 6):
        hours = [[f'does thing {hour}.{event} of day {day}' for event in range(12)]
                 for hour in range(10)]
        if day == 5:
            hours[4] = [f'saw mug {at}, plate {at % 7}; mug {at} on table' for at in range(3000)]
            hours[5] = [f'tick number {at}' for at in range(500)]
            hours[6] = [f'机器人把第{at}个红色的杯子拿到客厅的书架上' * 6 for at in range(60)]
        days.append(add_day(home, day, hours)[0])
    with home.store.node_writer() as writer:
        writer.add(Node(robot='r1', level=9, start_ns=home.at('2025-03-03 08:00'),
                        end_ns=home.at('2025-03-06 18:00'), summary='four days'), children=days)
    yield home
    home.store.close()


def ids(text: str) -> list[str]:
    """Return the id of each node in a text; every line has one, but for counts and the ending."""
    found = [re.match(r'[-+] (n\d+)', line.strip()) for line in text.splitlines()]
    rest = [line.strip() for line, match in zip(text.splitlines(), found, strict=True)
            if match is None]
    assert all(re.fullmatch(r'… \d+ more|\(the rest is collapsed to save room\)', line)
               for line in rest), rest
    return [match[1] for match in found if match]


def new_state(home: Household) -> TreeState:
    zone = parse_zone(home.zone)
    return TreeState(TreeView(home.store, Window(), zone), zone)


def at(view: TreeView, *places: int) -> int:
    """Return the id of the node at these places, from the root down."""
    node = view.root
    for place in places:
        node = view.children(node.id or 0)[place]
    return node.id or 0


@COUNTS
@pytest.mark.parametrize('budget', [50, 300, BUDGET])
def test_thirty_expansions_keep_to_the_budget(wide: Household, count: Count, budget: int) -> None:
    state, view = new_state(wide), new_state(wide).view
    root = view.root.id
    for step in range(30):
        day, goal = step % 4, (step * 7) % 10
        node_id, parent = at(view, day, goal), at(view, day)
        state.expand(node_id)
        text = state.render(count, budget)
        assert count(text) <= budget, step
        shown = ids(text)
        wanted = [f'n{root}', f'n{parent}', f'n{node_id}']
        if count(''.join(f'{"  " * place}- {key}\n' for place, key in enumerate(wanted))) <= budget:
            assert [key for key in shown if key in wanted] == wanted, step
        assert len(shown) == len(set(shown))


def test_what_was_used_longest_ago_is_collapsed_first(wide: Household) -> None:
    state, view = new_state(wide), new_state(wide).view
    goals = [at(view, 0, goal) for goal in range(6)]
    for goal in goals:
        state.expand(goal)
    state.expand(goals[0])  # used again: now the latest but one
    state.expand(goals[5])
    whole = state.render(len, 10**6)
    text = state.render(len, len(whole) * 2 // 3)
    is_open = {key: f'- n{key} ' in text for key in goals}
    assert [is_open[key] for key in (*goals[1:5], goals[0], goals[5])] == sorted(is_open.values())
    assert is_open[goals[0]] and is_open[goals[5]] and not is_open[goals[1]]
    assert text.endswith('(the rest is collapsed to save room)')
    # No more is collapsed than is needed, and what was collapsed stays so.
    assert len(text) > len(whole) * 2 // 3 - len(whole) // 5
    assert state.render(len, 10**6) == text.removesuffix('\n(the rest is collapsed to save room)')


@COUNTS
def test_beside_the_way_and_the_ends_of_lines_go_before_its_children(
        wide: Household, count: Count) -> None:
    state, view = new_state(wide), new_state(wide).view
    goal = at(view, 0, 2)
    state.expand(goal)
    whole = state.render(count, 10**6)
    assert len(ids(whole)) == 1 + 1 + 1 + 12  # an ancestor shows only the way here
    state.expand(at(view))
    state.expand(at(view, 0))
    state.expand(goal)
    whole = state.render(count, 10**6)
    assert len(ids(whole)) == 1 + 4 + 10 + 12
    narrow = state.render(count, count(whole) * 7 // 10)
    assert len(ids(narrow)) == 3 + 12 and 'does thing 2.11' in narrow
    assert '… 3 more' in narrow and '… 9 more' in narrow
    shorter = state.render(count, count(whole) // 4)
    assert f'n{goal}' in ids(shorter) and 3 < len(ids(shorter)) < 15


def test_five_hundred_children_of_which_one_or_none_is_relevant(wide: Household) -> None:
    with wide.console(NOW) as console:
        ticks = 'memory[2][5]'
        assert console.value(f"{ticks}.search('zebra')") == '[]'
        assert console.library.shown.notes == ['no child of this node matches']
        assert console.library.state.render(estimate, BUDGET) == ''
        assert console.value(f"[n.summary for n in {ticks}.search('number 137', k=1)]") == (
            "['tick number 137']")
        text = console.library.state.render(estimate, BUDGET)
        assert 'tick number 137' in text and text.count('tick') == 1 and '… 499 more' in text
        console.run(f'{ticks}.expand()')
        text = console.library.state.render(estimate, 10**6)
        assert text.count('tick') == 40 and '… 460 more' in text
        assert estimate(console.library.state.render(estimate, BUDGET)) <= BUDGET
        # A slice far behind is shown, not the first forty.
        assert console.value(f'[n.summary for n in {ticks}.expand(300, 303)]') == (
            "['tick number 300', 'tick number 301', 'tick number 302']")
        text = console.library.state.render(estimate, BUDGET)
        assert re.findall(r'tick number (\d+)', text) == ['300', '301', '302']
        assert console.value(f'{ticks}[-1].summary') == 'tick number 499'
        assert console.value(f'len({ticks}[100:200])') == '100'


def test_more_in_a_window_than_is_shown_is_told(wide: Household) -> None:
    with wide.console(NOW) as console:
        assert console.value("len(memory.expand('2025-03-05 12:00:05', '2025-03-05 13:05'))") == (
            '2995')  # the ticks from 13:00 on are not among them
        assert console.library.shown.notes == [
            'that time holds more than these 2995: ask for less of it']
        assert console.value("len(memory.expand('2025-03-05 08:00:00', '2025-03-05 08:00:09'))"
                             ) == '9'
        assert console.library.shown.notes == []


@COUNTS
def test_three_thousand_scenes_under_one_goal(wide: Household, count: Count) -> None:
    state, view = new_state(wide), new_state(wide).view
    scenes = at(view, 2, 4)
    began = time.monotonic()
    state.expand(scenes)
    text = state.render(count, BUDGET)
    assert time.monotonic() - began < 5
    assert count(text) <= BUDGET
    assert f'- n{scenes} ' in text and re.search(r'… (29[5-9]\d) more', text)
    assert 'saw mug 0,' in text


@COUNTS
def test_chinese_texts_count_by_their_tokens(wide: Household, count: Count) -> None:
    state, view = new_state(wide), new_state(wide).view
    state.expand(at(view, 2, 6))
    for budget in (BUDGET, 400, 200):
        text = state.render(count, budget)
        assert count(text) <= budget
        assert f'n{at(view, 2, 6)}' in ids(text)
    assert '机器人' in state.render(count, BUDGET)


def test_three_thousand_scenes_and_an_8k_model(wide: Household) -> None:
    model = ScriptedModel([code('memory[0][1].expand()'), code('memory[2][6].expand()'),
                           code('rows = memory[2][4].expand()', 'print(len(rows))')])
    model.count_tokens = estimate  # type: ignore[method-assign]
    answer = wide.ask('Where was mug 2044?', model)
    assert answer.status is not QueryStatus.ANSWERED
    room = Settings().model.context_tokens - AgentSettings().reply_tokens
    for messages in model.prompts:
        assert estimate('\n'.join(message['content'] for message in messages)) <= room
        state = messages[-1]['content'].partition('\nTree:\n')[2]
        assert estimate(state) <= BUDGET
    assert 'saw mug 0,' in model.last_prompt and '3000' in model.last_prompt


def test_a_node_that_was_collapsed_or_taken_away_leaves_the_way(tmp_path: Path) -> None:
    home = open_memory(tmp_path)
    home.store.robots()
    day, goals = add_day(home, 3, [['a', 'b'], ['c']])
    state = new_state(home)
    state.expand(goals[0])
    state.collapse(goals[0])
    assert ids(state.render(len, 10_000)) == [f'n{day}', f'n{goals[0]}']
    state.expand(goals[1])
    with home.store.node_writer() as writer:
        writer.remove([goals[1]])
    assert ids(state.render(len, 10_000)) == [f'n{day}', f'n{goals[0]}']
    assert state.render(len, 3) == ''
    home.store.close()
