"""The function that makes deliveries: hints, records of streams, changes of alarms."""

import json
from collections.abc import Mapping
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from functions.dispatch import gather_hooks, services
from shared.adapters.dynamo import domain_events
from shared.contracts import HookChanges
from shared.domain.hooks.bodies import HookEvent
from shared.domain.hooks.domain_event import DomainEvent
from shared.domain.hooks.endpoint import DEPLOYMENT, Endpoint
from shared.domain.hooks.kinds import HookKind, HookPace
from shared.engine.hooks import gather
from shared.engine.hooks.domain_events import DomainEvents
from shared.ports import Retriable
from tests.dispatch.errors import errors
from tests.engine.hooks.hook_world import HookWorld
from tests.fakes.faults import Crash, When
from tests.fakes.hooks.outside import GatherHint
from tests.fakes.world import ACCOUNT, credential, recipients

LOGGED, HALTED = HookKind.JOB_LOGGED, HookKind.CAMPAIGN_HALTED
TTL = 1_900_000_000
FEW = 8
"""Chunks of a slice."""
TOLD = {"alarmName": "stuck", "state": {"value": "ALARM", "timestamp": "2026-11-23T15:00:00.000+0000"}}
ALARM = {"detail-type": "CloudWatch Alarm State Change", "detail": TOLD}


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> HookWorld:
    monkeypatch.setattr(gather, "MOST", FEW)
    made = HookWorld(credential("one"))
    heard = hearing(made)
    parts = SimpleNamespace(
        gatherer=made.gatherer,
        domain_events=heard,
        hints=made.hook_hints,
        read=lambda records: domain_events.read(records, made.clock.ms // 1000),
        alarm=lambda event: [domain_events.alarm(event)],
    )
    monkeypatch.setattr(services, "deployment", lambda: SimpleNamespace(clock=made.clock, hooking=parts))
    return made


class Context:
    """What Lambda says of an invocation. `seconds`: that are left."""

    aws_request_id = "request"

    def __init__(self, seconds: float = 60) -> None:
        self._seconds = seconds

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds that are left."""
        return int(self._seconds * 1000)


def hearing(world: HookWorld) -> DomainEvents:
    owners = {"clinic": f"{ACCOUNT}#TEST"}
    return DomainEvents(
        listeners=world.endpoints,
        outbox=world.outbox,
        told=world.told,
        hints=world.hook_hints,
        owner=lambda name: owners.get(name, ""),
    )


def logged(name: str = "j1", *, at: int = 1, namespace: str = ACCOUNT, **changes: Any) -> DomainEvent:
    return DomainEvent(namespace, LOGGED, HookEvent(f"evt_{name}_{at}", {"job_id": name}), ttl=TTL, **changes)


def bodies(world: HookWorld, endpoint: Endpoint) -> list[Any]:
    return [json.loads(x.data) for x in world.deliveries(endpoint)]


def hints(world: HookWorld) -> dict[str, Any]:
    """Return the hints that are queued as the function receives them."""
    some = [HookChanges(x.namespace, dict(x.places), x.pace.value) for x in world.hook_hints.gathers]
    world.hook_hints.gathers.clear()
    return {"Records": [message(x.dumps(), n) for n, x in enumerate(some)]}


def message(body: str, n: int) -> Mapping[str, Any]:
    return {"eventSource": "aws:sqs", "messageId": str(n), "body": body}


@pytest.mark.promise(3)
def test_hints_become_deliveries(world: HookWorld) -> None:
    single, batched = world.endpoint("message.sent"), world.endpoint("message.sent", batch=True)
    for _ in range(3):
        world.accept(1)
    world.settle()
    event = hints(world)
    assert len(event["Records"]) == 6
    assert gather_hooks.handler(event, Context()) == {"batchItemFailures": []}
    assert (len(world.deliveries(single)), len(world.deliveries(batched))) == (3, 1)
    assert gather_hooks.handler(event, Context()) == {"batchItemFailures": []}
    assert len(world.ids(single)) == len(world.ids(batched)) == 3


def test_endpoints_without_batches_do_not_wait_for_those_with(world: HookWorld) -> None:
    single, batched = world.endpoint("message.sent"), world.endpoint("message.sent", batch=True)
    world.accept(1)
    world.settle()
    event = hints(world)
    event["Records"].sort(key=lambda x: json.loads(x["body"])["hooks"]["pace"])
    assert [json.loads(x["body"])["hooks"]["pace"] for x in event["Records"]] == ["later", "now"]
    gather_hooks.handler(event, Context())
    assert [x.endpoint for x in world.hook_hints.calls] == [single.id, batched.id]


@pytest.mark.promise(3)
def test_hints_that_fail_are_delivered_again_and_others_are_served(
    world: HookWorld, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint, other = world.endpoint("message.sent"), world.endpoint("message.sent", namespace=f"{ACCOUNT}#TEST")
    world.accept(1)
    world.accept(1, test=True)
    world.settle()
    event = hints(world)
    event["Records"].append(message('{"hooks": {}}', 9))
    first = event["Records"][0]["messageId"]
    world.tap.arm_at("hook_queue.put", error=lambda: Retriable("busy"))
    failed = [x["itemIdentifier"] for x in gather_hooks.handler(event, Context())["batchItemFailures"]]
    assert failed == ["9", first]
    assert set(errors(caplog)) == {"9", first}
    assert len(world.ids(endpoint)) + len(world.ids(other)) == 1
    event["Records"] = event["Records"][:1]
    assert gather_hooks.handler(event, Context()) == {"batchItemFailures": []}
    assert len(world.ids(endpoint)) == len(world.ids(other)) == 1


def test_a_change_of_an_alarm_becomes_a_delivery(world: HookWorld) -> None:
    operators, account = world.endpoint(namespace=DEPLOYMENT), world.endpoint()
    gather_hooks.handler(ALARM, Context())
    assert [x["alarm"] for x in bodies(world, operators)] == ["stuck"]
    assert bodies(world, account) == []


def test_a_record_of_a_stream_becomes_a_delivery(world: HookWorld) -> None:
    operators = world.endpoint("breaker.opened", namespace=DEPLOYMENT)
    image = {"pk": {"S": "P#one"}, "sk": {"S": "BREAKER"}, "state": {"S": "OPEN"}, "since": {"N": "7"}}
    shown = {"NewImage": image | {"version": {"N": "1"}}}
    record = {"eventSource": "aws:dynamodb", "eventName": "MODIFY", "dynamodb": shown}
    for _ in range(2):
        assert gather_hooks.handler({"Records": [record, record]}, Context()) == {"batchItemFailures": []}
    assert [x["credential_id"] for x in bodies(world, operators)] == ["one"]


def test_what_happened_once_is_handed_on_once(world: HookWorld) -> None:
    single, batched = world.endpoint("job.logged"), world.endpoint(batch=True)
    heard = hearing(world)
    assert heard.hear([logged("j1"), logged("j1"), logged("j2")]) == 3
    assert heard.hear([logged("j1"), logged("j2")]) == 0
    assert heard.hear([logged("j1", at=2)]) == 2
    assert bodies(world, single) == [{"job_id": "j1"}, {"job_id": "j2"}, {"job_id": "j1"}]
    assert bodies(world, batched)[0] == [["evt_j1_1", {"job_id": "j1"}], ["evt_j2_1", {"job_id": "j2"}]]


@pytest.mark.promise(3)
def test_what_fails_is_handed_on_again_under_the_same_id(world: HookWorld) -> None:
    endpoint = world.endpoint("job.logged")
    world.tap.arm_at("told.note", error=lambda: Retriable("busy"))
    with pytest.raises(Retriable):
        hearing(world).hear([logged()])
    world.clock.sleep(1)
    assert hearing(world).hear([logged()]) == 1
    assert {x.id for x in world.deliveries(endpoint)} == {"evt_j1_1"}


def test_an_event_of_two_namespaces_is_handed_on_to_both(world: HookWorld) -> None:
    account, operators = world.endpoint("campaign.halted"), world.endpoint("campaign.halted", namespace=DEPLOYMENT)
    event = HookEvent("evt_1", {"campaign_id": "m1"})
    both = [DomainEvent(name, HALTED, event, ttl=TTL) for name in (ACCOUNT, DEPLOYMENT)]
    assert hearing(world).hear(both) == 2
    assert hearing(world).hear(both) == 0
    assert bodies(world, account) == bodies(world, operators) == [{"campaign_id": "m1"}]


def test_an_update_of_a_notice_goes_to_the_namespace_of_its_notifier(world: HookWorld) -> None:
    endpoint = world.endpoint(namespace=f"{ACCOUNT}#TEST")
    event = HookEvent("evt_1", {"notifier": "clinic"})
    some = [DomainEvent("", HookKind.NOTICE_UPDATED, event, name) for name in ("clinic", "gone")]
    assert hearing(world).hear(some) == 1
    assert bodies(world, endpoint) == [{"notifier": "clinic"}]


def test_skipped_messages_are_looked_at_when_their_job_ends(world: HookWorld) -> None:
    world.endpoint("message.skipped")
    hearing(world).hear([logged(look={"j1": range(3)})])
    assert world.hook_hints.gathers == [GatherHint(ACCOUNT, {"j1": (0, 1, 2)}, x) for x in HookPace]


def test_a_message_that_was_skipped_at_its_acceptance_is_handed_on(world: HookWorld) -> None:
    endpoint = world.endpoint("message.skipped")
    job = world.accept(recipients(2, skip=[0])).id
    world.settle()
    world.hook_hints.gathers.clear()
    hearing(world).hear([logged(job, look={job: range(world.job(job).chunks)})])
    world.gather()
    (name,) = world.ids(endpoint)
    assert name in world.due(job)


def test_without_listeners_nothing_is_read(world: HookWorld) -> None:
    before = len(world.tap.calls)
    assert hearing(world).hear([logged(), logged(namespace="acc_other")]) == 0
    assert len(world.tap.calls) == before


@pytest.mark.promise(3)
def test_what_happened_is_noted_once_it_is_stored(world: HookWorld) -> None:
    endpoint = world.endpoint("job.logged")
    world.tap.arm_at("hook_queue.put", error=lambda: Retriable("busy"))
    with pytest.raises(Retriable):
        hearing(world).hear([logged()])
    assert hearing(world).hear([logged()]) == 1
    assert bodies(world, endpoint) == [{"job_id": "j1"}]


@pytest.mark.promise(3)
@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_a_crash_at_any_call_loses_nothing_that_happened(when: When) -> None:
    some = [logged("j1"), logged("j2", look={"j2": range(2)}), DomainEvent(ACCOUNT, HALTED, HookEvent("evt_3", {}))]
    fired = 0
    for nth in range(12):
        world = HookWorld(credential("one"))
        endpoints = [world.endpoint(), world.endpoint(batch=True)]
        world.tap.arm(nth, when)
        with suppress(Crash):
            hearing(world).hear(some)
        fired += world.tap.fired
        world.tap.disarm()
        world.reboot()
        world.clock.sleep(1)
        hearing(world).hear(some)
        heard = [{name for x in world.deliveries(endpoint) for name in named(x.id, x.data)} for endpoint in endpoints]
        assert heard == [{"evt_j1_1", "evt_j2_1", "evt_3"}] * 2, (nth, when)
        assert {x.pace for x in world.hook_hints.gathers} == set(HookPace)
    assert fired > 5


def named(name: str, data: str) -> list[str]:
    """Return the ids of the events of a delivery."""
    raw = json.loads(data)
    return [one for one, _ in raw] if isinstance(raw, list) else [name]


@pytest.mark.promise(3)
@pytest.mark.parametrize("batch", [False, True])
def test_chunks_for_which_there_is_no_time_are_hinted_at_again(world: HookWorld, *, batch: bool) -> None:
    endpoint = world.endpoint("message.sent", batch=batch)
    pace = HookPace.LATER if batch else HookPace.NOW
    jobs = [world.accept(1).id for _ in range(FEW + 2)]
    world.settle()
    world.hook_hints.gathers.clear()
    event = {"Records": [message(HookChanges(ACCOUNT, dict.fromkeys(jobs, (0,)), pace.value).dumps(), 1)]}
    world.tap.delay = lambda: world.clock.sleep(1)
    assert gather_hooks.handler(event, Context(gather_hooks.MARGIN + 2)) == {"batchItemFailures": []}
    assert len(world.ids(endpoint)) == FEW
    assert world.hook_hints.gathers == [GatherHint(ACCOUNT, dict.fromkeys(jobs[FEW:], (0,)), pace)]
    world.gather()
    assert len(world.ids(endpoint)) == len(set(world.ids(endpoint))) == len(jobs)


def test_one_moment_ends_all_hints_of_an_invocation(world: HookWorld) -> None:
    endpoint, later = world.endpoint("message.sent"), world.endpoint("message.sent", batch=True)
    jobs = [world.accept(1).id for _ in range(3 * FEW)]
    world.settle()
    world.hook_hints.gathers.clear()
    paces = list(HookPace)
    some = [HookChanges(ACCOUNT, dict.fromkeys(jobs, (0,)), pace.value) for pace in paces]
    world.tap.delay = lambda: world.clock.sleep(2)
    began = world.clock.now()
    event = {"Records": [message(x.dumps(), n) for n, x in enumerate(some)]}
    assert gather_hooks.handler(event, Context(60)) == {"batchItemFailures": []}
    assert world.clock.now() - began < 60
    assert [x.pace for x in world.hook_hints.gathers] == paces
    assert world.hook_hints.gathers[1].places == dict.fromkeys(jobs, (0,)), "nothing of the second group was begun"
    world.tap.delay = lambda: None
    world.gather()
    assert len(set(world.ids(endpoint))) == len(set(world.ids(later))) == len(jobs)


@pytest.mark.promise(7)
def test_an_event_says_the_same_each_time_it_is_handed_on(world: HookWorld) -> None:
    endpoint = world.endpoint("job.logged")
    first, later = (
        DomainEvent(ACCOUNT, LOGGED, HookEvent("evt_1", {"delivered": n}), ttl=TTL, look={}) for n in (5, 9)
    )
    world.tap.arm_at("told.note", error=lambda: Retriable("busy"))
    with pytest.raises(Retriable):
        hearing(world).hear([first])
    world.clock.sleep(1)
    assert hearing(world).hear([later]) == 1
    assert bodies(world, endpoint) == [{"delivered": 5}] * 2
    assert {x.id for x in world.deliveries(endpoint)} == {"evt_1"}
