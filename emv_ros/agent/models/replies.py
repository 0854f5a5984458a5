"""Take code out of what a model wrote, from among fences, prose and echoes.

What is taken is the model's own text, never repaired in meaning.
"""

from __future__ import annotations

import ast
import re

from emv_ros.json_replies import FENCED

_CODE_LANGUAGES = ('', 'python', 'py', 'python3', 'pycon', 'repl', 'tool_code')


def code_of(text: str) -> str:
    """Return the Python code in a reply, '' where there is none.

    Of several fenced blocks the first that is code counts: what comes after it in a reply is
    mostly the output that the model imagines. Prompts (`>>>`, `...`) are taken off. Without a
    fence, the longest run of whole lines that Python accepts is taken, and words alone are not
    code.
    """
    text = text.replace('\r\n', '\n')
    for language, body in FENCED.findall(_opened(text)):
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
