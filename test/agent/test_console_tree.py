"""The tree in the console: indexed, expanded, collapsed, searched; what the state shows."""

from households import Household
import pytest

from emv_ros.records import Node

NOW = '2025-03-10 12:00'


@pytest.fixture
def tree(home: Household) -> Household:
    """A root over two days; the second holds an hour with three nodes and 500 ticks."""
    def node(level: int, start: str, end: str, summary: str) -> Node:
        return Node(robot='r1', level=level, start_ns=home.at(start), end_ns=home.at(end),
                    summary=summary)

    with home.store.node_writer() as writer:
        parts = [writer.add(node(2, f'2025-03-05 10:{first}:00', f'2025-03-05 10:{last}:00', text))
                 for first, last, text in (('00', '10', 'sweeps the floor'),
                                           ('10', '20', 'fills the kettle'),
                                           ('20', '59', 'rests'))]
        ticks = [writer.add(node(2, f'2025-03-05 11:{at // 60:02d}:{at % 60:02d}',
                                 f'2025-03-05 11:{at // 60:02d}:{at % 60:02d}',
                                 f'tick number {at}'))
                 for at in range(500)]
        hour = writer.add(node(3, '2025-03-05 10:00', '2025-03-05 11:00', 'an hour of housework'),
                          children=parts)
        waiting = writer.add(node(3, '2025-03-05 11:00', '2025-03-05 12:00', 'waiting'),
                             children=ticks)
        first = writer.add(node(8, '2025-03-04 09:00', '2025-03-04 10:00', 'a quiet day'))
        second = writer.add(node(8, '2025-03-05 10:00', '2025-03-05 12:00', 'a busy day'),
                            children=[hour, waiting])
        writer.add(node(9, '2025-03-04 09:00', '2025-03-05 12:00', 'two days'),
                   children=[first, second])
    return home


