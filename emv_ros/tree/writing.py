"""Texts of the upper tree by a model: of one node at a time, from those of its children.

A period above the day is written when it is over. Until then it has a template, which from the
month upwards begins with a model's text of the parts that are over: so the cost of a day is the
same however many periods it lies in.
"""

from __future__ import annotations

from collections.abc import Sequence

from emv_ros.memory.schema import NodeRow
from emv_ros.tree.heads import drop_head, head_of, keep_head
from emv_ros.tree.levels import EPISODE, MONTH
from emv_ros.tree.lines import facts_of, plain_lines
from emv_ros.tree.rest import Rest
from emv_ros.tree.skeleton import Skeleton
from emv_ros.tree.summaries import SummaryWriter, Written
from emv_ros.tree.upper import UpperTree, sign, told


class Writing:
    """The writing of one node at a time."""

    def __init__(self, upper: UpperTree, writer: SummaryWriter, rest: Rest) -> None:
        self.upper = upper
        self.writer = writer
        self.rest = rest

    def write(self, node_id: int, again: bool = False) -> None:
        """Have the model write a node's text, where it has a template and has come to rest.

        `again`: where a model failed at it before, too.
        """
        node = self.upper.node(node_id)
        if node is None or node.made_by not in ('calendar', 'rule' if again else 'calendar') \
                or not self.writer.ready or self.rest.is_live(node):
            return
        children = self.upper.children(node_id)
        if self.rest.goes_on(node):
            if node.level >= MONTH:
                self._write_head(node, children[:self.rest.over_in(node, children)])
            return
        if any(_waits(child) for child in children):
            return
        # Of one child there is nothing to summarise: the template has its text.
        written = Written((), 'rule') if len(children) == 1 else self._summary_of(children)
        if written is None:
            return
        with self.upper.changing() as skeleton:
            if not _is_as_it_was(skeleton, node, children):
                return
            drop_head(skeleton.session, node_id)
            sign(skeleton, node_id, written.made_by, written, _text(written))
            row = skeleton.session.get_one(NodeRow, node_id)
            if written.made_by != 'model':
                skeleton.writer.update(node_id, summary=skeleton.template(row, children))
            skeleton.retell_above(row)
            skeleton.written += 1

    def _write_head(self, node: NodeRow, over: Sequence[NodeRow]) -> None:
        """Have the model write of the parts that are over of a period that goes on."""
        if len(over) < 2 or any(_waits(child) for child in over):
            return
        with self.upper.store.reading() as session:
            head = head_of(session, node.id, over)
        if head is not None and head.count == len(over):
            return
        written = self._summary_of(over)
        if written is None:
            return
        with self.upper.changing() as skeleton:
            if not _is_as_it_was(skeleton, node, over):
                return
            keep_head(skeleton.session, node.id, over, _text(written))
            row = skeleton.session.get_one(NodeRow, node.id)
            skeleton.writer.update(node.id, summary=skeleton.template(
                row, skeleton.children(node.id)), model=written.model,
                prompt_version=written.prompt_version, prompt_tokens=written.prompt_tokens,
                completion_tokens=written.completion_tokens)
            skeleton.retell_above(row)
            skeleton.written += 1

    def _summary_of(self, children: Sequence[NodeRow]) -> Written | None:
        zone = self.upper.zone
        return self.writer.summarise(
            plain_lines(children, zone), [facts_of(child, zone) for child in children])


def _waits(child: NodeRow) -> bool:
    return child.level >= EPISODE and child.made_by == 'calendar'


def _is_as_it_was(skeleton: Skeleton, node: NodeRow, children: Sequence[NodeRow]) -> bool:
    """Whether a node still has these children, in front of others at most, with their texts."""
    now = skeleton.get(node.id)
    return now is not None and now.made_by == node.made_by and told(
        skeleton.children(node.id)[:len(children)]) == told(children)


def _text(written: Written) -> str:
    return written.groups[0].summary if written.made_by == 'model' else ''
