"""Lists are read: the same whatever happens on the way, and what becomes of upload and campaign."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from shared.domain import chunks
from shared.domain.campaigns import Message, Upload, UploadState
from shared.domain.ledger import LedgerStatus
from shared.domain.states import Cell
from shared.domain.suppressions import Reach
from shared.domain.uploads import Counts, PackedChunk, Problem
from shared.engine import ingest as module
from shared.engine.ingest import MAX_STARTS, Code, Did
from shared.ports import Retriable
from tests.fakes.faults import Crash, When
from tests.fakes.intake import ACCOUNT, Intake

ROWS = 60


def line(i: int) -> str:
    """A row: some are invalid, some duplicates."""
    if i % 10 == 3:
        return f"nobody,{i}"
    return f"r{i - 5 if i % 10 == 9 else i}@example.com,Name {i}"


DATA = ("recipient,name\n" + "".join(f"{line(i)}\n" for i in range(ROWS))).encode()


def small(rate: float = 7 / 30) -> Intake:
    """An intake whose chunks have 7 recipients and whose files come in blocks of 100 bytes."""
    intake = Intake(rate)
    intake.files.block = 100
    return intake


Result = tuple[list[tuple[str, tuple[int, ...]]], list[Any], list[Problem], Any]


def result(intake: Intake, upload: Upload) -> Result:
    """What is stored of a list, without its id and the numbers of its writes."""
    end = intake.now(upload)
    problems, more = intake.uploads.problems(end, after=0, limit=10_000)
    assert more == 0
    assert end.checkpoint is not None
    ledgers = [(x.chunk, x.cells, x.lane, x.folded, x.status, x.limit, x.ttl) for x in intake.ledgers(upload)]
    return (
        [(x.digest, x.skipped) for x in intake.chunks(upload)],
        ledgers,
        problems,
        (end.state, end.columns, end.skipped, end.checkpoint.counts, end.code),
    )


def plain(**options: Any) -> Result:
    intake = small()
    upload = intake.take(DATA, **options)
    assert intake.serve() == [Did.READY]
    return result(intake, upload)


def test_a_list_becomes_chunks_ledgers_and_problems_and_its_campaign_is_ready() -> None:
    intake = small()
    upload = intake.take(DATA)
    assert intake.serve() == [Did.READY]
    end = intake.now(upload)
    assert (end.state, end.columns, end.progress) == (UploadState.READY, ("recipient", "name"), 1.0)
    assert (end.owner, end.until, end.starts, end.finished_at) == ("", 0, 0, intake.clock.ms)
    assert end.checkpoint is not None
    assert end.checkpoint.counts == Counts(rows=60, accepted=54, invalid=6, duplicates=6)
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
    assert intake.serve() == [Did.READY]
    before = result(intake, upload), intake.now(upload), intake.uploads.campaigns[upload.campaign]
    intake.queue.send([message.body, message.body])
    assert intake.serve() == [Did.NOTHING, Did.NOTHING]
    assert (result(intake, upload), intake.now(upload), intake.uploads.campaigns[upload.campaign]) == before
    assert intake.ingestion.work("x", "y", owner="o", deadline=intake.clock.now() + 9) is Did.NOTHING


def calls(*, drop: bool) -> int:
    """How many calls reading takes."""
    intake = small()
    upload = intake.take(DATA, drop_duplicates=drop)
    before = len(intake.tap.calls)
    intake.work(upload)
    return len(intake.tap.calls) - before


@pytest.mark.parametrize("when", list(When))
@pytest.mark.parametrize("drop", [False, True])
def test_killed_at_any_call_it_makes_the_same(when: When, drop: bool) -> None:  # noqa: FBT001 - a parameter
    wanted = plain(drop_duplicates=drop)
    total = calls(drop=drop)
    assert total > 50
    for nth in range(total):
        intake = small()
        upload = intake.take(DATA, drop_duplicates=drop)
        intake.tap.arm(nth, when)
        if when is When.REPEATED:
            assert intake.work(upload) is Did.READY
        else:
            with pytest.raises(Crash):
                intake.work(upload)
            intake.clock.advance(1000)
            intake.sweep()
            intake.serve()
        assert intake.tap.fired == 1
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
            assert intake.work(upload) is Did.HELD
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
    did: list[Did] = []
    while not did or did[-1] is Did.HANDED_OVER:
        body = intake.queue.receive()
        assert body is not None
        intake.queue.delete(body)
        did.append(intake.work(upload, seconds=every * 8))
        intake.clock.advance(1)
    intake.tap.delay = lambda: None
    assert did.count(Did.HANDED_OVER) >= 6 // every
    assert did[-1] is Did.READY
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
            assert intake.work(upload) in {Did.READY, Did.NOTHING}
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


class Frozen:
    """An invocation that stands still at one of its calls until its lease is over, and then goes on."""

    def __init__(self, intake: Intake, name: str, nth: int, meanwhile: Any, seconds: float = 1000) -> None:
        self._left = nth
        self._seconds = seconds
        intake.tap.delay = lambda: self._look(intake, name, meanwhile)

    def _look(self, intake: Intake, name: str, meanwhile: Any) -> None:
        if len(intake.tap.calls) and intake.tap.calls[-1] == name:
            self._left -= 1
            if self._left == 0:
                intake.tap.delay = lambda: None
                intake.clock.advance(self._seconds)
                meanwhile()


@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize(
    "name", ["files.read", "uploads.store.chunk", "uploads.store.ledger", "uploads.note", "files.put", "uploads.save"]
)
def test_who_has_lost_its_lease_changes_nothing_that_counts(name: str, drop: bool) -> None:  # noqa: FBT001
    wanted = plain(drop_duplicates=drop)
    for nth in range(1, 8):
        intake = small()
        upload = intake.take(DATA, drop_duplicates=drop)
        seen: list[Did] = []

        def meanwhile(intake: Intake = intake, upload: Upload = upload, seen: list[Did] = seen) -> None:
            seen.append(intake.work(upload))

        Frozen(intake, name, nth, meanwhile)
        assert intake.work(upload) is Did.LOST
        assert seen == [Did.READY]
        assert result(intake, upload) == wanted, nth


def test_the_second_of_two_waits_until_the_lease_is_over() -> None:
    intake = small()
    upload = intake.take(DATA)
    intake.tap.arm_at("uploads.store.chunk")
    with pytest.raises(Crash):
        intake.work(upload)
    assert intake.work(upload) is Did.HELD
    intake.sweep()
    assert len(intake.queue.waiting) == 1
    intake.clock.advance(900 + module.LEASE_MARGIN)
    intake.sweep()
    assert len(intake.queue.waiting) == 2
    assert intake.serve() == [Did.READY, Did.NOTHING]


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
    assert intake.work(upload) is Did.FAILED
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
    assert intake.work(upload) is Did.FAILED
    assert intake.now(upload).code == Code.FILE_CHANGED


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"recipient\nnobody\n\nnothing\n", "no_valid_rows"),
        (b"recipient\n", "no_rows"),
        (b"\xef\xbb\xbf", "no_header"),
        (b"name\nann\n", "missing_recipient"),
        (b"recipient,a,a\nann@example.com,1,2\n", "duplicate_column"),
        (b"Recipient, Name,NAME \nann@example.com,1,2\n", "duplicate_column"),
        (b"recipient,\nann@example.com,1\n", "empty_column"),
        (b"recipient;name\r\nann@example.com;Ann\r\n", "missing_recipient"),
        (b"recipient," + b",".join(b"c%d" % i for i in range(64)) + b"\nann@example.com\n", "too_many_columns"),
        (b"recipient," + b"x" * 40_000 + b"\nann@example.com,1\n", "invalid_header"),
        (b"recipient," + b"x" * 600_000, "invalid_header"),
        (b'recipient,"name\nann@example.com,Ann\n', "invalid_header"),
        (b"recipient,na\0me\nann@example.com,Ann\n", "invalid_header"),
        (b"recipient,n\xe9\nann@example.com,Ann\n", "invalid_header"),
        ("recipient,name\nann@example.com,Ann\n".encode("utf-16"), "invalid_header"),
        (b"recipient,name\rann@example.com,Ann\r", "invalid_header"),
        (b"PK\x03\x04\x14\0\x06\0" + bytes(range(256)) * 40, "invalid_header"),
    ],
)
def test_a_useless_file_says_why_and_leaves_the_list_that_was_ready(data: bytes, code: str) -> None:
    intake = Intake()
    intake.files.block = 1 << 16
    before = intake.take(DATA)
    intake.serve()
    campaign = intake.uploads.campaigns[before.campaign]
    upload = intake.take(data, campaign=campaign)
    assert intake.serve() == [Did.FAILED]
    end = intake.now(upload)
    assert (end.state, end.code) == (UploadState.FAILED, code)
    assert end.detail
    after = intake.uploads.campaigns[campaign.id]
    assert (after.uploading, after.ready, after.columns) == ("", before.id, campaign.columns)


def test_a_campaign_without_its_credential_or_with_no_such_country_is_told() -> None:
    intake = small()
    for changes, options, code in (
        ({"credential": "former"}, {}, "unknown_credential"),
        ({"channel": "sms"}, {"region": "XX"}, "invalid_region"),
    ):
        upload = intake.take(DATA, campaign=intake.campaign(**changes), **options)
        assert intake.serve() == [Did.FAILED]
        assert intake.now(upload).code == code


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
    assert intake.work(upload) is Did.FAILED
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
    assert intake.work(upload) is Did.READY
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


# Whom not to send to


def suppressing(intake: Intake, *addresses: str, reach: Reach = Reach.ALL) -> None:
    for address in addresses:
        intake.stores.records.suppress(ACCOUNT, address, "bounced", intake.clock.ms, reach=reach)
        intake.clock.advance(1)


def test_who_is_not_to_be_sent_to_is_skipped_with_the_first_reason_and_counted() -> None:
    intake = small()
    suppressing(intake, "r0@example.com", "r1@example.com", reach=Reach.CAMPAIGNS)
    suppressing(intake, "r1@example.com", "r40@example.com", "elsewhere@example.com")
    intake.stores.records.suppress("acc_other", "r2@example.com", "bounced", intake.clock.ms)
    upload = intake.take(DATA)
    assert intake.serve() == [Did.READY]
    end = intake.now(upload)
    assert end.skipped == {"suppressed": 2, "unsubscribed": 1}
    people = [r for x in intake.chunks(upload) for r in chunks.unpack(x.data)]
    skipped = {r.address: r.skip for r in people if r.skip}
    assert skipped == {
        "r0@example.com": "unsubscribed",
        "r1@example.com": "suppressed",
        "r40@example.com": "suppressed",
    }
    cells = [Cell(b & 15) for x in intake.ledgers(upload) for b in x.cells]
    assert [c is Cell.SKIPPED for c in cells] == [bool(r.skip) for r in people]
    assert end.checkpoint is not None
    assert len(cells) == end.checkpoint.counts.accepted


def test_a_list_of_nobody_to_send_to_is_read_and_its_ledgers_are_done() -> None:
    intake = small()
    suppressing(intake, "r0@example.com", "r1@example.com", reach=Reach.CAMPAIGNS)
    upload = intake.take(b"recipient\nr0@example.com\nr1@example.com\n")
    assert intake.serve() == [Did.READY]
    assert intake.now(upload).skipped == {"unsubscribed": 2}
    assert [x.status for x in intake.ledgers(upload)] == [LedgerStatus.DONE]


@pytest.mark.parametrize("name", ["uploads.store.chunk", "uploads.store.ledger", "files.put", "uploads.save"])
def test_counts_are_those_of_the_ledgers_even_if_somebody_is_suppressed_between_two_tries(name: str) -> None:
    """What is counted as skipped is what the ledgers hold: else the job's counts would never add up."""
    for nth in range(4):
        intake = small()
        upload = intake.take(DATA)
        intake.tap.arm(nth, When.AFTER, where=lambda called: called == name)
        with pytest.raises(Crash):
            intake.work(upload)
        suppressing(intake, *(f"r{i}@example.com" for i in range(ROWS)))
        intake.clock.advance(1000)
        assert intake.work(upload) is Did.READY
        held = sum(len(x.having(Cell.SKIPPED)) for x in intake.ledgers(upload))
        marked = sum(1 for x in intake.chunks(upload) for r in chunks.unpack(x.data) if r.skip)
        skipped = intake.now(upload).skipped
        assert skipped is not None
        assert held == marked == sum(skipped.values()) > ROWS // 2, nth


