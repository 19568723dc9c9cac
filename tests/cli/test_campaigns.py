"""`posthaste campaign run`, from the file to the summary, and what Ctrl-C means on the way."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli import honest
from tests.cli.fakes import Answer, FakeApi, FakeClock, Run
from tests.cli.scripts import (
    CAMPAIGN,
    JOB,
    UPLOAD,
    bad_row,
    campaign,
    counts,
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

LIST = b"recipient,name\nann@example.org,Ann\n"
MAIL = ("--template", "mail.html", "--subject", "Hi {{ name }}", "--from", "news@example.com")


@pytest.fixture(autouse=True)
def files(folder: Path, api: FakeApi) -> Iterator[None]:
    """The list and the message; afterwards the scripted API must have been one that there could be."""
    (folder / "list.csv").write_bytes(LIST)
    (folder / "mail.html").write_text("<p>Hi {{ name }}</p>", encoding="utf-8")
    yield
    honest.check(api)


def whole(
    api: FakeApi, *after: Answer, ready: Answer | None = None, rate: tuple[Answer, ...] = (), **made: Any
) -> list[Answer]:
    """What is answered up to the question, and after it. `rate`: when the credential is asked about its rate."""
    return [
        campaign(status=201, **made),
        *rate,
        place(api),
        Answer(raw=b"", headers={"ETag": '"e1"'}),
        listed("queued", status=202),
        listed("reading", rows=60_000, accepted=59_999, invalid=1, progress=0.6),
        ready or listed("ready", rows=100_003, accepted=100_000, invalid=2, duplicates=1, progress=1.0),
        preview(),
        *after,
    ]


def test_a_list_is_uploaded_read_shown_and_sent(run: Run, api: FakeApi) -> None:
    after = [job("SENDING", queued=99_000, sending=200, sent=800), job("LOGGED", sent=1_000, delivered=99_000)]
    api.answers(*whole(api, sent(), *after, rate=(credentials(),)))
    words = ("--credential", "mail-1", "--rate", "50", "--yes", "--drop-duplicates", "--region", "de")
    done = run("campaign", "run", "list.csv", *MAIL, *words)
    assert done.code == 0, done.err
    created, _rates, asked, put, complete, *_, send, _job, _last = api.asked
    assert (created.path, created.json) == (
        "/campaigns",
        {
            "name": "list.csv",
            "channel": "email",
            "credential_id": "mail-1",
            "template": {"body": "<p>Hi {{ name }}</p>", "from": "news@example.com", "subject": "Hi {{ name }}"},
        },
    )
    known = {"sha256": hashlib.sha256(LIST).hexdigest(), "size": len(LIST)}
    wanted = {"duplicates": "drop", "region": "DE", **known}
    assert (asked.path, asked.json) == (f"/campaigns/{CAMPAIGN}/uploads", wanted)
    assert (put.method, put.body) == ("PUT", LIST)
    assert (complete.path, complete.json) == (f"/campaigns/{CAMPAIGN}/uploads/{UPLOAD}/complete", {"etag": "e1"})
    assert (send.path, send.json) == (f"/campaigns/{CAMPAIGN}/send", {"rate": 50})
    keys = [a.headers.get("Idempotency-Key") for a in (created, send)]
    assert all(keys)
    assert keys[0] != keys[1]
    assert "100,000 recipients of 100,003 rows, 2 invalid, 1 duplicate\n" in done.out
    assert "reading the list: 60%  60,000 rows, 1 invalid" in done.out
    assert "uploading list.csv: 100%  of 35 B" in done.out
    assert "sending   queued 99,000  sending 200  sent 800" in done.out
    assert f"campaign {CAMPAIGN} is done: 1,000 sent, 99,000 delivered" in done.out


def test_the_first_problems_are_shown_by_row(run: Run, api: FakeApi) -> None:
    errors = [bad_row(n, "invalid_address", f"No. {n}\x1b[2J", f"ann{n}\x1b") for n in range(1, 15)]
    ready = listed("ready", rows=20, accepted=6, invalid=14, errors=errors)
    api.answers(*whole(api, sent(), job("LOGGED", delivered=6), ready=ready))
    out = run("campaign", "run", "list.csv", *MAIL, "--yes").out
    assert "6 recipients of 20 rows, 14 invalid" in out
    assert [n for n in range(1, 15) if f"No. {n}" in out] == list(range(1, 11))
    assert "\n2    ann1�" in out, "the row of a spreadsheet, and what is wrong in it"
    assert f"posthaste campaign problems {CAMPAIGN} {UPLOAD}" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("last", "code", "said"),
    [
        (counts(sent=5, delivered=90, skipped=5), 0, "5 skipped"),
        (counts(delivered=99, failed=1), 1, "--state failed"),
        (counts(delivered=99, unknown=1), 1, "--state unknown"),
        (counts(delivered=40, queued=60), 1, "60 are not sent. To send them:  posthaste campaign resume"),
    ],
)
def test_the_exit_code_shows_whether_all_was_sent(
    run: Run, api: FakeApi, last: dict[str, int], code: int, said: str
) -> None:
    api.answers(*whole(api, sent(), job("LOGGED", **last)))
    done = run("campaign", "run", "list.csv", *MAIL, "--yes")
    assert done.code == code
    assert said in done.out


def test_a_bounce_guard_stop_is_shown_with_its_override(run: Run, api: FakeApi) -> None:
    stopped = job_view("LOGGED", delivered=60, failed=11, queued=29) | {"stop_reason": "bounce_guard"}
    api.answers(*whole(api, sent(), Answer(stopped)))
    done = run("campaign", "run", "list.csv", *MAIL, "--yes")
    assert done.code == 1
    assert "29 are not sent: too many bounced" in done.out
    assert f"posthaste campaign override-bounce-guard {CAMPAIGN}" in done.out
    api.asked.clear()
    api.given.clear()
    api.answers(campaign("LOGGED", bounce_guard=False))
    assert "whatever bounces" in run("campaign", "override-bounce-guard", CAMPAIGN, "--yes").out
    assert api.asked[0].path == f"/campaigns/{CAMPAIGN}/override-bounce-guard"


def test_a_terminal_is_asked_and_no_sends_nothing(run: Run, api: FakeApi) -> None:
    api.answers(*whole(api))
    done = run("campaign", "run", "list.csv", *MAIL, terminal=True, input="\nn\n")
    assert done.code == 1
    assert "Send 100,000 messages through sendgrid-main of the local cloud?" in done.err
    assert done.err.endswith(
        "nothing was sent; the campaign is kept\n"
        f"to send it:  posthaste campaign send {CAMPAIGN}   (later: --at TIME; slower: --rate N)\n"
        f"to delete it:  posthaste campaign delete {CAMPAIGN}\n"
    )
    assert not any(asked.path.endswith("/send") for asked in api.asked)
    api.asked.clear()
    api.given.clear()
    api.answers(*whole(api, sent(), job("LOGGED", delivered=1)))
    done = run("campaign", "run", "list.csv", *MAIL, terminal=True, input="\ny\n")
    assert done.code == 0
    assert "done" in done.out
    assert "━" in done.out


def test_left_out_recipients_are_not_asked_about(run: Run, api: FakeApi) -> None:
    left_out = {"unsubscribed": 40, "suppressed": 1}
    api.answers(*whole(api, ready=listed("ready", rows=100, accepted=100, skipped=left_out)))
    done = run("campaign", "run", "list.csv", *MAIL, terminal=True, input="n\n")
    assert "Send 59 messages through" in done.err
    assert "100 recipients of 100 rows, 40 unsubscribed, 1 suppressed" in done.out


def test_without_a_terminal_nothing_begins_unless_yes_is_said(run: Run, api: FakeApi) -> None:
    for words in ([], ["--json"]):
        done = run("campaign", "run", "list.csv", *MAIL, *words)
        assert (done.code, done.out) == (2, "")
        assert "--yes" in done.err
    assert run("campaign", "run", "list.csv", *MAIL, "--json", terminal=True).code == 2
    assert api.asked == []


def test_what_cannot_be_sent_is_said_before_anything_is_asked(run: Run, api: FakeApi, folder: Path) -> None:
    (folder / "empty.csv").touch()
    (folder / "sms.txt").write_text("Hi")
    sms = ("--channel", "sms")
    for words in (
        ("gone.csv", *MAIL),
        ("empty.csv", *MAIL),
        ("list.csv", *MAIL[:2]),
        ("list.csv", *MAIL[2:]),
        ("list.csv", "--template", "gone.html", *MAIL[2:]),
        ("list.csv", *MAIL, "--stored-template", "t1"),
        ("list.csv", *sms),
        ("list.csv", *sms, "--template", "sms.txt", "--subject", "S"),
        ("list.csv", *sms, "--template", "sms.txt", "--text", "sms.txt"),
        ("list.csv", *MAIL, "--rate", "-1"),
    ):
        done = run("campaign", "run", *words, "--yes")
        assert (done.code, done.out) == (2, ""), words
    assert api.asked == []


def test_a_short_message_is_its_text(run: Run, api: FakeApi, folder: Path) -> None:
    (folder / "sms.txt").write_text("Hi {{ name }}")
    api.answers(*whole(api, sent(), job("LOGGED", delivered=1)))
    words = ("--channel", "sms", "--text", "sms.txt", "--yes", "--name", "Texts")
    assert run("campaign", "run", "list.csv", *words).code == 0
    assert api.asked[0].json == {"name": "Texts", "channel": "sms", "template": {"body": "Hi {{ name }}"}}


@pytest.mark.slow
def test_a_stored_template_is_named(run: Run, api: FakeApi) -> None:
    api.answers(*whole(api, sent(), job("LOGGED", delivered=1)))
    assert run("campaign", "run", "list.csv", "--stored-template", "t1", "--yes").code == 0
    assert api.asked[0].json == {"name": "list.csv", "channel": "email", "template_id": "t1"}


def test_a_list_that_cannot_be_used_ends_it(run: Run, api: FakeApi) -> None:
    failed = listed("failed", code="missing_recipient", detail="There is no column recipient.")
    api.answers(*whole(api, ready=failed)[:-1], deleted())
    done = run("campaign", "run", "list.csv", *MAIL, "--yes")
    assert done.code == 1
    assert "There is no column recipient.\n  code: missing_recipient" in done.err
    assert (api.asked[-1].method, api.asked[-1].path) == ("DELETE", f"/campaigns/{CAMPAIGN}")
    assert "the campaign is deleted again" in done.err
    assert not any(asked.path.endswith("/send") for asked in api.asked)


def test_a_list_without_the_templates_columns_ends_it(run: Run, api: FakeApi) -> None:
    lacking = whole(api, ready=listed("ready", rows=1, accepted=1, missing=["name", "city"]))[:-1]
    api.answers(*lacking, listed("failed", code="withdrawn"), deleted())
    done = run("campaign", "run", "list.csv", *MAIL, "--yes")
    assert done.code == 1
    assert [asked.method for asked in api.asked[-2:]] == ["DELETE", "DELETE"]
    assert "name, city" in done.err
    assert not any(asked.path.endswith("/send") for asked in api.asked)


def test_json_is_one_document_per_step(run: Run, api: FakeApi) -> None:
    script = whole(api, sent(), job("SENDING", sending=1), job("LOGGED", delivered=1))
    del script[6]  # nobody looks at a preview
    api.answers(*script)
    done = run("campaign", "run", "list.csv", *MAIL, "--yes", "--json")
    assert done.code == 0
    assert [set(line) & {"campaign_id", "upload_id", "job_id", "counts"} for line in done.lines][-3:] == [
        {"campaign_id", "job_id"},
        {"job_id", "counts"},
        {"job_id", "counts"},
    ]


# Ctrl-C


def interrupted(clock: FakeClock, *at: int) -> None:
    def interrupt(n: int) -> None:
        if n in at:
            raise KeyboardInterrupt

    clock.on_sleep = interrupt


def test_ctrl_c_before_the_question_sends_nothing(run: Run, api: FakeApi, clock: FakeClock) -> None:
    interrupted(clock, 1)
    api.answers(*whole(api))
    done = run("campaign", "run", "list.csv", *MAIL, "--yes")
    assert done.code == 130
    assert "nothing was sent; the campaign is kept" in done.err
    assert not any(asked.path.endswith("/send") for asked in api.asked)


@pytest.mark.parametrize("ends", ["ctrl-c", "lost"])
def test_an_unrecorded_send_is_not_repeated_blindly(run: Run, api: FakeApi, clock: FakeClock, ends: str) -> None:
    interrupted(clock, *([2] if ends == "ctrl-c" else []))
    api.answers(*whole(api, Answer(status=503, drop=True)))
    done = run("campaign", "run", "list.csv", *MAIL, "--yes")
    assert done.code == (130 if ends == "ctrl-c" else 5)
    assert f"it may be sending already. Before another run, check: posthaste campaign show {CAMPAIGN}" in (done.err)
    assert "nothing was sent" not in done.err


def test_ctrl_c_in_a_pipe_ends_the_watching_alone(run: Run, api: FakeApi, clock: FakeClock) -> None:
    interrupted(clock, 2)
    api.answers(*whole(api, sent(), job("SENDING", sending=1)))
    done = run("campaign", "run", "list.csv", *MAIL, "--yes")
    assert done.code == 130
    assert f"the campaign continues. To watch again: posthaste campaign watch {CAMPAIGN}" in done.err
    assert not any(asked.path.endswith("/stop") for asked in api.asked)


@pytest.mark.parametrize("answer", ["s\n", "stop\n", "what\nS\n"])
def test_ctrl_c_on_a_terminal_offers_stop(run: Run, api: FakeApi, clock: FakeClock, answer: str) -> None:
    interrupted(clock, 2)
    sending = job("SENDING", sending=1, queued=9)
    api.answers(*whole(api, sent(), sending, job("STOPPED", sending=1, queued=9), job("LOGGED", sent=1, queued=9)))
    done = run("campaign", "run", "list.csv", *MAIL, "--yes", terminal=True, input=answer)
    assert done.code == 1
    assert [a.path for a in api.asked if a.method == "POST"][-1] == f"/jobs/{JOB}/stop"
    assert "9 are not sent. To send them:  posthaste campaign resume" in done.out


def test_ctrl_c_on_a_terminal_can_be_taken_back_or_leave_it_running(run: Run, api: FakeApi, clock: FakeClock) -> None:
    interrupted(clock, 2, 3)
    api.answers(*whole(api, sent(), job("SENDING", sending=1)))
    done = run("campaign", "run", "list.csv", *MAIL, "--yes", terminal=True, input="c\nl\n")
    assert done.code == 130
    assert done.err.count("still sending: [s] stop it, [l] leave it running, [c] continue watching") == 2
    assert "the campaign continues" in done.err
    assert not any(asked.path.endswith("/stop") for asked in api.asked)


def test_ctrl_c_while_it_is_being_stopped_asks_again(run: Run, api: FakeApi, clock: FakeClock) -> None:
    interrupted(clock, 2, 3)
    api.answers(*whole(api, sent(), job("SENDING", sending=1), Answer(drop=True)))
    done = run("campaign", "run", "list.csv", *MAIL, "--yes", terminal=True, input="s\nl\n")
    assert done.code == 130
    assert "the campaign continues" in done.err
    assert [a.path for a in api.asked][-1] == f"/jobs/{JOB}/stop"


def test_a_second_ctrl_c_at_the_question_leaves_it_running(run: Run, api: FakeApi, clock: FakeClock) -> None:
    interrupted(clock, 2)
    api.answers(*whole(api, sent(), job("SENDING", sending=1)))
    done = run("campaign", "run", "list.csv", *MAIL, "--yes", terminal=True, input="")  # the end of input aborts, too
    assert done.code == 130
    assert "the campaign continues" in done.err


# The other commands


def test_watching_follows_the_newest_job(run: Run, api: FakeApi) -> None:
    api.answers(campaign("SENDING", jobs=["0" * 26, JOB]), job("LOGGED", failed=1))
    assert run("campaign", "watch", CAMPAIGN).code == 1
    assert api.asked[1].path == f"/jobs/{JOB}"
    api.answers(campaign("draft"))
    done = run("campaign", "watch", CAMPAIGN)
    assert (done.code, done.err) == (1, "error: the campaign has sent nothing yet\n")


def test_stop_resume_and_retry_are_the_campaigns(run: Run, api: FakeApi) -> None:
    jobs = [{"job_id": JOB, "state": "READY", "messages": 1200}]
    again: dict[str, Any] = {"campaign_id": CAMPAIGN, "state": "READY", "messages": 1200, "jobs": jobs, "left_out": []}
    stopping = Answer({"campaign_id": CAMPAIGN, "state": "STOPPED", "jobs": [job_view("STOPPED", queued=1)]})
    api.answers(stopping, stats("LOGGED", queued=1200))
    done = run("campaign", "stop", CAMPAIGN)
    assert done.out == (
        f"campaign {CAMPAIGN} is stopped (1,200 left); to send the rest:  posthaste campaign resume {CAMPAIGN}\n"
    )
    api.answers(Answer(again))
    assert "1,200 messages" in run("campaign", "resume", CAMPAIGN, "--yes").out
    assert run("campaign", "retry", CAMPAIGN, "--include", "failed", "--yes", "--json").json == again
    assert run("campaign", "retry", CAMPAIGN, "--include", "all").code == 2
    api.answers(problem(409, "job_in_progress", "Busy"))
    assert run("campaign", "resume", CAMPAIGN, "--yes").code == 1
    assert [(a.path, a.json if a.method == "POST" else None) for a in api.asked] == [
        (f"/campaigns/{CAMPAIGN}/stop", {}),
        (f"/campaigns/{CAMPAIGN}/stats", None),
        (f"/campaigns/{CAMPAIGN}/resume", {}),
        (f"/campaigns/{CAMPAIGN}/retry", {"include": ["failed"]}),
        (f"/campaigns/{CAMPAIGN}/resume", {}),
    ]


def test_a_resume_asks_with_the_number_of_messages_of_the_campaign(run: Run, api: FakeApi) -> None:
    api.answers(stats("LOGGED", queued=1200))
    no = run("campaign", "resume", CAMPAIGN, terminal=True, input="n\n")
    assert (no.code, f"Send 1,200 messages that are left of campaign {CAMPAIGN} through" in no.err) == (1, True)
    assert [(a.method, a.path) for a in api.asked] == [("GET", f"/campaigns/{CAMPAIGN}/stats")]


def test_a_preview_is_what_a_recipient_would_get(run: Run, api: FakeApi) -> None:
    api.answers(preview(row=7))
    out = run("campaign", "preview", CAMPAIGN, "--row", "7").out
    assert "Hi Ann" in out
    assert api.asked[0].path == f"/campaigns/{CAMPAIGN}/preview?sheet_row=7"
    assert run("campaign", "preview", CAMPAIGN, "--json").json == preview(row=7).body
    assert run("campaign", "preview", CAMPAIGN, "--row", "0").code == 2


def test_a_preview_shows_why_a_message_cannot_be_sent(run: Run, api: FakeApi) -> None:
    texts = {"encoding": "ucs2", "characters": 71, "units": 71, "segments": 2, "forcing": []}
    long = "".join(f"line {n}\n" for n in range(20))
    api.answers(preview(skip="unsubscribed", error="too_long", sms=texts, text=long))
    out = run("campaign", "preview", CAMPAIGN).out
    for said in ("segments: 2", "left out: unsubscribed", "error: too_long", "| line 11", "… 8 more lines"):
        assert said in out
    assert "line 12" not in out


def test_all_problems_of_a_list_are_shown_page_by_page(run: Run, api: FakeApi) -> None:
    pages = [[bad_row(n, "nul_byte", "A NUL.")] for n in (3, 70)]
    first = listed("ready", errors=pages[0], next_cursor="c2")
    api.answers(first, listed("ready", errors=pages[1]))
    out = run("campaign", "problems", CAMPAIGN, UPLOAD).out
    assert [line.split() for line in out.splitlines()][1:] == [[row, "nul_byte", "A", "NUL."] for row in ("4", "71")]
    assert [asked.path.partition("?")[2] for asked in api.asked] == ["limit=1000", "limit=1000&cursor=c2"]
    api.answers(first, listed("ready", errors=pages[1]))
    assert run("campaign", "problems", CAMPAIGN, UPLOAD, "--json").lines == [*pages[0], *pages[1]]
    api.answers(listed("ready"))
    assert run("campaign", "problems", CAMPAIGN, UPLOAD).err == "no problems\n"
