"""Resend's API: what its SDK sends is accepted, keys are honoured, what it refuses is refused in its words."""

import contextlib
import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import resend
from resend.exceptions import ResendError
from standardwebhooks.webhooks import Webhook

from simulator import ControlError, Simulator
from simulator.log import AcceptedRows, Log
from simulator.model import Context, Request
from simulator.vendors.resend import KEY_SECONDS, Resend
from tests.simulator.conftest import STANDARD, Answer, Target

PROVIDER, CREDENTIAL = "resend", "main"
MAIL = {"from": "News <news@sender.example>", "to": ["ada@example.com"], "subject": "Hello", "text": "Hi"}
TAGS = [{"name": "posthaste_ref", "value": "job-1-0-1"}]


@pytest.fixture
def vendor(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> type[resend.Emails]:
    monkeypatch.setattr(resend, "api_url", sim.base_url(PROVIDER, CREDENTIAL))
    monkeypatch.setattr(resend, "api_key", "re_simulator")
    sim.control.webhooks(PROVIDER, CREDENTIAL, url="", delay={"ms": 1}, parallel=1, duplicate=0, mix={})
    return resend.Emails


def send(sim: Simulator, body: Any = None, *, path: str = "/emails", method: str = "POST", **headers: str) -> Answer:
    parts = urlsplit(sim.base_url(PROVIDER, CREDENTIAL))
    connection = http.client.HTTPConnection(parts.netloc, timeout=10)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    given = {"Authorization": "Bearer re_simulator", "Content-Type": "application/json", **STANDARD, **named}
    try:
        data = body if isinstance(body, bytes) else json.dumps(MAIL if body is None else body)
        connection.request(method, parts.path + path, data, {k: v for k, v in given.items() if v})
        response = connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


def log(sim: Simulator) -> list[dict[str, Any]]:
    return sim.control.log(PROVIDER, CREDENTIAL)


def test_a_mail_of_the_vendors_sdk_is_accepted(sim: Simulator, vendor: type[resend.Emails]) -> None:
    files: Any = [{"filename": "a.txt", "content": "aGVsbG8=", "content_id": "a"}]
    mail: Any = {**MAIL, "cc": "Cc <cc@example.com>", "bcc": ["b@example.com"], "reply_to": "r@example.com"}
    mail |= {"html": "<p>Hi</p>", "headers": {"X-A": "b"}, "tags": TAGS, "attachments": files}
    answer = vendor.send(mail)
    assert {line["message_id"] for line in log(sim)} == {answer["id"]}
    assert [(line["recipient"], line["role"], line["ref"]) for line in log(sim)] == [
        ("ada@example.com", "to", "job-1-0-1"),
        ("cc@example.com", "cc", "job-1-0-1"),
        ("b@example.com", "bcc", "job-1-0-1"),
    ]
    shown = sim.control.json("GET", f"/inbox/{log(sim)[0]['seq']}.json")
    assert (shown["attachments"], shown["headers"]) == (["a.txt"], {"X-A": "b"})


# Keys


def test_a_key_is_taken_once_and_answered_alike(sim: Simulator, vendor: type[resend.Emails]) -> None:
    mail: Any = {**MAIL, "tags": TAGS}
    first = vendor.send(mail, {"idempotency_key": "k1"})
    assert vendor.send(mail, {"idempotency_key": "k1"})["id"] == first["id"]
    assert vendor.send(mail, {"idempotency_key": "k2"})["id"] != first["id"]
    assert vendor.send(mail)["id"] != vendor.send(mail)["id"]
    assert len(log(sim)) == 4
    with pytest.raises(ResendError) as raised:
        vendor.send(mail | {"subject": "Other"}, {"idempotency_key": "k1"})
    assert (raised.value.code, raised.value.error_type) == (409, "invalid_idempotent_request")
    assert len(log(sim)) == 4


def test_what_was_not_taken_leaves_its_key_free(sim: Simulator) -> None:
    for mode in ("503", "429", "401", "500"):
        sim.control.faults(PROVIDER, CREDENTIAL, mode=mode)
        assert send(sim, Idempotency_Key="free").status == int(mode)
    sim.control.faults(PROVIDER, CREDENTIAL)
    assert send(sim, {**MAIL, "subject": ""}, Idempotency_Key="free").status == 422
    assert send(sim, {**MAIL, "subject": "Other"}, Idempotency_Key="free").status == 200
    assert len(log(sim)) == 1


@pytest.mark.parametrize("fault", [{"mode": "accept_and_drop"}, {"mode": "500", "accept": True}])
def test_what_was_taken_unheard_is_answered_under_its_key(sim: Simulator, fault: dict[str, Any]) -> None:
    sim.control.faults(PROVIDER, CREDENTIAL, **fault)
    with contextlib.suppress(http.client.RemoteDisconnected):
        assert send(sim, Idempotency_Key="unheard").status == 500
    sim.control.faults(PROVIDER, CREDENTIAL)
    answer = send(sim, Idempotency_Key="unheard")
    assert [line["message_id"] for line in log(sim)] == [answer.json()["id"]]


def meanwhile(sim: Simulator, seconds: float) -> tuple[Answer, Answer]:
    """Call twice with one key: again when the first call is taken, which is answered only after so many seconds."""
    sim.control.reset()
    sim.control.faults(PROVIDER, CREDENTIAL, mode="slow", after_s=seconds, count=1)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(send, sim, Idempotency_Key="slow")
        while not log(sim):
            continue
        second = send(sim, Idempotency_Key="slow")
        return first.result(), second


def test_a_key_in_progress_is_a_conflict(sim: Simulator) -> None:
    first, second = meanwhile(sim, 0.5)
    if second.status != 409:  # on a machine that stood still for so long the first had its answer already
        first, second = meanwhile(sim, 5)
    assert (second.status, second.json()["name"]) == (409, "concurrent_idempotent_requests")
    assert send(sim, Idempotency_Key="slow").json() == first.json()
    assert len(log(sim)) == 1


def test_a_key_is_forgotten_after_a_day_and_by_a_reset(sim: Simulator) -> None:
    first = send(sim, Idempotency_Key="k").json()
    sim.control.reset()
    assert send(sim, Idempotency_Key="k").json() != first

    provider, memory = Resend(), dict[str, Any]()
    headers = [(b"authorization", b"Bearer k"), (b"user-agent", b"t"), (b"idempotency-key", b"key")]
    request = Request("POST", "/emails", b"", headers, json.dumps(MAIL).encode(), 100)

    def receive(at: float) -> int:
        answer = provider.receive(
            request, Context("c", frozenset("k"), f"id{at}", at, AcceptedRows(Log(), "resend", "c"), memory)
        )
        for message in answer.messages:
            message.call = FINISHED
        return len(answer.messages)

    assert [receive(at) for at in (0, KEY_SECONDS - 1, KEY_SECONDS, KEY_SECONDS + 1)] == [1, 0, 1, 0]


class Finished:
    finished = True


FINISHED: Any = Finished()


@pytest.mark.parametrize("key", ["x" * 257])
def test_a_key_that_is_too_long(sim: Simulator, key: str) -> None:
    answer = send(sim, Idempotency_Key=key)
    assert (answer.status, answer.json()["name"]) == (400, "invalid_idempotency_key")
    assert send(sim, Idempotency_Key="x" * 256).status == 200
    assert len(log(sim)) == 1


# Refusals


@pytest.mark.parametrize(
    ("changes", "status", "name"),
    [
        ({"Authorization": ""}, 401, "missing_api_key"),
        ({"Authorization": "Bearer re_wrong"}, 403, "invalid_api_key"),
        ({"path": "/mails"}, 404, "not_found"),
        ({"method": "GET"}, 405, "method_not_allowed"),
    ],
)
def test_keys_paths_and_methods(sim: Simulator, changes: dict[str, str], status: int, name: str) -> None:
    answer = send(sim, **changes)
    assert (answer.status, answer.json()["name"], answer.json()["statusCode"]) == (status, name, status)
    assert log(sim) == []


def test_without_a_user_agent_the_edge_refuses(sim: Simulator) -> None:
    answer = send(sim, User_Agent="")
    assert (answer.status, answer.body) == (403, b"error code: 1010")
    assert log(sim) == []


WRONG: dict[str, tuple[Any, int, str, str]] = {
    "not JSON": (b"{", 400, "validation_error", "valid JSON"),
    "no object": ([], 400, "validation_error", "object"),
    "unknown field": ({**MAIL, "x": 1}, 422, "validation_error", "`x`"),
    "no from": ({**MAIL, "from": ""}, 422, "missing_required_field", "`from`"),
    "no to": ({**MAIL, "to": []}, 422, "missing_required_field", "`to`"),
    "no subject": ({**MAIL, "subject": ""}, 422, "missing_required_field", "`subject`"),
    "no content": ({**MAIL, "text": ""}, 422, "missing_required_field", "`html` or `text`"),
    "text": ({**MAIL, "text": 7}, 422, "validation_error", "`text`"),
    "bad to": ({**MAIL, "to": ["ada"]}, 422, "validation_error", "Invalid `to` field"),
    "two in one": ({**MAIL, "to": ["a@example.com, b@example.com"]}, 422, "validation_error", "Invalid `to` field"),
    "51 to": ({**MAIL, "to": [f"a{n}@example.com" for n in range(51)]}, 422, "validation_error", "maximum is 50"),
    "bad cc": ({**MAIL, "cc": "x"}, 422, "validation_error", "Invalid `cc` field"),
    "bad from": ({**MAIL, "from": "News"}, 422, "validation_error", "Invalid `from` field"),
    "reply to": ({**MAIL, "reply_to": [7]}, 422, "validation_error", "Invalid `reply_to` field"),
    "domain": ({**MAIL, "from": "a@unknown.example"}, 403, "validation_error", "domain is not verified"),
    "headers": ({**MAIL, "headers": {"X": 1}}, 422, "validation_error", "`headers`"),
    "tag with a dot": ({**MAIL, "tags": [{"name": "a", "value": "b.c"}]}, 422, "validation_error", "ASCII letters"),
    "many tags": (
        {**MAIL, "tags": [{"name": f"n{n}", "value": "v"} for n in range(76)]},
        422,
        "validation_error",
        "maximum is 75",
    ),
    "file": ({**MAIL, "attachments": [{"filename": "a"}]}, 422, "invalid_attachment", "`content` or `path`"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_request_has_the_vendors_error_and_stores_nothing(sim: Simulator, name: str) -> None:
    body, status, error, text = WRONG[name]
    answer = send(sim, body, Idempotency_Key="wrong")
    assert (answer.status, answer.json()["name"], answer.json()["statusCode"]) == (status, error, status)
    assert text in answer.json()["message"]
    assert log(sim) == []


@pytest.mark.parametrize("to", ['"Ada, \\"A\\" <x>" <ada@example.com>', "Zoë <ada@example.com>", "ada@example.com"])
def test_names_may_be_quoted(sim: Simulator, to: str) -> None:
    assert send(sim, {**MAIL, "to": to}).status == 200
    assert [line["recipient"] for line in log(sim)] == ["ada@example.com"]


def test_faults_are_in_the_vendors_words(sim: Simulator) -> None:
    sim.control.faults(PROVIDER, CREDENTIAL, mode="429", retry_after_s=3)
    answer = send(sim)
    assert (answer.status, answer.json()["name"], answer.headers["retry-after"]) == (429, "rate_limit_exceeded", "3")
    sim.control.faults(PROVIDER, CREDENTIAL, mode="503")
    assert send(sim).json()["name"] == "service_unavailable"


# Webhooks


def test_each_event_is_a_post_that_the_vendors_sdks_verify(
    sim: Simulator, target: Target, vendor: type[resend.Emails]
) -> None:
    sim.control.webhooks(PROVIDER, CREDENTIAL, url=target.url)
    mail: Any = {**MAIL, "to": ["Ädä <ada@example.com>"], "tags": TAGS}
    answer = vendor.send(mail)
    sim.control.flush()
    secret = sim.control.keys(PROVIDER)["webhook_signing_secret"]
    assert [json.loads(p.body)["type"] for p in target.posts] == ["email.sent", "email.delivered"]
    for post in target.posts:
        event = json.loads(post.body)
        headers = {name.removeprefix("svix-"): post.headers[name] for name in post.headers if "svix" in name}
        options: Any = {"payload": post.body.decode(), "headers": headers, "webhook_secret": secret}
        assert resend.Webhooks.verify(options) == event
        standard = {f"webhook-{name}": value for name, value in headers.items()}
        assert Webhook(secret).verify(post.body, standard) == event
        options["payload"] += " "
        with pytest.raises(ValueError, match="no matching signature"):
            resend.Webhooks.verify(options)
        assert event["data"]["email_id"] == answer["id"]
        assert event["data"]["tags"] == {"posthaste_ref": "job-1-0-1"}
        assert event["data"]["to"] == ["ada@example.com"]
    assert len({p.headers["svix-id"] for p in target.posts}) == 2


@pytest.mark.parametrize(
    ("local", "events"),
    [
        ("bounce", [("email.sent", ""), ("email.bounced", "Permanent")]),
        ("blocked", [("email.sent", ""), ("email.bounced", "Transient")]),
        ("drop", [("email.suppressed", "")]),
        ("defer", [("email.sent", ""), ("email.delivery_delayed", ""), ("email.delivered", "")]),
        ("expire", [("email.sent", ""), ("email.delivery_delayed", ""), ("email.bounced", "Transient")]),
        ("spam", [("email.sent", ""), ("email.delivered", ""), ("email.complained", "")]),
        ("silent", []),
    ],
)
def test_the_local_part_decides_what_becomes_of_a_message(
    sim: Simulator, target: Target, vendor: type[resend.Emails], local: str, events: list[tuple[str, str]]
) -> None:
    sim.control.webhooks(PROVIDER, CREDENTIAL, url=target.url)
    send(sim, {**MAIL, "to": [f"{local}+7@example.com"]})
    sim.control.flush()
    found = [json.loads(p.body) for p in target.posts]
    assert [(e["type"], e["data"].get("bounce", {}).get("type", "")) for e in found] == events


def test_an_unknown_behaviour_is_refused(sim: Simulator) -> None:
    with pytest.raises(ControlError, match="no behaviour explode"):
        sim.control.webhooks(PROVIDER, CREDENTIAL, mix={"explode": 1})


def test_the_signing_secret_is_kept_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "resend.pem"
    first = Resend(file).describe()
    assert file.stat().st_mode & 0o777 == 0o600
    assert Resend(file).describe() == first
    assert Resend(None).describe() != first
