"""What a question asks about: the words that an answer's evidence should hold.

Words that ask, that tell a time, or that any memory holds (do, see, object, robot) are left out.
What is left are the things: `When did you water the plants?` asks about 'water' and 'plants'.
"""

from __future__ import annotations

from collections.abc import Sequence
import re

from emv_ros.agent.roots import root_of
from emv_ros.memory.documents import words_of_name
from emv_ros.memory.names import spellings, stem

# Words that ask, tell a time, or that any memory holds.
GENERIC = frozenset("""
a able about above across action activities activity after afternoon afterwards again ago all also
always am an and any anybody anyone anything april are around as ask asked at attempt attempts
august autumn away be became because been before began being below between both busy but by came
can caught clock complete completed concern concerning could count date day days deal december
describe detail detect detected did different directly do does doing done down during each earlier
early eight either else end ended ends episode episodes evening ever every everything exactly fail
failed failing fails failure fall february few find first five follow followed following for found
four friday from full gave get getting give given go goal goals going gone got had handle handled
happen happened happens has have having he hear heard hello her here hers hey hi highlight
highlights him his history hold hour hours how i if in instance into is it item its january job
jobs july june just keep kept kind know last lately later latest least leave left like likes list
long lose lost made make manage managed many march may me memory mention midnight minute minutes
moment monday month months more morning most much my name named near need never new next night nine
no none noon not nothing november now number o'clock object objects october of off often ok okay on
once one only or order other our out over part passed past people perform performed person piece
pieces place please pm possible previous probably put quickly ran reason recently record recorded
regarding remember request right robot run said same saturday saw say search searched searches
searching second seconds see seen september seven she short shortly should show since six skill so
some somebody someone something soon spend spent spring start started state status still stop
stopped succeed succeeded success successful summarize summary summer sunday take taken talk task
tasks tell telling ten than thank thanks that the their them then there these they thing things
this those three through thursday till time times to today together told tomorrow tonight took
total tried true try tuesday two unable under until up us use used user vain very visible want
wanted was we wednesday week weeks well went were what whatever when where whether which while who
whole whom whose why will winter wish wished with without word words work worked works would wrong
year years yes yesterday yet you your yours
""".split())  # noqa: SIM905
_WORD = re.compile(r"[^\W\d_]{2,}(?:'[a-z]+)?")
_TIME = re.compile(
    r'\d|\b(?:today|yesterday|tonight|tomorrow|ago|past|this|previous|recent\w*|morning|noon|afternoon|'
    r'evening|night|midnight|week\w*|month\w*|year\w*|monday|tuesday|wednesday|thursday|friday|saturday|sunday|'
    r'january|february|march|april|may|june|july|august|september|october|november|december|since|until|'
    r'between|spring|summer|autumn|winter|hours?|minutes?|days?)\b', re.IGNORECASE)
# Asks for a time and tells none: how long ago, which of all days, the latest of all times.
_ASKS_TIME = re.compile(
    r'\bhow (?:long|(?:many|much) (?:different )?'
    r'(?:time|minutes?|hours?|days?|weeks?|months?|years?))'
    r'(?: ago\b| (?:have |has |is )?(?:passed|gone by|it been|it|are there)? ?since\b)?|'
    r'\b(?:which|what) (?:days?|date|weekdays?|week|month|year|time)'
    r'(?: of (?:the )?(?:day|week|month|year))?\b|\bmost recent(?:ly)?\b', re.IGNORECASE)
ROLES = ('user', 'robot')
_WHO_SAID = re.compile(r'\bwho(?:m|se)?\b', re.IGNORECASE)
_WHETHER_DONE = re.compile(
    r'^\W*(?:is it (?:true|right|correct|so) that|(?:did|have|has|had|was|were)(?:n.t)?)\b',
    re.IGNORECASE)
_DENIED = re.compile(
    r'^\W*is it (?:true|right|correct|so) that (?:the )?\w+ '
    r'(?:(?:did|have|has|had|was|were)(?: not|n.t)|(?:(?:have|has|had|was|were) )?never)\b',
    re.IGNORECASE)
_WORDS = re.compile(
    r'\b(?:say|says|said|saying|tell|told|ask|asks|asked|talk\w*|speak|spoke|spoken|speech|mention\w*|'
    r'announce\w*|report\w*|answer\w*|greet\w*|explain\w*|complain\w*|hear|heard|call|called|'
    r'promise\w*|claim\w*|words?)\b', re.IGNORECASE)
_WISHED = re.compile(
    r'\b(?:wish\w*|request\w*|(?:ask|want|tell|told)(?:ed|s)? you)\b', re.IGNORECASE)
