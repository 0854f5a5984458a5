"""Parsers of verbs: each gets its arguments from its module when it is first used.

So that help comes at once, and no verb pays for what another one imports.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any


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
            if hasattr(verb, 'run'):  # else it has verbs of its own, which do the work
                self.set_defaults(run=verb.run)
        return super().parse_known_args(args, namespace)


def add_verbs(parser: argparse.ArgumentParser, verbs: Mapping[str, tuple[str, str]],
              dest: str) -> None:
    """Add verbs {name: (module in emv_ros.commands, what it does)}; their name goes to `dest`."""
    choices = parser.add_subparsers(
        dest=dest, metavar=dest.upper(), required=True, parser_class=VerbParser)
    for name, (module, told) in verbs.items():
        verb = choices.add_parser(
            name, module=module, help=told, description=f'{told[0].upper()}{told[1:]}.')
        add_common(verb, is_first=False)


def add_common(parser: argparse.ArgumentParser, is_first: bool) -> None:
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
