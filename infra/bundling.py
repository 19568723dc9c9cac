"""The one asset of all functions: `functions`, `shared` and the locked runtime packages; built by uv, without Docker.

For AWS it holds wheels of Lambda's platform, whatever machine builds it; for the local cloud those of this machine.
The asset's hash comes from sources and lock, so that nothing is built or deployed again while they stand.
"""

import hashlib
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

from infra.settings import ROOT, Target

PACKAGES: Final = ("functions", "shared")
LOCK: Final = "requirements/runtime.txt"
LAMBDA_PYTHON: Final = "3.13"
LAMBDA_PLATFORM: Final = "aarch64-manylinux2014"
LEFT_OUT: Final = shutil.ignore_patterns("__pycache__", "*.py[co]", "tests", ".*")
SECONDS: Final = 300


def asset(target: Target) -> Code:
    """Return the functions' code. Built at synth, unless the context `aws:cdk:bundling-stacks` leaves the stack out."""
    return Code.from_asset(
        str(ROOT / "functions"),
        asset_hash=source_hash(target),
        asset_hash_type=AssetHashType.CUSTOM,
        bundling=BundlingOptions(image=Runtime.PYTHON_3_13.bundling_image, local=_Bundler(target)),
    )


def build(target: Target, folder: Path) -> None:
    """Write the asset into a folder.

    Args:
        target: whose platform the wheels are for.
        folder: an existing, empty folder.

    Raises:
        RuntimeError: uv failed; the message is the end of what it said.
    """
    python = sys.executable if target is Target.LOCAL else LAMBDA_PYTHON
    command = ["pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
    command += ["--requirements", str(ROOT / LOCK), "--target", str(folder)]
    if target is Target.LOCAL:
        command += ["--python", python]
    else:
        command += ["--python-version", python, "--python-platform", LAMBDA_PLATFORM]
    _run(find_uv_bin(), *command)
    shutil.rmtree(folder / "bin", ignore_errors=True)
    (folder / ".lock").unlink(missing_ok=True)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=LEFT_OUT)
    interpreter = compiler(target)
    if interpreter:
        # The archive forgets modification times, so only hashes can say that bytecode fits; nobody edits it: unchecked.
        _run(interpreter, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", str(folder))


def source_hash(target: Target) -> str:
    """Return a hash of everything that the asset is made from."""
    parts = [str(target), LAMBDA_PYTHON, LAMBDA_PLATFORM, f"compiled: {bool(compiler(target))}"]
    if target is Target.LOCAL:
        parts.append(sys.version)
    digest = hashlib.sha256("\0".join(parts).encode())
    for file in (ROOT / LOCK, ROOT / "infra" / "bundling.py", *_sources()):
        digest.update(f"\0{file.relative_to(ROOT)}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


@cache
def compiler(target: Target) -> str:
    """Return the interpreter whose bytecode the target reads, or nothing if this machine has none.

    Bytecode fits one minor version alone. Without it, each cold start compiles what it imports.
    """
    if target is Target.LOCAL:
        return sys.executable
    found = subprocess.run(
        [find_uv_bin(), "python", "find", "--no-python-downloads", "--no-project", LAMBDA_PYTHON],
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip() if found.returncode == 0 else ""


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
    def __init__(self, target: Target) -> None:
        self._target = target

    def try_bundle(self, output_dir: str, *_: Any, **__: Any) -> bool:
        """Build here; a failure is an error, not a reason to look for Docker."""
        build(self._target, Path(output_dir))
        return True
