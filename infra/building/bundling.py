"""The one asset of all functions: `functions`, `shared` and the locked runtime packages; built by uv, without Docker.

For AWS it holds wheels of Lambda's platform on each machine; for the local cloud those of this machine. The asset's
hash comes from sources and lock, and is the same on each machine. Nothing is built or deployed again while these stay
as they are.
"""

import gzip
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import jsii
from aws_cdk import AssetHashType, BundlingOptions, ILocalBundling
from aws_cdk.aws_lambda import Code, Runtime
from uv import find_uv_bin

from infra.settings import ROOT, DeployTarget, SettingsError

PACKAGES: Final = ("functions", "shared")
LOCK: Final = "requirements/runtime.txt"
LAMBDA_PYTHON: Final = "3.13"
LAMBDA_PLATFORM: Final = "aarch64-manylinux_2_28"
SERVICES: Final = (
    "cloudformation",
    *("cloudwatch", "dynamodb", "dynamodbstreams", "lambda", "logs", "s3", "scheduler", "secretsmanager"),
    *("sesv2", "sqs"),
)
"""AWS services that the functions have clients of. Of 430 models in botocore, 27 of its 29 MB, these are left."""
TASK: Final = "/var/task"
"""Where Lambda has the asset: the place that bytecode names in traces."""
OF_NPM: Final = ("swagger-ui-bundle.js", "swagger-ui.css")
"""Files of the API's documentation that `make setup` has copied out of a package of npm."""
DOCS: Final = ROOT / "functions" / "api" / "docs" / "static"
DOCUMENT: Final = "functions/api/openapi.json"
ZIPPED: Final = (DOCUMENT, *(f"functions/api/docs/static/{name}" for name in OF_NPM))
"""Files of a megabyte that the API serves: compressed here, so that no first request of an instance waits for it."""
_SOURCES: Final = ("c", "cpp", "h", "hpp", "pyx", "pxd", "pyi")
UNUSED: Final = ("*/tests", "*/**/swagger-ui*.min.*", *(f"*/**/*.{kind}" for kind in _SOURCES))
"""In packages, never run: their tests, a page of documentation, and what they were compiled and checked from."""
LEFT_OUT: Final = shutil.ignore_patterns("__pycache__", "*.py[co]", "tests", ".*")
SECONDS: Final = 300


def asset(target: DeployTarget, *, bytecode: bool = True) -> Code:
    """Return the functions' code. Built at synth, unless the context `aws:cdk:bundling-stacks` leaves the stack out."""
    return Code.from_asset(
        str(ROOT / "functions"),
        asset_hash=source_hash(target, bytecode=bytecode),
        asset_hash_type=AssetHashType.CUSTOM,
        bundling=BundlingOptions(image=Runtime.PYTHON_3_13.bundling_image, local=_Bundler(target, bytecode)),
    )


