"""`emv model`: the weights of the built-in language model."""

from __future__ import annotations

import argparse

from emv_ros.commands.context import Context
from emv_ros.commands.output import Progress, size, tell, write, write_fields, write_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('action', choices=('pull', 'status', 'path'),
                        help='fetch the weights; say what is there; print where they lie')


def run(args: argparse.Namespace, context: Context) -> int:
    """Do what was asked for."""
    return {'pull': _pull, 'status': _status, 'path': _path}[args.action](context)


def _pull(context: Context) -> int:
    from emv_ros.agent.models import weights

    folder = weights.folder(context.settings.model.cache_folder)
    found = weights.find(folder)
    if found is None:
        tell(weights.NOTICE)
        with Progress('weights') as progress:
            found = weights.pull(folder, lambda done, total: progress.update(
                f'{size(done)} of {size(total)} ({done / total:.0%})'))
    if context.as_json:
        write_json({'path': str(found), 'size_bytes': weights.SIZE, 'sha256': weights.SHA256})
    else:
        write(str(found))
    return 0


def _path(context: Context) -> int:
    from emv_ros.agent.models import weights

    folder = weights.folder(context.settings.model.cache_folder)
    found = weights.find(folder)
    if found is None:
        tell(f'emv model: no weights in {folder}; `emv model pull` fetches them')
        return 1
    if context.as_json:
        write_json({'path': str(found)})
    else:
        write(str(found))
    return 0


def _status(context: Context) -> int:
    from emv_ros.agent.models import ModelClient, weights

    settings = context.settings.model
    folder = weights.folder(settings.cache_folder)
    found = weights.find(folder)
    client = ModelClient(settings)
    models = {
        purpose: {'model': client.name(purpose), 'why_unavailable': client.why_unavailable(purpose)}
        for purpose in ('agent', 'summary', 'vision')}
    if context.as_json:
        write_json({'folder': str(folder), 'weights': str(found or ''), 'size_bytes': weights.SIZE,
                    'sha256': weights.SHA256, 'models': models})
    else:
        write_fields({
            'weights': str(found or f'not in {folder}; `emv model pull` fetches '
                                    f'{size(weights.SIZE)}'),
            **{purpose: f'{told["model"] or "none"}: {told["why_unavailable"] or "ready"}'
               for purpose, told in models.items()}})
    return int(bool(models['agent']['why_unavailable']))
