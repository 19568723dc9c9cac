"""Against the simulator's wire format: what only a far side can tell."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs

import pytest

from shared.adapters.clock import SystemClock
from shared.adapters.http.transport import HttpClient
from shared.contracts import Credential
from shared.domain.content.content import Mailbox
from shared.domain.jobs.outcomes import Accepted, Rejected, Throttled
from shared.ports import Provider, Target
from shared.providers import registry
from shared.providers.registry import Needs
from shared.providers.ses.events import SesWebhooks, from_topic
from simulator.run import Simulator
from tests.providers.contract import CONTENT, FAR, send_apart, target
from tests.providers.hooks import Hook
from tests.simulator.conftest import listening

CLOCK = SystemClock()
TOPIC = "arn:aws:sns:eu-west-1:123456789012:posthaste-dev-ses"


def ses(simulator: Simulator, http: HttpClient, credential: str, **changes: str) -> Provider:
    keys = simulator.control.keys("ses")
    del keys["keys"]
    declared = Credential(credential, "ses", "email", 14, configuration_set=changes.pop("configuration_set", "events"))
    base = simulator.base_url("ses", credential)
    return registry.provider("ses")(Needs(http, CLOCK, {**keys, **changes}, base, credential=declared))


@pytest.mark.promise(6)
def test_one_bad_address_never_takes_the_others_along(simulator: Simulator, http: HttpClient) -> None:
    targets = [target(n, "no-address" if n == 33 else "") for n in range(50)]
    final = send_apart(ses(simulator, http, "mixed"), targets, deadline=CLOCK.now() + FAR)
    assert final.pop(targets[33].ref) == Rejected("bad_request", permanent=True)
    assert len(final) == 49
    assert all(isinstance(o, Accepted) for o in final.values())
    log = simulator.control.log("ses", "mixed")
    assert len({line["recipient"] for line in log}) == len(log) == 49
    assert {line["ref"] for line in log} == set(final)


@pytest.mark.promise(6)
def test_entries_of_a_call_have_fates_of_their_own(simulator: Simulator, http: HttpClient) -> None:
    addresses = [
        "a@example.com",
        "throttled@example.com",
        "b@unverified.example.com",
        "transient@example.com",
        "c@x.test",
    ]
    targets = [target(n, address) for n, address in enumerate(addresses)]
    outcomes = ses(simulator, http, "entries").send(CONTENT, targets, deadline=CLOCK.now() + FAR)
    assert isinstance(outcomes[0], Accepted)
    assert isinstance(outcomes[1], Throttled)
    assert outcomes[2] == Rejected("identity_not_verified", permanent=False, about_message=True)
    assert outcomes[3] == Rejected("transient_failure", permanent=False)
    assert isinstance(outcomes[4], Accepted)
    log = simulator.control.log("ses", "entries")
    assert [(line["ref"], line["message_id"]) for line in log] == [
        (targets[n].ref, o.id) for n, o in enumerate(outcomes) if isinstance(o, Accepted)
    ]


@pytest.mark.slow
def test_what_is_refused_and_why(simulator: Simulator, http: HttpClient) -> None:
    unverified = replace(CONTENT, sender=Mailbox("news@unverified.example"))
    for changes, content, expected in (
        ({"secret_access_key": "x"}, CONTENT, Rejected("forbidden", permanent=False, provider_down=True)),
        ({"access_key_id": "AKOTHER"}, CONTENT, Rejected("forbidden", permanent=False, provider_down=True)),
        (
            {"configuration_set": "unknown-set"},
            CONTENT,
            Rejected("configuration_set_not_found", permanent=False, provider_down=True),
        ),
        ({}, unverified, Rejected("identity_not_verified", permanent=False, about_message=True)),
    ):
        provider = ses(simulator, http, "refused", **changes)
        for targets in ([target(0)], [target(0), target(1)]):
            assert provider.send(content, targets, deadline=CLOCK.now() + FAR) == [expected] * len(targets)
    assert simulator.control.log("ses", "refused") == []


@pytest.mark.parametrize("count", [1, 2])
def test_a_text_arrives_as_it_was_written(simulator: Simulator, http: HttpClient, count: int) -> None:
    content = replace(CONTENT, subject="{{a}} {{{b}}} é", html="<p>\\{{c}}}} {\\{{ {{#if}}</p>", text="{{{{x}}}}")
    targets = [target(n) for n in range(count)]
    ses(simulator, http, f"literal{count}").send(content, targets, deadline=CLOCK.now() + FAR)
    page = simulator.control.json("GET", f"/inbox.json?credential=literal{count}")
    message = next(m for m in page["messages"] if m["credential"] == f"literal{count}")
    found = simulator.control.json("GET", f"/inbox/{message['seq']}.json")
    assert (found["subject"], found["html"], found["text"]) == (content.subject, content.html, content.text)


# Events, posted by SNS over HTTP


@pytest.fixture
def hook(simulator: Simulator) -> Iterator[Hook]:
    with listening() as found:
        yield Hook(found, SesWebhooks(), simulator.control.keys("ses"), CLOCK)


def follow(simulator: Simulator, credential: str, url: str, provider: Provider, *targets: Target) -> list[str]:
    """Send, wait for all events, and return the provider's ids."""
    simulator.control.webhooks("ses", credential, url=url, delay={"ms": 1}, attempts=1, parallel=1)
    outcomes = provider.send(CONTENT, targets, deadline=CLOCK.now() + FAR)
    assert simulator.control.flush(now=True)["failed"] == 0
    return [o.id for o in outcomes if isinstance(o, Accepted)]


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("deliver", ["accepted", "delivered"]),
        ("bounce", ["accepted", "bounced"]),
        ("blocked", ["accepted", "blocked"]),
        ("drop", ["accepted", "bounced"]),
        ("reject", ["accepted", "dropped"]),
        ("defer", ["accepted", "deferred", "delivered"]),
        ("expire", ["accepted", "deferred", "failed_temporarily"]),
        ("spam", ["accepted", "delivered", "complained"]),
        ("away", ["accepted", "delivered", "deferred"]),
        ("unrenderable", ["dropped"]),
        ("silent", []),
    ],
)
def test_what_ses_says_is_read(
    simulator: Simulator, http: HttpClient, hook: Hook, behaviour: str, words: list[str]
) -> None:
    simulator.control.webhooks("ses", "events", behaviours={behaviour: behaviour})
    t = target(0, f"{behaviour}+1@example.com")
    (sent,) = follow(simulator, "events", hook.url, ses(simulator, http, "events"), t)
    assert [(w.ref, w.word, w.id, w.secondary) for w in hook.words] == [(t.ref, word, sent, False) for word in words]
    assert all(abs(w.at - CLOCK.now()) < 60 for w in hook.words)


