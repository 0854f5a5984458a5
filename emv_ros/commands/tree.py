"""`emv tree`: the history tree, from the whole life down to single events."""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import TYPE_CHECKING, Any

from emv_ros.commands.context import Context, positive
from emv_ros.commands.output import amount, plain, tell, write, write_json

if TYPE_CHECKING:
    from emv_ros.memory.store import MemoryStore
    from emv_ros.records import Node
    from emv_ros.timeline import Interval
    from emv_ros.tree.view import TreeView

PIPE_WIDTH = 160


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('--day', metavar='TIME', help='only these days: 2024-06-27, yesterday, ...')
    parser.add_argument('--level', type=positive, metavar='N',
                        help='nothing below this level: 2 events, 3 goals, 8 days, 9 weeks')
    parser.add_argument('--depth', type=positive, metavar='N',
                        help='at most this many steps below the top')
    parser.add_argument('--width', type=positive, metavar='N',
                        help=f'longest line (default: the terminal, else {PIPE_WIDTH})')


def run(args: argparse.Namespace, context: Context) -> int:
    """Show the tree; status 1 where it, or the day, is empty."""
    from emv_ros.memory.queries import Window
    from emv_ros.tree.render import render_tree
    from emv_ros.tree.view import TreeView
    from emv_ros.whens import parse_when

    is_empty = True
    with context.open() as store:
        zone = context.zone(store)
        view = TreeView(store, Window(robots=context.robots), zone)
        span = None if args.day is None else parse_when(args.day, context.now_ns(), zone)
        nodes = _tops(view, span)
        is_empty = not nodes
        if context.as_json:
            write_json([_fields(view, node, args.level, args.depth) for node in nodes])
        elif nodes:
            width = args.width or (
                shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH)
            shown = {'level': args.level, 'depth': args.depth, 'width': width}
            texts = ([render_tree(view, **shown)] if span is None else
                     [render_tree(view, day=day, **shown) for day in _days(nodes, view)])
            for line in '\n'.join(texts).splitlines():
                indent = len(line) - len(line.lstrip())
                write(' ' * indent + plain(line))
        if is_empty:
            tell('emv tree: nothing is in the tree' + (' of that time' if args.day else ''))
        _tell_waiting(store)
    return int(is_empty)


def _tops(view: TreeView, span: Interval | None) -> list[Node]:
    """Return the root where it holds something, or the days of the span."""
    if span is not None:
        return [node for node in view.days(span.start_ns, span.end_ns)
                if span.contains(node.start_ns)]
    root = view.root
    return [root] if root.id or view.children(0) else []


def _days(nodes: list[Node], view: TreeView) -> list[Any]:
    from emv_ros.timeline import local_date

    return list(dict.fromkeys(local_date(node.start_ns, view.zone) for node in nodes))


def _fields(view: TreeView, node: Node, level: int | None, depth: int | None) -> dict[str, Any]:
    """Return a node with those below it."""
    from emv_ros.timeline import format_rfc3339

    children = []
    if depth != 0 and (level is None or node.level > level):
        children = [child for child in view.children(node.id or 0)
                    if level is None or child.level >= level]
    return {
        'id': f'n{node.id or 0}', 'level': node.level, 'robot': node.robot,
        'start': format_rfc3339(node.start_ns, view.zone),
        'end': format_rfc3339(node.end_ns, view.zone), 'name': node.name, 'status': node.status,
        'summary': node.summary, 'made_by': node.made_by, 'is_open': node.is_open,
        'children': [_fields(view, child, level, None if depth is None else depth - 1)
                     for child in children]}


def _tell_waiting(store: MemoryStore) -> None:
    from emv_ros.tree.consolidate import waiting_records

    waiting = sum(sum(waiting_records(store, robot).values()) for robot in store.robots())
    if waiting:
        tell(f'{amount(waiting)} records are not in the tree yet: run `emv consolidate`')
