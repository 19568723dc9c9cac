"""What ships has licences that ask for no more than a notice, and the list of parts names all of it."""

from importlib.metadata import PackageNotFoundError, metadata
from typing import Any

import pytest

from tools import licences


def test_each_package_that_ships_has_an_allowed_licence() -> None:
    packages = licences.shipped(licences.LOCKED.read_text("utf-8"))
    assert {"botocore", "pydantic", "cryptography"} <= set(packages)
    assert licences.refused(packages) == {}


@pytest.mark.parametrize(
    ("expression", "licence", "allowed"),
    [
        ("MIT", None, True),
        ("Apache-2.0 OR BSD-3-Clause", None, True),
        (None, "MIT", True),
        ("GPL-3.0-only", None, False),
        ("MIT AND GPL-3.0-only", None, False),
        (None, "Dual License", False),
        (None, None, False),
    ],
)
def test_a_licence_that_nobody_has_allowed_is_refused(
    monkeypatch: pytest.MonkeyPatch,
    expression: str | None,
    licence: str | None,
    allowed: bool,  # noqa: FBT001 - a table
) -> None:
    said: Any = {"License-Expression": expression, "License": licence}
    monkeypatch.setattr(licences, "metadata", lambda _package: said)
    assert licences.refused(["some"]) == ({} if allowed else {"some": expression or licence or "nothing"})


def test_a_package_that_is_not_installed_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert licences.refused(["no-such-package-here"]) == {"no-such-package-here": "not installed"}
    with pytest.raises(PackageNotFoundError):
        metadata("no-such-package-here")
    assert licences.main() == 0
    assert "botocore" in capsys.readouterr().out


def test_what_is_told_by_hand_is_still_needed() -> None:
    for package in licences.TOLD:
        assert licences.said_of(package) not in licences.ALLOWED
