"""Both SDKs as their users get them: strictly typed, tested, packed with the product's version, and installable."""

import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.sdks.conftest import Tool
from tools.sdks.__main__ import PYTHON, TYPESCRIPT
from tools.wheel import ROOT, version

USE = """
import { Posthaste, NotFoundError, type Schemas } from "posthaste-sdk";
const api = new Posthaste({ url: "https://x.example", key: "k" });
export const made: Promise<Schemas["AcceptedBatch"]> = api.createBatch({ to: "a@example.org", subject: "S" });
// @ts-expect-error a subject is a text
api.createBatch({ to: "a@example.org", subject: 5 });
// @ts-expect-error an answer has no such field
made.then((found) => found.nothing, (error: unknown) => error instanceof NotFoundError && error.code === "not_found");
"""


def test_the_python_layer_is_strictly_typed(tool: Tool) -> None:
    assert "Success" in tool("mypy", "--cache-dir", "/dev/null", folder=PYTHON)


def test_the_python_layer_passes_its_tests(tool: Tool) -> None:
    words = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
    assert " passed" in tool(*words, folder=PYTHON, PYTEST_ADDOPTS="")


def test_the_typescript_layer_is_strictly_typed(tool: Tool) -> None:
    tool("npx", "tsc", "-p", "tsconfig.json", folder=TYPESCRIPT)
    tool("npx", "tsc", "-p", "tsconfig.build.json", "--noEmit", folder=TYPESCRIPT)


def test_the_typescript_layer_passes_its_tests(tool: Tool) -> None:
    files = sorted(str(file) for file in (TYPESCRIPT / "test").glob("*.test.ts"))
    assert "fail 0" in tool("node", "--test", *files, folder=TYPESCRIPT)


def test_the_wheel_has_types_and_the_products_version(packages: dict[str, Path], tool: Tool, tmp_path: Path) -> None:
    with zipfile.ZipFile(packages[".whl"]) as archive:
        names = archive.namelist()
    assert {"posthaste_sdk/py.typed", "posthaste_sdk/_generated/operations.py"} <= set(names)
    assert {name.split("/")[0] for name in names} == {"posthaste_sdk", f"posthaste_sdk-{version()}.dist-info"}
    code = "import posthaste_sdk as p; print(p.__version__, p.Posthaste.create_batch.__name__)"
    shown = tool("python", "-c", code, folder=tmp_path, PYTHONPATH=str(packages[".whl"]))
    assert shown == f"{version()} create_batch\n"


def test_the_source_of_the_wheel_is_whole(packages: dict[str, Path]) -> None:
    with tarfile.open(packages[".gz"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "LICENSE", "src/posthaste_sdk/_generated/models.py"} <= names


def test_the_npm_package_is_used_with_types_and_has_no_dependencies(
    packages: dict[str, Path], tool: Tool, tmp_path: Path
) -> None:
    place = tmp_path / "node_modules" / "posthaste-sdk"
    place.mkdir(parents=True)
    with tarfile.open(packages[".tgz"]) as archive:
        archive.extractall(tmp_path, filter="data")
    (tmp_path / "package").rename(place.parent / "unpacked")
    place.rmdir()
    (place.parent / "unpacked").rename(place)
    facts = json.loads((place / "package.json").read_text())
    assert (facts["version"], "dependencies" in facts, "devDependencies" in facts) == (version(), False, False)
    assert {"README.md", "LICENSE", "dist"} <= {file.name for file in place.iterdir()}
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "use.ts").write_text(USE)
    compiler = str(TYPESCRIPT / "node_modules" / ".bin" / "tsc")
    for how in (("nodenext", "nodenext"), ("esnext", "bundler")):
        words = ("--module", how[0], "--moduleResolution", how[1], "--target", "es2023", "--noEmit")
        tool(compiler, "--strict", *words, "use.ts", folder=tmp_path)
    (tmp_path / "run.js").write_text('import { VERSION } from "posthaste-sdk";\nconsole.log(VERSION);\n')
    assert tool("node", "run.js", folder=tmp_path) == f"{version()}\n"


@pytest.mark.parametrize("folder", [PYTHON, TYPESCRIPT], ids=lambda folder: folder.name)
def test_the_package_has_the_products_license(folder: Path) -> None:
    assert (folder / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_the_lock_names_no_registry() -> None:
    lock = json.loads((TYPESCRIPT / "package-lock.json").read_text())
    assert not [name for name, entry in lock["packages"].items() if "resolved" in entry]
