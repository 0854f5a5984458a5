"""Words that must not be kept: whose they are, or what stands in them.

It comes before anything is stored, logged or sent to a model. A phrase counts in whole words, in
any case, with any white space, underscores or hyphens between them; `/…/` is a regular expression,
also without regard to case. Signs that nobody sees (zero-width spaces, soft hyphens) are looked
through. What a phrase is spread over (two utterances, a picture that shows it) is not noticed.

An expression is given LIMIT_S for one text (`re` can take years, and hold the whole process up).
Where that is not enough nobody knows what stands in the text, so that all of it is hidden.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
import hashlib
import logging
import os
import re
from typing import Any, TypeVar
import unicodedata

import regex

from emv_ros.errors import SettingsError, WithheldError
from emv_ros.records import ImageRecord, Record, Utterance
from emv_ros.settings import PrivacySettings

log = logging.getLogger(__name__)

HIDDEN = '[…]'
LIMIT_S = 0.25
# An expression is tried on so many of a sign when it is read: those that take long with every text
# are refused at once.
TRIED_SIGNS = 200
# Texts longer than this are searched anew each time, shorter ones are remembered.
SHORT_CHARS = 200
# What the robot's owner sets, or what is no words of anybody.
_PLAIN_FIELDS = frozenset(('robot', 'status', 'sha256', 'media_type', 'kind'))
# By these reports find one another: they stay apart though what they say is hidden.
_ID_FIELDS = frozenset(('source_id', 'parent_source_id'))
_BETWEEN_WORDS = r'[\s_\-\u2010-\u2015]+'
_UNSEEN = dict.fromkeys(map(ord, '\u00ad\u200b\u200c\u200d\u2060\ufeff'))
_ALMOST_EXPRESSION = re.compile(r'/(?:\\.|[^/\\])+/')
_ITEM = re.compile(r'\s*(/(?:\\.|[^/\\])*/|[^;]*)\s*(?:;|$)')

AnyRecord = TypeVar('AnyRecord', bound=Record)


class WordFilter:
    """What the settings say about words. Safe to share between threads."""

    def __init__(self, settings: PrivacySettings) -> None:
        """Read the settings. Raises SettingsError where a regular expression is none."""
        self._speakers = frozenset(
            _folded(name) for name in settings.drop_speakers.split(',') if name.strip())
        self._patterns = _patterns(settings.drop_phrases)
        self._drops_whole = settings.phrase_mode == 'utterance'
        self._salt = os.urandom(16)
        self._remembered = lru_cache(maxsize=4096)(self._searched)

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing that must not be kept."""
        return not self._patterns and not self._speakers

    def text(self, text: str) -> str:
        """Return a text with each phrase replaced."""
        if not self._patterns:
            return text
        return self._remembered(text) if len(text) <= SHORT_CHARS else self._searched(text)

    def admit(self, record: AnyRecord) -> AnyRecord:
        """Return a record as it may be kept. Raises WithheldError where it may not be at all."""
        if self.is_idle:
            return record
        if isinstance(record, Utterance):
            self.check(record.text, record.speaker)
        return self._without_phrases(record) if self._patterns else record

    def check(self, text: str, speaker: str = '') -> None:
        """Raise WithheldError where an utterance may not be kept at all."""
        if _folded(speaker) in self._speakers:
            raise WithheldError('its speaker is one of privacy.drop_speakers')
        if self._drops_whole and self.text(text) != text:
            raise WithheldError('a phrase of privacy.drop_phrases stands in it')

    def _searched(self, text: str) -> str:
        hidden = normal = _normal(text)
        for pattern in self._patterns:
            try:
                hidden = pattern.sub(HIDDEN, hidden, timeout=LIMIT_S)
            except (TimeoutError, MemoryError):
                log.warning('privacy.drop_phrases: /%s/ took more than %s s, or all memory, for '
                            'one text, which is hidden as a whole', pattern.pattern, LIMIT_S)
                return HIDDEN
        return text if hidden == normal else hidden

    def _without_phrases(self, value: Any) -> Any:
        changed = {}
        for item in fields(value):
            before = getattr(value, item.name)
            if item.name in _PLAIN_FIELDS:
                continue
            after = self._id(before) if item.name in _ID_FIELDS else self._hidden(before)
            if after is not before:
                changed[item.name] = after
        return replace(value, **changed) if changed else value

    def _hidden(self, value: Any, is_parameter: bool = False) -> Any:
        """Return a value without phrases; the same object where there are none."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            hidden = self._hidden_mapping(value)
            return value if hidden == value else hidden
        if isinstance(value, list | tuple):
            items = [self._hidden(item, is_parameter) for item in value]
            is_same = all(one is other for one, other in zip(items, value, strict=True))
            return value if is_same else type(value)(items)
        if is_dataclass(value) and not isinstance(value, type):
            return self._without_phrases(value)
        if is_parameter and isinstance(value, int | float) and not isinstance(value, bool):
            return value if self.text(str(value)) == str(value) else HIDDEN
        return value

    def _hidden_mapping(self, value: Mapping[Any, Any]) -> dict[Any, Any]:
        hidden: dict[Any, Any] = {}
        for key, item in value.items():
            name = told = self.text(key) if isinstance(key, str) else key
            while name in hidden:  # two names that are hidden do not cost a value
                name = f'{told} {len(hidden) + 1}'
            hidden[name] = self._hidden(item, is_parameter=True)
        return hidden

    def _id(self, value: str) -> str:
        if self.text(value) == value:
            return value
        return HIDDEN + hashlib.blake2b(
            value.encode(), key=self._salt, digest_size=8).hexdigest()


def labels_of(settings: PrivacySettings) -> tuple[str, ...]:
    """Return the names of `blur_labels`."""
    return tuple(name.strip() for name in settings.blur_labels.split(',') if name.strip())


def check_picture(record: ImageRecord, settings: PrivacySettings) -> None:
    """Raise WithheldError for a depth picture where those are not to be stored."""
    if record.is_depth and settings.drop_depth:
        raise WithheldError('depth pictures are not stored: privacy.drop_depth')


def _normal(text: str) -> str:
    return unicodedata.normalize('NFKC', text.translate(_UNSEEN))


def _folded(name: str) -> str:
    return ' '.join(re.split(_BETWEEN_WORDS, _normal(name).strip())).casefold()


def _patterns(phrases: str) -> tuple[regex.Pattern[str], ...]:
    found = []
    for item in _items(phrases):
        if len(item) > 2 and item.startswith('/') and item.endswith('/'):
            found.append(_expression(item[1:-1]))
        elif _ALMOST_EXPRESSION.match(item):
            raise SettingsError(
                f'privacy.drop_phrases: {item} has words behind its last slash: it is no regular '
                'expression, which has nothing there, and no phrase, which begins otherwise')
        else:
            found.append(_phrase(_normal(item)))
    return tuple(found)


def _phrase(words: str) -> regex.Pattern[str]:
    between = _BETWEEN_WORDS.join(map(re.escape, words.split()))
    # The one letter that is two of them in the other case.
    either = re.sub('ss|\u00df', '(?:ss|\u00df)', between, flags=re.IGNORECASE)
    return regex.compile(rf'(?<![^\W_]){either}(?![^\W_])', regex.IGNORECASE)


def _items(phrases: str) -> list[str]:
    found, at = [], 0
    while at < len(phrases):
        match = _ITEM.match(phrases, at)
        if match is None:  # a slash begins words that are no expression
            end = phrases.find(';', at)
            end = len(phrases) if end < 0 else end
            found.append(phrases[at:end].strip())
            at = end + 1
            continue
        found.append(match[1].strip())
        at = match.end()
        if match.end() == match.start():
            break
    return [item for item in found if item]


def _expression(text: str) -> regex.Pattern[str]:
    try:
        pattern = regex.compile(text, regex.IGNORECASE)
    except regex.error as error:
        raise SettingsError(
            f'privacy.drop_phrases: /{text}/ is no regular expression: {error}') from error
    try:
        if pattern.search('', timeout=LIMIT_S):
            raise SettingsError(f'privacy.drop_phrases: /{text}/ matches where nothing stands')
        for sign in sorted({*text, *'a0 '}):
            pattern.search(sign * TRIED_SIGNS + '\0', timeout=LIMIT_S)
    except (TimeoutError, MemoryError) as error:
        raise SettingsError(
            f'privacy.drop_phrases: /{text}/ takes too long: it repeats what repeats, as '
            '(a+)+ does, or itself, as (?R) does') from error
    return pattern
