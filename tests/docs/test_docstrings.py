"""Docstrings document a parameter where its name and type do not say all: its unit, its shape, its meaning."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
import typer

from cli.main import app

ROOTS: Final = ("shared", "functions", "infra", "cli", "simulator", "benchmarks", "examples", "tools")
SHIPPED: Final = ("shared", "functions", "infra", "cli")
LEAST: Final = 3
"""Parameters from which on numbers have their unit documented: fewer are in the summary."""
SHORT: Final = 4
"""Words that say nothing beside a name and a type, unless they name a unit or a shape."""
ORDINALS: Final = {
    "attempt",
    "cell_attempt",
    "chunk",
    "chunk_number",
    "epoch",
    "index",
    "number",
    "seconds",
    "seq",
    "status",
}
"""Names that say what a number is."""
_ENTRY: Final = re.compile(r"^    \*{0,2}(\w+)(?: \([^)]*\))?: (.*(?:\n {8}.*)*)", re.MULTILINE)
_SHAPE: Final = re.compile(
    r"\d|[`:;#]|\b(?:None|empty|seconds?|milliseconds|ms|minutes?|hours|days?|bytes|cents|percent|at least|at most|"
    r"most|lower-case|normalised|ASCII|base64|UTC|unique|order|consistent|unless|if|how|when|zone|from now|past|share|"
    r"fraction|sorted|with the|without|only|any|larger|as posted|as in|never|not|else|raises?|called|thread|returns?)\b"
)
_MOMENT: Final = re.compile(r"(?:the present, |the time, )?Unix (?:milli)?seconds\.")
_UNIT: Final = re.compile(r"_(?:ms|s|seconds|days|bytes|minutes)$")
_EMPTY: Final = frozenset(
    {"a", "an", "as", "at", "be", "by", "for", "from", "given", "how", "id", "in", "is", "it", "its", "many", "name"}
    | {"number", "of", "on", "one", "or", "read", "s", "that", "the", "their", "them", "this", "to", "was", "were"}
    | {"what", "whether", "which", "with"}
)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Documented:
    """A function or a class, with its parameters' types and its docstring's entries."""

    name: str
    is_class: bool
    owner: ast.ClassDef | None
    types: Mapping[str, str]
    text: str

    @property
    def entries(self) -> dict[str, str]:
        """Parameter → what the section `Args` says."""
        section = re.search(r"^Args:\n((?: {4}.*\n?|\n(?= {4}))*)", self.text, re.MULTILINE)
        found = _ENTRY.findall(section[1]) if section else []
        return {name: " ".join(said.split()) for name, said in found}


def commands(group: typer.Typer) -> Iterator[tuple[str, str]]:
    """Yield file and name of the functions behind commands: their options have help texts of their own."""
    for command in group.registered_commands:
        if command.callback is not None:
            yield f"{command.callback.__module__.replace('.', '/')}.py", command.callback.__name__
    for child in group.registered_groups:
        if child.typer_instance is not None:
            yield from commands(child.typer_instance)


def types(function: Function) -> dict[str, str]:
    args = function.args
    named = (*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg)))
    found = {x.arg: ast.unparse(x.annotation) if x.annotation else "" for x in named}
    return {name: of for name, of in found.items() if name not in ("self", "cls")}


def documented(node: ast.AST, owner: ast.ClassDef | None = None) -> Iterator[Documented]:
    """Yield the classes and functions of a module."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            made = next((x for x in child.body if isinstance(x, ast.FunctionDef) and x.name == "__init__"), None)
            yield Documented(child.name, True, owner, types(made) if made else {}, ast.get_docstring(child) or "")
            yield from documented(child, child)
        elif isinstance(child, Function):
            yield Documented(child.name, False, owner, types(child), ast.get_docstring(child) or "")


def is_port(of: ast.ClassDef) -> bool:
    return any("Protocol" in ast.unparse(base) for base in of.bases)


def says_nothing(name: str, said: str, of: str) -> bool:
    """Tell whether an entry says no more than the parameter's name and type."""
    if _MOMENT.fullmatch(said):
        return of.startswith(("Millis", "Seconds"))
    if _SHAPE.search(said):
        return False
    words = [word.lower().rstrip("s") for word in re.findall(r"[A-Za-z]+", said)]
    if {*words} <= {word.rstrip("s") for word in (*_EMPTY, *name.lower().split("_"))}:
        return True
    return len(said.split()) <= SHORT and not re.match(r"(?:int|float|bytes|bool)\b", of)


