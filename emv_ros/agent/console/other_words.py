"""Tasks that a text names in other words: `bring a hot drink` is BringCoffee.

Words do not tell it, and nearness of vectors does not either (`feed the dog` lies near FeedCat).
So a language model says yes or no of each of the few names that are nearest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import logging
import threading
from typing import Any, Protocol

from emv_ros.errors import ModelCanceledError, ModelError
from emv_ros.memory.documents import words_of_name
from emv_ros.quoting import plain_line
from emv_ros.retrieval.similarity import Similarity

log = logging.getLogger(__name__)

# Names that the model is asked about for one text.
MAX_NAMES = 6
# Texts of one question that it is asked about: code may try word after word in a loop.
MAX_TEXTS = 4
MAX_CHARS = 80
# Enough for a model that thinks first; the embedded one writes one word.
REPLY_TOKENS = 200
YES_OR_NO = 'root ::= "Yes" | "No"'
# One name a prompt: of a list the embedded model says the same of all.
RULES = """Is what a robot did what is asked for, in other words or as one of its kind? \
Reply yes or no.
Recorded: fetch apple. Asked: a piece of fruit. Yes
Recorded: fetch apple. Asked: a vegetable. No
Recorded: drive car. Asked: use a vehicle. Yes
Recorded: feed dog. Asked: feed a pet. Yes
Recorded: feed dog. Asked: feed the bird. No
Recorded: sweep floor. Asked: iron a shirt. No
Recorded: bring umbrella. Asked: bring something against rain. Yes
Recorded: clean stairs. Asked: sweep the steps. Yes
Recorded: clean stairs. Asked: clean the car. No"""


class Model(Protocol):
    """The part of the model client that is needed here."""

    def complete(self, messages: list[dict[str, Any]], *, purpose: str, max_tokens: int,
                 stop: tuple[str, ...] = (), grammar: str | None = None,
                 deadline_s: float | None = None, cancel: threading.Event | None = None,
                 fixed_messages: int = 0) -> Any:
        """Return the model's reply."""
        ...


class OtherWords:
    """Asks a model of a text which names it means; each pair once. Without a model it means none.

    `prompt_tokens` and `completion_tokens` are what that took.
    """

    def __init__(self, similarity: Similarity, model: Model | None = None,
                 cancel: threading.Event | None = None,
                 time_left_s: Callable[[], float] = lambda: 60.0) -> None:
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self._similarity = similarity
        self._model = model
        self._cancel = cancel
        self._time_left_s = time_left_s
        self._known: dict[tuple[str, str], bool] = {}
        self._texts: set[str] = set()

    def meant(self, text: str, names: Sequence[str]) -> list[str]:
        """Return those of the names that a text means; none of more than a few texts.

        None, too, where the model cannot be asked. Raises ModelCanceledError.
        """
        asked = plain_line(text)[:MAX_CHARS]
        if self._model is None or not asked or len(self._texts | {asked}) > MAX_TEXTS:
            return []
        self._texts.add(asked)
        words = [plain_line(words_of_name(name)).lower()[:MAX_CHARS] for name in names]
        near = self._similarity.best(asked, words, k=MAX_NAMES)
        try:
            return [names[index] for index, _ in near if self._is(words[index], asked)]
        except ModelCanceledError:
            raise
        except ModelError as error:
            log.warning('which tasks are meant in other words was not told: %s', error)
            return []

    def _is(self, name: str, asked: str) -> bool:
        if (name, asked) not in self._known:
            self._known[name, asked] = self._ask(name, asked)
        return self._known[name, asked]

    def _ask(self, name: str, asked: str) -> bool:
        assert self._model is not None
        messages: list[dict[str, Any]] = [
            {'role': 'system', 'content': RULES},
            {'role': 'user', 'content': f'Recorded: {name}. Asked: {asked}.'}]
        reply = self._model.complete(
            messages, purpose='agent', max_tokens=REPLY_TOKENS, stop=('\n',), grammar=YES_OR_NO,
            cancel=self._cancel, deadline_s=max(0.1, self._time_left_s()), fixed_messages=1)
        self.prompt_tokens += reply.prompt_tokens
        self.completion_tokens += reply.completion_tokens
        return str(reply.text).strip().lower().startswith('yes')
