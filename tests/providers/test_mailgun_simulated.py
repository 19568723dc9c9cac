"""Against the simulator's wire format: what only a far side can tell."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from shared.adapters.clock import SystemClock
from shared.adapters.http.transport import HttpClient
from shared.domain.content.content import Mailbox
from shared.domain.jobs.outcomes import Accepted, Rejected
from shared.ports import Target
from shared.providers.mailgun.events import MailgunWebhooks
from shared.providers.mailgun.send import Mailgun
from simulator.run import Simulator
from tests.providers.contract import CONTENT, FAR, JOB, send_apart, target
from tests.providers.hooks import Hook
from tests.simulator.conftest import listening

CLOCK = SystemClock()


def mailgun(simulator: Simulator, http: HttpClient, credential: str, **changes: str) -> Mailgun:
    keys = simulator.control.keys("mailgun")
    secret = {"api_key": keys.pop("keys")[0], **keys, **changes}
    return Mailgun(http, simulator.base_url("mailgun", credential), secret, CLOCK)


@pytest.mark.promise(6)
def test_one_bad_address_never_takes_the_others_along(simulator: Simulator, http: HttpClient) -> None:
    targets = [target(n, "no-address" if n == 77 else "") for n in range(200)]
    final = send_apart(mailgun(simulator, http, "mixed"), targets, deadline=CLOCK.now() + FAR)
    assert final.pop(targets[77].ref) == Rejected("invalid_recipient", permanent=True)
    assert len(final) == 199
    assert all(isinstance(o, Accepted) for o in final.values())
    log = simulator.control.log("mailgun", "mixed")
    assert len({line["recipient"] for line in log}) == len(log) == 199
    assert {line["ref"] for line in log} == set(final)


def test_a_wrong_key_and_a_wrong_domain(simulator: Simulator, http: HttpClient) -> None:
    for changes, code in (
        ({"api_key": "key-wrong"}, "unauthorized"),
        ({"domain": "unknown.example.com"}, "domain_not_found"),
    ):
        (outcome,) = mailgun(simulator, http, "x", **changes).send(CONTENT, [target(0)], deadline=CLOCK.now() + FAR)
        assert outcome == Rejected(code, permanent=False, provider_down=True)


def test_a_request_that_is_not_for_this_url(simulator: Simulator, http: HttpClient) -> None:
    keys = simulator.control.keys("mailgun")
    url = simulator.base_url("mailgun", "x") + "/v3"
    provider = Mailgun(http, url, {"api_key": keys["keys"][0], "domain": "mg.x.example"}, CLOCK)
    (outcome,) = provider.send(CONTENT, [target(0)], deadline=CLOCK.now() + FAR)
    assert outcome == Rejected("wrong_base_url", permanent=False, provider_down=True)


@pytest.fixture
def hook(simulator: Simulator) -> Iterator[Hook]:
    with listening() as target:
        yield Hook(target, MailgunWebhooks(), simulator.control.keys("mailgun"), CLOCK)


def follow(simulator: Simulator, credential: str, hook: Hook, provider: Mailgun, *targets: Target) -> str:
    """Send, wait for all events, and return the provider's id."""
    simulator.control.webhooks("mailgun", credential, url=hook.url, delay={"ms": 1}, attempts=1, parallel=1)
    outcomes = provider.send(CONTENT, targets, deadline=CLOCK.now() + FAR)
    assert simulator.control.flush(now=True)["failed"] == 0
    (outcome,) = set(outcomes)
    assert isinstance(outcome, Accepted)
    return outcome.id


@pytest.mark.parametrize(
    ("local", "words"),
    [
        ("deliver", ["accepted", "delivered"]),
        ("bounce", ["accepted", "bounced"]),
        ("blocked", ["accepted", "blocked"]),
        ("drop", ["accepted", "bounced"]),
        ("defer", ["accepted", "deferred", "delivered"]),
        ("expire", ["accepted", "deferred", "failed_temporarily"]),
        ("spam", ["accepted", "delivered", "complained"]),
        ("unsubscribe", ["accepted", "delivered", "unsubscribed"]),
        ("left", ["accepted", "dropped"]),
    ],
)
def test_what_mailgun_says_is_read(
    simulator: Simulator, http: HttpClient, hook: Hook, local: str, words: list[str]
) -> None:
    t = target(0, f"{local}+1@example.com")
    simulator.control.webhooks("mailgun", "events", behaviours={local: local})
    sent = follow(simulator, "events", hook, mailgun(simulator, http, "events"), t)
    assert [(w.ref, w.word, w.id, w.secondary) for w in hook.words] == [(t.ref, word, sent, False) for word in words]
    assert all(abs(w.at - CLOCK.now()) < 60 for w in hook.words)


def test_each_recipient_of_a_call_has_its_own_ref_and_sees_no_other(
    simulator: Simulator, http: HttpClient, hook: Hook
) -> None:
    targets = [target(n) for n in range(20)]
    follow(simulator, "many", hook, mailgun(simulator, http, "many"), *targets)
    assert {w.ref for w in hook.words if w.word == "delivered"} == {t.ref for t in targets}
    for event in [json.loads(post.body)["event-data"] for post in hook.target.posts]:
        assert event["message"]["headers"]["to"] == event["recipient"]
        index = event["user-variables"]["posthaste_ref"].split("-")[2]
        assert event["recipient"] == f"reader{index}@example.com"
        assert JOB in event["user-variables"]["posthaste_ref"]


def test_words_about_copies_are_secondary(simulator: Simulator, http: HttpClient, hook: Hook) -> None:
    provider = mailgun(simulator, http, "copies")
    simulator.control.webhooks("mailgun", "copies", url=hook.url, delay={"ms": 1}, attempts=1)
    content = replace(CONTENT, cc=(Mailbox("bounce@example.com"),))
    provider.send(content, [target(0, "Ada@example.com")], deadline=CLOCK.now() + FAR)
    assert simulator.control.flush(now=True)["failed"] == 0
    assert sorted((w.word, w.secondary) for w in hook.words) == [
        ("accepted", False),
        ("accepted", True),
        ("bounced", True),
        ("delivered", False),
    ]
