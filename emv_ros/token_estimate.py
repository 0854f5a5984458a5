"""About how many tokens a text has, where no tokenizer is at hand."""

from __future__ import annotations


def estimate(text: str) -> int:
    """Return about how many tokens a text has: a model's own count is better where there is one."""
    return -(-len(text.encode(errors='replace')) * 2 // 7)
