"""Which modules import which, read from their texts: whole, and lazily inside functions, and for types alike."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from infra.settings import ROOT


def name_of(path: Path, tree: Path = ROOT) -> str:
    """Return the name of a module of a tree; that of a package for its `__init__`."""
    parts = path.relative_to(tree).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(text: str) -> Iterator[str]:
    """Yield every name that a module imports, with the module that it is taken from."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def graph(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """Return which of some modules each of them imports. `texts`: by the name of the module."""
    found = {}
    for name, text in texts.items():
        asked = {x if x in texts else x.rpartition(".")[0] for x in imported(text)}
        found[name] = asked & texts.keys() - {name}
    return found
