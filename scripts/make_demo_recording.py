#!/usr/bin/env python3
"""Make the recording of the demonstration: three days of a simulated household robot, as one bag.

    python scripts/make_demo_recording.py [--out FOLDER] [--truth FILE]

The same seed gives the same messages (pictures to the bit only with the same version of Pillow).
Beside the bag it writes what was really the case, for the tests. Needs NumPy, Pillow and rosbags,
but no ROS.
"""

from __future__ import annotations

import argparse
from collections import Counter
import json
from pathlib import Path
import sys

from household.messages import Recording
from household.robot import Robot
from household.story import tell
from household.truth import truth_of
from household.world import household

CHECKOUT = Path(__file__).resolve().parents[1]
SEED = 20260512


def simulate(seed: int = SEED) -> Robot:
    """Return the robot after its three days, with all that it recorded."""
    robot = Robot(household(), Recording(), seed)
    tell(robot)
    return robot


def main(arguments: list[str] | None = None) -> int:
    """Write the bag and the truth."""
    parser = argparse.ArgumentParser(description='Make the recording of the demonstration.')
    parser.add_argument('--out', type=Path, default=CHECKOUT / 'emv_ros/demo/recording/household',
                        help='folder of the bag; what it held is replaced')
    parser.add_argument('--truth', type=Path, default=CHECKOUT / 'test/demo/truth.json',
                        help='file for what was really the case')
    parser.add_argument('--seed', type=int, default=SEED)
    options = parser.parse_args(arguments)
    robot = simulate(options.seed)
    robot.recording.write(options.out)
    truth = json.dumps(truth_of(robot), indent=1, ensure_ascii=False)
    options.truth.write_text(truth + '\n', encoding='utf-8')
    size = sum(file.stat().st_size for file in options.out.iterdir())
    counts = Counter(topic for _, topic, _ in robot.recording.messages)
    total = len(robot.recording.messages)
    sys.stdout.write(f'{options.out}: {total} messages, {size / 1e6:.2f} MB\n')
    for topic, count in sorted(counts.items()):
        sys.stdout.write(f'  {topic}: {count}\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
