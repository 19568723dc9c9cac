"""Mailgun's messages and events: what its SDK sends is accepted, what it refuses is refused in its words."""

import base64
import http.client
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from mailgun.builders import MailgunMessageBuilder
from mailgun.client import Client
from mailgun.security import SecurityGuard

from simulator import ControlError, Simulator
from simulator.vendors.mailgun.messages import Mailgun
from tests.simulator.conftest import STANDARD, Answer, Target

PROVIDER, CREDENTIAL, DOMAIN = "mailgun", "main", "mg.sender.example"
MAIL = {"from": "News <news@sender.example>", "to": "ada@example.com", "subject": "Hello", "text": "Hi"}
FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def vendor(sim: Simulator) -> Iterator[Client]:
    with Client(auth=("api", "key-simulator"), api_url=sim.base_url(PROVIDER, CREDENTIAL)) as client:
        yield client


def call(
    sim: Simulator, method: str, path: str, body: Any = None, kind: str = FORM, key: str = "api:key-simulator"
) -> Answer:
    parts = urlsplit(sim.base_url(PROVIDER, CREDENTIAL))
    connection = http.client.HTTPConnection(parts.netloc, timeout=10)
    headers = {"Authorization": "Basic " + base64.b64encode(key.encode()).decode(), "Content-Type": kind, **STANDARD}
    try:
        data = urlencode(body, doseq=True) if isinstance(body, dict) else body
        connection.request(method, parts.path + path, data, headers)
        response = connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


def send(sim: Simulator, body: Any = None, **options: Any) -> Answer:
    return call(sim, "POST", f"/v3/{DOMAIN}/messages", MAIL if body is None else body, **options)


def log(sim: Simulator) -> list[dict[str, Any]]:
    return sim.control.log(PROVIDER, CREDENTIAL)


def test_a_batch_of_the_vendors_sdk_is_accepted_and_each_gets_their_own(sim: Simulator, vendor: Client) -> None:
    people = {"Ada@Example.com": {"name": "Ada", "ref": "job-1-0-1"}, "bob@example.com": {"name": "Bob", "ref": "x"}}
    builder = MailgunMessageBuilder("News <news@sender.example>")
    for address in people:
        builder.add_recipient(address)
    builder.set_subject("Dear %recipient.name%").set_html("<p>%recipient.name%, %recipient.age%, %recipient%</p>")
    builder.set_recipient_variables(people).add_custom_variable("posthaste_ref", "%recipient.ref%")
    payload, files = builder.build()

    answer = vendor.messages.create(domain=DOMAIN, data=payload, files=files)

    assert answer.status_code == 200
    assert answer.json()["message"] == "Queued. Thank you."
    assert answer.json()["id"].startswith("<")
    assert answer.json()["id"].endswith(f"@{DOMAIN}>")
    lines = log(sim)
    assert {f"<{line['message_id']}>" for line in lines} == {answer.json()["id"]}
    assert [(line["recipient"], line["ref"], line["subject"]) for line in lines] == [
        ("Ada@Example.com", "job-1-0-1", "Dear Ada"),
        ("bob@example.com", "x", "Dear Bob"),
    ]
    shown = {line["recipient"]: sim.control.json("GET", f"/inbox/{line['seq']}.json")["html"] for line in lines}
    assert shown["bob@example.com"] == "<p>Bob, %recipient.age%, bob@example.com</p>"


def test_files_and_copies_of_the_vendors_sdk(sim: Simulator, vendor: Client) -> None:
    files = [("attachment", ("a.txt", b"--x\r\n\xff", "text/plain")), ("inline", ("logo", b"icon", "image/png"))]
    data = {**MAIL, "cc": "Cc <cc@example.com>", "bcc": ["b1@example.com", "b2@example.com"], "v:ref": "job-1-0-1"}
    data |= {"h:X-A": "b"}

    assert vendor.messages.create(domain=DOMAIN, data=data, files=files).status_code == 200

    assert [(line["recipient"], line["role"], line["ref"]) for line in log(sim)] == [
        ("ada@example.com", "to", "job-1-0-1"),
        ("cc@example.com", "cc", "job-1-0-1"),
        ("b1@example.com", "bcc", "job-1-0-1"),
        ("b2@example.com", "bcc", "job-1-0-1"),
    ]
    shown = sim.control.json("GET", f"/inbox/{log(sim)[0]['seq']}.json")
    assert (shown["attachments"], shown["headers"]) == (["a.txt", "logo"], {"X-A": "b"})


@pytest.mark.parametrize("key", ["api:key-wrong", "key-simulator", "user:key-simulator", ""])
def test_a_wrong_or_missing_key_is_401_and_stores_nothing(sim: Simulator, key: str) -> None:
    answer = send(sim, key=key)
    assert (answer.status, answer.body) == (401, b"Forbidden")
    assert log(sim) == []


