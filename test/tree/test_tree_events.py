"""Events (L2), on hand-made streams."""

from life_parts import at, below_days, check_whole, joints, narrate, notice, say, see, shape, span

from emv_ros.records import ImageRecord, Observation, Scene, SceneObject, SceneRelation

DAY = 'day 2024-03-04'


def test_like_scenes_in_a_row_are_one_event_and_a_change_begins_another(store):
    shape(store, [see(0, 'mug'), see(5, 'mug'), see(10, 'mug', 'plate'), see(12, 'mug', 'plate'),
                  see(14, 'mug')])
    assert [(row[0], row[1], row[5]) for row in below_days(store)] == [
        (at(0), at(5), 'saw mug'), (at(10), at(12), 'saw mug, plate'), (at(14), at(14), 'saw mug')]
    check_whole(store)


def test_words_and_pauses_cut(store):
    tree = shape(store, [see(0, 'mug'), see(4, 'mug'), say(5, 'take "it"'), see(6, 'mug'),
                         see(90, 'mug')])
    assert tree == (8, DAY, [(2, 'saw mug'), (2, 'user said "take \'it\'"'), (2, 'saw mug'),
                             (2, 'saw mug')])


def test_states_and_relations_are_told_and_tell_scenes_apart(store):
    def scene(seconds, state):
        return Scene(stamp_ns=at(seconds), objects=(
            SceneObject(name='mug', instance='m1', state=state),
            SceneObject(name='table', instance='t1')),
            relations=(SceneRelation(subject='m1', predicate='on', object='t1'),))
    shape(store, [scene(0, 'full'), scene(1, 'full'), scene(2, 'empty')])
    assert [row[5] for row in below_days(store)] == [
        'saw mug (full), table; mug on table', 'saw mug (empty), table; mug on table']


def test_two_cameras_do_not_cut_one_another(store):
    shape(store, [see(0, 'mug', camera='a'), see(1, 'door', camera='b'),
                  see(2, 'mug', camera='a'), see(3, 'door', camera='b')])
    assert [row[5] for row in below_days(store)] == ['saw mug', 'saw door']


def test_what_is_seen_and_said_in_a_run_without_parts_is_in_its_event(store):
    tree = shape(store, [*span('Say', 0, 10, parameters={'text': 'hello there'}),
                         say(1, 'hello there', 'robot', is_own=True), see(2, 'mug'), see(5, 'mug')])
    assert tree == (8, DAY, [(2, 'Say')])
    assert below_days(store)[0][5] == (
        'Say succeeded after 10.0 s; robot said "hello there"; saw mug')


def test_a_run_in_which_things_change_holds_an_event_for_each(store):
    tree = shape(store, [*span('Scan', 0, 10), see(1, 'mug'), see(2, 'mug'), see(5, 'soy milk')])
    assert tree == (8, DAY, [(3, 'Scan', [(2, 'saw mug'), (2, 'saw soy milk')])])


def test_words_in_a_goal_with_parts_are_an_event_of_it(store):
    tree = shape(store, [*span('Fetch', 0, 30), *span('Go', 1, 10, ['Fetch']), say(15, 'thanks'),
                         *span('Give', 20, 29, ['Fetch'])])
    assert tree == (8, DAY, [(3, 'Fetch', [(2, 'Go'), (2, 'user said "thanks"'), (2, 'Give')])])
    assert below_days(store)[0][5] == (
        'Fetch succeeded after 30.0 s: Go, user said "thanks", Give')


def test_observations_join_what_goes_on_or_stand_alone(store):
    tree = shape(store, [*span('Stir', 0, 10), notice('spoon', 2, 4), notice('mug', 20, 25),
                         narrate('The pan is washed', 30, 60), notice('pan', 35, 70, 'washed')])
    assert tree == (8, DAY, [(2, 'Stir'), (2, 'mug moved'), (2, 'The pan is washed; pan washed')])
    assert below_days(store)[0][5] == 'Stir succeeded after 10.0 s; spoon moved'


def test_parameters_are_told_where_they_say_something(store):
    shape(store, [*span('Grasp', 0, 1, parameters={
        'object': 'Fridge|-02.78|+00.00|+02.22', 'frame': 'root', 'force': 3.5,
        'joints': {'elbow_1': 0.3}, 'target': {'name': 'target', 'header': {'agent': 'Armar7'}}})])
    assert below_days(store)[0][5] == 'Grasp (Fridge) succeeded after 1.0 s'


