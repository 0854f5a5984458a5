"""Where the heads of nodes lie in `state`: what a model wrote of the first children of a node.

A head rests on the ids and the words of these children, of which it keeps a digest each.
"""

from __future__ import annotations

from collections.abc import Iterable
import hashlib
from typing import Any

PREFIX = 'tree:head:'


def key_of(node_id: int) -> str:
    """Return the key of a node's head."""
    return f'{PREFIX}{node_id}'


def value_of(text: str, children: Iterable[tuple[int, str]]) -> dict[str, Any]:
    """Return what is kept: a text, and what the children (id, summary) said when it was written."""
    return {'text': text, 'told': digests(children)}


def digests(children: Iterable[tuple[int, str]]) -> list[str]:
    """Return a digest of each child (id, summary)."""
    return [hashlib.sha256(f'{key} {summary}'.encode()).hexdigest()[:16]
            for key, summary in children]