def without(name: str) -> dict[str, Any]:
    return {k: v for k, v in MAIL.items() if k != name}


def mail(**changes: Any) -> dict[str, Any]:
    return {**MAIL, **{k.replace("_", "-"): v for k, v in changes.items()}}


MANY = [f"a{i}@example.com" for i in range(1001)]
BAD_ADDRESS = " parameter is not a valid address. please check documentation"
WRONG: dict[str, tuple[Callable[[], Any], str, str]] = {
    "no from": (lambda: without("from"), FORM, "from parameter is missing"),
    "no to": (lambda: without("to"), FORM, "to parameter is missing"),
    "no subject": (lambda: without("subject"), FORM, "subject parameter is missing"),
    "blank to": (lambda: mail(to=" "), FORM, "to parameter is missing"),
    "no content": (lambda: without("text"), FORM, "Need at least one of 'text' or 'html' parameters specified"),
    "bad to": (lambda: mail(to="ada"), FORM, "to" + BAD_ADDRESS),
    "bad second to": (lambda: mail(to=["ada@example.com", "b@"]), FORM, "to" + BAD_ADDRESS),
    "bad to in a list": (lambda: mail(to="ada@example.com, Bob <bob>"), FORM, "to" + BAD_ADDRESS),
    "bad from": (lambda: mail(**{"from": "News"}), FORM, "from" + BAD_ADDRESS),
    "bad cc": (lambda: mail(cc="x"), FORM, "cc" + BAD_ADDRESS),
    "bad bcc": (lambda: mail(bcc="x y@example.com"), FORM, "bcc" + BAD_ADDRESS),
    "1,001 recipients": (lambda: mail(to=MANY), FORM, "Too many recipients; max is 1000"),
    "1,001 in a list": (lambda: mail(to=",".join(MANY)), FORM, "Too many recipients; max is 1000"),
    "variables not JSON": (
        lambda: mail(recipient_variables="{"),
        FORM,
        "'recipient-variables' parameter is not a valid JSON",
    ),
    "variables not objects": (
        lambda: mail(recipient_variables='{"ada@example.com": 1}'),
        FORM,
        "'recipient-variables' parameter is not a valid JSON",
    ),
    "options": (
        lambda: {**MAIL, "v:ref": "x" * 16_380},
        FORM,
        "Send options (parameters starting with o:, h:, or v:) are limited to 16 kB total",
    ),
    "header name": (lambda: {**MAIL, "h:X-Ü": "x"}, FORM, "Header name must be pure ASCII: X-Ü"),
    "json": (
        lambda: b"{}",
        "application/json",
        "Invalid request content type. Expecting 'multipart/form-data' but got 'application/json'",
    ),
    "no boundary": (lambda: b"", "multipart/form-data", "malformed multipart/form-data request"),
    "no end": (lambda: b"--x\r\n", "multipart/form-data; boundary=x", "unable to parse request: unexpected EOF"),
    "no name": (
        lambda: b"--x\r\nA: b\r\n\r\nc\r\n--x--",
        "multipart/form-data; boundary=x",
        "malformed multipart/form-data request",
    ),
    "not UTF-8": (lambda: b"to=%ff", FORM, "unable to parse request: invalid URL escape"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_request_is_400_with_the_vendors_body_and_stores_nothing(sim: Simulator, name: str) -> None:
    build, kind, text = WRONG[name]
    answer = send(sim, build(), kind=kind)
    assert answer.status == 400
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {"message": text}
    assert log(sim) == []


@pytest.mark.slow
def test_the_limits_themselves_are_allowed(sim: Simulator) -> None:
    assert send(sim, mail(to=MANY[:1000])).status == 200
    assert send(sim, {**MAIL, "v:ref": "x" * (16 * 1024 - 5)}).status == 200
    assert send(sim, {**MAIL, "subject": ""}).status == 200
    assert len(log(sim)) == 1002


def test_domains_paths_methods_and_size(sim: Simulator) -> None:
    answer = call(sim, "POST", "/v3/unknown.example/messages", MAIL)
    assert (answer.status, answer.json()) == (404, {"message": "Domain not found: unknown.example"})
    assert call(sim, "POST", "/v3/nodomain/messages", MAIL).status == 404
    assert call(sim, "GET", f"/v3/{DOMAIN}/messages").status == 405
    lost = call(sim, "POST", f"/v3/v3/{DOMAIN}/messages", MAIL)
    assert (lost.status, lost.body) == (200, b"Mailgun Magnificent API")
    assert send(sim, b"x" * (25 * 2**20 + 1)).status == 413
    assert log(sim) == []


def test_test_mode_is_200_and_stores_nothing(sim: Simulator) -> None:
    assert send(sim, {**MAIL, "o:testmode": "yes"}).status == 200
    assert log(sim) == []


def test_faults_are_in_the_vendors_words(sim: Simulator) -> None:
    sim.control.faults(PROVIDER, CREDENTIAL, mode="429", retry_after_s=3)
    answer = send(sim)
    assert (answer.status, answer.headers["retry-after"]) == (429, "3")
    assert "limit exceeded" in answer.json()["message"]
    sim.control.faults(PROVIDER, CREDENTIAL, mode="401")
    assert send(sim).body == b"Forbidden"
    sim.control.faults(PROVIDER, CREDENTIAL, mode="503")
    assert send(sim).json() == {"message": "Service Unavailable"}
    sim.control.faults(PROVIDER, CREDENTIAL, mode="500", accept=True)
    assert send(sim).status == 500
    assert len(log(sim)) == 1


# What was accepted


def test_the_vendors_sdk_finds_what_was_accepted(sim: Simulator, vendor: Client) -> None:
    for i, to in enumerate(["ada@example.com", "bob@example.com"]):
        send(sim, {**MAIL, "to": to, "v:posthaste_ref": f"job-1-{i}-1"})
    ids = [line["message_id"] for line in log(sim)]

    def found(**filters: str) -> list[str]:
        query = {k.replace("_", "-"): v for k, v in filters.items()}
        answer = vendor.events.get(domain=DOMAIN, filters=query)
        assert answer.status_code == 200
        return [item["recipient"] for item in answer.json()["items"]]

    assert found() == ["bob@example.com", "ada@example.com"]
    assert found(begin="0", ascending="yes") == ["ada@example.com", "bob@example.com"]
    assert found(recipient="ada@example.com") == ["ada@example.com"]
    assert found(recipient="ADA@example.com OR bob@example.com") == ["bob@example.com"]
    assert found(recipient='"ada@example.com" OR "bob@example.com"', begin="0", end=str(2**40)) == [
        "ada@example.com",
        "bob@example.com",
    ]
    assert found(message_id=ids[1]) == ["bob@example.com"]
    assert found(message_id=f"<{ids[0]}>", recipient="bob@example.com") == []
    assert found(event="delivered") == []
    assert found(event="delivered OR accepted", limit="1") == ["bob@example.com"]
    first = vendor.events.get(domain=DOMAIN, filters={"recipient": "ada@example.com"}).json()["items"][0]
    assert first["user-variables"] == {"posthaste_ref": "job-1-0-1"}
    assert first["message"]["headers"]["message-id"] == ids[0]


def test_a_time_range_bounds_the_events_and_gives_their_order(sim: Simulator) -> None:
    send(sim)
    (at,) = [line["at"] for line in log(sim)]

    def count(query: str) -> int:
        return len(call(sim, "GET", f"/v3/{DOMAIN}/events?{query}").json()["items"])

    assert count(f"begin={at - 1}&end={at + 1}") == 1
    assert count(f"begin={at + 1}&end={at - 1}") == 1
    assert count(f"begin={at + 1}&end={at + 2}") == 0
    assert count(f"begin={at - 2}&end={at - 1}") == 0
    assert count(f"begin={at - 1}&ascending=yes") == 1
    assert count(f"begin={at - 1}&ascending=no") == 0
    assert count("begin=Fri%2C%2013%20Dec%202013%2009%3A00%3A00%20-0000&ascending=yes") == 1


def test_other_domains_have_events_of_their_own(sim: Simulator) -> None:
    send(sim)
    assert call(sim, "GET", "/v3/other.example.com/events").json()["items"] == []


@pytest.mark.parametrize("query", ["", "&begin=0&ascending=yes"])
def test_pages_are_followed_until_an_empty_one(sim: Simulator, query: str) -> None:
    for n in range(5):
        send(sim, mail(to=f"a{n}@example.com"))
    base = sim.base_url(PROVIDER, CREDENTIAL)
    pages, url = [], f"{base}/v3/{DOMAIN}/events?limit=2{query}"
    for _ in range(4):
        answer = call(sim, "GET", url.removeprefix(base)).json()
        pages.append([item["recipient"].partition("@")[0] for item in answer["items"]])
        url = answer["paging"]["next"]
        assert set(answer["paging"]) == {"previous", "first", "last", "next"}
    one_by_one = ["a0", "a1", "a2", "a3", "a4"] if query else ["a4", "a3", "a2", "a1", "a0"]
    assert pages == [one_by_one[:2], one_by_one[2:4], one_by_one[4:], []]
    assert call(sim, "GET", answer["paging"]["next"].removeprefix(base)).json()["items"] == []


@pytest.mark.parametrize(
    "query",
    [
        *("?limit=x", "?limit=301", "?limit=0", "?begin=1", "?begin=x&end=2", "?recipient=", "?recipient=a%20b"),
        *("?recipient=a%20OR", "?user-variables={}", "?unknown=1", "/x", "/AAAA"),
    ],
)
def test_what_is_not_documented_is_refused(sim: Simulator, query: str) -> None:
    answer = call(sim, "GET", f"/v3/{DOMAIN}/events{query}")
    assert answer.status == 400
    assert answer.json()["message"]


# Webhooks


def configure(sim: Simulator, target: Target, **changes: Any) -> None:
    sim.control.webhooks(PROVIDER, CREDENTIAL, **{"url": target.url, "delay": {"ms": 1}, "parallel": 1, **changes})


def posts(target: Target) -> list[dict[str, Any]]:
    return [json.loads(p.body) for p in target.posts]


def test_each_event_is_a_post_that_the_vendors_sdk_verifies(sim: Simulator, target: Target) -> None:
    configure(sim, target)
    answer = send(sim, {**MAIL, "to": "Ädä <ada@example.com>", "v:posthaste_ref": "job-1-0-1"})
    sim.control.flush()

    key = sim.control.keys(PROVIDER)["webhook_signing_key"]
    assert [p["event-data"]["event"] for p in posts(target)] == ["accepted", "delivered"]
    for post in posts(target):
        signed, event = post["signature"], post["event-data"]
        assert set(signed) == {"timestamp", "token", "signature"}
        assert len(signed["token"]) == 50
        arguments = [signed["token"], signed["timestamp"], signed["signature"]]
        assert SecurityGuard.verify_webhook(key, *arguments)
        assert not SecurityGuard.verify_webhook(key + "x", *arguments)
        assert event["recipient"] == "ada@example.com"
        assert event["user-variables"] == {"posthaste_ref": "job-1-0-1"}
        assert f"<{event['message']['headers']['message-id']}>" == answer.json()["id"]
    assert len({p["signature"]["token"] for p in posts(target)}) == 2


def test_without_recipient_variables_everybody_sees_everybody(sim: Simulator, target: Target) -> None:
    configure(sim, target)
    everybody = ["ada@example.com", "bob@example.com"]
    send(sim, mail(to=everybody))
    sim.control.flush()
    assert {p["event-data"]["message"]["headers"]["to"] for p in posts(target)} == {", ".join(everybody)}


def test_a_retry_has_the_token_of_the_first_try(sim: Simulator, target: Target) -> None:
    configure(sim, target, retry_ms=1, duplicate=1)
    target.statuses += [500]
    send(sim, mail(to="drop@example.com"))
    sim.control.flush()
    tokens = [p["signature"]["token"] for p in posts(target)]
    assert len(tokens) == 4
    assert len(set(tokens)) == 2
    configure(sim, target, duplicate=0)


@pytest.mark.parametrize(
    ("local", "events"),
    [
        ("bounce", [("accepted", "", ""), ("failed", "permanent", "bounce")]),
        ("blocked", [("accepted", "", ""), ("failed", "permanent", "generic")]),
        ("drop", [("accepted", "", ""), ("failed", "permanent", "suppress-bounce")]),
        ("defer", [("accepted", "", ""), ("failed", "temporary", "generic"), ("delivered", "", "")]),
        ("expire", [("accepted", "", ""), ("failed", "temporary", "generic"), ("failed", "permanent", "old")]),
        ("spam", [("accepted", "", ""), ("delivered", "", ""), ("complained", "", "")]),
        ("silent", []),
    ],
)
def test_the_local_part_decides_what_becomes_of_a_message(
    sim: Simulator, target: Target, local: str, events: list[tuple[str, str, str]]
) -> None:
    configure(sim, target)
    send(sim, mail(to=f"{local}+7@example.com"))
    sim.control.flush()
    found = [p["event-data"] for p in posts(target)]
    assert [(e["event"], e.get("severity", ""), e.get("reason", "")) for e in found] == events


def test_a_rejected_message_names_no_recipient(sim: Simulator, target: Target) -> None:
    configure(sim, target, mix={"reject": 1})
    send(sim)
    sim.control.flush()
    (post,) = posts(target)
    assert post["event-data"]["event"] == "rejected"
    assert "recipient" not in post["event-data"]
    configure(sim, target, mix={})
    with pytest.raises(ControlError, match="no behaviour explode"):
        configure(sim, target, mix={"explode": 1})


def test_the_signing_key_is_kept_in_a_file(tmp_path: Path) -> None:

    file = tmp_path / "mailgun.key"
    first = Mailgun(file).describe()
    assert file.stat().st_mode & 0o777 == 0o600
    assert Mailgun(file).describe() == first
    assert Mailgun(None).describe() != first
