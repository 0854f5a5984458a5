"""How many tokens a prompt has, by an estimate that errs upwards, and texts cut to fit.

Models split text differently; the estimate was compared with the tokenizer of the embedded model
on logs, prose, many scripts, emoji and random characters, and never fell below it there. Of
ordinary English it makes nearly twice as many. It is deliberately no tokenizer: a provider's own
is seldom to be had.
"""

from __future__ import annotations

from collections.abc import Sequence
import re
from typing import Any

# What the frame of a chat and of each message in it takes.
CHAT_TOKENS, MESSAGE_TOKENS = 8, 6
# The part of a limit that a first prompt leaves to the reply and errors of a second try.
LATER_SHARE = 4
# A line has at least so many tokens, its end included: a time and some words.
SHORTEST_LINE = 20
ELLIPSIS = '…'

# A space before a word is part of its first token.
_PIECE = re.compile(r' ?[A-Za-z]+[A-Za-z0-9]*|[A-Za-z0-9]+|[ \t]+|\s|.', re.DOTALL)
_CODE = re.compile(r'\d[A-Za-z]')
_RUN = re.compile(r'[A-Z]?[a-z]+|[A-Z]+|\d')
# No syllable of a word: three consonants in a row, or no vowel at all.
_ODD = re.compile(r'[b-df-hj-np-tv-xz]{3}|^[^aeiouy]+$|^..$', re.IGNORECASE)
_PRIVATE = range(0xE000, 0xF900)


def tokens(text: str) -> int:
    """Return an upper estimate of the tokens of a text."""
    return sum(map(_tokens_of, _PIECE.findall(text)))


def tokens_of(messages: Sequence[dict[str, Any]]) -> int:
    """Return an upper estimate of the tokens of a chat."""
    return CHAT_TOKENS + sum(MESSAGE_TOKENS + tokens(message['content']) for message in messages)


def of_first_try(limit: int) -> int:
    """Return what a first prompt may have of a limit, so that its reply and errors fit, too."""
    return limit - limit // LATER_SHARE


def answered(begun: Sequence[dict[str, Any]], reply: str, head: str, errors: str, tail: str,
             limit: int) -> list[dict[str, Any]]:
    """Return a chat that goes on with a reply and with what is wrong with it, both cut to fit."""
    frame = tokens_of([*begun, {'content': ''}, {'content': head + tail}])
    room = max(2, limit - frame)
    errors = cut(errors, room // 2)
    return [*begun, {'role': 'assistant', 'content': cut(reply, room - tokens(errors))},
            {'role': 'user', 'content': f'{head}{errors}{tail}'}]


def cut(text: str, limit: int) -> str:
    """Return a text of at most `limit` (2 or more) tokens, cut where it has more."""
    if tokens(text) <= limit:
        return text
    kept: list[str] = []
    left = limit - _tokens_of(ELLIPSIS)
    for piece in _PIECE.findall(text):
        left -= _tokens_of(piece)
        if left < 0:
            break
        kept.append(piece)
    return ''.join(kept).rstrip(' ,;:') + ELLIPSIS


def fitting(lines: Sequence[str], limit: int) -> list[str]:
    """Return lines that have at most `limit` tokens together, the longest ones cut.

    Where even short ones are too many, those in the middle are told by their number alone.
    """
    lines = [' '.join(line.split()) for line in lines]
    sizes = [tokens(line) + 1 for line in lines]
    if sum(sizes) <= limit:
        return lines
    room = _room(sizes, limit)
    if room >= SHORTEST_LINE:
        return [cut(line, room - 1) for line in lines]
    count = max(2, limit // SHORTEST_LINE - 1)
    first, last = count - count // 2, count // 2
    return [*(cut(line, SHORTEST_LINE - 1) for line in lines[:first]),
            f'({len(lines) - count} more records)',
            *(cut(line, SHORTEST_LINE - 1) for line in lines[-last:])]


def _room(sizes: Sequence[int], limit: int) -> int:
    """Return the size to which the larger ones are cut so that all have `limit` together."""
    left, count = limit, len(sizes)
    for size in sorted(sizes):
        if size * count >= left:
            break
        left -= size
        count -= 1
    return left // max(1, count)


def _tokens_of(piece: str) -> int:
    if not piece.isascii():
        # Common signs of other scripts have one token or two, rare ones as many as bytes.
        return 4 if ord(piece) > 0xFFFF else 3 if ord(piece) in _PRIVATE else 2
    piece = piece.lstrip(' ') or piece
    if not piece[0].isalnum():
        return 1 + len(piece) // 8
    runs = _RUN.findall(piece)
    if _CODE.search(piece) or (len(runs) > 2 and len(runs) * 5 > len(piece) * 2):
        return len(piece)  # a hash, a key: no words
    return sum(-(-len(run) * 2 // 3) if _ODD.search(run) else 1 + (len(run) - 1) // 3
               for run in runs)
