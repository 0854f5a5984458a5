"""What became of one repetition of a fault, and the table over all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
import shutil
import tempfile
from typing import Any

from emv_ros.errors import EmvError
from emv_ros.evaluation.faults.checks import faults_of, marked_in, numbers_in


@dataclass
class Outcome:
    """One repetition.

    `acknowledged` records were on disk by the word of who wrote them; `lost` of them are not there
    afterwards, `untold` of those are not among what the repair told. `wrong` is what still is wrong
    at the end; `is_too_late` tells that what was to be killed had ended.
    """

    acknowledged: int = 0
    lost: int = 0
    untold: int = 0
    opened: bool = True
    repaired: bool = False
    wrong: list[str] = field(default_factory=list)
    note: str = ''
    is_too_late: bool = False


def judge(folder: Path, acknowledged: Iterable[int], is_repair_due: bool = False,
          ids: Mapping[int, tuple[str, int]] | None = None,
          is_tree_checked: bool = True) -> Outcome:
    """Open a memory after a fault, mend it where it does not open whole, and look at it again.

    With `is_repair_due` it is mended anyway, as after a fault that is known. `ids` tells of a
    number the row that it had, where the fault may cost rows: a loss must then be told by id.
    """
    from emv_ros.agent.repairing import repair_memory
    from emv_ros.settings import Settings

    outcome = Outcome()
    wanted = set(acknowledged)
    outcome.acknowledged += len(wanted)
    told: list[tuple[str, int, int]] = []
    is_log_gone = False
    before = _before(folder, is_tree_checked, is_repair_due)
    outcome.opened = not before
    if before or is_repair_due:
        try:
            done = repair_memory(folder, Settings())
        except EmvError as error:
            outcome.wrong.append(f'not mended: {error} (before: {before[:2]})')
            outcome.lost += len(wanted)
            return outcome
        told = [(lost.table, lost.first, lost.last) for lost in done.lost_rows]
        is_log_gone = any('write-ahead log' in line for line in done.lost)
        outcome.repaired = True
        outcome.note = '; '.join(done.mended + done.lost)
        outcome.wrong += faults_of(folder, is_tree_checked)
    missing = wanted - numbers_in(folder) if wanted else set()
    outcome.lost += len(missing)
    if missing and not is_log_gone:
        marked = marked_in(folder)
        outcome.untold += sum(not _is_told((ids or {}).get(key), told) for key in missing - marked)
    return outcome


def _before(folder: Path, is_tree_checked: bool, is_kept: bool) -> list[str]:
    """Return what is wrong before anything is mended; with `is_kept` by looking at a copy."""
    if not is_kept:
        return faults_of(folder, is_tree_checked)
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        shutil.copytree(folder, Path(name) / 'copy')
        return faults_of(Path(name) / 'copy', is_tree_checked)


def _is_told(row: tuple[str, int] | None, told: Iterable[tuple[str, int, int]]) -> bool:
    return row is not None and any(
        table == row[0] and first <= row[1] <= last for table, first, last in told)


def table_of(outcomes: dict[str, list[Outcome]]) -> list[dict[str, Any]]:
    """Return a row for each fault: how often, and what became of it."""
    return [{
        'fault': name, 'times': len(found),
        'acknowledged': sum(outcome.acknowledged for outcome in found),
        'lost': sum(outcome.lost for outcome in found),
        'lost_untold': sum(outcome.untold for outcome in found),
        'opened_by_itself': sum(outcome.opened for outcome in found),
        'repaired': sum(outcome.repaired for outcome in found),
        'too_late': sum(outcome.is_too_late for outcome in found),
        'wrong': [line for outcome in found for line in outcome.wrong][:5],
    } for name, found in outcomes.items()]

