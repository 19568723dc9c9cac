"""Which modules of the checkout a module imports, directly and through others, at its start or in a function."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

PACKAGES: Final = ("cli", "shared", "functions", "infra", "simulator", "benchmarks", "examples", "tools")
"""The packages of the checkout."""


def file_of(root: Path, module: str) -> Path | None:
    """Return a module's file, a package's `__init__.py`; None if the checkout has no such module."""
    place = root.joinpath(*module.split("."))
    found = (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in found if file.is_file()), None)


def closure(root: Path, start: str, cut: Iterable[str] = ()) -> dict[str, Path]:
    """Return the modules that a module needs, itself and the packages above them included, with their files.

    Args:
        cut: modules that are left out, with all that only they need.
    """
    found: dict[str, Path] = {}
    waiting, left = [start], set(cut)
    while waiting:
        name = waiting.pop()
        file = file_of(root, name)
        if file is None or name in found or name in left or name.split(".")[0] not in PACKAGES:
            continue
        found[name] = file
        waiting.extend(_parents(name))
        waiting.extend(imports(file))
    return dict(sorted(found.items()))


def imports(file: Path) -> list[str]:
    """Return the names that a file imports, also in functions and by `lazy`; not those for types only."""
    return list(_names(ast.parse(file.read_text(encoding="utf-8"))))


def _names(node: ast.AST) -> Iterator[str]:
    """Yield what is imported below a node. Of `from a import b`, both `a` and `a.b` may be modules."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        for other in node.orelse:
            yield from _names(other)
        return
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    yield from _lazily(node)
    for child in ast.iter_child_nodes(node):
        yield from _names(child)


def _lazily(node: ast.AST) -> Iterator[str]:
    """Yield what a call of `lazy` loads later."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "lazy":
        package, *modules = (ast.literal_eval(argument) for argument in node.args)
        yield from (package, *(f"{package}.{module}" for module in modules))


def _parents(module: str) -> Iterator[str]:
    while "." in module:
        module = module.rpartition(".")[0]
        yield module
