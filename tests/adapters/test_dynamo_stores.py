"""What only the real stores do: conflicts, lost connections, large contents, what stream records look like."""

import base64
from dataclasses import replace
from typing import Any

import pytest
from botocore import exceptions as sdk
from botocore.exceptions import ClientError

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.jobs import contents
from shared.adapters.dynamo.jobs.contents import INLINE_CONTENT
from shared.contracts import LOG_STREAM_FILTER, PLAN_STREAM_FILTERS
from shared.domain.content.content import Attachment, Content, Mailbox
from shared.domain.jobs.states import Change, JobState
from shared.ports import Idempotency, Replay, Retriable, Stored
from tests.contracts.conftest import ACCOUNT, ROUTE, Parts, leased
from tests.fakes.clock import FakeClock
from tests.fakes.faults import When
from tests.fakes.tables import MotoStores


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def stores(moto_dynamo: Any, clock: FakeClock) -> MotoStores:
    return MotoStores(moto_dynamo, clock)


def conflict() -> ClientError:
    reasons = [{"Code": "None"}, {"Code": "TransactionConflict"}]
    answer: Any = {"Error": {"Code": "TransactionCanceledException"}, "CancellationReasons": reasons}
    return ClientError(answer, "TransactWriteItems")


def unreachable() -> Exception:
    return sdk.ConnectionClosedError(endpoint_url="http://nowhere")


FAULTS = [(conflict, When.BEFORE), (unreachable, When.BEFORE), (unreachable, When.AFTER)]


@pytest.mark.parametrize(("fault", "when"), FAULTS)
def test_acceptance_survives_conflicts_and_lost_answers(
    stores: MotoStores, clock: FakeClock, fault: Any, when: When
) -> None:
    parts = Parts(clock)
    key = Idempotency(ACCOUNT, "k", "f", "answer", clock.ms + 1000)
    stores.tap.arm_at("dynamo.transact_write_items", when, fault)
    assert parts.store(stores, key) == Stored()
    assert stores.tap.fired == 1
    assert stores.stats(ACCOUNT) == {"queued": 3}
    assert Parts(clock).store(stores, key) == Replay("answer")


@pytest.mark.parametrize(("fault", "when"), FAULTS)
def test_a_fold_survives_conflicts_and_lost_answers(
    stores: MotoStores, clock: FakeClock, fault: Any, when: When
) -> None:
    parts = Parts(clock)
    parts.store(stores)
    dropped = stores.ledgers.drop(parts.job.id, 0, [0])
    assert dropped is not None
    stores.tap.arm(0, when, fault)
    done = stores.records.fold(dropped, parts.job)
    assert (done is None) == (when is When.AFTER)
    job = stores.records.job(parts.job.id)
    assert job is not None
    assert (job.counts["queued"], job.counts["skipped"], job.version) == (2, 1, 2)


@pytest.mark.parametrize(("fault", "when"), FAULTS[1:])
def test_a_claim_survives_lost_connections(stores: MotoStores, clock: FakeClock, fault: Any, when: When) -> None:
    parts = Parts(clock)
    parts.store(stores)
    held = leased(stores, clock, parts.job.id)
    stores.tap.arm(0, when, fault)
    claimed = stores.ledgers.claim(held, [], 2, route=ROUTE)
    assert claimed is not None
    assert claimed[1] == [0, 1]
    assert claimed[0] == stores.ledgers.read(parts.job.id, 0)
    assert claimed[0].seq == 1


def test_a_store_out_of_reach_is_retriable(stores: MotoStores, clock: FakeClock) -> None:
    parts = Parts(clock)

    def gone() -> Exception:
        stores.tap.arm(0, When.BEFORE, gone)
        return unreachable()

    stores.tap.arm(0, When.BEFORE, gone)
    with pytest.raises(Retriable):
        parts.store(stores)
    stores.tap.disarm()
    assert stores.records.job(parts.job.id) is None


