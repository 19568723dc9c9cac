"""No modules of the product import one another in a circle, not even for types or inside a function.

No two folders do, either, unless one is inside the other: the inner one may use what the outer one has for all.
"""

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

import pytest

from infra.settings import ROOT
from tests.docs.complexity import PRODUCT, modules
from tests.imports import graph, name_of


def circle(texts: Mapping[str, str]) -> list[str]:
    """Return the modules of one circle, in order; none if there is none."""
    try:
        TopologicalSorter(graph(texts)).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.slow
def test_no_modules_import_one_another_in_a_circle() -> None:
    assert circle({name_of(path): path.read_text("utf-8") for path in modules(PRODUCT)}) == []


def folder(module: str) -> str:
    """Return the package that a module is in."""
    return module if (ROOT / module.replace(".", "/")).is_dir() else module.rpartition(".")[0]


@pytest.mark.slow
def test_no_two_folders_import_each_other() -> None:
    texts = {name_of(path): path.read_text("utf-8") for path in modules(PRODUCT)}
    arrows = {(folder(a), folder(b)) for a, others in graph(texts).items() for b in others}
    assert [(a, b) for a, b in arrows if a < b and (b, a) in arrows and not b.startswith(f"{a}.")] == []


@pytest.mark.parametrize(
    "back",
    ["import a.b", "from a.b import x", "from a import b", "def f():\n    from a.b import x", "if 1: import a.b"],
)
def test_a_circle_is_found_wherever_it_is_closed(back: str) -> None:
    assert set(circle({"a": "", "a.b": "from a.c import y", "a.c": back})) == {"a.b", "a.c"}
    assert circle({"a": "", "a.b": "from a.c import y", "a.c": "import os"}) == []
