"""What a run was made with (`run.json`): results of other settings are not mixed with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import hashlib
import json
from pathlib import Path
from typing import Any

from emv_ros import __version__
from emv_ros.agent.models import weights
from emv_ros.agent.prompt import VERSION, fixed_messages
from emv_ros.errors import EmvError
from emv_ros.evaluation.answering.results import FILE
from emv_ros.evaluation.questions import AskedQuestion
from emv_ros.settings import Settings, walk

ACCOUNT = 'run.json'
# What changes where results lie or how long they take, or stands in each result itself.
_NOT_COUNTED = frozenset((
    'memory.folder', 'memory.url', 'memory.busy_timeout_s', 'model.model', 'model.threads',
    'model.cache_folder', 'agent.parallel_questions', 'model.api_key_env'))


def account_of(settings: Settings, sets: Mapping[str, Iterable[AskedQuestion]],
               memories: Mapping[str, str] | None = None,
               robots: Sequence[str] = ()) -> dict[str, Any]:
    """Return what results depend on, besides way, model and question.

    `memories` tells of each set what its memory is, `robots` whose records are asked.
    """
    prompt = json.dumps(fixed_messages(), sort_keys=True)
    return {
        'version': __version__, 'weights': weights.SHA256,
        'prompt': f'{VERSION} {_digest(prompt)}',
        'settings': {name: _value(settings, name) for name, _ in walk()
                     if name not in _NOT_COUNTED},
        'robots': list(robots), 'memories': dict(memories or {}),
        'questions': {name: {question.id: _digest(repr(question)) for question in questions}
                      for name, questions in sets.items()}}


def check_account(folder: Path, account: Mapping[str, Any], again: bool = False) -> None:
    """Write the account of a run, which goes on with one that was made alike.

    `again`: results that are there are put aside, as `results-1.jsonl` and so on. Raises EmvError,
    naming what differs, where they were made otherwise.
    """
    path = folder / ACCOUNT
    if again:
        _put_aside(folder)
    before = {} if again else _read(path)
    if differences := _differences(before, account):
        raise EmvError(f'the results in {folder} were made otherwise: {"; ".join(differences)}. '
                       'Name another --out, or --again to begin anew')
    known = before.get('questions', {})
    kept = {**account, 'memories': before.get('memories', {}) | account['memories'],
            'questions': known | {
        name: known.get(name, {}) | questions
        for name, questions in account['questions'].items()}}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f'{ACCOUNT}.part')  # a full disk leaves what was there before
        part.write_text(json.dumps(kept, ensure_ascii=False, indent=1) + '\n', 'utf-8')
        part.replace(path)
    except OSError as error:
        raise EmvError(f'cannot write {path}: {error.strerror or error}') from error


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text('utf-8')) if path.exists() else {}
    except (OSError, ValueError) as error:
        raise EmvError(f'cannot read {path}: {error}. Name another --out, or --again to begin '
                       'anew') from error
    if not isinstance(content, dict):
        raise EmvError(f'{path} is no account of a run')
    return content


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return what differs, by name; of questions only those that both have."""
    if not before:
        return []
    found = [f'{name} was {before.get(name)!r}, is {now[name]!r}'
             for name in ('version', 'weights', 'prompt') if before.get(name) != now[name]]
    for name, value in now['settings'].items():
        was = before.get('settings', {}).get(name)
        if was != value:
            found.append(f'{name} was {was!r}, is {value!r}')
    if before.get('robots', now['robots']) != now['robots']:
        found.append(f'robots was {before["robots"]!r}, is {now["robots"]!r}')
    found += [f'the memory of {name} was {was}, is {memory}'
              for name, memory in now['memories'].items()
              if (was := before.get('memories', {}).get(name, memory)) != memory]
    for name, questions in now['questions'].items():
        known = before.get('questions', {}).get(name, {})
        if changed := [key for key, digest in questions.items()
                       if known.get(key, digest) != digest]:
            found.append(f'{name} asked something else as {changed[0]!r}')
    return found


def _put_aside(folder: Path) -> None:
    results = folder / FILE
    if not results.exists():
        return
    number = 1
    while (aside := folder / f'results-{number}.jsonl').exists():
        number += 1
    try:
        results.rename(aside)
    except OSError as error:
        raise EmvError(f'cannot put {results} aside: {error.strerror or error}') from error


def _value(settings: Settings, name: str) -> Any:
    area, _, key = name.partition('.')
    return getattr(getattr(settings, area), key)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]
