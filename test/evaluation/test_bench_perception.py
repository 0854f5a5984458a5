"""The bench of perception tells what each stage took of a pass."""

from __future__ import annotations

from emv_ros.evaluation.bench_perception import bench_perception
from emv_ros.perception.detections import Detection
from emv_ros.settings import Settings


class Corner:
    """A detector that sees a cup at one place, whatever it is shown."""

    name = 'corner'

    def detect(self, pixels):
        return [Detection(name='cup', bbox=(100.0, 100.0, 180.0, 200.0), confidence=0.9)]


def test_a_small_bench(tmp_path):
    told = []
    measured = bench_perception(tmp_path, Settings(), Corner(), None, 40, told.append)
    assert (measured['pictures'], measured['clips'], measured['observations']) == (40, 2, 2)
    assert (measured['boxes_a_picture'], measured['problems']) == (1.0, [])
    assert {'read', 'detect', 'track', 'relate', 'write', 'rest'} <= set(measured['ms_a_picture'])
    # The stages are all that it took.
    assert abs(sum(measured['ms_a_picture'].values()) * 40 / 1000 - measured['seconds']) < 0.1
    assert measured['pictures_per_s'] > 0 and len(told) == 2
