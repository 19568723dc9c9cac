"""The slow files of this folder begin first, so that the clouds that share them end at about the same time."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.deployed import conftest


@dataclass(frozen=True, slots=True)
class Item:
    """A test, as pytest collects it."""

    path: Path
    name: str = ""


def test_slow_files_come_first_and_the_others_keep_their_order() -> None:
    other = Path("tests/other/test_guides.py")
    found: list[Any] = [Item(other), Item(conftest.HERE / "test_api.py")]
    found += [Item(conftest.HERE / f"test_{x}.py", n) for x in ("chaos", "guides") for n in "ba"]
    conftest.pytest_collection_modifyitems(found)
    names = [(x.path.stem, x.name) for x in found]
    slow = [("test_guides", "b"), ("test_guides", "a"), ("test_chaos", "b"), ("test_chaos", "a")]
    assert names == [*slow, ("test_guides", ""), ("test_api", "")]


def test_each_slow_file_exists() -> None:
    assert [x for x in conftest.SLOW if not (conftest.HERE / f"test_{x}.py").exists()] == []


def test_no_file_imports_what_imports_the_cdk() -> None:
    """Of `infra` only `infra.local` does not: the CDK would start a process of Node in each process of pytest."""
    found = [
        f"{file.name}: {line}"
        for file in sorted(conftest.HERE.glob("*.py"))
        for line in file.read_text("utf-8").splitlines()
        if line.startswith(("from infra", "import infra", "from aws_cdk", "import aws_cdk"))
        if not line.startswith("from infra.local")
    ]
    assert found == []
