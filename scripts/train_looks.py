"""Makes the metric by which the default model of looks weighs its features.

From rendered days of seeds that no evaluation uses: what differs between crops of one thing (light,
view, what stands in front) is held down, what differs between things kept (a linear discriminant
with a ridge). The result goes beside the model, whose name holds a digest of it, since vectors of
two metrics do not compare. Nothing here is random but the seeds of the days; made anew, signs and
last digits are those of the linear algebra at hand, and cosines differ from those of the shipped
file by less than 0.001.

    python scripts/train_looks.py [--seeds 16] [--to emv_ros/perception/looks_metric.npz]
"""

from __future__ import annotations

import argparse
from pathlib import Path
import sys

import cv2
import numpy as np
from numpy.typing import NDArray

from emv_ros.evaluation.rendered.days import Days
from emv_ros.perception.appearance import METRIC, Features
from emv_ros.perception.crops import cropped
from emv_ros.perception.exposure import exposed, gain_of

FIRST_SEED = 200
PICTURES = (0, 3)  # of each clip
DIMENSION = 64
RIDGE = 0.3  # by the mean variance within things

Matrix = NDArray[np.float64]


def main() -> None:
    """Render, fit and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seeds', type=int, default=16)
    parser.add_argument('--to', type=Path, default=METRIC)
    args = parser.parse_args()
    features, rows, things = Features(), [], list[int]()
    for seed in range(FIRST_SEED, FIRST_SEED + args.seeds):
        days = Days(seed=seed, things=40, pairs=15, days=4, shortest=4, longest=4)
        for frame in (clip[place] for clip in days.clips() for place in PICTURES):
            pixels = cv2.imdecode(np.frombuffer(frame.jpeg, np.uint8), cv2.IMREAD_COLOR)
            gain = gain_of(pixels)
            rows.append(features.of([
                exposed(cropped(pixels, seen.bbox), gain) for seen in frame.seen]))
            things += [(seed - FIRST_SEED) * days.things + seen.key for seen in frame.seen]
        sys.stderr.write(f'seed {seed}: {len(things)} crops\n')
    mean, matrix = fitted(np.concatenate(rows).astype(np.float64), np.array(things))
    np.savez(args.to, mean=mean.astype(np.float32), matrix=matrix.astype(np.float16))


def fitted(rows: Matrix, things: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
    """Return the mean and the matrix (features × DIMENSION) of rows of known things."""
    mean = rows.mean(axis=0)
    rows = rows - mean
    _, places, counts = np.unique(things, return_inverse=True, return_counts=True)
    middles = np.zeros((len(counts), rows.shape[1]))
    np.add.at(middles, places, rows)
    middles /= counts[:, None]
    within = rows - middles[places]
    spread = within.T @ within / len(rows)
    spread += RIDGE * np.trace(spread) / len(spread) * np.eye(len(spread))
    values, vectors = np.linalg.eigh(spread)
    whitening = vectors / np.sqrt(values)
    between = (middles * counts[:, None]).T @ middles / len(rows)
    values, vectors = np.linalg.eigh(whitening.T @ between @ whitening)
    best = np.argsort(-values)[:DIMENSION]
    gain = np.maximum(values[best], 0)
    return mean, whitening @ vectors[:, best] * np.sqrt(gain / (1 + gain))


if __name__ == '__main__':
    main()