_PERCEIVED = re.compile(
    r'\b(?:see|sees|saw|seen|detect\w*|recogni[sz]e\w*|notice\w*|spot|spotted|perceive\w*|find|'
    r'found|identif\w*)\b', re.IGNORECASE)
_TARGET = re.compile(r'\b(?:which|what|(?P<count>how (?:many|much))) (?P<word>\w+)', re.IGNORECASE)
_ROBOT = re.compile(r'\b(?:you|your|robot)\b', re.IGNORECASE)
# What follows the name of a thing in a question and tells which is meant: 'I drank from', 'that
# you handed me'. It ends with its preposition, else with its verb: what comes then is asked.
_WHO = r'(?:(?:that|which) )?(?:I|we|you|he|she|they|[A-Z][a-z]+) \w+'
_CLAUSES = (rf' {_WHO}(?: \w+){{0,3}}? (?:from|with|of)\b', rf' {_WHO}')


def things_in(question: str) -> list[str]:
    """Return the distinct words of the question that name things or deeds, lower case, in order."""
    words = _WORD.findall(words_of_name(question))
    kept = [word.removesuffix("'s") for word in words]
    return list(dict.fromkeys(
        word for word in kept if not GENERIC & {word, stem(word), root_of(word)}))


def names_in(question: str, things: Sequence[str]) -> list[str]:
    """Return those of the question's things that it writes as names: a capital in its midst."""
    return [thing for thing in things
            if re.search(rf'(?<=[a-z0-9,] ){thing.capitalize()}\b', question)]


def target_in(question: str) -> tuple[str, bool]:
    """Return what the question wants named or counted, '' for none, and whether it is counted.

    'Which brand …': brand; 'How many grams …': grams, counted.
    """
    found = _TARGET.search(question)
    word = found['word'].lower() if found else ''
    return ('', False) if not found or word not in things_in(question) else (
        word, found['count'] is not None)


def description_in(question: str, name: str) -> str:
    """Return the thing of a name as a question describes it, '' where it does not."""
    last = re.escape(name.split()[-1]) if name.split() else ''
    for clause in _CLAUSES if last else ():
        if found := re.search(rf'\b((?i:{last})s?{clause})', question):
            return found[1]
    return ''


def described_things(question: str) -> list[str]:
    """Return the things that the question describes by what somebody did: 'mug I drank from'."""
    return [told for thing in things_in(question) if (told := description_in(question, thing))]


def is_mentioned(thing: str, text: str) -> bool:
    """Whether a text holds the word, in singular or plural, as a word or the beginning of one.

    How it is spelt, British or American, does not matter.
    """
    roots = [root_of(word) for word in spellings(thing)]
    words = _WORD.findall(words_of_name(text))
    return any(root_of(word) == root or (len(root) > 3 and word.startswith(root))
               for word in words for root in roots)


def is_named(name: str, question: str) -> bool:
    """Whether the question names somebody, be it by one word of the name: 'Bea's' is Bea Smith."""
    words = set(re.findall(r'\w+', name.casefold()))
    return not (words - GENERIC or words).isdisjoint(re.findall(r'\w+', question.casefold()))


def is_asked_of(speaker: str, question: str) -> bool:
    """Whether a question is about what this speaker said, whom it names, or calls I or you.

    Where it asks who said something, that is neither of the two who talk.
    """
    if speaker.lower() in ROLES:
        return _WHO_SAID.search(question) is None
    return is_named(speaker, question)


def missing_things(question: str, text: str) -> list[str]:
    """Return the things of the question that the text does not mention."""
    return [thing for thing in things_in(question) if not is_mentioned(thing, text)]


def names_a_time(question: str) -> bool:
    """Whether the question says anything about when; that it asks when it was, says none."""
    return _TIME.search(_ASKS_TIME.sub(' ', question)) is not None


def asks_whether_done(question: str) -> bool:
    """Whether the question asks by yes or no about the past: there, no record means no.

    Not so of how the world stands (`Is the door open?`), of which a memory knows only what it saw.
    """
    return _WHETHER_DONE.match(question) is not None


def asks_whether_not_done(question: str) -> bool:
    """Whether a yes means that it was not done: `Is it true that you did not …`."""
    return _DENIED.match(question) is not None


def asks_who_wished(question: str) -> bool:
    """Whether the question is about who wanted the robot to do something."""
    return _WISHED.search(question) is not None


def asks_for_words(question: str) -> bool:
    """Whether what the robot said answers the question: it asks for words, or what the robot saw.

    Robots without other records of what they perceive announce it: 'I can see a milk'.
    """
    return _WORDS.search(question) is not None or (
        _PERCEIVED.search(question) is not None and _ROBOT.search(question) is not None)
