"""Makes the metric by which the default model of looks weighs its features.

From rendered days of seeds that no evaluation uses, in two steps. First a linear discriminant: what
differs between crops of one thing (light, view, what stands in front) is held down, what differs
between the two of a like pair is kept, shades twice, since they are what most like things are
mistaken by. Then each of its dimensions gets a weight, by a logistic regression on pairs of
observations: those of one thing against those of a like pair, and others that look alike. The
result goes beside the model, whose name holds a digest of it, since vectors of two metrics do not
compare. Nothing here is random but the seeds of the days.

    python scripts/train_looks.py [--to emv_ros/perception/looks_metric.npz]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
import sys

import cv2
import numpy as np
from numpy.typing import NDArray

from emv_ros.evaluation.rendered.days import Days, Frame
from emv_ros.evaluation.rendered.objects import Thing
from emv_ros.perception.appearance import METRIC, Features
from emv_ros.perception.crops import cropped
from emv_ros.perception.exposure import Light, exposed
from emv_ros.perception.looks import Vectors
from emv_ros.unit_vectors import normalised

# Seeds, their days, which pictures of a clip are rendered (None: all), which of those are taken.
SETS: tuple[tuple[Sequence[int], dict[str, int], tuple[int, ...] | None, tuple[int, ...]], ...] = (
    (range(200, 216), {'pairs': 15, 'shortest': 4, 'longest': 4}, None, (0, 3)),
    ((*range(500, 512), *range(520, 528)), {'pairs': 18, 'shortest': 10, 'longest': 10},
     (0, 3, 6, 9), (0, 1, 2, 3)))
CLIPS = 1000  # more than a household has
DIMENSION = 40
RIDGE = 0.3  # by the mean variance within things
UNLIKE = 0.05  # what differs between things at large counts little: it is easily told
ALIKE = 0.6  # the cosine from which a pair of other things tells of the weights
STEPS, STEP, SHARPNESS, SHRINK = 200, 0.02, 20.0, 1e-3

Matrix = NDArray[np.float64]
Keys = NDArray[np.int64]


def main() -> None:
    """Render, fit and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--to', type=Path, default=METRIC)
    args = parser.parse_args()
    features, rows, things, clips = Features(), [], list[int](), list[int]()
    made: list[Thing] = []
    for seeds, made_of, rendered, taken in SETS:
        for seed in seeds:
            days = Days(seed=seed, things=40, days=4, **made_of)
            clips_of = ([clip[at] for at in taken] for clip in days.clips(rendered))
            for number, row, key in _crops(clips_of, features):
                rows.append(row)
                things.append(len(made) + key)
                clips.append(CLIPS * seed + number)
            made += days.made()
            sys.stderr.write(f'seed {seed}: {len(things)} crops\n')
    mean, matrix = learned(np.stack(rows), np.array(things), np.array(clips), made)
    np.savez(args.to, mean=mean.astype(np.float32), matrix=matrix.astype(np.float16))


def _crops(clips: Iterator[list[Frame]],
           features: Features) -> Iterator[tuple[int, Vectors, int]]:
    """Yield the clip, the features and the key of each crop, in one light."""
    for number, clip in enumerate(clips):
        for frame in clip:
            pixels = cv2.imdecode(np.frombuffer(frame.jpeg, np.uint8), cv2.IMREAD_COLOR)
            light = Light(pixels)
            for seen in frame.seen:
                crop = exposed(cropped(pixels, seen.bbox), light.gain(seen.bbox))
                yield number, features.of([crop])[0], seen.key


