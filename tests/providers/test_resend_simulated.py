"""Against the simulator's wire format: what only a far side can tell."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from shared.adapters.clock import SystemClock
from shared.adapters.http.transport import HttpClient
from shared.domain.content.content import Mailbox
from shared.domain.jobs.outcomes import Accepted, Outcome, Rejected, Unknown
from shared.ports import Target
from shared.providers.resend.events import ResendWebhooks
from shared.providers.resend.send import Resend
from simulator.run import Simulator
from tests.providers.contract import CONTENT, FAR, target
from tests.providers.hooks import Hook
from tests.simulator.conftest import listening

CLOCK = SystemClock()


def resend(simulator: Simulator, http: HttpClient, credential: str, key: str = "") -> Resend:
    keys = simulator.control.keys("resend")
    return Resend(http, simulator.base_url("resend", credential), {"api_key": key or keys["keys"][0]}, CLOCK)


def send(provider: Resend, one: Target, content: object = None) -> Outcome:
    (outcome,) = provider.send(content or CONTENT, [one], deadline=CLOCK.now() + FAR)  # type: ignore[arg-type]
    return outcome


@pytest.mark.promise(1)
def test_a_new_attempt_is_never_answered_for_an_older_one(simulator: Simulator, http: HttpClient) -> None:
    provider = resend(simulator, http, "attempts")
    simulator.control.faults("resend", "attempts", mode="406", count=1)
    assert send(provider, target(0)) == Rejected("http_406", permanent=False)
    outcomes = [send(provider, target(0, attempt=n)) for n in (2, 3)]
    log = simulator.control.log("resend", "attempts")
    assert [(line["ref"], Accepted(line["message_id"])) for line in log] == [
        (target(0, attempt=2).ref, outcomes[0]),
        (target(0, attempt=3).ref, outcomes[1]),
    ]
    assert outcomes[0] != outcomes[1]


@pytest.mark.promise(1)
def test_the_same_attempt_is_taken_once_however_often_it_is_made(simulator: Simulator, http: HttpClient) -> None:
    """A throttled attempt's number is used again."""
    simulator.control.faults("resend", "again", mode="accept_and_drop", count=1)
    assert send(resend(simulator, http, "again"), target(0)) == Unknown("connection_closed")
    outcomes = {send(resend(simulator, http, "again"), target(0)) for _ in range(3)}
    assert outcomes == {Accepted(line["message_id"]) for line in simulator.control.log("resend", "again")}
    assert len(outcomes) == 1


@pytest.mark.promise(1)
def test_an_attempt_that_has_become_another_mail_is_not_taken_again(simulator: Simulator, http: HttpClient) -> None:
    provider = resend(simulator, http, "other")
    send(provider, target(0))
    other = replace(CONTENT, subject="Another")
    assert send(provider, target(0), other) == Unknown("invalid_idempotent_request")
    found = provider.resolve(other, target(0), at=CLOCK.now(), deadline=CLOCK.now() + FAR)
    assert found == Unknown("invalid_idempotent_request")
    assert len(simulator.control.log("resend", "other")) == 1


def test_a_wrong_key_an_unverified_sender_and_a_wrong_url(simulator: Simulator, http: HttpClient) -> None:
    down = Rejected("invalid_api_key", permanent=False, provider_down=True)
    assert send(resend(simulator, http, "x", "re_wrong"), target(0)) == down
    content = replace(CONTENT, sender=Mailbox("news@unknown.example"))
    unverified = Rejected("sender_not_verified", permanent=False, about_message=True)
    assert send(resend(simulator, http, "x"), target(0), content) == unverified
    provider = Resend(http, simulator.base_url("resend", "x") + "/v1", {"api_key": "re_simulator"}, CLOCK)
    assert send(provider, target(0)) == Rejected("http_404", permanent=False, provider_down=True)
    assert simulator.control.log("resend", "x") == []


@pytest.fixture
def hook(simulator: Simulator) -> Iterator[Hook]:
    with listening() as target:
        yield Hook(target, ResendWebhooks(), simulator.control.keys("resend"), CLOCK)


@pytest.mark.parametrize(
    ("local", "words"),
    [
        ("deliver", ["accepted", "delivered"]),
        ("bounce", ["accepted", "bounced"]),
        ("blocked", ["accepted", "blocked"]),
        ("drop", ["bounced"]),
        ("defer", ["accepted", "deferred", "delivered"]),
        ("expire", ["accepted", "deferred", "failed_temporarily"]),
        ("spam", ["accepted", "delivered", "complained"]),
    ],
)
def test_what_resend_says_is_read(
    simulator: Simulator, http: HttpClient, hook: Hook, local: str, words: list[str]
) -> None:
    simulator.control.webhooks("resend", "events", url=hook.url, delay={"ms": 1}, attempts=1, parallel=1)
    one = target(0, f"{local}+1@example.com")
    simulator.control.reset()
    sent = send(resend(simulator, http, "events"), one)
    assert simulator.control.flush(now=True)["failed"] == 0
    assert isinstance(sent, Accepted)
    assert [(w.ref, w.word, w.id, w.secondary) for w in hook.words] == [
        (one.ref, word, sent.id, False) for word in words
    ]
    assert all(abs(w.at - CLOCK.now()) < 60 for w in hook.words)


def test_words_about_copies_are_secondary(simulator: Simulator, http: HttpClient, hook: Hook) -> None:
    simulator.control.webhooks("resend", "copies", url=hook.url, delay={"ms": 1}, attempts=1)
    content = replace(CONTENT, cc=(Mailbox("bounce@example.com"),))
    send(resend(simulator, http, "copies"), target(0, "Ada@example.com"), content)
    assert simulator.control.flush(now=True)["failed"] == 0
    assert sorted((w.word, w.secondary) for w in hook.words) == [
        ("accepted", False),
        ("accepted", True),
        ("bounced", True),
        ("delivered", False),
    ]
