"""The feedback queue's handler: our own messages, and those of SNS about SES's events."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from functions.dispatch import services, track
from functions.webhooks.receive import receive
from functions.webhooks.services import MAX_MESSAGE_BYTES, Services
from shared.contracts import Credential, ProviderEvent, Settings, dump_feedback
from shared.domain.ids import Ref
from shared.domain.jobs.states import Cell
from shared.domain.recipients.suppressions import Reach
from shared.engine.outcome.track import Tracked
from shared.ports import Retriable
from shared.providers import registry
from shared.providers._common import REF_ARG
from tests.dispatch.errors import errors
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Tap
from tests.fakes.queues import FakeQueue
from tests.fakes.texts import FakeTexts
from tests.fakes.world import World, credential
from tests.providers import test_sendgrid_events as sendgrid
from tests.providers.ses_posts import REF, bounce, delivery, event, post

SETTINGS = Settings(
    "dev",
    (Credential("ses-main", "ses", "email", 14), Credential("main", "sendgrid", "email", 10)),
    {"email": ("main", "ses-main")},
)
OURS = ProviderEvent(REF, "delivered", 1_790_000_000)


@dataclass
class Tracker:
    """Keeps what it is given."""

    tracked: list[tuple[str, list[ProviderEvent]]] = field(default_factory=list)
    left: tuple[ProviderEvent, ...] = ()
    later: tuple[ProviderEvent, ...] = ()

    def join_all(self, credential: str, words: Sequence[ProviderEvent], *, deadline: float) -> Tracked:
        assert deadline < FakeClock().now() + 60
        self.tracked.append((credential, list(words)))
        return Tracked(len(words), 0, self.later, left=self.left)


@dataclass
class Deployed:
    settings: Settings = SETTINGS
    tracker: Tracker = field(default_factory=Tracker)
    clock: FakeClock = field(default_factory=FakeClock)
    tap: Tap = field(default_factory=Tap)
    records: Any = None
    texts: FakeTexts = field(default_factory=FakeTexts)

    @property
    def feedback(self) -> FakeQueue:
        return FakeQueue(self.clock, self.tap)


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch) -> Deployed:
    made = Deployed()
    monkeypatch.setattr(services, "deployment", lambda: made)
    return made


class Context:
    """What Lambda says of an invocation that has a minute left."""

    aws_request_id = "request"

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds that are left."""
        return 60_000


def run(*bodies: str) -> list[str]:
    """Return the numbers of the messages that are to be delivered again."""
    records = [{"messageId": str(n), "body": body} for n, body in enumerate(bodies)]
    answer = track.handler({"Records": records}, Context())
    return [f["itemIdentifier"] for f in answer["batchItemFailures"]]


def sns(said: Any = None, **changes: Any) -> str:
    return post(said, Signature="", **changes).decode()


@pytest.mark.promise(7)
def test_events_of_ses_are_tracked_with_their_credential(deployed: Deployed) -> None:
    said = bounce("Permanent", "General", status="5.1.1")
    for _ in range(2):
        assert run(sns(delivery()), dump_feedback("main", [OURS]), sns(said)) == []
    first, second = deployed.tracker.tracked[:2]
    assert (first[0], [w.word for w in first[1]]) == ("ses-main", ["delivered", "bounced"])
    assert second == ("main", [OURS])
    assert deployed.tracker.tracked[2:] == [first, second]


@pytest.mark.parametrize(
    "said",
    [
        delivery() | {"mail": {}},
        event("Delivery", {"posthaste_ref": REF}),
        event("Delivery", {"posthaste_ref": REF, "posthaste_credential": "nobody"}),
        event("Delivery", {"posthaste_ref": REF, "posthaste_credential": "main"}),
        event("Open"),
    ],
)
def test_what_is_not_ours_is_dropped(deployed: Deployed, said: dict[str, Any]) -> None:
    assert run(sns(said)) == []
    assert not [words for _, words in deployed.tracker.tracked if words]


@pytest.mark.promise(6)
@pytest.mark.parametrize(
    "body", ["", "[]", "{}", "7", json.dumps({"TopicArn": "x"}), sns(Message="hello"), sns(Type="Other")]
)
def test_poison_goes_to_the_dead_letters_and_takes_nothing_along(deployed: Deployed, body: str) -> None:
    assert run(body, sns(delivery())) == ["0"]
    assert [credential for credential, _ in deployed.tracker.tracked] == ["ses-main"]


