"""A closed window becomes one job, with a message for each recipient."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from shared.contracts import TEST_CREDENTIAL
from shared.domain.digests.events import event_id
from shared.domain.digests.window import WindowState
from shared.domain.hours.hours import OpenHours
from shared.domain.hours.openings import window_of
from shared.domain.jobs.job import DIGEST
from shared.domain.jobs.states import Cell, JobState, MessageState
from shared.domain.recipients.suppressions import DigestsOf, Reach
from shared.engine.digests.make import DigestFault
from shared.engine.reports.message_log import Filter
from tests.engine.digests.hub import ACCOUNT, KEY, DigestHub, event
from tests.fakes.crashes import dying
from tests.fakes.faults import When
from tests.fakes.world import credential

HOUR = 3_600


def test_three_events_for_three_people_are_two_mails() -> None:
    hub = DigestHub()
    name = hub.add(event("a", "ann", "bob"), event("b", "ann", "bob"), event("c", "cid"))
    hub.close()
    hub.send()
    assert hub.mails() == {"ann": [("a", "b")], "bob": [("a", "b")], "cid": [("c",)]}
    assert hub.said() == [(2, ["a", "b"]), (1, ["c"])], "a group goes in one call"
    window = hub.window(name)
    job = hub.world.job(window.job)
    assert (window.state, window.groups, window.duplicates) == (WindowState.PROCESSED, 2, 0)
    assert (job.kind, job.name, job.total, job.channel) == (DIGEST, KEY, 3, "email")
    assert window.due_at == window.processed_at + hub.policy.retention * 1000


def test_a_digest_waits_for_the_hours_of_its_policy_and_that_of_an_urgent_event_does_not() -> None:
    now = datetime.fromtimestamp(DigestHub().clock.now(), UTC)
    later = OpenHours(window_of(f"{now + timedelta(hours=2):%H:%M}", f"{now + timedelta(hours=3):%H:%M}"), "UTC")
    hub = DigestHub(hours=later)
    name = hub.add(event("a", "ann"))
    hub.urgent(event("b", "bob"))
    hub.close()
    hub.send()
    assert hub.mails() == {"bob": [("b",)]}
    job = hub.world.job(hub.window(name).job)
    assert (job.state, job.closed, hub.window(name).state) == (JobState.READY, True, WindowState.PROCESSED)
    assert hub.world.lanes["one"].waiting == []
    hub.clock.advance((job.not_before - hub.clock.ms) / 1000)
    hub.send()
    assert hub.mails() == {"ann": [("a",)], "bob": [("b",)]}


def test_recipients_are_compared_as_mailboxes() -> None:
    hub = DigestHub()
    hub.add(event("a", "Ann@Example.com"), event("b", "ann@example.COM", "Bob <bob@example.com>"))
    hub.close()
    hub.send()
    assert hub.mails() == {"Ann": [("a", "b")], "bob": [("b",)]}


def test_who_is_not_sent_to_is_a_skipped_message() -> None:
    hub = DigestHub()
    now = hub.clock.ms
    for who, reach in (("sue", Reach.ALL), ("uma", DigestsOf("acme/"))):
        hub.records.suppress(ACCOUNT, f"{who}@example.com", "manual", now, reach=reach)
    hub.records.suppress(ACCOUNT, "lists@example.com", "one_click", now, reach=Reach.CAMPAIGNS)
    hub.records.suppress(ACCOUNT, "other@example.com", "one_click", now, reach=DigestsOf("other/"))
    name = hub.add(event("a", "ann", "sue", "uma", "lists", "other", "no address@", "ann@example.com"))
    hub.close()
    hub.send()
    assert hub.mails() == {who: [("a",)] for who in ("ann", "lists", "other")}
    chunk = hub.records.chunk(hub.window(name).job, 0)
    assert chunk is not None
    assert {x.address: x.skip for x in chunk.recipients if x.skip} == {
        "sue@example.com": "suppressed",
        "uma@example.com": "unsubscribed",
        "no address@": "invalid_address",
    }
    assert hub.world.counts(hub.window(name).job)["skipped"] == 3


@pytest.mark.promise(3)
def test_a_window_whose_recipients_are_all_skipped_has_a_job_that_says_so() -> None:
    hub = DigestHub()
    hub.records.suppress(ACCOUNT, "sue@example.com", "manual", hub.clock.ms)
    name = hub.add(event("a", "sue", "none at all"))
    hub.close()
    window = hub.window(name)
    assert (window.state, window.groups) == (WindowState.PROCESSED, 1)
    hub.clock.advance(60)
    hub.world.sweep()
    job = hub.world.job(window.job)
    assert (job.state, job.counts["skipped"]) == (JobState.LOGGED, 2)
    lines, _ = hub.world.logs.lines(job, Filter())
    assert {x.recipient: (x.state, x.error) for x in lines} == {
        "sue@example.com": (MessageState.SKIPPED, "suppressed"),
        "none at all@example.com": (MessageState.SKIPPED, "invalid_address"),
    }
    assert hub.mails() == {}


def test_a_window_of_repeats_only_has_no_job() -> None:
    hub = DigestHub()
    hub.add(event("a", "ann", id="A" * 22))
    hub.close()
    name = hub.add(event("a", "ann", id="A" * 22))
    hub.close()
    window = hub.window(name)
    assert (window.state, window.job, window.groups, window.duplicates) == (WindowState.PROCESSED, "", 0, 1)
    hub.send()
    assert hub.mails() == {"ann": [("a",)]}


def test_a_large_window_is_sent_in_full_calls() -> None:
    hub = DigestHub()
    people = [f"p{n:04}" for n in range(1_200)]
    hub.add(event("all", *people), event("some", *people[::3]))
    hub.close()
    hub.send()
    assert hub.mails() == {who: [("all", "some") if n % 3 == 0 else ("all",)] for n, who in enumerate(people)}
    calls = hub.said()
    assert sum(n for n, _ in calls) == 1_200
    assert len(calls) <= 30, "50 people in a call, and few calls of fewer"


def test_with_links_to_unsubscribe_each_recipient_has_a_call_of_their_own() -> None:
    hub = DigestHub(unsubscribe=True)
    hub.policies.put(replace(hub.policy, template="{{ events }} <a href='{{ unsubscribe_url }}'>no more</a>"))
    hub.add(event("a", "ann", "bob"))
    hub.close()
    hub.send()
    assert hub.said() == [(1, ["a"]), (1, ["a"])]
    mails = hub.world.providers["one"].said
    links = [dict(x.headers)["List-Unsubscribe"].strip("<>") for x in mails]
    assert len(set(links)) == 2
    assert all(link in x.html for link, x in zip(links, mails, strict=True))


# Repeats


def test_an_event_that_comes_again_is_in_the_mail_once() -> None:
    hub = DigestHub()
    hub.add(event("a", "ann", id="A" * 22), event("n", "ann"))
    name = hub.add(event("a", "ann", id="A" * 22), event("n", "ann"))
    hub.close()
    hub.send()
    assert hub.mails() == {"ann": [("a", "n", "n")]}, "without an id it is another event"
    assert hub.window(name).duplicates == 1


@pytest.mark.parametrize("cancelled", [False, True])
def test_an_event_of_an_earlier_window_is_left_out_for_an_hour(cancelled: bool) -> None:  # noqa: FBT001 - of the test
    hub = DigestHub()
    first = hub.add(event("a", "ann", id="A" * 22))
    if cancelled:
        hub.windows.cancel(first, hub.clock.ms)
    hub.close()
    hub.clock.advance(HOUR - 310)
    again = hub.add(event("a", "ann", id="A" * 22), event("b", "ann", id="B" * 22))
    hub.close()
    hub.clock.advance(HOUR + 10)
    later = hub.add(event("a", "ann", id="A" * 22))
    hub.close()
    hub.send()
    assert hub.mails() == {"ann": [*([] if cancelled else [("a",)]), ("b",), ("a",)]}
    assert [hub.window(x).duplicates for x in (again, later)] == [1, 0]


def test_ids_of_an_earlier_window_are_read_from_its_events_if_it_kept_none() -> None:
    hub = DigestHub()
    hub.add(event("a", "ann", id="A" * 22))
    hub.close()
    hub.windows.ids_kept.clear()
    hub.add(event("a", "ann", id="A" * 22))
    hub.close()
    hub.send()
    assert hub.mails() == {"ann": [("a",)]}


def test_other_keys_have_ids_of_their_own() -> None:
    hub = DigestHub()
    hub.add(event("a", "ann", id="A" * 22))
    hub.add(event("a", "ann", id="A" * 22), key="acme/development")
    hub.close()
    hub.send()
    assert hub.mails() == {"ann": [("a",), ("a",)]}


@pytest.mark.slow
def test_a_look_back_reads_few_windows_and_no_more_than_a_hundred() -> None:
    hub = DigestHub(window=1)
    for n in range(130):
        hub.add(event(str(n), "ann", id=event_id(str(n), "", 0)))
        hub.close()
    before = len(hub.tap.calls)
    old, late = (event(n, "ann", id=event_id(n, "", 0)) for n in ("0", "60"))
    hub.add(old, late, event("new", "ann"))
    hub.close()
    calls = hub.tap.calls[before:]
    assert calls.count("windows.numbered") == 10
    assert calls.count("windows.ids") == 1
    hub.send()
    assert hub.mails()["ann"][-1] == ("0", "new"), "the hundred windows before hold 60, not 0"


# What cannot be made


def test_a_window_whose_policy_was_deleted_is_made_by_the_version_that_it_has() -> None:
    hub = DigestHub()
    hub.add(event("a", "ann"))
    old = hub.policy
    hub.policies.put(replace(old, version=2, deleted=True))
    hub.close()
    hub.send()
    assert hub.mails() == {"ann": [("a",)]}


@pytest.mark.parametrize("fault", ["policy_not_found", "events_gone", "from_not_allowed", "no_route"])
def test_what_cannot_be_made_keeps_its_events_and_is_made_once_it_can(fault: str) -> None:
    hub = DigestHub()
    name = hub.add(event("a", "ann"))
    hub.clock.advance(300)
    window = hub.windows.close(name, hub.clock.ms)
    assert window is not None
    policies, parts = dict(hub.policies.versions), dict(hub.windows.stored)
    if fault == "policy_not_found":
        hub.policies.versions.clear()
    elif fault == "events_gone":
        hub.windows.stored.clear()
    elif fault == "from_not_allowed":
        hub.world.standings.removed.add("digest@example.com")
    else:
        hub.policies.put(replace(hub.policy, route=("gone",)))
    with pytest.raises(DigestFault, match=fault):
        hub.maker.make(window)
    assert hub.window(name).state is WindowState.CLOSED
    hub.policies.versions, hub.windows.stored = policies, parts
    hub.world.standings.removed.clear()
    hub.maker.make(window)
    hub.send()
    assert hub.mails() == {"ann": [("a",)]}


def test_a_credential_that_has_gone_is_left_out_of_the_route() -> None:
    hub = DigestHub(credential("one", 2_500), credential("two"), route=("gone", "two"))
    hub.add(event("a", "ann"))
    hub.close()
    hub.send()
    assert [x.provider for x in hub.world.oracle.taken] == ["two"]


def test_events_of_test_keys_go_by_the_built_in_credential() -> None:
    hub = DigestHub()
    hub.policies.put(replace(hub.policy, namespace=f"{ACCOUNT}#TEST"))
    hub.world.standings.removed.add("digest@example.com")
    name = hub.add(event("a", "ann"), test=True)
    hub.close()
    job = hub.world.job(hub.window(name).job)
    assert (job.test, job.route) == (True, (TEST_CREDENTIAL,))


# Two makers, and one that dies


def test_of_two_makers_one_job_is_accepted() -> None:
    hub = DigestHub()
    name = hub.add(event("a", "ann"))
    hub.clock.advance(300)
    window = hub.windows.close(name, hub.clock.ms)
    assert window is not None
    hub.maker.make(window)
    hub.maker.make(window)
    assert list(hub.records.jobs) == [hub.window(name).job]  # type: ignore[attr-defined]
    hub.send()
    assert hub.mails() == {"ann": [("a",)]}


@pytest.mark.slow
@pytest.mark.parametrize("when", list(When))
def test_a_maker_that_dies_anywhere_leaves_one_mail_for_each(when: When) -> None:
    def make() -> DigestHub:
        hub = DigestHub()
        hub.add(event("a", "ann", "bob", id="A" * 22))
        hub.close()
        hub.add(event("a", "ann", "bob", id="A" * 22), event("b", "ann", id="B" * 22))
        return hub

    for hub in dying(make, DigestHub.close, when, least=13):
        for _ in range(5):
            hub.clock.advance(60)
            hub.minute()
        hub.world.sweep()
        hub.send()
        hub.clock.advance(600)
        hub.world.sweep()
        hub.send()
        assert hub.mails() == {"ann": [("a",), ("b",)], "bob": [("a",)]}, when
        assert all(s == Cell.SENT for j in hub.world.jobs for s in hub.world.states(j))
