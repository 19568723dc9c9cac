"""A folder from somebody else brings a `.local/env` whose addresses get a live key or a provider's secret."""

from pathlib import Path

import pytest

from cli.deployment import deployment
from cli.environment import Destination, api_target, local_cloud
from cli.errors import Misused
from infra.local.paths import EXPORT

ELSEWHERE = (
    "https://evil.example",
    "http://evil.example:80",
    "http://127.0.0.1@evil.example",
    "http://127.0.0.1\\@evil.example",
    "http://127.0.0.1.evil.example",
    "http://[::ffff:8.8.8.8]",
    "http://10.0.0.1",
    "http://169.254.169.254",
    "//evil.example",
    "evil.example",
    "",
    "http://[",
)


def folder(place: Path, **values: str) -> Path:
    (place / ".local").mkdir()
    (place / ".local" / "env").write_text("".join(f"{EXPORT}{k}={v}\n" for k, v in values.items()))
    inside = place / "src"
    inside.mkdir()
    return inside


@pytest.mark.promise(9)
@pytest.mark.parametrize("url", ELSEWHERE)
@pytest.mark.parametrize("name", ["POSTHASTE_URL", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SECRETSMANAGER"])
def test_an_address_that_is_not_this_machines_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, url: str
) -> None:
    inside = folder(tmp_path, POSTHASTE_API_KEY="ph_live_x", **{name: url})
    for environ in ({}, {"POSTHASTE_API_KEY": "ph_live_mine"}, {"POSTHASTE_LOCAL": str(tmp_path / ".local")}):
        with pytest.raises(Misused, match="not on this machine"):
            api_target(environ, inside)
    monkeypatch.chdir(inside)
    for left in ("AWS_ENDPOINT_URL", "POSTHASTE_LOCAL"):
        monkeypatch.delenv(left, raising=False)
    with pytest.raises(Misused, match="not on this machine"):
        deployment("dev", aws=False)
    both = {"POSTHASTE_URL": "https://api.example.com", "POSTHASTE_API_KEY": "ph_live_mine"}
    assert api_target(both, inside) == Destination("https://api.example.com", "ph_live_mine"), "the file is not asked"


@pytest.mark.promise(9)
def test_a_key_of_the_environment_goes_to_no_address_of_a_file(tmp_path: Path) -> None:
    inside = folder(tmp_path, POSTHASTE_URL="http://127.0.0.1:9", POSTHASTE_API_KEY="ph_live_local")
    with pytest.raises(Misused, match="set both, or neither"):
        api_target({"POSTHASTE_API_KEY": "ph_live_mine"}, inside)
    with pytest.raises(Misused, match="no API key"):
        api_target({"POSTHASTE_URL": "http://127.0.0.1:10"}, inside)
    assert api_target({}, inside) == Destination("http://127.0.0.1:9", "ph_live_local")
    assert local_cloud({}, inside) is not None
