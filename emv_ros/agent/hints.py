"""What to write instead, for the errors that models' code runs into."""

from __future__ import annotations

import re

HINTS = (
    (r'IndexError', 'there are no rows: test `if rows:` first, or try search(text)'),
    (r"NameError: name '(rows|others|parts|first|nodes)'",
     'names come from code before: write rows = … in the same command'),
    (r'KeyError', "a row's parameters differ: use r.thing, told(rows) or r.text"),
    (r'fit alike', 'narrow the rows by skill=, text=, goal= or when='),
    (r'is no id that was shown', 'pass rows that a function returned'),
    (r"NameError: name '(\w+)'", 'only the listed functions exist; look with search(text)'),
    (r"AttributeError.*'list'", 'the functions return lists: use rows[0], rows[-1] or a loop'),
    (r"AttributeError: '(Record|Node)'",
     'a row has .name .thing .status .reason .text .goal .place .when .day .start .end'),
    (r'TypeError.*unexpected keyword|TypeError.*argument', 'use the arguments as listed'),
    (r'TypeError.*offset-(naive|aware)',
     'times of rows are local and have no tzinfo: leave it away'),
    (r'not understood as a time|no time',
     "write when='2024-06-27' or when='June 26 20:00 to 20:30'"),
    (r'SyntaxError', 'write plain Python on separate lines'),
    (r'NotImplementedError|not supported|PermissionError',
     'the console has only the listed functions'),
    (r'too many calls', 'answer with what you have'),
)


def hint_for(error: str) -> str:
    """Return ' — hint' for an error line, or ''."""
    for pattern, hint in HINTS:
        if re.search(pattern, error):
            return f' — {hint}'
    return ''
