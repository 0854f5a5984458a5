"""The lag from stamp to commit, by hand."""

from __future__ import annotations

import math

from emv_ros.nodes.lag import LagMeter
from emv_ros.records import Utterance
from emv_ros.timeline import SECOND_NS


def said(second):
    return Utterance(stamp_ns=round(second * SECOND_NS), speaker='Ada', text='Hello')


def test_the_longest_counts_and_other_clocks_do_not():
    now = [1000.0]
    meter = LagMeter(lambda: round(now[0] * SECOND_NS), 30.0)
    assert math.isnan(meter.longest_s)
    for record in (said(999.9), said(5.0), said(1000.2), said(998.0)):
        meter.received(record)
    now[0] = 1000.5
    meter.committed([said(999.9), said(5.0), said(1000.2)])
    assert meter.longest_s == 0.6
    now[0] = 1040.0  # the database was locked: late, and by our clock
    meter.committed([said(998.0)])
    assert meter.longest_s == 42.0


def test_records_of_one_stamp_of_another_clock_make_no_lag():
    meter = LagMeter(lambda: 1000 * SECOND_NS, 30.0)
    for _ in range(3):
        meter.received(said(5.0))
    meter.committed([said(5.0), said(5.0)])
    meter.committed([said(5.0)])
    assert math.isnan(meter.longest_s)


def test_in_simulated_time_there_is_none():
    meter = LagMeter(None, 30.0)
    meter.received(said(1.0))
    meter.committed([said(1.0)])
    assert math.isnan(meter.longest_s)
