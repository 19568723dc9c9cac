"""Against the simulator's wire format: what only a far side can tell."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from shared.adapters.clock import SystemClock
from shared.adapters.http.transport import HttpClient
from shared.domain.content.content import Content, Mailbox
from shared.domain.jobs.outcomes import Accepted, Outcome, Rejected
from shared.ports import Target
from shared.providers.postmark.events import PostmarkWebhooks
from shared.providers.postmark.send import Postmark
from simulator.run import Simulator
from tests.providers.contract import CONTENT, FAR, target
from tests.providers.hooks import Hook
from tests.simulator.conftest import listening

CLOCK = SystemClock()


def postmark(simulator: Simulator, http: HttpClient, credential: str, **secret: str) -> Postmark:
    keys = simulator.control.keys("postmark")
    return Postmark(http, simulator.base_url("postmark", credential), {"api_key": keys["keys"][0], **secret}, CLOCK)


def send(provider: Postmark, *targets: Target, content: Content = CONTENT) -> list[Outcome]:
    return provider.send(content, targets, deadline=CLOCK.now() + FAR)


@pytest.mark.promise(1)
def test_each_message_of_a_call_has_a_fate_of_its_own(simulator: Simulator, http: HttpClient) -> None:
    some = [target(0), target(1, "no address"), target(2, "inactive@example.com"), target(3)]
    outcomes = send(postmark(simulator, http, "fates"), *some)
    log = simulator.control.log("postmark", "fates")
    assert [line["ref"] for line in log] == [some[0].ref, some[3].ref]
    assert outcomes == [
        Accepted(log[0]["message_id"]),
        Rejected("invalid_recipient", permanent=True),
        Rejected("inactive_recipient", permanent=True, unwanted=True),
        Accepted(log[1]["message_id"]),
    ]


def test_a_wrong_token_stream_sender_and_url(simulator: Simulator, http: HttpClient) -> None:
    down = Rejected("bad_api_token", permanent=False, provider_down=True)
    assert send(postmark(simulator, http, "x", api_key="wrong"), target(0)) == [down]
    stream = Rejected("unknown_message_stream", permanent=False, provider_down=True)
    assert send(postmark(simulator, http, "x", message_stream="none"), target(0)) == [stream]
    content = replace(CONTENT, sender=Mailbox("news@unknown.example"))
    unverified = Rejected("sender_not_verified", permanent=False, about_message=True)
    assert send(postmark(simulator, http, "x"), target(0), content=content) == [unverified]
    assert simulator.control.log("postmark", "x") == []


@pytest.fixture
def hook(simulator: Simulator) -> Iterator[Hook]:
    with listening() as target:
        yield Hook(target, PostmarkWebhooks(), simulator.control.keys("postmark"), CLOCK)


@pytest.mark.parametrize(
    ("local", "words"),
    [
        ("deliver", ["delivered"]),
        ("bounce", ["bounced"]),
        ("blocked", ["blocked"]),
        ("drop", ["dropped"]),
        ("defer", ["deferred", "delivered"]),
        ("expire", ["deferred", "failed_temporarily"]),
        ("spam", ["delivered", "complained"]),
        ("unsubscribe", ["delivered", "unsubscribed"]),
        ("open", ["delivered"]),
    ],
)
def test_what_postmark_reports_is_read(
    simulator: Simulator, http: HttpClient, hook: Hook, local: str, words: list[str]
) -> None:
    how = {"delay": {"ms": 1}, "attempts": 1, "parallel": 1, "behaviours": {local: local}}
    simulator.control.webhooks("postmark", "events", url=hook.url, **how)
    one = target(0, f"{local}+1@example.com")
    simulator.control.reset()
    (sent,) = send(postmark(simulator, http, "events"), one)
    assert simulator.control.flush(now=True)["failed"] == 0
    assert isinstance(sent, Accepted)
    assert [(w.ref, w.word, w.id, w.secondary) for w in hook.words] == [
        (one.ref, word, sent.id, False) for word in words
    ]
    assert all(abs(w.at - CLOCK.now()) < 60 for w in hook.words)


def test_words_about_copies_are_secondary(simulator: Simulator, http: HttpClient, hook: Hook) -> None:
    simulator.control.webhooks("postmark", "copies", url=hook.url, delay={"ms": 1}, attempts=1)
    content = replace(CONTENT, cc=(Mailbox("bounce@example.com"),))
    send(postmark(simulator, http, "copies"), target(0, "Ada@example.com"), content=content)
    assert simulator.control.flush(now=True)["failed"] == 0
    assert sorted((w.word, w.secondary) for w in hook.words) == [("bounced", True), ("delivered", False)]
