"""Looks by a vision model of transformers: DINOv2, CLIP or SigLIP, by name or by folder.

On a GPU where there is one. Weights come from the hub's cache or the hub itself; neither
transformers nor torch is needed unless such a model is named. Thresholds are those of the family:
a robot sets its own by `emv entities calibrate`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from emv_ros.errors import PerceptionError
from emv_ros.perception.detections import Pixels
from emv_ros.perception.looks import Thresholds, Vectors
from emv_ros.unit_vectors import normalised

# By the `model_type` of a model's configuration. DINOv2's are those of GEB; the others' cosines
# lie closer together.
FAMILIES = {
    'dinov2': Thresholds(match=0.75, consistent=0.60, regroup=0.80),
    'clip': Thresholds(match=0.90, consistent=0.82, regroup=0.92),
    'siglip': Thresholds(match=0.90, consistent=0.82, regroup=0.92),
}
BATCH = 16


class TransformersLooks:
    """Vectors of crops by a model of transformers."""

    def __init__(self, model: str, device: str = '') -> None:
        """Load the model; the first time its weights are fetched.

        Raises PerceptionError where transformers, torch or the weights cannot be had, or where the
        model is of no known family.
        """
        self.name = model
        try:
            import torch
            import transformers
        except ImportError as error:
            raise PerceptionError(
                f'looks by {model} need transformers and torch: {error}') from error
        self._torch = torch
        self._device = device or ('cuda:0' if torch.cuda.is_available() else 'cpu')
        try:
            config = transformers.AutoConfig.from_pretrained(model)
            family = _family(str(config.model_type))
            self._processor: Any = transformers.AutoImageProcessor.from_pretrained(model)
            self._model: Any = transformers.AutoModel.from_pretrained(model).to(
                self._device).eval()
        except (OSError, ValueError, RuntimeError, ImportError) as error:
            raise PerceptionError(f'looks by {model}: {error}') from error
        self.thresholds = FAMILIES[family]
        self._has_image_features = hasattr(self._model, 'get_image_features')
        self.dimension = int(self.embed([np.zeros((32, 32, 3), np.uint8)]).shape[1])

    def embed(self, crops: Sequence[Pixels]) -> Vectors:
        """Return one row a crop, of length 1. Raises PerceptionError."""
        if not crops:
            return np.zeros((0, self.dimension), np.float32)
        try:
            rows = np.concatenate([self._rows(crops[start:start + BATCH])
                                   for start in range(0, len(crops), BATCH)])
        except (RuntimeError, ValueError) as error:  # out of memory, a crop that is no picture
            raise PerceptionError(f'looks by {self.name}: {error}') from error
        if not np.isfinite(rows).all():
            raise PerceptionError(f'looks by {self.name}: it gave numbers that are none')
        return normalised(rows)

    def _rows(self, crops: Sequence[Pixels]) -> Vectors:
        # Copied: torch takes no array that runs backwards.
        pictures = [np.ascontiguousarray(crop[:, :, ::-1]) for crop in crops]
        inputs = self._processor(images=pictures, return_tensors='pt').to(self._device)
        with self._torch.inference_mode():
            if self._has_image_features:
                found = self._model.get_image_features(**inputs)
                found = getattr(found, 'pooler_output', found)
            else:
                found = self._model(**inputs).last_hidden_state[:, 0]
        rows: Vectors = found.float().cpu().numpy()
        return rows


def _family(model_type: str) -> str:
    """Return the family of a model type. Raises ValueError."""
    for family in FAMILIES:
        if model_type.startswith(family):
            return family
    raise ValueError(f'a model of type {model_type!r} is none of {", ".join(FAMILIES)}')