@pytest.mark.slow
@pytest.mark.parametrize(("size", "blobs", "chunks"), [(10, 0, 1), (10, 0, 2), (4000, 0, 1), (600_000, 1, 1)])
def test_contents_of_every_size_come_back(
    stores: MotoStores, clock: FakeClock, size: int, blobs: int, chunks: int
) -> None:
    noise = base64.b64encode(bytes((i * i * 31 + i // 7 * 17) % 251 for i in range(size))).decode()
    content = Content(
        Mailbox("a@example.com"), "Hello", text="x", attachments=(Attachment("a", "b", _incompressible(noise)),)
    )
    parts = Parts(clock, [2] * chunks)
    assert stores.records.accept(parts.job, parts.chunks, parts.ledgers, content, None) == Stored()
    assert len(stores.blobs.items) == blobs
    assert all(len(data) > INLINE_CONTENT for data in stores.blobs.items.values())
    assert stores.records.content(parts.job.id) == content
    loaded = stores.records.load(parts.job.id, chunks - 1, content=True)
    assert loaded is not None
    assert (loaded.content, loaded.chunk) == (content, parts.chunks[-1])


def test_a_large_content_is_stored_where_it_expires_after_its_job(
    stores: MotoStores, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "CHUNK_CONTENT", 0)
    monkeypatch.setattr(contents, "INLINE_CONTENT", 0)
    content = Content(Mailbox("a@example.com"), "Hello", text="x")
    for hours, folder in ((0, 1), (24, 1), (25, 8), (24 * 31, 31), (24 * 366, 366)):
        parts = Parts(clock)
        job = replace(parts.job, not_before=parts.job.created_at + hours * 3_600_000 if hours else 0)
        stores.records.accept(job, parts.chunks, parts.ledgers, content, None)
        assert f"contents/{folder}/{job.id}" in stores.blobs.items
        assert stores.records.content(job.id) == content


def test_a_large_content_of_a_job_that_is_kept_longer_moves_to_where_it_is_kept_the_longest(
    stores: MotoStores, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "CHUNK_CONTENT", 0)
    monkeypatch.setattr(contents, "INLINE_CONTENT", 0)
    content = Content(Mailbox("a@example.com"), "Hello", text="x")
    parts = Parts(clock)
    stores.records.accept(parts.job, parts.chunks, parts.ledgers, content, None)
    for more in (1000, 2000):
        stores.records.keep_job(parts.job, parts.job.ttl + more)
        stores.blobs.items.pop(f"contents/1/{parts.job.id}", None)  # as its folder's rule does
        assert stores.records.content(parts.job.id) == content
    item = stores.dynamo.get(stores.tables.records, keys.content(parts.job.id))
    assert item is not None
    assert item["ttl"] == {"N": str(parts.job.ttl + 2000)}


def _incompressible(text: str) -> str:
    """Scramble a text so that zlib finds nothing in it; deterministic."""
    out = bytearray()
    state = 1
    for _ in range(len(text) * 3 // 4):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        out.append(state >> 56)
    return base64.b64encode(bytes(out)).decode()


def matches(image: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Tell whether a stream record's image passes an event source's filter."""
    return all(
        name in image and all(image[name].get(kind) in values for kind, values in kinds.items())
        for name, kinds in wanted["dynamodb"]["NewImage"].items()
    )


def test_the_stream_filter_takes_changed_ledgers_without_a_lease(stores: MotoStores, clock: FakeClock) -> None:
    parts = Parts(clock)
    parts.store(stores)

    def passes() -> bool:
        image = stores.client.get_item(TableName=stores.tables.ops, Key=keys.ledger(parts.job.id, 0))["Item"]
        return matches(image, LOG_STREAM_FILTER)

    assert not passes()
    changed = stores.ledgers.drop(parts.job.id, 0, [0])
    assert changed is not None
    assert passes()
    assert stores.records.fold(changed, parts.job) is not None
    assert not passes()
    stores.ledgers.drop(parts.job.id, 0, [1])
    leased(stores, clock, parts.job.id)
    assert not passes()


def test_the_plan_streams_filter_takes_ready_jobs_and_nothing_else(stores: MotoStores, clock: FakeClock) -> None:
    parts = Parts(clock, state=JobState.READY, planned_at=0)
    parts.store(stores, Idempotency(ACCOUNT, "k", "f", "answer", clock.ms + 1000))

    def passing() -> list[str]:
        items = stores.client.scan(TableName=stores.tables.records)["Items"]
        return [x["sk"]["S"] for x in items if any(matches(x, f) for f in PLAN_STREAM_FILTERS)]

    assert passing() == ["JOB"]
    for change in (Change.PLAN, Change.FINISH, Change.LOG):
        assert stores.records.change(parts.job, change, clock.ms).won
        assert passing() == []


def test_the_plan_streams_filter_takes_the_end_of_a_campaigns_job_once(stores: MotoStores, clock: FakeClock) -> None:
    parts = Parts(clock, state=JobState.READY, campaign="spring", planned_at=0)
    parts.store(stores)

    def passes() -> bool:
        image = stores.client.get_item(TableName=stores.tables.records, Key=keys.job(parts.job.id))["Item"]
        return any(matches(image, f) for f in PLAN_STREAM_FILTERS)

    seen = [passes()]
    for change in (Change.PLAN, Change.START, Change.FINISH, Change.LOG):
        assert stores.records.change(parts.job, change, clock.ms).won
        seen.append(passes())
    late = stores.ledgers.drop(parts.job.id, 0, [0])
    assert late is not None
    assert stores.records.fold(late, parts.job) is not None
    seen.append(passes())
    assert seen == [True, False, False, False, True, False]
    for change in (Change.RESUME, Change.PLAN):
        assert stores.records.change(parts.job, change, clock.ms).won
    assert not passes()


def test_a_stream_record_reads_as_the_ledger(stores: MotoStores, clock: FakeClock) -> None:
    parts = Parts(clock)
    ledger = replace(parts.ledgers[0], tried=(0, 1), dirty=True, rounds=2)
    image = {
        k: {"B": base64.b64encode(v["B"]).decode()} if "B" in v else v for k, v in codec.ledger_item(ledger).items()
    }
    assert codec.ledger(codec.from_stream(image, base64.b64decode)) == ledger
    assert codec.ledger(codec.from_stream(codec.ledger_item(ledger), base64.b64decode)) == ledger


def test_suppressions_have_a_log_by_time(stores: MotoStores, clock: FakeClock) -> None:
    for _ in range(2):
        stores.records.suppress(ACCOUNT, "a@example.com", "bounced", clock.ms)
        clock.advance(1)
    pk = keys.suppression_log(ACCOUNT, 0, "")["pk"]
    rows = stores.client.query(
        TableName=stores.tables.records, KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": pk}
    )["Items"]
    assert [(r["address"]["S"], r["at"]["N"]) for r in rows] == [("a@example.com", str(clock.ms - 2000))]
