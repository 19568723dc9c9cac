"""Lists are read: the same whatever happens on the way, and what becomes of upload and campaign."""

from dataclasses import replace
from typing import Any

import pytest

from shared.domain.campaigns.campaign import Upload, UploadState
from shared.domain.jobs import chunks
from shared.domain.jobs.ledger import LedgerStatus
from shared.domain.jobs.states import Cell
from shared.domain.lists.uploads import ListCounts
from shared.engine.lists import ingest as module
from shared.engine.lists.ingest import Code
from shared.engine.work import MAX_STARTS, WorkResult
from shared.ports import Retriable
from tests.engine.reading import DATA, ROWS, Frozen, cut_short, plain, result, small
from tests.fakes.faults import Crash, When
from tests.fakes.intake import Intake


def test_a_list_becomes_chunks_ledgers_and_problems_and_its_campaign_is_ready() -> None:
    intake = small()
    upload = intake.take(DATA)
    assert intake.serve() == [WorkResult.READY]
    end = intake.now(upload)
    assert (end.state, end.columns, end.progress) == (UploadState.READY, ("recipient", "name"), 1.0)
    assert (end.owner, end.until, end.starts, end.finished_at) == ("", 0, 0, intake.clock.ms)
    assert end.checkpoint is not None
    assert end.checkpoint.counts == ListCounts(rows=60, accepted=54, invalid=6, duplicates=6)
    campaign = intake.uploads.campaigns[upload.campaign]
    assert (campaign.uploading, campaign.ready, campaign.columns) == ("", upload.id, ("recipient", "name"))
    stored = intake.chunks(upload)
    assert [x.size for x in stored] == [7] * 7 + [5]
    people = [r for x in stored for r in chunks.unpack(x.data)]
    assert [r.values["name"] for r in people] == [f"Name {i}" for i in range(ROWS) if i % 10 != 3]
    ledgers = intake.ledgers(upload)
    assert [len(x.cells) for x in ledgers] == [7] * 7 + [5]
    assert all((x.lane, x.first_lane, x.limit, x.ttl) == ("one", "one", 6, upload.ttl) for x in ledgers)
    assert all(x.status is LedgerStatus.IDLE and x.having(Cell.QUEUED) for x in ledgers)
    assert all(x.ttl == upload.ttl for x in intake.stores.records.chunks.values())
    problems, _ = intake.uploads.problems(end, after=0, limit=100)
    assert [(p.row, p.code) for p in problems][:3] == [
        (4, "invalid_address"),
        (10, "duplicate"),
        (14, "invalid_address"),
    ]
    assert len(problems) == 12


def test_reading_twice_changes_nothing() -> None:
    intake = small()
    upload = intake.take(DATA)
    message = intake.queue.waiting[0]
    assert intake.serve() == [WorkResult.READY]
    before = result(intake, upload), intake.now(upload), intake.uploads.campaigns[upload.campaign]
    intake.queue.send([message.body, message.body])
    assert intake.serve() == [WorkResult.NOTHING, WorkResult.NOTHING]
    assert (result(intake, upload), intake.now(upload), intake.uploads.campaigns[upload.campaign]) == before
    assert intake.ingestion.work("x", "y", owner="o", deadline=intake.clock.now() + 9) is WorkResult.NOTHING


def calls(*, drop: bool) -> int:
    """How many calls reading takes."""
    intake = small()
    upload = intake.take(DATA, drop_duplicates=drop)
    before = len(intake.tap.calls)
    intake.work(upload)
    return len(intake.tap.calls) - before


@pytest.mark.slow
@pytest.mark.parametrize("when", list(When))
@pytest.mark.parametrize("drop", [False, True])
def test_killed_at_any_call_it_makes_the_same(when: When, drop: bool) -> None:  # noqa: FBT001 - a parameter
    wanted = plain(drop_duplicates=drop)
    total = calls(drop=drop)
    assert total > 50
    for nth in range(total):
        intake = small()
        upload = intake.take(DATA, drop_duplicates=drop)
        cut_short(intake, upload, nth, when)
        assert result(intake, upload) == wanted, nth


