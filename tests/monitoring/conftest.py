"""The alarms of a synthesised stack, and handlers that run over a world in memory while their figures are recorded."""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest

from functions.digest import handler as digest
from functions.digest import services as digest_services
from functions.dispatch import call_hooks, ingest, log, notices, plan, send, services, sweep, track
from functions.webhooks import receive
from functions.webhooks.services import Services
from infra.settings import read
from shared.adapters.dynamo import codec
from shared.bootstrap import Deployment
from shared.bootstrap.core import Core
from shared.bootstrap.digesting import Digesting
from shared.bootstrap.mailing import Mailing
from shared.contracts import ENV_SETTINGS, Credential, DueKind, DueMinute, HookCall, ProviderEvent, dump_feedback
from shared.contracts import ingest as list_message
from shared.domain.jobs.states import JobState
from shared.domain.spending.limits import ReachedQuota
from shared.engine.hooks.turn import HookRun
from shared.engine.sweeper.sweep import Sweeper
from shared.providers import registry
from tests.fakes.bookmarks import FakeBookmarks
from tests.fakes.clock import FakeClock, FakePool
from tests.fakes.queues import FakeQueue
from tests.fakes.world import World
from tests.infra.synthesis import synthesised
from tests.infra.template import Template
from tests.monitoring.cloudwatch import Alarm, documents
from tests.providers import test_sendgrid_events as sendgrid

RATE = 150.0
STAGE = "dev"
CREDENTIALS = (Credential("acme-one", "sendgrid", "email", RATE), Credential("acme-two", "mailgun", "email", 10.0))
Document = dict[str, Any]


@pytest.fixture(scope="session")
def stack() -> Template:
    return template_of(STAGE)


def template_of(stage: str) -> Template:
    """Return the template of a stage with these credentials."""
    rows = [{"id": c.id, "provider": c.provider, "channel": c.channel, "rate": c.rate} for c in CREDENTIALS]
    raw = {"stage": stage, "credentials": rows, "alarm_email": "ops@example.com", "limits": {"email": 10_000}}
    return Template(json.loads(synthesised(read(raw)).read_text("utf-8")))


@pytest.fixture(scope="session")
def alarms(stack: Template) -> dict[str, Alarm]:
    return alarms_of(stack, STAGE)


def alarms_of(template: Template, stage: str) -> dict[str, Alarm]:
    """Name without the stage's prefix → alarm."""
    found = [Alarm(properties) for properties in template.of("CloudWatch::Alarm").values()]
    return {alarm.name.removeprefix(f"posthaste-{stage}-"): alarm for alarm in found}


class Context:
    """An invocation that has all its time."""

    aws_request_id = "0a1b2c3d-invocation"

    def get_remaining_time_in_millis(self) -> int:
        return 120_000


@dataclass
class Functions:
    """The real handlers over a world in memory; each call returns the lines that CloudWatch would read."""

    world: World
    patch: pytest.MonkeyPatch
    heard: Callable[[], list[Document]]
    put_off: list[float]
    """Seconds for which pointers that failed were put off."""
    deployment: Any
    """The parts that the functions ask for."""

    def send(self, lane: str = "acme-one") -> list[Document]:
        """Serve a lane's next pointer."""
        message = self.world.lanes[lane].receive()
        assert message is not None
        attributes = {"ApproximateReceiveCount": str(message.receives)}
        record = {"messageId": "1", "receiptHandle": "h", "attributes": attributes, "body": message.body}
        record["eventSourceARN"] = f"arn:aws:sqs:us-east-1:123456789012:posthaste-dev-lane-{lane}"
        send.handler({"Records": [record]}, Context())
        self.world.lanes[lane].delete(message)
        return self.heard()

    def log(self) -> list[Document]:
        """Fold what the stream of ledgers shows."""
        records = [_record(codec.ledger_item(x), self.world.clock.now()) for x in self.world.stream]
        self.world.stream.clear()
        log.handler({"Records": records}, Context())
        return self.heard()

    def plan(self, job: str) -> list[Document]:
        """Start a job that the stream of jobs shows."""
        plan.handler(
            {"Records": [_record({"job": {"S": job}, "state": {"S": "READY"}}, self.world.clock.now())]}, Context()
        )
        return self.heard()

    def track(self, credential: str, words: list[ProviderEvent]) -> list[Document]:
        """Join words."""
        track.handler({"Records": [{"messageId": "1", "body": dump_feedback(credential, words)}]}, Context())
        return self.heard()

    def sweep(self) -> list[Document]:
        """Sweep once."""
        sweep.handler({}, Context())
        return self.heard()

    def notices(self) -> list[Document]:
        """Let notices be looked at once."""
        notices.handler({}, Context())
        return self.heard()

    def digest(self) -> list[Document]:
        """Let overdue windows be looked at once."""
        record = {"messageId": "1", "body": DueMinute(DueKind.DIGESTS).dumps()}
        digest.handler({"Records": [record]}, Context())
        return self.heard()

    def overdue(self, kind: DueKind) -> list[Document]:
        """Let the sweeper find that something of a kind is overdue."""
        Deployment({ENV_SETTINGS: self.world.settings.dumps()}, self.world.clock).tell_overdue(kind)
        return self.heard()

    def hooks(self) -> list[Document]:
        """Let endpoints with work be looked for once."""
        call_hooks.handler({}, Context())
        return self.heard()

    def call(self) -> list[Document]:
        """Post to an endpoint: it takes two deliveries and refuses one."""
        source = "arn:aws:sqs:us-east-1:123456789012:posthaste-dev-calls"
        record = {"messageId": "1", "eventSourceARN": source, "body": HookCall("hook_1").dumps()}
        call_hooks.handler({"Records": [record]}, Context())
        return self.heard()

    def late(self) -> list[Document]:
        """Come to a window that should have been made long before."""
        Digesting(self.deployment).tell_late()
        return self.heard()

    def late_mail(self) -> list[Document]:
        """Notify a sender, give notifications up, and come to a mail that should have been cleaned long before."""
        figures = Mailing(self.deployment).figures
        figures.notified()
        figures.given_up(2)
        figures.late()
        return self.heard()

    def limit(self, share: int, *, default: bool) -> list[Document]:
        """Note that a share of an account's limit of a day is used."""
        found = ReachedQuota("acc_a", "2026-11-20", "email", "", share, 10_000, 10_000, 1, default)
        Core({ENV_SETTINGS: self.world.settings.dumps()}, self.world.clock).tell_limit(found)
        return self.heard()

    def ingest(self) -> list[Document]:
        """Read an uploaded list."""
        record = {"messageId": "1", "body": list_message("campaign", "upload")}
        ingest.handler({"Records": [record]}, Context())
        return self.heard()

    def webhook(self, *, signature: bool = True) -> list[Document]:
        """Take a post of SendGrid's."""
        queue = FakeQueue(self.world.clock)
        using = Services(
            self.world.settings, lambda _credential: sendgrid.SECRET, queue, self.world.clock, registry.webhooks
        )
        body = json.dumps([sendgrid.event(event="delivered")]).encode()
        headers = sendgrid.signed(body, at=int(self.world.clock.now())) if signature else {}
        event = {
            "requestContext": {"requestId": "request-1"},
            "pathParameters": {"provider": "sendgrid", "credential_id": "acme-one"},
            "headers": headers,
            "body": body.decode(),
        }
        self.patch.setattr(receive, "services", lambda: using)
        receive.handler(event, Context())
        return self.heard()


