"""The report that is shipped beside the detector: how it was made, and how well it sees."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
import hashlib
from pathlib import Path

from household.judging import MIN_CONFIDENCE, NOTHING, SAME_IOU, Judgement
from household.learning import BATCH, IMAGE_SIZE, INPUT, OPSET, ROUNDS, SCALE
from household.training import CLASSES

ERRORS = 6  # of each set of pictures that are told


@dataclass
class Figures:
    """What was measured on one set of pictures."""

    title: str
    pictures: int
    map50: float
    map50_95: float
    each: dict[str, float]  # mAP50-95 of a class
    judgement: Judgement

    @property
    def row(self) -> str:
        """A row of the table of all sets."""
        there, right, claimed = self.judgement.counts()
        return (f'| {self.title} | {self.pictures} | {there} | {self.map50:.3f} | '
                f'{self.map50_95:.3f} | {right / max(claimed, 1):.3f} | '
                f'{right / max(there, 1):.3f} |')

    @property
    def errors(self) -> str:
        """The most frequent errors, in words."""
        said = []
        for true, found, count in self.judgement.confusions(ERRORS):
            if found == NOTHING:
                said.append(f'{true} not found {count} ×')
            elif true == NOTHING:
                said.append(f'{found} where there is none {count} ×')
            else:
                said.append(f'{true} taken for {found} {count} ×')
        return f'- {self.title}: ' + ('; '.join(said) or 'none') + '.'


def report(model: Path, trained_on: Counter[str], seed: int, figures: list[Figures]) -> str:
    """Return the text of the report, in Markdown."""
    content = model.read_bytes()
    rows = '\n'.join(one.row for one in figures)
    errors = '\n'.join(one.errors for one in figures)
    per_class = '\n'.join(
        f'| {name} | {trained_on[name]} | '
        f'{" | ".join(_of_class(one, name) for one in figures)} |' for name in CLASSES)
    rounds = ', '.join(f'{one.epochs} × {one.scenes}' for one in ROUNDS)
    titles = ' | '.join(one.title for one in figures)
    return f"""# The demonstration's detector

`household.onnx` finds the things, people and furniture of the simulated household in the pictures
of its camera. It knows nothing else: it is no detector for photographs.

- Made by `scripts/train_detector.py`: a YOLO11 of depth {SCALE[0]} and width {SCALE[1]}, trained
  from scratch on a CPU, in rounds of {rounds} new rendered scenes
  ({sum(trained_on.values())} boxes in all; batches of {BATCH}, {IMAGE_SIZE} px, seed {seed}).
- The scenes (`scripts/household/training.py`) show the rooms with random things at random places,
  in random states, held by people or by the robot, under random light, turn of the camera and
  noise. None of them is a scene of the story that the recording tells.
- File: {len(content) / 1e6:.2f} MB, opset {OPSET}, input {INPUT[1]} × {INPUT[0]} px,
  {len(CLASSES)} classes, names in its metadata; SHA-256
  `{hashlib.sha256(content).hexdigest()}`.

## How well it sees

mAP by ultralytics; precision and recall of the file itself, as the package runs it, at a confidence
of {MIN_CONFIDENCE} and an overlap (IoU) of {SAME_IOU}.

| pictures | number | boxes | mAP50 | mAP50-95 | precision | recall |
| --- | --- | --- | --- | --- | --- | --- |
{rows}

The most frequent errors:

{errors}

mAP50-95 of each class, and its recall at that confidence:

| class | boxes trained on | {titles} |
| --- | --- | {' | '.join('---' for _ in figures)} |
{per_class}

## Licence

The weights were made from renderings of this project's own drawings alone; no picture of others and
no pre-trained weight went in. They were trained with ultralytics, which is under the AGPL-3.0; it
is needed to train them, and not to run them.
"""


def _of_class(figures: Figures, name: str) -> str:
    there, right, _ = figures.judgement.counts(name)
    return f'{figures.each[name]:.3f}, {right / there:.3f}' if there else 'none'
