"""Windows, instants, names as people write them, words with wildcards, the time of a question."""

from collections.abc import Sequence

from memory_parts import at, report, said
import pytest

from emv_ros.memory import queries
from emv_ros.memory.names import match_names, spellings, stem
from emv_ros.memory.queries import Page, Window
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Annotation, Node, Scene, SceneObject, Status

pytestmark = pytest.mark.both_databases


def window(start: float | None = None, end: float | None = None,
           before: float | None = None) -> Window:
    start_ns, end_ns, before_ns = (
        None if seconds is None else at(seconds) for seconds in (start, end, before))
    return Window(start_ns=start_ns, end_ns=end_ns, before_ns=before_ns)


# A span from 10 to 20 s and an instant at 10 s: the window, whether each is in it.
WINDOWS = [
    (window(), True, True),
    (window(12, 13), True, False),  # the span contains the window
    (window(0, 30), True, True),
    (window(10, 11), True, True),  # it touches the start from inside
    (window(19, 20), True, False),  # and the end
    (window(15, 25), True, False),
    (window(5, 15), True, True),
    (window(5, 10), False, False),  # half-open: the window ends before 10 s
    (window(20, 25), False, False),  # and so does the span before 20 s
    (window(10, 10), True, True),  # an instant
    (window(15, 15), True, False),
    (window(20, 20), False, False),
    (window(9.9, None), True, True),
    (window(None, 10.1), True, True),
    (window(13, 12), False, False),
]


@pytest.mark.parametrize(('asked', 'finds_span', 'finds_instant'), WINDOWS)
def test_windows_find_spans_and_instants(
        memory: MemoryStore, asked: Window, finds_span: bool, finds_instant: bool) -> None:
    memory.add_many([
        Annotation(stamp_ns=at(10), end_ns=at(20), kind='goal', text='span'),
        Annotation(stamp_ns=at(10), end_ns=at(10), kind='goal', text='instant'),
        said(10, 'span', end_ns=at(20)), said(10, 'instant'),
        report(10, 'succeeded', skill='span', until=20),
        report(10, 'succeeded', skill='instant')])
    with memory.node_writer() as writer:
        for name, end in (('span', 20), ('instant', 10)):
            writer.add(Node(robot='robot', level=2, start_ns=at(10), end_ns=at(end), summary=name))
    wanted = {name for name, is_found in (('span', finds_span), ('instant', finds_instant))
              if is_found}
    assert {item.text for item in queries.annotations(memory, asked)} == wanted
    assert {item.text for item in queries.utterances(memory, asked)} == wanted
    assert {item.skill for item in queries.skill_events(memory, asked)} == wanted
    assert {item.summary for item in queries.nodes(memory, asked)} == wanted


def test_a_run_without_an_end_reaches_to_its_last_report(memory: MemoryStore) -> None:
    memory.add_many([report(10, 'running'), report(20, 'running')])
    for asked, count in ((window(15, 16), 1), (window(20, 21), 1), (window(21, 22), 0)):
        assert len(queries.skill_events(memory, asked)) == count


def test_robots(memory: MemoryStore) -> None:
    memory.add_many([said(0, 'a', robot='a'), said(1, 'b', robot='b')])
    for robots, texts in (((), 'ab'), (('b',), 'b'), (('a', 'b'), 'ab'), (('nobody',), '')):
        found = queries.utterances(memory, Window(robots=robots))
        assert ''.join(item.text for item in found) == texts


def test_pages_are_cut_after_sifting(memory: MemoryStore) -> None:
    memory.add_many([
        report(number, status, skill=f'S{number}', goal_stack=('Goal',) if number % 2 else ())
        for number, status in enumerate(('failed', 'succeeded') * 3)])

    def skills(page: Page = queries.EVERY, **options: object) -> list[str]:
        return [event.skill for event in queries.skill_events(
            memory, page=page, **options)]  # type: ignore[arg-type]

    assert skills(Page(limit=2)) == ['S0', 'S1']
    assert skills(Page(limit=2, newest_first=True)) == ['S5', 'S4']
    assert skills(Page(limit=2, offset=1), status=['failed']) == ['S2', 'S4']
    assert skills(Page(limit=2), top_only=True) == ['S0', 'S2']
    assert skills(Page(limit=1, newest_first=True), goal='goal') == ['S5']
    for asked, told, count in (({}, ['S1', 'S2'], 6), ({'status': ['failed']}, ['S2', 'S4'], 3),
                               ({'goal': 'goal'}, ['S3', 'S5'], 3), ({'skill': 'S9'}, [], 0)):
        events, total = queries.skill_events_page(
            memory, page=Page(limit=2, offset=1), **asked)
        assert ([event.skill for event in events], total) == (told, count)


