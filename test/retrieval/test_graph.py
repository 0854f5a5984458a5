"""The graph has the edges that its docstring says, and follows the database without a rebuild."""

from __future__ import annotations

import json
from pathlib import Path
import random
import time

from databases import database_url
import numpy as np
import pytest
from small_memories import NOON_NS, add_clip, add_entity, add_node, say, see
from sqlalchemy import delete, select, update

from emv_ros.memory import schema
from emv_ros.memory.cache_file import HEADER_BYTES
from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval import following
from emv_ros.retrieval.graph import EdgeWeights, Graph
from emv_ros.retrieval.scope import Scope
from emv_ros.settings import MemorySettings
from emv_ros.timeline import SECOND_NS

pytestmark = pytest.mark.both_databases

Edges = dict[tuple[str, str], float]
LETTERS = {'node': 'n', 'clip': 'c', 'entity': 'e', 'observation': 'o', 'utterance': 'u',
           'skill_event': 's', 'annotation': 'a'}


def follow(graph: Graph, store: MemoryStore) -> Graph:
    with store.reading() as session:
        graph.refresh(session)
    return graph


def edges(graph: Graph) -> Edges:
    """Return {('o1', 'c1'): weight}; the end that comes first in the alphabet is first."""
    vertices, sources, targets, weights = graph.edge_list()
    names = [f'{LETTERS[kind]}{ref}' for kind, ref in graph.records(vertices)]
    assert len(set(names)) == len(names) == len(graph)
    found: Edges = {}
    for source, target, weight in zip(sources.tolist(), targets.tolist(), weights.tolist(),
                                      strict=True):
        one, other = sorted((names[source], names[target]))
        assert (one, other) not in found
        found[one, other] = weight
    return found


def rebuilt(store: MemoryStore) -> Graph:
    """Return a graph that knows of no file."""
    graph = Graph(store)
    graph._file = store.folder / 'none.bin'
    return follow(graph, store)


def test_edges_are_those_of_the_records(store: MemoryStore) -> None:
    clips = [add_clip(store, 0, 10), add_clip(store, 10, 20), add_clip(store, 5, 6, 'hand')]
    cup = add_entity(store, 'cup')
    first, = see(store, 'cup', clip=clips[0], entity=cup)
    second, = see(store, 'cup', start_s=12, clip=clips[1], entity=cup)
    word, = say(store, 'a cup', start_s=1)
    events = [add_node(store, 2, 0, 10, members=[('observation', first), ('utterance', word)]),
              add_node(store, 2, 10, 20, members=[('observation', second)])]
    day = add_node(store, 4, 0, 20, children=events)
    assert (clips, cup, first, second, word, events, day) == ([1, 2, 3], 1, 1, 2, 1, [1, 2], 3)
    graph = follow(Graph(store), store)
    assert edges(graph) == {
        ('c1', 'o1'): 1.0, ('c2', 'o2'): 1.0, ('e1', 'o1'): 0.5, ('e1', 'o2'): 0.5,
        ('n1', 'o1'): 0.8, ('n1', 'u1'): 0.8, ('n2', 'o2'): 0.8,
        ('n1', 'n3'): 0.3, ('n2', 'n3'): 0.3, ('n1', 'n2'): 0.3, ('c1', 'c2'): 0.3}
    assert len(graph) == 10
    assert graph.vertices('clip', [2, 9])[1] == -1
    assert graph.records(graph.vertices('observation', [2])) == [('observation', 2)]
    assert graph.records(graph.of_documents([1, 99])[:1]) == [('observation', 1)]
    assert graph.of_documents([99, 0]).tolist() == [-1, -1]


def test_an_empty_memory_has_an_empty_graph(store: MemoryStore) -> None:
    graph = follow(Graph(store), store)
    assert (len(graph), edges(graph)) == (0, {})
    assert graph.of_documents([1]).tolist() == [-1]


def test_networkx_gets_the_same_graph(store: MemoryStore) -> None:
    networkx = pytest.importorskip('networkx')
    clip = add_clip(store, 0, 10)
    seen = see(store, 'cup', 'plate', clip=clip)
    made = follow(Graph(store), store).to_networkx()
    assert isinstance(made, networkx.Graph)
    assert dict(made.nodes)['observation', seen[0]]['start_ns'] == NOON_NS
    assert sorted(made.edges(data='weight')) == [
        (('clip', clip), ('observation', ref), 1.0) for ref in seen]


