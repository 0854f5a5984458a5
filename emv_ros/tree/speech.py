"""Persons in a summary, what they are said to have said, and what went from hand to hand.

A summary may not speak of a user where none spoke, not give the words of one to another, and not
turn a receiving into a handing over. Records say who spoke (`user said "..."`); where the items
are summaries themselves, their words are taken as they stand. Who did what beyond that is not
checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
import re

from emv_ros.tree.nouns import nouns_in
from emv_ros.tree.words import Vocabulary, forms, readings, words_in

_SAID = re.compile(r'([^\W\d_][\w .\-]{0,40}?) said "([^"]*)"')
_QUOTE = re.compile(r'["“]([^"“”]{3,})["”]')
_PERSONS = ('user', 'human', 'person', 'operator', 'someone', 'guest', 'visitor', 'man', 'woman')
_PERSON = rf'(?:{"|".join(_PERSONS)})'
_ROBOTS = ('robot', 'it', 'assistant')
_ASKED = (r'(?:ask|request|want|order|instruct|command|tell|told)(?:ed|s|ing)?')
_SPOKE = (rf'(?:{_ASKED}|say|says|said|saying|repl(?:y|ies|ied)|respond(?:ed|s)?|answer(?:ed|s)?'
          r'|thank(?:ed|s)?|greet(?:ed|s)?|announc(?:e|ed|es)|mention(?:ed|s)?|wonder(?:ed|s)?)')
_BETWEEN = r'(?:\s+(?:\w+ly|then|also|again|had|has|first|later))*\s+'
_USER_SPOKE = re.compile(rf'\b{_PERSON}{_BETWEEN}{_SPOKE}\b', re.IGNORECASE)
_BY_USER = re.compile(
    rf"\b(?:(?:asked|requested|ordered|instructed|told)(?: \w+)? by (?:the |a )?{_PERSON}"
    rf"|{_PERSON}'s (?:request|question|order|command|words|instruction)s?)\b", re.IGNORECASE)
_ROBOT_SPOKE = re.compile(rf'\brobot{_BETWEEN}{_SPOKE}\b', re.IGNORECASE)
_FOR = re.compile(
    rf'\b{_PERSON}{_BETWEEN}(?:asked|requested|wanted|ordered)(?: the robot)?(?: for)?\s+'
    r'((?:[^\s,.;:]+\s*){1,8})', re.IGNORECASE)
_FOR_ENDS = re.compile(r'\b(?:and|which|who|but|while|then|that|because|so|after|before|as)\b')
_TELLS = re.compile(rf'\b(robot|{"|".join(_PERSONS)}){_BETWEEN}{_SPOKE}\b', re.IGNORECASE)
_NAMED_TELLS = re.compile(rf'\b([A-Z][a-z]+){_BETWEEN}{_SPOKE}\b')
_PRONOUN = re.compile(r'\b(?:she|he|her|him|his|hers|herself|himself)\b', re.IGNORECASE)
_SOUND = {'say', 'speak', 'talk', 'tell', 'ask', 'greet', 'announce', 'introduction', 'introduce',
          'answer', 'reply', 'speech', 'utter', 'respond', 'question', 'describe'}

# The bare word is mostly the limb: 'open hand, look at human hand'.
_GIVE = (r'(?:hand(?:ed|ing)|hands?(?= (?:over|out|back|it|them|him|her|the|an?)\b)'
         r'|gave|giv(?:e|es|en|ing)|deliver(?:ed|s|ing)?)')
_TAKE = r'(?:receiv(?:e|ed|es|ing)|accept(?:ed|s|ing)?|took|tak(?:e|es|en|ing))'
_GAVE = re.compile(rf'\b{_GIVE}\b(?! (?:up|pose|position|gesture))', re.IGNORECASE)
_TOOK = re.compile(rf'\b{_TAKE}\b', re.IGNORECASE)
_TO_ROBOT = re.compile(r'\bto (?:the )?robot\b|^ (?:it|the robot) (?:the|an?)\b')
_CLAUSE = re.compile(r'[.;]|,? (?:and|but|then|while) ')


@dataclass(frozen=True, slots=True)
class Heard:
    """Who said what in the items: the speakers, and the words of each."""

    said: tuple[tuple[str, str], ...]
    prose: str

    @classmethod
    def of(cls, known: Sequence[str]) -> Heard:
        """Return what was heard in the known texts."""
        said = {(speaker.strip().split()[-1].lower(), words) for text in known
                for speaker, words in _SAID.findall(text)}
        return cls(tuple(sorted(said)), ' '.join(_SAID.sub(' ', text) for text in known))

    @property
    def has_user(self) -> bool:
        """Whether anybody but the robot spoke."""
        return any(speaker not in _ROBOTS for speaker, _ in self.said) or bool(
            _USER_SPOKE.search(self.prose) or _BY_USER.search(self.prose))

    @property
    def has_robot(self) -> bool:
        """Whether the robot spoke."""
        return any(speaker in _ROBOTS for speaker, _ in self.said) or bool(
            _SOUND & {form for word in words_in(self.prose) for form in forms(word)})


def strangers(summary: str, known: Sequence[str]) -> list[str]:
    """Return the words for persons in a summary of whom nothing is known."""
    heard = Heard.of(known)
    told = set(words_in(' '.join(known)))
    plain = _QUOTE.sub(' ', summary)
    found = [word for word in dict.fromkeys(_PRONOUN.findall(plain)) if word.lower() not in told]
    if any(speaker not in (*_PERSONS, *_ROBOTS) for speaker, _ in heard.said):
        found = []  # a person with a name
    if re.search(r'\busers?\b', plain, re.IGNORECASE) and 'user' not in told and not heard.has_user:
        found.append('user')
    someone = any(speaker not in _ROBOTS for speaker, _ in heard.said)
    if not someone and told.isdisjoint((*_PERSONS, 'people', 'humans', 'persons', 'guests')):
        found += [word for word in words_in(plain) if word in ('human', 'person', 'someone')]
    return list(dict.fromkeys(found))


def misheard(summary: str, known: Sequence[str]) -> list[str]:
    """Return what is wrong with who said what in a summary, in words for its writer."""
    heard = Heard.of(known)
    wrong: list[str] = []
    plain = _QUOTE.sub(' ', summary)
    if not heard.has_user and (_USER_SPOKE.search(plain) or _BY_USER.search(plain)):
        wrong.append('it says that a person spoke or asked, but no record has words of one')
    if not heard.has_robot and _ROBOT_SPOKE.search(plain):
        wrong.append('it says that the robot spoke, but no record has words of the robot')
    wrong += _silent(plain, heard)
    wrong += _misquoted(summary, known, heard)
    wrong += _not_asked_for(plain, heard, known)
    return wrong


def handed_wrongly(summary: str, known: Sequence[str]) -> str:
    """Return how a summary turns round who gave to whom, '' where it does not."""
    plain = ' '.join(_SAID.sub(' ', text) for text in known)
    directions = set(_handings(plain))
    if len(directions) != 1:
        return ''
    was_given = 'given' in directions
    for told in _handings(_QUOTE.sub(' ', summary)):
        if (told == 'given') != was_given:
            return ('it says that the robot received something, but it handed something over'
                    if was_given else
                    'it says that the robot handed something over, but it received something')
    return ''


def _handings(text: str) -> Iterator[str]:
    """Yield 'given' or 'taken', as the robot did, for each handing from side to side of a text."""
    for clause in _CLAUSE.split(text.lower()):
        for pattern, own, other in ((_GAVE, 'given', 'taken'), (_TOOK, 'taken', 'given')):
            match = pattern.search(clause)
            if match is None:
                continue
            before, after = clause[:match.start()], clause[match.end():]
            to_robot = own == 'given' and _TO_ROBOT.search(after)
            from_robot = own == 'taken' and re.search(r'\bfrom (?:the )?robot\b', after)
            by_person = re.search(rf'\b{_PERSON}\b\s*(?:\w+ly\s+)?$', before)
            if to_robot or from_robot or by_person:
                yield other
            elif own == 'given' or re.search(rf'\bfrom (?:the |a )?{_PERSON}\b', after) \
                    or 'receiv' in match.group():
                yield own


def _silent(plain: str, heard: Heard) -> Iterator[str]:
    """Yield those whom the items name, but not as speakers, and who are said to have spoken."""
    speakers = {speaker for speaker, _ in heard.said}
    if not speakers:
        return
    believed = set(_NAMED_TELLS.findall(heard.prose))
    for name in dict.fromkeys(_NAMED_TELLS.findall(plain)):
        if name.lower() not in {*speakers, *_PERSONS, *_ROBOTS} and name not in believed \
                and re.search(rf'\b{name}\b', heard.prose):
            yield f'it says that {name} spoke, but the words are those of others'


def _misquoted(summary: str, known: Sequence[str], heard: Heard) -> Iterator[str]:
    texts = [_plain(text) for text in known]
    for match in _QUOTE.finditer(summary):
        quoted = _plain(match.group(1))
        if not quoted:
            continue
        if not any(quoted in text for text in texts):
            yield f'it quotes "{match.group(1)[:60]}", which no record says'
            continue
        speakers = {speaker in _ROBOTS for speaker, words in heard.said if quoted in _plain(words)}
        teller = _teller(summary[:match.start()])
        if len(speakers) == 1 and teller is not None and teller not in speakers:
            name = 'the robot' if teller else 'a person'
            yield f'it says that {name} said "{match.group(1)[:60]}", but another did'


def _teller(before: str) -> bool | None:
    """Whether the robot (else a person) says what is quoted next; None where that is not told."""
    told = list(_TELLS.finditer(before))
    if not told or re.search(r'["”.;]', before[told[-1].end():].rstrip('"“')):
        return None
    return told[-1].group(1).lower() == 'robot'


def _not_asked_for(plain: str, heard: Heard, known: Sequence[str]) -> Iterator[str]:
    """Yield the things that a user is said to have asked for, but did not name."""
    words = [words for speaker, words in heard.said if speaker not in _ROBOTS]
    if not words or not _is_english(words) or _USER_SPOKE.search(heard.prose):
        return
    asked, told = Vocabulary(words), Vocabulary(known)
    for match in _FOR.finditer(plain):
        wanted = _FOR_ENDS.split(match.group(1))[0]
        for word in nouns_in(f'with {wanted}'):
            if told.has(word) and not asked.has(word):
                yield f'it says that the user asked for "{word}", which the user did not say'


def _is_english(texts: Sequence[str]) -> bool:
    words = [word for text in texts for word in words_in(text) if len(word) > 2]
    return sum(bool(readings(word)) for word in words) * 3 >= len(words) * 2


def _plain(text: str) -> str:
    return ' '.join(re.findall(r'\w+', text.lower()))
