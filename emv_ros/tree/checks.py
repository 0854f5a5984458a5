"""What a summary may say: nothing that its items do not, and no success where they failed.

Only what can be told from the words is checked: names, things, persons, numbers, times of day, who
spoke, what went from hand to hand, failures. Inflected forms, times to the minute or of a
twelve-hour clock, days and months of the items are fine. Whether a deed is the one that was done,
and with which of several things, is not checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import re

from emv_ros.memory.documents import words_of_name
from emv_ros.tree.counts import untrue_hours, untrue_numbers
from emv_ros.tree.little_words import FUNCTION
from emv_ros.tree.nouns import is_called, is_known_word, nouns_in
from emv_ros.tree.speech import handed_wrongly, misheard, strangers
from emv_ros.tree.words import VERB, Vocabulary, forms, readings, words_in

# Words that any summary may use.
_COMMON = {
    'after', 'again', 'also', 'before', 'during', 'from', 'hand', 'have', 'human', 'into',
    'item', 'location', 'look', 'looked', 'more', 'move', 'moved', 'named', 'object', 'objects',
    'other', 'person', 'pose', 'position', 'robot', 'said', 'saying', 'some', 'succeeded',
    'that', 'then', 'there', 'they', 'this', 'times', 'user', 'what', 'where', 'which', 'while',
    'with'}
# Words by which nobody tells what happened.
_EMPTY = {'robot', 'user', 'human', 'person', 'object', 'succeed', 'successfully', 'record', 'time'}
# Marks in a line what went wrong and was not made good.
FAILURES = ('failed', 'aborted', 'canceled')
MOST_WORDS = 4
_MARKED = re.compile('|'.join(rf'\b{status.upper()}\b' for status in FAILURES))
_TOLD = re.compile(
    r"fail|abort|cancel|unsuccess|without success|unable|attempt|tried|n't\b|\bnot\b|cannot",
    re.IGNORECASE)
_FAILED = re.compile(r'\b(?:fail|abort|unsuccess|unable)\w*', re.IGNORECASE)

_NAME = re.compile(r'\b(?:[A-Z][A-Za-z]*[a-z][A-Za-z]*|[A-Z]{2,})\b')
_TIME = re.compile(r'\b\d\d:\d\d\b')
_QUOTED = re.compile(r'"[^"]*"')
_CLAUSE = re.compile(r'[,.;:]|\b(?:but|then|while)\b')
_HEAD_ENDS = re.compile(r'[(:;]|\b[A-Z]{5,}\b')
_SENTENCE = re.compile(r'(?:^|[.!?;:]\s+|["\'(])\s*$')
_LEADING = re.compile(r'[A-Z][a-z]+')


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a summary or a reply cannot be used: its kind, and in words for the model.

    `words` are those of the summary that are at fault, where single words are.
    """

    kind: str
    text: str
    words: tuple[str, ...] = ()


def faults_in(summary: str, lines: Sequence[str], facts: Sequence[str] = ()) -> list[Fault]:
    """Return what a summary of the lines, whose whole texts are `facts`, says that is not so."""
    known = [*lines, *facts]
    found: list[Fault] = []
    if not speaks_of(summary, known):
        found.append(Fault('nothing', 'it tells nothing of the records'))
    for kind, words in (('name', invented_names(summary, known)),
                        ('object', invented_things(summary, known)),
                        ('person', strangers(summary, known)),
                        ('number', untrue_numbers(summary, lines, facts)),
                        ('time', untrue_hours(summary, known))):
        if words:
            words = words[:MOST_WORDS]
            found.append(Fault(kind, f'it says {", ".join(words)}, which none of its records says',
                               tuple(words)))
    found += [Fault('speaker', text) for text in misheard(summary, known)]
    if turned := handed_wrongly(summary, lines):
        found.append(Fault('handing', turned))
    if untold := untold_failures(summary, lines):
        found.append(Fault('untold failure', f'it does not say that this failed: {untold[0]}'))
    elif done := told_as_done(summary, lines):
        found.append(Fault('untold failure', f'it says "{done}", but that failed'))
    if imagined := imagined_failure(summary, known):
        found.append(Fault('imagined failure',
                             f'it says "{imagined}", but no record tells of a failure'))
    return found


