"""`emv entities calibrate`: a person says what is the same thing, and thresholds follow."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path
import sys
from typing import TYPE_CHECKING

from emv_ros.commands.context import Context, UsageError, positive
from emv_ros.commands.output import tell, write, write_json, write_table

if TYPE_CHECKING:
    from emv_ros.biography.calibration import Pair
    from emv_ros.memory.store import MemoryStore

VERB = 'emv entities calibrate'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that only calibration has."""
    group = parser.add_argument_group('for calibrate')
    group.add_argument('--pairs', type=positive, default=24, metavar='N',
                       help='pairs that are shown (default 24)')
    group.add_argument('--html', type=Path, metavar='FILE', help='write a page with the pairs')
    group.add_argument('--png', type=Path, metavar='FILE', help='write a sheet with the pairs')
    group.add_argument('--same', default='', metavar='NUMBERS',
                       help='pairs shown before that are one thing, as in 1,4')
    group.add_argument('--different', default='', metavar='NUMBERS',
                       help='pairs shown before that are two things')
    group.add_argument('--ask', action='store_true', help='ask for each pair at the terminal')
    group.add_argument('--write', action='store_true',
                       help='keep what is proposed: association uses it from now on')


def run(args: argparse.Namespace, context: Context) -> int:
    """Show pairs, or take what was said of them; status 1 where there are none."""
    from emv_ros.biography import calibration

    told = {**_numbers(args.same, True), **_numbers(args.different, False)}
    if len(told) < len(_numbers(args.same, True)) + len(_numbers(args.different, False)):
        raise UsageError('a pair cannot be both the same and different')
    with context.open() as store:
        model = calibration.model_of(store, context.robot)
        if not model:
            tell(f'{VERB}: no observation here has looks: it takes pictures, a model of looks '
                 '(perception.appearance) and `emv perceive`')
            return 1
        limits = _limits(store, model, context)
        pairs = calibration.shown(store, model) if told else []
        if not pairs:
            if told:
                raise UsageError(f'no pairs were shown yet: run {VERB} first')
            pairs = calibration.sample(store, context.robot, model, limits, args.pairs)
            calibration.keep_shown(store, model, pairs)
        if not pairs:
            tell(f'{VERB}: no two observations of different clips look alike enough to ask about')
            return 1
        if not told:
            _show(store, pairs, limits, args, context)
            told = _asked(pairs) if args.ask else {}
        return _propose(store, model, pairs, told, limits, args, context)


def _limits(store: MemoryStore, model: str, context: Context) -> tuple[float, float]:
    from emv_ros.biography.rules import thresholds_of
    from emv_ros.perception.appearance import EfficientNetLooks

    looks = EfficientNetLooks()
    own = looks.thresholds if model == looks.name else None
    with store.reading() as session:
        return thresholds_of(session, model, context.settings.biography,
                             (own.match, own.consistent) if own else None)


def _show(store: MemoryStore, pairs: list[Pair], limits: tuple[float, float],
          args: argparse.Namespace, context: Context) -> None:
    from emv_ros.biography.calibration_page import crops_of, page, sheet

    if args.html or args.png:
        crops = crops_of(store, pairs)
        if not crops:
            tell('note: of none of these observations a picture can be read')
        if args.html:
            args.html.write_text(page(store, pairs, crops, limits, context.zone(store)),
                                 encoding='utf-8')
            tell(f'{args.html} shows {len(pairs)} pairs')
        if args.png:
            args.png.write_bytes(sheet(pairs, crops))
            tell(f'{args.png} shows {len(pairs)} pairs')
    if context.as_json:
        return
    write_table(('pair', 'cosine', 'observations', 'names'), [
        (str(number), f'{pair.cosine:.3f}', f'o{pair.first_id} o{pair.second_id}',
         ' / '.join(store.get('observation', key).name
                    for key in (pair.first_id, pair.second_id)))
        for number, pair in enumerate(pairs, 1)])


def _asked(pairs: list[Pair]) -> dict[int, bool]:
    """Ask for each pair; an empty answer passes it over, and the end of input ends it."""
    told: dict[int, bool] = {}
    for number, pair in enumerate(pairs, 1):
        sys.stderr.write(f'{number} (o{pair.first_id} o{pair.second_id}, {pair.cosine:.3f}): '
                         'the same thing? [y/n, Enter: pass over] ')
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            break
        if line.strip().lower() in ('y', 'yes', 'n', 'no'):
            told[number] = line.strip().lower().startswith('y')
    return told


def _propose(store: MemoryStore, model: str, pairs: list[Pair], told: dict[int, bool],
             limits: tuple[float, float], args: argparse.Namespace, context: Context) -> int:
    from emv_ros.biography.calibration import keep, propose
    from emv_ros.biography.calibration_groups import likeness_of, propose_group
    from emv_ros.biography.rules import group_similarity_of

    if not told:
        if args.write:
            raise UsageError('--write needs what was said: --same, --different or --ask')
        if context.as_json:
            write_json({'model': model, 'match': limits[0], 'consistent': limits[1],
                        'pairs': [asdict(pair) for pair in pairs]})
        return 0
    try:
        proposal = propose(pairs, told, limits)
    except ValueError as error:
        raise UsageError(str(error)) from error
    with store.reading() as session:
        group = group_similarity_of(session, model, context.settings.biography)
    proposal = replace(proposal, group=propose_group(
        likeness_of(store, context.robot, model, pairs,
                    (proposal.match + proposal.consistent) / 2), told, group))
    if args.write:
        keep(store, model, proposal)
    if context.as_json:
        write_json({'model': model, 'is_kept': args.write, **asdict(proposal)})
        return 0
    write(f'{model}: match {proposal.match:g} (was {limits[0]:g}), consistent '
          f'{proposal.consistent:g} (was {limits[1]:g}), by {proposal.same} pairs that are the '
          f'same and {proposal.different} that are not')
    if proposal.group:
        write(f'group {proposal.group:g} (was {group:g}), by those that are of two entities now')
    write('Kept: new observations are associated so.' if args.write else
          'Nothing is kept yet: add --write.')
    return 0


def _numbers(text: str, value: bool) -> dict[int, bool]:
    try:
        return {int(part): value for part in text.replace(',', ' ').split()}
    except ValueError as error:
        raise UsageError(f'{text!r} are no numbers of pairs') from error
