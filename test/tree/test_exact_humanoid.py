"""Events and goals of a real humanoid's log, against what its lines say by a simple reading.

The reading: a run is a course preparing → running → end of one skill with the same goals around it
and the same parameters; a state told again within a minute is a repeat, and one that does not lead
on begins another run. A run belongs to the run of the last goal in its stack that was going on
when it began; where a goal reported only its end, to the first such end within a quarter of an
hour; where it reported nothing, to a goal made for what carries its name, up to a pause of a
quarter of an hour. The end of a goal that was never told is its next beginning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
import re
from typing import Any

import pytest
from raw_logs import DATA, SECOND, grow, lines_of, nodes_of, one_line

LOG = DATA / 'armar7_june.jsonl'
pytestmark = pytest.mark.skipif(not LOG.exists(), reason='the log is not beside the checkout')
ORDER = {'preparing': 1, 'running': 2}
ENDS = ('succeeded', 'failed', 'aborted', 'canceled')
PAUSE = 900 * SECOND
SLACK = 2 * SECOND


@dataclass(eq=False)
class Run:
    """A run, or a goal that nobody reported; `alive` is the last time that it showed life."""

    skill: str
    stack: tuple[str, ...]
    parameters: Any
    start: int
    status: str = ''
    end: int | None = None
    only_end: bool = False
    is_made: bool = False
    alive: int = 0
    parent: Run | None = None
    children: list[Run] = field(default_factory=list)

    def adopt(self, child: Run) -> None:
        child.parent = self
        self.children.append(child)
        above: Run | None = self
        while above is not None:
            above.alive = max(above.alive, child.alive)
            above = above.parent

    def extent(self) -> tuple[int, int]:
        spans = [child.extent() for child in self.children]
        own = (self.start, self.alive if self.end is None or self.is_made else self.end)
        return min([own[0], *(span[0] for span in spans)]), max([own[1], *(
            span[1] for span in spans)])


def read_runs(lines: list[dict[str, Any]]) -> list[Run]:
    """Return the runs that the lines tell, in order of their starts."""
    runs: list[Run] = []
    latest: dict[tuple[Any, ...], Run] = {}
    for line in lines:
        if line['type'] != 'skill':
            continue
        key = line['skill'], tuple(line['goal_stack']), repr(line['parameters'])
        run, status = latest.get(key), line['status']
        leads_on = run is not None and run.status not in ENDS and (
            status in ENDS or ORDER[status] > ORDER[run.status]
            or (status == run.status and line['start'] - run.alive <= 60 * SECOND))
        if run is None or not leads_on:
            run = latest[key] = Run(key[0], key[1], line['parameters'], line['start'],
                                    only_end=status in ENDS)
            runs.append(run)
        run.status, run.alive = status, line['start']
        if status in ENDS:
            run.end = line['start']
    return runs


def nest(runs: list[Run]) -> list[Run]:
    """Give each run its parent; return the goals that had to be made."""
    made: list[Run] = []
    for child in sorted(runs, key=lambda run: (run.start, run.alive)):
        if child.stack:
            goal_for(child.stack, child, runs, made).adopt(child)
    return made


def goal_for(stack: tuple[str, ...], child: Run, runs: list[Run], made: list[Run]) -> Run:
    same = [run for run in runs if (run.skill, run.stack) == (stack[-1], stack[:-1])]
    around = [run for run in same if run.start <= child.start
              and (goes_on(run, child, same) if run.end is None
                   else child.start <= run.end and not run.only_end)]
    if around:
        return around[-1]
    ends = [run for run in same if run.only_end and child.start <= run.start <= child.start + PAUSE]
    begins = [run for run in same if child.start < run.start <= child.start + SLACK]
    if ends or begins:
        return (ends or begins)[0]
    just = [run for run in same
            if run.end is not None and run.end <= child.start <= run.alive + SLACK]
    if just:
        return just[-1]
    mine = [run for run in made if (run.skill, run.stack) == (stack[-1], stack[:-1])
            and child.start - run.alive <= PAUSE]
    if mine:
        return mine[-1]
    goal = Run(stack[-1], stack[:-1], {}, child.start, is_made=True, alive=child.alive)
    made.append(goal)
    if len(stack) > 1:
        goal_for(stack[:-1], child, runs, made).adopt(goal)
    return goal


def goes_on(run: Run, child: Run, same: list[Run]) -> bool:
    again = [other for other in same if run.start < other.start <= child.start
             and other.parameters == run.parameters]
    return not again and child.start - run.alive <= PAUSE


@pytest.fixture(scope='module')
def lines():
    return lines_of(LOG)


@pytest.fixture(scope='module')
def nodes(tmp_path_factory):
    with grow(LOG, tmp_path_factory.mktemp('memory'), 'Europe/Berlin') as store:
        return nodes_of(store)


def runs_among(nodes):
    return [node for node in nodes if any(kind == 'skill_event' for kind, *_ in node.records)]


def test_each_end_in_the_log_is_one_run_and_no_repeat_makes_another(lines, nodes):
    ends = Counter((line['skill'], line['status']) for line in lines
                   if line.get('status') in ENDS)
    grown = Counter((node.name, node.status) for node in runs_among(nodes))
    assert {key: count for key, count in grown.items() if key[1] in ENDS} == ends
    without = Counter((run.skill, run.status) for run in read_runs(lines) if run.end is None)
    assert {key: count for key, count in grown.items() if key[1] not in ENDS} == without


def test_runs_begin_end_and_belong_as_the_lines_say(lines, nodes):
    runs = read_runs(lines)
    made = nest(runs)

    def said() -> Iterator[tuple[Any, ...]]:
        for run in [*runs, *made]:
            start, end = run.extent()
            yield (run.skill, start, end, '' if run.is_made else run.status,
                   (run.parent.skill, run.parent.extent()[0]) if run.parent else None)

    def grown() -> Iterator[tuple[Any, ...]]:
        for node in nodes:
            if node.name:
                yield (node.name, node.start, node.end, node.status,
                       (node.parent.name, node.parent.start) if node.parent else None)

    assert sorted(grown(), key=repr) == sorted(said(), key=repr)
    assert len(made) == 16
    depths = Counter(depth_of(run) for run in runs)
    assert depths == Counter(len(run.stack) for run in runs)  # as deep as its stack is long


def depth_of(run: Run) -> int:
    return 0 if run.parent is None else 1 + depth_of(run.parent)


def test_levels_are_goals_where_there_are_parts_and_events_elsewhere(nodes):
    assert {(node.level, bool(node.children)) for node in nodes} == {(2, False), (3, True)}


def test_every_text_says_how_it_ended(nodes):
    for node in runs_among(nodes):
        assert f' {node.status}' in node.text, node
        if node.status not in ENDS:
            assert f'{node.status}, no end reported' in node.text


def test_durations_are_those_between_the_first_report_and_the_end(lines, nodes):
    told = Counter()
    for run in read_runs(lines):
        seconds = 0 if run.end is None or run.only_end else (run.end - run.start) / SECOND
        if 0.05 <= seconds < 59.9:
            told[run.skill, f'{seconds:.1f} s'] += 1
    found = Counter()
    for node in runs_among(nodes):
        for words in re.findall(rf'{node.status} after (\d+\.\d s)', node.text.partition(': ')[0]):
            found[node.name, words] += 1
    assert found == told


def test_every_word_spoken_is_in_the_text_of_the_run_that_said_it(lines, nodes):
    events = [node for node in nodes if node.level == 2]
    for line in lines:
        if line['type'] != 'speech':
            continue
        holders = [node for node in events if ('utterance', line['start'], line['text'])
                   in node.records]
        assert len(holders) == 1
        assert f'robot said "{one_line(line["text"])}"' in holders[0].text
        speaking = [other for other in lines if other.get('skill') == 'Say'
                    and other['parameters']['text'].strip('"') == line['text'].strip('"')
                    and abs(other['start'] - line['start']) < SECOND]
        if speaking:
            assert holders[0].name == 'Say'


def test_every_thing_and_place_that_a_run_names_is_in_its_text(lines, nodes):
    telling = ('graspObjectName', 'className', 'locationName', 'location', 'shapeName',
               'configuration', 'greetingText')
    checked = Counter()
    by_start = {(node.name, start): node for node in runs_among(nodes)
                for kind, start, _ in node.records if kind == 'skill_event'}
    for run in read_runs(lines):
        text = by_start[run.skill, run.start].text
        for name, value in flat(run.parameters):
            if name in telling and value and '<' not in value and value not in ('from',):
                checked[name] += 1
                assert value in text, (name, value, text)
    assert checked['shapeName'] == 57 and checked['configuration'] > 40
    assert set(checked) == set(telling)


def flat(value: Any, name: str = '') -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from flat(inner, name)
    elif isinstance(value, str):
        yield name, value


def test_what_the_scenes_showed_is_told(nodes):
    seen = [node.text for node in nodes if node.level == 2
            and any(kind == 'scene' for kind, *_ in node.records)]
    assert [text.rpartition('; ')[2] for text in seen] == ['saw soy-milk', 'saw apple-tea']
