"""Small rewrites of a model's code: nodes of the tree behave as the sequences they look like.

The sandbox calls no special methods for `node[0]`, `len(node)`, `for child in node` or a property,
so these become calls of functions that the sandbox has. The code is only parsed here, never run.
"""

from __future__ import annotations

import ast

MAX_CHARS = 8000
# Functions that take a node as the sequence of its children.
OF_SEQUENCES = ('len', 'list', 'tuple', 'reversed', 'enumerate', 'sorted', 'zip')
# What prints by itself, or ends the run.
SPEAKING = ('print', 'search', 'search_text', 'search_time', 'search_place', 'answer',
            'not_recorded')


class CodeError(ValueError):
    """Code that cannot be parsed; the message says why and where."""


def rewrite(code: str) -> str:
    """Return the code with node accesses made into calls, or raise CodeError."""
    if len(code) > MAX_CHARS:
        raise CodeError(f'the code has {len(code)} characters; at most {MAX_CHARS} are allowed')
    try:
        tree = _Rewriter().visit(ast.parse(code))
        _echo_last(tree.body)
        return ast.unparse(ast.fix_missing_locations(tree))
    except SyntaxError as error:
        where = f' (line {error.lineno})' if error.lineno else ''
        raise CodeError(f'SyntaxError: {error.msg}{where}') from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise CodeError(f'the code cannot be read: {error or type(error).__name__}') from error


def has_statements(code: str) -> bool:
    """Whether there is anything to run: not only comments, blank lines, `pass` or bare strings."""
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True  # let it fail where its error is told
    return not all(isinstance(node, ast.Pass) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) for node in body)


def top_names(code: str) -> set[str]:
    """Return the names of the functions and classes that code defines at its top, and its names."""
    names: set[str] = set()
    for node in ast.parse(code).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.Import, ast.ImportFrom)):
            names |= bound_names(ast.unparse(node))
    return names


def bound_names(code: str) -> set[str]:
    """Return the names that code binds anywhere: by `=`, `def`, `class`, `import`, `for`, ..."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition('.')[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
    return names


def _echo_last(body: list[ast.stmt]) -> None:
    """Let the value of a last line that is an expression be printed, as consoles do."""
    last = body[-1] if body else None
    if not isinstance(last, ast.Expr):
        return
    value = last.value
    is_call = isinstance(value, ast.Call) and isinstance(value.func, ast.Name)
    if not (is_call and value.func.id in SPEAKING):  # type: ignore[attr-defined]
        last.value = _call('_echo', value)


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=list(args), keywords=[])


class _Rewriter(ast.NodeTransformer):
    """`x.children` -> `_children(x)`, `x.parameters[name]` -> `_parameter(x, name)`.

    What is indexed, iterated or measured goes through `_seq`.
    """

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr == 'children' and isinstance(node.ctx, ast.Load):
            return _call('_children', node.value)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            if isinstance(node.value, ast.Attribute) and node.value.attr == 'parameters':
                return _call('_parameter', node.value.value, node.slice)
            node.value = _call('_seq', node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in OF_SEQUENCES:
            node.args = [arg if isinstance(arg, ast.Starred) else _call('_seq', arg)
                         for arg in node.args]
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.iter = _call('_seq', node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        node.iter = _call('_seq', node.iter)
        return node