def state(console) -> list[str]:  # type: ignore[no-untyped-def]
    text = console.library.state.render(lambda text: len(text) // 4, 10_000)
    return [line.strip().split(' ', 1)[0] + ' ' + line.split(' ')[-1] for line in text.splitlines()]


def test_nodes_are_sequences_of_their_children(tree: Household) -> None:
    with tree.console(NOW) as console:
        for expression, printed in (
                ('len(memory)', '2'), ('len(memory.children)', '2'), ('len(memory[-1])', '2'),
                ('memory[-1][0].summary', 'an hour of housework'),
                ('memory.children[1].children[0].name', ''),
                ('[n.summary for n in memory]', "['a quiet day', 'a busy day']"),
                ('[n.level for n in memory[0:1]]', '[8]'),
                ('[n.summary for n in memory[-1][0][-2:]]', "['fills the kettle', 'rests']"),
                ('[i for i, n in enumerate(memory)]', '[0, 1]'),
                ('[n.day for n in reversed(list(memory))]', "['2025-03-05', '2025-03-04']"),
                ('[n.summary for n in sorted(memory, key=lambda n: n.summary)][0]', 'a busy day'),
                ('len(memory[1][1])', '500')):
            assert console.value(expression) == printed, expression


def test_a_last_expression_is_printed(tree: Household) -> None:
    with tree.console(NOW) as console:
        assert console.lines('memory[0]') == ['n506 2025-03-04 09:00:00 to 10:00:00 a quiet day']
        assert console.lines('memory.children') == [
            'n506 2025-03-04 09:00:00 to 10:00:00 a quiet day',
            'n507 2025-03-05 10:00:00 to 12:00:00 a busy day']
        assert console.lines('events()') == ['no rows']


def test_expanding_by_index_slice_and_time(tree: Household) -> None:
    with tree.console(NOW) as console:
        assert state(console) == []  # nothing was looked at
        assert console.value('[n.summary for n in memory.expand(-1)]') == "['a busy day']"
        assert len(state(console)) == 5  # root, two days, two parts of the last
        assert console.value('len(memory.expand(0, 1))') == '1'
        assert 'ValueError: there is no child 2: this node has 2' in console.run(
            'memory.expand(2)').error
        assert 'there is no child' in console.run('memory.expand(10**30)').error
        hour = 'memory[-1][0]'
        assert console.value(f"[n.summary for n in {hour}.expand('10:10', '10:20')]") == (
            "['fills the kettle']")
        assert console.value(
            f'[n.summary for n in {hour}.expand(datetime(2025, 3, 5, 10, 15))]') == (
            "['fills the kettle']")
        assert console.value('[n.summary for n in memory.expand(date(2025, 3, 4))]') == (
            "['a quiet day']")
        assert console.value("[n.summary for n in memory.expand('March 5')]") == "['a busy day']"
        assert console.value("[n.summary for n in memory.expand('2025-03-05 10:10',"
                             " '2025-03-05 10:20')]") == "['fills the kettle']"
        assert console.value("memory.expand('2025-03-07')") == '[]'
        for words in ('yesterday', 'today', 'this morning', 'last 3 days'):  # seen from now
            assert console.value(f'memory.expand({words!r})') == '[]'
        assert console.library.shown.notes == ['nothing is recorded in that time']


def test_the_window_within_a_node_shows_only_what_lies_in_it(tree: Household) -> None:
    with tree.console(NOW) as console:
        for command in ("memory[-1][0].expand('10:10', '10:20')",
                        "memory.expand('2025-03-05 10:10', '2025-03-05 10:20')"):
            console.run(f'memory.collapse()\n{command}')
            text = console.library.state.render(lambda text: len(text) // 4, 10_000)
            assert 'fills the kettle' in text and 'sweeps' not in text and 'tick' not in text
            assert 'a quiet day' not in text  # only the way to it is open
            assert '… 2 more' in text


def test_searching_500_children(tree: Household) -> None:
    with tree.console(NOW) as console:
        assert console.value("[n.summary for n in memory[1][1].search('zebra')]") == '[]'
        assert console.library.shown.notes == ['no child of this node matches']
        assert state(console) == []  # nothing matched, nothing was expanded
        assert console.value("[n.summary for n in memory[1][1].search('number 137', k=1)]") == (
            "['tick number 137']")
        console.run('memory.expand()\nmemory[1].expand()')
        text = console.library.state.render(lambda text: len(text) // 4, 10_000)
        assert 'tick number 137' in text and 'tick number 138' not in text


def test_collapsing(tree: Household) -> None:
    with tree.console(NOW) as console:
        console.run('memory.expand()\nmemory[1].expand()\nmemory[1][0].expand()')
        assert len(state(console)) == 1 + 2 + 2 + 3
        console.run('memory[1].collapse()')
        assert len(state(console)) == 1 + 2
        console.run('memory[1].expand()\nmemory[1][0].expand()\nmemory[1][1].expand()')
        console.run('memory.collapse_all_but(memory[1][0])')
        assert len(state(console)) == 1 + 2 + 2 + 3


def test_the_state_keeps_to_its_budget(tree: Household) -> None:
    def tokens(text: str) -> int:
        return len(text) // 4

    with tree.console(NOW) as console:
        console.run('for node in [memory, memory[1], memory[1][1], memory[1][0]]:\n'
                    '    node.expand()')
        for budget in (2000, 300, 100, 40):
            text = console.library.state.render(tokens, budget)
            assert tokens(text) <= budget, budget
            assert text.startswith('- n508')
            # What was expanded last is what is left.
            assert ('tick' in text, 'sweeps' in text) == (budget == 2000, budget >= 100)
            assert text.endswith('(the rest is collapsed to save room)') == (budget in (300, 100))
        assert text == '- n508\n  - n507\n    - n504'  # at last the way alone


def test_nodes_that_a_consolidation_took_away_are_told(tree: Household) -> None:
    with tree.console(NOW) as console:
        console.run('memory.expand()\nday = memory[1]\nday.expand()\nday[0].expand()')
        with tree.store.node_writer() as writer:
            writer.remove([507])
        assert 'two days' in console.library.state.render(len, 10_000)
        assert console.run('day.expand()').error == (
            'ValueError: there is no node n507 in this memory')
        console.run('memory.collapse()')


def test_the_records_of_a_node(home: Household) -> None:
    home.run('Sweep', '2025-03-09 14:00', '2025-03-09 14:05')
    home.say('2025-03-09 14:01', 'thank you')
    home.consolidate()
    with home.console(NOW) as console:
        assert console.value('sorted([r.kind for r in memory.records()])') == (
            "['skill_event', 'utterance']")
        assert console.value('[n.day for n in days()]') == "['2025-03-09']"
        assert console.value("days(when='March 8')") == '[]'
