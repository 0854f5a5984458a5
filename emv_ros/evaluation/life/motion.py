"""How the robot moves: its arm between named postures, and its base between places. SI units."""

from __future__ import annotations

from dataclasses import dataclass
import math

JOINTS = tuple(f'arm_joint_{number}' for number in range(1, 8))
# rad, one number a joint
POSTURES = {
    'home': (0.0, -1.1, 0.0, 1.9, 0.0, 0.6, 0.0),
    'high': (0.35, 0.75, -0.2, 0.5, 0.1, -0.7, 0.4),
    'middle': (0.2, 0.15, 0.1, 1.1, 0.0, -0.4, 0.1),
    'low': (-0.1, 1.25, 0.0, 0.9, 0.2, -1.1, 0.0),
    'carry': (0.0, -0.55, 0.0, 1.75, 0.0, 0.25, 0.0),
    'offer': (0.1, 0.3, 0.0, 0.8, 0.0, 0.15, 0.2),
    'pour': (0.15, 0.2, 0.1, 1.0, 0.3, -0.3, 1.7),
}
LOADS = (0.4, 9.5, 0.6, 6.0, 0.2, 1.8, 0.1)  # N m that gravity asks of each joint, about


@dataclass(frozen=True)
class Move:
    """A smooth motion from one point to another, at rest at both ends."""

    start: tuple[float, ...]
    goal: tuple[float, ...]
    begin_ns: int
    end_ns: int

    def at(self, stamp_ns: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return the point and its velocity, unit/s, at an instant."""
        if stamp_ns >= self.end_ns or self.end_ns <= self.begin_ns:
            return self.goal, (0.0,) * len(self.goal)
        span_s = (self.end_ns - self.begin_ns) / 1e9
        share = max(0.0, (stamp_ns - self.begin_ns) / 1e9 / span_s)
        # Half a cosine: no jump in velocity at the ends.
        way = (1 - math.cos(math.pi * share)) / 2
        speed = math.pi * math.sin(math.pi * share) / 2 / span_s
        pairs = list(zip(self.start, self.goal, strict=True))
        point = tuple(a + (b - a) * way for a, b in pairs)
        return point, tuple((b - a) * speed for a, b in pairs)


def resting(point: tuple[float, ...]) -> Move:
    """Return the motion of what does not move."""
    return Move(point, point, 0, 0)


def efforts(positions: tuple[float, ...], has_load: bool) -> tuple[float, ...]:
    """Return about what torque holds the arm in a posture, N m."""
    factor = 1.35 if has_load else 1.0
    return tuple(
        factor * load * math.cos(position) for load, position in zip(LOADS, positions, strict=True))


def quaternion(yaw: float) -> tuple[float, float, float, float]:
    """Return the unit quaternion x, y, z, w of a turn around the vertical axis, rad."""
    return 0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)
