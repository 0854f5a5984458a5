"""Recorded text as one line of quoted data.

What a person said to a robot, or a program wrote into its log, may look like an instruction, a
prompt, the end of a string or a marker of a chat template. Whoever shows recorded text to a model,
in a console or in a prompt, sends it through `quote_recorded`: it stays readable and can no longer
leave its line or its quotes. It does not judge what the words say.
"""

from __future__ import annotations

import re
import unicodedata

ELLIPSIS = '…'
# Controls, formats (bidi, zero width, tags), lone surrogates, private use, line separators.
_UNSEEN = frozenset(('Cc', 'Cf', 'Cs', 'Co', 'Zl', 'Zp'))
_PROMPT = re.compile(r'>{2,}')
_TAG = re.compile(r'<(?=[|｜/!?A-Za-z<])')  # <|im_start|>, <｜User｜>, </s>, <tool_call>
# The markers that chat templates write in square brackets: [INST], [/INST], [TOOL_CALLS].
_BRACKET = re.compile(
    r'\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_(?:CALLS|RESULTS|CONTENT)|THINK|ARGS|CALL_ID|'
    r'IMG(?:_(?:BREAK|END))?|(?:BEGIN|END)_OF_\w+|PREFIX|MIDDLE|SUFFIX)\])', re.IGNORECASE)
_FENCE = re.compile(r'`{2,}')
_SINGLE = re.compile(r"'{2,}")
_MARKS = re.compile(r'([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u20d0-\u20ff]{2})'
                    r'[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u20d0-\u20ff]+')


def quote_recorded(text: str, limit: int = 200) -> str:
    """Return the text in double quotes on one line, at most `limit` characters with the quotes.

    A text that is cut ends in an ellipsis. Inside stand no double quotes, backslashes, control,
    bidirectional or invisible characters, no runs of single quotes, backticks or '>', no '<' that
    could open a tag and no '[' of a chat template's marker.
    """
    limit = max(limit, 3)
    line = plain_line(text[:limit * 8])
    room = limit - 2
    if len(line) > room or len(text) > limit * 8:
        line = line[:room - 1].rstrip() + ELLIPSIS
    return f'"{line}"'


def plain_line(text: str) -> str:
    """Return the text on one line, without what could end a string or pose as something else."""
    # What is printable holds nothing unseen.
    shown = text if text.isprintable() else ''.join(_visible(character) for character in text)
    line = ' '.join(shown.split())
    line = line.replace('"', "'").replace('\\', '∖')
    line = _SINGLE.sub("'", line)
    line = _FENCE.sub('`', line)
    line = _PROMPT.sub(lambda found: '›' * len(found[0]), line)
    line = _MARKS.sub(r'\1', line)
    return _BRACKET.sub('⟦', _TAG.sub('‹', line))


def _visible(character: str) -> str:
    category = unicodedata.category(character)
    if category not in _UNSEEN:
        return character
    # A break between lines is a space; what is invisible joins its neighbours.
    return '' if category == 'Cf' else ' '