def test_suppressions_are_read_once_for_a_lease_and_only_hits_are_looked_up() -> None:
    intake = small()
    intake.stores.records.recent_page = 3
    suppressing(intake, *(f"other{i}@example.com" for i in range(10)), "r4@example.com")
    assert intake.stores.records.allow(ACCOUNT, "other3@example.com")
    upload = intake.take(DATA)
    before = len(intake.tap.calls)
    intake.serve()
    asked = intake.tap.calls[before:]
    assert asked.count("records.suppressed_since") == 6, "five pages, each begun with the last of the one before"
    assert asked.count("records.suppressed") == 2, "r4 stands in two chunks"
    assert intake.now(upload).skipped == {"suppressed": 2}


def test_of_an_account_with_very_many_suppressions_each_recipient_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shared.engine.unwanted.MOST", 4)
    intake = small()
    intake.stores.records.recent_page = 3
    suppressing(intake, *(f"r{i}@example.com" for i in range(20)))
    upload = intake.take(DATA)
    intake.serve()
    assert intake.now(upload).skipped == {"suppressed": 18}


# Bad rows


def bad_rows() -> Iterator[tuple[bytes, str]]:
    yield b"nobody,x", "invalid_address"
    yield b",x", "invalid_address"
    yield b"a@example.com," + b"x" * 100_000, "row_too_large"
    yield b"a@example.com," + b"x" * 600_000, "row_too_large"
    yield b"a@example.com," + b"y," * 100, "row_too_large"
    yield b"a@example.com,b,c", "wrong_field_count"
    yield b"a@example.com", "wrong_field_count"
    yield b"a@example.com,\0", "nul_byte"
    yield b"a@example.com,\xff\xfe", "invalid_utf8"
    yield b'a@example.com,"x', "unclosed_quote"
    yield b"a@example.com,x\ry", "stray_carriage_return"


