"""Nesting: which run of a skill belongs to which goal (L3).

A run belongs to the run that its `parent_source_id` names, or to the run of the last name in its
goal stack that was going on when it began; an id that a source used again means the run of that
time. Robots report late: a run of which only the end was reported also holds what began shortly
before that, and a run that ended a moment ago still holds a late beginner. A run whose end nobody
reported was over at the latest when the same was begun again. Where no run of the goal was
reported, a goal is made from its name and spans its children. What has no parent belongs to the
activity that the source annotated around its start: of several, to the one that began last, since
who interrupts one activity for another does the other. Beyond a fixed depth nothing is nested.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from emv_ros.memory.parents import DEEPEST, SLACK_NS
from emv_ros.records import Annotation, SkillEvent
from emv_ros.tree.drafts import Draft, draft_of_run, has_known_start, order
from emv_ros.tree.levels import GOAL

# So many runs of one name are looked at, from the latest backwards, for one that was going on.
LOOK_BACK = 32


class Nesting:
    """The forest of goals and runs of one stretch; `top` are the drafts without a parent."""

    def __init__(self, runs: Sequence[SkillEvent], goals: Sequence[Annotation],
                 gap_ns: int) -> None:
        """Nest runs and annotated goals; a pause longer than `gap_ns` ends what nobody ended."""
        self.gap_ns = gap_ns
        self.top: list[Draft] = []
        self.activities = sorted((_activity(goal) for goal in goals),
                                 key=lambda draft: (draft.start_ns, -draft.end_ns, order(draft)))
        self._named: dict[str, list[Draft]] = defaultdict(list)
        self._by_source: dict[tuple[int | None, str], list[Draft]] = defaultdict(list)
        self._made: dict[tuple[object, ...], Draft] = {}
        self._bounds, self._innermost = _innermost(self.activities)
        self._nest_activities()
        drafts = sorted((draft_of_run(run) for run in runs), key=order)
        for draft in drafts:
            self._named[draft.name].append(draft)
            if draft.run and draft.run.source_id:
                self._by_source[draft.session_id, draft.run.source_id].append(draft)
        _end_open_runs(self._named)
        self._starts = {name: [draft.start_ns for draft in same]
                        for name, same in self._named.items()}
        for draft in drafts:
            self._place(draft)
        self._flatten()

    def activity_at(self, stamp_ns: int) -> Draft | None:
        """Return the annotated goal that began last among those that go on at the stamp."""
        at = bisect_right(self._bounds, stamp_ns)
        return self._innermost[at - 1] if at else None

    def put(self, draft: Draft, parent: Draft | None) -> None:
        """Put a draft under its parent, else the activity around its start, else at the top."""
        parent = parent or self.activity_at(draft.start_ns)
        if parent is None:
            self.top.append(draft)
        else:
            parent.adopt(draft)

    def _nest_activities(self) -> None:
        going: list[Draft] = []
        for draft in self.activities:
            going = [other for other in going if other.span.contains(draft.start_ns)]
            around = [other for other in going
                      if other.end_ns >= draft.end_ns and other.span != draft.span]
            if around:
                around[-1].adopt(draft)
            else:
                self.top.append(draft)
            going.append(draft)

    def _flatten(self) -> None:
        """Hang what is nested deeper than DEEPEST side by side at that depth."""
        level = self.top
        for _ in range(DEEPEST):
            level = [child for draft in level for child in draft.children]
        for holder in level:
            deeper = [draft for draft in holder.walk() if draft is not holder and draft.records]
            for draft in deeper:
                draft.parent, draft.children = holder, []
            holder.children = deeper

    def _place(self, draft: Draft) -> None:
        run = draft.run
        assert run is not None
        parent = None
        if run.parent_source_id:
            parent = self._with_id(run.parent_source_id, draft)
        if parent is None and run.goal_stack:
            parent = self._goal(run.goal_stack[:DEEPEST], draft)
        if parent is not None and parent.is_within(draft):
            parent = None  # a circle of parents
        self.put(draft, parent)

    def _with_id(self, source_id: str, child: Draft) -> Draft | None:
        """Return the run of an id: of several, the one that fits the child's start best."""
        same = self._by_source.get((child.session_id, source_id), [])
        if len(same) <= 1:
            return same[0] if same else None
        fitting = [(fit, draft) for draft in same if (fit := self._fit(draft, child)) is not None]
        if fitting:
            return max(fitting, key=lambda found: found[0])[1]
        before = [draft for draft in same if draft.start_ns <= child.start_ns]
        return before[-1] if before else same[0]

    def _goal(self, stack: tuple[str, ...], child: Draft) -> Draft | None:
        """Return the goal that a stack names last, made where none was reported."""
        found = self._running(stack, child)
        if found is not None:
            return found
        outer = self._goal(stack[:-1], child) if len(stack) > 1 else None
        around = outer or self.activity_at(child.start_ns)
        key = (child.session_id, stack, id(around))
        made = self._made.get(key)
        if made is None or child.start_ns - made.until_ns > self.gap_ns:
            made = Draft(start_ns=child.start_ns, end_ns=child.end_ns, level=GOAL, name=stack[-1],
                         session_id=child.session_id)
            self._made[key] = made
            self.put(made, around)
        return made

    def _running(self, stack: tuple[str, ...], child: Draft) -> Draft | None:
        """Return the run of the goal that went on when the child began, the best that fits."""
        same = self._named.get(stack[-1], [])
        at = bisect_right(self._starts.get(stack[-1], []), child.start_ns)
        best: tuple[tuple[int, ...], Draft] | None = None
        for draft in (*same[max(0, at - LOOK_BACK):at], *same[at:at + LOOK_BACK]):
            if draft is child or draft.is_within(child):
                continue
            fit = self._fit(draft, child)
            if fit is None:
                continue
            run = draft.run
            rank = (int(draft.session_id == child.session_id),
                    int(run is not None and run.goal_stack == stack[:-1]), *fit)
            if best is None or rank > best[0]:
                best = (rank, draft)
        return best[1] if best else None

    def _fit(self, draft: Draft, child: Draft) -> tuple[int, int] | None:
        """Return how well a run may hold a child, more is better, or None where it cannot."""
        run = draft.run
        at_ns = child.start_ns
        assert run is not None
        if at_ns >= draft.horizon_ns:
            return None
        if draft.start_ns <= at_ns <= draft.until_ns:
            return 3, draft.start_ns
        if draft.start_ns > at_ns:
            reach_ns = SLACK_NS if has_known_start(run) else self.gap_ns
            return (2, -draft.start_ns) if draft.start_ns - at_ns <= reach_ns else None
        reach_ns = self.gap_ns if draft.is_open else SLACK_NS
        if at_ns - draft.until_ns <= reach_ns:
            return (3 if draft.is_open else 1), draft.start_ns
        return None


