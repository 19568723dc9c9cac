"""Uploaded lists, and their files, in memory and on DynamoDB and S3."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import boto3
import pytest
from botocore.config import Config

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.campaigns import campaign_codec
from shared.adapters.dynamo.campaigns.uploads import DynamoUploads
from shared.adapters.dynamo.codec import ledger
from shared.adapters.s3.files import CONFIG, S3Files
from shared.domain.campaigns.campaign import Campaign, Message, Upload, UploadState
from shared.domain.ids import new_id
from shared.domain.jobs import chunks
from shared.domain.jobs import ledger as rules
from shared.domain.jobs.chunks import Chunk, Recipient
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.lists import row_numbers
from shared.domain.lists.rows import Position
from shared.domain.lists.uploads import BadRow, Checkpoint, ListCounts, Options, PackedChunk
from shared.ports import FileChanged, FileFacts, Files, Uploads
from tests.contracts.conftest import ACCOUNT
from tests.fakes.clock import FakeClock
from tests.fakes.files import FakeFiles
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores, mock_aws
from tests.fakes.uploads import FakeUploads

CHECKPOINT = Checkpoint(
    Position(1234, 20, ("to", "größe"), lines_until=2000, separator=";", blanks=3),
    3,
    ListCounts(20, 18, 2, 1),
    17,
    Options("email", "DE", column="to", strict=True),
)


class Shelf:
    """The store of uploads over one of the worlds, with campaigns put there and read back past it."""

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self.uploads: Uploads
        if isinstance(stores, FakeStores):
            self._fake = FakeUploads({}, stores.records.chunks, stores.ledgers, stores.tap, stores.records.journal)
            self.uploads = self._fake
        else:
            assert isinstance(stores, MotoStores)
            tables = stores.tables
            self._moto = stores
            self.uploads = DynamoUploads(stores.dynamo, records=tables.records, ops=tables.ops)

    def put(self, campaign: Campaign) -> None:
        if isinstance(self.stores, FakeStores):
            self._fake.campaigns[campaign.id] = campaign
        else:
            item = campaign_codec.campaign_item(campaign)
            self._moto.client.put_item(TableName=self._moto.tables.records, Item=item)

    def campaign(self, name: str) -> Campaign:
        if isinstance(self.stores, FakeStores):
            return self._fake.campaigns[name]
        key = keys.campaign(name)
        return campaign_codec.campaign(self._moto.client.get_item(TableName=self._moto.tables.records, Key=key)["Item"])


@pytest.fixture
def shelf(stores: Stores) -> Shelf:
    return Shelf(stores)


def campaign(clock: FakeClock, **changes: Any) -> Campaign:
    made = Campaign(
        new_id(clock.ms), ACCOUNT, False, "Spring", "email", "one", Message("Hi", "<p>{{ name }}</p>"), clock.ms
    )
    return replace(made, **changes)


def upload(clock: FakeClock, **changes: Any) -> Upload:
    name = new_id(clock.ms)
    ttl = clock.ms // 1000 + 1000
    made = Upload(
        name, new_id(clock.ms), ACCOUNT, False, "email", "one", f"uploads/{name}", UploadState.WAITING, clock.ms, ttl
    )
    return replace(made, **changes)


def packed(number: int, n: int = 2, code: str = "") -> PackedChunk:
    rows = tuple(Recipient(f"r{i}@example.com", f"r{i}@example.com", "", code if i == 0 else "") for i in range(n))
    numbers = row_numbers.pack(range(number * n + 2, number * n + 2 + n)) if number else b""
    return PackedChunk(number, n, chunks.pack(rows), (0,) if code else (), rows=numbers)


def made(x: Upload, chunk: PackedChunk) -> Ledger:
    return rules.create(
        job=x.id,
        chunk=chunk.number,
        skipped=chunk.skipped,
        size=chunk.size,
        lane="one",
        route=("one",),
        limit=6,
        ttl=x.ttl,
    )


def full(clock: FakeClock) -> Upload:
    return upload(
        clock,
        test=True,
        state=UploadState.READING,
        region="FR",
        drop_duplicates=True,
        column="To",
        strict=True,
        sha256="ef" * 32,
        sheet="Größen",
        encoding="utf-16",
        keep_hidden=True,
        header_row=3,
        shares="uploads/a/b/d",
        shared_at=5,
        hidden=7,
        etag="abc",
        size=99,
        csv="uploads/a/b/c.csv/me",
        csv_etag="def",
        csv_size=100,
        code="x",
        detail="y.",
        columns=("recipient", "größe"),
        skipped={"suppressed": 2},
        problems=2,
        checkpoint=CHECKPOINT,
        owner="me",
        until=5,
        starts=3,
        finished_at=7,
        version=4,
    )


def test_an_upload_is_kept_as_it_is_and_written_only_as_read(shelf: Shelf, clock: FakeClock) -> None:
    plain, other = upload(clock), full(clock)
    for x in (plain, other):
        shelf.uploads.add(x)
        assert shelf.uploads.get(x.campaign, x.id) == x
    assert shelf.uploads.get(plain.campaign, other.id) is None
    moved = other.changed(owner="", until=0, code="", skipped={"suppressed": 3}, checkpoint=None)
    assert shelf.uploads.save(other, moved)
    assert shelf.uploads.get(other.campaign, other.id) == moved
    assert shelf.uploads.save(other, moved), "our own write, whose answer was lost"
    assert not shelf.uploads.save(other, other.changed(owner="another"))
    assert shelf.uploads.get(other.campaign, other.id) == moved


def test_uploads_of_the_same_file_come_newest_first(shelf: Shelf, clock: FakeClock) -> None:
    made = []
    for test in (False, True, False, False):
        clock.advance(1)
        made.append(upload(clock, sha256="ab" * 32, test=test))
    for x in (*made, upload(clock), upload(clock, sha256="cd" * 32), upload(clock, sha256="ab" * 32, account="acc_b")):
        shelf.uploads.add(x)
    assert shelf.uploads.same(ACCOUNT, "ab" * 32) == [made[3], made[2], made[0]]
    assert shelf.uploads.same(made[1].namespace, "ab" * 32) == [made[1]]
    sent = made[3].changed(state=UploadState.SENT)
    assert shelf.uploads.save(made[3], sent)
    assert shelf.uploads.same(ACCOUNT, "ab" * 32)[0] == sent


def test_uploads_of_a_campaign_come_oldest_first(shelf: Shelf, clock: FakeClock) -> None:
    name = new_id(clock.ms)
    mine = []
    for _ in range(3):
        clock.advance(1)
        mine.append(upload(clock, campaign=name))
    for x in (mine[2], mine[0], upload(clock), mine[1]):
        shelf.uploads.add(x)
    assert shelf.uploads.of(name) == mine


def test_beginning_and_ending_move_upload_and_campaign_together(shelf: Shelf, clock: FakeClock) -> None:
    old = campaign(clock, columns=("recipient",), jobs=("a", "b"), guard_off=True, test=True, unsubscribe=False)
    first, second = (upload(clock, campaign=old.id, created_at=clock.ms + i) for i in (1, 0))
    shelf.put(old)
    for x in (first, second):
        shelf.uploads.add(x)
    assert list(shelf.uploads.unread()) == []
    locked = old.changed(clock.ms, uploading=first.id)
    queued = first.changed(state=UploadState.QUEUED, etag="e", size=3)
    assert shelf.uploads.begin(old, locked, first, queued)
    assert shelf.campaign(old.id) == locked
    assert shelf.uploads.get(old.id, first.id) == queued
    assert shelf.uploads.begin(old, locked, first, queued), "our own write, whose answer was lost"
    assert not shelf.uploads.begin(
        old, old.changed(clock.ms, uploading=second.id), second, second.changed(state=UploadState.QUEUED)
    )
    assert shelf.uploads.get(old.id, second.id) == second
    assert not shelf.uploads.begin(locked, locked.changed(clock.ms, name="x"), first, queued.changed(owner="x"))
    assert shelf.campaign(old.id) == locked
    assert list(shelf.uploads.unread()) == [(old.id, first.id)]
    reading = queued.changed(state=UploadState.READING, owner="me")
    assert shelf.uploads.save(queued, reading)
    assert list(shelf.uploads.unread()) == [(old.id, first.id)]
    ended = reading.changed(state=UploadState.READY, columns=("recipient",), owner="")
    freed = locked.changed(clock.ms, uploading="", ready=first.id, columns=("recipient", "x"))
    assert not shelf.uploads.end(queued, ended, locked, freed)
    assert shelf.uploads.end(reading, ended, locked, freed)
    assert shelf.campaign(old.id) == freed
    assert shelf.uploads.get(old.id, first.id) == ended
    assert list(shelf.uploads.unread()) == []


def test_unread_uploads_come_oldest_first(shelf: Shelf, clock: FakeClock) -> None:
    there = [upload(clock, state=UploadState.QUEUED, created_at=clock.ms + i) for i in range(3)]
    for x in reversed(there):
        shelf.uploads.add(x)
    shelf.uploads.add(upload(clock, state=UploadState.FAILED))
    assert list(shelf.uploads.unread()) == [(x.campaign, x.id) for x in there]


def test_what_is_stored_of_a_list_is_what_a_job_reads(shelf: Shelf, clock: FakeClock) -> None:
    held = upload(clock, version=3)
    parts = [packed(i, 2, "suppressed" if i == 1 else "") for i in range(30)]
    ledgers = [made(held, x) for x in parts]
    shelf.uploads.store(held, parts, ledgers)
    assert shelf.stores.ledgers.read_all(held.id) == ledgers
    for x in (parts[0], parts[1], parts[29]):
        chunk = Chunk(held.id, x.number, chunks.unpack(x.data), held.ttl, rows=x.rows)
        assert shelf.stores.records.chunk(held.id, x.number) == chunk


def test_a_ledger_is_rewritten_only_by_a_later_lease(shelf: Shelf, clock: FakeClock) -> None:
    held = upload(clock, version=5)
    part, marked = packed(0), packed(0, code="suppressed")
    shelf.uploads.store(held, [part], [made(held, part)])
    shelf.uploads.store(held, [marked], [made(held, marked)])
    shelf.uploads.store(replace(held, version=4), [marked], [made(held, marked)])
    assert shelf.stores.ledgers.read(held.id, 0) == made(held, part)
    shelf.uploads.store(replace(held, version=6), [marked], [made(held, marked)])
    assert shelf.stores.ledgers.read(held.id, 0) == made(held, marked)


def test_of_ledgers_stored_together_those_of_a_later_lease_stay_and_hold_no_other_up(
    shelf: Shelf, clock: FakeClock
) -> None:
    held = upload(clock, version=5)
    parts = [packed(i) for i in range(130)]
    marked = [packed(i, code="suppressed") for i in range(130)]
    later = [3, 99, 100, 129]
    shelf.uploads.store(replace(held, version=6), [], [made(held, marked[i]) for i in later])
    shelf.uploads.store(held, parts, [made(held, x) for x in parts])
    expected = [made(held, marked[i] if i in later else x) for i, x in enumerate(parts)]
    assert shelf.stores.ledgers.read_all(held.id) == expected


def test_a_ledger_that_is_worked_on_is_safe_from_a_late_ingest(shelf: Shelf, clock: FakeClock) -> None:
    held = upload(clock, version=5)
    part = packed(0)
    shelf.uploads.store(held, [part], [made(held, part)])
    busy = shelf.stores.ledgers.send_start(held.id, 0, lane="one", owner="w", now=clock.ms, until=clock.ms + 9000)
    assert isinstance(busy, Ledger)
    for version in (4, 5):
        shelf.uploads.store(replace(held, version=version), [part], [made(held, part)])
    now = shelf.stores.ledgers.read(held.id, 0)
    assert now == busy
    assert now.status is LedgerStatus.BUSY


def test_problems_are_read_in_pages_and_only_those_that_count(shelf: Shelf, clock: FakeClock) -> None:
    held = upload(clock, version=2, problems=2)
    steps = [
        [BadRow(i * 10 + j, "invalid_address", f"é {j}", i * 10 + j + 2, f"ü{j}") for j in range(3)] for i in range(3)
    ]
    for i, step in enumerate(steps):
        shelf.uploads.note(held, i, step)
        shelf.uploads.note(replace(held, version=1), i, steps[0][:1])
    counted = [*steps[0], *steps[1]]
    assert shelf.uploads.problems(held, after=0, limit=100) == (counted, 0)
    assert shelf.uploads.problems(held, after=0, limit=6) == (counted, 0)
    assert shelf.uploads.problems(held, after=0, limit=4) == (counted[:4], 4)
    assert shelf.uploads.problems(held, after=4, limit=4) == (counted[4:], 0)
    later = replace(held, version=9)
    shelf.uploads.note(later, 1, steps[2])
    assert shelf.uploads.problems(held, after=3, limit=4) == (steps[2], 0)


def test_problems_of_an_earlier_version_are_read(clock: FakeClock) -> None:
    item = campaign_codec.problems_item(upload(clock), 0, [BadRow(3, "nul_byte", "A NUL.", 5)])
    assert campaign_codec.problems(item) == [BadRow(3, "nul_byte", "A NUL.", 5)]
    del item["shown"]
    assert campaign_codec.problems(item) == [BadRow(3, "nul_byte", "A NUL.")]


def test_a_stored_ledger_stays_within_a_write_unit(clock: FakeClock, moto_dynamo: Any) -> None:
    stores = MotoStores(moto_dynamo, clock)
    shelf = Shelf(stores)
    held = upload(clock, version=10**6)
    part = packed(99_999, 500)
    shelf.uploads.store(held, [part], [made(held, part)])
    item: Mapping[str, Any] = stores.client.get_item(TableName=stores.tables.ops, Key=keys.ledger(held.id, 99_999))
    assert item["Item"]["ingest"] == {"N": str(10**6)}
    assert ledger(item["Item"]) == made(held, part)


# Files


@pytest.fixture(params=["memory", "s3"])
def files(request: pytest.FixtureRequest, clock: FakeClock) -> Iterator[Files]:
    if request.param == "memory":
        yield FakeFiles()
        return
    os.environ["AWS_ACCESS_KEY_ID"] = os.environ["AWS_SECRET_ACCESS_KEY"] = "testing"
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1", config=Config(**CONFIG))
        client.create_bucket(Bucket="bucket")
        yield S3Files(lambda: client, "bucket", clock)


def test_a_file_has_a_size_an_etag_and_its_bytes(files: Files) -> None:
    assert files.facts("a/b") is None
    assert files.get("a/b") is None
    files.put("a/b", b"hello")
    facts = files.facts("a/b")
    assert facts == FileFacts(5, "5d41402abc4b2a76b9719d911017c592")
    assert files.get("a/b") == b"hello"
    files.put("a/b", b"")
    assert files.facts("a/b") == FileFacts(0, "d41d8cd98f00b204e9800998ecf8427e")


def test_a_file_is_read_from_any_byte_on_in_blocks(files: Files) -> None:
    data = bytes(range(256)) * 10_000
    files.put("list", data)
    facts = files.facts("list")
    assert facts is not None
    for start in (0, 1, 1_500_000, len(data) - 1, len(data)):
        blocks = list(files.read("list", etag=facts.etag, start=start))
        assert b"".join(blocks) == data[start:]
        assert all(0 < len(b) <= 1 << 20 for b in blocks)


def test_a_file_that_changed_or_went_is_not_read_on(files: Files) -> None:
    with pytest.raises(FileChanged):
        list(files.read("list", etag="5d41402abc4b2a76b9719d911017c592", start=0))
    files.put("list", b"hello")
    facts = files.facts("list")
    assert facts is not None
    files.put("list", b"hullo")
    with pytest.raises(FileChanged):
        list(files.read("list", etag=facts.etag, start=2))