@pytest.mark.slow
@pytest.mark.promise(7)
def test_a_post_of_a_thousand_events_is_one_write_and_one_detail_per_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signed, read, cut into messages, joined; and all of it a second time, which writes nothing."""
    world = World(credential("sendgrid"), clock=FakeClock(float(sendgrid.NOW)))
    job = world.accept(1000).id
    world.settle()
    queue = FakeQueue(world.clock)
    deployed = SimpleNamespace(settings=world.settings, tracker=world.tracker, feedback=queue, clock=world.clock)
    monkeypatch.setattr(services, "deployment", lambda: deployed)
    edge = Services(world.settings, lambda _credential: sendgrid.SECRET, queue, world.clock, registry.webhooks)
    refs = [str(Ref(job, n // 500, n % 500, 1)) for n in range(1000)]
    said = [
        sendgrid.event(event="delivered", response="250 OK " + 180 * "x", **{REF_ARG: ref})
        for ref in sorted(refs, key=lambda r: r[::-1])
    ]
    body = json.dumps(said)
    arrived = {
        "pathParameters": {"provider": "sendgrid", "credential_id": "sendgrid"},
        "headers": sendgrid.signed(body.encode(), at=int(world.clock.now())),
        "body": body,
    }
    for swaps in (2, 0):
        queue.sent.clear()
        assert json.loads(receive(arrived, edge)["body"]) == {"received": 1000, "ours": 1000}
        assert len(queue.sent) > 1
        assert max(len(m.body.encode()) for m in queue.sent) <= MAX_MESSAGE_BYTES
        before = len(world.tap.calls)
        assert run(*(m.body for m in queue.sent)) == []
        calls = world.tap.calls[before:]
        assert (calls.count("ledgers.swap"), calls.count("records.put_feedback")) == (swaps, 2)
        details = [world.records.details(job, chunk)[1] for chunk in range(2)]
        assert [len(d.entries) for found in details for d in found] == [500, 500]
    assert set(world.states(job)) == {Cell.DELIVERED}


@pytest.mark.promise(6)
def test_only_messages_with_words_that_were_left_are_delivered_again(deployed: Deployed) -> None:
    """A chunk that fails takes no other message of its credential along to the dead letters."""
    bad, good = ProviderEvent(REF, "delivered", 1), ProviderEvent(REF, "delivered", 2)
    deployed.tracker.left = (bad,)
    bodies = [dump_feedback("main", words) for words in ([good], [good, bad], [bad], [good])]
    assert run(*bodies) == ["1", "2"]


def test_what_is_delivered_again_has_its_reason_in_the_log(
    deployed: Deployed, caplog: pytest.LogCaptureFixture
) -> None:
    left = dump_feedback("main", [OURS])
    deployed.tracker.left = (OURS,)
    assert len(run(*[left] * 30)) == 30
    assert errors(caplog) == {str(n): "WordsLeft: a chunk failed, or there was no time" for n in range(30)}
    caplog.clear()
    deployed.tracker.later = (OURS,)
    deployed.tap.arm(0, error=lambda: Retriable("busy"))
    assert run(left, left) == ["0", "1"]
    assert errors(caplog) == dict.fromkeys("01", "shared.ports.common.Retriable: busy")


def test_words_to_be_looked_at_again_are_left_if_the_queue_does_not_take_them(deployed: Deployed) -> None:
    deployed.tracker.later = (OURS,)
    assert run(dump_feedback("main", [OURS])) == []
    assert deployed.tap.calls == ["queue.send"]
    deployed.tap.arm(0, error=lambda: Retriable("busy"))
    assert run(dump_feedback("main", [OURS])) == ["0"]


@pytest.mark.promise(11)
def test_a_number_s_stop_changes_the_lists_of_its_credential_alone(deployed: Deployed) -> None:
    world = World(credential("one", 10))
    texts = Credential("texts", "twilio", "sms", 1, accounts=("acc_clinic",))
    deployed.records = world.records
    deployed.settings = Settings("dev", (texts,), {})
    stop = ProviderEvent("+14155550100", "stopped", 100, "SM1", "+15005550006", "Stop")
    assert run(dump_feedback("texts", [stop, OURS]), dump_feedback("gone", [stop])) == []
    assert deployed.tracker.tracked[0] == ("texts", [OURS])
    assert world.records.suppressed("acc_clinic", ["+14155550100"], (Reach.SMS,)) == {"+14155550100": Reach.SMS}
    (text,) = deployed.texts.items.values()
    assert (text.account, text.sender, text.text, text.wish) == ("acc_clinic", "+14155550100", "Stop", "stopped")


def inbound(**changes: Any) -> str:
    """Return a text that somebody wrote, as AWS End User Messaging publishes it."""
    event = {
        "originationNumber": "+14255550182",
        "destinationNumber": "+12125550101",
        "messageKeyword": "KEYWORD_000000000000",
        "messageBody": "STOP",
        "inboundMessageId": "cae173d2-66b9-564c-8309-21f858e9fb84",
        "previousPublishedMessageId": "x",
        **changes,
    }
    return sns(Message=json.dumps(event))


@pytest.mark.promise(11)
def test_a_text_of_a_topic_belongs_to_the_credential_with_its_number(deployed: Deployed) -> None:
    world = World(credential("one", 10))
    deployed.records = world.records
    accounts: dict[str, Any] = {"accounts": ("acc_clinic",)}
    deployed.settings = Settings(
        "dev",
        (
            Credential("other", "aws-sms", "sms", 1, number="+12125550102", **accounts),
            Credential("foreign", "twilio", "sms", 1, number="+12125550101", **accounts),
            Credential("texts", "aws-sms", "sms", 1, number="+12125550101", **accounts),
        ),
        {},
    )
    assert run(inbound(), inbound(destinationNumber="+12125550199"), inbound(destinationNumber="")) == []
    (text,) = deployed.texts.items.values()
    assert (text.credential, text.to, text.wish) == ("texts", "+12125550101", "stopped")
    assert world.records.suppressed("acc_clinic", ["+14255550182"], (Reach.SMS,)) == {"+14255550182": Reach.SMS}
