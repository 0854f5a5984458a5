"""Two like mugs over three days: which one is meant, by its biography, and what names alone do."""

from __future__ import annotations

from households import Household, ScriptedModel, code
import pytest

from emv_ros.agent.answers import QueryStatus
from emv_ros.agent.asked import description_in
from emv_ros.memory import schema
from emv_ros.records import Observation, Scene, SceneObject

NOW = '2025-03-06 12:00'
QUESTION = 'Did the mug I drank from end up in the sink?'
HANDED = 'taken from table, held by person; during BringCoffee: hand over mug'


def entity(home: Household, name: str = 'mug') -> int:
    with home.store.writing() as session:
        row = schema.EntityRow(robot_id=home.store.robot_id(session, 'r1'), name=name,
                               is_person=False, attributes={})
        session.add(row)
        session.flush()
        return int(row.id)


def seen(home: Household, start: str, end: str, entity_id: int | None, event: str,
         place: str) -> int:
    return home.store.add(Observation(
        stamp_ns=home.at(f'2025-03-{start}'), end_ns=home.at(f'2025-03-{end}'), name='mug',
        entity_id=entity_id, event=event, location=place, text='white', made_by='rule'))


def two_mugs(home: Household, is_by_name: bool = False) -> tuple[list[str], list[str]]:
    """Fill a memory; return the ids of the observations of the mug that was used, and the other."""
    used = entity(home)
    other = used if is_by_name else entity(home)
    home.run('BringCoffee', '2025-03-04 08:10', '2025-03-04 08:15')
    home.run('HandOver', '2025-03-04 08:14', '2025-03-04 08:14:30', stack=['BringCoffee'],
             parameters={'object': 'mug'})
    first = [seen(home, '04 08:13:50', '04 08:14:20', used, HANDED, ''),
             seen(home, '04 08:15', '04 08:15:30', used, '', 'on table'),
             seen(home, '04 18:25', '04 18:25:30', used, 'put into sink', 'in sink')]
    second = [seen(home, f'{day} {hour}', f'{day} {hour}:30', other, '', 'on shelf')
              for day, hour in (('03', '09:00'), ('04', '08:14'), ('04', '18:30'), ('05', '19:00'))]
    return [f'o{key}' for key in first], [f'o{key}' for key in second]


def test_the_mug_that_was_drunk_from_ended_in_the_sink(home: Household) -> None:
    used, _ = two_mugs(home)
    with home.console(NOW) as console:
        assert console.value("[r.id for r in seen('mug that I drank from')]") == str(used)
        assert console.value("seen('mug that I drank from')[-1].place") == 'in sink'
        notes = ' '.join(console.library.shown.notes)
        assert "of 2 like things 'e1' is meant, by o1" in notes
        assert set(console.library.shown.links) == {used[0]}
        assert console.value("len(seen('mug'))") == '7'
        assert console.value("[r.id for r in seen('mug', instance='e2')][:1]") == "['o4']"


def test_by_names_alone_the_mugs_are_one_and_the_last_place_is_wrong(home: Household) -> None:
    two_mugs(home, is_by_name=True)
    with home.console(NOW) as console:
        assert console.value("len(seen('mug that I drank from'))") == '7'
        assert console.value("seen('mug that I drank from')[-1].place") == 'on shelf'
        assert 'is meant' not in ' '.join(console.library.shown.notes)


def test_the_answer_rests_on_the_right_mug(home: Household) -> None:
    used, _ = two_mugs(home)
    model = ScriptedModel([code(
        "rows = seen('mug that I drank from')",
        "answer(f'Yes, it was {rows[-1].place} on {rows[-1].when}.', evidence=[rows[-1]])")])
    answer = home.ask(QUESTION, model, NOW)
    assert answer.status is QueryStatus.ANSWERED, answer
    assert 'in sink' in answer.answer
    assert {item.id for item in answer.evidence} <= set(used)


@pytest.mark.parametrize(('question', 'described'), [
    (QUESTION, 'mug I drank from'), ('Where is the mug that you handed me?', 'mug that you handed'),
    ('Is the Mug Clara used on the table?', 'Mug Clara used'),
    ('Where is the mug I drank my coffee from now?', 'mug I drank my coffee from'),
    ('Where is the mug?', ''), ('Is the mug on the shelf?', '')])
def test_what_describes_a_thing_ends_with_its_clause(question: str, described: str) -> None:
    assert description_in(question, 'mug') == described


def test_evidence_of_the_wrong_mug_is_refused_and_of_the_right_one_is_not(home: Household) -> None:
    used, other = two_mugs(home)
    model = ScriptedModel([code(
        f"search('mug')\nanswer('No, it was on the shelf.', evidence=[{other[-1]!r}])"),
        code(f"answer('Yes, it was in the sink.', evidence=[{used[-1]!r}])")])
    answer = home.ask(QUESTION, model, NOW)
    assert (answer.status, answer.answer) == (QueryStatus.ANSWERED, 'Yes, it was in the sink.')
    assert f"{other[-1]} is of e2, but 'mug I drank from' is e1" in model.last_prompt
    assert {item.id for item in answer.evidence} <= set(used)


