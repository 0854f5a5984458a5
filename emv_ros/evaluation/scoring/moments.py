"""Class the times of an answer against those that are to be named. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta, tzinfo

from emv_ros.evaluation.questions import Gold
from emv_ros.evaluation.scoring.categories import Category
from emv_ros.evaluation.scoring.claimed_times import ClaimedTime, on_day_of
from emv_ros.timeline import HOUR_NS, MINUTE_NS, SECOND_NS, Interval, local_date, to_datetime

DAY_S = 86_400
# Golds at least so coarse ask for a day, not for a time of the clock.
_DAY_PRECISION_S = DAY_S / 2


def score_times(gold: Gold, claimed: Sequence[ClaimedTime], asked: Sequence[ClaimedTime],
                zone: tzinfo) -> Category | None:
    """Return the class of an answer by the times it claims; `asked` are those of the question.

    A claim is right within the precision of a time of the gold: a moment near it, or a span that
    begins or ends near it. It is coarse, hence right in part, where it names the right day but no
    clock time, a part of the day or a longer span around the time, a clock time rounded to the
    hour, or the right clock time on a day that neither it nor the question names. All right is
    correct, with other times correct_tmi unless these are more; some is partially correct, nothing
    where two thirds of the claims are others, or where 'or' leaves it open which holds.
    None: no time is claimed.
    """
    claims = [time for time in claimed if not time.is_denied]
    if not claims:
        return None
    kept = [_placed(time, gold, asked, zone) for time in claims]
    right = {at for at in range(len(gold.times_ns))
             if any(_is_right(claim, gold, at, zone) for claim in kept)}
    near = {at for at in range(len(gold.times_ns))
            if any(_is_coarse(claim, gold, at, zone) for claim in kept)}
    if any(claim.is_hedged for claim in kept):
        return Category.WRONG
    extra = [claim for claim in kept
             if not any(_is_right(claim, gold, at, zone) or _is_coarse(claim, gold, at, zone)
                        for at in range(len(gold.times_ns)))]
    if len(extra) > 2 * len(right | near):
        return Category.WRONG
    if len(right) == len(gold.times_ns):
        if not extra:
            return Category.CORRECT
        return Category.CORRECT_TMI if len(extra) <= len(right) else \
            Category.PARTIALLY_CORRECT_TMI
    told = len(right | near)
    if not told or len(extra) > told:
        return Category.WRONG
    return Category.PARTIALLY_CORRECT_TMI if extra else Category.PARTIALLY_CORRECT_MISSING


def _placed(time: ClaimedTime, gold: Gold, asked: Sequence[ClaimedTime],
            zone: tzinfo) -> ClaimedTime:
    """Return a time of the clock on the day that the question names.

    Where it names none, the nearest day of the gold, but still with `has_day` False.
    """
    if time.has_day:
        return time
    days = [other for other in asked if other.has_day]
    if days:
        return on_day_of(time, days[0].span, zone)
    tried = [on_day_of(time, Interval(stamp, stamp), zone) for stamp in gold.times_ns]
    nearest = min(tried, key=lambda claim: min(
        _distance_ns(claim.span, stamp) for stamp in gold.times_ns), default=time)
    return replace(nearest, has_day=False)


def _is_right(claim: ClaimedTime, gold: Gold, at: int, zone: tzinfo) -> bool:
    stamp = gold.times_ns[at]
    if gold.precision_s >= _DAY_PRECISION_S:
        days_off = max(0, round(gold.precision_s / DAY_S) - 1)
        first, last = (local_date(end, zone) for end in (claim.span.start_ns, claim.span.last_ns))
        day, slack = local_date(stamp, zone), timedelta(days=days_off)
        return claim.has_day and first - slack <= day <= last + slack and \
            last - first <= max(timedelta(), 2 * slack)
    if not claim.has_day or not claim.has_clock:
        return False
    slack_ns = int(gold.precision_s * SECOND_NS)
    if claim.span.end_ns - claim.span.start_ns <= max(MINUTE_NS, 2 * slack_ns):
        return _distance_ns(claim.span, stamp) <= slack_ns
    return any(abs(end - stamp) <= slack_ns for end in (claim.span.start_ns, claim.span.end_ns))


def _is_coarse(claim: ClaimedTime, gold: Gold, at: int, zone: tzinfo) -> bool:
    stamp = gold.times_ns[at]
    if not claim.has_day:
        return _is_right(replace(claim, has_day=True), gold, at, zone)
    if gold.precision_s >= _DAY_PRECISION_S:
        return False
    if claim.span.contains(stamp):
        days = (local_date(claim.span.last_ns, zone) - local_date(claim.span.start_ns, zone)).days
        return days <= 1
    start = to_datetime(claim.span.start_ns, zone)
    is_hour = claim.span.end_ns - claim.span.start_ns == MINUTE_NS and start.minute == 0
    return is_hour and _distance_ns(claim.span, stamp) < HOUR_NS


def _distance_ns(span: Interval, stamp_ns: int) -> int:
    return max(span.start_ns - stamp_ns, stamp_ns - span.last_ns, 0)
