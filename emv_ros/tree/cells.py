"""How wide text stands in a terminal: in cells, not in characters.

Chinese, Japanese and Korean characters and most emoji take two cells, combining marks none. Where
terminals differ the wider is assumed, so that a line never wraps.
"""

from __future__ import annotations

import unicodedata

ELLIPSIS = '…'
EMOJI_STYLE = '\ufe0f'  # the character before it is drawn as an emoji, two cells wide
_NO_WIDTH = frozenset(('Mn', 'Me', 'Cf'))
# A cut falls between words where that gives up no more than this share of the line.
WORD_SHARE = 1 / 4


def cells(text: str) -> int:
    """Return the cells that a text on one line takes."""
    if text.isascii():
        return len(text)
    return sum(_width(text, place) for place in range(len(text)))


def clipped(text: str, width: int) -> str:
    """Return the text, cut to `width` cells with an ellipsis where it is longer."""
    if cells(text) <= width:
        return text
    room, end = width - 1, 0
    while end < len(text) and (room := room - _width(text, end)) >= 0:
        end += 1
    kept = text[:end].rstrip()
    space = kept.rfind(' ')
    if space >= 0 and not text[end:end + 1].isspace() and cells(kept[space:]) <= width * WORD_SHARE:
        kept = kept[:space]
    return kept.rstrip(' ,;:') + ELLIPSIS if width > 0 else ''


def padded(text: str, width: int) -> str:
    """Return the text with spaces up to `width` cells."""
    return text + ' ' * (width - cells(text))


def _width(text: str, place: int) -> int:
    character = text[place]
    if character == EMOJI_STYLE:
        return 1 if place and _width(text, place - 1) == 1 else 0
    if unicodedata.category(character) in _NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in 'WF' else 1