def test_that_nothing_is_recorded_of_it_is_doubted_with_its_places(home: Household) -> None:
    used, _ = two_mugs(home)
    model = ScriptedModel([*[code("not_recorded('nothing tells it')")] * 2,
                           code(f"answer('Yes, in the sink.', evidence=[{used[-1]!r}])")])
    answer = home.ask(QUESTION, model, NOW)
    assert (answer.status, answer.answer) == (QueryStatus.ANSWERED, 'Yes, in the sink.')
    assert 'These records may tell it' in model.last_prompt and used[-1] in model.last_prompt


def test_what_is_known_of_it_makes_no_no_of_what_was_not_found(home: Household) -> None:
    two_mugs(home)
    answer = home.ask(QUESTION, ScriptedModel([code("not_recorded('no')")] * 2), NOW)
    assert answer.status is QueryStatus.NOT_RECORDED


def test_by_names_alone_the_wrong_mug_passes_for_the_right_one(home: Household) -> None:
    _, other = two_mugs(home, is_by_name=True)
    answers = [home.ask(QUESTION, ScriptedModel([code(
        f"search('mug')\nanswer('No, it was on the shelf.', evidence=[{key!r}])")] * 2), NOW)
        for key in other[-1:]]
    assert [item.answer for item in answers] == ['No, it was on the shelf.']


@pytest.mark.parametrize(('described', 'count', 'last'), [
    ('mug that I used', 3, 'in sink'), ('mug that you handed me', 3, 'in sink'),
    ('mug that is in the sink', 3, 'in sink'), ('mug from the shelf', 4, 'on shelf')])
def test_other_words_for_one_of_them(home: Household, described: str, count: int,
                                     last: str) -> None:
    two_mugs(home)
    with home.console(NOW) as console:
        assert console.lines(f'rows = seen({described!r})\nprint(len(rows), rows[-1].place)') == [
            f'{count} {last}']


def test_where_both_were_used_it_says_that_it_cannot_tell(home: Household) -> None:
    two_mugs(home)
    seen(home, '05 09:00', '05 09:00:30', 2, 'held by person', '')
    with home.console(NOW) as console:
        assert console.value("len(seen('mug that I drank from'))") == '8'
        assert 'not told: e1, e2' in console.library.shown.notes[-1]


def test_what_was_used_later_than_the_question_is_not_known(home: Household) -> None:
    two_mugs(home)
    with home.console('2025-03-04 08:14:10') as console:  # while it is handed over
        rows = console.value("[(r.id, r.text, r.place) for r in seen('mug')]")
    assert rows == "[('o4', 'white', 'on shelf'), ('o1', '', ''), ('o5', '', '')]"


def test_a_search_tells_no_more_than_was_known_then(home: Household) -> None:
    two_mugs(home)
    with home.console('2025-03-04 08:14:10') as console:
        told = '\n'.join(console.lines("search('mug held by person BringCoffee')"))
        assert ' mug e1' in told and 'held by' not in told and 'sink' not in told
    with home.console(NOW) as console:
        assert 'held by person' in '\n'.join(console.lines("search('mug held by person')"))


def test_the_biography_of_each_of_a_name(home: Household) -> None:
    used, other = two_mugs(home)
    with home.store.writing() as session:
        session.add(schema.SeparationRow(first_id=1, second_id=5, shared_frames=9))
    with home.console(NOW) as console:
        lines = console.lines("for line in biography('mug'): print(line)")
        assert [line.split()[0] for line in lines] == [*other, *used]  # by when it was first seen
        assert ' e2 ' in lines[0] and ' e1 ' in lines[-1]
        assert 'beside e2: e1 a different one, seen apart' in console.library.shown.notes
        assert console.value("len(biography('e1'))") == '3'
        assert console.value("len(biography('o5'))") == '4'


def test_a_note_says_who_knows_that_two_are_different(home: Household) -> None:
    two_mugs(home)
    with home.console(NOW) as console:
        console.lines("for line in biography('mug'): print(line)")
        assert 'beside e2: e1 unresolved' in console.library.shown.notes
    with home.store.writing() as session:
        session.add(schema.VerdictRow(first_id=1, second_id=5, verdict='different', author='Anna',
                                      stamp_ns=0))
    with home.console(NOW) as console:
        console.lines("for line in biography('mug'): print(line)")
        assert 'beside e2: e1 a different one, as a person told' in console.library.shown.notes


def test_a_merged_id_still_answers(home: Household) -> None:
    two_mugs(home)
    gone = entity(home)
    with home.store.writing() as session:
        session.get_one(schema.EntityRow, gone).merged_into = 1
    with home.console(NOW) as console:
        assert console.value(f"len(biography('e{gone}'))") == '3'


def test_boxes_of_an_observation_are_told_by_it_alone(home: Household) -> None:
    key = seen(home, '04 08:00', '04 08:00:30', None, '', 'on table')
    for second in range(5):
        home.store.add(Scene(stamp_ns=home.at(f'2025-03-04 08:00:0{second}'), objects=(
            SceneObject(name='mug', bbox=(0, 0, 9, 9)), SceneObject(name='plate'))))
    with home.store.writing() as session:
        for row in session.query(schema.SceneObjectRow).filter_by(name='mug'):
            row.observation_id = key
    with home.console(NOW) as console:
        assert console.value("[(r.id, r.place) for r in seen('mug')]") == "[('o1', 'on table')]"
        assert console.value("[r.count for r in seen('plate')]") == '[5]'
