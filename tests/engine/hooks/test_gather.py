"""Changes of messages become deliveries, each once, whatever fails."""

from dataclasses import replace

import pytest

from shared.domain.hooks.bodies import MAX_BATCH
from shared.domain.hooks.kinds import HookKind, HookPace
from shared.domain.jobs.job import MAIL
from shared.domain.jobs.outcomes import Rejected, Unknown
from shared.domain.jobs.states import Cell
from shared.engine.hooks.gather import Gathered
from shared.engine.hooks.outbox import KNOWN_FOR
from shared.ports import Retriable
from tests.engine.hooks.hook_world import PACES, HookWorld
from tests.fakes.crashes import dying
from tests.fakes.faults import When
from tests.fakes.hooks.outside import GatherHint
from tests.fakes.world import ACCOUNT, credential

REFUSED = Rejected("bad", permanent=True)
SENT, DELIVERED, FAILED = HookKind.MESSAGE_SENT, HookKind.MESSAGE_DELIVERED, HookKind.MESSAGE_FAILED


@pytest.fixture
def world() -> HookWorld:
    return HookWorld(credential("one"))


def kinds(world: HookWorld, endpoint: object) -> dict[str, int]:
    """Return how many events of each kind there are."""
    out: dict[str, int] = {}
    for x in world.deliveries(endpoint):  # type: ignore[arg-type]
        out[x.kind] = out.get(x.kind, 0) + sum(len(c.cells) for c in x.cells)
    return out


def test_an_account_without_endpoints_costs_no_call(world: HookWorld) -> None:
    job = world.accept(3)
    world.everything()
    assert not [x for x in world.tap.calls if x.startswith(("hook", "told", "endpoints"))]
    assert world.due(job.id)


def test_every_change_is_handed_on_once(world: HookWorld) -> None:
    endpoint = world.endpoint()
    world.providers["one"].script("r1@example.com", [REFUSED])
    job = world.accept(3).id
    world.everything()
    assert kinds(world, endpoint) == {"message.sent": 2, "message.failed": 1}
    world.track("one", world.word(job, 0, "delivered"), world.word(job, 2, "bounced", code="550"))
    world.everything()
    assert kinds(world, endpoint) == {
        "message.sent": 2,
        "message.failed": 1,
        "message.delivered": 1,
        "message.bounced": 1,
    }
    assert len(set(world.ids(endpoint))) == len(world.ids(endpoint)) == 5
    assert world.due(job) <= set(world.ids(endpoint))


def test_a_delivery_of_a_single_event_has_its_id(world: HookWorld) -> None:
    endpoint = world.endpoint()
    world.accept(2)
    world.everything()
    assert [x.id for x in world.deliveries(endpoint)] == world.ids(endpoint)
    assert all(not x.batch and x.created_at == x.due for x in world.deliveries(endpoint))


def test_an_endpoint_hears_only_of_what_it_wants(world: HookWorld) -> None:
    some = world.endpoint("message.delivered", "job.logged")
    unproven, off = world.endpoint(proven=False), world.endpoint(disabled_at=1)
    other = world.endpoint(namespace="acc_other")
    job = world.accept(2).id
    world.everything()
    world.track("one", world.word(job, 0, "delivered"))
    world.everything()
    assert kinds(world, some) == {"message.delivered": 1}
    assert not any(world.deliveries(x) for x in (unproven, off, other))


@pytest.mark.parametrize("pace", HookPace)
def test_nothing_is_written_of_a_single_message_s_change_that_no_endpoint_wants(
    world: HookWorld, pace: HookPace
) -> None:
    batch = pace is HookPace.LATER
    endpoint = world.endpoint(DELIVERED.value, HookKind.MESSAGE_COMPLAINED.value, batch=batch)
    job = world.accept(1).id
    world.everything()
    assert (world.told.cells, kinds(world, endpoint)) == ({}, {})
    world.track("one", world.word(job, 0, "delivered"))
    world.everything()
    assert {place for place in world.told.cells if place[2] is pace} == {(job, 0, pace)}
    world.track("one", world.word(job, 0, "complained"))
    world.everything()
    assert kinds(world, endpoint) == {"message.delivered": 1, "message.complained": 1}