class TestTimeOfTheQuestion:

    def test_a_run_is_shown_as_it_stood(self, memory: MemoryStore) -> None:
        memory.add_many([report(0, 'preparing'), report(5, 'running', narration='reaching'),
                         report(9, 'failed', narration='it slipped')])
        seen = [(item.status, item.end_ns, item.narration, len(item.transitions))
                for before in (0, 1, 5, 6, 9, 9.1)
                for item in queries.skill_events(memory, window(before=before))]
        assert seen == [
            (Status.PREPARING, None, '', 1), (Status.PREPARING, None, '', 1),
            (Status.RUNNING, None, '', 2), (Status.RUNNING, None, '', 2),
            (Status.FAILED, at(9), 'it slipped', 3)]

    def test_a_span_told_at_once_does_not_tell_its_end(self, memory: MemoryStore) -> None:
        memory.add(report(0, 'failed', until=9, narration='it slipped'))
        event, = queries.skill_events(memory, window(before=5))
        assert (event.status, event.end_ns, event.narration) == (Status.RUNNING, None, '')
        assert event.transitions == (('running', at(0)),)
        assert event.last_report_ns == at(0)

    def test_words_that_came_later_find_nothing(self, memory: MemoryStore) -> None:
        memory.add_many([report(0, 'running'), report(9, 'failed', narration='it slipped')])
        for text, before, count in (('grasp', 5, 1), ('running', 5, 1), ('failed', 5, 0),
                                    ('slipped', 5, 0), ('slipped', 10, 1)):
            assert len(queries.skill_events(memory, window(before=before), text=text)) == count
        assert queries.skill_events(memory, window(before=5), status=['failed']) == []
        assert len(queries.skill_events(memory, window(before=5), status=['running'])) == 1

    def test_what_is_said_later_is_absent(self, memory: MemoryStore) -> None:
        memory.add_many([said(0, 'a'), said(5, 'b')])
        assert [item.text for item in queries.utterances(memory, window(before=5))] == ['a']


@pytest.mark.parametrize(('asked', 'found'), [
    ('ReceiveObjectFromHuman', ['ReceiveObjectFromHuman']),
    ('receive object from human', ['ReceiveObjectFromHuman']),
    ('receive_objects', ['ReceiveObjectFromHuman']),
    ('human', ['HandOverToHuman', 'ReceiveObjectFromHuman']),
    ('hand', ['HandOverToHuman']),  # whole words: not 'handle'
    ('handle', ['handle_door']),
    ('cups', ['red cup']), ('cup', ['red cup']), ('RED CUP', ['red cup']),
    ('dish', ['dishes']), ('knife', ['sharp knives']), ('tomato', ['tomatoes']),
    ('shoe', ['shoes']), ('berry', ['berries']), ('glass', ['glass']), ('glasses', ['glass']),
    ('Käse', ['käse']), ('杯子', ['杯子']),
    ('spoon', []), ('', []), ('?!', []), ('%', [])])
def test_names_as_people_write_them(asked: str, found: Sequence[str]) -> None:
    known = ['HandOverToHuman', 'ReceiveObjectFromHuman', 'handle_door', 'red cup', 'dishes',
             'sharp knives', 'tomatoes', 'shoes', 'berries', 'glass', 'käse', '杯子', '%d']
    assert match_names(asked, known) == found


@pytest.mark.parametrize(('word', 'singular'), [
    ('boxes', 'box'), ('dishes', 'dish'), ('cups', 'cup'), ('gas', 'gas'), ('glass', 'glass'),
    ('potatoes', 'potato'), ('shoes', 'shoe'), ('Keys', 'key')])
def test_plurals(word: str, singular: str) -> None:
    assert stem(word) == singular


@pytest.mark.parametrize(('word', 'other'), [
    ('Colour', 'color'), ('colors', 'colours'), ('programme', 'program'), ('center', 'centre'),
    ('organise', 'organize'), ('greys', 'grays'), ('tire', 'tyre'), ('hour', ''), ('four', ''),
    ('42', ''), ('', '')])
def test_spellings(word: str, other: str) -> None:
    assert spellings(word) == [word.lower(), *filter(None, (other,))]


@pytest.mark.parametrize(('text', 'found'), [
    ('100%', ['100% sure', '1000']), ('%', ['100% sure']), ('_', ['a_b']), ('a_b', ['a_b']),
    ('SURE', ['100% sure']), ('\\', ['C:\\temp']), ('cups', ['two cups', 'a cup']),
    ('leaves', ['the leaves']), ('two cup', ['two cups']), ("it's", ["it's"]), ('nothing', [])])
def test_words_are_no_patterns(memory: MemoryStore, text: str, found: list[str]) -> None:
    memory.add_many([said(number, words) for number, words in enumerate((
        '100% sure', 'a_b', 'C:\\temp', 'two cups', 'a cup', "it's", 'the leaves', '1000'))])
    assert [item.text for item in queries.utterances(memory, text=text)] == found


def test_speakers(memory: MemoryStore) -> None:
    memory.add_many([said(0, 'a'), said(1, 'b', is_own=True)])
    for speaker, texts in (('User', 'ab'), ('robot', 'b'), ('me', 'b'), ('nobody', '')):
        assert ''.join(
            item.text for item in queries.utterances(memory, speaker=speaker)) == texts


def test_sightings_and_scenes(memory: MemoryStore) -> None:
    memory.add_many([Scene(stamp_ns=at(number), objects=(
        SceneObject(name='cup', instance=f'cup_{number}'), SceneObject(name='table')))
        for number in range(3)])
    assert [(item.stamp_ns, item.object.instance) for item in queries.sightings(
        memory, window(1), name='cups')] == [(at(1), 'cup_1'), (at(2), 'cup_2')]
    assert [item.scene_id for item in queries.sightings(memory, instance='cup_2')] == [3]
    found = queries.scenes(memory, ids=[2])
    assert [[item.name for item in scene.objects] for scene in found] == [['cup', 'table']]
    assert queries.known_names(memory)['objects'] == ['cup', 'table']
    assert queries.known_names(memory, before_ns=at(0))['objects'] == []
