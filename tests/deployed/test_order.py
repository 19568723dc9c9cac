"""The slow files of this folder begin first, so that the clouds that share them end at about the same time."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.deployed import conftest
from tests.deployed.drills import SCENARIOS

DRILLS = ("mails", "chaos")


@dataclass(frozen=True, slots=True)
class Item:
    """A test, as pytest collects it."""

    path: Path
    name: str = ""


def test_slow_files_and_drills_come_first_and_the_others_keep_their_order() -> None:
    other = Path("tests/other/test_guides.py")
    found: list[Any] = [Item(other), Item(conftest.HERE / "test_api.py")]
    found += [Item(conftest.HERE / f"test_{x}.py", n) for x in ("notices", "guides") for n in "ba"]
    found += [Item(conftest.HERE / "test_short_drills.py", f"test_a_drill_breaks_no_promise[{x}]") for x in DRILLS]
    conftest.pytest_collection_modifyitems(found)
    names = [f"{x.path.stem} {x.name}" for x in found]
    first = ["test_guides b", "test_guides a", "test_short_drills test_a_drill_breaks_no_promise[chaos]"]
    then = ["test_notices b", "test_notices a", "test_short_drills test_a_drill_breaks_no_promise[mails]"]
    assert names == [*first, *then, "test_guides ", "test_api "]


def test_each_slow_file_exists() -> None:
    there = {x.stem.removeprefix("test_") for x in conftest.HERE.glob("test_*.py")} | SCENARIOS.keys()
    assert set(conftest.SLOW) <= there


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
