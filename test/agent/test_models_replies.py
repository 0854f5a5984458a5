"""Code out of replies as models really write them."""

import pytest

from emv_ros.agent.models.replies import code_of


@pytest.mark.parametrize(('text', 'code'), [
    ("events(skill='Grasp')", "events(skill='Grasp')"),
    ('```python\nx = 1\nprint(x)\n```', 'x = 1\nprint(x)'),
    ('Let me look.\n```py\nmemory.expand(0)\n```\nThis expands it.', 'memory.expand(0)'),
    ('```\nsearch("mug")\n```', 'search("mug")'),
    ('```python\nsearch("a")\n```\nOutput:\n```\nn12 mug\n```\n```python\nanswer("b")\n```',
     'search("a")'),
    ('```json\n{"a": 1}\n```\n```python\nsearch("a")\n```', 'search("a")'),
    ('```python\nanswer("yes")', 'answer("yes")'),
    ('Sure! ```python\nanswer("yes")\n```', 'answer("yes")'),
    ('>>> search("mug")', 'search("mug")'),
    ('>>> for e in memory:\n...     print(e)\n... \n1\n2\n>>> answer("x")',
     'for e in memory:\n    print(e)'),
    ('```python\n>>> search("mug")\nn12 mug\n```', 'search("mug")'),
    ('I will search for the mug.\n\nsearch("mug")\n\nThat should find it.', 'search("mug")'),
    ('def f(x):\n    return x\n\nprint(f(2))', 'def f(x):\n    return x\n\nprint(f(2))'),
    ('print("""a\nb""")', 'print("""a\nb""")'),
    ('search("mug")\r\nprint(1)', 'search("mug")\nprint(1)'),
    ('', ''),
    ('   \n', ''),
    ('I cannot help with that.', ''),
    ('yes', ''),
    ('# only a comment', ''),
    ('```\n```', ''),
])
def test_code_of(text: str, code: str) -> None:
    assert code_of(text) == code


def test_code_that_is_broken_comes_out_of_its_fence_for_the_console_to_judge() -> None:
    assert code_of("```python\nprint('''abc\n```") == "print('''abc"
