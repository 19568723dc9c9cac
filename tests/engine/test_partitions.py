"""Lists and jobs whose items lie in one partition, which takes 1,000 write units a second and no more."""

import random
from typing import Any

import pytest

from shared.adapters.dynamo.campaigns.uploads import DynamoUploads
from shared.adapters.dynamo.client import BATCH_WRITE, TRIES, Dynamo
from shared.domain.campaigns.campaign import Upload, UploadState
from shared.domain.jobs.states import JobState
from shared.engine.work import WorkResult
from shared.ports import Retriable
from tests.fakes.clock import FakeClock
from tests.fakes.intake import Intake
from tests.fakes.partitions import UNITS, Throttling
from tests.fakes.tables import MotoStores
from tests.fakes.world import World, credential

CHUNK = 44
"""Units of a chunk whose rows have a token, a number and a line of text."""


class Nowhere:
    """A client that keeps nothing."""

    def __init__(self) -> None:
        self.calls = 0

    def batch_write_item(self, **_: Any) -> dict[str, Any]:
        self.calls += 1
        return {}


def puts(n: int) -> list[tuple[str, dict[str, Any]]]:
    data = {"B": b"x" * (CHUNK * 1024 - 64)}
    return [("records", {"pk": {"S": "J#list"}, "sk": {"S": f"C#{i:05d}"}, "recipients": data}) for i in range(n)]


@pytest.mark.parametrize("seed", range(5))
def test_a_batch_goes_on_for_as_long_as_some_of_it_is_stored(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch of 25 such chunks takes longer than six tries; a hundred are stored at the partition's pace."""
    monkeypatch.setattr("shared.adapters.dynamo.client.random", random.Random(seed))  # noqa: S311 - jitter
    clock, client = FakeClock(), Nowhere()
    partition = Throttling(client, clock)
    began = clock.now()
    Dynamo(partition, sleep=clock.sleep).batch_put(puts(100))
    assert partition.taken["records", "J#list"] == 100 * CHUNK
    least = 100 * CHUNK / UNITS - 1
    assert least <= clock.now() - began <= 2 * least + 2
    assert client.calls <= 4 * 100 / BATCH_WRITE * TRIES, "pauses grow"


def test_a_batch_of_which_nothing_is_stored_ends() -> None:
    clock, client = FakeClock(), Nowhere()
    with pytest.raises(Retriable):
        Dynamo(Throttling(client, clock, units=1), sleep=clock.sleep).batch_put(puts(30))
    assert client.calls == 0


def upload_over(intake: Intake, stores: MotoStores, data: bytes) -> Upload:
    """Have a list taken by the real stores."""
    uploads = DynamoUploads(stores.dynamo, records=stores.tables.records, ops=stores.tables.ops)
    campaign = intake.campaign()
    stores.lists.create(campaign, None)
    intake.campaigns, intake.uploads = stores.lists, uploads  # type: ignore[assignment]
    intake.stores.records = stores.records  # type: ignore[assignment]
    return intake.take(data, campaign=campaign)


@pytest.mark.slow
def test_a_list_of_long_rows_is_read_in_one_invocation(moto_dynamo: Any) -> None:
    """Its chunks are 1,540 units. Before, an invocation gave up in the middle of a batch."""
    rng = random.Random(7)  # noqa: S311 - data
    rows = [f"r{i}@example.com,{rng.randbytes(60).hex()}" for i in range(17_500)]
    intake = Intake()
    partition = Throttling(moto_dynamo, intake.clock)
    stores = MotoStores(partition, intake.clock)
    upload = upload_over(intake, stores, "\r\n".join(["recipient,token", *rows]).encode())
    assert intake.work(upload) is WorkResult.READY
    found = intake.uploads.get(upload.campaign, upload.id)
    assert found is not None
    assert found.state is UploadState.READY
    assert found.checkpoint is not None
    assert found.checkpoint.counts.accepted == len(rows)
    assert partition.throttled["batch_write_item"] > 0
    assert partition.taken[stores.tables.records, f"J#{upload.id}"] > UNITS


@pytest.mark.slow
def test_a_job_whose_partitions_are_throttled_is_sent_whole_and_once(
    moto_dynamo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At eight units a second for each partition, claims, joins or folds are refused now and then.

    The pauses are drawn, and six short ones would not do for the acceptance.
    """
    monkeypatch.setattr(random, "random", random.Random(1).random)  # noqa: S311 - jitter
    made: list[Throttling] = []

    def stores(clock: FakeClock) -> MotoStores:
        made.append(Throttling(moto_dynamo, clock, units=8))
        return MotoStores(made[0], clock)

    world = World(credential("one", rate=500, per_call=100), stores=stores, provider_limit=100)
    job = world.accept(1500, route=("one",)).id
    world.settle()
    assert world.job(job).state is JobState.LOGGED
    assert world.counts(job) == {"sent": 1500}
    assert sorted(world.oracle.times(job).values()) == [1] * 1500
    assert made[0].throttled.total() > 0
