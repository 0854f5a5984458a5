"""YOLO checkpoints in ONNX, as ultralytics exports them, run by onnxruntime without torch.

Two layouts are read: (1, 4 + classes, n), which needs suppression of overlaps, and the end-to-end
(1, n, 6). Further columns of a segmentation or pose model are passed over; rotated boxes and
plain classifiers are refused. Names and task come from the metadata of the file.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emv_ros.errors import PerceptionError
from emv_ros.perception.detections import Detection, Pixels
from emv_ros.perception.raw_boxes import as_colour, class_names, detections_of, is_blank, suppressed

Floats = NDArray[np.float32]

GREY = 114  # what fills the margins, as in training
_CANDIDATES = 1000  # rows that are compared with one another
_MOST_STRIDE = 1024  # px
_TASKS = ('detect', 'segment', 'pose')
_GPU, _CPU = 'CUDAExecutionProvider', 'CPUExecutionProvider'


class OnnxYolo:
    """One checkpoint. `image_size` counts where the checkpoint leaves the size open."""

    def __init__(
            self, path: Path, *, min_confidence: float, image_size: int,
            device: str = '') -> None:
        """Load the network and try it once. Raises PerceptionError."""
        self._path = path
        self._min_confidence = min_confidence
        self._session = _session(path, device)
        try:
            about = self._session.get_modelmeta().custom_metadata_map
            source = self._session.get_inputs()[0]
            self._input = source.name
            self._type = np.float16 if source.type == 'tensor(float16)' else np.float32
            self._names = _names(about)
            self._is_end_to_end = about.get('end2end', '').lower() == 'true'
            stride = max(1, int(about.get('stride', '32')))
            self._frame = _Frame(source.shape, image_size, stride)
        except (ValueError, SyntaxError, IndexError, TypeError, OverflowError, RecursionError,
                MemoryError) as error:  # of a text as names, whatever it holds
            raise PerceptionError(f'checkpoint {path} is no YOLO detector: '
                                  f'{str(error) or type(error).__name__}') from error
        task = about.get('task', 'detect')
        if task not in _TASKS:
            raise PerceptionError(f'checkpoint {path} is no detector of boxes but made to {task}')
        self._find(np.full((96, 128, 3), GREY, np.uint8))  # a layout unknown shows here

    @property
    def name(self) -> str:
        """The name of the file."""
        return self._path.name

    @property
    def labels(self) -> frozenset[str]:
        """The names that it can give; empty where it does not tell."""
        return frozenset(self._names.values())

    def detect(self, pixels: Pixels) -> list[Detection]:
        """Return what is in a picture, the surest first. Raises PerceptionError."""
        picture = as_colour(pixels)
        return [] if is_blank(picture) else self._find(picture)

    def _find(self, picture: Pixels) -> list[Detection]:
        height, width = picture.shape[:2]
        canvas, scale, left, top = self._frame.letterbox(picture)
        blob = (canvas[None, :, :, ::-1].transpose(0, 3, 1, 2) / np.float32(255)).astype(self._type)
        try:
            output = self._session.run(None, {self._input: np.ascontiguousarray(blob)})[0]
        except Exception as error:  # onnxruntime raises errors without a common class
            raise PerceptionError(f'detector {self._path} failed: {error}') from error
        boxes, scores, classes = self._rows(np.asarray(output, np.float32))
        boxes = (boxes - np.array([left, top, left, top], np.float32)) / np.float32(scale)
        return detections_of(
            boxes, scores, classes, self._names, (width, height), self._min_confidence)

    def _rows(self, output: Floats) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return corners on the canvas (n × 4), confidences and classes of an output."""
        if output.ndim != 3 or output.shape[0] != 1 or min(output.shape) == 0:
            raise PerceptionError(self._unknown(output))
        count = len(self._names)
        rows, columns = output.shape[1:]
        if self._is_end_to_end or (columns == 6 and rows != 4 + count):
            if columns < 6:
                raise PerceptionError(self._unknown(output))
            return output[0, :, :4], output[0, :, 4], output[0, :, 5]
        if rows < 4 + max(count, 1) or (not count and rows > columns):
            raise PerceptionError(self._unknown(output))
        return self._suppressed(output[0, :4 + (count or rows - 4)].T)

    def _suppressed(self, rows: Floats) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return the best of overlapping rows: centre, width, height, then one score a class."""
        scores, classes = rows[:, 4:].max(axis=1), rows[:, 4:].argmax(axis=1)
        usable = np.isfinite(rows[:, :4]).all(axis=1) & (scores >= self._min_confidence)
        best = np.flatnonzero(usable)
        best = best[np.argsort(-scores[best], kind='stable')][:_CANDIDATES]
        scores, classes, sizes = scores[best], classes[best], rows[best, 2:4]
        corners = rows[best, :2] - sizes / 2
        found = np.hstack([corners, corners + sizes])
        kept = suppressed(found, scores, classes)
        return found[kept], scores[kept], classes[kept]

    def _unknown(self, output: Floats) -> str:
        return (f'checkpoint {self._path} is no YOLO detector: its output of shape {output.shape} '
                f'does not fit {len(self._names)} classes')


class _Frame:
    """The canvas that a network sees: of fixed edges, or as large as a picture needs."""

    def __init__(self, shape: list[Any], image_size: int, stride: int) -> None:
        if len(shape) != 4:
            raise ValueError(f'its input has the shape {shape}, not that of a picture')
        if stride > _MOST_STRIDE:
            raise ValueError(f'a stride of {stride} px is none of a network')
        self._height, self._width = (
            edge if isinstance(edge, int) and edge > 0 else 0 for edge in shape[2:])
        self._image_size, self._stride = image_size, stride

    def letterbox(self, picture: Pixels) -> tuple[Pixels, float, int, int]:
        """Return a picture inside grey margins; its scale, and where it begins (left, top), px."""
        import cv2

        height, width = picture.shape[:2]
        scale = min((self._width or self._image_size) / width,
                    (self._height or self._image_size) / height)
        inner = max(1, round(width * scale)), max(1, round(height * scale))
        full_width = self._width or math.ceil(inner[0] / self._stride) * self._stride
        full_height = self._height or math.ceil(inner[1] / self._stride) * self._stride
        left, top = (full_width - inner[0]) // 2, (full_height - inner[1]) // 2
        canvas = np.full((full_height, full_width, 3), GREY, np.uint8)
        canvas[top:top + inner[1], left:left + inner[0]] = cv2.resize(picture, inner)
        return canvas, scale, left, top


def _names(about: Mapping[str, str]) -> dict[int, str]:
    """Return the names of the classes as the metadata has them: the text of a Python literal."""
    return class_names(ast.literal_eval(about['names'])) if about.get('names') else {}


def _session(path: Path, device: str) -> Any:
    """Return an onnxruntime session on a device: '' (a GPU if any), 'cpu', 'cuda', 'cuda:1'."""
    if not path.is_file():
        raise PerceptionError(f'there is no checkpoint {path}')
    try:
        import onnxruntime
    except ImportError as error:
        raise PerceptionError(f'checkpoint {path} needs onnxruntime: {error}') from error
    has_gpu = _GPU in onnxruntime.get_available_providers()
    kind, _, number = device.lower().partition(':')
    if kind not in ('', 'cpu', 'cuda') or (number and not number.isdecimal()):
        raise PerceptionError(f"checkpoint {path}: onnxruntime knows no device '{device}'")
    if kind == 'cuda' and not has_gpu:
        raise PerceptionError(
            f"checkpoint {path}: no device '{device}' here; the package onnxruntime-gpu has it")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors; what is refused is raised all the same
    if (threads := os.environ.get('OMP_NUM_THREADS', '')).isdecimal():
        options.intra_op_num_threads = int(threads)
    providers: list[Any] = [_CPU]
    if has_gpu and kind != 'cpu':
        providers.insert(0, (_GPU, {'device_id': int(number or 0)}))
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=providers)
    except Exception as error:  # onnxruntime raises errors without a common class
        raise PerceptionError(f'checkpoint {path} cannot be read: {error}') from error