@pytest.mark.parametrize("error", [Retriable, ConnectionError])
def test_a_fault_anywhere_gives_the_lease_back_and_the_sweeper_has_it_read(error: type[Exception]) -> None:
    wanted = plain()
    total = calls(drop=False)
    for nth in range(1, total, 7):
        intake = small()
        upload = intake.take(DATA)
        intake.tap.arm(nth, When.BEFORE, error)
        with pytest.raises(error):
            intake.work(upload)
        intake.queue.lose()
        intake.sweep()
        waiting = intake.now(upload)
        if waiting.until:  # else the fault was in taking the lease
            assert intake.queue.waiting == []
            assert waiting.until - intake.clock.ms == 30_000 * 2**waiting.starts
            assert intake.work(upload) is WorkResult.HELD
            intake.clock.advance(60)
            intake.sweep()
        intake.serve()
        assert result(intake, upload) == wanted, nth


@pytest.mark.parametrize("every", [1, 2, 3, 7])
def test_out_of_time_again_and_again_it_makes_the_same(every: int) -> None:
    wanted = plain(drop_duplicates=True)
    intake = small()
    upload = intake.take(DATA, drop_duplicates=True)
    intake.tap.delay = lambda: intake.clock.advance(1)  # each call takes a second
    did: list[WorkResult] = []
    while not did or did[-1] is WorkResult.HANDED_OVER:
        body = intake.queue.receive()
        assert body is not None
        intake.queue.delete(body)
        did.append(intake.work(upload, seconds=every * 8))
        intake.clock.advance(1)
    intake.tap.delay = lambda: None
    assert did.count(WorkResult.HANDED_OVER) >= 6 // every
    assert did[-1] is WorkResult.READY
    assert intake.queue.waiting == []
    assert result(intake, upload) == wanted


