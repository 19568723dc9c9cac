"""Campaigns that are there: list, show, stats, send, test, delete; and what is checked before a list is uploaded."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli import honest
from tests.cli.fakes import Answer, FakeApi, Run
from tests.cli.scripts import (
    AT,
    CAMPAIGN,
    JOB,
    UPLOAD,
    campaign,
    campaign_item,
    credentials,
    deleted,
    job,
    job_view,
    listed,
    place,
    preview,
    problem,
    sent,
    stats,
)

MAIL = ("--template", "mail.html", "--subject", "Hi", "--from", "news@example.com")


@pytest.fixture(autouse=True)
def real(folder: Path, api: FakeApi) -> Iterator[None]:
    (folder / "list.csv").write_text("recipient\nann@example.org\n")
    (folder / "mail.html").write_text("<p>Hi</p>")
    yield
    honest.check(api)


def page(*items: Any) -> Answer:
    return Answer({"items": list(items), "next_cursor": None})


def waiting(**more: Any) -> tuple[Answer, Answer]:
    """A campaign with a list of 98 that is not sent, and the list."""
    ready = campaign("ready", upload_id=UPLOAD, columns=["recipient"], **more)
    return ready, listed("ready", rows=100, accepted=99, invalid=1, skipped={"suppressed": 1})


def test_the_list_shows_states_and_figures_for_people(run: Run, api: FakeApi) -> None:
    running = campaign_item("LOGGED") | {"jobs": [JOB]}
    older = campaign_item("LOGGED") | {"jobs": ["o" * 26], "name": "older"}
    jobs = page(job_view("LOGGED", delivered=18_000, failed=318, queued=31_662))
    api.answers(page(running, campaign_item(), older), jobs, job("LOGGED", delivered=5))
    rows = run("campaign", "list").out.splitlines()
    assert "stopped (31,662 left)  49,980    18,000     318" in rows[1]
    assert "draft" in rows[2]
    assert "done" in rows[3]
    assert [asked.path for asked in api.asked] == [
        "/campaigns?limit=51",
        "/jobs?limit=1000",
        f"/jobs/{'o' * 26}",
    ]


def test_the_list_is_cut_for_people_only(run: Run, api: FakeApi) -> None:
    api.answers(page(campaign_item(), campaign_item(), campaign_item()))
    done = run("campaign", "list", "--limit", "2")
    assert (len(done.out.splitlines()), done.err) == (3, "there are more than 2: --limit N shows N\n")
    assert len(run("campaign", "list", "--json", "--limit", "2").lines) == 3
    api.answers(page())
    assert run("campaign", "list").err == "no campaigns\n"
    assert run("campaign", "list", "--json").out == ""


def test_a_stopped_campaign_shows_what_is_left_and_why(run: Run, api: FakeApi) -> None:
    figures = stats("LOGGED", delivered=60, failed=11, queued=29)
    figures.body["jobs"][0]["stop_reason"] = "bounce_guard"
    api.answers(campaign("LOGGED", jobs=[JOB]), figures)
    assert run("campaign", "show", CAMPAIGN).out == (
        f"campaign {CAMPAIGN} is stopped (29 left)\n"
        "  name         list.csv\n"
        "  credential   sendgrid-main (email)\n"
        "  from         news@example.com\n"
        "  subject      Hi {{ name }}\n"
        f"  body         9 characters; posthaste campaign preview {CAMPAIGN}\n"
        "  variables    name\n"
        "  messages     100: 29 queued, 60 delivered, 11 failed\n"
        "  stopped      by the bounce guard: too many messages bounced\n"
        f"  created      {AT}\n"
        f"to send the rest:  posthaste campaign resume {CAMPAIGN}\n"
    )


@pytest.mark.parametrize(
    ("state", "counts", "words"),
    [
        ("READY", {"queued": 5}, "is sending"),
        ("SENT", {"sent": 5}, "is sending"),
        ("STOPPED", {"queued": 5}, "is stopping"),
        ("LOGGED", {"delivered": 5}, "is done"),
    ],
)
def test_each_state_has_a_word(run: Run, api: FakeApi, state: str, counts: dict[str, int], words: str) -> None:
    api.answers(campaign(state, jobs=[JOB]), stats(state, **counts))
    assert words in run("campaign", "show", CAMPAIGN).out


def test_a_ready_campaign_shows_its_list_and_how_to_send_it(run: Run, api: FakeApi) -> None:
    api.answers(*waiting(test=True))
    out = run("campaign", "show", CAMPAIGN).out
    assert "  list         98 recipients, not sent\n" in out
    assert "no provider gets it" in out
    assert f"posthaste campaign send {CAMPAIGN}" in out


def test_figures_are_shares_and_by_provider(run: Run, api: FakeApi) -> None:
    figures = stats("LOGGED", delivered=75, failed=25)
    tally = {"credential_id": "sendgrid-main", "provider": "sendgrid", "tried": 100, "accepted": 80}
    more = {"route": [tally | {"delivered": 75, "failed": 25}], "unacknowledged": 5, "duplicates": 1}
    figures.body.update(more)
    api.answers(figures)
    out = run("campaign", "stats", CAMPAIGN).out
    assert f"campaign {CAMPAIGN} is done: 100 messages\n" in out
    assert "  delivered             75   75.00%\n" in out
    assert "  1 duplicate left out\n" in out
    assert "5 of the sent wait" in out
    assert "sendgrid-main  sendgrid  100    80        75         25" in out
    assert run("campaign", "stats", CAMPAIGN, "--json").json == figures.body


def test_a_prepared_campaign_is_sent_after_the_question(run: Run, api: FakeApi) -> None:
    api.answers(*waiting(), sent())
    done = run("campaign", "send", CAMPAIGN, "--rate", "20", terminal=True, input="y\n")
    assert done.code == 0, done.err
    assert "Send 98 messages through sendgrid-main of the local cloud?" in done.err
    assert (api.asked[-1].path, api.asked[-1].json) == (f"/campaigns/{CAMPAIGN}/send", {"rate": 20})
    assert f"sending; posthaste campaign stop {CAMPAIGN} stops it" in done.out


def test_no_leaves_the_campaign_ready(run: Run, api: FakeApi) -> None:
    api.answers(*waiting())
    done = run("campaign", "send", CAMPAIGN, terminal=True, input="n\n")
    assert done.code == 1
    assert f"nothing was sent\nto send it:  posthaste campaign send {CAMPAIGN}" in done.err
    assert [asked.method for asked in api.asked] == ["GET", "GET"]


def test_sending_without_a_terminal_needs_yes(run: Run, api: FakeApi) -> None:
    for words in (("send",), ("send", "--json"), ("override-bounce-guard",)):
        done = run("campaign", words[0], CAMPAIGN, *words[1:])
        assert (done.code, done.out) == (2, "")
        assert "--yes" in done.err
    assert api.asked == []


def test_a_list_can_be_sent_later_and_watched_now(run: Run, api: FakeApi) -> None:
    api.answers(*waiting(), sent())
    done = run("campaign", "send", CAMPAIGN, "--at", "2026-10-01T09:00:00Z", "--yes", "--watch")
    assert api.asked[-1].json == {"scheduled_at": "2026-10-01T09:00:00Z"}
    assert f"posthaste schedule cancel {JOB}" in done.out
    api.answers(*waiting(), sent(), job("LOGGED", delivered=97, failed=1))
    assert run("campaign", "send", CAMPAIGN, "--yes", "--watch").code == 1
    api.answers(*waiting(), sent(), job("LOGGED", delivered=98))
    assert run("campaign", "send", CAMPAIGN, "--yes", "--watch", "--json").lines[-1]["state"] == "LOGGED"


def test_a_campaign_without_a_list_is_not_sent(run: Run, api: FakeApi) -> None:
    api.answers(campaign())
    done = run("campaign", "send", CAMPAIGN, "--yes")
    assert done.code == 1
    assert "has no list to send" in done.err


def test_the_guard_is_overridden_after_a_question_that_names_what_is_left(run: Run, api: FakeApi) -> None:
    api.answers(stats("LOGGED", failed=11, queued=29), campaign("LOGGED", bounce_guard=False))
    done = run("campaign", "override-bounce-guard", CAMPAIGN, terminal=True, input="y\n")
    assert done.code == 0
    assert "of the local cloud for good, with 29 messages left?" in done.err
    api.answers(stats("LOGGED", failed=11, queued=29))
    api.asked.clear()
    api.given.clear()
    done = run("campaign", "override-bounce-guard", CAMPAIGN, terminal=True, input="n\n")
    assert (done.code, len(api.asked)) == (1, 1)
    assert "nothing was changed" in done.err


def accepted(skipped: int = 0) -> Answer:
    known = {"batch_id": JOB, "job_id": JOB, "state": "ENQUEUED", "recipients": 1, "duplicates": 0}
    return Answer(known | {"skipped": skipped}, 202)


def test_one_message_is_sent_to_try_it_out(run: Run, api: FakeApi) -> None:
    api.answers(accepted())
    done = run("campaign", "test", CAMPAIGN, "me@example.com", "--value", "name=Ada", "--value", "city=A=B")
    assert done.out == f"one message to me@example.com is on its way; posthaste batch watch {JOB}\n"
    assert api.asked[0].json == {"recipient": "me@example.com", "params": {"name": "Ada", "city": "A=B"}}
    assert api.asked[0].headers["Idempotency-Key"]
    api.answers(accepted(1))
    assert "not sent: me@example.com is invalid" in run("campaign", "test", CAMPAIGN, "me@example.com").out
    assert run("campaign", "test", CAMPAIGN, "me@example.com", "--value", "name").code == 2


def test_campaigns_that_sent_nothing_are_deleted_with_their_lists(run: Run, api: FakeApi) -> None:
    api.answers(waiting()[0], listed("ready"), deleted(), campaign(), deleted())
    done = run("campaign", "delete", CAMPAIGN, "d" * 26)
    assert done.out == f"campaign {CAMPAIGN} is deleted\ncampaign {'d' * 26} is deleted\n"
    assert [(asked.method, asked.path) for asked in api.asked if asked.method == "DELETE"] == [
        ("DELETE", f"/campaigns/{CAMPAIGN}/uploads/{UPLOAD}"),
        ("DELETE", f"/campaigns/{CAMPAIGN}"),
        ("DELETE", f"/campaigns/{'d' * 26}"),
    ]
    api.answers(campaign("LOGGED", jobs=[JOB]), problem(409, "campaign_sent", "It has sent a list."))
    assert run("campaign", "delete", CAMPAIGN).code == 1


def test_a_rate_that_is_too_high_is_refused_before_the_upload(run: Run, api: FakeApi) -> None:
    api.answers(campaign(status=201), credentials(20), deleted())
    done = run("campaign", "run", "list.csv", *MAIL, "--rate", "50", "--yes")
    assert done.code == 1
    assert "50 messages per second is more than sendgrid-main sends\n  use --rate 20 or less" in done.err
    assert [(asked.method, asked.path.partition("?")[0]) for asked in api.asked] == [
        ("POST", "/campaigns"),
        ("GET", "/credentials"),
        ("DELETE", f"/campaigns/{CAMPAIGN}"),
    ]


def test_a_stored_template_without_a_sender_is_refused_before_the_upload(run: Run, api: FakeApi) -> None:
    body = json.loads(json.dumps(campaign(status=201).body))
    body["template"]["from"] = None
    api.answers(Answer(body, 201), problem(503, "try_again", "Later"))
    done = run("campaign", "run", "list.csv", "--stored-template", "t1", "--yes")
    assert done.code == 1
    assert "the stored template has no sender" in done.err
    assert f"posthaste campaign delete {CAMPAIGN}" in done.err


def test_a_list_is_uploaded_now_and_sent_later(run: Run, api: FakeApi) -> None:
    script = [
        campaign(status=201, test=True),
        place(api),
        Answer(raw=b"", headers={"ETag": '"e1"'}),
        listed("queued", status=202),
        listed("ready", rows=1, accepted=1, progress=1.0),
        preview(),
        sent(),
    ]
    api.answers(*script)
    done = run("campaign", "run", "list.csv", *MAIL, "--at", "2026-10-01T09:00:00Z", terminal=True, input="y\n")
    assert done.code == 0
    assert "this is a test key: the messages reach no provider" in done.out
    wanted = "Send 1 message at 2026-10-01T09:00:00Z through sendgrid-main of the local cloud, as a test that"
    assert wanted in done.err
    assert f"scheduled for 2026-10-01T09:00:00Z; posthaste schedule cancel {JOB}" in done.out
    assert api.asked[-1].json == {"scheduled_at": "2026-10-01T09:00:00Z"}


@pytest.mark.parametrize(
    ("at", "said"),
    [
        (
            "tomorrow 9am",
            "is no time of RFC 3339 with its offset\n  write --at like 2026-12-01T09:00:00+01:00",
        ),
        ("2026-10-01T09:00:00", "is no time of RFC 3339"),
        ("2026-10-32T09:00:00Z", "is no time of RFC 3339"),
        ("2026-09-01T09:00:00Z", "choose a time for --at from now on and within 30 days; it is 2026-09-21T"),
        ("2026-11-01T09:00:00z", "within 30 days"),
    ],
)
@pytest.mark.parametrize("words", [("run", "list.csv", *MAIL), ("send", CAMPAIGN)])
def test_a_time_that_the_api_would_refuse_is_refused_before_it_is_asked(
    run: Run, api: FakeApi, words: tuple[str, ...], at: str, said: str
) -> None:
    done = run("campaign", *words, "--at", at, "--yes")
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert api.asked == []


def test_a_send_that_is_refused_says_how_to_send_later(run: Run, api: FakeApi) -> None:
    ready = [listed("queued", status=202), listed("ready", rows=1, accepted=1, progress=1.0), preview()]
    put = Answer(raw=b"", headers={"ETag": '"e1"'})
    api.answers(campaign(status=201), place(api), put, *ready, problem(409, "list_expired", "The list is too old."))
    done = run("campaign", "run", "list.csv", *MAIL, "--yes")
    assert done.code == 1
    assert "The list is too old." in done.err
    assert f"nothing was sent; the campaign is kept\nto send it:  posthaste campaign send {CAMPAIGN}" in done.err


def asked(**more: Any) -> dict[str, Any]:
    """A request for approval."""
    return {
        "approval_id": "5" * 32,
        "state": "waiting",
        "reason": None,
        "asked_by": "0123456789abcdef",
        "asked_at": AT,
        "upload_id": UPLOAD,
        "recipients": 2000,
        "skipped": 3,
        "rate": None,
        "scheduled_at": None,
        **more,
    }


def test_a_list_that_waits_for_approval_is_not_watched(run: Run, api: FakeApi) -> None:
    held = {"campaign_id": CAMPAIGN, "job_id": JOB, "state": "WAITING", "recipients": 99, "skipped": 1}
    api.answers(*waiting(), Answer({**held, "waiting_for": "approval", "approval_id": "5" * 32}, 202))
    done = run("campaign", "send", CAMPAIGN, "--yes", "--watch")
    assert done.code == 0
    assert f"posthaste campaign approve {CAMPAIGN}" in done.out + done.err
    assert "sending" not in done.out


def test_what_is_approved_is_shown_and_asked_for(run: Run, api: FakeApi) -> None:
    api.answers(campaign("ready", upload_id=UPLOAD, waiting_for="approval", approval=asked()))
    done = run("campaign", "approve", CAMPAIGN, input="n\n", terminal=True)
    assert done.code == 1
    for shown in ("0123456789abcdef", "  subject", "2,000, of which 3 get nothing", "with the approval"):
        assert shown in done.out
    assert "nothing was approved" in done.err
    assert [x.method for x in api.asked] == ["GET"]
    api.answers(campaign("ready", upload_id=UPLOAD, waiting_for="approval", approval=asked()), sent())
    assert run("campaign", "approve", CAMPAIGN, "--yes").code == 0
    assert api.asked[-1].json == {"approval_id": "5" * 32}


def test_what_does_not_wait_cannot_be_approved_or_refused(run: Run, api: FakeApi) -> None:
    for verb in (("approve", CAMPAIGN, "--yes"), ("refuse", CAMPAIGN)):
        api.answers(campaign("ready"))
        done = run("campaign", *verb)
        assert done.code == 1
        assert "not_waiting" in done.err


def test_show_says_what_waits_and_how_it_ended(run: Run, api: FakeApi) -> None:
    lapsed = asked(state="lapsed", reason="The time came before.", scheduled_at=AT)
    ready: dict[str, Any] = {"upload_id": UPLOAD, "waiting_for": "approval"}
    api.answers(campaign("ready", **ready, approval=lapsed), listed("ready", rows=1, accepted=1))
    assert "lapsed: The time came before." in run("campaign", "show", CAMPAIGN).out
    decision = {"approval_id": "5" * 32, "decision": "refused", "by": "user:bea", "asked_by": "x", "at": AT}
    api.answers(campaign("draft", decision={**decision, "reason": "wrong price"}))
    assert "refused by user:bea" in run("campaign", "show", CAMPAIGN).out


def test_a_limit_is_a_number_or_off(run: Run, api: FakeApi) -> None:
    for wrong in ("many", "-1", "1.5", "٣"):
        assert run("approval-limit", "set", "--", wrong).code == 2
    api.answers(Answer({"above": 7, "sent_today": 3, "proposal": None}))
    done = run("approval-limit", "set", "7")
    assert "above 7 rows a day" in done.out
    assert api.asked[-1].json == {"above": 7}
    assert run("account", "approval", "acc_000000000001", "--every", "--off").code == 2