def _activity(goal: Annotation) -> Draft:
    return Draft(start_ns=goal.stamp_ns, end_ns=max(goal.stamp_ns, goal.end_ns), level=GOAL,
                 name=goal.text, session_id=goal.session_id, records=[goal])


def _innermost(activities: Sequence[Draft]) -> tuple[list[int], list[Draft | None]]:
    """Return stamps, and the activity from each of them on that began last of those going on."""
    going: list[tuple[int, Draft]] = []
    bounds: list[int] = []
    found: list[Draft | None] = []
    for stamp_ns, starting in _changes(activities):
        for rank in starting:
            heappush(going, (-rank, activities[rank]))
        while going and not going[0][1].span.contains(stamp_ns):
            heappop(going)
        bounds.append(stamp_ns)
        found.append(going[0][1] if going else None)
    return bounds, found


def _changes(activities: Sequence[Draft]) -> Iterator[tuple[int, list[int]]]:
    """Yield each stamp at which activities begin or end, and the indices of those that begin."""
    starting: dict[int, list[int]] = defaultdict(list)
    for rank, draft in enumerate(activities):
        starting[draft.start_ns].append(rank)
    ends = {draft.span.last_ns + 1 for draft in activities}
    for stamp_ns in sorted(ends | set(starting)):
        yield stamp_ns, starting.get(stamp_ns, [])


def _end_open_runs(named: dict[str, list[Draft]]) -> None:
    """Set the horizon of each run without an end: the next start of the same, if there is one."""
    for same in named.values():
        for index, draft in enumerate(same):
            if not draft.is_open:
                continue
            for later in same[index + 1:index + 1 + LOOK_BACK]:
                if later.start_ns > draft.start_ns and _is_same(draft, later):
                    draft.horizon_ns = later.start_ns
                    break


def _is_same(draft: Draft, later: Draft) -> bool:
    """Whether two runs of a skill cannot go on at once: same goals, not told apart by values."""
    one, two = draft.run, later.run
    return (one is not None and two is not None and draft.session_id == later.session_id
            and one.goal_stack == two.goal_stack and one.parent_source_id == two.parent_source_id
            and (not one.parameters or not two.parameters or one.parameters == two.parameters))
