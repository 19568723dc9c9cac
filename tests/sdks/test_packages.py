"""Both SDKs as their users get them: strictly typed, tested, packed with the product's version, and installable."""

import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.sdks.conftest import Tool
from tools.sdks import __main__ as sdks
from tools.sdks.__main__ import PYTHON, TYPESCRIPT
from tools.wheel import ROOT, version

pytestmark = pytest.mark.slow  # builds packages of both SDKs

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
    words = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert " passed" in tool(*words, folder=PYTHON, PYTEST_ADDOPTS="")


def test_the_typescript_layer_is_strictly_typed(tool: Tool) -> None:
    tool("npx", "tsc", "-p", "tsconfig.json", folder=TYPESCRIPT)
    for settings in ("tsconfig.build.json", "tsconfig.cjs.json"):
        tool("npx", "tsc", "-p", settings, "--noEmit", folder=TYPESCRIPT)


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


def test_npm_looks_for_no_update_and_prints_only_errors(capfd: pytest.CaptureFixture[str]) -> None:
    sdks.run("npm", "config", "get", "update-notifier", "fund", "audit", "loglevel", folder=TYPESCRIPT)
    assert capfd.readouterr() == ("", "update-notifier=false\nfund=false\naudit=false\nloglevel=error\n")


@pytest.fixture
def installed(packages: dict[str, Path], tmp_path: Path) -> Path:
    """The npm package, installed into a project in `tmp_path`."""
    place = tmp_path / "node_modules" / "posthaste-sdk"
    with tarfile.open(packages[".tgz"]) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    place.parent.mkdir()
    (tmp_path / "unpacked" / "package").rename(place)
    return place


def test_the_npm_package_is_whole_and_has_no_dependencies(installed: Path) -> None:
    facts = json.loads((installed / "package.json").read_text())
    assert (facts["version"], "dependencies" in facts, "devDependencies" in facts) == (version(), False, False)
    assert {"README.md", "LICENSE", "dist"} <= {file.name for file in installed.iterdir()}


@pytest.mark.parametrize(
    ("kind", "module", "resolution"),
    [
        *[("module", "nodenext", "nodenext"), ("module", "esnext", "bundler")],
        *[("commonjs", "nodenext", "nodenext"), ("commonjs", "node16", "node16"), ("commonjs", "commonjs", "node10")],
    ],
)
def test_the_npm_package_has_types_for_both_kinds_of_modules(
    installed: Path, tool: Tool, tmp_path: Path, kind: str, module: str, resolution: str
) -> None:
    (tmp_path / "package.json").write_text(json.dumps({"type": kind}))
    (tmp_path / "use.ts").write_text(USE)
    compiler = str(TYPESCRIPT / "node_modules" / ".bin" / "tsc")
    words = ("--module", module, "--moduleResolution", resolution, "--target", "es2023", "--noEmit")
    tool(compiler, "--strict", *words, "use.ts", folder=tmp_path)


@pytest.mark.parametrize(
    ("name", "code", "used"),
    [
        (
            "run.mjs",
            'import * as sdk from "posthaste-sdk";\nconst file = import.meta.resolve("posthaste-sdk");',
            "dist/",
        ),
        (
            "run.cjs",
            'const sdk = require("posthaste-sdk");\nconst file = require.resolve("posthaste-sdk");',
            "dist/cjs/",
        ),
    ],
)
def test_the_npm_package_is_imported_and_required(
    installed: Path, tool: Tool, tmp_path: Path, name: str, code: str, used: str
) -> None:
    show = """
    const job = async () => Response.json({ state: "LOGGED" });
    new sdk.Posthaste({ url: "https://x.example", key: "k", fetch: job }).getJob("j").then(({ state }) =>
      console.log(JSON.stringify([sdk.VERSION, state, file.split("posthaste-sdk/")[1]])));
    """
    (tmp_path / name).write_text(code + show)
    found = json.loads(tool("node", "--no-experimental-require-module", name, folder=tmp_path))
    assert found == [version(), "LOGGED", f"{used}index.js"]


@pytest.mark.parametrize("folder", [PYTHON, TYPESCRIPT], ids=lambda folder: folder.name)
def test_the_package_has_the_products_license(folder: Path) -> None:
    assert (folder / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_the_lock_names_no_registry() -> None:
    lock = json.loads((TYPESCRIPT / "package-lock.json").read_text())
    assert not [name for name, entry in lock["packages"].items() if "resolved" in entry]
