"""`python -m tools.release VERSION | --tag v1.2.3`: make a version that of the package, the API and the changelog.

It changes pyproject.toml, CHANGELOG.md and the OpenAPI document, and prints the commands that commit and tag them.
With `--tag` it only checks that a tag names the version.
"""

import re
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from functions.api import openapi

ROOT: Final = Path(__file__).parents[1]
UNRELEASED: Final = "## [Unreleased]\n"
_VERSION: Final = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
_OF_PROJECT: Final = re.compile(r'^version = "([^"]+)"$', re.MULTILINE)
_RELEASE: Final = re.compile(r"^## \[(\d[^\]]*)\] - \d{4}-\d\d-\d\d$", re.MULTILINE)


class ReleaseError(Exception):
    """The version cannot be made; the text says why."""


def project_version(project: str) -> str:
    """Return the version in the text of pyproject.toml."""
    found = _OF_PROJECT.search(project)
    if found is None:
        raise ReleaseError("pyproject.toml has no version")
    return found[1]


def newest_release(changelog: str) -> str:
    """Return the version of the first release in the text of CHANGELOG.md; empty: there is none."""
    found = _RELEASE.search(changelog)
    return found[1] if found else ""


def released(project: str, changelog: str, version: str, today: date) -> tuple[str, str]:
    """Return the texts of pyproject.toml and CHANGELOG.md with a version.

    Args:
        today: the day of the release.

    Raises:
        ReleaseError: it is no version, not above the present one, or nothing has changed since.
    """
    if not _VERSION.fullmatch(version):
        raise ReleaseError(f"{version or 'nothing'} is no version; write make release VERSION=1.2.3")
    present = project_version(project)
    if _numbers(version) <= _numbers(present):
        raise ReleaseError(f"{version} is not above {present}")
    _, heading, after = changelog.partition(UNRELEASED)
    notes = after.partition("\n## [")[0]
    if not heading or not notes.strip():
        raise ReleaseError("CHANGELOG.md has nothing under Unreleased")
    dated = f"{UNRELEASED}\n## [{version}] - {today.isoformat()}\n"
    return _OF_PROJECT.sub(f'version = "{version}"', project, count=1), changelog.replace(UNRELEASED, dated, 1)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def tag_fault(project: str, changelog: str, tag: str) -> str:
    """Return what is wrong with a tag; empty: it names the version of the package and of the newest release."""
    for name, version in (("pyproject.toml", project_version(project)), ("CHANGELOG.md", newest_release(changelog))):
        if tag != f"v{version}":
            return f"the tag {tag} is not the version {version} of {name}"
    return ""


def main(arguments: Sequence[str]) -> int:
    """Make the version, or check a tag; return the exit code."""
    version = arguments[0] if arguments else ""
    project, changelog = ROOT / "pyproject.toml", ROOT / "CHANGELOG.md"
    if version == "--tag":
        fault = tag_fault(project.read_text("utf-8"), changelog.read_text("utf-8"), *arguments[1:])
        sys.stderr.write(fault and f"error: {fault}\n")
        return int(bool(fault))
    try:
        texts = released(project.read_text("utf-8"), changelog.read_text("utf-8"), version, datetime.now(UTC).date())
    except ReleaseError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    project.write_text(texts[0], "utf-8")
    changelog.write_text(texts[1], "utf-8")
    openapi.FILE.write_text(openapi.text(), "utf-8")
    sys.stdout.write(
        f"Version {version} is in pyproject.toml, CHANGELOG.md and openapi.json. Look at the changes, then run:\n"
        f"  git commit -am 'Release {version}'\n"
        f"  git tag -a v{version} -m 'Posthaste {version}'\n"
        "  git push --follow-tags\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
