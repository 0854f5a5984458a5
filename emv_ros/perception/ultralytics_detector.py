"""Checkpoints that need torch, through ultralytics: any .pt, and the names that it knows.

YOLOE without prompts and YOLO-World come by name where their weights can be had. A checkpoint is
a pickle; ultralytics is told to load none but its own classes from it.
"""

from __future__ import annotations

from collections.abc import Sequence
import os
from pathlib import Path
import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emv_ros.errors import PerceptionError
from emv_ros.perception.detections import Detection, Pixels
from emv_ros.perception.raw_boxes import (
    SUPPRESS_IOU,
    as_colour,
    class_names,
    detections_of,
    is_blank,
)

MOST_WORDS = 240  # characters of an error that are passed on
_TASKS = ('detect', 'segment', 'pose')
# Read once, when ultralytics is imported: it looks for no network on its own, installs nothing
# and reads no pickled class but its own. What the user has set stays.
_ENVIRONMENT = {'YOLO_OFFLINE': 'true', 'YOLO_AUTOINSTALL': 'false', 'YOLO_VERBOSE': 'false',
                'ULTRALYTICS_SAFE_LOAD': 'true'}


class UltralyticsDetector:
    """One checkpoint, with the names to look for where its vocabulary is open."""

    def __init__(
            self, checkpoint: str, *, classes: Sequence[str], min_confidence: float,
            image_size: int, device: str = '') -> None:
        """Load the network (seconds, and a download where a name is new). Raises PerceptionError.

        checkpoint: a path, or a name with or without '.pt', as 'yoloe-11s-seg-pf'.
        device: '' for a GPU if there is one, or as torch has it.
        """
        self._checkpoint = checkpoint
        self._options = {
            'conf': min_confidence, 'iou': SUPPRESS_IOU, 'imgsz': image_size,
            'device': device or None, 'verbose': False, 'save': False}
        self._min_confidence = min_confidence
        source = _source(checkpoint)
        try:
            self._model = load_yolo()(source)
            if self._model.task not in _TASKS:
                raise ValueError(f'it is no detector of boxes but made to {self._model.task}')
            if classes:
                self._set_classes(classes)
            self._find(np.full((96, 128, 3), 114, np.uint8))  # a device unknown shows here
        except PerceptionError:
            raise
        except FileNotFoundError as error:
            raise PerceptionError(
                f"detector '{checkpoint}': there is no such file, and ultralytics has no "
                'weights of that name') from error
        except Exception as error:  # damaged pickles raise anything
            raise PerceptionError(
                f"detector '{checkpoint}' cannot be loaded: {_reason(error)}") from error

    @property
    def name(self) -> str:
        """The name of the checkpoint."""
        return Path(self._checkpoint).name

    @property
    def labels(self) -> frozenset[str]:
        """The names that it can give; empty where it does not tell."""
        return frozenset(class_names(self._model.names).values())

    def detect(self, pixels: Pixels) -> list[Detection]:
        """Return what is in a picture, the surest first. Raises PerceptionError."""
        picture = as_colour(pixels)
        return [] if is_blank(picture) else self._find(picture)

    def _find(self, picture: Pixels) -> list[Detection]:
        height, width = picture.shape[:2]
        try:
            found = self._model.predict(picture, **self._options)[0]
        except Exception as error:  # torch and ultralytics have no common class of errors
            raise PerceptionError(
                f"detector '{self._checkpoint}' failed: {_reason(error)}") from error
        if found.boxes is None:
            return []
        return detections_of(
            _array(found.boxes.xyxy), _array(found.boxes.conf), _array(found.boxes.cls),
            class_names(found.names), (width, height), self._min_confidence)

    def _set_classes(self, classes: Sequence[str]) -> None:
        """Make an open vocabulary look for these names alone."""
        if not hasattr(self._model, 'set_classes'):
            raise ValueError('its vocabulary is not open, so perception.classes must stay empty')
        try:
            self._model.set_classes(list(classes))
        except ImportError as error:
            raise ValueError(
                f'names to look for need the text model of ultralytics ({error}); '
                'pip install git+https://github.com/ultralytics/CLIP.git') from error


def _source(checkpoint: str) -> str:
    """Return what ultralytics is given: a file that exists, or where a known name's file goes.

    Without a folder of ours, a download would land wherever the process was started.
    """
    path = Path(checkpoint).expanduser()
    if path.is_file():
        return str(path)
    if len(path.parts) > 1:
        raise PerceptionError(f'there is no checkpoint {path}')
    name = path.name if path.suffix == '.pt' else f'{path.name}.pt'
    return str(_folder() / name)


def _folder() -> Path:
    """Return the folder of the settings and weights of ultralytics; it is made where it can be."""
    cache = Path(os.environ.get('EMV_CACHE') or '~/.cache/emv_ros').expanduser() / 'ultralytics'
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.gettempdir())
    return cache


def load_yolo() -> Any:
    """Import ultralytics, kept from the network, and return its class of models."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault('YOLO_CONFIG_DIR', str(_folder()))
    try:
        from ultralytics import YOLO
    except ImportError as error:
        raise PerceptionError(
            f'this detector needs ultralytics ({error}); pip install emv_ros[perception]'
        ) from error
    return YOLO


def _array(tensor: Any) -> NDArray[np.float32]:
    return np.asarray(tensor.cpu().numpy(), np.float32)


def _reason(error: Exception) -> str:
    """Return what went wrong in a line; ultralytics adds pictograms and advice."""
    words = str(error).encode('ascii', 'ignore').decode().replace('ERROR', '').split('\n')[0]
    return f'{type(error).__name__}: {" ".join(words.split())[:MOST_WORDS]}'
