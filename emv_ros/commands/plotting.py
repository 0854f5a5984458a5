"""A picture of the tree and of what it cost: `emv stats --plot FILE`.

Above, for each robot, the nodes of each level over time, coloured by who made them; below, what
consolidations cost in tokens, seconds and calls, by minute, hour, day or week of the robot's time,
with the sum so far. Drawn by matplotlib without a display, into memory first: a file is written
whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta, tzinfo
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emv_ros.commands.context import UsageError
from emv_ros.commands.output import amount, plain
from emv_ros.errors import EmvError
from emv_ros.memory.costs import Cost, NodeSpan, summed
from emv_ros.timeline import (
    HOUR_NS,
    MINUTE_NS,
    SECOND_NS,
    Interval,
    day_span,
    format_span,
    local_date,
    to_datetime,
)
from emv_ros.tree.levels import EPISODE, LEVEL_NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ('png', 'svg')
MAX_ROBOTS = 6
DAY_NS = 24 * HOUR_NS
# Up to so long a life, cost is told by stretches of this length; beyond, by weeks.
STRETCHES = ((3 * HOUR_NS, 'minute'), (3 * DAY_NS, 'hour'), (400 * DAY_NS, 'day'))
WIDTH_IN, TREE_IN, COST_IN, DPI = 12.0, 3.4, 1.9, 100
# Shorter bars are drawn so long, as a share of the whole time; so are gaps between short bars.
SHORTEST = 1 / 700
BY_RECORDS, BY_TEMPLATE, BY_MODEL, BY_RULE = (
    'events and goals, from records', 'text from a template', 'text by a model',
    'left to the rule: the model failed')
COLOURS = {BY_RECORDS: '#8a949e', BY_TEMPLATE: '#e3a21a', BY_MODEL: '#2d6fb5', BY_RULE: '#c23b2e'}
SO_FAR = '#333333'


@dataclass(frozen=True)
class Panel:
    """One account of cost: its axis, and what is stacked in it."""

    axis: str
    parts: tuple[tuple[str, Callable[[Cost], float], str], ...]


PANELS = (
    Panel('model tokens', (('prompt', lambda cost: cost.prompt_tokens, '#2d6fb5'),
                           ('completion', lambda cost: cost.completion_tokens, '#7fb2e5'))),
    Panel('time taken [s]', (('consolidations', lambda cost: cost.duration_s, '#5b8c5a'),)),
    Panel('model calls', (('calls', lambda cost: cost.model_calls, '#8e6bb0'),)),
    Panel('summaries', (('made or changed', lambda cost: cost.summaries - cost.fallbacks,
                         '#d9b26a'),
                        ('left to the rule', lambda cost: cost.fallbacks, '#c23b2e'))))


def format_of(path: Path) -> str:
    """Return the format that the name of a file asks for. Raises UsageError for any other."""
    name = path.suffix.lower().removeprefix('.')
    if name not in FORMATS:
        raise UsageError(f'a plot is written to a file ending in .{" or .".join(FORMATS)}, not '
                         f'{str(path)!r}')
    return name


def plot(path: Path, spans: Sequence[NodeSpan], spent: Sequence[Cost], zone: tzinfo) -> None:
    """Draw the tree and its cost into a file.

    Raises EmvError where there is nothing to draw, matplotlib is missing or the file cannot be
    written.
    """
    kind = format_of(path)
    if not spans:
        raise EmvError('there is nothing to draw: the tree is empty; `emv consolidate` makes it')
    buffer = BytesIO()
    drawn(spans, spent, zone).savefig(buffer, format=kind, dpi=DPI)
    try:
        path.write_bytes(buffer.getvalue())
    except OSError as error:
        raise EmvError(f'cannot write {path}: {error.strerror or error}') from error


def drawn(spans: Sequence[NodeSpan], spent: Sequence[Cost], zone: tzinfo) -> Figure:
    """Return the figure; raises EmvError where matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise EmvError("a plot needs matplotlib, which is not installed: pip install "
                       "'emv_ros[plots]', or python3-matplotlib of your distribution") from error
    robots = sorted({span.robot for span in spans})
    shown = robots[:MAX_ROBOTS]
    life = Interval(min(span.start_ns for span in spans), max(span.end_ns for span in spans))
    panels = PANELS if spent else ()
    heights = [TREE_IN] * len(shown) + [COST_IN] * len(panels)
    figure = Figure(figsize=(WIDTH_IN, sum(heights) + 0.8), layout='constrained')
    axes = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
    for axis, robot in zip(axes, shown, strict=False):
        _draw_tree(axis, [span for span in spans if span.robot == robot], life)
        if len(robots) > 1:
            axis.set_title(_words(robot), loc='left', fontsize=10)
    stretches, unit = _stretches(spent, life, zone)
    whose = f'per {unit}, all robots' if len(robots) > 1 else f'per {unit}'
    for axis, panel in zip(axes[len(shown):], panels, strict=True):
        _draw_cost(axis, panel, stretches, whose, life)
    _draw_dates(axes[-1], life, zone)
    figure.suptitle(_title(spans, spent, life, zone, len(robots)), fontsize=11)
    return figure