def test_marks_come_in_pieces_that_say_what_they_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = plain(drop_duplicates=True)
    monkeypatch.setattr(module, "PIECE", 5)
    intake = small()
    upload = intake.take(DATA, drop_duplicates=True)
    crashes = 0
    for _ in range(100):
        intake.tap.arm(23, When.AFTER)
        try:
            assert intake.work(upload) in {WorkResult.READY, WorkResult.NOTHING}
        except Crash:
            crashes += 1
            intake.clock.advance(1000)
    assert crashes > 3
    assert result(intake, upload) == wanted
    pieces = {k.rpartition("/")[2]: v for k, v in intake.files.items.items() if ".marks/" in k}
    for name, data in pieces.items():
        index, _, count = name.partition("-")
        first = int(index) * 5
        assert len(data) == int(count) * 8 <= 40
        whole = b"".join(pieces[f"{i:05d}-00005"] for i in range(48 // 5)) + pieces["00009-00003"]
        assert data == whole[first * 8 : first * 8 + len(data)]


@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize(
    "name", ["files.read", "uploads.store.chunk", "uploads.store.ledger", "uploads.note", "files.put", "uploads.save"]
)
def test_a_worker_without_lease_changes_no_counts(name: str, drop: bool) -> None:  # noqa: FBT001
    wanted = plain(drop_duplicates=drop)
    for nth in range(1, 8):
        intake = small()
        upload = intake.take(DATA, drop_duplicates=drop)
        seen: list[WorkResult] = []

        def meanwhile(intake: Intake = intake, upload: Upload = upload, seen: list[WorkResult] = seen) -> None:
            seen.append(intake.work(upload))

        Frozen(intake, name, nth, meanwhile)
        assert intake.work(upload) is WorkResult.LOST
        assert seen == [WorkResult.READY]
        assert result(intake, upload) == wanted, nth


def test_the_second_of_two_waits_until_the_lease_is_over() -> None:
    intake = small()
    upload = intake.take(DATA)
    intake.tap.arm_at("uploads.store.chunk")
    with pytest.raises(Crash):
        intake.work(upload)
    assert intake.work(upload) is WorkResult.HELD
    intake.sweep()
    assert len(intake.queue.waiting) == 1
    intake.clock.advance(900 + module.LEASE_MARGIN)
    intake.sweep()
    assert len(intake.queue.waiting) == 2
    assert intake.serve() == [WorkResult.READY, WorkResult.NOTHING]


def gone(intake: Intake, upload: Upload) -> None:
    del intake.files.items[upload.blob]


def replaced(intake: Intake, upload: Upload) -> None:
    intake.files.items[upload.blob] = DATA.replace(b"Name", b"Mane")


@pytest.mark.parametrize(("spoil", "code"), [(gone, Code.FILE_MISSING), (replaced, Code.FILE_CHANGED)])
@pytest.mark.parametrize("late", [False, True])
def test_a_file_that_is_not_the_one_that_was_completed_fails(spoil: Any, code: Code, late: bool) -> None:  # noqa: FBT001
    intake = small()
    upload = intake.take(DATA)
    if late:
        Frozen(intake, "uploads.note", 1, lambda: spoil(intake, upload), seconds=1)
    else:
        spoil(intake, upload)
    assert intake.work(upload) is WorkResult.FAILED
    end = intake.now(upload)
    assert (end.state, end.code) == (UploadState.FAILED, code.value)
    assert end.detail.endswith(".")
    campaign = intake.uploads.campaigns[upload.campaign]
    assert (campaign.uploading, campaign.ready) == ("", "")
    assert list(intake.uploads.unread()) == []


def test_marks_that_went_with_their_time_fail_the_file() -> None:
    intake = small()
    upload = intake.take(DATA)
    intake.tap.arm_at("uploads.end")
    with pytest.raises(Crash):
        intake.work(upload)
    for name in [k for k in intake.files.items if ".marks/" in k]:
        del intake.files.items[name]
    intake.clock.advance(1000)
    assert intake.work(upload) is WorkResult.FAILED
    assert intake.now(upload).code == Code.FILE_CHANGED


@pytest.mark.parametrize(
    ("header", "row"),
    [
        (b"recipient,a\n", b"\n"),
        (b"recipient,a\n", b" \t\r\n"),
        (b"recipient,a\n", b",\n"),
        (b"", b"\n"),
        (b"", b" \r\n"),
    ],
)
def test_a_list_of_blank_rows_is_read_no_further(monkeypatch: pytest.MonkeyPatch, header: bytes, row: bytes) -> None:
    monkeypatch.setattr(module, "JUNK", 20)
    intake = small()
    blocks: list[bytes] = []
    read = intake.files._block
    intake.files._block = lambda *args: blocks.append(read(*args)) or blocks[-1]  # type: ignore[method-assign, func-returns-value]
    upload = intake.take(header + row * 10_000 + b"ann@example.org,x\n")
    assert intake.serve() == [WorkResult.FAILED]
    end = intake.now(upload)
    assert end.code == Code.NO_VALID_ROWS
    assert len(b"".join(blocks)) < 1_000


def test_a_list_that_ends_in_blank_rows_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "JUNK", 20)
    intake = small()
    upload = intake.take(b"recipient,a\nann@example.org,x\n" + b",\n" * 2_000 + b"ben@example.org,y\n" + b"\n" * 2_000)
    assert intake.serve() == [WorkResult.READY]
    end = intake.now(upload)
    assert end.checkpoint is not None
    assert end.checkpoint.counts.accepted == 2


def test_a_list_whose_first_rows_are_all_junk_is_read_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "JUNK", 20)
    intake = small()
    blocks: list[bytes] = []
    read = intake.files._block
    intake.files._block = lambda *args: blocks.append(read(*args)) or blocks[-1]  # type: ignore[method-assign, func-returns-value]
    upload = intake.take(b"recipient\n" + b"x\n" * 10_000 + b"ann@example.org\n")
    assert intake.serve() == [WorkResult.FAILED]
    end = intake.now(upload)
    assert (end.code, end.size) == (Code.NO_VALID_ROWS, 20_026)
    assert end.detail.startswith("None of its first ")
    assert end.checkpoint is not None
    assert 20 <= end.checkpoint.counts.rows < 200
    assert len(b"".join(blocks)) < 1_000
    problems, _ = intake.uploads.problems(end, after=0, limit=100)
    assert problems, "its owner sees what is wrong with them"


