"""`emv tree`: the history tree, from the whole life down to single events."""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import TYPE_CHECKING, Any

from emv_ros.commands.context import Context, UsageError, positive
from emv_ros.commands.output import amount, plain, tell, write, write_json
from emv_ros.errors import NotFoundError
from emv_ros.records import ID_LETTERS

if TYPE_CHECKING:
    from emv_ros.memory.store import MemoryStore
    from emv_ros.timeline import Interval
    from emv_ros.tree.branches import Branch
    from emv_ros.tree.view import TreeView

PIPE_WIDTH = 160
# Without --level and --depth, as many levels are shown as fit in so many lines.
MAX_LINES = 500
# What has no place in the tree.
APART = ('clip', 'entity', 'query')
EPILOG = """In parentheses: who wrote a summary (template: nobody yet, a model may; model; rule: a
model tried and failed), open (still going on, or not closed yet), how many nodes below are not
shown. ✓ succeeded, ✗ failed, … going on. Exit status 1: nothing is there."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.epilog = EPILOG
    parser.add_argument('id', nargs='?', metavar='ID',
                        help='only what is below this node (n12), or the way from the root to '
                             'this record (s5)')
    parser.add_argument('--day', metavar='TIME',
                        help="only what lies in these days or hours: 2024-06-27, 'June 2024', ...")
    parser.add_argument('--level', type=positive, metavar='N',
                        help='nothing below this level: 2 events, 3 goals, 4 episodes, 8 days, '
                             f'9 weeks (default: what fits in {MAX_LINES} lines)')
    parser.add_argument('--depth', type=positive, metavar='N',
                        help='at most this many steps below the top')
    parser.add_argument('--children', type=positive, metavar='N',
                        help='show at most so many children of a node (default: 50; in JSON all)')
    parser.add_argument('--width', type=positive, metavar='N',
                        help=f'longest line (default: the terminal, else {PIPE_WIDTH})')


def run(args: argparse.Namespace, context: Context) -> int:
    """Show the tree; status 1 where it, or the day, is empty."""
    from emv_ros.memory.queries import Window
    from emv_ros.tree.view import TreeView
    from emv_ros.whens import parse_when

    reference = _reference(args)
    with context.open() as store:
        zone = context.zone(store)
        span = None if args.day is None else parse_when(args.day, context.now_ns(), zone)
        window = Window(robots=context.robots) if span is None else Window(
            robots=context.robots, start_ns=span.start_ns, end_ns=span.end_ns)
        view = TreeView(store, window, zone)
        branches, left_out = _branches(view, args, reference, span, context.as_json)
        if context.as_json:
            write_json([_fields(view, branch) for branch in branches])
        elif branches:
            _write(view, branches, args.width)
        if left_out:
            tell(left_out)
        if not branches:
            tell('emv tree: nothing is in the tree' + (' of that time' if args.day else ''))
        _tell_waiting(store)
    return int(not branches)


def _reference(args: argparse.Namespace) -> tuple[str, int] | None:
    """Return the kind and id that the words name. Raises UsageError for what names none."""
    from emv_ros.memory.details import parse_id

    if args.id is None:
        return None
    reference = parse_id(args.id)
    if reference is None or reference[0] in APART:
        letters = ''.join(letter for kind, letter in ID_LETTERS.items() if kind not in APART)
        raise UsageError(f'{args.id!r} is no id in the tree: a letter of {letters} and a number, '
                         'as n12')
    if args.day is not None:
        raise UsageError('--day does not go together with an id')
    return reference


def _branches(view: TreeView, args: argparse.Namespace, reference: tuple[str, int] | None,
              span: Interval | None, is_whole: bool) -> tuple[list[Branch], str]:
    """Return what is to be shown, and words about levels that were left out by themselves."""
    from emv_ros.tree.branches import grow, way_to
    from emv_ros.tree.render import MAX_CHILDREN

    most = args.children or (None if is_whole else MAX_CHILDREN)
    if reference is not None and reference[0] != 'node':
        return [way_to(view, _node_of(view, *reference), most)], ''
    if reference is not None:
        tops = [view.node(reference[1])]
    elif span is not None:
        tops = view.days(span.start_ns, span.end_ns)
    else:
        tops = [view.root] if view.root.id or view.children(0) else []
    level, left_out = args.level, ''
    if not is_whole and level is None and args.depth is None:
        level, left_out = _fitting_level(view, tops)
    return grow(view, tops, level=level, depth=args.depth, most=most), left_out


def _node_of(view: TreeView, kind: str, ref_id: int) -> int:
    """Return the node that a record belongs to. Raises NotFoundError where there is none."""
    from emv_ros.memory.details import details

    robot = details(view.store, kind, ref_id).robot  # raises where there is no such record
    if view.window.robots and robot not in view.window.robots:
        raise NotFoundError(f'{ID_LETTERS[kind]}{ref_id} is of another robot: {robot}')
    node = view.covering(kind, ref_id)
    if node is None:
        raise NotFoundError(f'{ID_LETTERS[kind]}{ref_id} is not in the tree yet')
    return node.id or 0


def _fitting_level(view: TreeView, tops: list[Any]) -> tuple[int | None, str]:
    """Return the lowest level down to which the nodes fit, None for all, and words about it."""
    from emv_ros.timeline import Interval

    if not tops:
        return None, ''
    highest = max(node.level for node in tops)
    span = Interval(min(node.start_ns for node in tops), max(node.end_ns for node in tops))
    counts = view.level_counts(span)
    levels = sorted((level for level in counts if level < highest), reverse=True)
    lines = len(tops)
    for place, level in enumerate(levels):
        lines += counts[level]
        if place and lines > MAX_LINES:
            left_out = sum(counts[each] for each in levels[place:])
            return levels[place - 1], (
                f'{amount(left_out)} nodes below level {levels[place - 1]} are not shown: '
                '--level 2 shows them, or `emv tree ID` those of a node')
    return None, ''


def _write(view: TreeView, branches: list[Branch], width: int | None) -> None:
    from emv_ros.tree.render import render_branches

    if width is None:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH
    has_many = not view.window.robots and len(view.store.robots()) > 1
    text = render_branches(branches, view.zone, width, tells_robots=has_many)
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        write(' ' * indent + plain(line))


def _fields(view: TreeView, branch: Branch) -> dict[str, Any]:
    """Return a node with those below it; `more` and `below` count what is left out."""
    from emv_ros.timeline import format_rfc3339

    node = branch.node
    return {
        'id': f'n{branch.key}', 'level': node.level, 'robot': node.robot,
        'start': format_rfc3339(node.start_ns, view.zone),
        'end': format_rfc3339(node.end_ns, view.zone), 'name': node.name, 'status': node.status,
        'summary': node.summary, 'made_by': node.made_by, 'is_open': node.is_open,
        'more': branch.more, 'below': branch.below,
        'children': [_fields(view, child) for child in branch.children]}


def _tell_waiting(store: MemoryStore) -> None:
    from emv_ros.tree.consolidate import waiting_records

    waiting = sum(sum(waiting_records(store, robot).values()) for robot in store.robots())
    if waiting:
        tell(f'{amount(waiting)} records are not in the tree yet: run `emv consolidate`')
