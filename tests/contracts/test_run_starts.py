"""The transaction that begins a run, in memory and on DynamoDB."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from shared.adapters.dynamo.notices.keys import shard_of
from shared.adapters.dynamo.notices.notices import DynamoNotices
from shared.adapters.dynamo.notices.runs import DynamoRunStarts
from shared.domain.content.content import Content, Mailbox
from shared.domain.jobs.job import NOTICE
from shared.domain.jobs.prepared import PreparedJob
from shared.domain.notices.notice import DeliveryMethod, Notice, NoticeChange, Phase
from shared.domain.notices.words import begun
from shared.ports import Notices, Retriable, RunStarts
from tests.contracts.conftest import Parts
from tests.domain.notices.examples import notice
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Crash, When
from tests.fakes.notices.notices import FakeNotices
from tests.fakes.notices.runs import FakeRunStarts
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores

CONTENT = Content(Mailbox(""), "", text="{{ text }}", merge=True)


class Service:
    """Notices that wait, a job for them, and the transaction."""

    def __init__(self, stores: Stores, clock: FakeClock, count: int = 3) -> None:
        self.stores = stores
        self.notices: Notices
        self.starts: RunStarts
        if isinstance(stores, FakeStores):
            fake = FakeNotices(stores.tap)
            self.notices = fake
            self.starts = FakeRunStarts(fake, stores.records, stores.ledgers, stores.tap)
        else:
            assert isinstance(stores, MotoStores)
            self.notices = DynamoNotices(stores.dynamo, records=stores.tables.records)
            self.starts = DynamoRunStarts(
                stores.dynamo, records=stores.tables.records, ops=stores.tables.ops, blobs=stores.blobs
            )
        self.all = [notice(uuid=f"{i:08x}-2222-5333-8444-555555555555", id=f"n{i}") for i in range(count)]
        for x in self.all:
            assert self.notices.write(None, NoticeChange(x))
        parts = Parts(clock, [count], kind=NOTICE)
        self.made = PreparedJob(parts.job, parts.chunks, [replace(x, told=bytes(count)) for x in parts.ledgers])

    def moves(self) -> Sequence[tuple[Notice, NoticeChange]]:
        job = self.made.job.id
        return [(x, begun(x, job, i, DeliveryMethod.SMS)) for i, x in enumerate(self.all)]

    def begin(self) -> set[str]:
        return set(self.starts.begin(self.made, CONTENT, self.moves()))

    def stored(self) -> list[Notice]:
        found = self.notices.read([x.uuid for x in self.all])
        return [found[x.uuid] for x in self.all]


@pytest.fixture
def service(stores: Stores, clock: FakeClock) -> Service:
    return Service(stores, clock)


def test_job_and_notices_are_written_together(service: Service) -> None:
    assert service.begin() == set()
    job = service.made.job.id
    assert [(x.phase, x.of_run(job, i)) for i, x in enumerate(service.stored())] == [(Phase.ACTIVE, True)] * 3
    assert service.stores.records.job(job) is not None
    assert service.stores.records.chunk(job, 0) is not None
    assert service.stores.records.content(job) == CONTENT
    ledger = service.stores.ledgers.read(job, 0)
    assert ledger is not None
    assert ledger.told == bytes(3)


def test_one_that_has_changed_is_named_and_nothing_is_accepted(service: Service) -> None:
    late = service.all[1]
    assert service.notices.write(late, NoticeChange(replace(late, next_at=late.next_at + 1, version=2)))
    assert service.begin() == {late.uuid}
    assert [x.phase for x in service.stored()] == [Phase.WAITING] * 3
    assert service.stores.records.job(service.made.job.id) is None


def test_an_active_notice_is_due_no_more(service: Service) -> None:
    shard = shard_of(service.all[0].notifier)
    assert len(list(service.notices.due(shard, service.all[0].next_at))) == 3
    service.begin()
    assert list(service.notices.due(shard, service.all[0].next_at)) == []


@pytest.mark.parametrize("when", When)
def test_a_call_whose_answer_is_lost_is_known_again(service: Service, when: When) -> None:
    if isinstance(service.stores, FakeStores):
        service.stores.tap.arm_at("run_starts.begin", when, lambda: Retriable("down"))
    try:
        service.begin()
    except (Retriable, Crash):
        service.begin()
    assert [x.phase for x in service.stored()] == [Phase.ACTIVE] * 3


def test_begun_twice_it_is_begun_once(service: Service) -> None:
    assert service.begin() == service.begin() == set()
    assert [x.version for x in service.stored()] == [2] * 3


@pytest.mark.slow
def test_ninety_six_notices_fit_one_transaction(stores: Stores, clock: FakeClock) -> None:
    service = Service(stores, clock, 96)
    assert service.begin() == set()
    assert all(x.phase is Phase.ACTIVE for x in service.stored())
