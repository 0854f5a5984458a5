"""Small rewrites of a model's code, so that nodes of the tree behave as the sequences that they look like.

The sandbox calls no special methods for `node[0]`, `len(node)`, `for child in node` or a property, so these become
calls of functions that the sandbox has. The code is only parsed here, never run.
"""

from __future__ import annotations

import ast

MAX_CHARS = 8000


class CodeError(ValueError):
    """Code that cannot be parsed; the message says why and where."""


def rewrite(code: str) -> str:
    """Return the code with node accesses made into calls; raises CodeError where it is no Python."""
    if len(code) > MAX_CHARS:
        raise CodeError(f'the code has {len(code)} characters; at most {MAX_CHARS} are allowed')
    try:
        tree = ast.parse(code)
        return ast.unparse(ast.fix_missing_locations(_Rewriter().visit(tree)))
    except SyntaxError as error:
        raise CodeError(f'SyntaxError: {error.msg} (line {error.lineno})') from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise CodeError(f'the code cannot be read: {error or type(error).__name__}') from error


def has_statements(code: str) -> bool:
    """Whether there is anything to run: not only comments, blank lines or `pass`."""
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True  # let it fail where its error is told
    return any(not isinstance(node, ast.Pass) for node in body)


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=list(args), keywords=[])


class _Rewriter(ast.NodeTransformer):
    """`x.children` -> `_children(x)`; whatever is indexed, iterated or measured goes through `_seq`."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr == 'children' and isinstance(node.ctx, ast.Load):
            return _call('_children', node.value)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = _call('_seq', node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ('len', 'list', 'reversed', 'enumerate'):
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