@pytest.mark.slow
def test_each_recipient_of_a_call_has_its_own_ref_and_id(simulator: Simulator, http: HttpClient, hook: Hook) -> None:
    targets = [target(n) for n in range(20)]
    ids = follow(simulator, "many", hook.url, ses(simulator, http, "many"), *targets)
    found = {w.ref: w.id for w in hook.words if w.word == "delivered"}
    assert found == {t.ref: i for t, i in zip(targets, ids, strict=True)}
    assert {json.loads(post.body)["SignatureVersion"] for post in hook.target.posts} == {"1", "2"}


def test_words_about_copies_are_secondary(simulator: Simulator, http: HttpClient, hook: Hook) -> None:
    provider = ses(simulator, http, "copies")
    simulator.control.webhooks("ses", "copies", url=hook.url, delay={"ms": 1}, attempts=1)
    content = replace(CONTENT, cc=(Mailbox("bounce@example.com"),))
    provider.send(content, [target(0, "Ada@example.com")], deadline=CLOCK.now() + FAR)
    assert simulator.control.flush(now=True)["failed"] == 0
    found = {(w.word, w.secondary) for w in hook.words}
    assert found == {("accepted", False), ("delivered", False), ("bounced", True)}


# Events, published to a topic


def test_events_are_published_to_a_topic_and_name_their_credential(simulator: Simulator, http: HttpClient) -> None:
    t = target(0, "bounce@example.com")
    with listening() as sns:
        url = sns.url.replace("http://", "http://AKTEST:secret@").replace("/hook", f"/#{TOPIC}")
        (sent,) = follow(simulator, "ses-main", url, ses(simulator, http, "ses-main"), t)
    forms = [parse_qs(post.body.decode()) for post in sns.posts]
    assert {form["Action"][0] for form in forms} == {"Publish"}
    assert {form["TopicArn"][0] for form in forms} == {TOPIC}
    for post in sns.posts:
        assert post.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKTEST/")
        assert "/eu-west-1/sns/aws4_request" in post.headers["authorization"]
    envelopes: list[Any] = [{"Type": "Notification", "TopicArn": TOPIC, "Message": f["Message"][0]} for f in forms]
    read = [from_topic(json.dumps(e)) for e in envelopes]
    assert {credential for credential, _ in read} == {"ses-main"}
    assert [(w.ref, w.word, w.id) for _, found in read for w in found] == [
        (t.ref, "accepted", sent),
        (t.ref, "bounced", sent),
    ]
