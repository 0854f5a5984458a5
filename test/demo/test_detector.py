"""The shipped detector sees what the simulator put into its pictures, and says what it is."""

import hashlib
from pathlib import Path
import sys

import pytest

from emv_ros.perception.detections import PERSON
from emv_ros.perception.detectors import make_detector
from emv_ros.settings import PerceptionSettings

CHECKOUT = Path(__file__).resolve().parents[2]
MODEL = CHECKOUT / 'emv_ros/demo/detector/household.onnx'
EVERY = 12  # of the recording's pictures one in so many is judged


@pytest.fixture(scope='module')
def judgement():
    """Return what the detector made of pictures of the recording."""
    sys.path.insert(0, str(CHECKOUT / 'scripts'))
    try:
        from household.judging import judge
        from household.training import seen_in
        from make_demo_recording import simulate
    finally:
        sys.path.remove(str(CHECKOUT / 'scripts'))
    return judge(MODEL, [(sight.jpeg, seen_in(sight.objects))
                         for sight in simulate().sights[::EVERY]])


def test_it_is_small_and_its_report_is_of_this_file():
    content = MODEL.read_bytes()
    assert len(content) <= 3_000_000
    assert hashlib.sha256(content).hexdigest() in MODEL.with_name('README.md').read_text('utf-8')


def test_the_setting_household_means_it():
    detector = make_detector(PerceptionSettings(detector='household'))
    assert detector is not None
    assert detector.name == MODEL.name


def test_it_finds_what_is_there_and_little_else(judgement):
    there, right, claimed = judgement.counts()
    assert there > 500
    assert right / there > 0.93
    assert right / claimed > 0.93


@pytest.mark.parametrize('name', [
    'red mug', PERSON, 'sink', 'shelf', 'plate', 'newspaper', 'parcel'])
def test_what_the_story_is_about_is_found(judgement, name):
    there, right, claimed = judgement.counts(name)
    assert right / there > 0.85
    assert right / claimed > 0.85


def test_a_person_or_a_mug_is_taken_for_nothing_else(judgement):
    wrong = {(true, found): count for true, found, count in judgement.confusions(100)
             if 'nothing' not in (true, found) and {'red mug', PERSON} & {true, found}}
    assert sum(wrong.values()) <= 3, wrong
