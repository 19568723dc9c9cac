"""A destination as its ledger shows it."""

from dataclasses import replace

import pytest

from shared.domain.jobs.states import Cell
from shared.domain.mails.destination import (
    DestinationState,
    destination,
    fails,
    has_end,
    is_pending,
    metadata_of,
    recipient,
    state_of,
    waits,
)
from tests.domain.ledgers import NOW
from tests.domain.mails.examples import one


@pytest.mark.parametrize("cell", list(Cell))
def test_each_cell_has_a_state(cell: Cell) -> None:
    fresh, noted = one(cell, 1), one(cell, 1, told=bytes([cell + 1]))
    expected = {
        Cell.QUEUED: (DestinationState.QUEUED, DestinationState.QUEUED),
        Cell.RETRY: (DestinationState.QUEUED, DestinationState.QUEUED),
        Cell.CLAIMED: (DestinationState.INFLIGHT, DestinationState.INFLIGHT),
        Cell.UNKNOWN: (DestinationState.INFLIGHT, DestinationState.INFLIGHT),
        Cell.WITHDRAWN: (DestinationState.DROPPED, DestinationState.DROPPED),
    }.get(cell, (DestinationState.CLEANUP, DestinationState.GONE))
    assert (state_of(fresh), state_of(noted)) == expected
    assert has_end(fresh) is (expected[0] in (DestinationState.CLEANUP, DestinationState.DROPPED))
    assert is_pending(fresh) is has_end(fresh)
    assert not is_pending(noted)


def test_a_bounce_that_comes_later_is_to_be_noted_again() -> None:
    assert is_pending(one(Cell.BOUNCED, 1, told=bytes([Cell.SENT + 1])))


def test_who_is_notified() -> None:
    silent = {Cell.SENT, Cell.SENT_CLOSED, Cell.RELAYED, Cell.DELIVERED, Cell.WITHDRAWN}
    assert {x for x in Cell if has_end(one(x)) and not fails(one(x))} == silent


def test_only_what_waits_may_be_moved() -> None:
    assert {x for x in Cell if waits(one(x))} == {Cell.QUEUED, Cell.RETRY}


def test_metadata_are_returned_as_they_are() -> None:
    metadata = {"ticket": 7, "name": "José", "nested": {"a": [1, None]}}
    someone = recipient("Ann@example.org", "ann@example.org", metadata, NOW)
    assert metadata_of(someone) == metadata
    assert someone.not_after == NOW
    assert metadata_of(recipient("a@example.org", "a@example.org", {}, 0)) == {}
    shown = destination(replace(one(Cell.QUEUED, 2, not_before=NOW), chunk=3), someone)
    assert (shown.n, shown.address, shown.at, shown.attempts) == (3, "Ann@example.org", NOW, 2)
    assert (shown.metadata, shown.state) == (metadata, DestinationState.QUEUED)
