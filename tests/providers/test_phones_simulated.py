"""Calls by Twilio, and texts and calls by AWS, against the simulator: sent, reported, answered."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from functions.webhooks.receive import receive
from functions.webhooks.services import Services
from shared.adapters.clock import SystemClock
from shared.adapters.http.transport import HttpClient
from shared.contracts import Credential, ProviderEvent, Settings, load_feedback
from shared.domain.content.content import Content, Speech
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.outcomes import Accepted, Outcome, Rejected
from shared.ports import Provider, Target
from shared.providers import registry
from shared.providers.aws_sms.events import AwsSmsWebhooks
from shared.providers.registry import Needs
from shared.providers.twilio.inbound import SILENCE
from simulator.client import ControlError
from simulator.run import Simulator
from tests.fakes.clock import FakeClock
from tests.fakes.queues import FakeQueue
from tests.providers.contract import CONTENT, FAR, target
from tests.providers.hooks import Hook
from tests.simulator.conftest import Target as WebhookTarget
from tests.simulator.conftest import listening

CLOCK = SystemClock()
SAID = replace(CONTENT, text="Your visit is at 9.", speech=Speech("en-AU", keys=(("2", "confirmed"),)))


def provider(simulator: Simulator, http: HttpClient, name: str, channel: str, hook: str = "") -> Provider:
    keys = simulator.control.keys(name)
    secret = {"api_key": keys.pop("keys")[0], **keys, **({"webhook_url": hook} if hook else {})}
    base = simulator.base_url(name, "phones")
    declared = Credential("phones", name, channel, 1, configuration_set="events")
    return registry.provider(name)(Needs(http, CLOCK, secret, base, credential=declared))


def send(by: Provider, one: Target, content: Content = SAID) -> Outcome:
    (outcome,) = by.send(content, [one], deadline=CLOCK.now() + FAR)
    return outcome


def to(number: str, index: int = 0) -> Target:
    return Target(target(index).ref, Recipient(number, number))


@pytest.fixture
def hook() -> Iterator[WebhookTarget]:
    with listening() as found:
        yield found


def answers(hook: WebhookTarget, simulator: Simulator) -> tuple[list[ProviderEvent], list[dict[str, Any]]]:
    """Return the words of all posts and the webhook function's answers to them."""
    clock = FakeClock(CLOCK.now())
    secret = {**simulator.control.keys("twilio"), "webhook_url": hook.url}
    queue = FakeQueue(clock)
    settings = Settings("dev", (Credential("phones", "twilio", "voice", 1),), {})
    using = Services(settings, lambda _: secret, queue, clock, registry.webhooks)
    given = [
        receive(
            {
                "pathParameters": {"provider": "twilio", "credential_id": "phones"},
                "rawQueryString": post.path.partition("?")[2],
                "headers": post.headers,
                "body": post.body.decode(),
            },
            using,
        )
        for post in hook.posts
    ]
    found: list[ProviderEvent] = []
    while (message := queue.receive()) is not None:
        found += load_feedback(message.body)[1]
        queue.delete(message)
    return found, given


@pytest.mark.promise(7)
@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("deliver", [("delivered", "")]),
        ("busy", [("failed_temporarily", "busy")]),
        ("expire", [("failed_temporarily", "no_answer")]),
        ("gone", [("bounced", "sip_604")]),
        ("machine", [("delivered", "answered_by_machine_end_beep")]),
        ("fax", [("blocked", "answered_by_fax")]),
        ("cancel", [("dropped", "")]),
        ("late", [("accepted", ""), ("accepted", ""), ("failed_temporarily", "no_answer")]),
        ("press_1", [("accepted", ""), ("pressed", "1"), ("delivered", "")]),
        ("press_2", [("accepted", ""), ("pressed", "2"), ("delivered", "")]),
        ("press_3", [("accepted", ""), ("delivered", "")]),
        ("spam", [("accepted", ""), ("pressed", "9"), ("stopped", "9"), ("delivered", "")]),
    ],
)
def test_what_a_call_by_twilio_reports(
    simulator: Simulator, http: HttpClient, hook: WebhookTarget, behaviour: str, words: list[tuple[str, str]]
) -> None:
    number = "+15550300000"
    simulator.control.webhooks(
        "twilio", "phones", delay={"ms": 1}, attempts=1, parallel=1, behaviours={number: behaviour}
    )
    simulator.control.reset()
    one = to(number)
    sent = send(provider(simulator, http, "twilio", "voice", hook.url), one)
    assert isinstance(sent, Accepted)
    assert simulator.control.flush(now=True)["failed"] == 0
    found, given = answers(hook, simulator)
    assert all(answer["statusCode"] == 200 for answer in given)
    assert [(w.word, w.code) for w in found] == words
    assert {(w.ref, w.id) for w in found} == {(one.ref, sent.id)}
    twiml = [answer["body"] for answer in given if answer["headers"]["Content-Type"] == "text/xml"]
    assert len(twiml) == behaviour.startswith("press") + (behaviour == "spam")
    if behaviour == "press_1":
        assert "<Say" in twiml[0]
    shown = simulator.control.json("GET", f"/inbox/{simulator.control.log('twilio', 'phones')[0]['seq']}.json")
    assert (shown["subject"], shown["text"]) == ("Call", "Your visit is at 9.")


@pytest.mark.parametrize(
    ("number", "outcome"),
    [
        ("+15005550001", Rejected("invalid_recipient", permanent=True)),
        ("+15005550002", Rejected("no_route", permanent=False, about_message=True)),
        ("+15005550003", Rejected("region_not_permitted", permanent=False, about_message=True)),
        ("+15005550004", Rejected("region_not_permitted", permanent=False, about_message=True)),
    ],
)
def test_twilio_s_numbers_for_tests_of_calls(
    simulator: Simulator, http: HttpClient, hook: WebhookTarget, number: str, outcome: Outcome
) -> None:
    simulator.control.reset()
    assert send(provider(simulator, http, "twilio", "voice", hook.url), to(number)) == outcome
    assert simulator.control.log("twilio", "phones") == []


