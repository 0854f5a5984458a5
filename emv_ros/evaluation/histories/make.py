"""Make a simulated history: the experience file, the memory of it, and questions about it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from emv_ros.evaluation.evaluated_memory import make_memory
from emv_ros.evaluation.histories.days import live
from emv_ros.evaluation.histories.experience import write_experience
from emv_ros.evaluation.histories.question_set import ask, write_questions
from emv_ros.retrieval.embedders import TextEmbedder
from emv_ros.settings import Settings

EXPERIENCE, QUESTIONS = 'history.jsonl', 'questions_qa.jsonl'


def make_history(folder: Path, episodes: int, seed: int, settings: Settings,
                 embedder: TextEmbedder | None, questions_per_kind: int = 3,
                 tell: Callable[[str], None] = lambda _: None) -> Path:
    """Make a history of so many episodes in an empty folder and return the file of its questions.

    The same arguments make the same history and the same questions. Beside the memory lies the
    experience file from which it was made. Without an embedder no vectors are made. Raises
    ValueError for fewer than one episode, StoreError where the memory cannot be written.
    """
    if episodes < 1:
        raise ValueError(f'a history has at least one episode, not {episodes}')
    folder.mkdir(parents=True, exist_ok=True)
    tell(f'living {episodes} episodes')
    history = live(episodes, seed)
    data, questions = folder / EXPERIENCE, folder / QUESTIONS
    write_experience(data, history.records, history.truth.zone)
    make_memory(folder, data, settings, embedder, tell)
    write_questions(questions, ask(history.truth, seed, questions_per_kind), history.truth.zone)
    return questions
