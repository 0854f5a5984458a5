"""A small YOLO11 from scratch: the data set on disk, the training, and the network as ONNX.

Needs the extra [perception] (torch and ultralytics) and the packages onnx and onnxslim.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
import os
from pathlib import Path
import shutil
from typing import Any

import numpy as np
import yaml

from household.camera import HEIGHT, WIDTH
from household.shapes import Box
from household.training import CLASSES, make_scene

# A quarter of the channels of yolo11n: the drawings are simple, and the weights travel with the
# package.
SCALE = [0.5, 0.125, 1024]  # depth, width, most channels
OPSET = 17
IMAGE_SIZE = 320
INPUT = [256, 320]  # height and width that a picture of the camera needs, px
BATCH = 8

@dataclass(frozen=True)
class Round:
    """A part of the training, on scenes of its own."""

    scenes: int
    epochs: int
    rate: float  # of learning, at first
    warmup: float  # epochs over which it rises


ROUNDS = (Round(1600, 4, 0.002, 0.5), Round(1600, 1, 0.002, 0.5), Round(800, 1, 0.0004, 0.0))
SMALL = 256  # numbers in a weight that is not worth halving


def prepare(folder: Path, threads: int) -> None:
    """Keep ultralytics from looking for the net, and from taking more threads than it may."""
    os.environ.update(
        YOLO_OFFLINE='true', YOLO_AUTOINSTALL='false', YOLO_CONFIG_DIR=str(folder / 'config'),
        OMP_NUM_THREADS=str(threads))
    (folder / 'config').mkdir(parents=True, exist_ok=True)
    import torch

    torch.set_num_threads(threads)


def write_scenes(folder: Path, part: str, seeds: Iterable[int]) -> Counter[str]:
    """Write pictures and labels of the scenes of some seeds; return how many boxes a class has."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        scene = make_scene(seed)
        write_labelled(folder, part, f'{seed:06d}', scene.jpeg, scene.boxes)
        counts.update(name for name, _ in scene.boxes)
    return counts


def write_labelled(folder: Path, part: str, name: str, jpeg: bytes,
                   boxes: Iterable[tuple[str, Box]]) -> None:
    """Write one picture with its boxes, as ultralytics reads them: class and middle, size, 0..1."""
    for kind in ('images', 'labels'):
        (folder / kind / part).mkdir(parents=True, exist_ok=True)
    (folder / 'images' / part / f'{name}.jpg').write_bytes(jpeg)
    lines = [
        f'{CLASSES.index(kind)} {(x1 + x2) / 2 / WIDTH:.5f} {(y1 + y2) / 2 / HEIGHT:.5f} '
        f'{(x2 - x1) / WIDTH:.5f} {(y2 - y1) / HEIGHT:.5f}' for kind, (x1, y1, x2, y2) in boxes]
    (folder / 'labels' / part / f'{name}.txt').write_text('\n'.join(lines) + '\n')


def describe_data(folder: Path, train_on: str, test_on: str) -> Path:
    """Write which part to train on and which to test on, and return the file."""
    content = {'path': str(folder.resolve()), 'train': f'images/{train_on}',
               'val': f'images/{test_on}', 'names': dict(enumerate(CLASSES))}
    path = folder / f'{train_on}_{test_on}.yaml'
    path.write_text(yaml.safe_dump(content))
    return path


def train(folder: Path, data: Path, of: Round, seed: int, start: Path | None = None) -> Path:
    """Train a round from scratch or from a checkpoint, and return its checkpoint.

    The rate of learning falls from epoch to epoch.
    """
    from ultralytics import YOLO

    shutil.rmtree(folder / 'runs', ignore_errors=True)
    YOLO(str(start or architecture(folder)), task='detect').train(
        data=str(data), imgsz=IMAGE_SIZE, epochs=of.epochs, batch=BATCH, seed=seed,
        device='cpu', workers=0, cache='ram', project=str(folder / 'runs'), name='train',
        val=False, plots=False, pretrained=start is not None, amp=False, optimizer='AdamW',
        lr0=of.rate, nbs=BATCH, cos_lr=True, warmup_epochs=of.warmup, mosaic=0.0,
        close_mosaic=0, scale=0.2, fliplr=0.5, hsv_h=0.01, hsv_s=0.3, hsv_v=0.3, erasing=0.0)
    made = folder / 'last.pt'
    shutil.copyfile(folder / 'runs' / 'train' / 'weights' / 'last.pt', made)
    return made


def architecture(folder: Path) -> Path:
    """Write the network that is trained, and return the file."""
    import ultralytics

    source = Path(ultralytics.__file__).parent / 'cfg/models/11/yolo11.yaml'
    network = yaml.safe_load(source.read_text()) | {'nc': len(CLASSES), 'scales': {'n': SCALE}}
    path = folder / 'yolo11n.yaml'
    path.write_text(yaml.safe_dump(network))
    return path


def export(checkpoint: Path, target: Path) -> None:
    """Write a checkpoint as ONNX: one picture of fixed size; names of classes in its metadata.

    Weights are kept in half the bits, which halves the file; a runtime widens them as it loads.
    """
    import onnx
    from ultralytics import YOLO

    made = YOLO(str(checkpoint)).export(
        format='onnx', imgsz=INPUT, opset=OPSET, simplify=True, dynamic=False, device='cpu')
    model = onnx.load(made)
    _halve(model.graph)
    onnx.checker.check_model(model)
    target.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, target)


def _halve(graph: Any) -> None:
    from onnx import TensorProto, helper, numpy_helper

    for weight in list(graph.initializer):
        values = numpy_helper.to_array(weight)
        if weight.data_type != TensorProto.FLOAT or values.size < SMALL:
            continue
        name = f'{weight.name}_half'
        graph.initializer.append(numpy_helper.from_array(values.astype(np.float16), name))
        graph.node.insert(0, helper.make_node('Cast', [name], [weight.name], to=TensorProto.FLOAT))
        graph.initializer.remove(weight)


def precision_of(checkpoint: Path, data: Path) -> tuple[float, float, dict[str, float]]:
    """Return mAP50, mAP50-95 and the mAP50-95 of each class that the tested pictures hold."""
    from ultralytics import YOLO

    found = YOLO(str(checkpoint)).val(
        data=str(data), imgsz=IMAGE_SIZE, batch=BATCH, device='cpu', workers=0, plots=False,
        verbose=False, project=str(data.parent / 'val'), exist_ok=True)
    each = {CLASSES[index]: float(found.box.maps[index]) for index in found.box.ap_class_index}
    return float(found.box.map50), float(found.box.map), each
