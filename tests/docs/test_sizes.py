"""Folders, modules, functions and constructors stay small enough to be read at once."""

import ast
from collections import Counter

import pytest

from infra.settings import ROOT
from tests.docs.complexity import ALL, PRODUCT, complexity, functions, modules

MAX_LINES = 600
"""From 350 lines on, look for a second topic. With a bound there, modules were made dense to stay below it."""
MAX_MODULES = 15
MAX_PATHS = 20
MANY_PATHS = 10
MAY_HAVE_MANY = 28
"""Functions of the product with more than `MANY_PATHS` paths. Lower it when one is split; never raise it."""
MAX_PARAMETERS = 10
LARGE_CHECKS = {"moved", "is_goal", "_final", "_stepped", "_judge"}
"""Checks of the tests' models and drills: flat lists of conditions, which read best in one place."""


@pytest.mark.slow
def test_no_module_is_long() -> None:
    long = {str(path): n for path in modules(ALL) if (n := len(path.read_text("utf-8").splitlines())) > MAX_LINES}
    assert long == {}


def test_no_folder_has_many_modules() -> None:
    counts = Counter(path.parent.relative_to(ROOT).as_posix() for path in modules(PRODUCT))
    assert {name: n for name, n in counts.items() if n > MAX_MODULES} == {}


@pytest.mark.slow
def test_no_function_has_too_many_paths() -> None:
    found = {
        x.place: x.paths
        for path in modules(ALL)
        for x in functions(path)
        if x.paths > MAX_PATHS and x.name not in LARGE_CHECKS
    }
    assert found == {}


@pytest.mark.slow
def test_few_functions_of_the_product_have_many_paths() -> None:
    many = {x.place: x.paths for path in modules(PRODUCT) for x in functions(path) if x.paths > MANY_PATHS}
    assert len(many) <= MAY_HAVE_MANY, many


@pytest.mark.slow
def test_a_constructor_takes_few_parameters() -> None:
    found = {
        x.place: x.parameters - 1
        for path in modules(ALL)
        for x in functions(path)
        if x.name == "__init__" and x.parameters - 1 > MAX_PARAMETERS
    }
    assert found == {}


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ("pass", 1),
        ("if a: pass\nelif b: pass\nelse: pass", 3),
        ("return a and b and c or d", 4),
        ("for x in y:\n    pass\nelse:\n    pass", 3),
        ("try: pass\nexcept A: pass\nexcept B: pass\nelse: pass", 4),
        ("return [x for x in y if x if z]", 4),
        ("match a:\n    case 1: pass\n    case 2: pass\n    case _: pass", 3),
        ("assert a and b", 1),
        ("def inner():\n    if a: pass\nreturn inner", 1),
    ],
)
def test_paths_are_counted(body: str, paths: int) -> None:
    source = "def function():\n" + "\n".join(f"    {line}" for line in body.splitlines())
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert complexity(function) == paths
