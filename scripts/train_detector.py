#!/usr/bin/env python3
"""Train the demonstration's own detector on rendered scenes, and write it with its report.

    python scripts/train_detector.py [--work FOLDER] [--threads N] [--reuse]

It learns in rounds, each on new scenes and from the weights of the one before. Needs the extra
[perception] and the packages onnx and onnxslim; minutes to an hour on a CPU. The checkpoint that
lies in the work folder is measured and exported anew with --reuse.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
import sys
import tempfile
import time

from household import learning
from household.judging import judge
from household.report import Figures, report
from household.shapes import Box
from household.training import make_scene, seen_in
from make_demo_recording import CHECKOUT, simulate

HELD_OUT = range(1_000_000, 1_000_200)  # seeds of scenes that are not trained on
EVERY = 4  # of the recording's pictures one in so many is looked at: they change slowly
Frame = tuple[bytes, list[tuple[str, Box]]]


def recorded() -> list[Frame]:
    """Return pictures of the recording with what is in them."""
    return [(sight.jpeg, seen_in(sight.objects)) for sight in simulate().sights[::EVERY]]


def held_out() -> list[Frame]:
    """Return the scenes that are not trained on."""
    return [(scene.jpeg, scene.boxes) for scene in map(make_scene, HELD_OUT)]


def main(arguments: list[str] | None = None) -> int:
    """Render, train, export, measure and report."""
    parser = argparse.ArgumentParser(description="Train the demonstration's detector.")
    parser.add_argument('--out', type=Path, default=CHECKOUT / 'emv_ros/demo/detector',
                        help='folder of household.onnx and its report')
    parser.add_argument('--work', type=Path, default=Path(tempfile.gettempdir()) / 'emv_detector')
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--reuse', action='store_true', help='no training: export and measure only')
    options = parser.parse_args(arguments)
    learning.prepare(options.work, options.threads)
    began = time.monotonic()
    checkpoint = options.work / 'last.pt'
    if not options.reuse:
        _learn(options, checkpoint)
    took_s = time.monotonic() - began
    model = options.out / 'household.onnx'
    learning.export(checkpoint, model)
    figures = [_figures(options.work / 'data', checkpoint, model, title, frames)
               for title, frames in (('held-out scenes', held_out()),
                                     ("the recording's pictures", recorded()))]
    scenes = sum(one.scenes for one in learning.ROUNDS)
    trained_on = Counter(name for seed in range(scenes) for name, _ in make_scene(seed).boxes)
    text = report(model, trained_on, options.seed, figures)
    (options.out / 'README.md').write_text(text, encoding='utf-8')
    sys.stdout.write(f'{model}: {model.stat().st_size / 1e6:.2f} MB, trained in {took_s:.0f} s\n')
    return 0


def _learn(options: argparse.Namespace, checkpoint: Path) -> None:
    """Train round by round."""
    data = options.work / 'data'
    begin = 0
    for number, part in enumerate(learning.ROUNDS):
        name = f'train_{number}'
        learning.write_scenes(data, name, range(begin, begin + part.scenes))
        begin += part.scenes
        learning.train(options.work, learning.describe_data(data, name, name), part,
                       options.seed + number, checkpoint if number else None)


def _figures(data: Path, checkpoint: Path, model: Path, title: str,
             frames: list[Frame]) -> Figures:
    """Measure on one set of pictures."""
    part = title.replace(' ', '_').replace("'", '')
    for number, (jpeg, seen) in enumerate(frames):
        learning.write_labelled(data, part, f'{number:06d}', jpeg, seen)
    measured = learning.precision_of(checkpoint, learning.describe_data(data, part, part))
    return Figures(title, len(frames), *measured, judge(model, frames))


if __name__ == '__main__':
    sys.exit(main())
