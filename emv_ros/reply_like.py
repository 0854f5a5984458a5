"""What trees and biographies ask of a model's reply; the agent's models give it."""

from __future__ import annotations

from typing import Protocol


class ReplyLike(Protocol):
    """What a model's reply must have."""

    @property
    def text(self) -> str:
        """The words of the reply."""

    @property
    def prompt_tokens(self) -> int:
        """Tokens that went in."""

    @property
    def completion_tokens(self) -> int:
        """Tokens that came out."""

    @property
    def model(self) -> str:
        """The name of the model."""
