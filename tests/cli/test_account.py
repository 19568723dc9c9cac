"""Batches found again, one message's timeline, suppressions, schedules, daily figures."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli import honest
from tests.cli.fakes import Answer, FakeApi, Run, problem
from tests.cli.scripts import AT, JOB, job, job_view


@pytest.fixture(autouse=True)
def real(api: FakeApi) -> Iterator[None]:
    yield
    honest.check(api)


def page(*items: Any) -> Answer:
    return Answer({"items": list(items), "next_cursor": None})


def test_batches_are_found_again_with_their_figures(run: Run, api: FakeApi) -> None:
    one = job_view("LOGGED", delivered=1_000, queued=500) | {"batch_id": JOB, "name": "Invoices"}
    api.answers(page(one, job_view("SENDING", sending=3) | {"batch_id": "b" * 26, "subject": "Hello"}))
    first, second = run("batch", "list").out.splitlines()[1:]
    assert first.split() == [JOB, "stopped", "(500", "left)", "1,500", "1,000", "0", AT, "Invoices"]
    assert second.split()[1:3] == ["sending", "3"]
    assert second.endswith("Hello")
    assert run("batch", "list", "--json").lines[0] == one


def test_a_batch_shows_what_it_is_and_how_far(run: Run, api: FakeApi) -> None:
    tally = {"credential_id": "ses-1", "provider": "ses", "tried": 9, "accepted": 9, "delivered": 8, "failed": 1}
    known = job_view("LOGGED", delivered=8, failed=1, queued=3)
    api.answers(Answer(known | {"name": "Invoices", "route": [tally], "stop_reason": "operator", "duplicates": 2}))
    out = run("batch", "show", JOB).out
    for said in (
        f"batch {JOB} is stopped (3 left)\n",
        "  name         Invoices\n",
        "  messages     12: 3 queued, 8 delivered, 1 failed\n",
        "  duplicates   2 recipients left out\n",
        "  stopped      by an operator\n",
        "ses-1          ses       9      9         8          1\n",
        f"to send the rest:  posthaste batch resume {JOB}\n",
    ):
        assert said in out
    api.answers(job("LOGGED", delivered=1))
    assert "is done" in run("batch", "show", JOB).out
    assert run("batch", "show", JOB, "--json").json == job("LOGGED", delivered=1).body


def test_the_limits_of_the_day_are_a_table(run: Run, api: FakeApi) -> None:
    row = {"quota": "price", "of": "key", "limit": 20.5, "used": 1.25, "left": 19.25}
    api.answers(Answer({"date": "2026-11-20", "resets_at": "2026-11-21T00:00:00.000Z", "items": [row]}))
    shown = run("quota").out
    assert shown.splitlines()[1].split() == ["price", "key", "20.5", "1.25", "19.25"]
    assert "the next day begins at 2026-11-21" in shown
    api.answers(Answer({"date": "2026-11-20", "resets_at": "2026-11-21T00:00:00.000Z", "items": []}))
    assert "no limits of a day" in run("quota").err


def line(state: str, *attempts: dict[str, Any], **more: Any) -> Answer:
    known = {"message": "0.3", "recipient": "ada@example.com", "state": state, "status": "queued", "providers": {}}
    fixed = {"updated_at": AT, "error": None, "may_duplicate": False, "unacknowledged": False}
    fixed |= dict.fromkeys(("sent_at", "delivered_at", "error_detail", "error_meaning", "reference", "row"))
    labels: dict[str, Any] = {"tags": [], "metadata": {}}
    return Answer(known | fixed | labels | {"attempts": list(attempts)} | more)


def attempt(n: int, at: str, outcome: str, *feedback: dict[str, Any], **more: Any) -> dict[str, Any]:
    known = {"n": n, "credential_id": f"mail-{n}", "at": at, "outcome": outcome, "code": None, "meaning": None}
    return known | {"detail": None, "provider_message_id": None, "feedback": list(feedback)} | more


def test_a_message_is_a_timeline_in_words(run: Run, api: FakeApi) -> None:
    bounced = {"word": "bounced", "at": "2026-11-20T09:00:05.000Z", "code": "5.1.1", "detail": None, "meaning": None}
    second = attempt(2, "2026-11-20T09:00:02.120Z", "accepted", bounced, provider_message_id="m-7")
    first = attempt(1, "2026-11-20T09:00:01.000Z", "unknown")
    api.answers(
        line(
            "failed",
            second,
            first,
            error="5.1.1",
            error_detail="550 No such user",
            reference="order-4711",
            tags=["a", "b"],
            metadata={"shop": "7"},
            may_duplicate=True,
            unacknowledged=True,
        )
    )
    assert run("message", f"{JOB}/0.3").out == (
        f"message {JOB}/0.3 to ada@example.com is failed\n"
        "reference: order-4711\n"
        "tags: a, b\n"
        "metadata: shop=7\n"
        "  2026-11-20 09:00:01 UTC  attempt 1: mail-1 gave no answer: it may or may not have the message\n"
        "  2026-11-20 09:00:02 UTC  attempt 2: mail-2 accepted it (its id: m-7)\n"
        "  2026-11-20 09:00:05 UTC  mail-2 reports a permanent bounce: the mailbox does not exist (5.1.1)\n"
        "why: the mailbox does not exist (5.1.1)\n"
        "the provider wrote: 550 No such user\n"
        "it may have arrived twice: it was sent again after an attempt with an unknown outcome\n"
        "the provider's report is overdue\n"
    )
    assert api.asked[0].path == f"/jobs/{JOB}/logs/0.3"


def test_a_word_about_an_attempt_follows_it_also_if_it_was_there_before_the_call_had_ended(
    run: Run, api: FakeApi
) -> None:
    words = [
        {"word": w, "at": f"2026-11-20T09:00:01.{ms}Z", "code": None, "detail": None, "meaning": None}
        for w, ms in (("accepted", 1), ("delivered", 2))
    ]
    api.answers(line("delivered", attempt(1, "2026-11-20T09:00:01.900Z", "unknown", *words)))
    assert [x.partition("UTC  ")[2] for x in run("message", f"{JOB}/0.3").out.splitlines()[1:]] == [
        "attempt 1: mail-1 gave no answer: it may or may not have the message",
        "mail-1 accepted it",
        "mail-1 delivered it",
    ]


def test_a_message_that_no_provider_has_had(run: Run, api: FakeApi) -> None:
    api.answers(line("queued"))
    assert "no provider has had it yet" in run("message", f"{JOB}/0.3").out
    api.answers(line("skipped", error="unsubscribed"))
    out = run("message", f"{JOB}/0.3").out
    assert "no provider has had it\nwhy: the recipient has unsubscribed (unsubscribed)\n" in out
    api.answers(line("skipped", error="suppressed", suppression=entry()))
    said = f"the address is on the list all since {AT}: a message to it bounced, of job {JOB}\n"
    assert run("message", f"{JOB}/0.3").out.endswith(said)
    assert run("message", f"{JOB}/0.3", "--json").json["state"] == "skipped"


@pytest.mark.parametrize("name", [JOB, f"{JOB}/", "/0.3"])
def test_a_messages_id_names_its_job(run: Run, api: FakeApi, name: str) -> None:
    done = run("message", name)
    assert done.code == 2
    assert "JOB/MESSAGE" in done.err
    assert api.asked == []


def entry(scope: str = "all", **more: Any) -> dict[str, Any]:
    known = {
        "address": "ann@example.org",
        "scope": scope,
        "reason": "bounced",
        "cause": "bounced",
        "job_id": JOB,
        "policy": None,
    }
    return known | {"created_at": AT} | more


def test_suppressions_are_listed_shown_added_and_removed(run: Run, api: FakeApi) -> None:
    api.answers(page(entry()))
    assert run("suppression", "list", "--scope", "campaigns").out.splitlines()[1].startswith("ann@example.org")
    api.answers(Answer(entry()))
    assert run("suppression", "show", "ann@example.org").out == (
        f"ann@example.org: nothing is sent to it since {AT}: a message to it bounced, of job {JOB}\n"
    )
    api.answers(Answer(entry(reason="asked by phone", cause="manual", job_id=None)))
    assert run("suppression", "show", "ann@example.org").out.endswith(f"{AT}: added by hand (asked by phone)\n")
    api.answers(Answer(entry("sms", job_id=None)))
    done = run("suppression", "add", "+14155550100", "--scope", "sms", "--reason", "asked by phone")
    assert done.out == "ann@example.org is suppressed: nothing is sent to it by sms\n"
    api.answers(Answer({"address": "ann@example.org", "removed": True}))
    words = ("ann@example.org", "--scope", "digests", "--policy", "acme/")
    assert run("suppression", "remove", *words).out == "ann@example.org may be sent to again\n"
    api.answers(Answer({"address": "ann@example.org", "removed": False}))
    assert "was not suppressed" in run("suppression", "remove", "ann@example.org").out
    assert [(a.method, a.path) for a in api.asked] == [
        ("GET", "/suppressions?scope=campaigns&limit=1000"),
        *[("GET", "/suppressions/ann%40example.org?scope=all")] * 2,
        ("PUT", "/suppressions/%2B14155550100?scope=sms"),
        ("DELETE", "/suppressions/ann%40example.org?scope=digests&policy=acme%2F"),
        ("DELETE", "/suppressions/ann%40example.org?scope=all"),
    ]
    assert api.asked[3].json == {"reason": "asked by phone"}
    assert run("suppression", "list", "--scope", "everything").code == 2


def test_guests_are_added_listed_and_removed(run: Run, api: FakeApi) -> None:
    api.answers(Answer({"address": "ann@example.org", "created_at": AT}))
    assert run("guest", "add", "ann@example.org").out == "ann@example.org is a guest: team keys may send to it\n"
    api.answers(Answer({"items": [{"address": "+14155550100", "created_at": AT}], "next_cursor": None}))
    assert run("guest", "list").out.splitlines()[1].split() == ["+14155550100", AT]
    api.answers(Answer({"address": "+14155550100", "removed": True}))
    assert run("guest", "remove", "+14155550100").out == "+14155550100 is no longer a guest\n"
    api.answers(Answer({"address": "+14155550100", "removed": False}))
    assert run("guest", "remove", "+14155550100").out == "+14155550100 was not a guest\n"
    assert [(a.method, a.path) for a in api.asked] == [
        ("PUT", "/guests/ann%40example.org"),
        ("GET", "/guests"),
        ("DELETE", "/guests/%2B14155550100"),
        ("DELETE", "/guests/%2B14155550100"),
    ]


def test_an_address_that_is_not_suppressed_is_exit_code_3(run: Run, api: FakeApi) -> None:
    api.answers(problem(404, "not_found", "It is not suppressed.", type="/errors#not_found"))
    assert run("suppression", "show", "ann@example.org").code == 3


def test_schedules_are_listed_and_cancelled(run: Run, api: FakeApi) -> None:
    waiting = job_view("READY", queued=98) | {"scheduled_at": AT, "name": "October"}
    api.answers(page(waiting))
    assert run("schedule", "list").out.splitlines()[1].split() == [JOB, "campaign", AT, "98", "October"]
    assert run("schedule", "list", "--json").lines == [waiting]
    api.answers(job("STOPPED", queued=98))
    assert run("schedule", "cancel", JOB).out == f"campaign {JOB} is cancelled: 98 messages not sent\n"
    assert (api.asked[-1].method, api.asked[-1].path) == ("DELETE", f"/schedules/{JOB}")
    api.answers(page())
    assert run("schedule", "list").err == "nothing is scheduled\n"


def day(**more: Any) -> dict[str, Any]:
    known = {"date": "2026-11-20", "success": 1_900, "failure": 60, "queued": 40, "skipped": 5}
    return known | {"channels": None, "providers": None} | more


def test_the_figures_of_each_day(run: Run, api: FakeApi) -> None:
    api.answers(page(day()))
    out = run("stats", "--from", "2026-11-01", "--to", "2026-11-20").out
    assert [row.split() for row in out.splitlines()] == [
        ["date", "success", "failure", "queued", "skipped"],
        ["2026-11-20", "1,900", "60", "40", "5"],
    ]
    assert api.asked[0].path == "/stats?from=2026-11-01&to=2026-11-20"
    assert run("stats", "--json").lines == [day()]
    amounts = {"success": 1_000, "failure": 0, "queued": 0, "skipped": 0}
    api.answers(page(day(channels={"email": amounts, "sms": amounts})))
    assert [row.split()[1] for row in run("stats", "--by", "channel").out.splitlines()[1:]] == ["email", "sms"]
    tried = {"tried": 9, "accepted": 8, "delivered": 7, "failed": 1}
    api.answers(page(day(providers={"ses": tried})))
    out = run("stats", "--by", "provider").out
    assert out.splitlines()[1].split() == ["2026-11-20", "ses", "9", "8", "7", "1"]
    assert run("stats", "--by", "hour").code == 2
    api.answers(page())
    assert run("stats").err == "no messages\n"
