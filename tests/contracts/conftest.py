from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from shared.domain.content.content import Content, Mailbox
from shared.domain.ids import new_id, small_id
from shared.domain.jobs import ledger as rules
from shared.domain.jobs.chunks import Chunk, Recipient
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import BY_KEYS, Ledger
from shared.domain.jobs.passes import PassContext
from shared.domain.jobs.states import COUNT_KEYS, JobState
from shared.ports import Idempotency, Mismatch, Replay, Stored
from tests.fakes.clock import FakeClock
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores

ROUTE = ("one", "two")
ACCOUNT = "acc_000000000001"
DAY_MS = 86_400_000
CONTENT = Content(Mailbox("news@example.com"), "Hello", text="Hello!")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "dynamo", "small jobs"])
def stores(request: pytest.FixtureRequest, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Stores:
    """The stores in memory, and the real ones; in these also small jobs, whose ledgers are in their items."""
    if request.param == "memory":
        return FakeStores(clock)
    monkeypatch.setattr(Parts, "small", request.param == "small jobs")
    return MotoStores(request.getfixturevalue("moto_dynamo"), clock)


class Parts:
    """A job with its chunks and ledgers, not stored yet."""

    small: ClassVar[bool] = False
    """Whether jobs of one chunk are small ones."""

    def __init__(self, clock: FakeClock, sizes: Sequence[int] = (3,), **changes: Any) -> None:
        name = new_id(clock.ms)
        if self.small and len(sizes) == 1:
            name = small_id(name, listed="campaign" in changes)
        ttl = clock.ms // 1000 + 1000
        self.chunks = [
            Chunk(name, i, tuple(Recipient(f"r{i}.{j}@example.com", f"r{i}.{j}@example.com") for j in range(n)), ttl)
            for i, n in enumerate(sizes)
        ]
        self.ledgers = [
            rules.create(job=name, chunk=i, skipped=(), size=n, lane="one", route=ROUTE, limit=6, ttl=ttl)
            for i, n in enumerate(sizes)
        ]
        job = Job(
            id=name,
            account=ACCOUNT,
            kind="batch",
            channel="email",
            test=False,
            route=ROUTE,
            providers=("sendgrid", "mailgun"),
            total=sum(sizes),
            chunks=len(sizes),
            created_at=clock.ms,
            ttl=ttl,
            state=JobState.ENQUEUED,
            counts=dict.fromkeys(COUNT_KEYS, 0) | {"queued": sum(sizes)},
            by={c: (0,) * len(BY_KEYS) for c in ROUTE},
            planned_at=clock.ms,
        )
        self.job = replace(job, **changes)

    def store(self, stores: Stores, key: Idempotency | None = None) -> Stored | Replay | Mismatch:
        """Accept the job."""
        return stores.records.accept(self.job, self.chunks, self.ledgers, CONTENT, key)


def passing(clock: FakeClock) -> PassContext:
    """Return what a release knows."""
    return PassContext(route=ROUTE, now=clock.ms, delay=lambda n: n * 10_000)


def leased(stores: Stores, clock: FakeClock, job: str, chunk: int = 0, owner: str = "me") -> Ledger:
    """Lease a chunk for 60 s."""
    got = stores.ledgers.send_start(job, chunk, lane="one", owner=owner, now=clock.ms, until=clock.ms + 60_000)
    assert isinstance(got, Ledger)
    return got


def key(clock: FakeClock, fingerprint: str = "body", answer: str = "first", name: str = "k1") -> Idempotency:
    return Idempotency(ACCOUNT, name, fingerprint, answer, clock.ms + DAY_MS)


def job(stores: Stores, parts: Parts) -> Job:
    found = stores.records.job(parts.job.id)
    assert found is not None
    return found
