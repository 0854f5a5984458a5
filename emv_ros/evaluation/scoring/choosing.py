"""Which of several choices an answer takes: by exact match of its text or its label. Pure."""

from __future__ import annotations

from collections.abc import Sequence
import re

from emv_ros.evaluation.questions import AskedQuestion
from emv_ros.evaluation.scoring.declining import is_denied
from emv_ros.retrieval.terms import squash

_LABEL = r'(?P<label>[A-Za-z]|\d{1,2})'
_FORMS = tuple(re.compile(form) for form in (
    rf'^\W*(?:(?i:option|choice|answer|number|letter)\s*(?i:is\s*)?:?\s*)?[(\[*"\']*{_LABEL}\W*$',
    rf'^\W*\({_LABEL}\)(?=\s|[.,:;]|$)',
    rf'^[\s*"\'(\[]*{_LABEL}[.):\]]+(?=[\s*]|$)'))
_NAMED = re.compile(
    r'\b(?i:answer|option|choice)(?i:\s+is)?(?:\s*:)?\s*(?i:option\s+|choice\s+|number\s+)?[(\["\'*]*'
    r'(?P<label>[A-Z]|\d{1,2})(?![\w:-]|[.,]\d)')


def choice_of(question: AskedQuestion, answer: str) -> int | None:
    """Return the index (from 0) of the one choice that an answer takes, else None.

    That is the choice whose whole text the answer is; else the one that it names by letter or by
    number (from 1), unless it goes on with the text of another; else the only one whose whole text
    stands in it. Of choices that read the same the first is taken. None where it takes none or
    several.
    """
    choices = question.choices
    said = squash(answer)
    if not choices or not said:
        return None
    texts = [squash(choice) for choice in choices]
    equal = [index for index, text in enumerate(texts) if text and text == said]
    if equal:
        return equal[0] if len(equal) == 1 else next(
            (index for index in equal if reads_alike(choices[index], answer)), None)
    labelled, rest = _labelled(answer, len(choices))
    if labelled is not None and squash(rest) == texts[labelled]:
        return labelled  # '1) 3', where 1 is the text of another
    within = {next(other for other, choice in enumerate(choices)
                   if reads_alike(choice, choices[index])) for index in _within(answer, texts)}
    if labelled is not None:
        return labelled if not within - {labelled} else None
    return within.pop() if len(within) == 1 else None


def reads_alike(one: str, other: str) -> bool:
    """Whether two choices are the same but for case and space; signs tell '> 5' from '< 5'."""
    first, second = (' '.join(text.split()).strip(' .\'"').casefold() for text in (one, other))
    return first == second


def _labelled(answer: str, count: int) -> tuple[int | None, str]:
    """Return the index of the label that an answer begins with or names, and what follows it."""
    said = answer.strip()
    for form in _FORMS:
        if match := form.match(said):
            return _index(match['label'], count), said[match.end('label'):]
    named = {_index(match['label'], count) for match in _NAMED.finditer(answer)
             if not is_denied(answer, match.start('label'))}
    return (named.pop() if len(named) == 1 else None), ''


def _index(label: str, count: int) -> int | None:
    index = int(label) - 1 if label.isdigit() else ord(label.upper()) - ord('A')
    return index if 0 <= index < count else None


def _within(answer: str, texts: Sequence[str]) -> set[int]:
    """Return the choices whose text stands in an answer, not as a part of another's text."""
    found: list[tuple[int, int, int]] = []
    for index, text in enumerate(texts):
        if text:
            words = r'[\W_]+'.join(re.escape(word) for word in text.split())
            found += [(match.start(), match.end(), index)
                      for match in re.finditer(rf'(?<!\w){words}(?!\w)', answer, re.IGNORECASE)
                      if not is_denied(answer, match.start())]
    return {index for start, end, index in found
            if not any(other_start <= start and end <= other_end
                       and other_end - other_start > end - start
                       for other_start, other_end, _ in found)}
