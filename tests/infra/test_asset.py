"""The asset: what Lambda's platform can load, and nothing but that."""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack

from benchmarks import starts
from infra.building import bundling
from infra.settings import ROOT, DeployTarget
from shared import contracts

pytestmark = pytest.mark.slow  # builds the asset

MOST_DOCUMENT = 70_000
"""Bytes of the API's document, compressed: each new operation adds some hundred."""
AARCH64 = 183
"""ELF's machine number."""
MAKES_CLIENTS = {"client", "later", "make", "create_client"}
"""What code calls to make a client, with the service's name."""
WHEEL_TAG = re.compile(r"^Tag: (\S+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("arm")
    bundling.build(DeployTarget.AWS, folder, bytecode=False)  # this machine may not be able to fetch Lambda's Python
    return folder


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("host")
    bundling.build(DeployTarget.LOCAL, folder)
    return folder


@pytest.fixture(params=["arm", "host"])
def asset(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


def shared_objects(folder: Path) -> Iterator[Path]:
    yield from (p for p in folder.rglob("*") if re.search(r"\.so(\.|$)", p.name))


def test_every_wheel_is_pure_or_for_arm64_and_python_3_13(arm: Path) -> None:
    wheels = {p.parent.name: WHEEL_TAG.findall(p.read_text("utf-8")) for p in arm.glob("*.dist-info/WHEEL")}
    locked = re.findall(r"^([a-z0-9-]+)==", (ROOT / bundling.LOCK).read_text("utf-8"), re.MULTILINE)
    assert {w.split("-")[0].replace("_", "-").lower() for w in wheels} == set(locked)
    for wheel, tags in wheels.items():
        assert tags
        for tag in tags:
            python, abi, platform = tag.split("-")
            if (abi, platform) == ("none", "any"):
                continue
            assert abi in {"cp313", "abi3"}, wheel
            assert platform.endswith("_aarch64"), wheel
            assert python <= "cp313", wheel


def test_every_shared_object_is_arm64(arm: Path) -> None:
    found = list(shared_objects(arm))
    assert len(found) >= 3, "pydantic, cryptography and cffi have them"
    for file in found:
        header = file.read_bytes()[:20]
        assert header[:4] == b"\x7fELF"
        assert int.from_bytes(header[18:20], "little") == AARCH64, file.name
        assert ".cpython-" not in file.name or "cpython-313-aarch64" in file.name
        assert ".abi3." in file.name or "cpython-313" in file.name or ".libs" in file.parent.name, file.name


def test_no_bytecode_of_another_python(arm: Path) -> None:
    """Lambda would ignore it: dead weight."""
    assert list(arm.rglob("*.pyc")) == []


def test_bytecode_survives_the_archive(host: Path) -> None:
    """The archive sets one date on all files: bytecode that is checked by date would be thrown away at each start."""
    compiled = list(host.rglob("*.pyc"))
    assert len(compiled) > 300
    assert {int.from_bytes(p.read_bytes()[4:8], "little") for p in compiled} == {0b01}, "unchecked hash (PEP 552)"
    sources = [p for p in (host / "shared").rglob("*.py") if p.stat().st_size]
    assert {p.stem for p in sources} <= {p.name.split(".")[0] for p in compiled}


def test_the_asset_is_small_and_holds_what_runs_alone(asset: Path) -> None:
    names = {p.name for p in asset.iterdir()}
    assert {"functions", "shared", "pydantic", "aws_lambda_powertools", "cryptography", "botocore"} <= names
    absent = {"boto3", "s3transfer", "tests", "infra", "cli", "simulator", "bin", ".lock"}
    assert not names & absent
    ours = [p for top in ("functions", "shared") for p in (asset / top).rglob("*")]
    assert not [p for p in ours if p.name in {"tests", ".mypy_cache", ".ruff_cache"}]
    source = sum(p.stat().st_size for p in asset.rglob("*") if p.is_file() and p.suffix != ".pyc")
    assert source < 45 * 2**20, "Lambda takes 250"


def test_botocore_has_the_models_of_the_services_in_use_only(asset: Path) -> None:
    data = asset / "botocore" / "data"
    assert {p.name for p in data.iterdir() if p.is_dir()} == set(bundling.SERVICES)
    assert sum(p.stat().st_size for p in data.rglob("*") if p.is_file()) < 2.5 * 2**20


def test_the_services_in_use_are_those_that_the_code_makes_clients_of() -> None:
    """The doctor's checks of a provider's account run in the command alone, which has all of botocore."""
    found = set()
    for file in (f for package in bundling.PACKAGES for f in (ROOT / package).rglob("*.py") if f.name != "checks.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in MAKES_CLIENTS and isinstance(node.args[0], ast.Constant):
                found.add(node.args[0].value)
    assert found == set(bundling.SERVICES)


def test_the_asset_makes_every_client(host: Path) -> None:
    """And no other: the test would not see it if it took botocore from elsewhere."""
    program = f"""
import sys
sys.path[:0] = [{str(host)!r}]
from botocore.exceptions import UnknownServiceError
from shared.adapters.aws import Aws
aws = Aws()
for name in {bundling.SERVICES!r}:
    assert aws.client(name).meta.endpoint_url.startswith("https://"), name
try:
    aws.client("ec2")
except UnknownServiceError:
    print("made")
"""
    assert alone(program) == "made\n"


def test_what_the_api_serves_is_compressed_already(host: Path) -> None:
    """Both forms of each large file, from the asset alone, whose functions compress nothing."""
    program = f"""
import sys
sys.path[:0] = [{str(host)!r}]
import base64, gzip, pathlib, types
from functions.api.handler import handler

def compress(*_, **__):
    raise AssertionError("compressed again")

gzip.compress = compress
for name in {bundling.ZIPPED!r}:
    path = "/" + name.removeprefix("functions/api/").replace("static/", "")
    event = {{"rawPath": path, "headers": {{}}, "requestContext": {{"http": {{"method": "GET"}}}}}}
    context = types.SimpleNamespace(aws_request_id="1", function_name="api")
    plain = handler(event, context)
    event["headers"]["accept-encoding"] = "gzip"
    got = handler(event, context)
    assert plain["statusCode"] == got["statusCode"] == 200, name
    assert "Content-Encoding" not in plain["headers"] and got["headers"]["Content-Encoding"] == "gzip", name
    assert got["headers"]["Vary"] == plain["headers"]["Vary"] == "Accept-Encoding", name
    packed = base64.b64decode(got["body"])
    stored = pathlib.Path({str(host)!r}, name)
    assert packed == stored.with_name(stored.name + ".gz").read_bytes(), name
    assert gzip.decompress(packed) == plain["body"].encode() == stored.read_bytes(), name
    assert len(packed) < len(plain["body"]) / 3, name
print("served")
"""
    assert alone(program).endswith("served\n")


def test_the_document_has_nothing_for_people_between_its_values(host: Path) -> None:
    stored = (host / bundling.DOCUMENT).read_text(encoding="utf-8")
    committed = (ROOT / bundling.DOCUMENT).read_text(encoding="utf-8")
    assert json.loads(stored) == json.loads(committed)
    assert len(stored) < len(committed) * 0.8
    assert len((host / f"{bundling.DOCUMENT}.gz").read_bytes()) < MOST_DOCUMENT


def test_every_file_of_ours_is_in_it(asset: Path) -> None:
    for package in bundling.PACKAGES:
        for file in (ROOT / package).rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                assert (asset / file.relative_to(ROOT)).is_file(), file


@pytest.mark.parametrize("name", contracts.HANDLERS)
def test_a_handler_starts_from_the_asset_alone(host: Path, name: str) -> None:
    """Its clients included, which it makes in the init phase."""
    module, _, attribute = contracts.HANDLERS[name].rpartition(".")
    program = f"""
import sys
sys.path[:0] = [{str(host)!r}]
import {module} as m
assert callable(m.{attribute})
assert not [p for p in sys.path if "site-packages" in p]
"""
    assert alone(program) == ""


def alone(program: str) -> str:
    """Run a program that sees no installed package; return what it printed."""
    environment = {**starts.environment(), "PATH": os.defpath, contracts.ON_LAMBDA: "posthaste-dev-x"}
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small checkout."""
    for name in (
        "requirements/runtime.txt",
        "infra/building/bundling.py",
        "functions/a.py",
        "shared/b.py",
        "README.md",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name, encoding="utf-8")
    monkeypatch.setattr(bundling, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ("functions/a.py", False),
        ("shared/b.py", False),
        ("shared/new.json", False),
        ("requirements/runtime.txt", False),
        ("infra/building/bundling.py", False),
        ("README.md", True),
        ("functions/__pycache__/a.cpython-311.pyc", True),
        ("shared/tests/c.py", True),
    ],
)
def test_the_hash_follows_what_the_asset_is_made_from(tree: Path, change: str, *, same: bool) -> None:
    before = bundling.source_hash(DeployTarget.AWS)
    assert bundling.source_hash(DeployTarget.AWS) == before
    (tree / change).parent.mkdir(exist_ok=True)
    (tree / change).write_text("changed", encoding="utf-8")
    assert (bundling.source_hash(DeployTarget.AWS) == before) is same
    assert bundling.source_hash(DeployTarget.LOCAL) != bundling.source_hash(DeployTarget.AWS)


def test_the_synth_builds_it_without_docker_and_only_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Any] = []

    def build(target: DeployTarget, folder: Path, *, bytecode: bool) -> None:
        built.append((target, bytecode))
        (folder / "marker.py").write_text("", encoding="utf-8")

    monkeypatch.setattr(bundling, "build", build)
    for _ in range(2):
        app = App(outdir=str(tmp_path))
        stack = Stack(app, "Some")
        bundling.asset(DeployTarget.LOCAL).bind(stack)
        app.synth()
    assert built == [(DeployTarget.LOCAL, True)], "the second synth finds it there"
    (folder,) = tmp_path.glob("asset.*")
    assert [p.name for p in folder.iterdir()] == ["marker.py"]


def test_a_failed_build_says_why(tmp_path: Path, tree: Path) -> None:
    (tree / "requirements" / "runtime.txt").write_text("pydantic==0.0.1 --hash=sha256:" + "0" * 64, encoding="utf-8")
    with pytest.raises(RuntimeError, match=r"uv pip failed: .*pydantic"):
        bundling.build(DeployTarget.AWS, tmp_path / "functions", bytecode=False)