@pytest.mark.parametrize('seed', range(4))
def test_following_ends_as_a_rebuild(store: MemoryStore, seed: int) -> None:
    """Whatever comes, moves and goes; every row is written by another hand than the graph's."""
    chance = random.Random(seed)
    graph = follow(Graph(store), store)
    add_entity(store, 'cup')
    for step in range(50):
        change(store, chance, step)
        if chance.random() < 0.4:
            follow(graph, store)
            assert edges(graph) == edges(rebuilt(store)), step
            assert graph.builds == 1


def change(store: MemoryStore, chance: random.Random, step: int) -> None:
    """Make one change of those that ingest, consolidation and forgetting make."""
    with store.reading() as session:
        nodes, clips, entities, seen = (list(session.scalars(select(table.id))) for table in (
            schema.NodeRow, schema.ClipRow, schema.EntityRow, schema.ObservationRow))
    action = chance.choice(('see', 'see', 'say', 'clip', 'entity', 'node', 'node', 'parent',
                            'remove', 'member', 'associate', 'forget', 'grow', 'drop'))
    if action == 'see':
        see(store, 'cup', start_s=step, clip=chance.choice([*clips, None]),
            entity=chance.choice([*entities, None]))
    elif action == 'say':
        say(store, 'words', start_s=step)
    elif action == 'clip':
        add_clip(store, chance.randrange(100), 200, chance.choice(('head', 'hand')))
    elif action == 'entity':
        add_entity(store, 'thing')
    elif action == 'node':
        add_node(store, chance.randrange(2, 4), chance.randrange(100), 200, chance.choice(
            ('', 'a stretch')), [('observation', ref) for ref in chance.sample(
                seen, min(2, len(seen)))])
    elif nodes and action in ('parent', 'remove', 'member', 'grow'):
        move(store, chance, action, nodes, seen)
    elif seen and action in ('associate', 'forget', 'drop'):
        with store.writing() as session:
            if action == 'associate':
                session.execute(update(schema.ObservationRow).where(
                    schema.ObservationRow.id == chance.choice(seen)).values(
                    entity_id=chance.choice([*entities, None])))
            elif action == 'drop' and clips:
                session.execute(delete(schema.ClipRow).where(
                    schema.ClipRow.id == chance.choice(clips)))
            else:
                gone = chance.choice(seen)
                for table, column in ((schema.DocumentRow, schema.DocumentRow.ref_id),
                                      (schema.NodeMemberRow, schema.NodeMemberRow.ref_id)):
                    session.execute(delete(table).where(
                        table.kind == 'observation', column == gone))
                session.execute(delete(schema.ObservationRow).where(
                    schema.ObservationRow.id == gone))


def move(store: MemoryStore, chance: random.Random, action: str, nodes: list[int],
         seen: list[int]) -> None:
    node = chance.choice(nodes)
    with store.node_writer() as writer:
        if action == 'parent':
            writer.update(node, parent_id=chance.choice(
                [other for other in nodes if other != node] + [None]))
        elif action == 'remove':
            writer.remove([node])
        elif action == 'grow':
            writer.update(node, start_ns=NOON_NS + chance.randrange(100) * SECOND_NS,
                          summary=chance.choice(('', 'grown')))
        elif seen:
            writer.session.merge(schema.NodeMemberRow(
                kind='observation', ref_id=chance.choice(seen), node_id=node))