@pytest.mark.promise(6)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_bad_rows_hold_nothing_up_and_are_told_one_by_one(end: bytes) -> None:
    intake = Intake()
    kinds = list(bad_rows())
    good = b"".join(b"r%d@example.com,x" % i + end for i in range(300))
    parts = [bad + end + end + good.replace(b"r", b"r%d" % i) + b" \t" + end for i, (bad, _) in enumerate(kinds)]
    upload = intake.take(b"\xef\xbb\xbf" + end + b" Recipient ,Name" + end + b"".join(parts).removesuffix(end))
    assert intake.serve() == [Did.READY]
    end_of_it = intake.now(upload)
    assert end_of_it.columns == ("recipient", "name")
    assert end_of_it.checkpoint is not None
    counts = end_of_it.checkpoint.counts
    assert (counts.accepted, counts.invalid, counts.duplicates) == (300 * len(kinds), len(kinds), 0)
    problems, _ = intake.uploads.problems(end_of_it, after=0, limit=100)
    assert [(p.row, p.code) for p in problems] == [(1 + 301 * i, code) for i, (_, code) in enumerate(kinds)]
    assert all(p.detail.endswith(".") and "example" not in p.detail for p in problems)
    people = [r for x in intake.chunks(upload) for r in chunks.unpack(x.data)]
    assert all(r.values == {"name": "x"} for r in people)