def _record(item: dict[str, Any], at: float) -> dict[str, Any]:
    """Return a stream's record; binary attributes are base64 there."""
    image = {k: {"B": base64.b64encode(v["B"]).decode()} if "B" in v else v for k, v in item.items()}
    return {"eventName": "MODIFY", "dynamodb": {"ApproximateCreationDateTime": at - 2, "NewImage": image}}


class Reading:
    """Stands for what reads lists, and always fails."""

    def work(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("the store is away")


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Functions:
    world = World(*CREDENTIALS, clock=FakeClock(float(sendgrid.NOW)))
    world.settings = replace(world.settings, stage=STAGE)
    put_off: list[float] = []
    noticing, digesting = (
        SimpleNamespace(
            closer=None, sweeper=Sweeper(walks=[], bookmarks=FakeBookmarks(), clock=world.clock, pool=FakePool)
        )
        for _ in range(2)
    )
    hooking = SimpleNamespace(
        calls=SimpleNamespace(wake=lambda *_, **__: 0, work=lambda *_, **__: HookRun(delivered=2, refused=1))
    )
    lane = SimpleNamespace(
        sender=lambda _timeout: world.senders["acme-one"], credential=world.settings.credential("acme-one")
    )
    deployment = SimpleNamespace(
        digesting=digesting,
        hooking=hooking,
        noticing=noticing,
        lane=lane,
        clock=world.clock,
        settings=world.settings,
        breaker_cache=world.breaker_cache,
        pacer=world.pacer,
        lanes={"acme-one": SimpleNamespace(put_off=lambda _handle, seconds, **_: put_off.append(seconds))},
        logger=world.logger,
        retrier=world.retrier,
        fold_listeners=world.fold_listeners,
        ledgers_in=world.ledgers_in,
        turns=world.campaign_queue,
        planner=world.planner,
        tracker=world.tracker,
        sweeper=world.sweeper,
        expired=SimpleNamespace(begin=lambda _queue: None),
        queue=lambda _variable: world.due_queue,
        ingestion=Reading(),
        feedback=FakeQueue(world.clock),
    )
    monkeypatch.setattr(services, "deployment", lambda: deployment)
    monkeypatch.setattr(digest_services, "deployment", lambda: deployment)
    capsys.readouterr()
    return Functions(world, monkeypatch, lambda: documents(capsys.readouterr().out), put_off, deployment)


@pytest.fixture
def healthy(functions: Functions) -> list[Document]:
    """What a healthy minute tells: 500 messages sent, counted, acknowledged; a job started; a sweep."""
    world = functions.world
    job = world.accept(500, route=("acme-one",))
    told = functions.send() + functions.log()
    told += functions.track("acme-one", [world.word(job.id, i, "delivered") for i in range(500)]) + functions.log()
    later = world.accept(1, route=("acme-one",), not_before=world.clock.ms + 1000)
    world.clock.advance(1)
    told += functions.plan(later.id) + functions.sweep() + functions.notices() + functions.digest()
    told += functions.hooks()
    told += functions.webhook()
    assert world.job(later.id).state is JobState.ENQUEUED
    functions.send()  # not told: the minute is about the 500, and the lane is left empty
    return told