def learned(rows: Vectors, things: Keys, clips: Keys, made: list[Thing]) -> tuple[Matrix, Matrix]:
    """Return the mean and the matrix from rows of things, which are numbered as in `made`."""
    likes = np.array([at - thing.key + thing.like if thing.like >= 0 else -1
                      for at, thing in enumerate(made)])
    seen = set(things.tolist())
    pairs = [at for at, thing in enumerate(made)
             if thing.like > thing.key and {at, int(likes[at])} <= seen]
    shades = [at for at in pairs if made[at].difference == 'shade']
    counts = [(at, int(likes[at]), 1 / len(pairs) + (
        1 / len(shades) if made[at].difference == 'shade' else 0)) for at in pairs]
    mean, matrix = fitted(rows.astype(np.float64), things, counts)
    return mean, matrix * np.sqrt(weights((rows - mean) @ matrix, things, likes, clips))


def fitted(rows: Matrix, things: Keys,
           pairs: list[tuple[int, int, float]]) -> tuple[Matrix, Matrix]:
    """Return the mean and the matrix (features × DIMENSION) of rows of known things.

    `pairs` are two things each that shall be told apart, and how much that counts.
    """
    mean = rows.mean(axis=0)
    rows = rows - mean
    keys, places, counts = np.unique(things, return_inverse=True, return_counts=True)
    middles = np.zeros((len(counts), rows.shape[1]))
    np.add.at(middles, places, rows)
    middles /= counts[:, None]
    within = rows - middles[places]
    spread = within.T @ within / len(rows)
    spread += RIDGE * np.trace(spread) / len(spread) * np.eye(len(spread))
    values, vectors = np.linalg.eigh(spread)
    whitening = vectors / np.sqrt(values)
    row_of = {int(key): row for row, key in enumerate(keys)}
    apart = np.stack([(middles[row_of[one]] - middles[row_of[other]]) * np.sqrt(count / 2)
                      for one, other, count in pairs]) @ whitening
    between = (middles * counts[:, None]).T @ middles / len(rows)
    values, vectors = np.linalg.eigh(
        apart.T @ apart + UNLIKE * whitening.T @ between @ whitening)
    best = np.argsort(-values)[:DIMENSION]
    gain = np.maximum(values[best], 0)
    return mean, whitening @ vectors[:, best] * np.sqrt(gain / (1 + gain))


def weights(rows: Matrix, things: Keys, likes: Keys, clips: Keys) -> Matrix:
    """Return what each dimension of rows counts in telling pairs of observations.

    An observation is what shows one thing in one clip; pairs of one clip tell nothing. `likes` is
    of each thing its like, or -1.
    """
    seen, places = np.unique(np.stack([clips, things]), axis=1, return_inverse=True)
    middles = np.zeros((seen.shape[1], rows.shape[1]))
    np.add.at(middles, places.ravel(), normalised(rows))
    middles = normalised(middles)
    first, second = np.triu_indices(len(middles), 1)
    one, other = seen[1, first], seen[1, second]
    told = (seen[0, first] != seen[0, second]) & (
        seen[0, first] // CLIPS == seen[0, second] // CLIPS)
    first, second, one, other = first[told], second[told], one[told], other[told]
    products = middles[first] * middles[second]
    used = (one == other) | (likes[one] == other) | (products.sum(axis=1) > ALIKE)
    return _logistic(products[used], (one == other)[used])


def _logistic(products: Matrix, is_same: NDArray[np.bool_]) -> Matrix:
    """Return weights of at least 0, near 1 unless pairs say otherwise, by Adam's steps."""
    count = np.where(is_same, 0.5, 1.0) / len(products)
    now = np.append(np.ones(products.shape[1]), -0.9)  # weights, and the threshold
    mean, square = np.zeros_like(now), np.zeros_like(now)
    for step in range(1, STEPS + 1):
        score = np.clip(SHARPNESS * (products @ now[:-1] + now[-1]), -50, 50)
        off = SHARPNESS * (1 / (1 + np.exp(-score)) - is_same) * count
        slope = np.append(products.T @ off + SHRINK * (now[:-1] - 1), off.sum())
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        now -= STEP * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-9)
        now[:-1] = np.maximum(now[:-1], 0)
    return now[:-1]


if __name__ == '__main__':
    main()