def test_columns_that_no_placeholder_can_name_are_kept_beside_those_that_one_can() -> None:
    intake = small()
    text = "first name,RECIPIENT,größe,{{x}},unsubscribe_url\nAnn,a@example.com,M,1,https://example.com\n"
    upload = intake.take(text.encode())
    assert intake.serve() == [Did.READY]
    (chunk,) = intake.chunks(upload)
    (person,) = chunks.unpack(chunk.data)
    assert person.address == "a@example.com"
    assert list(person.values) == ["first name", "größe", "{{x}}", "unsubscribe_url"]
    campaign = intake.uploads.campaigns[upload.campaign]
    assert campaign.changed(0, message=Message("{{ name }}", "{{ recipient }}")).missing == ("name",)


def test_a_list_of_too_many_is_refused_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shared.domain.ingest.MAX_LISTED", 40)
    intake = small()
    before = intake.take(b"recipient,name\na@example.com,Ann\n")
    assert intake.serve() == [Did.READY]
    upload = intake.take(DATA, campaign=intake.uploads.campaigns[before.campaign])
    assert intake.serve() == [Did.FAILED]
    assert (intake.now(upload).state, intake.now(upload).code) == (UploadState.FAILED, "too_many_rows")
    assert intake.uploads.campaigns[upload.campaign].ready == before.id


def test_a_list_whose_campaign_went_is_left_alone_for_good() -> None:
    for name, nth in (("files.read", 0), ("campaigns.get", 1)):
        intake = small()
        upload = intake.take(DATA)
        Frozen(intake, name, nth + 1, lambda i=intake, u=upload: i.uploads.campaigns.pop(u.campaign), seconds=1)
        assert intake.work(upload) is Did.FAILED
        assert (intake.now(upload).state, intake.now(upload).code) == (UploadState.FAILED, "campaign_gone")
        assert list(intake.uploads.unread()) == []


def test_a_malformed_number_holds_no_list_up() -> None:
    intake = Intake()
    upload = intake.take(
        b"recipient\n+33612345678\n06 12\n0612345679\n", campaign=intake.campaign(channel="sms"), region="FR"
    )
    assert intake.serve() == [Did.READY]
    (chunk,) = intake.chunks(upload)
    assert isinstance(chunk, PackedChunk)
    assert [r.address for r in chunks.unpack(chunk.data)] == ["+33612345678", "+33612345679"]
    problems, _ = intake.uploads.problems(intake.now(upload), after=0, limit=9)
    assert [(p.row, p.code) for p in problems] == [(2, "invalid_number")]