def test_a_phone_answers_at_the_third_call(simulator: Simulator, http: HttpClient, hook: WebhookTarget) -> None:
    number = "+15550300001"
    for name, first, then in (
        ("twilio", "failed_temporarily", "delivered"),
        ("aws-sms", "failed_temporarily", "delivered"),
    ):
        hook.posts.clear()
        simulator.control.webhooks(
            name, "phones", url=hook.url, delay={"ms": 1}, attempts=1, parallel=1, behaviours={number: "third"}
        )
        simulator.control.reset()
        by = provider(simulator, http, name, "voice", hook.url if name == "twilio" else "")
        for index in range(3):
            assert isinstance(send(by, to(number, index), replace(SAID, speech=None)), Accepted)
            assert simulator.control.flush(now=True)["failed"] == 0
        if name == "twilio":
            words, _ = answers(hook, simulator)
        else:
            words = Hook(hook, AwsSmsWebhooks(), simulator.control.keys(name), CLOCK).words
        ends = [w.word for w in words if w.word != "accepted"]
        assert ends == [first, first, then]


@pytest.mark.promise(7)
@pytest.mark.parametrize(
    ("channel", "behaviour", "words"),
    [
        ("sms", "deliver", ["accepted", "accepted", "delivered"]),
        ("sms", "bounce", ["bounced"]),
        ("sms", "blocked", ["accepted", "blocked"]),
        ("sms", "drop", ["dropped"]),
        ("sms", "late", ["accepted", "accepted"]),
        ("sms", "expire", ["accepted", "failed_temporarily"]),
        ("voice", "deliver", ["accepted", "accepted", "accepted", "delivered"]),
        ("voice", "busy", ["accepted", "failed_temporarily"]),
        ("voice", "expire", ["accepted", "accepted", "failed_temporarily"]),
        ("voice", "late", ["accepted", "failed_temporarily"]),
        ("voice", "silent", []),
    ],
)
def test_what_aws_reports(
    simulator: Simulator, http: HttpClient, hook: WebhookTarget, channel: str, behaviour: str, words: list[str]
) -> None:
    number = "+15550300002"
    simulator.control.webhooks(
        "aws-sms", "phones", url=hook.url, delay={"ms": 1}, attempts=1, parallel=1, behaviours={number: behaviour}
    )
    simulator.control.reset()
    one = to(number)
    sent = send(provider(simulator, http, "aws-sms", channel), one, replace(SAID, speech=None))
    assert isinstance(sent, Accepted)
    assert simulator.control.flush(now=True)["failed"] == 0
    found = Hook(hook, AwsSmsWebhooks(), simulator.control.keys("aws-sms"), CLOCK).words
    assert [(w.ref, w.word, w.id) for w in found] == [(one.ref, word, sent.id) for word in words]
    assert all(abs(w.at - CLOCK.now()) < 60 for w in found)
    line = simulator.control.log("aws-sms", "phones")[0]
    shown = simulator.control.json("GET", f"/inbox/{line['seq']}.json")
    assert shown["text"] == SAID.text
    assert shown["subject"].startswith("Call" if channel == "voice" else "SMS")


@pytest.mark.parametrize(
    ("number", "outcome"),
    [
        ("+15005550001", Rejected("bad_request", permanent=False, about_message=True)),
        ("+15005550003", Rejected("region_not_permitted", permanent=False, about_message=True)),
        ("+15005550004", Rejected("unsubscribed", permanent=True, unwanted=True)),
        ("+15005550009", Rejected("recipient_not_verified", permanent=False, about_message=True)),
    ],
)
def test_numbers_that_aws_refuses(simulator: Simulator, http: HttpClient, number: str, outcome: Outcome) -> None:
    simulator.control.reset()
    assert send(provider(simulator, http, "aws-sms", "sms"), to(number)) == outcome
    assert simulator.control.log("aws-sms", "phones") == []


@pytest.mark.promise(11)
@pytest.mark.parametrize("name", ["twilio", "aws-sms"])
def test_a_phone_writes_to_a_number(simulator: Simulator, hook: WebhookTarget, name: str) -> None:
    simulator.control.webhooks(name, "phones", url=hook.url, delay={"ms": 1}, attempts=1, parallel=1, duplicate=1)
    simulator.control.reset()
    said = {
        simulator.control.write(name, "phones", "+14155550100", text, to): (kind, to or "+15005550006", text)
        for text, kind, to in (
            ("STOP", "stopped", ""),
            ("Start", "started", "+15005550007"),
            ("Hello\nyou", "written", ""),
        )
    }
    assert simulator.control.flush(now=True)["failed"] == 0
    if name == "twilio":
        words, given = answers(hook, simulator)
        assert {x["body"] for x in given} == {SILENCE.body}
    else:
        words = Hook(hook, AwsSmsWebhooks(), simulator.control.keys(name), CLOCK).words
    assert {w.id: (w.word, w.code, w.detail) for w in words} == said
    assert {w.ref for w in words} == {"+14155550100"}
    assert simulator.control.log(name, "phones") == []


def test_a_phone_writes_to_no_provider_of_mails(simulator: Simulator) -> None:
    with pytest.raises(ControlError, match="no numbers"):
        simulator.control.write("sendgrid", "phones", "+14155550100", "STOP")
    for sender in ("12345", "ann@example.com"):
        with pytest.raises(ControlError, match="400"):
            simulator.control.write("twilio", "phones", sender, "STOP")
