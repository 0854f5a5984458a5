"""`emv bench`: measurements, each a verb of its own."""

from __future__ import annotations

import argparse

from emv_ros.commands.parsing import add_verbs

# name: its module in emv_ros.commands, and what it measures.
BENCHES = {
    'biography': ('bench_biography', 'what it costs to tell whose an observation is as a life '
                  'grows, beside comparing it with all'),
    'consolidate': ('bench_consolidate',
                    'what a day of consolidation costs while a life grows to 100 days'),
    'faults': ('bench_faults', 'faults that robots meet, repeated at random moments, and what each '
               'costs'),
    'ingest': ('bench_ingest', "a robot's full rate over DDS: what is lost, lag, processor time "
               'and memory, beside a plain recorder'),
    'perception': ('bench_perception', 'pictures a second through detection, tracking and looks, '
                   'and what each stage costs'),
    'search': ('bench_search', 'how long a search takes in a life of months, beside other walks'),
    'summaries': ('bench_summaries',
                  'how well the model writes the summaries of this memory, on a copy of it'),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the benches."""
    add_verbs(parser, BENCHES, 'bench')
