"""Plots of a report: score and tokens against the length of the history, failures by kind.

Drawn by matplotlib without a display; where it is not installed there are none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
import logging
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LENGTH_FILE, FAILURES_FILE = 'score-and-tokens.png', 'failures-by-kind.png'
WIDTH_IN, HEIGHT_IN, ROW_IN, DPI = 11.0, 4.2, 0.32, 100
# Fixed to the category: the same one has the same colour in every plot.
COLOURS = {'partially_correct_missing': '#e3a21a', 'partially_correct_tmi': '#f0c96a',
           'no_answer': '#8a949e', 'wrong': '#c23b2e'}
_LENGTH = re.compile(r'^(\d+) episodes$')

log = logging.getLogger(__name__)


def drawn(report: Mapping[str, Any]) -> dict[str, bytes]:
    """Return PNG files by name; of a report without lengths or without failures fewer."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        log.warning("no plots: matplotlib is not installed (pip install 'emv_ros[plots]')")
        return {}
    found = {}
    lines = lines_of(report)
    if lines:
        figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN), layout='constrained')
        _draw_lengths(figure, lines)
        found[LENGTH_FILE] = _png(figure)
    bars = bars_of(report)
    if bars:
        figure = Figure(figsize=(WIDTH_IN, 1.6 + ROW_IN * len(bars)), layout='constrained')
        _draw_failures(figure.subplots(), bars)
        found[FAILURES_FILE] = _png(figure)
    return found


def lines_of(report: Mapping[str, Any]) -> dict[str, list[tuple[int, Mapping[str, Any]]]]:
    """Return of each model and way its totals by length of history, shortest first."""
    several = len({row['model'] for row in report['totals']}) > 1
    found: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}
    for row in report['totals']:
        if match := _LENGTH.match(row['history']):
            found.setdefault(_label(row, several), []).append((int(match[1]), row))
    return {label: sorted(rows, key=lambda pair: pair[0]) for label, rows in found.items()}


def bars_of(report: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Return of each model, way and kind how many failures of which category it has."""
    several = len({row['model'] for row in report['totals']}) > 1
    found: dict[str, dict[str, int]] = {}
    for row in report['failures']:
        counts = found.setdefault(f'{_label(row, several)}: {row["kind"] or "–"}', {})
        counts[row['category']] = counts.get(row['category'], 0) + 1
    return found


def _label(row: Mapping[str, Any], several: bool) -> str:
    return f'{row["model"]}, {row["way"]}' if several else str(row['way'])


def _draw_lengths(figure: Figure,
                  lines: Mapping[str, Sequence[tuple[int, Mapping[str, Any]]]]) -> None:
    score, tokens = figure.subplots(1, 2)
    for label, rows in lines.items():
        lengths = [length for length, _ in rows]
        known = [(length, row) for length, row in rows if row['s_c'] is not None]
        if known:
            drawn_line, = score.plot([length for length, _ in known],
                                     [100 * row['s_c'] for _, row in known], 'o-', label=label)
            colour = drawn_line.get_color()
            score.fill_between([length for length, _ in known],
                               [100 * row['s_c_95'][0] for _, row in known],
                               [100 * row['s_c_95'][1] for _, row in known],
                               color=colour, alpha=0.12)
            score.plot([length for length, _ in known], [100 * row['s_p'] for _, row in known],
                       'o--', color=colour, markersize=3)
            tokens.plot(lengths, [row['tokens'] for _, row in rows], 'o-', color=colour,
                        label=label)
    score.set_ylabel('right (line), at least in part (dashed) [%]')
    score.set_ylim(0, 100)
    tokens.set_ylabel('tokens of a question, both ways')
    tokens.set_ylim(bottom=0)
    for axis in (score, tokens):
        axis.set_xlabel('episodes of the history')
        axis.grid(alpha=0.3)
    tokens.legend(fontsize=8, frameon=False)


def _draw_failures(axis: Axes, bars: Mapping[str, Mapping[str, int]]) -> None:
    order = sorted(bars, key=lambda label: sum(bars[label].values()))
    left = [0] * len(order)
    for category, colour in COLOURS.items():
        widths = [bars[label].get(category, 0) for label in order]
        if any(widths):
            axis.barh(range(len(order)), widths, left=left, color=colour,
                      label=category.replace('_', ' '))
            left = [at + width for at, width in zip(left, widths, strict=True)]
    axis.set_yticks(range(len(order)), [label.replace('$', r'\$') for label in order], fontsize=8)
    axis.set_xlabel('answers that are not right')
    axis.legend(fontsize=8, frameon=False)
    axis.grid(axis='x', alpha=0.3)
    axis.set_axisbelow(True)


def _png(figure: Figure) -> bytes:
    buffer = BytesIO()
    figure.savefig(buffer, format='png', dpi=DPI)
    return buffer.getvalue()
