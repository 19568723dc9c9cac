"""`posthaste mail …`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import pytest

from cli.mails import handing
from tests.cli import honest
from tests.cli.fakes import NOW, Answer, FakeApi, Run
from tests.cli.scripts import AT, problem

MAIL: Final = "m" * 26
BYTES: Final = b"From: news@example.com\r\nSubject: Hello\r\n\r\nHello \xff!\r\n"
ENVELOPE: Final = ("--from", "news@example.com", "--to", "ann@example.org", "--to", "ben@example.org", "--yes")
ETAG: Final = Answer(raw=b"", headers={"ETag": '"e1"'})


@pytest.fixture(autouse=True)
def files(folder: Path, api: FakeApi) -> Iterator[None]:
    """The message; afterwards the scripted API must have been one that there could be."""
    (folder / "mail.eml").write_bytes(BYTES)
    yield
    honest.check(api)


def accepted(destinations: int = 2) -> Answer:
    return Answer({"mail_id": MAIL, "destinations": destinations}, 202)


def place(api: FakeApi) -> Answer:
    headers = {"Content-Type": "message/rfc822"}
    url = f"{api.url}/bucket/mail?X-Amz-Signature=s"
    return Answer({"mail_id": MAIL, "url": url, "method": "PUT", "headers": headers, "expires_at": AT}, 201)


def summary(**changes: Any) -> dict[str, Any]:
    whole = {
        "mail_id": MAIL,
        "state": "committed",
        "mail_from": "news@example.com",
        "total": 2,
        "job_id": None,
        "size": 52,
        "created_at": AT,
        "expires_at": AT,
        "reference": None,
        "tags": [],
    }
    return {**whole, **changes}


def destination(address: str = "ann@example.org", state: str = "queued", **changes: Any) -> dict[str, Any]:
    whole = {"address": address, "state": state, "schedule_at": AT, "attempts": 1, "metadata": {}}
    return {
        **whole,
        "end": None,
        "provider": None,
        "error": None,
        "error_detail": None,
        "error_meaning": None,
        **changes,
    }


def test_a_mail_has_what_its_owner_calls_it(run: Run, api: FakeApi) -> None:
    api.answers(problem(422, "validation_failed", "No."))
    run("mail", "send", "mail.eml", *ENVELOPE, "--reference", "ticket-7", "--tag", "a", "--tag", "b")
    assert {name: api.asked[0].json[name] for name in ("reference", "tags")} == {
        "reference": "ticket-7",
        "tags": ["a", "b"],
    }
    whole = {**summary(reference="ticket-7", tags=["a", "b"]), "destinations": [], "next_cursor": None}
    api.answers(Answer(whole))
    assert "  reference ticket-7\n  tags a, b\n" in run("mail", "show", MAIL).out


def test_a_small_mail_is_one_call_with_its_bytes(run: Run, api: FakeApi) -> None:
    api.answers(Answer(drop=True), accepted())
    done = run("mail", "send", "mail.eml", *ENVELOPE)
    assert done.code == 0, done.err
    assert done.out == f"mail {MAIL} accepted: 2 destinations\nwhat becomes of it:  posthaste mail show {MAIL}\n"
    lost, asked = api.asked
    assert (asked.method, urlsplit(asked.path).path) == ("POST", "/mails")
    assert parse_qsl(urlsplit(asked.path).query) == [
        ("mail_from", "news@example.com"),
        ("rcpt_to", "ann@example.org"),
        ("rcpt_to", "ben@example.org"),
    ]
    assert (asked.headers["Content-Type"], asked.body) == ("message/rfc822", BYTES)
    keys = [x.headers.get("Idempotency-Key") for x in (lost, asked)]
    assert all(keys)
    assert len(set(keys)) == 1


def test_a_mail_is_read_from_stdin_and_its_lines_are_mended_on_demand(run: Run, api: FakeApi, folder: Path) -> None:
    api.answers(accepted())
    words = ("mail", "send", "-", *ENVELOPE, "--idempotency-key", "k", "--json")
    assert run(*words, input=b"a: 1\n\nb\n").json == {"mail_id": MAIL, "destinations": 2}
    assert run(*words, "--normalise", input=b"a: 1\n\nb\r\n").code == 0
    assert [a.body for a in api.asked] == [b"a: 1\n\nb\n", b"a: 1\r\n\r\nb\r\n"]
    assert {a.headers["Idempotency-Key"] for a in api.asked} == {"k"}
    (folder / "mail.eml").write_bytes(b"a: 1\n\n")
    assert run("mail", "send", "mail.eml", *ENVELOPE, "--normalise").code == 0
    assert api.asked[-1].body == b"a: 1\r\n\r\n"


def test_a_large_mail_is_uploaded_and_committed(run: Run, api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handing, "AT_ONCE", len(BYTES) - 1)
    api.answers(place(api), ETAG, accepted())
    done = run("mail", "send", "mail.eml", *ENVELOPE, "--idempotency-key", "k")
    assert done.code == 0, done.err
    assert "uploading mail.eml: 100%  of 52 B" in done.out
    asked, put, commit = api.asked
    destinations = [{"address": "ann@example.org"}, {"address": "ben@example.org"}]
    assert (asked.path, asked.headers["Idempotency-Key"]) == ("/mails/uploads", "k")
    assert asked.json == {"mail_from": "news@example.com", "destinations": destinations}
    assert (put.method, put.body, put.headers["Content-Type"]) == ("PUT", BYTES, "message/rfc822")
    assert (commit.path, commit.json) == (f"/mails/{MAIL}/commit", {"etag": "e1"})


def test_a_large_mail_that_an_earlier_run_has_uploaded_is_committed(
    run: Run, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handing, "AT_ONCE", len(BYTES) - 1)
    api.answers(place(api), Answer(status=412, raw=b""), accepted())
    done = run("mail", "send", "mail.eml", *ENVELOPE, "--idempotency-key", "k")
    assert done.code == 0, done.err
    assert (api.asked[-1].path, api.asked[-1].json) == (f"/mails/{MAIL}/commit", {})


def test_a_large_mail_is_uploaded_in_lines_of_crlf_on_demand(
    run: Run, api: FakeApi, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handing, "AT_ONCE", 5)
    (folder / "mail.eml").write_bytes(b"a: 1\n\nb\n")
    api.answers(place(api), ETAG, accepted())
    assert run("mail", "send", "mail.eml", *ENVELOPE, "--normalise").code == 0
    assert api.asked[1].body == b"a: 1\r\n\r\nb\r\n"


def test_what_a_query_cannot_say_is_uploaded(run: Run, api: FakeApi) -> None:
    api.answers(place(api), ETAG, accepted(1))
    words = ("mail", "send", "mail.eml", "--from", "a@example.com", "--to", "b@example.com", "--yes", "--json")
    assert run(*words, "--at", AT, "--metadata", "ticket=7", "--metadata", "a=b=c", "--expires", AT).lines == [
        {"mail_id": MAIL, "destinations": 1}
    ]
    metadata = {"ticket": "7", "a": "b=c"}
    one = {"address": "b@example.com", "schedule_at": AT, "metadata": metadata}
    assert api.asked[0].json == {"mail_from": "a@example.com", "destinations": [one], "expires_at": AT}
    api.answers(place(api), ETAG, accepted(200))
    many = [word for n in range(200) for word in ("--to", f"somebody-{n}@example.com")]
    assert run(*words, *many).code == 0
    assert len(api.asked[3].json["destinations"]) == 201


def test_a_terminal_is_asked_before_a_mail_is_handed_in(run: Run, api: FakeApi, folder: Path) -> None:
    done = run("mail", "send", "mail.eml", *ENVELOPE[:-1], input="n\n", terminal=True)
    assert (done.code, api.asked) == (1, [])
    assert "Send the mail to 2 destinations through the local cloud? [y/N]" in done.err
    assert "nothing was changed" in done.err


@pytest.mark.parametrize(
    "words",
    [
        ("mail.eml", "--from", "a@example.com"),
        ("mail.eml", "--to", "a@example.com"),
        ("gone.eml", *ENVELOPE),
        ("gone.eml", *ENVELOPE, "--normalise"),
        ("empty.eml", *ENVELOPE),
        ("-", *ENVELOPE),
        ("large.eml", *ENVELOPE),
        ("mail.eml", *ENVELOPE, "--metadata", "x"),
        ("mail.eml", *("--to", "a@example.com") * 999, *ENVELOPE),
    ],
)
def test_what_is_no_mail_is_not_handed_in(
    run: Run, api: FakeApi, folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr(handing, "MAX_BYTES", len(BYTES))
    (folder / "empty.eml").touch()
    (folder / "large.eml").write_bytes(BYTES + b"x")
    assert run("mail", "send", *words, input=BYTES + b"x").code == 2
    assert api.asked == []


def test_a_refusal_names_the_line(run: Run, api: FakeApi) -> None:
    refused = problem(422, "invalid_mail", "The mail cannot be sent as it is.")
    fault = {"field": "content", "message": "A line ends in LF.", "code": "bare_lf", "line": 3}
    api.answers(Answer({**refused.body, "errors": [fault]}, 422))
    done = run("mail", "send", "mail.eml", *ENVELOPE)
    assert done.code == 1
    assert "content: A line ends in LF. (line 3)" in done.err
    assert "code: invalid_mail" in done.err


def test_a_lost_mail_names_the_key_to_repeat_it_by(run: Run, api: FakeApi) -> None:
    api.answers(Answer(drop=True))
    done = run("mail", "send", "mail.eml", *ENVELOPE, "--idempotency-key", "k")
    assert done.code == 5
    assert "with --idempotency-key k nothing is sent twice" in done.err


def test_mails_are_listed(run: Run, api: FakeApi) -> None:
    api.answers(Answer({"items": [summary()], "next_cursor": None}))
    listed = run("mail", "list").out
    assert listed.split()[:3] == ["mail", "id", "state"]
    assert MAIL in listed
    assert api.asked[0].path == "/mails?limit=1000"


def test_a_mail_is_shown_with_all_its_destinations(run: Run, api: FakeApi) -> None:
    first = Answer({**summary(), "destinations": [destination()], "next_cursor": "c"})
    rest = Answer({**summary(), "destinations": [destination("ben@example.org", "gone")], "next_cursor": None})
    api.answers(first, rest)
    shown = run("mail", "show", MAIL).out.splitlines()
    assert shown[0] == f"mail {MAIL} of news@example.com is committed"
    assert shown[1] == "  2 destinations, 52 bytes"
    assert [line.split()[:3] for line in shown[-2:]] == [
        ["ann@example.org", "queued", "1"],
        ["ben@example.org", "gone", "1"],
    ]
    assert [a.path for a in api.asked] == [f"/mails/{MAIL}?limit=1000", f"/mails/{MAIL}?limit=1000&cursor=c"]
    api.answers(first, rest)
    assert [x["destinations"][0]["address"] for x in run("mail", "show", MAIL, "--json").lines] == [
        "ann@example.org",
        "ben@example.org",
    ]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({}, ""),
        ({"error": "smtp_451", "provider": "smtp"}, "refused for now by smtp: the server answered 451 (smtp_451)"),
        ({"state": "inflight", "provider": "smtp", "error": "smtp_451"}, ""),
        ({"state": "gone", "end": "sent", "provider": "smtp"}, "sent by smtp"),
        ({"end": "failed", "provider": "smtp", "error": "own_code"}, "failed by smtp: own_code"),
        (
            {"end": "failed", "provider": "smtp", "error": "5.1.1", "error_detail": "550 5.1.1 Unknown"},
            "failed by smtp: the mailbox does not exist (5.1.1): 550 5.1.1 Unknown",
        ),
        ({"state": "gone", "end": "failed", "error": "expired"}, "failed: it expired before it was sent (expired)"),
        ({"state": "inflight", "end": "unknown", "provider": "smtp", "error": "x"}, "fate unknown by smtp: x"),
    ],
)
def test_the_end_of_a_destination_is_shown_in_words(run: Run, api: FakeApi, found: dict[str, Any], words: str) -> None:
    api.answers(Answer({**summary(), "destinations": [destination(**found)], "next_cursor": None}))
    line = run("mail", "show", MAIL).out.splitlines()[-1]
    assert line.partition(AT)[2].strip() == words


def test_an_open_mail_and_a_notification_are_shown(run: Run, api: FakeApi) -> None:
    api.answers(Answer({**summary(state="open", mail_from="", size=0), "destinations": [], "next_cursor": None}))
    done = run("mail", "show", MAIL)
    assert "of <>, a notification is open" in done.out
    assert done.err == "nothing is queued\n"


def test_a_destination_is_dropped_and_moved(run: Run, api: FakeApi) -> None:
    api.answers(Answer(destination(state="dropped")), Answer(destination()), Answer(destination()))
    where = f"/mails/{MAIL}/destinations/ann%2Bx%40example.org"
    assert run("mail", "drop", MAIL, "ann+x@example.org").out == "ann@example.org is dropped\n"
    moved = run("mail", "reschedule", MAIL, "ann+x@example.org", AT).out
    assert moved == f"ann@example.org is queued, due {AT}\n"
    assert run("mail", "reschedule", MAIL, "ann+x@example.org", "now", "--json").json["state"] == "queued"
    assert [(a.method, a.path) for a in api.asked] == [
        ("DELETE", where),
        ("POST", f"{where}/reschedule"),
        ("POST", f"{where}/reschedule"),
    ]
    assert [a.json for a in api.asked[1:]] == [{"at": AT}, {"at": "2026-09-21T14:13:20Z"}]
    assert NOW == 1_790_000_000


def test_a_destination_in_flight_stays(run: Run, api: FakeApi) -> None:
    api.answers(problem(409, "in_flight", "The destination no longer waits."))
    for words in (("drop", MAIL, "a@example.org"), ("reschedule", MAIL, "a@example.org", AT)):
        done = run("mail", *words)
        assert (done.code, done.out) == (1, "")
        assert "code: in_flight" in done.err
