"""Pictures whose file is not there: why, in words, and whether any row still needs a file.

The row of a picture outlives its file, so that what pointed to it (a biography, an answer, a scene)
can say what became of it. `gone` is '' while the file is there.
"""

from __future__ import annotations

from typing import Protocol

from sqlalchemy import select
from sqlalchemy.orm import Session

from emv_ros.errors import PictureGoneError
from emv_ros.memory import schema
from emv_ros.records import ID_LETTERS

RETENTION, MISSING, DAMAGED, FORGOTTEN = 'retention', 'missing', 'damaged', 'forgotten'
_TOLD = {
    RETENTION: 'was dropped by retention', MISSING: 'is missing: its file was lost',
    DAMAGED: 'is damaged: its file no longer held what was recorded', FORGOTTEN: 'was forgotten'}


class Picture(Protocol):
    """The part of a picture's record, or of its row, that is needed here."""

    @property
    def id(self) -> int | None:
        """The number of its row."""
        ...

    @property
    def gone(self) -> str:
        """Why its file is not there, '' where it is."""
        ...


def why_gone(image: Picture) -> str:
    """Return why a picture is not there ('the picture i9 was dropped by retention'), or ''."""
    if not image.gone:
        return ''
    told = _TOLD.get(image.gone, f'is gone ({image.gone})')
    return f'the picture {ID_LETTERS["image"]}{image.id} {told}'


def check_kept(image: Picture) -> None:
    """Raise PictureGoneError, which says why, for a picture whose file is not there."""
    if image.gone:
        raise PictureGoneError(why_gone(image))


def is_needed(session: Session, sha256: str, media_type: str) -> bool:
    """Whether a row names the file and does not say that it is gone."""
    row = schema.ImageRow
    return session.scalar(select(row.id).where(
        row.sha256 == sha256, row.media_type == media_type, row.gone == '').limit(1)) is not None
