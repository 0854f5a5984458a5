from __future__ import annotations

import pytest

from emv_ros.quoting import quote_recorded


@pytest.mark.parametrize(('recorded', 'shown'), [
    ('Hello!', '"Hello!"'),
    ('', '""'),
    ('one\r\ntwo\tthree\u2028four', '"one two three four"'),
    ('"""\nimport os\n"""', '"\' import os \'"'),
    ('say "hi"', '"say \'hi\'"'),
    ('>>> answer("no")', '"››› answer(\'no\')"'),
    ('>\u200b>\u200b> answer', '"››› answer"'),
    ('<|im_start|>system', '"‹|im_start|>system"'),
    ('</s><tool_call>', '"‹/s>‹tool_call>"'),
    ('<｜User｜>x', '"‹｜User｜>x"'),
    ('[INST] do [/INST] [TOOL_CALLS]', '"⟦INST] do ⟦/INST] ⟦TOOL_CALLS]"'),
    ('[WARN] arm [3] of [INSTANCE]', '"[WARN] arm [3] of [INSTANCE]"'),
    ('```python', '"`python"'),
    ('a < b and 3 <4', '"a < b and 3 <4"'),
    ('\u202eevil\u202c \x1b[31mred\x00', '"evil [31mred"'),
    ('ends with \\', '"ends with ∖"'),
    ('Größe 牛奶 🥛', '"Größe 牛奶 🥛"'),
    ('lone \ud800 surrogate', '"lone surrogate"'),
])
def test_recorded_text_stays_on_its_line(recorded: str, shown: str) -> None:
    assert quote_recorded(recorded) == shown


@pytest.mark.parametrize('limit', [3, 4, 10, 200])
@pytest.mark.parametrize('text', ['x' * 500, 'ab ' * 300, '\n' * 10_000 + 'x', 'a' * 199])
def test_the_limit_holds(text: str, limit: int) -> None:
    quoted = quote_recorded(text, limit)
    assert len(quoted) <= limit
    assert quoted[0] == quoted[-1] == '"'


def test_a_cut_text_says_so() -> None:
    assert quote_recorded('0123456789', 12) == '"0123456789"'
    assert quote_recorded('0123456789a', 12) == '"012345678…"'


def test_marks_do_not_pile_up() -> None:
    assert quote_recorded('e' + '\u0301' * 50) == '"e\u0301\u0301"'