# The tree

def _draw_tree(axis: Axes, spans: Sequence[NodeSpan], life: Interval) -> None:
    """Draw a row for each level, the lowest below; what has no length gets the shortest."""
    levels = sorted({span.level for span in spans})
    shortest = max((life.end_ns - life.start_ns) * SHORTEST, SECOND_NS)
    counts: dict[str, int] = {}
    for row, level in enumerate(levels):
        for maker, colour in COLOURS.items():
            here = [span for span in spans if span.level == level and _maker(span) == maker]
            if here:
                counts[maker] = counts.get(maker, 0) + len(here)
                bars = _bars(here, shortest)
                # A white edge parts neighbours; of a short bar it would leave nothing.
                edges = ['white' if end - start > 4 * shortest else colour for start, end in bars]
                axis.broken_barh([(_days(start), _days(end) - _days(start)) for start, end in bars],
                                 (row - 0.36, 0.72), facecolors=colour, edgecolors=edges,
                                 linewidth=0.4)
    axis.set_yticks(range(len(levels)), [
        f'L{level} {LEVEL_NAMES.get(level, "")} ({amount(_number(spans, level))})'
        for level in levels], fontsize=9)
    axis.set_ylim(-0.6, len(levels) - 0.4)
    axis.set_ylabel('level (nodes)')
    axis.grid(axis='x', alpha=0.3)
    axis.set_axisbelow(True)
    _legend(axis, [(f'{maker} ({amount(count)})', COLOURS[maker])
                   for maker, count in counts.items()])


def _maker(span: NodeSpan) -> str:
    if span.level < EPISODE:
        return BY_RECORDS
    return {'model': BY_MODEL, 'rule': BY_RULE}.get(span.made_by, BY_TEMPLATE)


def _number(spans: Iterable[NodeSpan], level: int) -> int:
    return sum(span.level == level for span in spans)


def _bars(spans: Sequence[NodeSpan], shortest: float) -> list[tuple[float, float]]:
    """Return where bars begin and end; short ones that touch are drawn as one."""
    bars: list[tuple[float, float]] = []
    for span in spans:
        start, end = float(span.start_ns), max(span.end_ns, span.start_ns + shortest)
        is_short = end - start < 4 * shortest
        if bars and is_short and start <= bars[-1][1] + shortest / 4:
            bars[-1] = bars[-1][0], max(end, bars[-1][1])
        else:
            bars.append((start, end))
    return bars


# Its cost

def _stretches(spent: Sequence[Cost], life: Interval,
               zone: tzinfo) -> tuple[list[tuple[Interval, Cost]], str]:
    """Return the sums of each stretch of time in which consolidations had work, and its name."""
    length_ns = life.end_ns - life.start_ns
    unit = next((name for most_ns, name in STRETCHES if length_ns <= most_ns), 'week')
    found: dict[Interval, list[Cost]] = {}
    for item in spent:
        found.setdefault(_stretch(item.up_to_ns, unit, zone), []).append(item)
    return [(span, summed(found[span])) for span in
            sorted(found, key=lambda span: span.start_ns)], unit


def _stretch(stamp_ns: int, unit: str, zone: tzinfo) -> Interval:
    if unit in ('minute', 'hour'):
        length_ns = MINUTE_NS if unit == 'minute' else HOUR_NS
        start_ns = stamp_ns - stamp_ns % length_ns
        return Interval(start_ns, start_ns + length_ns)
    day = local_date(stamp_ns, zone)
    if unit == 'week':
        return day_span(day - timedelta(days=day.weekday()), zone, days=7)
    return day_span(day, zone)


