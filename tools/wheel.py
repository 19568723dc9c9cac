"""`make wheel`: build `posthaste-cli`, the command without the rest of the checkout, into dist/."""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tools.closure import PACKAGES, closure, imports

ROOT: Final = Path(__file__).resolve().parents[1]
SOURCE: Final = ROOT / "packages" / "cli"
CUT: Final = ("infra.settings", "simulator.client")
"""Only a checkout has these: `doctor` reads a cdk.json by the first, `local fail` asks the simulator by the second."""
NEEDS: Final = {
    "aiosmtpd": "aiosmtpd",
    "email_validator": "email-validator",
    "keyring": "keyring",
    "phonenumbers": "phonenumberslite",
    "rich": "rich",
    "typer": "typer",
    "urllib3": "urllib3",
}
"""Packages that the command imports, and their names on the registry."""
UNIMPORTED: Final = ("tzdata",)
"""Packages that are needed without being imported."""
OPERATOR: Final = {"boto3": "boto3", "botocore": "boto3"}
"""Packages of operators' commands."""
DATED: Final = 1000
"""From this major version on a version is a date, which says nothing of what it breaks."""


def modules() -> dict[str, Path]:
    """Return the modules of the checkout that the command needs, with their files."""
    return closure(ROOT, "cli.main", CUT)


def outside() -> set[str]:
    """Return the packages that these modules import and that are neither theirs nor Python's own."""
    names = {name.split(".")[0] for file in modules().values() for name in imports(file)}
    return names - set(PACKAGES) - sys.stdlib_module_names


def version() -> str:
    """Return the product's version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def requirements(names: Sequence[str]) -> list[str]:
    """Return packages with the versions that are allowed: from the locked one up to the next that may break."""
    lock = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8")
    locked = dict(re.findall(r"^([a-z0-9-]+)==([\w.]+)", lock, re.MULTILINE))
    return [_bounded(name, locked[name]) for name in sorted(set(names))]


def _bounded(name: str, locked: str) -> str:
    major, minor, *_ = (*(int(part) for part in re.findall(r"\d+", locked)), 0)
    if major >= DATED:
        return f"{name}>={locked}"
    return f"{name}>={locked},<{major + 1}" if major else f"{name}>={locked},<0.{minor + 1}"


def stage(folder: Path) -> None:
    """Write everything that the package is built from into a folder, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "LICENSE", folder)
    for file in modules().values():
        copy = folder / "posthaste_cli" / "modules" / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    texts = {
        "VERSION": [version()],
        "needs.txt": requirements([*NEEDS.values(), *UNIMPORTED]),
        "operator.txt": requirements([*OPERATOR.values()]),
    }
    for name, lines in texts.items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def build(into: Path, work: Path) -> Path:
    """Build the wheel; return its file.

    Args:
        into: the folder it is put in.
        work: a folder for what it is built from.
    """
    stage(work)
    uv = str(Path(sys.executable).with_name("uv"))
    how = ("--wheel", "--offline", "--no-build-isolation", "--python", sys.executable)
    subprocess.run([uv, "build", "-q", *how, "--out-dir", str(into), str(work)], check=True)
    return into / f"posthaste_cli-{version()}-py3-none-any.whl"


if __name__ == "__main__":
    print(build(ROOT / "dist", ROOT / "build" / "posthaste-cli").relative_to(ROOT))  # noqa: T201 - what was made
