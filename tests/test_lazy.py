"""Modules and parts that are loaded late: what mypy reads of them is what runs."""

import ast
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from infra.settings import ROOT
from shared.lazy import PartOf, lazy

LATE = [
    file
    for top in ("shared", "functions")
    for file in sorted((ROOT / top).rglob("*.py"))
    if " = lazy(" in file.read_text("utf-8") and file.name != "lazy.py"
]


def read(file: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return name → module of what mypy reads and of what is loaded."""
    tree = ast.parse(file.read_text("utf-8"))
    (both,) = (node for node in tree.body if isinstance(node, ast.If) and node.orelse)
    return dict(imported(both.body)), dict(loaded(both.orelse))


def imported(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for node in body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            if is_module(f"{node.module}.{alias.name}"):
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def is_module(name: str) -> bool:
    """Tell whether a name is that of a module, and not of something in one."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def loaded(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for node in body:
        assert isinstance(node, ast.Assign)
        assert isinstance(node.targets[0], ast.Tuple)
        assert isinstance(node.value, ast.Call)
        package, *modules = (ast.literal_eval(arg) for arg in node.value.args)
        names = [ast.unparse(name) for name in node.targets[0].elts]
        yield from zip(names, (f"{package}.{module}" for module in modules), strict=True)


@pytest.mark.parametrize("file", LATE, ids=lambda file: str(file.relative_to(ROOT)))
def test_what_mypy_reads_is_what_is_loaded(file: Path) -> None:
    says, does = read(file)
    assert does
    assert says == does


def test_there_are_many_of_them() -> None:
    assert len(LATE) > 8


def test_a_module_is_loaded_when_something_in_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "encodings.rot_13", raising=False)
    turned, _ = lazy("encodings", "rot_13", "no_such_module")
    assert "encodings.rot_13" not in sys.modules
    assert turned.rot13_map
    assert "encodings.rot_13" in sys.modules


class Owner:
    part = PartOf["Owner"]()
    made = 0
    thing = part(lambda of: of.make())

    def make(self) -> SimpleNamespace:
        self.made += 1
        return SimpleNamespace()


def test_a_part_is_made_once_and_for_each_object() -> None:
    one, other = Owner(), Owner()
    assert one.made == 0
    assert one.thing is one.thing
    assert one.thing is not other.thing
    assert (one.made, other.made) == (1, 1)


def test_what_is_put_in_place_of_a_part_is_what_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    owner, fake = Owner(), SimpleNamespace()
    monkeypatch.setitem(owner.__dict__, "thing", fake)
    assert owner.thing is fake
    assert owner.made == 0
