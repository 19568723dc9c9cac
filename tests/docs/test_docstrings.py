"""Public functions with three parameters or more document each of them, with its unit or shape."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from cli.main import app

ROOTS = ("shared", "functions", "infra", "cli")
LEAST = 3


def commands(group: typer.Typer) -> Iterator[tuple[str, str]]:
    """Yield file and name of the functions behind commands: their options have help texts of their own."""
    for command in group.registered_commands:
        if command.callback is not None:
            yield f"{command.callback.__module__.replace('.', '/')}.py", command.callback.__name__
    for child in group.registered_groups:
        if child.typer_instance is not None:
            yield from commands(child.typer_instance)


def functions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef) and not child.name.startswith("_"):
            yield from functions(child)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and not child.name.startswith("_"):
            yield child


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    args = function.args
    named = [x.arg for x in (*args.posonlyargs, *args.args, *args.kwonlyargs) if x.arg not in ("self", "cls")]
    return len(named) + (args.vararg is not None) + (args.kwarg is not None)


def undocumented(source: str) -> list[str]:
    return [
        x.name
        for x in functions(ast.parse(source))
        if parameters(x) >= LEAST and "Args:" not in (ast.get_docstring(x) or "")
    ]


@pytest.mark.slow
def test_functions_with_three_parameters_document_them() -> None:
    known = set(commands(app))
    missing = [
        f"{path}: {name}"
        for root in ROOTS
        for path in sorted(Path(root).rglob("*.py"))
        for name in undocumented(path.read_text(encoding="utf-8"))
        if (str(path), name) not in known
    ]
    assert missing == []


def test_a_missing_section_is_found() -> None:
    page = '''
class Shop:
    def sell(self, name, price, *, count):
        """Sell something."""

    def buy(self, name, price, *, count):
        """Buy something.

        Args:
            name: the article's name.
            price: cents.
            count: how many.
        """

    def look(self, name, price):
        """Look at something."""

    def _take(self, name, price, count):
        pass
'''
    assert undocumented(page) == ["sell"]
