"""Mails, in memory and on DynamoDB."""

from dataclasses import replace

import pytest

from shared.adapters.dynamo.mails.mails import DynamoMails
from shared.domain.content.content import Content, Mailbox
from shared.domain.jobs.job import MAIL
from shared.domain.jobs.prepared import PreparedJob
from shared.domain.mails.mail import MailState, StoredMail, begin_report, committed
from shared.ports import Idempotency, Mails, Mismatch, Replay, Retriable, Stored
from tests.contracts.conftest import Parts, key
from tests.domain.mails.examples import ACCOUNT, mail
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Crash, When
from tests.fakes.mails.mails import FakeMails
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores

CONTENT = Content(Mailbox("clinic@example.com"), "Hello")


class MailParts:
    """An open mail, a job for it, and the transaction."""

    def __init__(self, stores: Stores, clock: FakeClock) -> None:
        self.stores = stores
        self.clock = clock
        self.mails: Mails
        if isinstance(stores, FakeStores):
            self.mails = FakeMails(stores.records, stores.ledgers, stores.tap)
        else:
            assert isinstance(stores, MotoStores)
            table = stores.tables.records
            self.mails = DynamoMails(stores.dynamo, records=table, ops=stores.tables.ops, blobs=stores.blobs)
        self.old = mail()
        parts = Parts(clock, [1, 1, 1], kind=MAIL, name=self.old.id)
        self.made = PreparedJob(parts.job, parts.chunks, parts.ledgers)
        self.new = committed(self.old, job=parts.job.id, content="mails/x", size=9)

    def commit(
        self, old: StoredMail | None, idempotency: Idempotency | None = None
    ) -> Stored | Replay | Mismatch | None:
        return self.mails.commit(old, self.new, self.made, CONTENT, idempotency)

    @property
    def call(self) -> str:
        """The call that commits."""
        return "mails.commit" if isinstance(self.stores, FakeStores) else "dynamo.transact_write_items"


@pytest.fixture
def parts(stores: Stores, clock: FakeClock) -> MailParts:
    return MailParts(stores, clock)


def test_a_mail_is_stored_whole(parts: MailParts) -> None:
    reporting = begin_report(replace(parts.new, test=True), [2, 0])
    assert reporting is not None
    for each in (parts.old, replace(parts.old, id="b", mail_from=""), replace(reporting, id="c")):
        assert parts.mails.open(each, None) == Stored()
        assert parts.mails.get(each.id) == each
    assert parts.mails.get("none") is None


def test_an_upload_is_opened_once_by_its_key(parts: MailParts) -> None:
    first = key(parts.clock)
    assert parts.mails.open(parts.old, first) == Stored()
    again = replace(parts.old, id="another")
    assert parts.mails.open(again, first) == Replay("first")
    assert parts.mails.open(again, key(parts.clock, fingerprint="other")) == Mismatch()
    assert parts.mails.get("another") is None


def test_job_and_mail_are_written_together(parts: MailParts) -> None:
    parts.mails.open(parts.old, None)
    assert parts.commit(parts.old) == Stored()
    assert parts.mails.get(parts.old.id) == parts.new
    job = parts.made.job.id
    assert parts.stores.records.job(job) is not None
    assert parts.stores.records.content(job) == CONTENT
    assert [x.chunk for x in parts.stores.ledgers.read_all(job)] == [0, 1, 2]


def test_a_mail_that_is_new_is_made_with_its_job(parts: MailParts) -> None:
    assert parts.commit(None, key(parts.clock)) == Stored()
    assert parts.mails.get(parts.old.id) == parts.new
    again = MailParts(parts.stores, parts.clock)
    second = replace(again.new, id="second")
    assert parts.mails.commit(None, second, again.made, CONTENT, key(parts.clock)) == Replay("first")
    assert parts.mails.get("second") is None


def test_a_mail_that_is_committed_gets_no_second_job(parts: MailParts) -> None:
    parts.mails.open(parts.old, None)
    other = replace(parts.new, job="other")
    assert parts.mails.change(parts.old, other)
    assert parts.commit(parts.old) is None
    assert parts.stores.records.job(parts.made.job.id) is None
    assert parts.mails.get(parts.old.id) == other


@pytest.mark.parametrize("when", list(When))
def test_a_lost_answer_of_a_commit_is_recognised(parts: MailParts, when: When) -> None:
    parts.mails.open(parts.old, None)
    parts.stores.tap.arm_at(parts.call, when, lambda: Retriable("x"))
    try:
        done = parts.commit(parts.old)
    except Retriable:
        done = parts.commit(parts.old)
    assert done == Stored()
    assert parts.mails.get(parts.old.id) == parts.new


def test_what_dies_before_the_transaction_leaves_the_mail_open(parts: MailParts) -> None:
    parts.mails.open(parts.old, None)
    fake = isinstance(parts.stores, FakeStores)
    parts.stores.tap.arm_at("mails.parts" if fake else "dynamo.batch_write_item", When.AFTER, Crash)
    with pytest.raises(Crash):
        parts.commit(parts.old)
    assert parts.mails.get(parts.old.id) == parts.old
    assert parts.stores.records.job(parts.made.job.id) is None


def test_a_change_needs_the_mail_as_read(parts: MailParts) -> None:
    parts.mails.open(parts.old, None)
    assert parts.mails.change(parts.old, parts.new)
    assert parts.mails.change(parts.old, parts.new)  # its answer was lost
    assert not parts.mails.change(parts.old, replace(parts.new, state=MailState.CLEANED))
    assert parts.mails.get(parts.old.id) == parts.new


def test_a_page_lists_the_newest_first(parts: MailParts) -> None:
    for i in range(5):
        parts.mails.open(replace(parts.old, id=f"m{i}", created_at=parts.old.created_at + i, test=i == 4), None)
    first, after = parts.mails.page(ACCOUNT, after="", limit=3)
    assert [x.id for x in first] == ["m3", "m2", "m1"]
    rest, end = parts.mails.page(ACCOUNT, after=after, limit=3)
    assert [x.id for x in rest] == ["m0"]
    assert end == ""
    tests, _ = parts.mails.page(f"{ACCOUNT}#TEST", after="", limit=3)
    assert [x.id for x in tests] == ["m4"]
