"""The tree in lines of text, for a terminal: ids first, local times, outcomes marked."""

from __future__ import annotations

from datetime import date, tzinfo

from emv_ros.records import Node
from emv_ros.timeline import Interval, format_span, to_datetime
from emv_ros.tree.levels import DAY
from emv_ros.tree.texts import clip
from emv_ros.tree.view import TreeView

MARKS = {'succeeded': '✓', 'failed': '✗', 'aborted': '✗', 'canceled': '✗', 'running': '…',
         'preparing': '…'}
MAX_CHILDREN = 500


def render_node(node: Node, zone: tzinfo, with_date: bool = True) -> str:
    """Return a node as one line: id, level, local span, mark of the outcome, text."""
    mark = MARKS.get(node.status, '')
    return ' '.join(part for part in (
        f'n{node.id}' if node.id else 'n0', f'L{node.level}', _when(node, zone, with_date), mark,
        node.summary) if part)


def render_tree(view: TreeView, *, level: int | None = None, day: date | None = None,
                width: int = 100, depth: int | None = None) -> str:
    """Return the tree as indented lines of at most `width` characters.

    `level` leaves out what lies below it, `depth` what lies more steps below the top; `day` shows
    that day alone.
    """
    tops = [view.root] if day is None else view.day(day)
    lines: list[str] = []
    for node in tops:
        _append(view, node, 0, level, depth, width, lines)
    return '\n'.join(lines)


def _append(view: TreeView, node: Node, step: int, level: int | None, depth: int | None,
            width: int, lines: list[str]) -> None:
    indent = '  ' * step
    text = render_node(node, view.zone, with_date=step == 0 or node.level >= DAY)
    lines.append(indent + clip(text, max(30, width - len(indent))))
    if (depth is not None and step >= depth) or (level is not None and node.level <= level):
        return
    children = [child for child in view.children(node.id or 0)
                if level is None or child.level >= level]
    for child in children[:MAX_CHILDREN]:
        _append(view, child, step + 1, level, depth, width, lines)
    if len(children) > MAX_CHILDREN:
        lines.append(f'{indent}  … {len(children) - MAX_CHILDREN} more')


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
