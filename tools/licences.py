"""`make licences`: the licence of each package that the functions ship, as its metadata say; 1 if one is not allowed.

`requirements/runtime.txt` locks the packages that ship. The licence is read from the installed package.
"""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Final

LOCKED: Final = Path(__file__).resolve().parents[1] / "requirements" / "runtime.txt"
ALLOWED: Final = frozenset(
    {"MIT", "MIT-0", "MPL-2.0", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "ISC", "PSF-2.0", "Unlicense"}
)
"""Licences (SPDX) that ask for no more than a notice; MPL-2.0 does of packages that are not changed. A new one is a
decision."""
TOLD: Final = {
    "jinja2": "BSD-3-Clause",
    "markdown-it-py": "MIT",
    "mdurl": "MIT",
    "python-dateutil": "Apache-2.0 OR BSD-3-Clause",
}
"""Licences of packages whose metadata name only a kind of licence, as read in their files."""
_PIN: Final = re.compile(r"^([A-Za-z0-9_.-]+)==", re.MULTILINE)
_JOINED: Final = re.compile(r" (?:AND|OR) ")


def shipped(lock: str) -> list[str]:
    """Return the packages that a lock file pins."""
    return _PIN.findall(lock)


def licence_of(package: str) -> str:
    """Return the licence of an installed package as an SPDX expression; empty if its metadata have none.

    Raises:
        PackageNotFoundError: it is not installed.
    """
    said = said_of(package)
    return TOLD.get(package) or (said if _names(said) <= ALLOWED else "")


def said_of(package: str) -> str:
    """Return the licence that an installed package's metadata have, in any form; empty: none.

    Raises:
        PackageNotFoundError: it is not installed.
    """
    found = metadata(package)
    return next(filter(None, (found[x] for x in ("License-Expression", "License") if x in found)), "")


def _names(expression: str) -> set[str]:
    return set(_JOINED.split(re.sub("[()]", "", expression)))


def refused(packages: Iterator[str] | list[str]) -> dict[str, str]:
    """Return the packages without an allowed licence, each with what its metadata say."""
    out = {}
    for package in packages:
        try:
            if not licence_of(package):
                out[package] = said_of(package) or "nothing"
        except PackageNotFoundError:
            out[package] = "not installed"
    return out


def main() -> int:
    """Print a line for each package."""
    packages = shipped(LOCKED.read_text("utf-8"))
    wrong = refused(packages)
    for package in packages:
        sys.stdout.write(f"{package:24}{wrong.get(package) or licence_of(package)}\n")
    for package, said in wrong.items():
        sys.stderr.write(f"{package}: {said}: not one of {', '.join(sorted(ALLOWED))}\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
