import subprocess
import sys
from pathlib import Path

import pytest

from shared.adapters.clock import SystemClock
from shared.adapters.http.transport import HttpClient
from shared.providers import registry
from shared.providers.needs import names, needs_of, package_of
from shared.providers.registry import Needs
from tests.providers.contract import SIMULATED

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


@pytest.mark.parametrize("name", SIMULATED)
def test_a_provider_is_found_by_its_name(name: str) -> None:
    clock = SystemClock()
    made = registry.provider(name)(Needs(HttpClient(clock), clock, {"api_key": "k"}))
    assert made.name == name
    for part in (made, registry.webhooks(name)):
        assert type(part).__module__.startswith(f"{package_of(name)}.")


@pytest.mark.parametrize("name", [name for name in names() if not needs_of(name).built_in])
def test_the_page_of_settings_names_it(name: str) -> None:
    (row,) = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `provider` |")]
    assert f"`{name}`" in row


@pytest.mark.parametrize(
    "name",
    [
        "",
        "nothing",
        "resend_events",
        "mailgun_lookup",
        "twilio_events",
        "Sendgrid",
        "../x",
        "registry",
        "_common",
        "sendgrid.x",
        "os",
        "sendgrid_",
        "é",
    ],
)
def test_an_unknown_name(name: str) -> None:
    with pytest.raises(KeyError):
        registry.provider(name)
    with pytest.raises(KeyError):
        registry.webhooks(name)


def test_the_test_provider_has_no_webhooks() -> None:
    with pytest.raises(KeyError):
        registry.webhooks("test")


def test_the_test_provider_needs_the_feedback_queue() -> None:
    clock = SystemClock()
    with pytest.raises(ValueError, match="feedback"):
        registry.provider("test")(Needs(HttpClient(clock), clock, {}))


@pytest.mark.slow
def test_only_what_is_asked_for_is_loaded() -> None:
    code = (
        "import sys; from shared.providers import registry; registry.provider('test');"
        "print(sorted(m for m in sys.modules if m.startswith('shared.providers.') or m == 'cryptography'))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    wanted = ("needs", "registry", "test", "test.needs", "test.send")
    assert found.strip() == str([f"shared.providers.{name}" for name in wanted])