def build(target: DeployTarget, folder: Path, *, bytecode: bool = True) -> None:
    """Write the asset into a folder.

    Args:
        target: whose platform the wheels are for.
        folder: an existing, empty folder.
        bytecode: whether the asset is compiled. Without bytecode each cold start compiles what it imports, since
            `/var/task` cannot be written.

    Raises:
        RuntimeError: uv failed; the message is the end of what it said.
        SettingsError: there is no interpreter that could compile it, or the documentation's files are missing.
    """
    if missing := [name for name in OF_NPM if not (DOCS / name).is_file()]:
        raise SettingsError(f"{DOCS.relative_to(ROOT)} lacks {', '.join(missing)}; run: make setup")
    compiler = interpreter(target) if bytecode else ""
    _install(target, folder)
    _prune(folder)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=LEFT_OUT)
    _compact(folder / DOCUMENT)
    for name in ZIPPED:
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes(), mtime=0))
    if compiler:
        # The archive forgets modification times, so only hashes can say that bytecode fits; nobody edits it: unchecked.
        command = ["-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
        if target is DeployTarget.AWS:
            command += ["-s", str(folder), "-p", TASK]
        _run(compiler, *command, str(folder))


def _compact(document: Path) -> None:
    """Write a document of JSON without what is between its values for people: a quarter of its bytes."""
    found = json.loads(document.read_text(encoding="utf-8"))
    document.write_text(json.dumps(found, separators=(",", ":"), ensure_ascii=False), encoding="utf-8")


def _install(target: DeployTarget, folder: Path) -> None:
    """Put the locked packages into the folder."""
    python = sys.executable if target is DeployTarget.LOCAL else LAMBDA_PYTHON
    command = ["pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
    command += ["--requirements", str(ROOT / LOCK), "--target", str(folder)]
    if target is DeployTarget.LOCAL:
        command += ["--python", python]
    else:
        command += ["--python-version", python, "--python-platform", LAMBDA_PLATFORM]
    _run(find_uv_bin(), *command)
    shutil.rmtree(folder / "bin", ignore_errors=True)
    (folder / ".lock").unlink(missing_ok=True)


def source_hash(target: DeployTarget, *, bytecode: bool = True) -> str:
    """Return a hash of everything that the asset is made from: the same on each machine, for AWS."""
    parts = [str(target), LAMBDA_PYTHON, LAMBDA_PLATFORM, f"compiled: {bytecode}"]
    if target is DeployTarget.LOCAL:
        parts.append(sys.version)
    digest = hashlib.sha256("\0".join(parts).encode())
    for file in (ROOT / LOCK, ROOT / "infra" / "building" / "bundling.py", *_sources()):
        digest.update(f"\0{file.relative_to(ROOT)}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


@cache
def interpreter(target: DeployTarget) -> str:
    """Return the interpreter whose bytecode the target reads: this one, or for AWS one that uv finds or fetches.

    Bytecode fits one minor version only.

    Raises:
        SettingsError: uv could not fetch it.
    """
    if target is DeployTarget.LOCAL:
        return sys.executable
    if found := _find():
        return found
    fetched = _uv("python", "install", "--no-bin", LAMBDA_PYTHON)
    if fetched.returncode == 0 and (found := _find("--managed-python")):
        return found
    why = " ".join(fetched.stderr.split())[-200:]
    raise SettingsError(
        f"bytecode: uv cannot fetch Python {LAMBDA_PYTHON}, whose bytecode the functions start from ({why}); "
        "deploy from where it can, or with slower cold starts: -c bytecode=off"
    )


def _find(*options: str) -> str:
    found = _uv("python", "find", "--no-python-downloads", "--no-project", *options, LAMBDA_PYTHON)
    return found.stdout.strip() if found.returncode == 0 else ""


def _uv(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([find_uv_bin(), *command], capture_output=True, text=True, timeout=SECONDS, check=False)


def _prune(folder: Path) -> None:
    """Leave out of packages what never runs, and the models of services that are not ours out of botocore's data."""
    data = folder / "botocore" / "data"
    services = [x for x in data.iterdir() if x.is_dir() and x.name not in SERVICES]
    for path in (*services, *data.rglob("examples-*.json*"), *(p for x in UNUSED for p in folder.glob(x))):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _sources() -> Iterator[Path]:
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*")):
            inside = file.relative_to(ROOT).parts
            if file.is_file() and not LEFT_OUT(str(file.parent), list(inside)):
                yield file


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name} {command[1]} failed: {(done.stderr or done.stdout)[-2000:]}")


@jsii.implements(ILocalBundling)
class _Bundler:
    def __init__(self, target: DeployTarget, bytecode: bool) -> None:  # noqa: FBT001 - jsii makes it
        self._target = target
        self._bytecode = bytecode

    def try_bundle(self, output_dir: str, *_: Any, **__: Any) -> bool:
        """Build here; a failure is an error, not a reason to look for Docker."""
        build(self._target, Path(output_dir), bytecode=self._bytecode)
        return True
