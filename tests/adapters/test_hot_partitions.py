"""What many messages would write or read in one partition: an account's stats, and the pause of everything."""

from datetime import UTC, date, datetime
from typing import Any, Final

import pytest

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.accounts.stats import Stats
from shared.adapters.dynamo.credentials.switches import KNOWN, Unpaused
from shared.adapters.dynamo.jobs.records import DynamoRecords
from shared.domain.campaigns.bounce_guard import SINGLES
from shared.domain.jobs.job import SHARDS
from tests.contracts.conftest import ACCOUNT, Parts
from tests.fakes.clock import FakeClock
from tests.fakes.tables import MotoStores

DAY: Final = "2026-11-20"
OTHER: Final = "acc_000000000002"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def stores(moto_dynamo: Any, clock: FakeClock) -> MotoStores:
    return MotoStores(moto_dynamo, clock)


class Reader:
    """A process that reads controls."""

    def __init__(self, stores: MotoStores, clock: FakeClock | None) -> None:
        tables = stores.tables
        self._records = DynamoRecords(
            stores.dynamo, records=tables.records, ops=tables.ops, blobs=stores.blobs, clock=clock
        )

    def paused(self, account: str = ACCOUNT) -> bool:
        """Tell whether an account's job may not be sent."""
        return self._records.control("j" * 26, account).paused


@pytest.mark.promise(3)
def test_each_shard_of_an_accounts_stats_is_a_partition_of_its_own() -> None:
    partitions = {keys.stats(ACCOUNT, DAY, "email", shard)["pk"]["S"] for shard in range(SHARDS)}
    assert len(partitions) == SHARDS
    assert partitions < set(keys.stats_pks(ACCOUNT))


def test_stats_add_up_with_those_that_earlier_versions_wrote(stores: MotoStores, clock: FakeClock) -> None:
    """Format of version 2.0: `A#account#STATS / day#channel#shard`."""
    day = datetime.fromtimestamp(clock.now(), UTC).date()
    parts = Parts(clock)
    parts.store(stores)
    for channel, shard, queued in (("email", 7, 5), ("sms", 0, 2)):
        early = keys.key(f"A#{ACCOUNT}#STATS", f"{day}#{channel}#{shard:02d}")
        stores.client.put_item(TableName=stores.tables.records, Item={**early, "queued": {"N": str(queued)}})
    found = Stats(stores.client, stores.tables.records, clock)
    [today] = found.days(ACCOUNT, day, day)
    assert (today.day, today.amounts["queued"], set(today.channels)) == (day, 3 + 5 + 2, {"email", "sms"})
    assert found.days(ACCOUNT, date(2020, 1, 1), date(2020, 1, 2)) == []


def test_bounced_single_messages_count_whichever_version_counted_them(stores: MotoStores, clock: FakeClock) -> None:
    job = Parts(clock).job
    for place, amount in zip(keys.day_stats(ACCOUNT, job.day, job.channel), range(2 * SHARDS), strict=True):
        item = {**place, **{name: {"N": str(amount)} for name in SINGLES}}
        stores.client.put_item(TableName=stores.tables.records, Item=item)
    day = stores.bouncing.of(job, clock.ms)
    assert day.bounced == day.settled == sum(range(2 * SHARDS))


@pytest.mark.promise(4)
def test_a_pause_of_everything_holds_for_each_process_within_two_seconds(stores: MotoStores, clock: FakeClock) -> None:
    reader, other = Reader(stores, clock), Reader(stores, None)
    assert not reader.paused()
    stores.pause("")
    assert other.paused(), "what remembers nothing knows it at once"
    clock.advance(KNOWN - 0.001)
    assert not reader.paused(OTHER)
    clock.advance(0.001)
    assert reader.paused(OTHER)
    assert KNOWN <= 2


@pytest.mark.promise(4)
def test_the_end_of_a_pause_of_everything_is_known_with_the_next_read(stores: MotoStores, clock: FakeClock) -> None:
    """A pointer that meets a pause is acknowledged: a process that remembers one would lose what a resume points to."""
    reader = Reader(stores, clock)
    stores.pause("")
    assert [reader.paused(), reader.paused()] == [True, True]
    stores.unpause("")
    assert not reader.paused()
    stores.pause(ACCOUNT)
    assert reader.paused(), "an account's pause is read each time"


def test_a_clock_that_was_put_back_makes_no_memory_longer(clock: FakeClock) -> None:
    memory, now = Unpaused(clock), clock.now()
    memory.learn(now, paused=False)
    assert memory.holds(now)
    assert not memory.holds(now - 0.1)


def test_within_two_seconds_the_pause_of_everything_is_read_once(stores: MotoStores, clock: FakeClock) -> None:
    asked: list[str] = []
    reader, batch_get = Reader(stores, clock), stores.dynamo.client.batch_get_item

    def noting(**wanted: Any) -> Any:
        asked.extend(x["pk"]["S"] for x in wanted["RequestItems"][stores.tables.records]["Keys"])
        return batch_get(**wanted)

    stores.dynamo.client.batch_get_item = noting
    for _ in range(5):
        assert not reader.paused()
        clock.advance(0.3)
    assert asked.count("SYS") == 1
    clock.advance(1)
    reader.paused()
    assert asked.count("SYS") == 2
