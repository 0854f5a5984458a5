"""What `emv merge`, `emv split` and `emv rename` share: who says it and why, ids, the result."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import getpass
from typing import TYPE_CHECKING

from emv_ros.commands.context import Context, UsageError
from emv_ros.commands.output import plain, write, write_json
from emv_ros.records import ID_LETTERS

if TYPE_CHECKING:
    from emv_ros.biography.corrections import Correction


def add_told(parser: argparse.ArgumentParser) -> None:
    """Add --reason and --author."""
    parser.add_argument('--reason', default='', metavar='TEXT', help='why, in words')
    parser.add_argument('--author', default=None, metavar='NAME',
                        help='who says so (default: the user of this system)')


def author_of(args: argparse.Namespace) -> str:
    """Return who says so: as given, else the user of the system, '' where it has no name."""
    if args.author is not None:
        return str(args.author)
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a number without a name, as in some containers
        return ''


def ids_of(texts: Sequence[str], kind: str) -> list[int]:
    """Return the numbers of shown ids of one kind. Raises UsageError for what is none."""
    from emv_ros.memory.details import parse_id

    found = []
    for text in texts:
        parsed = parse_id(text)
        if parsed is None or parsed[0] != kind:
            raise UsageError(f'{text!r} is no id of an {kind}: it is the letter '
                             f'{ID_LETTERS[kind]} and a number, as {ID_LETTERS[kind]}3')
        found.append(parsed[1])
    return found


def show(done: Correction, context: Context) -> int:
    """Write what came of a correction; the status is 0, also where it was so already."""
    if context.as_json:
        write_json({'entities': [f'{ID_LETTERS["entity"]}{key}' for key in done.entities],
                    'changed': done.is_new, 'message': done.message,
                    'verdicts': list(done.verdicts), 'names': list(done.namings)})
    else:
        write(plain(done.message))
    return 0
