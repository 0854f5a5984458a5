"""The tree in lines of text, for a terminal: ids first, local times, outcomes and makers marked.

In parentheses behind the time stands what a reader should know of a node: its robot where there
are several; who wrote the text of a summary; that it may still change; how many parts of it are
not shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, tzinfo

from emv_ros.records import Node
from emv_ros.timeline import Interval, format_span, local_date, to_datetime
from emv_ros.tree.branches import Branch, grow
from emv_ros.tree.cells import clipped
from emv_ros.tree.levels import DAY, EPISODE
from emv_ros.tree.view import TreeView

MARKS = {'succeeded': '✓', 'failed': '✗', 'aborted': '✗', 'canceled': '✗', 'running': '…',
         'preparing': '…'}
# Who wrote the text of a summary; 'rule' is a template that stands since the model failed.
MAKERS = {'calendar': 'template', 'rule': 'rule', 'model': 'model'}
MAX_CHILDREN = 50
STEP = '  '
# So much of a line is left for its text, however deep the node lies.
TEXT_SHARE = 1 / 2


def render_node(node: Node, zone: tzinfo, with_date: bool = True, notes: Sequence[str] = ()) -> str:
    """Return a node as one line: id, level, local span, notes, mark of the outcome, text."""
    noted = f'({", ".join(notes)})' if notes else ''
    text = ' '.join(node.summary.split())
    return ' '.join(part for part in (
        f'n{node.id or 0}', f'L{node.level}', _when(node, zone, with_date), noted,
        MARKS.get(node.status, ''), text) if part)


def render_tree(view: TreeView, *, tops: Sequence[Node] | None = None, level: int | None = None,
                width: int = 100, depth: int | None = None, most: int = MAX_CHILDREN) -> str:
    """Return what is below some nodes (default: the root) as lines of at most `width` cells.

    `level` leaves out what lies below it, `depth` what lies more steps below the top, `most` all
    but so many children of a node.
    """
    return render_branches(
        grow(view, [view.root] if tops is None else tops, level=level, depth=depth, most=most),
        view.zone, width)


def render_branches(branches: Sequence[Branch], zone: tzinfo, width: int = 100, *,
                    tells_robots: bool = False) -> str:
    """Return branches as indented lines of at most `width` cells.

    Where there are several robots among nodes side by side, each line names its own; so do, with
    `tells_robots`, the topmost lines.
    """
    lines: list[str] = []
    is_mixed = tells_robots or len({branch.node.robot for branch in branches}) > 1
    for branch in branches:
        _append(branch, 0, None, is_mixed, zone, width, lines)
    return '\n'.join(lines)


def _append(branch: Branch, step: int, day: date | None, tells_robot: bool, zone: tzinfo,
            width: int, lines: list[str]) -> None:
    node = branch.node
    indent = (STEP * step)[:int(width * (1 - TEXT_SHARE))]
    begins = local_date(node.start_ns, zone)
    line = render_node(node, zone, with_date=node.level >= DAY or begins != day,
                       notes=_notes(branch, tells_robot))
    lines.append(indent + clipped(line, width - len(indent)))
    is_mixed = len({child.node.robot for child in branch.children}) > 1
    for child in branch.children:
        _append(child, step + 1, begins, is_mixed, zone, width, lines)
    if branch.more:
        all_of_it = f'emv tree n{branch.key} --children {len(branch.children) + branch.more}'
        lines.append(indent + clipped(f'{STEP}… {branch.more} more: {all_of_it}',
                                      width - len(indent)))


def _notes(branch: Branch, tells_robot: bool) -> list[str]:
    node = branch.node
    return [note for note in (
        node.robot if tells_robot else '',
        MAKERS.get(node.made_by, node.made_by) if node.id and node.level >= EPISODE else '',
        'open' if node.is_open else '',
        f'{branch.below} below' if branch.below else '') if note]


def _when(node: Node, zone: tzinfo, with_date: bool) -> str:
    if not node.id and not node.end_ns:
        return ''
    span = Interval(node.start_ns, node.end_ns)
    if with_date:
        return format_span(span, zone)
    start, end = to_datetime(node.start_ns, zone), to_datetime(node.end_ns, zone)
    if start.replace(microsecond=0) == end.replace(microsecond=0):
        return f'{start:%H:%M:%S}'
    if start.date() == end.date():
        return f'{start:%H:%M:%S} to {end:%H:%M:%S}'
    return f'{start:%H:%M:%S} to {end:%Y-%m-%d %H:%M:%S}'
