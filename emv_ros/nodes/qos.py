"""The profiles of quality of service by name, and the one that fits the publishers of a topic.

A subscription hears a publisher only where it asks for no more than that offers. So each follows
its publishers: reliable where every one of them is, else best effort, which hears both kinds;
transient local where every one is, which brings what was said before we came.
"""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    QoSPolicyKind,
    QoSProfile,
    ReliabilityPolicy,
)

# Deep enough for what arrives while one callback runs; pictures are large, and soon old.
EVENT_DEPTH = 1000
PICTURE_DEPTH = 10
# Of a thinned camera, where what waits is mostly left out. Fast DDS has a buffer for each picture
# that ever waited at once, and gives none back: with ten places a process grows, at its busiest
# moments, by up to eleven pictures of each camera, which are 30 MB of 1280×720 and 270 MB of 4K.
THINNED_PICTURE_DEPTH = 4

# Larger pictures of a best-effort publisher do not fit the default shared-memory segment.
SAFE_PICTURE_BYTES = 500_000


def latched() -> QoSProfile:
    """Return the profile of a status: late joiners get the latest."""
    return QoSProfile(depth=1, history=HistoryPolicy.KEEP_LAST,
                      reliability=ReliabilityPolicy.RELIABLE,
                      durability=DurabilityPolicy.TRANSIENT_LOCAL)


def diagnostics() -> QoSProfile:
    """Return the profile of /diagnostics, as its readers ask for it."""
    return QoSProfile(depth=10, history=HistoryPolicy.KEEP_LAST,
                      reliability=ReliabilityPolicy.RELIABLE,
                      durability=DurabilityPolicy.VOLATILE)


def events() -> QoSProfile:
    """Return the profile of what must arrive: words, events, texts to say."""
    return QoSProfile(depth=EVENT_DEPTH, history=HistoryPolicy.KEEP_LAST,
                      reliability=ReliabilityPolicy.RELIABLE,
                      durability=DurabilityPolicy.VOLATILE)


def following(offers: Sequence[QoSProfile], depth: int) -> QoSProfile:
    """Return the profile that hears all publishers with these offers."""
    hears_all = all(map(is_reliable, offers))
    is_latched = bool(offers) and all(
        offer.durability == DurabilityPolicy.TRANSIENT_LOCAL for offer in offers)
    return QoSProfile(
        depth=depth, history=HistoryPolicy.KEEP_LAST,
        reliability=ReliabilityPolicy.RELIABLE if hears_all else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if is_latched else DurabilityPolicy.VOLATILE)


def is_same(one: QoSProfile, other: QoSProfile) -> bool:
    """Return whether two subscriptions with these profiles hear the same."""
    return (one.reliability, one.durability) == (other.reliability, other.durability)


def is_reliable(profile: QoSProfile | None) -> bool:
    """Return whether a profile asks for, or offers, reliable messages."""
    return profile is not None and profile.reliability == ReliabilityPolicy.RELIABLE


def in_words(profile: QoSProfile) -> str:
    """Return a profile as the log shows it."""
    is_latched = profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
    return (f'{"reliable" if is_reliable(profile) else "best effort"}, '
            f'{"transient local" if is_latched else "volatile"}')


def policy_in_words(kind: int) -> str:
    """Return the name of a policy, as an event tells it by its number."""
    try:
        return QoSPolicyKind(kind).name.lower()
    except ValueError:
        return f'policy {kind}'
