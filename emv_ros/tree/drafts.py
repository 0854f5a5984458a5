"""A node of level 2 or 3 in the making, before it has a row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from emv_ros.memory.rows import KIND_OF
from emv_ros.records import Annotation, Record, SkillEvent, Status
from emv_ros.timeline import Interval
from emv_ros.tree.levels import EVENT, GOAL

# Later than any stamp.
NEVER_NS = 2 ** 63


@dataclass(eq=False, slots=True)
class Draft:
    """An event or a goal. `records` are what it is made of, its own run or annotation first.

    `until_ns` is up to when it is known to have gone on, which for a run without an end grows
    with what happens in it; nothing that begins at `horizon_ns` or later is part of it. `place`
    is where its goal had gone before, as far as that is known.
    """

    start_ns: int
    end_ns: int
    level: int = EVENT
    name: str = ''
    status: str = ''
    summary: str = ''
    is_open: bool = False
    session_id: int | None = None
    records: list[Record] = field(default_factory=list)
    children: list[Draft] = field(default_factory=list)
    parent: Draft | None = None
    until_ns: int = 0
    horizon_ns: int = NEVER_NS
    place: str = ''

    def __post_init__(self) -> None:
        self.until_ns = max(self.until_ns, self.end_ns)

    @property
    def run(self) -> SkillEvent | None:
        """The run of a skill that the draft stands for, if it does."""
        first = self.records[0] if self.records else None
        return first if isinstance(first, SkillEvent) else None

    @property
    def annotation(self) -> Annotation | None:
        """The annotation that the draft stands for, if it does."""
        first = self.records[0] if self.records else None
        return first if isinstance(first, Annotation) else None

    @property
    def is_raw(self) -> bool:
        """Whether it is an event of pictures, joint samples and poses alone."""
        return not self.records and not self.children and not self.members

    @property
    def span(self) -> Interval:
        """Its span as it stands."""
        return Interval(self.start_ns, self.end_ns)

    @property
    def members(self) -> list[tuple[str, int]]:
        """The (kind, id) of its records."""
        return [(KIND_OF[type(record)], record.id or 0) for record in self.records]

    def adopt(self, child: Draft) -> None:
        """Take a child, and go on at least as long as it did."""
        child.parent = self
        self.children.append(child)
        draft: Draft | None = self
        while draft is not None:
            draft.until_ns = max(draft.until_ns, child.until_ns)
            draft = draft.parent

    def is_within(self, other: Draft) -> bool:
        """Whether `other` is this draft or one above it."""
        draft: Draft | None = self
        while draft is not None and draft is not other:
            draft = draft.parent
        return draft is other

    def walk(self) -> Iterator[Draft]:
        """Yield the draft and all below it, children after their parent."""
        waiting = [self]
        while waiting:
            draft = waiting.pop()
            yield draft
            waiting.extend(reversed(draft.children))

    def settle(self) -> None:
        """Sort the children and widen the span until it holds theirs, from below upwards."""
        for draft in reversed(list(self.walk())):
            if draft.children:
                draft.level = GOAL
                draft.children.sort(key=order)
                draft.start_ns = min(draft.start_ns, draft.children[0].start_ns)
                draft.end_ns = max(draft.end_ns, *(child.end_ns for child in draft.children))


def order(draft: Draft) -> tuple[int, int, str, tuple[str, int]]:
    """Return the key by which drafts are in order of time, whatever order their records came in."""
    first = draft.records[0] if draft.records else None
    return (draft.start_ns, draft.end_ns, draft.name,
            (KIND_OF[type(first)], first.id or 0) if first else ('', 0))


def draft_of_run(run: SkillEvent) -> Draft:
    """Return the draft of a run of a skill."""
    end_ns = run.end_ns if run.end_ns is not None else max(run.stamp_ns, run.last_report_ns)
    return Draft(
        start_ns=run.stamp_ns, end_ns=max(run.stamp_ns, end_ns), name=run.skill,
        status=str(run.status), is_open=run.end_ns is None and not run.status.is_final,
        session_id=run.session_id, records=[run])


def has_known_start(run: SkillEvent) -> bool:
    """Whether the start of a run was reported, or only its end."""
    if run.end_ns is not None and run.end_ns > run.stamp_ns:
        return True
    return not run.transitions or not Status(run.transitions[0][0]).is_final
