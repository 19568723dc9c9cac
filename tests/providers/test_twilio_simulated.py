"""Against the simulator's wire format: what only a far side can tell."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from functions.webhooks.receive import receive
from functions.webhooks.services import Services
from shared.adapters.clock import SystemClock
from shared.adapters.http.transport import HttpClient
from shared.contracts import Credential, ProviderEvent, Settings, load_feedback
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.outcomes import Accepted, Outcome, Rejected
from shared.ports import Target
from shared.providers import registry
from shared.providers.twilio.send import Twilio
from simulator.run import Simulator
from tests.fakes.clock import FakeClock
from tests.fakes.queues import FakeQueue
from tests.providers.contract import CONTENT, FAR, target
from tests.simulator.conftest import Target as WebhookTarget
from tests.simulator.conftest import listening

CLOCK = SystemClock()
NUMBERS = {
    "+15550200000": "deliver",
    "+15550200001": "bounce",
    "+15550200002": "landline",
    "+15550200003": "blocked",
    "+15550200004": "drop",
    "+15550200005": "expire",
    "+15550200006": "spam",
    "+15550200007": "lost_segment",
    "+15550200008": "segment",
    "+15550200009": "read",
    "+15550200010": "cancel",
    "+15550200011": "defer",
    "+15550200012": "silent",
}


def twilio(simulator: Simulator, http: HttpClient, credential: str, hook: str, **changes: str) -> Twilio:
    keys = simulator.control.keys("twilio")
    secret = {"api_key": keys.pop("keys")[0], **keys, **changes}
    return Twilio(http, simulator.base_url("twilio", credential), secret, CLOCK, webhook_url=hook)


def send(provider: Twilio, one: Target, text: str = "Hello") -> Outcome:
    (outcome,) = provider.send(replace(CONTENT, text=text), [one], deadline=CLOCK.now() + FAR)
    return outcome


def to(number: str, index: int = 0) -> Target:
    return Target(target(index).ref, Recipient(number, number))


class Hook:
    """What a webhook target got, taken by the webhook function as behind API Gateway."""

    def __init__(self, target: WebhookTarget, simulator: Simulator) -> None:
        self._target = target
        self._read = 0
        self._clock = FakeClock(CLOCK.now())
        self.url = target.url
        secret = {**simulator.control.keys("twilio"), "webhook_url": target.url}
        settings = Settings("dev", (Credential("texts", "twilio", "sms", 10),), {})
        self._feedback = FakeQueue(self._clock)
        self._services = Services(settings, lambda _: secret, self._feedback, self._clock, registry.webhooks)

    def words(self, one: Target) -> list[ProviderEvent]:
        for post in self._target.posts[self._read :]:
            event = {
                "pathParameters": {"provider": "twilio", "credential_id": "texts"},
                "rawQueryString": f"ref={one.ref}",
                "headers": post.headers,
                "body": post.body.decode(),
            }
            assert receive(event, self._services)["statusCode"] == 200
        self._read = len(self._target.posts)
        found: list[ProviderEvent] = []
        while (message := self._feedback.receive()) is not None:
            credential, words = load_feedback(message.body)
            assert credential == "texts"
            found += words
            self._feedback.delete(message)
        return found


@pytest.fixture
def hook(simulator: Simulator) -> Iterator[Hook]:
    with listening() as target:
        yield Hook(target, simulator)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("+15550200000", [("accepted", ""), ("delivered", "")]),
        ("+15550200001", [("accepted", ""), ("bounced", "30005")]),
        ("+15550200002", [("accepted", ""), ("bounced", "30006")]),
        ("+15550200003", [("accepted", ""), ("blocked", "30007")]),
        ("+15550200004", [("dropped", "30001")]),
        ("+15550200005", [("accepted", ""), ("failed_temporarily", "30003")]),
        ("+15550200006", [("complained", "21610")]),
        ("+15550200007", [("accepted", ""), ("bounced", "30005"), ("delivered", "")]),
        ("+15550200008", [("accepted", ""), ("failed_temporarily", "30008"), ("delivered", "")]),
        ("+15550200009", [("accepted", ""), ("delivered", ""), ("delivered", "")]),
        ("+15550200010", [("accepted", ""), ("dropped", "")]),
        ("+15550200011", [("accepted", ""), ("accepted", ""), ("accepted", ""), ("delivered", "")]),
        ("+15550200012", []),
    ],
)
@pytest.mark.promise(7)
def test_what_twilio_says_is_read(
    simulator: Simulator, http: HttpClient, hook: Hook, number: str, words: list[tuple[str, str]]
) -> None:
    simulator.control.webhooks("twilio", "events", delay={"ms": 1}, attempts=1, parallel=1, behaviours=NUMBERS)
    simulator.control.reset()
    one = to(number)
    sent = send(twilio(simulator, http, "events", hook.url), one)
    assert simulator.control.flush(now=True)["failed"] == 0
    assert isinstance(sent, Accepted)
    found = hook.words(one)
    assert [(w.ref, w.word, w.code, w.id) for w in found] == [(one.ref, word, code, sent.id) for word, code in words]
    assert all(abs(w.at - CLOCK.now()) < 60 for w in found)


@pytest.mark.parametrize(
    ("number", "outcome"),
    [
        ("+15005550001", Rejected("invalid_recipient", permanent=True)),
        ("+15005550002", Rejected("no_route", permanent=False, about_message=True)),
        ("+15005550003", Rejected("region_not_permitted", permanent=False, about_message=True)),
        ("+15005550004", Rejected("unsubscribed", permanent=True, unwanted=True)),
        ("+15005550009", Rejected("invalid_recipient", permanent=True)),
    ],
)
def test_twilios_numbers_for_tests(simulator: Simulator, http: HttpClient, number: str, outcome: Outcome) -> None:
    assert send(twilio(simulator, http, "magic", "https://api.example"), to(number)) == outcome
    assert simulator.control.log("twilio", "magic") == []


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"api_key": "SK1:wrong"}, "unauthorized"),
        ({"api_key": "", "auth_token": "wrong"}, "unauthorized"),
        ({"account_sid": "AC" + "9" * 32}, "unauthorized"),
        ({"from": "+15005550001"}, "invalid_from"),
        ({"from": "+15005550008"}, "queue_full"),
        ({"messaging_service_sid": "MG1"}, "invalid_from"),
        ({"webhook_url": "nowhere"}, "invalid_callback"),
    ],
)
def test_what_is_wrong_with_a_credential(
    simulator: Simulator, http: HttpClient, changes: dict[str, str], code: str
) -> None:
    provider = twilio(simulator, http, "wrong", "https://api.example", **changes)
    assert send(provider, to("+15550100000")) == Rejected(code, permanent=False, provider_down=True)
    assert simulator.control.log("twilio", "wrong") == []


def test_the_auth_token_calls_too(simulator: Simulator, http: HttpClient) -> None:
    simulator.control.webhooks("twilio", "token", mix={"silent": 1})
    provider = twilio(simulator, http, "token", "https://api.example", api_key="")
    assert isinstance(send(provider, to("+15550100000"), "Grüße \U0001f600 & +"), Accepted)
    (line,) = simulator.control.log("twilio", "token")
    shown = simulator.control.json("GET", f"/inbox/{line['seq']}.json")
    assert (line["recipient"], shown["text"]) == ("+15550100000", "Grüße \U0001f600 & +")
