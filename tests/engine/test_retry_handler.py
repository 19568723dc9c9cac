"""The log function: one job's fault holds up no other, and a ledger that a large retry queued calls for more."""

import base64
from typing import Any

import pytest

from functions.dispatch import log, services
from shared.adapters.dynamo import codec
from shared.domain.jobs import chunks as chunking
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.outcomes import Rejected
from shared.domain.jobs.states import JobState
from shared.engine.jobs import control, retry
from shared.ports import Retriable
from tests.fakes.world import ACCOUNT, World, credential


def event(*ledgers: Ledger) -> dict[str, Any]:
    """Return the stream's records of ledgers as they are now; binary attributes are base64 there."""
    images = [codec.ledger_item(x) for x in ledgers]
    encoded = [{k: {"B": base64.b64encode(v["B"]).decode()} if "B" in v else v for k, v in i.items()} for i in images]
    return {"Records": [{"dynamodb": {"NewImage": image}} for image in encoded]}


@pytest.mark.slow
@pytest.mark.promise(7)
def test_it_goes_on_with_a_retry_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunking, "MAX_RECIPIENTS", 1)
    monkeypatch.setattr(control, "AT_ONCE", 1)
    monkeypatch.setattr(retry, "SLICE", 1)
    world = World(credential("one"))
    job = world.accept(4).id
    for i in range(4):
        world.providers["one"].script(f"r{i}@example.com", [Rejected("down", permanent=False)] * 6)
    world.settle()
    monkeypatch.setattr(services, "deployment", lambda: world)
    world.control.retry(job, ACCOUNT, frozenset({"failed"}))
    assert world.counts(job) == {"queued": 1, "failed": 3}
    records = event(world.ledgers.read_all(job)[0])
    for _ in range(2):
        assert log.handler(records, None) == {"batchItemFailures": []}
        assert (world.job(job).state, world.job(job).retry) == (JobState.READY, None)
        assert world.counts(job) == {"queued": 4}


@pytest.mark.promise(7)
def test_the_fault_of_one_job_is_raised_after_the_others_are_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(credential("one"))
    names = [world.accept(1).id for _ in range(3)]
    while world.send("one"):
        pass
    monkeypatch.setattr(services, "deployment", lambda: world)
    monkeypatch.setattr(world.records, "fold_jobs", lambda *_: {})  # so that each is folded by itself
    world.tap.arm_at("records.fold", error=lambda: Retriable("busy"))
    records = event(*(world.ledgers.read_all(name)[0] for name in names))
    with pytest.raises(Retriable):
        log.handler(records, None)
    assert [world.job(name).state for name in names] == [JobState.SENDING, JobState.LOGGED, JobState.LOGGED]
    assert log.handler(records, None) == {"batchItemFailures": []}
    assert world.job(names[0]).state is JobState.LOGGED


def test_old_records_have_their_ledgers_read_first(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(credential("one"))
    name = world.accept(1).id
    while world.send("one"):
        pass
    monkeypatch.setattr(services, "deployment", lambda: world)
    records = event(world.ledgers.read_all(name)[0])
    for age, reads in ((1, 0), (60, 1)):
        before = world.tap.calls.count("ledgers.read_these")
        records["Records"][0]["dynamodb"]["ApproximateCreationDateTime"] = world.clock.now() - age
        log.handler(records, None)
        assert world.tap.calls.count("ledgers.read_these") - before == reads
