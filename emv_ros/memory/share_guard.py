"""The guard against dropping too much of a memory at once, by a slip of whoever asks.

Each kind of record counts by itself. Of a kind with few rows any share may go: there one row is a
large share already.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from emv_ros.errors import ShareError
from emv_ros.memory import schema

# A kind of which fewer rows are stored is not guarded.
FEW = 20


def check_share(session: Session, going: Mapping[str, int], max_share: float, *,
                force: bool = False, of: Mapping[str, int] | None = None) -> None:
    """Raise ShareError where more of a kind is to go than the share allows, unless forced.

    going: how many rows of each kind (see `schema.KINDS`) would go; other names are passed over.
    max_share: 0..1, the setting `memory.max_share`; 1 allows all.
    of: how many of a kind are stored, where that is not the number of its rows.
    """
    if force or max_share >= 1.0:
        return
    told = []
    for kind, number in going.items():
        if number < 1 or kind not in schema.KINDS:
            continue
        stored = of[kind] if of is not None and kind in of else int(session.scalar(
            select(func.count()).select_from(schema.KINDS[kind])) or 0)
        if stored >= FEW and number > max_share * stored:
            told.append(f'{number} of {stored} rows of the kind {kind.replace("_", " ")}')
    if told:
        raise ShareError(f'{", ".join(told)} would go at once: more than the share of '
                         f'{max_share:g} that memory.max_share allows; force does it all the same')
