"""Hints at leases, in memory and on DynamoDB: written with a reservation, and by no write of their own."""

from typing import Any

import pytest

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.credentials.lease_hints import SHARDS
from shared.adapters.dynamo.credentials.pacer import DynamoPacer
from shared.domain.lanes.lease_hints import MOST, LeaseHint, read, together
from shared.domain.lanes.pacing import pace
from shared.domain.lanes.switches import ThrottledRate
from tests.fakes.clock import FakeClock
from tests.fakes.stores import Stores
from tests.fakes.tables import MotoStores

JOB = "01m3250v00zhcd1k6nr9vcr8rt"
PACE = pace(100, 1)


def hint(worker: str = "aaaaaa0", chunk: int = 7, epoch: int = 3) -> LeaseHint:
    return LeaseHint(worker, JOB, chunk, epoch)


def partition(stores: MotoStores, pk: str) -> list[Any]:
    return list(stores.dynamo.partition(stores.tables.ops, pk))


def test_a_reservation_notes_the_lease_that_it_is_for(stores: Stores) -> None:
    assert stores.hints.read(["one", "two"]) == []
    before = len(stores.tap.calls)
    stores.pacer.reserve("one", 5, PACE, lead=0, hint=hint())
    assert len(stores.tap.calls) == before + 1
    stores.pacer.reserve("one", 5, PACE, lead=0)
    stores.pacer.reserve("two", 5, PACE, lead=0, hint=hint("bbbbbb0"))
    stores.pacer.reserve("one", 5, PACE, lead=0, hint=hint("aaaaaa1", chunk=8))
    assert stores.hints.read(["one"]) == [("one", hint()), ("one", hint("aaaaaa1", chunk=8))]
    assert set(stores.hints.read(["two", "one", "none"])) == {
        ("one", hint()),
        ("one", hint("aaaaaa1", chunk=8)),
        ("two", hint("bbbbbb0")),
    }


def test_the_next_lease_of_a_worker_is_noted_in_place_of_the_last(stores: Stores) -> None:
    for epoch in range(3):
        for _ in range(2):
            stores.pacer.reserve("one", 5, PACE, lead=0, hint=hint(epoch=epoch))
    assert stores.hints.read(["one"]) == [("one", hint(epoch=2))]


def test_a_lease_that_waits_for_its_first_slots_is_noted_meanwhile(stores: Stores, clock: FakeClock) -> None:
    slow, waiting = pace(1, 1), hint("bbbbbb0", chunk=9)
    stores.pacer.reserve("one", 6, slow, lead=0, hint=hint())
    seen: list[bool] = []

    def wait() -> None:
        for _ in range(2):
            stores.pacer.reserve("one", 1, slow, lead=0, hint=waiting)
            seen.append(False)

    def look() -> None:
        clock.sleep(0.5)
        assert seen == [], "it waits"
        seen.append(("one", waiting) in stores.hints.read(["one"]))

    clock.run(wait, look)
    assert seen[0]
    stores.hints.forget("one", waiting)
    stores.hints.forget("one", waiting)
    assert stores.hints.read(["one"]) == [("one", hint())]


def test_a_lease_that_waits_because_its_provider_asked_to_is_noted_once(stores: Stores, clock: FakeClock) -> None:
    lowered = ThrottledRate(50, clock.ms + 20_000, limit=100)
    stores.pacer.lower("one", lowered, PACE.lowered)
    slower = pace(100, 1, lowered=lowered, now=clock.now())
    seen: list[bool] = []

    def wait() -> None:
        stores.pacer.reserve("one", 1, slower, lead=0, hint=hint())
        seen.append(False)

    def look() -> None:
        clock.sleep(0.5)
        seen.append(("one", hint()) in stores.hints.read(["one"]))

    clock.run(wait, look)
    assert seen == [True, False]
    again = ThrottledRate(25, clock.ms + 20_000, limit=100)
    stores.pacer.lower("one", again, lowered)
    before = len(stores.tap.calls)
    slowest = pace(100, 1, lowered=again, now=clock.now())
    assert stores.pacer.reserve("one", 1, slowest, lead=0, hint=hint()).count == 1
    assert len(stores.tap.calls) == before + 1, "it has its note"


def test_a_hint_is_forgotten_unless_its_worker_has_gone_on(stores: Stores) -> None:
    stores.pacer.reserve("one", 5, PACE, lead=0, hint=hint(epoch=1))
    stores.pacer.reserve("one", 5, PACE, lead=0, hint=hint(epoch=2))
    stores.hints.forget("one", hint(epoch=1))
    assert stores.hints.read(["one"]) == [("one", hint(epoch=2))]
    stores.hints.forget("one", hint(epoch=2))
    stores.hints.forget("one", hint(epoch=2))
    assert stores.hints.read(["one"]) == []
    assert stores.pacer.reserve("one", 5, PACE, lead=0).count == 5


def test_those_that_do_not_fit_beside_the_slots_are_noted_once_for_each_lease(stores: Stores) -> None:
    many = [f"{worker:06}0" for worker in range(MOST + 3)]
    for worker in many:
        for _ in range(2):
            stores.pacer.reserve("one", 1, PACE, lead=0, hint=hint(worker))
    assert sorted(h.worker for _, h in stores.hints.read(["one"])) == many
    for worker in (many[0], many[-1]):
        stores.pacer.reserve("one", 1, PACE, lead=0, hint=hint(worker, epoch=9))
        assert hint(worker, epoch=9) in [h for _, h in stores.hints.read(["one"])]
        stores.hints.forget("one", hint(worker))
        stores.hints.forget("one", hint(worker, epoch=9))
        assert worker not in [h.worker for _, h in stores.hints.read(["one"])]
    assert {c for c, _ in stores.hints.read(["one"])} == {"one"}


