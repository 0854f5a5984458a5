"""Code that means harm or makes no sense: it is refused or stopped, and the console lives on."""

import time

from households import Household
import pytest

NOW = '2025-03-10 12:00'
LIMITS = {'time_s': 1.0, 'memory_mb': 64, 'calls': 50, 'output_chars': 500}


@pytest.fixture
def sweep(home: Household) -> Household:
    home.run('Sweep', '2025-03-09 14:00', '2025-03-09 14:05')
    home.see('2025-03-09 14:01', 'mug', 'table')
    home.consolidate()
    return home


@pytest.mark.parametrize(('code', 'error'), [
    ("print('{0.__class__.__mro__}'.format(memory))", 'AttributeError'),
    ("getattr(memory, '__class__').__mro__", 'AttributeError'),
    ('print(memory.__init__.__globals__)', 'AttributeError'),
    ('().__class__.__bases__[0].__subclasses__()', 'AttributeError'),
    ("open('/etc/passwd').read()", 'Error'),
    ("__import__('os').system('id')", 'NameError'),
    ('import subprocess', 'Error'),
    ('import socket', 'Error'),
    ('10**10**8', 'MemoryError'),
    ('[memory]*10**9', 'MemoryError'),
    ("'a'*10**10", 'MemoryError'),
    ('def f():\n    return f()\nf()', 'RecursionError'),
    ('a = []\na.append(a)\nanswer("x", evidence=a)', 'RecursionError'),
    ("text = '''unterminated", 'SyntaxError'),
    ('for x in', 'SyntaxError'),
    ('x = (' * 500, 'SyntaxError'),
    ('\0', 'null bytes'),
    ('pass\n' * 3000, 'at most 8000'),
    ('raise SystemExit', 'SystemExit'),
    ('raise KeyboardInterrupt', 'KeyboardInterrupt'),
    ('_answer()\n_answer(1, 2, 3)', 'ValueError'),
    ('_expand("n1", {"a": 1}, 5)', 'ValueError'),
    ('events(skill=5)', 'a text is needed'),
    ("events(skill=['a'])", 'a text is needed'),
    ('events(status=5)', 'a status is needed'),
    ("events(status='dancing')", 'no status'),
    ('events(limit="x")', 'a number is needed'),
    ('events(limit=True)', 'a number is needed'),
    ('search("x", k=float("nan"))', 'a number is needed'),
    ("around('last week')", 'around() takes a moment'),
    ("around('yesterday 14:00', minutes=memory)", 'a number is needed'),
    ('biography(5)', 'a row or a node is needed'),
    ("biography('')", 'takes the name'),
    ('before(None)', 'a row or a node is needed'),
    ('before([])', 'a row or a node is needed'),
    ('before("s999")', 'no id that was shown'),
    ("look('s1; drop table', 'x')", 'no id that was shown'),
    ("look(\"s1'); answer('\", 'x')", 'no id that was shown'),
    ('memory.search(memory)', 'a text is needed'),
    ('_children_of(memory)', 'no id that was shown'),
    ("_children_of('s1')", 'no id that was shown'),
    ("events()\n_children_of('s1')", 'no node of the tree'),
    ('class Q:\n    pass\nq = Q()\nq.id = ["n1"]\nlook(q, "x")', 'no id that was shown'),
    ('answer()', 'TypeError'),
    ('del memory', 'Error'),
])
def test_is_told_and_survived(sweep: Household, code: str, error: str) -> None:
    began = time.monotonic()
    with sweep.console(NOW, **LIMITS) as console:
        output = console.run(code)
        assert error in output.error, output
        assert '\n' not in output.error and len(output.error) < 600
        assert console.value('len(events())') == '1'
    assert time.monotonic() - began < 30


@pytest.mark.parametrize('code', [
    'while True:\n    pass',
    'while True:\n    try:\n        while True:\n            pass\n'
    '    except BaseException:\n        pass',
    'x = memory\nwhile True:\n    x = [x]',
])
def test_endless_code_is_stopped_and_the_console_starts_anew(sweep: Household, code: str) -> None:
    with sweep.console(NOW, **LIMITS) as console:
        console.run('kept = 5')
        began = time.monotonic()
        output = console.run(code)
        assert output.error and time.monotonic() - began < 10
        assert console.value('len(events())') == '1'