def test_a_list_with_valid_rows_among_its_first_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "JUNK", 20)
    intake = small()
    chunk = b"".join(b"p%d@example.org\n" % n for n in range(7))
    upload = intake.take(b"recipient\n" + chunk + b"x\n" * 500 + b"ben@example.org\n")
    assert intake.serve() == [WorkResult.READY]
    end = intake.now(upload)
    assert end.checkpoint is not None
    assert end.checkpoint.counts.accepted == 8


def test_what_can_never_be_read_is_given_up_in_the_end() -> None:
    intake = small()
    upload = intake.take(DATA)
    pauses = []
    for _ in range(MAX_STARTS):
        intake.tap.arm_at("uploads.store.chunk", When.BEFORE, ConnectionError)
        with pytest.raises(ConnectionError):
            intake.work(upload)
        pauses.append((intake.now(upload).until - intake.clock.ms) // 1000)
        intake.clock.advance(pauses[-1])
    assert pauses == [60, 120, 240, 480, 960, 1920, *[3600] * 6]
    assert intake.work(upload) is WorkResult.FAILED
    assert intake.now(upload).code == Code.GIVEN_UP
    assert intake.uploads.campaigns[upload.campaign].uploading == ""


def test_progress_forgives_faults() -> None:
    intake = small()
    upload = intake.take(DATA)
    for _ in range(MAX_STARTS + 5):
        intake.tap.arm_at("uploads.save", When.BEFORE, ConnectionError)
        intake.tap.arm(1, When.BEFORE, ConnectionError, where=lambda name: name == "uploads.note")
        try:
            intake.work(upload)
        except ConnectionError:
            intake.clock.advance(3600)
    assert intake.now(upload).state is UploadState.READY


def test_an_edit_past_the_lock_does_not_hold_the_end_up() -> None:
    intake = small()
    upload = intake.take(DATA)

    def override() -> None:
        old = intake.uploads.campaigns[upload.campaign]
        intake.uploads.campaigns[old.id] = old.changed(intake.clock.ms, guard_off=True)

    Frozen(intake, "campaigns.get", 2, override, seconds=1)
    assert intake.work(upload) is WorkResult.READY
    campaign = intake.uploads.campaigns[upload.campaign]
    assert (campaign.guard_off, campaign.ready, campaign.uploading) == (True, upload.id, "")


def test_a_slow_credential_has_small_chunks_and_keeps_them_when_its_rate_changes() -> None:
    intake = small()
    upload = intake.take(DATA)
    intake.tap.arm(3, When.AFTER, where=lambda name: name == "uploads.save")
    with pytest.raises(Crash):
        intake.work(upload)
    intake.clock.advance(1000)
    faster = [replace(c, rate=100) for c in intake.settings.credentials]
    intake.settings = replace(intake.settings, credentials=tuple(faster))
    intake.work(upload)
    assert result(intake, upload) == plain()


def test_a_list_of_a_removed_campaign_is_never_read_again() -> None:
    for name, nth in (("files.read", 0), ("campaigns.get", 1)):
        intake = small()
        upload = intake.take(DATA)
        Frozen(intake, name, nth + 1, lambda i=intake, u=upload: i.uploads.campaigns.pop(u.campaign), seconds=1)
        assert intake.work(upload) is WorkResult.FAILED
        assert (intake.now(upload).state, intake.now(upload).code) == (UploadState.FAILED, "campaign_gone")
        assert list(intake.uploads.unread()) == []
