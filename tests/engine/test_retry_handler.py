"""The log function: a record of a ledger that a large retry queued calls for the next slice."""

import base64
from types import SimpleNamespace
from typing import Any

import pytest

from functions.dispatch import log, services
from shared.adapters.dynamo import codec
from shared.domain import chunks as chunking
from shared.domain.ledger import Ledger
from shared.domain.outcomes import Rejected
from shared.domain.states import JobState
from shared.engine import control, retry
from tests.fakes.world import ACCOUNT, World, credential


def event(*ledgers: Ledger) -> dict[str, Any]:
    """Return the stream's records of ledgers as they are now; binary attributes are base64 there."""
    images = [codec.ledger_item(x) for x in ledgers]
    encoded = [{k: {"B": base64.b64encode(v["B"]).decode()} if "B" in v else v for k, v in i.items()} for i in images]
    return {"Records": [{"dynamodb": {"NewImage": image}} for image in encoded]}


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
    parts = SimpleNamespace(logger=world.logger, retrier=world.retrier, clock=world.clock)
    monkeypatch.setattr(services, "deployment", lambda: parts)
    world.control.retry(job, ACCOUNT, frozenset({"failed"}))
    assert world.counts(job) == {"queued": 1, "failed": 3}
    records = event(world.ledgers.read_all(job)[0])
    for _ in range(2):
        assert log.handler(records, None) == {"batchItemFailures": []}
        assert (world.job(job).state, world.job(job).retry) == (JobState.READY, None)
        assert world.counts(job) == {"queued": 4}
