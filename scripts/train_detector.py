#!/usr/bin/env python3
"""Train the demonstration's own detector on rendered scenes, and write it with its report.

    python scripts/train_detector.py [--work FOLDER] [--scenes N] [--epochs N] [--threads N]

Needs the extra [perception] and the packages onnx and onnxslim; minutes to an hour on a CPU. The
checkpoint that lies in the work folder is measured and exported anew with --reuse.
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

HELD_OUT = range(1_000_000, 1_000_300)  # seeds of scenes that are not trained on
Frame = tuple[bytes, list[tuple[str, Box]]]


def recorded() -> list[Frame]:
    """Return the pictures of the recording with what is in them."""
    return [(sight.jpeg, seen_in(sight.objects)) for sight in simulate().sights]


def held_out() -> list[Frame]:
    """Return the scenes that are not trained on."""
    return [(scene.jpeg, scene.boxes) for scene in map(make_scene, HELD_OUT)]


def main(arguments: list[str] | None = None) -> int:
    """Render, train, export, measure and report."""
    parser = argparse.ArgumentParser(description="Train the demonstration's detector.")
    parser.add_argument('--out', type=Path, default=CHECKOUT / 'emv_ros/demo/detector',
                        help='folder of household.onnx and its report')
    parser.add_argument('--work', type=Path, default=Path(tempfile.gettempdir()) / 'emv_detector')
    parser.add_argument('--scenes', type=int, default=1600, help='scenes to train on')
    parser.add_argument('--epochs', type=int, default=4)
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--reuse', action='store_true', help='no training: export and measure only')
    options = parser.parse_args(arguments)
    learning.prepare(options.work, options.threads)
    data = options.work / 'data'
    boxes = learning.write_scenes(data, 'train', range(options.scenes))
    tests = {'held-out scenes': held_out(), "the recording's pictures": recorded()}
    parts = dict(zip(tests, ('held_out', 'recording'), strict=True))
    for title, frames in tests.items():
        for number, (jpeg, seen) in enumerate(frames):
            learning.write_labelled(data, parts[title], f'{number:06d}', jpeg, seen)
    began = time.monotonic()
    checkpoint = options.work / 'runs/train/weights/last.pt'
    if not options.reuse:
        checkpoint = learning.train(
            options.work, learning.describe_data(data, 'held_out'), options.epochs, options.seed)
    took_s = time.monotonic() - began
    model = options.out / 'household.onnx'
    learning.export(checkpoint, model)
    figures = [
        Figures(title, len(frames), Counter(name for _, seen in frames for name, _ in seen),
                *learning.precision_of(checkpoint, learning.describe_data(data, parts[title])),
                judge(model, frames))
        for title, frames in tests.items()]
    text = report(model, options.scenes, boxes, options.epochs, options.seed, figures)
    (options.out / 'README.md').write_text(text, encoding='utf-8')
    sys.stdout.write(f'{model}: {model.stat().st_size / 1e6:.2f} MB, trained in {took_s:.0f} s\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
