"""What the owner of a run does to its cells: withdraw, expire, close, and note what was said (N)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.adapters.dynamo import codec
from shared.domain.jobs import ledger as rules
from shared.domain.jobs import runs
from shared.domain.jobs.chunks import Recipient, pack, unpack
from shared.domain.jobs.feedback import ProviderEventKind, join, state_of
from shared.domain.jobs.ledger import LedgerStatus
from shared.domain.jobs.states import NEVER_SENT, OPEN, Cell
from tests.domain.ledgers import CELLS, ROUTE, busy, ledger, states

WAITING = (Cell.QUEUED, Cell.RETRY)


@pytest.mark.parametrize("state", sorted(NEVER_SENT))
@pytest.mark.parametrize("cell", Cell)
def test_only_what_waits_is_taken_out(cell: Cell, state: Cell) -> None:
    out = runs.drop(ledger((cell, 1), (Cell.SENT, 1)), [0], state)
    if cell in WAITING:
        assert out is not None
        assert (states(out), out.status, out.dirty) == ([state, Cell.SENT], LedgerStatus.DONE, True)
    else:
        assert out is None


def test_a_lease_goes_on_without_those_that_were_withdrawn() -> None:
    held = busy((Cell.QUEUED, 0), (Cell.QUEUED, 0))
    withdrawn = runs.drop(held, [0], Cell.WITHDRAWN)
    assert withdrawn is not None
    assert withdrawn.status is LedgerStatus.BUSY
    claimed, window = rules.claim(withdrawn, [], 2, route=ROUTE, at_lane="one")
    assert (window, states(claimed)) == ([1], [Cell.WITHDRAWN, Cell.CLAIMED])


def test_a_claim_leaves_out_those_that_expired() -> None:
    claimed, window = rules.claim(
        busy((Cell.QUEUED, 0), (Cell.QUEUED, 1), (Cell.RETRY, 1)), [], 3, route=ROUTE, at_lane="one", expired=[1, 2]
    )
    assert (window, states(claimed)) == ([0], [Cell.CLAIMED, Cell.EXPIRED, Cell.RETRY])


@pytest.mark.parametrize("cell", Cell)
def test_only_what_waits_for_a_receipt_or_for_proof_is_closed(cell: Cell) -> None:
    out = runs.close(ledger((cell, 2)), [0])
    wanted = {Cell.SENT: Cell.SENT_CLOSED, Cell.UNKNOWN: Cell.UNKNOWN_CLOSED}.get(cell)
    assert (out.cell(0) if out is not None else None) == ((wanted, 2) if wanted else None)


@pytest.mark.parametrize("closed", [Cell.SENT_CLOSED, Cell.UNKNOWN_CLOSED])
@pytest.mark.parametrize("word", ProviderEventKind)
def test_nothing_but_a_delivery_or_a_bounce_changes_a_closed_cell(closed: Cell, word: ProviderEventKind) -> None:
    state = state_of(word)
    after = join(closed, 1, state, 1) if state is not None else closed
    assert after is (state if state in (Cell.DELIVERED, Cell.BOUNCED) else closed)
    assert rules.disprove(ledger((closed, 1)), [(0, 1)], Cell.RETRY) is None


@pytest.mark.parametrize("final", sorted(NEVER_SENT))
def test_no_word_changes_what_was_never_sent(final: Cell) -> None:
    assert {join(final, 1, state, attempt) for state in Cell for attempt in (0, 1)} == {final}


@given(st.lists(CELLS, min_size=1, max_size=20))
def test_each_state_that_is_a_word_is_told_once(cells: list[tuple[Cell, int]]) -> None:
    fresh = ledger(*cells, told=bytes(len(cells)))
    waiting = runs.untold(fresh)
    assert [cells[i][0] for i in waiting] == [s for s, _ in cells if s not in OPEN and s is not Cell.SENT]
    told = runs.tell(fresh, {i: fresh.cell(i)[0] for i in waiting})
    assert runs.untold(told or fresh) == []
    assert (told is None) == (not waiting)
    if told is not None:
        assert runs.tell(told, {i: fresh.cell(i)[0] for i in waiting}) is None
        assert (told.dirty, told.version) == (fresh.dirty, fresh.version + 1)


def test_a_word_that_follows_another_is_told_too() -> None:
    told = runs.tell(ledger((Cell.DROPPED, 1), told=bytes(1)), {0: Cell.DROPPED})
    assert told is not None
    delivered = rules.join_words(told, [(0, 1, Cell.DELIVERED)], route=ROUTE, credential="one")
    assert delivered is not None
    assert runs.untold(delivered) == [0]


def test_a_ledger_whose_owner_asks_has_nothing_to_tell() -> None:
    assert runs.untold(ledger((Cell.DELIVERED, 1))) == []


def test_what_a_run_adds_survives_its_items() -> None:
    x = ledger((Cell.EXPIRED, 0), (Cell.SENT_CLOSED, 3), told=b"\x0f\x00", not_after=1_790_000_000_000)
    assert codec.ledger(codec.ledger_item(x)) == x
    some = (Recipient("+61400000001", "+61400000001", values={"a": "b"}, not_after=7), Recipient("x", "x"))
    assert unpack(pack(some)) == some