def test_what_a_scope_hides(store: MemoryStore) -> None:
    say(store, 'one', 'two', 'three')
    say(store, 'other', robot='r2')
    node = add_node(store, 2, 0, 2, members=[('utterance', 1), ('utterance', 2)])
    graph = follow(Graph(store), store)
    with store.reading() as session:
        for window, hubs, units in (
                (Window(), [node], [1, 2, 3, 4]), (Window(robots=('r2',)), [], [4]),
                (Window(start_ns=NOON_NS + SECOND_NS), [node], [2, 3]),
                (Window(end_ns=NOON_NS + SECOND_NS), [node], [1, 4]),
                (Window(before_ns=NOON_NS + 2 * SECOND_NS), [], [1, 2, 4])):
            scope = Scope.of(store, session, window, ['utterance'])
            seen = graph.seen(scope)
            assert (graph.hubs['key'][seen[0]] // 8).tolist() == hubs
            assert sorted(graph.units['key'][seen[1]] // 8) == units
            assert sorted(graph.documents(scope, seen)) == units


@pytest.mark.parametrize('value', [float('nan'), float('inf'), -1.0])
def test_weights_that_are_no_weights(value: float) -> None:
    with pytest.raises(ValueError, match='neighbour'):
        EdgeWeights(neighbour=value)


def test_a_record_is_followed_within_milliseconds(store: MemoryStore) -> None:
    say(store, *(f'text {number}' for number in range(3000)))
    graph = follow(Graph(store), store)
    times = []
    for number in range(20):
        say(store, 'new', start_s=4000 + number)
        begun = time.perf_counter()
        follow(graph, store)
        times.append(time.perf_counter() - begun)
    assert np.median(times) < 0.05
    assert graph.builds == 1


def swapped(data: bytes) -> bytes:
    """Return a file that takes one column for another, which only its header tells."""
    header = json.loads(data[:HEADER_BYTES])
    start, end = (item for item in header['arrays']
                  if item[0] in ('units.start_ns', 'units.end_ns'))
    start[3], end[3] = end[3], start[3]
    return json.dumps(header).encode().ljust(HEADER_BYTES) + data[HEADER_BYTES:]


class TestFile:
    """What is kept beside the database is used if it is good, and never believed."""

    def test_it_opens_and_follows(self, store: MemoryStore, tmp_path: Path) -> None:
        see(store, 'cup', clip=add_clip(store, 0, 9))
        first = follow(Graph(store), store)
        add_node(store, 2, 0, 9, members=[('observation', 1)])
        with MemoryStore(tmp_path, database_url(tmp_path), 'r1') as other:
            second = follow(Graph(other), other)
            assert second.builds == 0
            assert edges(second) == edges(follow(first, store)) == edges(rebuilt(store))

    @pytest.mark.parametrize('damage', [
        lambda data: data[:-5], lambda data: b'', lambda data: b'not a file of ours' * 500,
        lambda data: data[:-9] + bytes([data[-9] ^ 255]) + data[-8:], lambda data: data[4096:],
        lambda data: data.replace(b'graph 1', b'graph 0', 1), lambda data: swapped(data)])
    def test_a_damaged_one_is_noticed(self, store: MemoryStore, damage: object,
                                      caplog: pytest.LogCaptureFixture) -> None:
        see(store, 'cup', clip=add_clip(store, 0, 9))
        file = follow(Graph(store), store)._file
        file.write_bytes(damage(file.read_bytes()))  # type: ignore[operator]
        again = follow(Graph(store), store)
        assert again.builds == 1
        assert 'made anew' in caplog.text
        assert edges(again) == {('c1', 'o1'): 1.0}
        assert follow(Graph(store), store).builds == 0

    def test_one_that_is_overwritten_in_use_is_not_read_again(self, store: MemoryStore) -> None:
        see(store, 'cup', clip=add_clip(store, 0, 9))
        file = follow(Graph(store), store)._file
        opened = follow(Graph(store), store)
        assert opened.builds == 0
        with file.open('r+b') as stream:
            stream.write(bytes(file.stat().st_size))
        assert edges(opened) == {('c1', 'o1'): 1.0}

    def test_one_of_another_memory_is_noticed(self, store: MemoryStore, tmp_path: Path,
                                              caplog: pytest.LogCaptureFixture) -> None:
        see(store, 'cup', clip=add_clip(store, 0, 9))
        file = follow(Graph(store), store)._file
        with MemoryStore.open(MemorySettings(robot='r1'), tmp_path / 'other') as other:
            see(other, 'cup', 'plate', clip=add_clip(other, 0, 9))
            mine = Graph(other)
            mine._file.parent.mkdir()
            mine._file.write_bytes(file.read_bytes())
            assert follow(mine, other).builds == 1
            assert 'of another one' in caplog.text
            assert len(mine) == 3

    def test_one_that_the_journal_left_behind(self, store: MemoryStore) -> None:
        say(store, 'one')
        graph = follow(Graph(store), store)
        say(store, 'two')
        with store.writing() as session:  # as its trigger does after many changes
            last = session.scalars(select(schema.ChangeRow.id).order_by(
                schema.ChangeRow.id.desc())).first()
            session.execute(delete(schema.ChangeRow).where(schema.ChangeRow.id < last))
        assert follow(graph, store).builds == 2
        assert len(graph) == 2

    def test_it_is_written_after_many_changes(self, store: MemoryStore,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(following, 'SAVED_AFTER', 10)
        graph = follow(Graph(store), store)
        before = graph._file.read_bytes()
        say(store, *map(str, range(20)))
        assert follow(graph, store)._file.read_bytes() != before

    def test_a_folder_that_cannot_be_written(self, store: MemoryStore,
                                             caplog: pytest.LogCaptureFixture) -> None:
        (store.folder / 'cache').write_text('in the way')
        say(store, 'one')
        assert len(follow(Graph(store), store)) == 1
        assert 'not saved' in caplog.text
