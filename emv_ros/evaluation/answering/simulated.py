"""Questions of a simulated household, whose own truth tells what is right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from emv_ros.errors import EmvError
from emv_ros.evaluation.answering.sets import (
    QuestionSet,
    chosen,
    made_below,
    made_whole,
    made_with,
)
from emv_ros.evaluation.questions import read_questions
from emv_ros.retrieval.embedders import TextEmbedder
from emv_ros.settings import Settings

QUESTIONS_EACH = 3


def simulated_set(kept: Path, episodes: int, seed: int, settings: Settings,
                  embedder: TextEmbedder | None, kinds: Sequence[str], limit: int | None,
                  tell: Callable[[str], None]) -> QuestionSet:
    """Return the questions of a history of so many episodes; it is made below `kept` once."""
    from emv_ros.evaluation.histories.make import make_history

    name = f'household-{episodes}-{seed}'
    folder = kept / name

    def make(made_in: Path, chosen_settings: Settings) -> None:
        make_history(made_in, episodes, seed, chosen_settings, embedder, QUESTIONS_EACH, tell)

    source = f'{episodes} episodes, seed {seed}, {QUESTIONS_EACH} questions each'
    made_whole(folder, lambda part: make(part, settings), tell, made_with(settings, source))
    found = sorted(folder.glob('*_qa.jsonl'))
    if len(found) != 1:
        raise EmvError(f'{folder} holds {len(found)} files of questions, not one')
    return QuestionSet(name, chosen(read_questions(found[0]), kinds, limit),
                       made_below(folder, settings, make, tell, source), episodes, seed, source)
