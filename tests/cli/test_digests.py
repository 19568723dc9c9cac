"""`posthaste event …` and `posthaste digest …`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli import honest
from tests.cli.fakes import Answer, FakeApi, Run
from tests.cli.scripts import AT

WINDOW = "0" * 32 + "-1"
EVENT = {"event_type": "task.failed", "batch_key": "acme/production", "recipients": ["ann@example.org"]}
ONE = ("--type", "task.failed", "--key", "acme/production", "--to", "ann@example.org")


@pytest.fixture(autouse=True)
def described(api: FakeApi) -> Iterator[None]:
    """Afterwards the scripted API must have been one that there could be."""
    yield
    honest.check(api)


def taken(accepted: int = 1) -> Answer:
    piece = {"batch_key": "acme/production", "window_id": WINDOW, "closes_at": AT, "accepted": accepted}
    return Answer({"items": [piece]}, 202)


def window(**changes: Any) -> dict[str, Any]:
    whole = {
        "window_id": WINDOW,
        "batch_key": "acme/production",
        "number": 1,
        "state": "open",
        "urgent": False,
        "opened_at": AT,
        "closes_at": AT,
        "closed_at": None,
        "events": 2,
        "duplicates": 1,
        "groups": 0,
        "job_id": None,
        "fault": None,
        "policy": "acme/",
        "policy_version": 1,
        "test": False,
    }
    return {**whole, **changes}


def policy(**changes: Any) -> dict[str, Any]:
    whole = {
        "prefix": "acme/",
        "version": 1,
        "from": "news@example.com",
        "route": ["one", "two"],
        "channel": "email",
        "window": 300,
        "near": 30,
        "extend": 60,
        "max_age": 1800,
        "max_events": 1000,
        "max_lines": 100,
        **dict.fromkeys(("subject", "template", "text", "line_text")),
        "line": "<li>\n</li>",
        "timezone": "UTC",
        "retention": 604_800,
        "unsubscribe": False,
        "hours": None,
        **dict.fromkeys(("created_at", "saved_at"), AT),
    }
    return {**whole, **changes}


def test_one_event_is_posted_from_options(run: Run, api: FakeApi) -> None:
    api.answers(taken())
    done = run("event", "send", *ONE, "--data", "task=import", "--data", "a=b=c", "--id", "e1", "--urgent")
    assert done.out == f"acme/production: 1 event in window {WINDOW}, until {AT}\n"
    assert api.asked[0].json == {
        **EVENT,
        "data": {"task": "import", "a": "b=c"},
        "event_id": "e1",
        "urgent": True,
    }


def test_events_are_posted_from_a_file_and_once_if_the_answer_is_lost(run: Run, api: FakeApi, folder: Path) -> None:
    (folder / "events.json").write_text(json.dumps([EVENT, EVENT]), encoding="utf-8")
    api.answers(Answer(drop=True), taken(2))
    assert run("event", "send", "events.json", "--json").json["items"][0]["accepted"] == 2
    assert len({(a.headers["Idempotency-Key"], a.body) for a in api.asked}) == 1
    api.answers(taken())
    assert run("event", "send", "-", "--idempotency-key", "k", input=json.dumps(EVENT)).code == 0
    assert api.asked[-1].headers["Idempotency-Key"] == "k"


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--type", "x"),
        ("events.json", *ONE),
        ("gone.json",),
        (*ONE, "--data", "x"),
        ("-",),
    ],
)
def test_an_event_is_named_in_one_way(run: Run, api: FakeApi, folder: Path, words: tuple[str, ...]) -> None:
    (folder / "events.json").write_text("[]", encoding="utf-8")
    assert run("event", "send", *words, input="{").code == 2
    assert api.asked == []


def test_windows_are_listed_shown_closed_and_cancelled(run: Run, api: FakeApi) -> None:
    api.answers(Answer({"items": [window()], "next_cursor": None}))
    listed = run("digest", "list", "--state", "open", "--key", "acme/production").out
    assert WINDOW in listed
    assert api.asked[0].path == "/digests?limit=1000&state=open&batch_key=acme%2Fproduction"
    job = "j" * 26
    made = window(state="processed", job_id=job, groups=1, fault="x", closed_at=AT)
    api.answers(Answer(made), Answer(window(state="closed")), Answer(window(state="cancelled")))
    shown = run("digest", "show", WINDOW).out
    assert "2 events, 1 left out as repeats, 1 group" in shown
    assert f"job {job}" in shown
    assert "not made at the last try: x" in shown
    assert "is closed" in run("digest", "close", WINDOW, "--yes").out
    assert run("digest", "cancel", WINDOW, "--json").json["state"] == "cancelled"
    assert [(a.method, a.path) for a in api.asked[1:]] == [
        ("GET", f"/digests/{WINDOW}"),
        ("POST", f"/digests/{WINDOW}/close"),
        ("DELETE", f"/digests/{WINDOW}"),
    ]


def test_a_close_asks_with_the_number_of_events(run: Run, api: FakeApi) -> None:
    api.answers(Answer(window()))
    no = run("digest", "close", WINDOW, terminal=True, input="n\n")
    asked = "Send the digest of 2 events of acme/production now, through the local cloud? [y/N]:"
    assert (no.code, no.err) == (1, f"{asked}nothing was changed; the window is open\n")
    assert [x.method for x in api.asked] == ["GET"]
    api.answers(Answer(window()), Answer(window(state="closed")))
    assert "is closed" in run("digest", "close", WINDOW, terminal=True, input="y\n").out


@pytest.mark.parametrize("state", ["closed", "processed"])
def test_a_close_asks_nothing_about_a_window_that_has_closed(run: Run, api: FakeApi, state: str) -> None:
    api.answers(Answer(window(state=state)))
    done = run("digest", "close", WINDOW, terminal=True)
    assert (done.code, done.err, f"is {state}" in done.out) == (0, "", True)
    assert [x.method for x in api.asked] == ["GET", "POST"]


def test_a_policy_is_set_from_options_or_a_file(run: Run, api: FakeApi, folder: Path) -> None:
    (folder / "line.html").write_text("<li>{{ task }}</li>", encoding="utf-8")
    api.answers(Answer(policy()), Answer(policy(version=2)), Answer(policy()))
    words = ("--from", "news@example.com", "--window", "60", "--route", "one", "--line", "line.html", "--unsubscribe")
    assert run("digest", "policy", "set", "acme/", *words).out.startswith("policy acme/, version 1")
    assert (api.asked[0].method, api.asked[0].path) == ("PUT", "/digest-policies/acme%2F")
    assert api.asked[0].json == {
        "from": "news@example.com",
        "window": 60,
        "route": ["one"],
        "line": "<li>{{ task }}</li>",
        "unsubscribe": True,
        "channel": "email",
    }
    given = json.dumps({"from": "news@example.com"})
    assert run("digest", "policy", "set", "acme/", "--file", "-", "--json", input=given).json["version"] == 2
    assert run("digest", "policy", "set", "acme/", "--channel", "sms").code == 0
    assert api.asked[2].json == {"channel": "sms"}
    hours = {"from": "09:00", "to": "20:00", "zone": "Europe/Paris"}
    api.answers(Answer(policy(hours={**hours, "days": None, "fallback": None})))
    assert run("digest", "policy", "set", "acme/", "--channel", "sms", "--hours", "09:00-20:00 Europe/Paris").code == 0
    assert api.asked[3].json == {"channel": "sms", "hours": hours}
    assert "hours: 09:00-20:00 Europe/Paris" in run("digest", "policy", "show", "acme/").out
    for wrong in ((), ("--file", "-", "--window", "9"), ("--file", "gone.json"), ("--file", "-")):
        assert run("digest", "policy", "set", "acme/", *wrong, input="{").code == 2
    assert len(api.asked) == 5


def test_policies_are_listed_shown_previewed_and_deleted(run: Run, api: FakeApi, folder: Path) -> None:
    looks = {"from": "news@example.com", "subject": "3 events", "html": "<p>3</p>", "text": "a\nb", "sms": None}
    api.answers(
        Answer({"items": [policy()], "next_cursor": None}),
        Answer(policy()),
        Answer(looks),
        Answer({"deleted": True}),
    )
    assert "acme/" in run("digest", "policy", "list").out
    shown = run("digest", "policy", "show", "acme/").out
    assert "  route: one, two\n" in shown
    assert "  line | <li>\n" in shown
    assert "subject" not in shown
    seen = run("digest", "policy", "preview", "acme/", "--html", "mail.html").out
    assert seen == "from: news@example.com\nsubject: 3 events\na\nb\n"
    assert (folder / "mail.html").read_text("utf-8") == "<p>3</p>"
    assert run("digest", "policy", "delete", "acme/").out == "policy acme/ is deleted\n"
    assert [a.path for a in api.asked] == [
        *("/digest-policies?limit=1000", "/digest-policies/acme%2F", "/digest-policies/acme%2F/preview"),
        "/digest-policies/acme%2F",
    ]
