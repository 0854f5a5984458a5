"""What is held beside the database follows its journal of changes, and is kept in a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
import logging

from sqlalchemy.orm import Session

from emv_ros.memory.changes import Mark, since

logger = logging.getLogger(__name__)

# Changes after which the file is written anew: reading them takes longer than that is worth.
SAVED_AFTER = 20_000


class Follower(ABC):
    """Arrays made of the database up to `_mark`, with `_unsaved` changes more than their file."""

    def __init__(self, what: str) -> None:
        """Hold nothing until `refresh`; `what` it is called in the log."""
        self._what = what
        self._mark = Mark()
        self._unsaved = 0

    def refresh(self, session: Session) -> None:
        """Take over what changed in the database; the first time, from the file if it is good."""
        if not self._mark.id:
            self._open()
        found = since(session, self._mark) if self._mark.id else None
        if found is None:
            if self._mark.id:
                logger.warning('the %s is too far behind its memory, or of another one, '
                               'and is built anew', self._what)
            self._build(session)
            return
        changed, mark = found
        count = self._follow(session, changed)
        self._mark = mark  # only now: what failed half way is done again
        self._unsaved += count
        if self._unsaved > SAVED_AFTER:
            self.save()

    @abstractmethod
    def save(self) -> None:
        """Write the file beside the database."""

    @abstractmethod
    def _open(self) -> None:
        """Take over the file, with its mark, where it is good."""

    @abstractmethod
    def _build(self, session: Session) -> None:
        """Read everything anew, and set the mark."""

    @abstractmethod
    def _follow(self, session: Session, changed: set[tuple[str, int]]) -> int:
        """Take over what changed, as (kind, id), and return how much of it the file lacks."""
