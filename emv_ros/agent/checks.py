"""Whether an answer may go out: its evidence was shown, holds what was asked for, and bears out its times.

A verdict that refuses says what to write instead; the model sees it as an error of the console.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
import re

from emv_ros.agent.answers import EvidenceItem
from emv_ros.agent.asked import missing_things, things_in

MAX_ANSWER_CHARS = 2000
MAX_EVIDENCE = 20
_STAMP = re.compile(r'\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}:\d{2}(?::\d{2})?\b')
_UNFILLED = re.compile(r'\{\s*(?:len|rows|r|row|times|names|total|first|nodes|n)\b[^}]*\}')
_NEGATIVE = re.compile(r"^\W*(?:no|never|nothing|none|not|i did not|i didn't|i have not|i never)\b", re.I)
_LOOSE = re.compile(r'\s+([.,;:!?])')
_DOUBLED = re.compile(r'[,;:]+(?=[.,;:])')
_COUNTS = re.compile(r'\bhow (?:many|often)\b|\bnumber of\b', re.I)
ASKED_STATUS = {'failed': r'\bfail', 'aborted': r'\babort', 'canceled': r'\bcancel',
                'succeeded': r'\bsucce'}
_OFFSET = re.compile(r'(\d{2}:\d{2}:\d{2})(?:\.\d+)?(?:[+-]\d{2}:\d{2})?')


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check decided: the answer's text and evidence, or why not (`refused`)."""

    text: str = ''
    evidence: tuple[EvidenceItem, ...] = ()
    refused: str = ''
    absent: tuple[str, ...] = ()  # things asked for that nothing recorded mentions


@dataclass(frozen=True, slots=True)
class Grounds:
    """What an answer is checked against.

    `text_of` gives the full recorded text behind an id, `is_recorded` whether memory mentions a word anywhere in the
    question's window, `seen_text` all that the model was shown in this run.
    """

    question: str
    shown: dict[str, EvidenceItem]
    seen_text: str
    text_of: Callable[[EvidenceItem], str]
    is_recorded: Callable[[str], bool]


def check_answer(text: str, ids: Iterable[str], grounds: Grounds, insists: bool = False) -> Verdict:
    """Return the verdict on answer(text, evidence); `insists` where the same was refused before."""
    text = tidy(text)
    if not text:
        return Verdict(refused="the answer is empty: write answer('…', evidence=rows)")
    if _UNFILLED.search(text):
        return Verdict(refused="the answer holds an unfilled {…}: use an f-string, answer(f'…', evidence=rows)")
    ids = list(dict.fromkeys(ids))
    unknown = [item for item in ids if item not in grounds.shown]
    if unknown:
        return Verdict(refused=f'evidence {unknown[0][:40]!r} was never shown: pass rows that a function returned')
    if not ids:
        return Verdict(refused='an answer needs evidence: pass evidence=rows, or call not_recorded(reason)')
    evidence = tuple(grounds.shown[item] for item in ids)
    if strange := _unknown_times(text, evidence, grounds):
        return Verdict(refused=f'the answer says {strange}, which no row shows: '
                       'take times from the rows, {row.when}')
    if status := _status_missed(evidence, grounds.question):
        return Verdict(refused=f'the question counts {status} runs, but other runs are in the evidence: '
                       f'use events(…, status={status!r})')
    return _check_things(text, evidence, grounds, insists)


def _check_things(text: str, evidence: tuple[EvidenceItem, ...], grounds: Grounds,
                  insists: bool) -> Verdict:
    held = ' '.join(grounds.text_of(item) for item in evidence)
    missing = missing_things(grounds.question, held)
    accepted = Verdict(text, evidence[:MAX_EVIDENCE])
    if not missing:
        return accepted
    recorded = [thing for thing in missing if grounds.is_recorded(thing)]
    absent = tuple(thing for thing in missing if thing not in recorded)
    if is_negative(text):
        if absent:
            return accepted  # what was asked for is nowhere: saying no is right
        if insists:
            return accepted
        return Verdict(refused=f'memory does mention {", ".join(recorded)}: look with '
                       f'search({" ".join(recorded)!r}) before saying no')
    everything = len(missing) == len(things_in(grounds.question))
    if insists and not (everything and absent):
        return accepted
    if recorded:
        return Verdict(refused=f'the evidence does not mention {", ".join(recorded)}, but memory does: '
                       f'search({" ".join(recorded)!r})', absent=absent)
    return Verdict(refused=f'nothing recorded mentions {", ".join(absent)}: use rows that are about it '
                   'under another name, or call not_recorded(reason)', absent=absent)


def _status_missed(evidence: tuple[EvidenceItem, ...], question: str) -> str:
    """Return the one status that a counting question asks for, where the evidence mixes it."""
    asked = [status for status, word in ASKED_STATUS.items() if re.search(word, question, re.I)]
    runs = [item for item in evidence if item.kind == 'skill_event']
    if len(asked) != 1 or not _COUNTS.search(question) or not runs:
        return ''
    fitting = [item for item in runs if f' {asked[0]}' in item.text]
    return asked[0] if fitting and len(fitting) < len(runs) else ''


def tidy(text: str) -> str:
    """Return the answer's text on few lines, without offsets and fractions behind clock times."""
    text = _OFFSET.sub(r'\1', text)
    text = _DOUBLED.sub('', _LOOSE.sub(r'\1', text))
    lines = [' '.join(line.split()) for line in text.splitlines()]
    return '\n'.join(line for line in lines if line)[:MAX_ANSWER_CHARS]


def is_negative(text: str) -> bool:
    """Whether the answer begins by denying."""
    return _NEGATIVE.match(text) is not None


def _unknown_times(text: str, evidence: Iterable[EvidenceItem], grounds: Grounds) -> str:
    """Return the first date or clock time of the text that nothing shown bears out, or ''."""
    known = ' '.join((grounds.seen_text, grounds.question, *(item.text for item in evidence)))
    for stamp in _STAMP.findall(text):
        if stamp not in known and stamp.lstrip('0') not in known:
            return str(stamp)
    return ''


def things_recorded(question: str, is_recorded: Callable[[str], bool]) -> bool:
    """Whether the question asks for things and memory mentions each of them."""
    things = things_in(question)
    return bool(things) and all(is_recorded(thing) for thing in things)