def test_the_slots_of_a_credential_with_all_its_hints_take_one_write_unit(moto_dynamo: Any, clock: FakeClock) -> None:
    from shared.adapters.dynamo.jobs.sizes import item_size  # noqa: PLC0415 - one test of this module needs it

    stores = MotoStores(moto_dynamo, clock)
    for worker in range(MOST):
        stores.pacer.reserve("one" * 10, 1, PACE, lead=0, hint=LeaseHint(f"{worker:06}0", JOB, 20_000, 1000))
    item = moto_dynamo.get_item(TableName=stores.tables.ops, Key=keys.pacer("one" * 10))["Item"]
    assert item_size(item) <= 1024 - 200, "what operators set stands there, too, and other clocks"


@pytest.mark.parametrize("text", ["", "-", "job", "job-1", "job-1-", "job-x-1", "-1-1", "job-1-²"])
def test_what_is_no_hint_is_passed_over(text: str) -> None:
    assert read("at_worker", text) == []
    assert read("tat", "job-1-1") == []
    assert read("at_worker", "job-1-1") == [LeaseHint("worker", "job", 1, 1)]
    assert [str(one) for one in read("at_worker", f"job-1-1,{text}")] == [f"job-1-1,{text}"]


def test_leases_that_reserve_together_have_one_note_apart(stores: Stores) -> None:
    hints = [hint(chunk=n) for n in range(10)]
    for _ in range(2):
        stores.pacer.reserve("one", 10, PACE, lead=0, hint=together(hints))
    found = stores.hints.read(["one"])
    assert [(c, h.worker, h.job, h.chunk, h.epoch) for c, h in found] == [
        ("one", h.worker, h.job, h.chunk, h.epoch) for h in hints
    ]
    stores.hints.forget("one", found[3][1])
    assert stores.hints.read(["one"]) == []
    stores.pacer.reserve("one", 1, PACE, lead=0, hint=together(hints[:1]))
    assert stores.hints.read(["one"]) == [("one", hints[0])]


def test_hints_about_many_groups_are_each_by_themselves(moto_dynamo: Any, clock: FakeClock) -> None:
    """Each write of a hint costs units by the bytes of all that share its item."""
    stores = MotoStores(moto_dynamo, clock)
    groups = [[hint(f"{worker:06}0", chunk=n) for n in range(10)] for worker in range(12)]
    for epoch in range(3):
        for some in groups:
            noted = together([LeaseHint(x.worker, x.job, x.chunk, epoch) for x in some])
            stores.pacer.reserve("one", 1, PACE, lead=0, hint=noted)
    found = stores.hints.read(["one", "two"])
    assert {(h.worker, h.chunk, h.epoch) for _, h in found} == {(x.worker, x.chunk, 2) for some in groups for x in some}
    notes = {x["sk"]["S"]: [name for name in x if name.startswith("at_")] for x in partition(stores, "P#one")}
    assert len(notes["HINTS"]) <= 3
    shards = [partition(stores, f"P#one#HINTS#{n}") for n in range(SHARDS)]
    assert all(shards), "their writes are spread"
    alone = [x for some in shards for x in some]
    assert len(alone) == len(groups) - len(notes["HINTS"])
    assert {int(x["ttl"]["N"]) > clock.now() for x in alone} == {True}, "DynamoDB removes them in the end"
    for one in {h.worker: h for _, h in found}.values():
        stores.hints.forget("one", one)
    assert stores.hints.read(["one"]) == []


def test_workers_that_begin_at_once_leave_the_item_of_the_slots_within_one_write_unit(
    moto_dynamo: Any, clock: FakeClock
) -> None:
    """None of them knows of the others when it makes its first reservation."""
    from shared.adapters.dynamo.jobs.sizes import item_size  # noqa: PLC0415 - as above

    stores = MotoStores(moto_dynamo, clock)
    pacers = [DynamoPacer(stores.dynamo, stores.tables.ops, clock) for _ in range(2 * MOST)]
    for epoch in range(3):
        for worker, pacer in enumerate(pacers):
            pacer.reserve("one", 1, PACE, lead=0, hint=hint(f"{worker:06}0", epoch=epoch))
    item = moto_dynamo.get_item(TableName=stores.tables.ops, Key=keys.pacer("one"))["Item"]
    assert sum(name.startswith("at_") for name in item) == MOST
    assert item_size(item) <= 1024 - 200
    found = {h.worker: h for _, h in stores.hints.read(["one"])}
    assert {(h.epoch, h.alone) for h in found.values()} == {(2, False), (2, True)}
    assert len(found) == len(pacers)


def test_hints_that_an_earlier_version_wrote_by_themselves_are_read_and_forgotten(
    moto_dynamo: Any, clock: FakeClock
) -> None:
    stores = MotoStores(moto_dynamo, clock)
    table, early = stores.tables.ops, hint("bbbbbb0")
    moto_dynamo.put_item(TableName=table, Item={**keys.key("P#one", "HINTS"), "more": {"BOOL": True}})
    moto_dynamo.put_item(
        TableName=table, Item={**keys.key("P#one", "HINTS#bbbbbb0"), early.name: {"S": str(early)}, "ttl": {"N": "9"}}
    )
    stores.pacer.reserve("one", 1, PACE, lead=0, hint=hint())
    assert stores.hints.read(["one"]) == [("one", hint()), ("one", early)]
    stores.hints.forget("one", early)
    assert stores.hints.read(["one"]) == [("one", hint())]
