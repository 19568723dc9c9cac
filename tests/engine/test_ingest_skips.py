"""Who is not to be sent to is found while a list is read, and counted as its ledgers hold it."""

import pytest

from shared.domain.jobs import chunks
from shared.domain.jobs.ledger import LedgerStatus
from shared.domain.jobs.states import Cell
from shared.domain.recipients.suppressions import Reach
from shared.engine.work import WorkResult
from tests.engine.reading import DATA, ROWS, small, suppressing
from tests.fakes.faults import Crash, When
from tests.fakes.intake import ACCOUNT


def test_unsendable_recipients_are_skipped_with_their_first_reason() -> None:
    intake = small()
    suppressing(intake, "r0@example.com", "r1@example.com", reach=Reach.CAMPAIGNS)
    suppressing(intake, "r1@example.com", "r40@example.com", "elsewhere@example.com")
    intake.stores.records.suppress("acc_other", "r2@example.com", "bounced", intake.clock.ms)
    upload = intake.take(DATA)
    assert intake.serve() == [WorkResult.READY]
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


def test_a_list_without_sendable_recipients_is_read_and_done() -> None:
    intake = small()
    suppressing(intake, "r0@example.com", "r1@example.com", reach=Reach.CAMPAIGNS)
    upload = intake.take(b"recipient\nr0@example.com\nr1@example.com\n")
    assert intake.serve() == [WorkResult.READY]
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
        assert intake.work(upload) is WorkResult.READY
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
    monkeypatch.setattr("shared.engine.suppression.unwanted.MOST", 4)
    intake = small()
    intake.stores.records.recent_page = 3
    suppressing(intake, *(f"r{i}@example.com" for i in range(20)))
    upload = intake.take(DATA)
    intake.serve()
    assert intake.now(upload).skipped == {"suppressed": 18}
