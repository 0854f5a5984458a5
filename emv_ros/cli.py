"""The command line `emv`: options, verbs, and errors turned into exit statuses.

0 is done, 1 nothing found or failed, 2 bad usage, 130 interrupted, 141 nobody reads the output any
more. A verb's module is imported when the verb is used, so that help comes at once.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import logging
import os
import sys
import traceback

from emv_ros import __version__
from emv_ros.commands.context import Context, UsageError, settings_of
from emv_ros.commands.parsing import add_common, add_verbs
from emv_ros.errors import EmvError, SettingsError, TimeExpressionError

# verb: its module in emv_ros.commands, and what it does.
VERBS = {
    'demo': ('demo', 'play a recording over real topics, then ask about it'),
    'run': ('running', 'start the nodes that record and answer (needs ROS 2)'),
    'import': ('importing', 'read bags, experience files and exports into the memory'),
    'ask': ('asking', 'answer a question with evidence'),
    'search': ('searching', 'find moments by words and meaning'),
    'tree': ('tree', 'show the history tree'),
    'show': ('showing', 'show one record, node or question by its id'),
    'events': ('events', 'list the runs of skills'),
    'entities': ('entities', 'list the things and persons that were observed'),
    'biography': ('biography', 'list each time that a thing or person was observed'),
    'merge': ('merge', 'tell that several entities are the same thing'),
    'split': ('split', 'tell that some observations of an entity are of another thing'),
    'rename': ('rename', 'tell what a thing or person is called'),
    'reindex': ('reindex', 'make anew which observations are of one thing'),
    'perceive': ('perceive', 'find things in stored pictures: scenes and observations'),
    'forget': ('forgetting', 'take observations and entities out of the memory, for good'),
    'retain': ('retaining', 'let old records make room, as the settings of retention say'),
    'export': ('exporting', 'write the memory, or a part of it, as a folder of files or a bag'),
    'consolidate': ('consolidating', 'bring the history tree up to date'),
    'stats': ('stats', 'say what the memory holds'),
    'eval': ('evaluating', 'measure the memory on sets of questions'),
    'doctor': ('doctor', 'check the installation and the memory'),
    'bench': ('bench', 'measure what this memory costs, on a life that is made up'),
    'model': ('model', 'fetch the weights of the built-in language model, or tell where they are'),
}

EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED, EXIT_PIPE = 1, 2, 130, 141


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog='emv', allow_abbrev=False, description='Episodic memory for robots.',
        epilog='`emv VERB --help` tells the arguments of a verb.')
    parser.add_argument('--version', action='version', version=f'emv {__version__}')
    add_common(parser, is_first=True)
    add_verbs(parser, VERBS, 'verb')
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, 'reconfigure'):  # a character that a terminal lacks must not end it
            stream.reconfigure(errors='backslashreplace')
    try:
        args = make_parser().parse_args(argv)
    except SystemExit as error:  # argparse has said what is wrong, or given help
        return int(error.code or 0)
    is_verbose = bool(args.verbose)
    logging.basicConfig(level=logging.INFO if is_verbose else logging.WARNING,
                        format='%(levelname)s: %(message)s', stream=sys.stderr)
    try:
        status = _run(args)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # What is left in the buffer has no reader either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_PIPE
    except (EmvError, UsageError) as error:
        if is_verbose:
            traceback.print_exc()
        one_line = ' '.join(str(error).split())
        sys.stderr.write(f'emv {args.verb}: {one_line}\n')
        is_usage = isinstance(error, (UsageError, SettingsError, TimeExpressionError))
        return EXIT_USAGE if is_usage else EXIT_FAILED


def _run(args: argparse.Namespace) -> int:
    changes = [*(args.set_before or ()), *getattr(args, 'set_after', ())]
    context = Context(
        settings=settings_of(args.config, changes, args.memory or '', args.robot or ''),
        as_json=bool(args.json), is_verbose=bool(args.verbose), robot=args.robot or '')
    return int(args.run(args, context))


if __name__ == '__main__':
    sys.exit(main())
