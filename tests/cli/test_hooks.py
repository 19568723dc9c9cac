"""`posthaste hook …` against a scripted API."""

import json
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.cli import honest
from tests.cli.fakes import Answer, FakeApi, FakeClock, Run
from tests.cli.scripts import AT, problem
from tests.cli.tree import commands, params

HOOK: Final = "hook_01m3250v00n197k5j0fjpyam13"
SECRET: Final = "whsec_" + "A" * 43 + "="
URL: Final = "https://shop.example.com/posthaste"
DELIVERY: Final = "1790000000000.evt_1"


@pytest.fixture(autouse=True)
def scripted(api: FakeApi) -> Iterator[None]:
    """Afterwards the scripted API must have been one that there could be."""
    yield
    honest.check(api)


def endpoint(**changes: Any) -> dict[str, Any]:
    whole = {
        "hook_id": HOOK,
        "id": HOOK,
        "url": URL,
        "events": ["message.failed"],
        "description": "",
        "batch": False,
        "format": "standard",
        "state": "enabled",
        "test": False,
        "created_at": AT,
        "disabled_at": None,
        "reason": None,
        "previous_secret_until": None,
    }
    return {**whole, **changes}


def details(**changes: Any) -> dict[str, Any]:
    return endpoint(**{"failing_since": None, "paused_until": None, "replay": None, **changes})


def delivery(**changes: Any) -> dict[str, Any]:
    whole = {
        "id": DELIVERY,
        "webhook_id": "evt_1",
        "type": "message.failed",
        "batch": False,
        "state": "pending",
        "created_at": AT,
        "due_at": AT,
        "attempts": [{"at": AT, "status": None, "ms": 12, "body": "", "error": "connection_refused"}],
    }
    return {**whole, **changes}


def test_create_prints_only_the_secret_on_stdout(run: Run, api: FakeApi) -> None:
    api.answers(Answer({**endpoint(state="proving"), "secret": SECRET}, 201))
    done = run("hook", "create", URL, "--event", "message.failed", "--batch", "--description", "Shop")
    assert (done.code, done.out) == (0, f"{SECRET}\n"), done.err
    assert HOOK in done.err
    assert SECRET not in done.err
    asked = {"url": URL, "events": ["message.failed"], "batch": True, "description": "Shop"}
    assert (api.asked[0].path, api.asked[0].json) == ("/hooks", asked)
    assert run("hook", "create", URL, "--json").json["secret"] == SECRET
    assert api.asked[1].json == {"url": URL, "events": ["*"]}


def test_a_lost_answer_to_create_is_not_asked_for_again(run: Run, api: FakeApi) -> None:
    api.answers(Answer(drop=True))
    assert run("hook", "create", URL).code == 5
    assert len(api.asked) == 1


def test_list_has_a_line_for_each(run: Run, api: FakeApi) -> None:
    api.answers(Answer({"items": [endpoint(), endpoint(url=None, batch=True)], "next_cursor": None}))
    shown = run("hook", "list").out.splitlines()
    assert shown[0].split() == ["id", "state", "batch", "format", "created", "at", "url"]
    assert shown[1].endswith(URL)
    assert shown[2].endswith("(fetched)")
    assert [x["id"] for x in run("hook", "list", "--json").lines] == [HOOK, HOOK]
    api.answers(Answer({"items": [], "next_cursor": None}))
    assert "posthaste hook create" in run("hook", "list").err


def test_show_says_why_an_endpoint_is_disabled(run: Run, api: FakeApi) -> None:
    replay = {"since": AT, "until": AT, "state": None, "ordered_at": AT}
    api.answers(Answer(details(state="disabled", disabled_at=AT, reason="failing", failing_since=AT, replay=replay)))
    shown = run("hook", "show", HOOK).out
    assert shown.startswith(f"{HOOK} is disabled since {AT}: failing\n")
    assert f"  failing since: {AT}" in shown
    assert f"  replay: since {AT}, until {AT}, ordered_at {AT}" in shown
    assert run("hook", "show", HOOK, "--json").json["reason"] == "failing"


def test_update_sends_only_what_was_given(run: Run, api: FakeApi) -> None:
    api.answers(Answer(endpoint(state="disabled", disabled_at=AT, reason="owner")))
    assert run("hook", "update", HOOK, "--disable").out == f"{HOOK} is disabled since {AT}: owner\n"
    api.answers(Answer(endpoint(state="proving")))
    words = ("--event", "*", "--no-batch", "--format", "slack", "--url", URL, "--description", "", "--enable")
    assert run("hook", "update", HOOK, *words).out == f"{HOOK} is proving\n"
    assert [x.json for x in api.asked] == [
        {"disabled": True},
        {"url": URL, "events": ["*"], "description": "", "batch": False, "format": "slack", "disabled": False},
    ]
    assert {x.method for x in api.asked} == {"PATCH"}