def test_changes_of_several_messages_are_noted_though_no_endpoint_wants_them(world: HookWorld) -> None:
    endpoint = world.endpoint(DELIVERED.value)
    job = world.accept(2).id
    world.everything()
    world.endpoints.put(replace(endpoint, events=(SENT.value, DELIVERED.value)))
    world.clock.sleep(KNOWN_FOR + 1)
    world.track("one", world.word(job, 0, "delivered"))
    world.everything()
    assert kinds(world, endpoint) == {"message.delivered": 1}


def test_batches_hold_a_hundred_events_of_one_kind(world: HookWorld) -> None:
    single, batched = world.endpoint(), world.endpoint(batch=True)
    world.providers["one"].script("r1@example.com", [REFUSED])
    world.accept(250)
    world.everything()
    assert len(world.deliveries(single)) == 250
    sizes = sorted((x.kind, sum(len(c.cells) for c in x.cells)) for x in world.deliveries(batched))
    assert sizes == [
        ("message.failed", 1),
        ("message.sent", 49),
        ("message.sent", MAX_BATCH),
        ("message.sent", MAX_BATCH),
    ]
    assert set(world.ids(batched)) == set(world.ids(single))
    assert all(x.batch and x.id.startswith("evt_") for x in world.deliveries(batched))


def test_the_code_of_an_error_is_noted(world: HookWorld) -> None:
    endpoint = world.endpoint()
    world.providers["one"].script("r1@example.com", [REFUSED])
    world.providers["one"].script("r2@example.com", [Unknown("timeout")])
    job = world.accept(5).id
    world.everything()
    world.track("one", world.word(job, 3, "bounced", code="5.1.1"), world.word(job, 4, "complained"))
    world.everything()
    notes = {(x.kind, i): text for x in world.deliveries(endpoint) for c in x.cells for i, text in c.notes.items()}
    assert notes == {
        ("message.failed", 1): "bad",
        ("message.unknown", 2): "timeout",
        ("message.bounced", 3): "5.1.1",
        ("message.complained", 4): "complained",
    }


def test_a_complaint_is_no_bounce(world: HookWorld) -> None:
    endpoint = world.endpoint("message.complained")
    job = world.accept(2).id
    world.everything()
    world.track("one", world.word(job, 0, "complained"), world.word(job, 1, "bounced"))
    world.everything()
    assert kinds(world, endpoint) == {"message.complained": 1}


def test_a_test_key_has_endpoints_of_its_own(world: HookWorld) -> None:
    live, test = world.endpoint(), world.endpoint(namespace=f"{ACCOUNT}#TEST")
    world.accept(1, test=True)
    world.everything()
    assert (world.deliveries(live), len(world.deliveries(test))) == ([], 1)


def test_jobs_of_others_are_left_out(world: HookWorld) -> None:
    world.endpoint(namespace="acc_other")
    job = world.accept(2).id
    world.everything()
    for pace in PACES:
        assert world.gatherer.gather("acc_other", [(job, 0), ("gone", 3)], pace) == Gathered()


def test_a_new_endpoint_hears_nothing_of_what_was_before_it(world: HookWorld) -> None:
    job = world.accept(3).id
    world.everything()
    world.clock.sleep(3600)
    world.later()
    endpoint = world.endpoint()
    world.track("one", world.word(job, 1, "delivered", at=int(world.clock.now())))
    world.everything()
    assert kinds(world, endpoint) == {"message.delivered": 1}
    world.track("one", world.word(job, 2, "delivered", at=int(world.clock.now())))
    world.everything()
    assert kinds(world, endpoint) == {"message.delivered": 2}


def test_a_second_endpoint_hears_nothing_of_what_the_first_has_heard(world: HookWorld) -> None:
    world.endpoint()
    job = world.accept(2).id
    world.everything()
    world.later()
    second = world.endpoint()
    world.track("one", world.word(job, 0, "delivered"))
    world.everything()
    assert kinds(world, second) == {"message.delivered": 1}


def test_what_happened_between_two_endpoints_stays_unheard(world: HookWorld) -> None:
    first = world.endpoint()
    job = world.accept(3).id
    world.everything()
    world.endpoints.items.clear()
    world.later()
    world.track("one", world.word(job, 0, "delivered", at=int(world.clock.now())))
    world.everything()
    world.clock.sleep(600)
    second = world.endpoint()
    world.track("one", world.word(job, 1, "delivered", at=int(world.clock.now())))
    world.everything()
    assert kinds(world, first) == {"message.sent": 3}
    assert kinds(world, second) == {"message.delivered": 1}


