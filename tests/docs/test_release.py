"""One version for package, API and changelog, and the command that raises it."""

import json
from datetime import date

import pytest

from functions.api.openapi import FILE
from tools.release import ROOT, UNRELEASED, ReleaseError, newest_release, project_version, released, tag_fault

PROJECT = (ROOT / "pyproject.toml").read_text("utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")
TODAY = date(2026, 12, 1)
SMALL = f"# Changelog\n\n{UNRELEASED}\n### Added\n\n- A thing.\n\n## [1.0.0] - 2026-11-20\n\nThe first version.\n"


def test_package_api_and_changelog_have_one_version() -> None:
    version = project_version(PROJECT)
    assert json.loads(FILE.read_text("utf-8"))["info"]["version"] == version
    assert newest_release(CHANGELOG) == version


def test_a_release_dates_what_was_unreleased() -> None:
    project, changelog = released('[project]\nversion = "1.0.0"\n', SMALL, "1.1.0", TODAY)
    assert project == '[project]\nversion = "1.1.0"\n'
    assert changelog.startswith(f"# Changelog\n\n{UNRELEASED}\n## [1.1.0] - 2026-12-01\n\n### Added\n\n- A thing.\n")
    assert newest_release(changelog) == "1.1.0"


@pytest.mark.parametrize("version", ["", "1.0.0", "0.9.9", "1.1", "v1.1.0", "1.01.0", "1.1.0-rc1"])
def test_a_version_that_is_none_or_not_higher_is_refused(version: str) -> None:
    with pytest.raises(ReleaseError):
        released('version = "1.0.0"\n', SMALL, version, TODAY)


def test_nothing_is_released_if_nothing_has_changed() -> None:
    _, changelog = released('version = "1.0.0"\n', SMALL, "1.1.0", TODAY)
    with pytest.raises(ReleaseError, match="nothing under Unreleased"):
        released('version = "1.1.0"\n', changelog, "1.2.0", TODAY)


def test_a_tag_names_the_version() -> None:
    project = 'version = "1.0.0"\n'
    assert tag_fault(project, SMALL, "v1.0.0") == ""
    assert "pyproject.toml" in tag_fault(project, SMALL, "1.0.0")
    assert "CHANGELOG.md" in tag_fault('version = "1.1.0"\n', SMALL, "v1.1.0")
