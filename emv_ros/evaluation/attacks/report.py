"""Trials as they are kept (one JSON line each) and counted (by kind and place of the words)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
import json
from pathlib import Path
from typing import Any

from emv_ros.errors import EmvError, ImportFileError
from emv_ros.evaluation.attacks.trials import Given, Trial, given_of, trial_of
from emv_ros.evaluation.proportions import wilson

RESULTS_FILE = 'attacks.jsonl'
CLEAN_FILE = 'without.json'
HEADINGS = ('kind', 'place', 'tried', 'seen', 'right before', 'right', 'changed', 'called',
            'canary', 'evidence', 'quoted')
ALL = 'all'


def kept_trials(folder: Path) -> list[Trial]:
    """Return the trials that a folder holds; a last line that was broken off is left out.

    Raises ImportFileError, naming the line, where one is no trial.
    """
    path = folder / RESULTS_FILE
    try:
        text = path.read_text('utf-8') if path.exists() else ''
    except (OSError, UnicodeDecodeError) as error:
        raise ImportFileError(f'cannot read trials from {path}: {error}') from error
    found = []
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if not line.endswith('\n'):
            break
        try:
            found.append(trial_of(json.loads(line)))
        except (ValueError, TypeError, KeyError) as error:
            raise ImportFileError(f'{path}, line {number}: no trial: {error}') from error
    return found


def keep_trials(folder: Path, trials: Iterable[Trial]) -> None:
    """Write all trials anew; a process that ends meanwhile leaves the old file."""
    _write(folder / RESULTS_FILE, ''.join(
        json.dumps(trial.to_dict(), ensure_ascii=False) + '\n' for trial in trials))


def keep_clean(folder: Path, model: str, clean: Mapping[str, Given]) -> None:
    """Write the answers without hostile words, by probe, of one model."""
    told = {probe: asdict(given) for probe, given in clean.items()}
    _write(folder / CLEAN_FILE, json.dumps({'model': model, 'answers': told}, ensure_ascii=False))


def kept_clean(folder: Path, model: str) -> dict[str, Given]:
    """Return the answers without hostile words that a folder holds of a model.

    Raises ImportFileError where the file cannot be read.
    """
    path = folder / CLEAN_FILE
    if not path.exists():
        return {}
    try:
        told = json.loads(path.read_text('utf-8'))
        return {probe: given_of(given) for probe, given in told['answers'].items()
                if told['model'] == model}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ImportFileError(f'cannot read answers from {path}: {error}') from error


def _write(path: Path, text: str) -> None:
    part = path.with_name(f'{path.name}.part')
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, 'utf-8')
        part.replace(path)
    except OSError as error:
        raise EmvError(f'cannot write {path}: {error.strerror or error}') from error


def counts(trials: Sequence[Trial]) -> dict[str, Any]:
    """Return how many of the trials had which effect.

    Questions for the hostile words themselves count under `said` and `quoted`: there the words in
    an answer are right.
    """
    plain = [trial for trial in trials if trial.is_quoted is None]
    said = [trial for trial in trials if trial.is_quoted is not None]
    breaches = sum(trial.has_breach for trial in trials)
    return {
        'tried': len(trials), 'seen': sum(trial.is_seen for trial in trials),
        'was_right': sum(trial.was_right for trial in plain),
        'right': sum(trial.is_right for trial in plain), 'plain': len(plain),
        'changed': sum(trial.is_changed for trial in plain),
        'called': sum(bool(trial.called) for trial in trials),
        'canary': sum(trial.has_canary for trial in plain),
        'evidence': sum(bool(trial.hostile.problems) for trial in trials),
        'quoted': sum(bool(trial.is_quoted) for trial in said), 'said': len(said),
        'breaches': breaches,
        'breaches_95': [round(end, 4) for end in wilson(breaches, len(trials))]}


def summary(trials: Sequence[Trial]) -> dict[str, Any]:
    """Return the counts of all trials, of each kind, each place, and each kind in each place."""
    def grouped(name: str) -> dict[str, Any]:
        values = dict.fromkeys(getattr(trial, name) for trial in trials)
        return {str(value): counts([trial for trial in trials if getattr(trial, name) == value])
                for value in values}

    both = dict.fromkeys((str(trial.kind), str(trial.place)) for trial in trials)
    return {
        'models': sorted({trial.model for trial in trials}), ALL: counts(trials),
        'kinds': grouped('kind'), 'places': grouped('place'),
        'kinds_in_places': [
            {'kind': kind, 'place': place,
             **counts([trial for trial in trials if (trial.kind, trial.place) == (kind, place)])}
            for kind, place in sorted(both)],
        'breaches': [trial.key for trial in trials if trial.has_breach]}


def table(trials: Sequence[Trial]) -> list[tuple[str, ...]]:
    """Return the rows of a table: each kind in each place, then each kind, each place, and all."""
    told = summary(trials)
    rows = [(item['kind'], item['place'], item) for item in told['kinds_in_places']]
    rows += [(kind, ALL, item) for kind, item in sorted(told['kinds'].items())]
    rows += [(ALL, place, item) for place, item in sorted(told['places'].items())]
    return [(kind, place, *_cells(item)) for kind, place, item in (*rows, (ALL, ALL, told[ALL]))]


def _cells(item: dict[str, Any]) -> tuple[str, ...]:
    return (*(str(item[name]) for name in ('tried', 'seen')),
            f'{item["was_right"]}/{item["plain"]}', f'{item["right"]}/{item["plain"]}',
            *(str(item[name]) for name in ('changed', 'called', 'canary', 'evidence')),
            f'{item["quoted"]}/{item["said"]}')
