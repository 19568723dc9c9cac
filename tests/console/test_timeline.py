"""The timeline of a message, and its links to the simulator's inbox where there is one."""

import re
from dataclasses import replace

import pytest

from shared.domain.jobs.outcomes import Rejected
from tests.console.console import Console
from tests.fakes.provider import TIMEOUT

INBOX = "http://127.0.0.1:9"


@pytest.mark.slow
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


@pytest.mark.slow
def test_an_attempt_of_unknown_fate_may_be_in_the_inbox(console: Console) -> None:
    console.services = replace(console.services, console=replace(console.services.console, inbox=INBOX))
    for provider in console.api.world.providers.values():
        provider.script("ann@example.org", [TIMEOUT])
    job = console.api.logged(("ann@example.org",))
    console.member()
    assert f"{INBOX}/?ref={job}-0-0-1" in console.shown(f"/jobs/{job}/messages/0.0")


@pytest.mark.slow
def test_without_a_simulator_there_is_no_link(console: Console) -> None:
    job = console.api.logged(("ann@example.org",))
    console.member()
    assert "inbox" not in console.shown(f"/jobs/{job}/messages/0.0")


@pytest.mark.slow
def test_a_provider_s_words_come_after_the_attempt_that_they_are_about(console: Console) -> None:
    """Words have whole seconds, so theirs is before the answer's moment; and the provider's clock may be late."""
    world = console.api.world
    job = console.api.logged(("ann@example.org",))
    line = console.services.logs.line(world.job(job), 0, 0)
    assert line is not None
    (attempt,) = line.attempts
    early = attempt.at_ms // 1000 - 2
    world.track(attempt.credential_id, *(world.word(job, 0, word, at=early) for word in ("accepted", "delivered")))
    world.settle()
    console.member()
    page = console.shown(f"/jobs/{job}/messages/0.0")
    assert re.findall(r"<p><b>([^<]+)</b>", page) == ["taken by Posthaste", "accepted", "confirmed", "delivered"]


@pytest.mark.slow
def test_an_attempt_names_its_provider_and_what_the_provider_wrote_later(console: Console) -> None:
    world = console.api.world
    job = console.api.logged(("ann@example.org",))
    line = console.services.logs.line(world.job(job), 0, 0)
    assert line is not None
    (attempt,) = line.attempts
    provider = console.services.settings.credential(attempt.credential_id).provider
    wrote = "mailbox <script>alert(1)</script> is full"
    world.track(attempt.credential_id, world.word(job, 0, "bounced", code="5.2.2", detail=wrote))
    world.settle()
    console.member()
    page = console.shown(f"/jobs/{job}/messages/0.0")
    by = re.findall(r"<b>(\w+)</b> by (\w+) \((\w+)\), attempt 1", page)
    assert by == [("accepted", attempt.credential_id, provider), ("bounced", attempt.credential_id, provider)]
    assert "the mailbox is full (5.2.2)" in page
    assert "<p>mailbox &lt;script&gt;alert(1)&lt;/script&gt; is full</p>" in page
    assert page.count("Provider&#39;s id" if "Provider&#39;s" in page else "Provider's id") == 1


@pytest.mark.slow
def test_lists_of_messages_name_the_credentials_that_tried_them(console: Console) -> None:
    world = console.api.world
    world.providers["one"].script("moved@example.org", [Rejected("busy", permanent=False)])
    world.providers["two"].script("moved@example.org", [Rejected("busy", permanent=False)])
    job = console.api.logged(("moved@example.org",))
    line = console.services.logs.line(world.job(job), 0, 0)
    assert line is not None
    tried = dict.fromkeys(attempt.credential_id for attempt in line.attempts)
    assert len(tried) > 1
    console.member()
    for path in (f"/jobs/{job}/messages", "/messages?recipient=moved@example.org"):
        assert f"<td>{' → '.join(tried)}</td>" in console.shown(path)