def test_raw_records_alone_are_an_event_a_stretch(store):
    pictures = [ImageRecord(stamp_ns=at(n), camera='wrist', sha256='0', media_type='image/png',
                            width=1, height=1) for n in range(30)]
    shape(store, [*pictures, *(joints(n / 10) for n in range(297)), joints(500)])
    assert [(row[0], row[1], row[5]) for row in below_days(store)] == [
        (at(0), at(29.6), 'recorded 30 pictures of camera wrist and 297 joint samples'),
        (at(500), at(500), 'recorded 1 joint sample')]


def test_raw_records_beside_skills_are_none_unless_long(store):
    shape(store, [*span('Go', 0, 10), *(joints(n) for n in range(20)), *span('Stop', 20, 21)])
    assert [row[3] for row in below_days(store)] == ['Go', 'Stop']
    shape(store, [joints(n) for n in range(30, 200, 10)])
    assert [row[5] for row in below_days(store)][2] == 'recorded 17 joint samples'


def test_raw_records_that_go_on_make_their_event_longer(store):
    shape(store, [joints(n) for n in range(10)])
    before = below_days(store)
    shape(store, [joints(n) for n in range(10, 20)])
    assert [row[5] for row in (*before, *below_days(store))] == [
        'recorded 10 joint samples', 'recorded 20 joint samples']
    check_whole(store)


def test_hours_cut_long_stretches_of_raw_records(store):
    shape(store, [joints(n * 50) for n in range(100)])
    assert [(row[0], row[1]) for row in below_days(store)] == [
        (at(0), at(3550)), (at(3600), at(4950))]


def test_a_scene_of_nothing_and_a_narration_without_words_have_a_text(store):
    shape(store, [Scene(stamp_ns=at(0), objects=()), see(1, 'mug'), narrate('', 90, 95)])
    assert [row[5] for row in below_days(store)] == ['saw nothing', 'saw mug', 'nothing told']
    check_whole(store)


def test_a_crowded_scene_is_told_in_bounds_with_how_much_is_left_out(store):
    relation = SceneRelation(subject='c1', predicate='in', object='sink')
    shape(store, [Scene(stamp_ns=at(0), objects=tuple(
        SceneObject(name=f'piece of cutlery {n}', instance=f'c{n}') for n in range(200)),
        relations=(relation,))])
    text = below_days(store)[0][5]
    assert len(text) <= 600
    assert text.startswith('saw piece of cutlery 0, piece of cutlery 1, ')
    assert text.endswith(' more; piece of cutlery 1 in sink')


def test_where_a_thing_was_is_told(store):
    shape(store, [Scene(stamp_ns=at(0), objects=(SceneObject(name='mug'),), relations=(
        SceneRelation(subject='mug', predicate='on', object='shelf'),)),
        Observation(stamp_ns=at(100), end_ns=at(101), name='tray', event='placed',
                    location='sink')])
    assert [row[5] for row in below_days(store)] == ['saw mug; mug on shelf',
                                                     'tray placed, at sink']


def test_long_words_are_told_whole_where_there_is_room(store):
    words = ' '.join(f'word{n}' for n in range(50))  # 389 characters
    shape(store, [say(0, words), *span('Say', 100, 110, parameters={'text': words[:340]}),
                  say(101, words[:340], 'robot', is_own=True)])
    assert [row[5] for row in below_days(store)] == [
        f'user said "{words}"', f'Say succeeded after 10.0 s; robot said "{words[:340]}"']


def test_many_words_and_things_in_a_run_leave_room_for_one_another(store):
    words = [' '.join(f'{n}word{m}' for m in range(20)) for n in range(4)]
    shape(store, [*span('Serve', 0, 60, parameters={'object': 'tea'}), see(1, 'mug', 'pot'),
                  *(say(2 + n, text) for n, text in enumerate(words)), notice('cup', 30, 31)])
    text = below_days(store)[0][5]
    assert len(text) <= 600 and text.startswith('Serve (tea) succeeded after 1 min 00 s; user said')
    assert all(f'"{n}word0 {n}word1 ' in text for n in range(4))
    assert text.endswith('; cup moved; saw mug, pot')
