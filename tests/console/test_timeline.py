"""The timeline of a message, and its links to the simulator's inbox where there is one."""

from dataclasses import replace

from shared.domain.jobs.outcomes import Rejected
from tests.console.conftest import Console
from tests.fakes.provider import TIMEOUT

INBOX = "http://127.0.0.1:9"


def test_an_attempt_that_a_provider_took_leads_to_its_message_in_the_inbox(console: Console) -> None:
    """Only what may have arrived is in the inbox: a refused attempt has no link."""
    console.services = replace(console.services, console=replace(console.services.console, inbox=INBOX))
    world = console.api.world
    for name in ("one", "two"):
        world.providers[name].script("ann@example.org", [Rejected("busy", permanent=False)])
    job = console.api.logged(("ann@example.org",))
    console.member()
    page = console.shown(f"/jobs/{job}/messages/0.0")
    taken = world.oracle.refs()
    assert [f"{INBOX}/?ref={ref}" in page for ref in taken] == [True]
    assert page.count(INBOX) == 1
    assert page.count("<b>not sent</b>") == int(taken[0].rpartition("-")[2]) - 1 > 0


def test_an_attempt_of_unknown_fate_may_be_in_the_inbox(console: Console) -> None:
    console.services = replace(console.services, console=replace(console.services.console, inbox=INBOX))
    for provider in console.api.world.providers.values():
        provider.script("ann@example.org", [TIMEOUT])
    job = console.api.logged(("ann@example.org",))
    console.member()
    assert f"{INBOX}/?ref={job}-0-0-1" in console.shown(f"/jobs/{job}/messages/0.0")


def test_without_a_simulator_there_is_no_link(console: Console) -> None:
    job = console.api.logged(("ann@example.org",))
    console.member()
    assert "inbox" not in console.shown(f"/jobs/{job}/messages/0.0")
