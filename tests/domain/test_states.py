import pytest

from shared.domain.jobs.job import public_counts, stats_of
from shared.domain.jobs.ledger import histogram
from shared.domain.jobs.states import (
    COUNT_KEYS,
    RANK,
    TRANSITIONS,
    Cell,
    Change,
    JobState,
    MessageState,
    Status,
    message_state,
    status,
)


@pytest.mark.parametrize(
    ("cell", "outside", "narrow"),
    [
        (Cell.QUEUED, MessageState.QUEUED, Status.QUEUED),
        (Cell.RETRY, MessageState.QUEUED, Status.QUEUED),
        (Cell.CLAIMED, MessageState.SENDING, Status.QUEUED),
        (Cell.UNKNOWN, MessageState.UNKNOWN, Status.QUEUED),
        (Cell.FAILED, MessageState.FAILED, Status.FAILED),
        (Cell.SKIPPED, MessageState.SKIPPED, Status.FAILED),
        (Cell.SENT, MessageState.SENT, Status.QUEUED),
        (Cell.RELAYED, MessageState.SENT, Status.SUCCESS),
        (Cell.DROPPED, MessageState.FAILED, Status.FAILED),
        (Cell.DELIVERED, MessageState.DELIVERED, Status.SUCCESS),
        (Cell.BOUNCED, MessageState.FAILED, Status.FAILED),
        (Cell.SENT_CLOSED, MessageState.SENT, Status.SUCCESS),
        (Cell.UNKNOWN_CLOSED, MessageState.UNKNOWN, Status.FAILED),
        (Cell.WITHDRAWN, MessageState.SKIPPED, Status.FAILED),
        (Cell.EXPIRED, MessageState.SKIPPED, Status.FAILED),
    ],
)
def test_what_the_outside_sees_of_a_cell(cell: Cell, outside: MessageState, narrow: Status) -> None:
    assert message_state(cell) is outside
    assert status(cell) is narrow


@pytest.mark.parametrize("cell", Cell)
@pytest.mark.parametrize("attempt", [0, 1, 15])
def test_a_histogram_counts_each_cell_where_the_outside_sees_it(cell: Cell, attempt: int) -> None:
    counts = dict(zip(COUNT_KEYS, histogram(bytes([attempt << 4 | cell])), strict=True))
    shown = {k: v for k, v in public_counts(counts).items() if v}
    assert shown == {message_state(cell).value: 1}


def test_stats_keep_the_sum() -> None:
    delta = (1, 2, 3, 4, 5, 6, 7, 8, 9)
    assert stats_of(delta) == {"success": 4 + 5, "failure": 6 + 9, "queued": 1 + 2 + 3 + 8, "skipped": 7}
    assert sum(stats_of(delta).values()) == sum(delta)


def test_the_ranks_of_the_protocol() -> None:
    order = [Cell.CLAIMED, Cell.UNKNOWN, Cell.FAILED, Cell.SENT, Cell.DROPPED]
    order += [Cell.SENT_CLOSED, Cell.DELIVERED, Cell.BOUNCED]
    assert sorted(order, key=RANK.__getitem__) == order
    assert RANK[Cell.SENT] == RANK[Cell.RELAYED]
    assert RANK[Cell.SENT_CLOSED] == RANK[Cell.UNKNOWN_CLOSED]
    assert RANK[Cell.QUEUED] == RANK[Cell.RETRY] == RANK[Cell.DROPPED]
    assert set(RANK) == set(Cell)


def test_the_transitions_of_the_protocol() -> None:
    s = JobState
    assert set(TRANSITIONS) == set(Change)
    assert {(a, b) for sources, b in TRANSITIONS.values() for a in sources} == {
        (s.READY, s.ENQUEUED),
        (s.ENQUEUED, s.SENDING),
        (s.ENQUEUED, s.SENT),
        (s.SENDING, s.SENT),
        (s.SENT, s.LOGGED),
        (s.STOPPED, s.LOGGED),
        (s.READY, s.STOPPED),
        (s.ENQUEUED, s.STOPPED),
        (s.SENDING, s.STOPPED),
        (s.LOGGED, s.READY),
        (s.SENT, s.SENDING),
        (s.ENQUEUED, s.READY),
        (s.SENDING, s.READY),
    }
