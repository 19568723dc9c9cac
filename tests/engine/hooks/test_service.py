"""Endpoints are made, changed and removed, and their deliveries are made again."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from shared.domain.audit import EVERYONE, Log
from shared.domain.hooks.delivery import DeliveryState, HookAttempt, HookDelivery, attempted, ended
from shared.domain.hooks.draft import HookDraft
from shared.domain.hooks.endpoint import (
    DEPLOYMENT,
    LISTED_MS,
    LISTENER_MS,
    MAX_ENDPOINTS,
    SEEN_MS,
    Endpoint,
    EndpointState,
    HookFormat,
)
from shared.domain.hooks.signature import post_headers, secret_of
from shared.domain.hooks.work import HookWork, ReplayOrder
from shared.engine.hooks.listening import ListenerService
from shared.engine.hooks.made import CreatedHook
from shared.engine.hooks.service import HookService
from shared.engine.intake.declined import Declined
from tests.fakes.clock import FakeClock
from tests.fakes.hooks.endpoints import FakeEndpoints
from tests.fakes.hooks.outside import CallHint, FakeHookHints, FakeHookSecrets
from tests.fakes.hooks.queue import FakeHookQueue, FakeWorks
from tests.fakes.journal import FakeJournal

OURS = "acc_000000000001"
URL = "https://shop.example.com/hooks?token=s3cret"
DRAFT = HookDraft(URL, ("message.failed", "job.logged"), "Shop")


@dataclass
class Office:
    """A service over memory."""

    clock: FakeClock = field(default_factory=FakeClock)
    journal: FakeJournal = field(default_factory=FakeJournal)
    queue: FakeHookQueue = field(default_factory=FakeHookQueue)
    hints: FakeHookHints = field(default_factory=FakeHookHints)

    def __post_init__(self) -> None:
        self.endpoints = FakeEndpoints(self.journal, queue=self.queue)
        self.service = HookService(
            endpoints=self.endpoints,
            queue=self.queue,
            works=FakeWorks(self.queue),
            hints=self.hints,
            secrets=FakeHookSecrets(),
            journal=self.journal,
            clock=self.clock,
            local=False,
        )
        self.listeners = ListenerService(
            endpoints=self.endpoints,
            queue=self.queue,
            secrets=FakeHookSecrets(),
            body=lambda x, _: b'{"type":"' + x.kind.encode() + b'"}' if x.id != "evt_gone" else b"",
            clock=self.clock,
        )

    @property
    def now(self) -> int:
        return int(self.clock.now() * 1000)

    def made(self, draft: HookDraft = DRAFT, namespace: str = OURS) -> CreatedHook:
        made = self.service.create(namespace, draft, by="key")
        assert isinstance(made, CreatedHook), made
        return made

    def enabled(self) -> Endpoint:
        made = self.made().endpoint
        self.hints.calls.clear()
        self.queue.waiting.clear()
        return self.endpoints.put(replace(made, proven=True))

    def listener(self) -> CreatedHook:
        made = self.service.listen(OURS, HookDraft(events=("*",)), by="key")
        assert isinstance(made, CreatedHook)
        return made

    def delivery(self, endpoint: Endpoint, name: str = "evt_1", *, due: int = 0, **more: Any) -> HookDelivery:
        made = HookDelivery(name, endpoint.id, "job.logged", self.now, due or self.now, data="{}", **more)
        self.queue.add(endpoint.id, [made], wake=self.now)
        return made

    def over(self, endpoint: Endpoint, name: str, state: DeliveryState) -> HookDelivery:
        waiting = self.delivery(endpoint, name)
        done = ended(attempted(waiting, HookAttempt(self.now, 500)), state, self.now)
        self.queue.settle([(waiting, done)])
        return done

    def audit(self, account: str = OURS) -> list[tuple[str, str]]:
        return sorted((str(x.kind), x.id) for x in self.journal.since(account, Log.AUDIT, 0))


@pytest.fixture
def office() -> Office:
    return Office()


def code(found: object) -> tuple[str, str]:
    """Return the code of a refusal and its field."""
    assert isinstance(found, Declined), found
    return found.code, found.faults[0].field if found.faults else ""


# Endpoints


def test_a_new_endpoint_is_asked_first(office: Office) -> None:
    made = office.made()
    assert made.endpoint.state is EndpointState.PROVING
    assert made.secret == secret_of("m" * 64, made.endpoint.id, 1)
    assert not made.endpoint.wants("message.failed")
    (proof,) = office.queue.waiting.values()
    assert (proof.kind, proof.endpoint) == ("test", made.endpoint.id)


def test_an_endpoint_is_asked_at_once(office: Office) -> None:
    first, second = office.made(), office.made()
    assert [x.due for x in office.queue.waiting.values()] == [office.now] * 2
    assert office.hints.calls == [CallHint(first.endpoint.id), CallHint(second.endpoint.id)]


def test_a_listener_is_enabled_when_all_processes_know_it(office: Office) -> None:
    made = office.listener().endpoint
    assert made.wants("job.logged"), "what comes sooner is fetched, too"
    assert made.enabled_at == office.now + LISTED_MS > office.now + SEEN_MS
    off = office.service.change(made, HookDraft(disabled=True), by="key")
    office.clock.advance(60)
    assert isinstance(off, Endpoint)
    on = office.service.change(off, HookDraft(disabled=False), by="key")
    assert isinstance(on, Endpoint)
    assert on.enabled_at == office.now + SEEN_MS


def test_the_audit_log_has_the_host_and_no_secret(office: Office) -> None:
    made = office.made()
    (entry,) = office.journal.since(OURS, Log.AUDIT, 0)
    assert (entry.kind, entry.id, entry.actor) == ("hook.created", made.endpoint.id, "key")
    assert entry.data == {"events": 2, "host": "shop.example.com"}
    assert "s3cret" not in str(office.journal.items)


@pytest.mark.parametrize(
    ("draft", "refused"),
    [
        (HookDraft(events=("*",)), ("validation_failed", "url")),
        (replace(DRAFT, url="http://shop.example.com/"), ("url_not_allowed", "url")),
        (replace(DRAFT, url="https://127.0.0.1/"), ("url_not_allowed", "url")),
        (replace(DRAFT, events=None), ("validation_failed", "events")),
        (replace(DRAFT, events=()), ("validation_failed", "events")),
        (replace(DRAFT, events=("job.logged", "job.lost")), ("validation_failed", "events.1")),
        (replace(DRAFT, events=("breaker.opened",)), ("validation_failed", "events.0")),
        (replace(DRAFT, events=("test",)), ("validation_failed", "events.0")),
        (replace(DRAFT, description="x" * 201), ("validation_failed", "description")),
    ],
)
def test_a_draft_that_is_not_valid_stores_nothing(office: Office, draft: HookDraft, refused: tuple[str, str]) -> None:
    assert code(office.service.create(OURS, draft, by="key")) == refused
    assert (office.endpoints.items, office.queue.waiting, office.audit()) == ({}, {}, [])


def test_the_deployment_has_kinds_of_its_own(office: Office) -> None:
    made = office.made(replace(DRAFT, events=("breaker.opened", "campaign.halted")), DEPLOYMENT)
    assert made.endpoint.events == ("breaker.opened", "campaign.halted")
    assert office.audit(EVERYONE) == [("hook.created", made.endpoint.id)]
    assert code(office.service.create(DEPLOYMENT, DRAFT, by="x")) == ("validation_failed", "events.0")


def test_a_namespace_has_twenty_endpoints(office: Office) -> None:
    for _ in range(MAX_ENDPOINTS):
        office.made()
    assert code(office.service.create(OURS, DRAFT, by="key")) == ("too_many_hooks", "")
    assert len(office.queue.waiting) == MAX_ENDPOINTS
    office.made(namespace=f"{OURS}#TEST")


def test_an_endpoint_is_found_in_its_own_namespace_only(office: Office) -> None:
    name = office.made().endpoint.id
    assert office.service.find(OURS, name) is not None
    for namespace, wanted in ((f"{OURS}#TEST", name), ("acc_000000000002", name), (DEPLOYMENT, name), (OURS, "hook_x")):
        assert office.service.find(namespace, wanted) is None


def test_a_change_leaves_the_rest_and_an_equal_one_writes_nothing(office: Office) -> None:
    old = office.enabled()
    new = office.service.change(old, HookDraft(batch=True, format=HookFormat.SLACK), by="key")
    assert new == replace(old, batch=True, batch_at=office.now, format=HookFormat.SLACK, version=old.version + 1)
    assert office.service.change(new, HookDraft(batch=True), by="key") == new
    assert [kind for kind, _ in office.audit()] == ["hook.changed", "hook.created"]
    assert (office.queue.waiting, office.hints.calls) == ({}, [])


def test_a_new_url_is_asked_first(office: Office) -> None:
    old = office.enabled()
    new = office.service.change(old, HookDraft(url="https://other.example.com/"), by="key")
    assert isinstance(new, Endpoint)
    assert new.state is EndpointState.PROVING
    assert [x.kind for x in office.queue.waiting.values()] == ["test"]
    assert office.hints.calls == [CallHint(old.id)]
    assert code(office.service.change(new, HookDraft(url="https://10.0.0.1/"), by="key")) == ("url_not_allowed", "url")


def test_a_disabled_endpoint_is_asked_again_when_it_is_enabled(office: Office) -> None:
    off = office.service.change(office.enabled(), HookDraft(disabled=True), by="key")
    assert isinstance(off, Endpoint)
    assert (off.state, off.reason) == (EndpointState.DISABLED, "owner")
    assert code(office.service.test(off)) == ("hook_disabled", "")
    assert office.queue.waiting == {}
    on = office.service.change(off, HookDraft(disabled=False), by="key")
    assert isinstance(on, Endpoint)
    assert (on.state, on.reason) == (EndpointState.PROVING, "")
    assert [x.kind for x in office.queue.waiting.values()] == ["test"]
    assert [kind for kind, _ in office.audit()] == ["hook.created", "hook.disabled", "hook.enabled"]


def test_a_change_wins_over_one_that_came_between(office: Office) -> None:
    old = office.enabled()
    office.service.change(old, HookDraft(description="other"), by="key")
    new = office.service.change(old, HookDraft(batch=True), by="key")
    assert isinstance(new, Endpoint)
    assert (new.description, new.batch) == ("other", True)
    office.service.delete(new, by="key")
    assert code(office.service.change(old, HookDraft(batch=True), by="key")) == ("not_found", "")


def test_a_rotation_leaves_two_secrets_for_a_day(office: Office) -> None:
    old = office.enabled()
    made = office.service.rotate(old, by="key")
    assert isinstance(made, CreatedHook)
    assert made.secret == secret_of("m" * 64, old.id, 2)
    assert made.endpoint.secrets(office.now) == (2, 1)
    office.clock.sleep(86_400)
    assert made.endpoint.secrets(office.now) == (2,)


def test_a_deleted_endpoint_is_gone(office: Office) -> None:
    endpoint = office.enabled()
    office.service.delete(endpoint, by="key")
    office.service.delete(endpoint, by="key")
    assert office.service.every(OURS) == []
    assert [kind for kind, _ in office.audit()] == ["hook.created", "hook.deleted"]


# Deliveries


def test_deliveries_that_wait_come_before_those_that_ended(office: Office) -> None:
    endpoint = office.enabled()
    for n in range(3):
        office.over(endpoint, f"evt_over{n}", DeliveryState.DELIVERED if n else DeliveryState.FAILED)
        office.clock.sleep(1)
        office.delivery(endpoint, f"evt_wait{n}", due=office.now + 5_000)
    found, after, pages = [], "", 0
    while pages == 0 or after:
        page, after = office.service.deliveries(endpoint, None, after=after, limit=2)
        found += [x.id for x in page]
        pages += 1
    assert found == ["evt_wait0", "evt_wait1", "evt_wait2", "evt_over2", "evt_over1", "evt_over0"]
    assert pages == 3
    for limit in (1, 3, 6):
        assert [x.id for x in office.service.deliveries(endpoint, None, after="", limit=limit)[0]] == found[:limit]

    def of(state: DeliveryState) -> list[str]:
        return [x.id for x in office.service.deliveries(endpoint, state, after="", limit=10)[0]]

    assert of(DeliveryState.PENDING) == ["evt_wait0", "evt_wait1", "evt_wait2"]
    assert of(DeliveryState.FAILED) == ["evt_over0"]


def test_a_retry_tries_from_the_beginning_under_the_same_name(office: Office) -> None:
    endpoint = office.enabled()
    over = office.over(endpoint, "evt_1", DeliveryState.FAILED)
    office.clock.sleep(60)
    new = office.service.retry(endpoint, over)
    assert isinstance(new, HookDelivery)
    assert (new.name, new.state, new.due, new.tries) == (over.name, DeliveryState.PENDING, office.now, 0)
    assert len(new.attempts) == 1
    assert office.service.delivery(endpoint, over.name) == new
    assert office.hints.calls == [CallHint(endpoint.id)]


def test_a_retry_of_one_that_waits_moves_it_to_now(office: Office) -> None:
    endpoint = office.enabled()
    waiting = office.delivery(endpoint, due=office.now + 3_600_000)
    office.service.retry(endpoint, waiting)
    assert [x.due for x in office.queue.waiting.values()] == [office.now]
    assert office.hints.calls == [CallHint(endpoint.id)]
    assert code(office.service.retry(replace(endpoint, disabled_at=1), waiting)) == ("hook_disabled", "")


def test_a_hint_is_spared_while_a_worker_is_there(office: Office) -> None:
    endpoint = office.enabled()
    office.queue.works[endpoint.id] = HookWork(endpoint.id, "worker", until=office.now + 60_000)
    office.service.test(endpoint)
    assert office.hints.calls == []
    assert office.queue.works[endpoint.id].added == 1


def test_an_endpoint_that_fails_is_called_apart(office: Office) -> None:
    endpoint = office.enabled()
    office.queue.works[endpoint.id] = HookWork(endpoint.id, fails=2)
    office.service.test(endpoint)
    assert office.hints.calls == [CallHint(endpoint.id, apart=True)]


def test_a_replay_is_ordered_once(office: Office) -> None:
    endpoint = office.enabled()
    order = office.service.replay(endpoint, 1_000, 2_000, None)
    assert order == ReplayOrder(1_000, 2_000, office.now, None)
    assert office.service.work(endpoint).replay == order
    assert office.hints.calls == [CallHint(endpoint.id)]
    office.clock.sleep(1)
    assert code(office.service.replay(endpoint, 1_000, 2_000, None)) == ("replay_running", "")


# Listeners


def test_a_listener_hears_at_once_and_is_never_called(office: Office) -> None:
    made = office.listener()
    assert made.endpoint.listening
    assert made.endpoint.wants("message.sent")
    office.service.test(made.endpoint)
    assert office.hints.calls == []
    (item,) = office.listeners.pending(made.endpoint, 10)
    assert item.body == b'{"type":"test"}'
    assert item.headers == post_headers(item.delivery.id, office.now // 1000, item.body, [made.secret])
    assert code(office.service.replay(made.endpoint, 0, office.now, None)) == ("hook_listens", "")
    assert code(office.service.change(made.endpoint, HookDraft(url=URL), by="key")) == ("validation_failed", "url")


@pytest.mark.parametrize(("status", "state"), [(204, "delivered"), (500, "failed"), (302, "failed"), (0, "failed")])
def test_what_was_forwarded_has_its_end(office: Office, status: int, state: str) -> None:
    endpoint = office.listener().endpoint
    waiting = office.delivery(endpoint)
    done = office.listeners.done(waiting, HookAttempt(office.now, status, 7))
    assert (done.state, len(done.attempts)) == (state, 1)
    assert office.listeners.pending(endpoint, 10) == []
    assert office.listeners.done(done, HookAttempt(office.now, 200)) == done


def test_a_delivery_about_what_is_gone_fails(office: Office) -> None:
    endpoint = office.listener().endpoint
    gone = office.delivery(endpoint, "evt_gone")
    assert office.listeners.pending(endpoint, 10) == []
    (over,) = office.queue.over.values()
    assert (over.name, over.state, over.attempts[0].error) == (gone.name, DeliveryState.FAILED, "content_gone")


def test_a_poll_is_noted_by_the_minute_and_keeps_a_listener(office: Office) -> None:
    endpoint = office.listener().endpoint
    for _ in range(20):
        office.clock.sleep(LISTENER_MS / 10_000)
        office.listeners.pending(office.endpoints.items[endpoint.id], 1)
        office.clock.sleep(1)
        office.listeners.pending(office.endpoints.items[endpoint.id], 1)
    known = office.endpoints.items[endpoint.id]
    assert known.version <= 22
    assert office.service.every(OURS) == [known]
    office.clock.sleep(LISTENER_MS / 1000)
    assert office.service.every(OURS) == []
    office.listener()
    assert endpoint.id not in office.endpoints.items


def test_a_repeated_creation_asks_for_the_proof_that_the_first_did_not_live_to_ask_for() -> None:
    office = Office()
    made = office.made()
    name, asked = made.endpoint.id, len(office.queue.waiting)
    assert office.service.repeat(name) == made.secret
    assert len(office.queue.waiting) == asked
    office.queue.waiting.clear()
    office.queue.works.clear()
    assert office.service.repeat(name) == made.secret
    assert [x.kind for x in office.queue.waiting.values()] == ["test"]
    office.service.rotate(office.endpoints.items[name], by="key")
    assert office.service.repeat(name) == made.secret
