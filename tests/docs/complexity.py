"""Cyclomatic complexity of functions, and the sizes of modules and constructors.

Counted as `radon cc --no-assert` does: 1, and 1 more for each branch, loop, handler, `else` of a loop or a `try`,
further operand of `and` or `or`, comprehension and condition in it. A nested function counts for itself.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from infra.settings import ROOT

PRODUCT = ("shared", "functions", "infra", "cli", "simulator", "benchmarks", "examples", "tools", "app.py")
ALL = (*PRODUCT, "tests")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules(places: tuple[str, ...]) -> Iterator[Path]:
    """Walk the modules below some places of the tree."""
    for place in places:
        root = ROOT / place
        yield from sorted(root.rglob("*.py")) if root.is_dir() else [root]


@dataclass(frozen=True, slots=True)
class Measured:
    """A function.

    Attributes:
        place: in the tree.
        name: what it is called.
        paths: its complexity.
        parameters: how many may be given by position or by name.
    """

    place: str
    name: str
    paths: int
    parameters: int


@cache
def functions(path: Path) -> tuple[Measured, ...]:
    """Return the functions of a module, nested ones too."""
    return tuple(
        Measured(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", node.name, complexity(node), _parameters(node))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, Function)
    )


def _parameters(function: Function) -> int:
    return sum(len(some) for some in (function.args.posonlyargs, function.args.args, function.args.kwonlyargs))


def complexity(function: Function) -> int:
    """Return the number of independent paths through a function, without those of functions inside it."""
    return 1 + sum(_paths(statement) for statement in function.body)


def _paths(node: ast.AST) -> int:
    if isinstance(node, Function | ast.ClassDef | ast.Assert):
        return 0
    return _own(node) + sum(_paths(child) for child in ast.iter_child_nodes(node))


def _own(node: ast.AST) -> int:
    match node:
        case ast.If() | ast.IfExp():
            return 1
        case ast.For() | ast.AsyncFor() | ast.While():
            return 1 + bool(node.orelse)
        case ast.Try():
            return len(node.handlers) + bool(node.orelse)
        case ast.BoolOp():
            return len(node.values) - 1
        case ast.comprehension():
            return 1 + len(node.ifs)
        case ast.Match():
            return len(node.cases) - any(ast.unparse(case.pattern) == "_" for case in node.cases)
    return 0
