"""What the shipped detector makes of pictures whose things are known, as the package runs it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
import io
from pathlib import Path

import numpy as np
from PIL import Image

from emv_ros.perception.detections import Detection, iou
from emv_ros.perception.onnx_yolo import OnnxYolo
from household.shapes import Box

MIN_CONFIDENCE = 0.35  # the default of perception.min_confidence
SAME_IOU = 0.5
NOTHING = 'nothing'


@dataclass
class Judgement:
    """How often what was there (first) was taken for what (second); either may be `nothing`."""

    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)

    def counts(self, name: str = '') -> tuple[int, int, int]:
        """Return how many there were, were found right, and were claimed; of a class, or of all."""
        there = sum(count for (true, _), count in self.pairs.items()
                    if true != NOTHING and name in ('', true))
        right = sum(count for (true, found), count in self.pairs.items()
                    if true == found and name in ('', true))
        claimed = sum(count for (_, found), count in self.pairs.items()
                      if found != NOTHING and name in ('', found))
        return there, right, claimed

    def confusions(self, most: int) -> list[tuple[str, str, int]]:
        """Return the most frequent errors, the worst first."""
        wrong = Counter({pair: count for pair, count in self.pairs.items() if pair[0] != pair[1]})
        return [(true, found, count) for (true, found), count in wrong.most_common(most)]


def judge(model: Path, frames: Iterable[tuple[bytes, list[tuple[str, Box]]]]) -> Judgement:
    """Run a detector over JPEG pictures with the names and boxes of what is in them."""
    detector = OnnxYolo(model, min_confidence=MIN_CONFIDENCE, image_size=0)
    judgement = Judgement()
    for jpeg, boxes in frames:
        pixels = np.asarray(Image.open(io.BytesIO(jpeg)).convert('RGB'))[:, :, ::-1]
        judgement.pairs.update(_paired(detector.detect(np.ascontiguousarray(pixels)), boxes))
    return judgement


def _paired(found: list[Detection], boxes: list[tuple[str, Box]]) -> Counter[tuple[str, str]]:
    """Pair each box with the detection that overlaps it most; those of its own name come first."""
    ranked = sorted(
        ((item.name == name, overlap, number, index)
         for number, item in enumerate(found) for index, (name, box) in enumerate(boxes)
         if (overlap := iou(item.bbox, box)) >= SAME_IOU), reverse=True)
    pairs: Counter[tuple[str, str]] = Counter()
    used: set[int] = set()
    matched: set[int] = set()
    for _, _, number, index in ranked:
        if number not in used and index not in matched:
            used.add(number)
            matched.add(index)
            pairs[boxes[index][0], found[number].name] += 1
    pairs.update((name, NOTHING) for index, (name, _) in enumerate(boxes) if index not in matched)
    pairs.update((NOTHING, item.name) for number, item in enumerate(found) if number not in used)
    return pairs
