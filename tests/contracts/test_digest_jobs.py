"""The transaction that makes a window a job, in memory and on DynamoDB."""

from dataclasses import replace

import pytest

from shared.adapters.dynamo.digests.jobs import DynamoDigestJobs
from shared.adapters.dynamo.digests.keeping import DynamoWindowRetention
from shared.adapters.dynamo.digests.windows import DynamoWindows
from shared.domain.content.content import Content, DigestLines, Mailbox
from shared.domain.digests.window import DigestWindow, WindowState, closed, postponed, processed
from shared.domain.jobs.job import DIGEST
from shared.domain.jobs.prepared import PreparedJob
from shared.ports import DigestJobs, Retriable, WindowRetention, Windows
from tests.contracts.conftest import Parts
from tests.domain.digests.examples import NOW, window
from tests.fakes.clock import FakeClock
from tests.fakes.digests.jobs import FakeDigestJobs
from tests.fakes.digests.windows import FakeWindows
from tests.fakes.faults import Crash, When
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores

LINES = DigestLines(("<p>1</p>",), ("1",), ("failed",), ("10:00",), "acme/production", 100, ((0,),), "acme/")
CONTENT = Content(Mailbox("digest@example.com"), "{{ count }}", text="{{ events }}", merge=True, digest=LINES)


class Service:
    """A closed window, a job for it, and the transaction."""

    def __init__(self, stores: Stores, clock: FakeClock) -> None:
        self.stores = stores
        self.windows: Windows
        self.keeping: WindowRetention
        self.jobs: DigestJobs
        if isinstance(stores, FakeStores):
            fake = FakeWindows(stores.tap)
            self.windows, self.keeping = fake, fake
            self.jobs = FakeDigestJobs(fake, stores.records, stores.ledgers, stores.tap)
        else:
            assert isinstance(stores, MotoStores)
            table = stores.tables.records
            self.windows = DynamoWindows(stores.dynamo, records=table)
            self.keeping = DynamoWindowRetention(stores.dynamo, records=table)
            self.jobs = DynamoDigestJobs(stores.dynamo, records=table, ops=stores.tables.ops, blobs=stores.blobs)
        opened = self.windows.open(window())
        self.old = closed(opened, NOW + 300_000)
        assert self.keeping.change(opened, self.old)
        parts = Parts(clock, [2, 1], kind=DIGEST)
        self.made = PreparedJob(parts.job, parts.chunks, parts.ledgers)
        self.new = self.done(self.made.job.id)

    def done(self, job: str) -> DigestWindow:
        return processed(self.old, NOW + 301_000, job=job, groups=1, duplicates=2, due_at=NOW + 10**9)

    def accept(self) -> bool:
        return self.jobs.accept(self.made, CONTENT, self.old, self.new)

    def stored(self) -> DigestWindow:
        found = self.windows.get(self.old.id)
        assert found is not None
        return found


@pytest.fixture
def service(stores: Stores, clock: FakeClock) -> Service:
    return Service(stores, clock)


def test_job_and_window_are_written_together(service: Service) -> None:
    assert service.accept()
    assert service.stored() == service.new
    job = service.made.job.id
    assert service.stores.records.job(job) is not None
    assert service.stores.records.chunk(job, 1) is not None
    assert service.stores.records.content(job) == CONTENT
    assert service.stores.ledgers.read(job, 1) is not None


def test_a_window_that_has_moved_on_gets_no_second_job(service: Service) -> None:
    assert service.jobs.accept(None, None, service.old, replace(service.done(""), groups=0))
    assert not service.accept()
    assert service.stores.records.job(service.made.job.id) is None
    assert service.stored().job == ""


def test_a_window_without_recipients_is_processed_without_a_job(service: Service) -> None:
    done = service.done("")
    assert service.jobs.accept(None, None, service.old, done)
    assert service.stored() == done
    assert not service.jobs.accept(None, None, service.old, done)


def test_a_window_that_was_only_postponed_is_made(service: Service) -> None:
    assert service.keeping.change(service.old, postponed(service.old, NOW + 400_000))
    assert service.accept()
    found = service.stored()
    assert (found.state, found.job, found.due_at) == (WindowState.PROCESSED, service.made.job.id, NOW + 10**9)


@pytest.mark.parametrize("when", list(When))
def test_a_lost_answer_is_recognised(service: Service, when: When) -> None:
    fake = isinstance(service.stores, FakeStores)
    call = "digest_jobs.accept" if fake else "dynamo.transact_write_items"
    service.stores.tap.arm_at(call, when, lambda: Retriable("x"))
    try:
        accepted = service.accept()
    except Retriable:
        accepted = service.accept()
    assert accepted
    assert service.stored().job == service.made.job.id


def test_what_dies_before_the_transaction_leaves_the_window_as_it_was(service: Service) -> None:
    fake = isinstance(service.stores, FakeStores)
    service.stores.tap.arm_at("digest_jobs.parts" if fake else "dynamo.batch_write_item", When.AFTER, Crash)
    with pytest.raises(Crash):
        service.accept()
    assert service.stored() == service.old
    assert service.stores.records.job(service.made.job.id) is None