def speaks_of(summary: str, lines: Sequence[str]) -> bool:
    """Whether a summary has any telling word of the lines, in whatever form: a refusal has none."""
    said = Vocabulary(lines)
    return any(said.has(word) for word in words_in(summary)
               if word not in FUNCTION and not forms(word) & _EMPTY)


def untold_failures(summary: str, lines: Sequence[str]) -> list[str]:
    """Return the lines that are marked as failed, where a summary tells of no failure."""
    return [] if _TOLD.search(summary) else [line for line in lines if _MARKED.search(line)]


def told_as_done(summary: str, lines: Sequence[str]) -> str:
    """Return the word by which a summary tells as done what failed, or ''.

    Told as done: in the past, in a clause without a word of failure, while no other line tells
    of it; the same deed with another end than success does not count as another.
    """
    marked = [line for line in lines if _MARKED.search(line)]
    failed = {verb for line in marked for verb in _verbs(line)[:1]}
    heads = [_head(line) for line in marked]
    failed -= {verb for line in lines if line not in marked and (
        'succeeded' in line or _head(line) not in heads) for verb in _verbs(line)}
    for clause in _CLAUSE.split(summary):
        if failed and not _TOLD.search(clause):
            for word in words_in(clause):
                bases = readings(word).get(VERB, (word,))
                if {*bases} != {word} and not word.endswith(('s', 'ing')) and failed & {*bases}:
                    return word
    return ''


def imagined_failure(summary: str, lines: Sequence[str]) -> str:
    """Return the word by which a summary tells of a failure of which no line does, or ''."""
    told = _FAILED.search(summary)
    return told.group() if told and not _TOLD.search(' '.join(lines)) else ''


def misplaced_in(summary: str, members: Sequence[str], lines: Sequence[str]) -> list[str]:
    """Return the words of a summary that stand in the list, but in no line of its own group."""
    own, listed = _stems(' '.join(members)), _stems(' '.join(lines))
    return [word for word, stem in _words(summary) if stem in listed and stem not in own]


def invented_names(summary: str, known: Sequence[str]) -> list[str]:
    """Return the names in a summary that stand in none of the known texts.

    A capital at the start of a sentence makes no name of a word that the dictionary knows, unless
    it stands there as one who did something.
    """
    said = ' '.join(known).lower()
    squashed = re.sub(r'[^a-z0-9]+', '', said)
    found: list[str] = []
    for match in _NAME.finditer(summary):
        word = match.group()
        begins = _SENTENCE.search(summary[:match.start()]) and _LEADING.fullmatch(word)
        is_word = is_known_word(word) and not is_called(word, summary[match.end():])
        if (begins and is_word) or (word in ('AM', 'PM') and _TIME.search(said)):
            continue
        bare = re.sub(r'[^a-z0-9]+', '', word.lower())
        if bare not in squashed and bare.removesuffix('s') not in squashed:
            found.append(word)
    return list(dict.fromkeys(found))


def invented_things(summary: str, known: Sequence[str]) -> list[str]:
    """Return the nouns and colours of a summary that stand, in whatever form, in no known text.

    Words in capitals are `invented_names`' business.
    """
    vocabulary = Vocabulary(known)
    return [word for word in nouns_in(summary)
            if (word.islower() or is_known_word(word)) and not vocabulary.has(word)]


def _head(line: str) -> list[str]:
    """Return the words that name the deed of a line: those before parameters, steps and its end."""
    return words_in(_HEAD_ENDS.split(_TIME.sub(' ', line))[0])


def _verbs(line: str) -> list[str]:
    """Return the base forms of words of a line that may be verbs, those of quotes left out."""
    return [base for word in words_in(_QUOTED.sub(' ', line)) if word not in FUNCTION
            for base in readings(word).get(VERB, ())]


def _stems(text: str) -> set[str]:
    return {stem for _, stem in _words(text)}


def _words(text: str) -> list[tuple[str, str]]:
    """Return the words of a text that tell things apart, each with what its forms share."""
    found = re.findall(r'[a-z]{4,}', words_of_name(text))
    return [(word, re.sub(r'(ing|ed|es|s|e)$', '', word)) for word in dict.fromkeys(found)
            if word not in _COMMON]