def test_a_thousand_calls_to_look(sweep: Household) -> None:
    with sweep.console(NOW, looks=8, **LIMITS) as console:
        output = console.run("row = seen('mug')[0]\nfor i in range(1000):\n    look(row, 'what?')")
        assert 'no more pictures' in output.error
        output = console.run("row = seen('mug')[0]\ncount = 0\nfor i in range(1000):\n    try:\n"
                             "        look(row, 'what?')\n    except ValueError:\n"
                             '        count += 1\nprint(count)')
        assert 'too many calls' in output.error
        assert 'too many calls for one question' in console.run('events()').error
        # The end can be told all the same.
        console.run("answer('enough', evidence=['g1'])")
        assert console.library.ending.text == 'enough'
        console.library.ending = None
        console.run("not_recorded('enough')")
        assert not console.library.ending.is_answer


def test_a_worker_that_is_killed_is_replaced(sweep: Household) -> None:
    import os
    import signal

    with sweep.console(NOW, **LIMITS) as console:
        os.kill(console.sandbox._session.worker_pid, signal.SIGKILL)
        output = console.run('print(1)')
        assert 'All names are gone' in output.error
        assert console.value('len(events())') == '1'


def test_nothing_of_the_machine_is_there(sweep: Household) -> None:
    with sweep.console(NOW, **LIMITS) as console:
        for code in ('import os\nprint(os.environ)', 'import os\nprint(os.listdir("/"))',
                     'from pathlib import Path\nprint(Path("/etc/passwd").read_text())'):
            output = console.run(code)
            assert output.error and not output.text, output
        console.run('import time\ntime.sleep(3600)')
        assert console.value('datetime.now()') == '2025-03-10 12:00:00'


def test_names_of_the_console_come_back_when_code_took_them(sweep: Household) -> None:
    with sweep.console(NOW, **LIMITS) as console:
        console.run('rows = events()\nnode = memory')
        console.run('def answer(text, evidence):\n    print(text)\n'
                    'class Record:\n    pass\nclass Node:\n    pass\n'
                    'days = days()\nevents = 5\nmemory = None\n_answer = None')
        assert console.value('(len(days()), rows[0].name, len(events()))') == "(1, 'Sweep', 1)"
        assert console.value('len(node) == len(memory)') == 'True'
        console.run("answer('done', evidence=rows)")
        assert console.library.ending.ids == ('s1',)


@pytest.mark.parametrize('code', [
    'list = events()', 'sum = total(events())', 'str = isinstance = len = print = 3',
    'for max in [1]:\n    pass', 'try:\n    1 / 0\nexcept Exception as events:\n    pass',
    'try:\n    1 / 0\nexcept Exception as sum:\n    pass'])
def test_names_of_python_come_back_when_code_took_them(sweep: Household, code: str) -> None:
    with sweep.console(NOW, **LIMITS) as console:
        console.run(code)
        assert console.lines('rows = events()\nprint(names(rows), total(rows) == rows[0].duration)'
                             ) == ['Sweep True']
        assert console.value('(len(list(memory)), max([1, 2]), str(3), sum([1, 2]))') == (
            "(1, 2, '3', 3)")


@pytest.mark.parametrize(('given', 'ids'), [
    ('rows', ('s1',)), ('rows[0]', ('s1',)), ('[rows, [rows, memory]]', ('s1', 's1', 'root')),
    ('{"a": rows[0]}', ('s1',)), ('None', ()), ('5', ('5',)), ('[True, b"x"]', ('True', "b'x'")),
    ("'s1, g1'", ('s1, g1',)), ('{rows[0].id}', ('s1',)), ('float("nan")', ('nan',))])
def test_evidence_of_every_shape(sweep: Household, given: str, ids: tuple[str, ...]) -> None:
    with sweep.console(NOW) as console:
        console.run(f'rows = events()\nanswer("x", evidence={given})')
        root = console.library.tree.root()['id']
        assert console.library.ending.ids == tuple(
            root if item == 'root' else item for item in ids)


def test_output_is_cut_and_notes_are_few(sweep: Household) -> None:
    with sweep.console(NOW, **LIMITS) as console:
        output = console.run("print('x' * 100_000)")
        assert len(output.text) < 600 and '99501 more characters' in output.text
        console.run("for i in range(40):\n    seen(f'thing {i}')")
        assert len(console.library.shown.notes) <= 6
        output = console.run("while True:\n    print('y' * 1000)")
        assert output.error and len(output.text) < 600