def test_a_failed_destination_of_a_mail_is_told_apart(world: HookWorld) -> None:
    endpoint = world.endpoint("mail.failed")
    world.providers["one"].script("r1@example.com", [REFUSED])
    world.accept(2, kind=MAIL, name="mail_1")
    world.everything()
    (delivery,) = world.deliveries(endpoint)
    assert (delivery.kind, delivery.cells[0].cells[0][1] & 15, delivery.cells[0].notes) == (
        "mail.failed",
        Cell.FAILED,
        {delivery.cells[0].cells[0][0]: "bad"},
    )


def test_one_hint_names_all_jobs_of_a_batch_of_the_stream(world: HookWorld) -> None:
    world.endpoint()
    jobs = [world.accept(1).id for _ in range(5)]
    while any(world.send(lane) for lane in list(world.senders)):
        pass
    for _, fold in world.logger.batch(list(world.stream)):
        fold()
    places = dict.fromkeys(jobs, (0,))
    assert world.hook_hints.gathers == [GatherHint(ACCOUNT, places, x) for x in HookPace]


@pytest.mark.promise(3)
def test_changes_that_cannot_be_announced_are_not_folded(world: HookWorld) -> None:
    world.endpoint()
    job = world.accept(2).id
    while any(world.send(lane) for lane in list(world.senders)):
        pass
    world.tap.arm_at("hook_hints.gather", error=lambda: Retriable("no queue"))
    with pytest.raises(Retriable):
        world.log()
    assert all(x.dirty for x in world.ledgers.read_all(job))
    world.everything()
    assert not any(x.dirty for x in world.ledgers.read_all(job))


@pytest.mark.promise(3)
def test_what_the_stream_loses_the_sweeper_announces(world: HookWorld) -> None:
    endpoint = world.endpoint()
    job = world.accept(3).id
    while any(world.send(lane) for lane in list(world.senders)):
        pass
    world.stream.clear()
    world.clock.sleep(120)
    world.everything()
    assert set(world.ids(endpoint)) == world.due(job)


def test_a_change_during_the_fold_is_announced_before_it_is_folded(world: HookWorld) -> None:
    world.endpoint()
    job = world.accept(250).id
    while any(world.send(lane) for lane in list(world.senders)):
        pass
    old = world.ledgers.read_all(job)
    for x in old:
        world.track("one", world.word(job, 0, "delivered", chunk=x.chunk))
    world.hook_hints.gathers.clear()
    world.logger.add(world.job(job), old)
    assert not any(x.dirty for x in world.ledgers.read_all(job))
    named = [hint.places for hint in world.hook_hints.gathers if hint.pace is HookPace.NOW]
    assert len(named) == 2


def steps(world: HookWorld) -> str:
    """Send, fold and hand on, with feedback in between, until everything is said."""
    job = world.accept(12).id
    world.run()
    world.gather()
    world.track("one", *(world.word(job, i, "delivered") for i in range(4)), world.word(job, 5, "bounced"))
    world.run()
    world.gather()
    return job


def hooked() -> HookWorld:
    """Return a world with two endpoints."""
    world = HookWorld(credential("one", 10))
    world.endpoint()
    world.endpoint(batch=True)
    return world


@pytest.mark.slow
@pytest.mark.promise(3)
@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_a_crash_at_any_call_loses_no_change(when: When) -> None:
    for world in dying(hooked, steps, when, least=61):
        world.everything()
        for endpoint in world.endpoints.items.values():
            heard = world.ids(endpoint)
            for job in world.jobs:
                assert world.due(job) <= set(heard), when


def test_a_repeated_run_says_the_same_and_a_batch_of_it_is_another_batch(world: HookWorld) -> None:
    endpoint = world.endpoint(batch=True)
    job = world.accept(4).id
    world.everything()
    first = world.ids(endpoint)
    world.told.cells = {key: replace(x, cells=bytes(len(x.cells))) for key, x in world.told.cells.items()}
    world.clock.sleep(1)
    world.gatherer.gather(ACCOUNT, [(job, n) for n in range(world.job(job).chunks)], HookPace.LATER)
    one, two = world.deliveries(endpoint)
    assert one.cells == two.cells
    assert (one.id, one.created_at) != (two.id, two.created_at)
    assert world.ids(endpoint) == [*first, *first]
