"""Take code or JSON out of what a model wrote, from among fences, prose and echoes.

What is taken is the model's own text, never repaired in meaning: JSON that was cut off is refused,
not completed.
"""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from emv_ros.errors import ModelReplyError

_FENCE = re.compile(
    r'^[ \t]*```[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:^[ \t]*```|\Z)', re.DOTALL | re.MULTILINE)
_CODE_LANGUAGES = ('', 'python', 'py', 'python3', 'pycon', 'repl', 'tool_code')
_TRAILING_COMMA = re.compile(r',(\s*[}\]])')
_MAX_SHOWN = 80


def code_of(text: str) -> str:
    """Return the Python code in a reply, '' where there is none.

    Of several fenced blocks the first that is code counts: what comes after it in a reply is
    mostly the output that the model imagines. Prompts (`>>>`, `...`) are taken off. Without a
    fence, the longest run of whole lines that Python accepts is taken, and words alone are not
    code.
    """
    text = text.replace('\r\n', '\n')
    for language, body in _FENCE.findall(_opened(text)):
        code = _without_prompts(body)
        if language.lower() in _CODE_LANGUAGES and code.strip():
            return code.strip('\n').rstrip()
    if '```' in text:
        text = re.sub(r'^[ \t]*```.*$', '', text, flags=re.MULTILINE)
    if re.search(r'^[ \t]*>>> ?', text, re.MULTILINE):
        return _without_prompts(text).strip('\n').rstrip()
    return _longest_code(text.strip('\n').split('\n'))


def _opened(text: str) -> str:
    """Put a fence that stands within a line (`Sure: ```python x()``` `) on a line of its own."""
    return re.sub(r'(?<=[^\n`])```(?=(?:python|py)?[ \t]*(?:\n|\w))', '\n```', re.sub(
        r'(?<=\S)```[ \t]*$', '\n```', text, flags=re.MULTILINE))


def _without_prompts(text: str) -> str:
    """Return the first command of an echoed session, or `text` where it has no prompt."""
    lines = text.split('\n')
    starts = [index for index, line in enumerate(lines) if re.match(r'[ \t]*>>>( |$)', line)]
    if not starts:
        return text
    kept: list[str] = []
    for line in lines[starts[0]:]:
        match = re.match(r'[ \t]*(?:>>>|\.\.\.)(?: (.*)|$)', line)
        if match is None:  # output that the model imagined: what follows it builds on an invention
            break
        kept.append(match[1] or '')
    return '\n'.join(kept)


def _longest_code(lines: list[str]) -> str:
    best = ''
    for first, line in enumerate(lines):
        if not line.strip() or line[:1] in ' \t':
            continue
        for last in range(len(lines), first, -1):
            code = '\n'.join(lines[first:last])
            if len(code) <= len(best):
                break
            if _is_code(code):
                best = code
                break
    return best.strip('\n').rstrip()


def _is_code(text: str) -> bool:
    """Whether Python accepts it and it does something: a bare word, number or string does not."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(not isinstance(item, ast.Expr) or isinstance(
        item.value, ast.Call | ast.Subscript | ast.Attribute | ast.BinOp | ast.Compare
        | ast.ListComp | ast.Await) for item in body)


def json_of(text: str) -> Any:
    """Return the JSON value in a reply: a fence and prose around it are dropped.

    A trailing comma and a raw newline within a string are forgiven. Raises ModelReplyError that
    names the problem: nothing there, cut off, or where the syntax breaks.
    """
    if not text.strip():
        raise ModelReplyError('the reply is empty where JSON was asked for')
    problems: list[tuple[int, str]] = []
    for candidate in _json_candidates(text):
        try:
            return _decoded(candidate)
        except json.JSONDecodeError as error:
            problems.append((error.pos, _problem(candidate, error)))
    if not problems:
        raise ModelReplyError(f'the reply holds no JSON: {_shown(text)}')
    raise ModelReplyError(max(problems)[1])


def _json_candidates(text: str) -> list[str]:
    """Return the places where JSON may begin: in fences, the whole, from the first bracket on."""
    found = [body for _, body in _FENCE.findall(text) if body.strip()]
    if text.strip()[0] in '{["-0123456789tfn':
        found.append(text)
    for match in re.finditer(r'[{\[]', text):
        found.append(text[match.start():])
        if len(found) > 20:
            break
    return found


def _decoded(text: str) -> Any:
    text = text.strip()
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text)
    except json.JSONDecodeError:
        value, end = json.JSONDecoder(strict=False).raw_decode(_without_trailing_commas(text))
        return value
    if isinstance(value, dict | list) or not text[end:].strip():
        return value
    raise json.JSONDecodeError('Extra data', text, end)


def _without_trailing_commas(text: str) -> str:
    """Drop commas before a closing bracket, outside strings."""
    pieces = re.split(r'("(?:\\.|[^"\\])*")', text, flags=re.DOTALL)
    return ''.join(piece if index % 2 else _TRAILING_COMMA.sub(r'\1', piece)
                   for index, piece in enumerate(pieces))


def _problem(text: str, error: json.JSONDecodeError) -> str:
    text = text.strip()
    if error.pos >= len(text) or error.msg.startswith('Unterminated string'):
        return f'the JSON in the reply is cut off after {_shown(text[-_MAX_SHOWN:])}'
    return (f'the JSON in the reply is not valid: {error.msg} in line {error.lineno}, '
            f'near {_shown(text[max(0, error.pos - 20):error.pos + 40])}')


def _shown(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= _MAX_SHOWN else f'{text[:_MAX_SHOWN]}…')