def needless(source: str) -> list[str]:
    return [
        f"{x.name}: {name}: {said}"
        for x in documented(ast.parse(source))
        for name, said in x.entries.items()
        if says_nothing(name, said, x.types.get(name, ""))
    ]


def without_unit(source: str) -> list[str]:
    """Return the numbers that public functions with many parameters do not explain."""
    found = []
    for x in documented(ast.parse(source)):
        public = (
            not x.is_class and not x.name.startswith("_") and not (x.owner is not None and x.owner.name.startswith("_"))
        )
        if public and len(x.types) >= LEAST:
            found += [
                f"{x.name}: {name}"
                for name, of in x.types.items()
                if re.match(r"(?:int|float)\b", of) and name not in x.entries and f"`{name}`" not in x.text
                if name not in ORDINALS and not _UNIT.search(name)
            ]
    return found


def sources(roots: Sequence[str]) -> Iterator[tuple[str, str]]:
    for root in roots:
        for path in sorted(Path(root).rglob("*.py")):
            yield path.as_posix(), path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_an_entry_says_what_name_and_type_do_not() -> None:
    assert [f"{path}: {x}" for path, source in sources(ROOTS) for x in needless(source)] == []


@pytest.mark.slow
def test_numbers_have_their_unit_in_name_type_or_docstring() -> None:
    known = set(commands(app))
    found = [
        f"{path}: {x}"
        for path, source in sources(SHIPPED)
        if "/adapters/" not in path  # the port documents them
        for x in without_unit(source)
        if (path, x.partition(":")[0]) not in known
    ]
    assert found == []


def methods_and_ports() -> tuple[Sequence[tuple[str, Documented]], set[tuple[str, ...]]]:
    """Return what `shared` documents, each with its path, and the names and parameters of ports' methods."""
    found = [(path, x) for path, source in sources(["shared"]) for x in documented(ast.parse(source))]
    return found, {(x.name, *x.types) for _, x in found if x.owner is not None and is_port(x.owner)}


@pytest.mark.slow
def test_an_implementation_of_a_port_leaves_its_parameters_to_the_port() -> None:
    """A method is one if a port has a method of the same name and parameters."""
    methods, ports = methods_and_ports()
    found = [
        f"{path}: {x.owner.name}.{x.name}"
        for path, x in methods
        if x.owner is not None and not is_port(x.owner) and path.startswith(("shared/adapters/", "shared/providers/"))
        if len(x.types) > 1 and (x.name, *x.types) in ports and x.entries
    ]
    assert found == []


@pytest.mark.slow
def test_a_method_without_a_docstring_has_that_of_its_port() -> None:
    """Ruff lets adapters leave out docstrings of methods. Each such method has the name and parameters of a port's."""
    methods, ports = methods_and_ports()
    found = [
        f"{path}: {x.owner.name}.{x.name}"
        for path, x in methods
        if path.startswith("shared/adapters/") or path == "shared/engine/mails/queue.py"
        if x.owner is not None and not x.owner.name.startswith("_") and not is_port(x.owner)
        if not x.name.startswith("_") and not x.text and (x.name, *x.types) not in ports
    ]
    assert found == []


PAGE: Final = '''
class Shop:
    """A shop.

    Args:
        clock: the time.
        area: square metres.
    """

    def __init__(self, clock: Clock, area: float) -> None: ...

    def sell(self, name: str, price: int, *, count: int, at: Millis) -> None:
        """Sell something.

        Args:
            name: the article's name.
            price: cents.
            at: Unix milliseconds.
        """

    def buy(self, name: str, price_cents: int, *, wait_ms: int) -> None:
        """Buy something at `price_cents`."""

    def _take(self, name: str, price: int, count: int) -> None: ...
'''


def test_a_needless_entry_is_found() -> None:
    assert needless(PAGE) == [
        "Shop: clock: the time.",
        "sell: name: the article's name.",
        "sell: at: Unix milliseconds.",
    ]


def test_a_number_without_a_unit_is_found() -> None:
    assert without_unit(PAGE) == ["sell: count"]