def _draw_cost(axis: Axes, panel: Panel, stretches: Sequence[tuple[Interval, Cost]], whose: str,
               life: Interval) -> None:
    """Draw stacked bars, and the sum so far as a line over the axis at the right."""
    starts = [_days(span.start_ns) for span, _ in stretches]
    widths = [_days(span.end_ns) - _days(span.start_ns) for span, _ in stretches]
    heights = [0.0] * len(stretches)
    for name, value, colour in panel.parts:
        values = [float(value(cost)) for _, cost in stretches]
        axis.bar(starts, values, width=widths, bottom=heights, align='edge', color=colour,
                 label=name, edgecolor='white', linewidth=0.3)
        heights = [low + value for low, value in zip(heights, values, strict=True)]
    axis.set_ylabel(f'{panel.axis}\n{whose}', fontsize=9)
    axis.grid(alpha=0.3)
    axis.set_axisbelow(True)
    axis.set_ylim(0, max(heights, default=0) * 1.12 or 1)
    if not any(heights):
        axis.text(0.5, 0.5, 'none', transform=axis.transAxes, ha='center', va='center',
                  color='#777777')
        axis.set_yticks([])
        return
    _draw_sum(axis, starts, widths, heights, life)
    _legend(axis, [(name, colour) for name, _, colour in panel.parts])


def _draw_sum(axis: Axes, starts: Sequence[float], widths: Sequence[float],
              heights: Sequence[float], life: Interval) -> None:
    so_far, total = [0.0], 0.0
    for height in heights:
        total += height
        so_far.append(total)
    ends = [start + width for start, width in zip(starts, widths, strict=True)]
    right = axis.twinx()
    right.step([min(starts[0], _days(life.start_ns)), *ends], so_far, where='post', color=SO_FAR,
               linewidth=1.2)
    right.set_ylabel('sum so far', fontsize=9, color=SO_FAR)
    right.set_ylim(0, total * 1.12)
    for each in (axis, right):
        each.yaxis.set_major_formatter(
            lambda value, _: amount(value) if value >= 10 else f'{value:g}')


# Words and axes

def _draw_dates(axis: Axes, life: Interval, zone: tzinfo) -> None:
    """Name the local dates below the lowest panel, which shares its axis with all."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(tz=zone, minticks=4, maxticks=10)
    axis.xaxis.set_major_locator(locator)
    # Years, months, days, hours, minutes, seconds; and what the first of each is called.
    axis.xaxis.set_major_formatter(ConciseDateFormatter(
        locator, tz=zone, show_offset=False,
        formats=['%Y', '%Y-%m', '%m-%d', '%H:%M', '%H:%M', '%H:%M:%S'],
        zero_formats=['', '%Y', '%Y-%m-%d', '%Y-%m-%d', '%H:%M', '%H:%M']))
    axis.set_xlabel(f'local time from {local_date(life.start_ns, zone)} '
                    f'({_zone_words(life, zone)})')


def _zone_words(life: Interval, zone: tzinfo) -> str:
    first, last = (to_datetime(stamp, zone).tzname() or str(zone)
                   for stamp in (life.start_ns, life.end_ns))
    return _words(first if first == last else f'{first}, {last}')


def _title(spans: Sequence[NodeSpan], spent: Sequence[Cost], life: Interval, zone: tzinfo,
           robots: int) -> str:
    told = [f'{amount(len(spans))} nodes']
    if robots > 1:
        told.append(f'{robots} robots' if robots <= MAX_ROBOTS else
                    f'{robots} robots, of which {MAX_ROBOTS} are drawn')
    if not spent:
        told.append('no consolidation is on record')
    else:
        total = summed(spent)
        told += [f'{amount(total.consolidations)} consolidations in {total.duration_s:,.1f} s',
                 f'{amount(total.model_calls)} model calls',
                 f'{amount(total.prompt_tokens)} + {amount(total.completion_tokens)} tokens']
        if total.cost:
            told.append(f'{total.cost:.4f} USD')
    return f'The tree of {format_span(life, zone)} and its cost\n{", ".join(told)}'


def _legend(axis: Axes, entries: Sequence[tuple[str, str]]) -> None:
    """Put a legend above the panel, where it hides nothing."""
    from matplotlib.patches import Patch

    handles: list[Any] = [Patch(color=colour, label=label) for label, colour in entries]
    axis.legend(handles=handles, loc='lower right', bbox_to_anchor=(1.0, 1.0), frameon=False,
                ncols=len(handles), fontsize=8, borderaxespad=0.1, handlelength=1.2)


def _words(text: str) -> str:
    """Return recorded text for a label: what would be read as a formula is not."""
    return plain(text).replace('$', r'\$')


def _days(stamp_ns: float) -> float:
    """Return a stamp as matplotlib counts: days since 1970, UTC."""
    return stamp_ns / DAY_NS
