"""The command line `emv`: options, verbs, and errors turned into exit statuses.

0 is done, 1 nothing found or failed, 2 bad usage, 130 interrupted, 141 nobody reads the output any
more. A verb's module is imported when the verb is used, so that help comes at once.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
import logging
import os
from pathlib import Path
import sys
import traceback
from typing import Any

from emv_ros import __version__
from emv_ros.commands.context import Context, UsageError, settings_of
from emv_ros.errors import EmvError, SettingsError, TimeExpressionError

# verb: its module in emv_ros.commands, and what it does.
VERBS = {
    'demo': ('demo', 'play a recording over real topics, then ask about it'),
    'run': ('running', 'start the nodes that record and answer (needs ROS 2)'),
    'import': ('importing', 'read bags and experience files into the memory'),
    'ask': ('asking', 'answer a question with evidence'),
    'search': ('searching', 'find moments by words and meaning'),
    'tree': ('tree', 'show the history tree'),
    'show': ('showing', 'show one record, node or question by its id'),
    'events': ('events', 'list the runs of skills'),
    'entities': ('entities', 'list the things and persons that were observed'),
    'biography': ('biography', 'list each time that a thing or person was observed'),
    'consolidate': ('consolidating', 'bring the history tree up to date'),
    'stats': ('stats', 'say what the memory holds'),
    'eval': ('evaluating', 'measure the memory on sets of questions'),
    'doctor': ('doctor', 'check the installation and the memory'),
    'model': ('model', 'fetch the weights of the built-in language model, or tell where they are'),
}

EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED, EXIT_PIPE = 1, 2, 130, 141


class VerbParser(argparse.ArgumentParser):
    """The parser of one verb: it gets its arguments from the verb's module when first used."""

    def __init__(self, *, module: str = '', **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)
        self._module = module

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, with the verb's own arguments."""
        if self._module:
            verb = import_module(f'emv_ros.commands.{self._module}')
            self._module = ''
            verb.add_arguments(self)
            self.set_defaults(run=verb.run)
        return super().parse_known_args(args, namespace)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog='emv', allow_abbrev=False, description='Episodic memory for robots.',
        epilog='`emv VERB --help` tells the arguments of a verb.')
    parser.add_argument('--version', action='version', version=f'emv {__version__}')
    _add_common(parser, is_first=True)
    verbs = parser.add_subparsers(
        dest='verb', metavar='VERB', required=True, parser_class=VerbParser)
    for name, (module, told) in VERBS.items():
        verb = verbs.add_parser(
            name, module=module, help=told, description=f'{told[0].upper()}{told[1:]}.')
        _add_common(verb, is_first=False)
    return parser


def _add_common(parser: argparse.ArgumentParser, is_first: bool) -> None:
    """Add the options that stand before or after the verb; what stands after wins."""
    absent = None if is_first else argparse.SUPPRESS
    options = parser.add_argument_group('common options')
    options.add_argument('--memory', metavar='FOLDER', default=absent,
                         help="the memory's folder (default: $EMV_MEMORY, else ~/.emv)")
    options.add_argument('--robot', metavar='NAME', default=absent, help='the robot that is meant')
    options.add_argument('--config', metavar='FILE', type=Path, default=absent,
                         help='settings as YAML, like config/emv.yaml')
    options.add_argument('--set', metavar='NAME=VALUE', action='append', default=absent,
                         dest='set_before' if is_first else 'set_after',
                         help='change one setting, as in agent.max_rounds=3')
    options.add_argument('--json', action='store_true', default=absent or False,
                         help='write JSON, for programs')
    options.add_argument('-v', '--verbose', action='store_true', default=absent or False,
                         help='tell more, with tracebacks of errors')


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