@pytest.mark.parametrize(
    "words",
    [
        ("update", HOOK),
        ("update", HOOK, "--enable", "--disable"),
        ("deliveries", HOOK, "--state", "lost"),
        ("replay", HOOK, "--since", "1d", "--state", "pending"),
        ("show", ".."),
        ("retry", HOOK, "."),
    ],
)
def test_wrong_words_ask_nothing(run: Run, api: FakeApi, words: tuple[str, ...]) -> None:
    refused = run("hook", *words)
    assert (refused.code, api.asked) == (2, [])
    assert refused.err.count("\n") == 1


def test_rotate_prints_only_the_new_secret(run: Run, api: FakeApi) -> None:
    api.answers(Answer({**endpoint(previous_secret_until=AT), "secret": SECRET}))
    done = run("hook", "rotate", HOOK)
    assert (done.out, AT in done.err) == (f"{SECRET}\n", True)
    assert api.asked[0].path == f"/hooks/{HOOK}/rotate"
    api.answers(Answer(drop=True))
    assert run("hook", "rotate", HOOK).code == 5
    assert len(api.asked) == 2, "a second rotation would end the first secret"


def test_test_and_delete(run: Run, api: FakeApi) -> None:
    api.answers(Answer(delivery(type="test", attempts=[]), 202), Answer({"deleted": True}))
    assert DELIVERY in run("hook", "test", HOOK).out
    assert run("hook", "delete", HOOK).out == f"{HOOK} is deleted\n"
    assert [(x.method, x.path) for x in api.asked] == [("POST", f"/hooks/{HOOK}/test"), ("DELETE", f"/hooks/{HOOK}")]


def test_deliveries_show_their_last_attempt(run: Run, api: FakeApi) -> None:
    answered = {"at": AT, "status": 500, "ms": 7, "body": "Oops", "error": None}
    api.answers(
        Answer({"items": [delivery()], "next_cursor": "more"}),
        Answer({"items": [delivery(state="failed", due_at=None, attempts=[answered])], "next_cursor": None}),
    )
    header, first, second = run("hook", "deliveries", HOOK, "--state", "pending").out.splitlines()
    assert header.split()[-1] == "last"
    assert first.endswith("connection_refused in 12 ms")
    assert second.endswith("500 in 7 ms")
    assert dict(parse_qsl(urlsplit(api.asked[0].path).query))["state"] == "pending"
    api.answers(Answer({"items": [delivery(attempts=[])], "next_cursor": None}))
    assert run("hook", "deliveries", HOOK, "--json").lines == [delivery(attempts=[])]


def test_retry_and_replay(run: Run, api: FakeApi) -> None:
    api.answers(Answer(delivery(), 202))
    assert run("hook", "retry", HOOK, DELIVERY).code == 0
    assert api.asked[0].path == f"/hooks/{HOOK}/deliveries/{DELIVERY}/retry"
    api.answers(Answer({"since": AT, "until": AT, "state": None, "ordered_at": AT}, 202))
    assert run("hook", "replay", HOOK, "--since", "2h", "--until", AT, "--state", "failed").code == 0
    assert run("hook", "replay", HOOK, "--since", AT).code == 0
    assert [x.json for x in api.asked[1:]] == [
        {"since": "2026-09-21T12:13:20Z", "until": AT, "state": "failed"},
        {"since": AT},
    ]
    api.answers(problem(409, "replay_running", "Wait."))
    assert "replay_running" in run("hook", "replay", HOOK, "--since", "2h").err


@pytest.mark.parametrize(
    "command", [x for x in sorted(commands()) if x[0] == "hook" and x[1] != "listen"], ids=" ".join
)
def test_each_command_but_listen_may_mean_the_deployments_own(command: tuple[str, ...]) -> None:
    assert [x.name for x in params(command)][-4:] == ["deployment", "stage", "aws", "json"]


# Listening

BODY: Final = json.dumps({"type": "job.logged", "timestamp": AT, "data": {"job_id": "j" * 26}})
BATCH: Final = json.dumps(
    {
        "type": "batch",
        "timestamp": AT,
        "data": [
            {"id": "evt_1", "type": "message.failed", "timestamp": AT, "data": {"recipient": "\u001b[31m" + "x" * 300}},
            {"id": "evt_2", "type": "message.failed", "timestamp": AT, "data": {"recipient": "b"}},
        ],
    }
)
HEADERS: Final = {"content-type": "application/json", "webhook-id": "evt_1", "webhook-signature": "v1,x"}


def outgoing(kind: str = "job.logged", body: str = BODY) -> Answer:
    return Answer({"items": [{"id": DELIVERY, "type": kind, "headers": HEADERS, "body": body}]})


def created() -> Answer:
    return Answer({**endpoint(url=None, events=["*"]), "secret": SECRET}, 201)


ENDED: Final = Answer(delivery(state="delivered"))
DELETED: Final = Answer({"deleted": True})


@pytest.fixture
def receiver() -> Iterator[FakeApi]:
    fake = FakeApi()
    yield fake
    fake.close()


def interrupted(clock: FakeClock, after: int = 1) -> None:
    """Have Ctrl-C pressed in a pause."""

    def press(n: int) -> None:
        if n >= after:
            raise KeyboardInterrupt

    clock.on_sleep = press


