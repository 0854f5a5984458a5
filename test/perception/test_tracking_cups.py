"""A film of three like cups that are shuffled by hand: what the tracker makes of it."""

from collections import Counter, defaultdict
from collections.abc import Iterable

import pytest
from red_cups import FILM, RedCups, cups_of, pictures

from emv_ros.perception.detections import Detection, Pixels
from emv_ros.perception.tracking import Tracker

Film = list[tuple[int, int, Pixels, list[Detection]]]

pytestmark = pytest.mark.skipif(not FILM.exists(), reason='the shared data is not here')


@pytest.fixture(scope='module')
def film() -> Film:
    """Number, stamp, pixels and detections of each picture."""
    return [(index, stamp_ns, pixels, RedCups().detect(pixels))
            for index, (stamp_ns, pixels) in enumerate(pictures())]


def followed(film: Iterable) -> tuple[dict[int, Counter[str]], int, int]:
    """Return how often each track was on each cup, and how often a cup changed its track."""
    tracker, tracks, last = Tracker(), defaultdict(Counter), {}
    changes = steps = 0
    for index, stamp_ns, pixels, detections in film:
        numbers = tracker.update(pixels, detections, stamp_ns=stamp_ns)
        assert len(set(numbers)) == len(detections), f'picture {index}'
        for cup, number in zip(cups_of(index, detections), numbers, strict=False):
            steps += cup in last
            changes += last.get(cup, number) != number
            last[cup] = number
            tracks[number][cup] += 1
    return tracks, changes, steps


def purity(tracks: dict[int, Counter[str]]) -> float:
    """Return the share of boxes that are of the cup that their track is mostly on."""
    return (sum(max(cups.values()) for cups in tracks.values()) /
            sum(cups.total() for cups in tracks.values()))


def test_the_detector_sees_the_three_cups(film: Film) -> None:
    counts = Counter(len(detections) for *_, detections in film)
    assert sum(counts.values()) == 100
    assert counts[3] >= 95
    assert set(counts) <= {2, 3, 4}


def test_no_track_wanders_from_cup_to_cup(film: Film) -> None:
    """At ten pictures a second; a swap costs new tracks rather than a mixed one."""
    tracks, changes, steps = followed(film)
    assert purity(tracks) >= 0.99
    assert changes <= 0.15 * steps


@pytest.mark.parametrize('step', [2, 5, 10])
def test_at_fewer_pictures_no_two_cups_of_one_share_a_track(film: Film, step: int) -> None:
    """Between two of them cups change places, which boxes cannot tell; `followed` checks each."""
    tracks, _, steps = followed(film[::step])
    assert purity(tracks) >= 0.9
    assert steps > 20