def test_listen_prints_and_forwards_what_is_due(run: Run, api: FakeApi, receiver: FakeApi, clock: FakeClock) -> None:
    receiver.answers(Answer(raw=b"thanks", status=202))
    api.answers(created(), outgoing(), ENDED, Answer({"items": []}), DELETED)
    interrupted(clock)
    done = run("hook", "listen", "--forward-to", f"{receiver.url}/hooks?a=1", "--event", "job.logged")
    assert done.code == 130
    assert done.out == f'{AT}  job.logged  {{"job_id":"{"j" * 26}"}}\n'
    assert SECRET in done.err
    assert f"{DELIVERY}: answered 202 in 0 ms\n" in done.err
    (got,) = receiver.asked
    assert (got.method, got.path, got.body.decode()) == ("POST", "/hooks?a=1", BODY)
    assert {k.lower(): v for k, v in got.headers.items()}.items() >= HEADERS.items()
    asked = [(x.method, urlsplit(x.path).path) for x in api.asked]
    pending = f"/hooks/{HOOK}/pending"
    assert asked == [
        ("POST", "/hooks/listen"),
        ("GET", pending),
        ("POST", f"{pending}/{DELIVERY}/done"),
        ("GET", pending),
        ("DELETE", f"/hooks/{HOOK}"),
    ]
    assert api.asked[0].json == {"events": ["job.logged"]}
    assert api.asked[2].json["status"] == 202
    assert api.asked[2].json["answer"] == "thanks"


def test_listen_prints_json_with_the_whole_event_and_what_the_program_answered(
    run: Run, api: FakeApi, receiver: FakeApi, clock: FakeClock
) -> None:
    receiver.answers(Answer(raw=b"no", status=500))
    api.answers(created(), outgoing(), ENDED, Answer({"items": []}), DELETED)
    interrupted(clock)
    (line,) = run("hook", "listen", "--forward-to", receiver.url, "--json").lines
    body = line.pop("body")
    assert line == {
        "id": DELIVERY,
        "type": "job.logged",
        "status": 500,
        "ms": 0,
        "answer": "no",
        "retry": f"posthaste hook retry {HOOK} {DELIVERY}",
    }
    assert body == json.loads(BODY)


def test_listen_says_when_no_event_is_missed_any_more(run: Run, api: FakeApi, clock: FakeClock) -> None:
    new = Answer({**endpoint(url=None, state="proving"), "secret": SECRET}, 201)
    nothing, proving, enabled = Answer({"items": []}), Answer(details(state="proving")), Answer(details())
    api.answers(new, proving, nothing, enabled, nothing, nothing, DELETED)
    interrupted(clock, after=3)
    assert [x for x in run("hook", "listen").err.splitlines() if x.startswith(("secret", "ready"))] == [
        f"secret: {SECRET}",
        "ready: from now on no event is missed",
    ]
    gets = [x.path for x in api.asked if x.method == "GET" and "pending" not in x.path]
    assert gets == [f"/hooks/{HOOK}"] * 2, "it asks until then"


def test_listen_without_a_program_takes_every_event(run: Run, api: FakeApi, clock: FakeClock) -> None:
    api.answers(created(), outgoing("message.failed", BATCH), ENDED, Answer({"items": []}), DELETED)
    interrupted(clock)
    first, second = run("hook", "listen").out.splitlines()
    assert "\u001b" not in first
    assert first.endswith("…")
    assert second == f'{AT}  message.failed  {{"recipient":"b"}}'
    assert (api.asked[0].json, api.asked[2].json) == ({"events": ["*"]}, {"status": 204, "ms": 0, "answer": ""})


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        (Answer(drop=True), 0, "no answer"),
        (Answer({}, 500), 500, "answered 500"),
        (Answer({}, 302, {"Location": "http://127.0.0.1:1/"}), 302, "answered 302"),
    ],
)
def test_a_program_that_fails_is_reported(
    run: Run, api: FakeApi, receiver: FakeApi, clock: FakeClock, answer: Answer, status: int, said: str
) -> None:
    receiver.answers(answer)
    api.answers(created(), outgoing(), Answer(delivery(state="failed")), Answer({"items": []}), DELETED)
    interrupted(clock)
    done = run("hook", "listen", "--forward-to", receiver.url)
    assert f"{DELIVERY}: {said}" in done.err
    assert f"posthaste hook retry {HOOK} {DELIVERY}\n" in done.err
    assert api.asked[2].json["status"] == status
    assert len(receiver.asked) == 1


def test_the_listener_goes_even_if_it_cannot_be_deleted(run: Run, api: FakeApi, clock: FakeClock) -> None:
    api.answers(created(), Answer({"items": []}), problem(404, "not_found", "Gone."))
    interrupted(clock)
    done = run("hook", "listen", "--json")
    assert (done.code, done.out) == (130, "")
    assert "error" not in done.err


def test_an_address_that_is_none_asks_nothing(run: Run, api: FakeApi) -> None:
    for text in ("http://[::", "localhost:3000", "http://:3000", "http://a:99999", "ftp://a/", "http://ä/"):
        assert (run("hook", "listen", "--forward-to", text).code, api.asked) == (2, [])
