from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.adapters.dynamo import codec
from shared.domain.jobs import ledger as rules
from shared.domain.jobs import passes, retries, runs
from shared.domain.jobs.ledger import BY_KEYS, Ledger, LedgerStatus
from shared.domain.jobs.outcomes import Entry, Kind
from shared.domain.jobs.passes import LONG_WAIT, THROTTLED
from shared.domain.jobs.states import COUNT_KEYS, MAX_ATTEMPTS, Cell
from tests.domain.ledgers import CELLS, JOB, NOW, ROUTE, busy, by, ledger, passing, states
from tests.tiers import examples

WRITE_UNIT = 1024
Q, R, C, U, F, S, D = Cell.QUEUED, Cell.RETRY, Cell.CLAIMED, Cell.UNKNOWN, Cell.FAILED, Cell.SENT, Cell.DROPPED


def stored_bytes(item: dict[str, Any]) -> int:
    """Return an item's size as DynamoDB counts it: names in UTF-8, numbers as half their digits and one byte."""
    size = 0
    for name, value in item.items():
        kind, content = next(iter(value.items()))
        size += len(name.encode())
        if kind == "N":
            size += len(content.strip("-0.")) // 2 + 2
        else:
            size += len(content.encode()) if kind == "S" else len(content)
    return size


# The item


def test_the_ledger_of_500_recipients_fits_one_write_unit_whatever_its_values() -> None:
    route = tuple(f"credential-name-of-32-chars-{i:04d}" for i in range(6))
    x = Ledger(
        job=JOB,
        chunk=99_999,
        cells=bytes([15 << 4 | Cell.BOUNCED] * 500),
        lane=route[0],
        first_lane=route[1],
        limit=15,
        by=(0xFFFF,) * (len(route) * len(BY_KEYS)),
        folded=(0xFFFF,) * (len(COUNT_KEYS) + len(route) * len(BY_KEYS)),
        ttl=9_999_999_999,
        status=LedgerStatus.BUSY,
        owner="f" * 36,
        epoch=99_999,
        seq=99_999,
        until=9_999_999_999_999,
        tried=(0, 1, 2, 3, 4, 5),
        rounds=15,
        retries=999,
        throttled=9,
        not_before=9_999_999_999_999,
        released_at=9_999_999_999_999,
        dirty=True,
        version=9_999_999,
    )
    item = codec.ledger_item(x)
    assert codec.ledger(item) == x
    assert 800 < stored_bytes(item) <= WRITE_UNIT


@given(st.lists(CELLS, min_size=1, max_size=20), st.lists(st.integers(0, 0xFFFF), min_size=12, max_size=12))
def test_a_ledger_survives_its_item(cells: list[tuple[Cell, int]], numbers: list[int]) -> None:
    for x in (ledger(*cells, by=tuple(numbers)), busy(*cells, lane="two", tried=(0, 2), dirty=True)):
        assert codec.ledger(codec.ledger_item(x)) == x


def test_a_new_ledger_counts_as_folded_and_is_done_if_everybody_is_skipped() -> None:
    args = {"job": JOB, "chunk": 0, "lane": "one", "route": ROUTE, "limit": 6, "ttl": 1}
    new = rules.create(size=3, skipped=[1], **args)  # type: ignore[arg-type]
    assert states(new) == [Q, Cell.SKIPPED, Q]
    assert new.status is LedgerStatus.IDLE
    assert rules.fold(new) is None
    assert rules.create(size=2, skipped=[0, 1], **args).status is LedgerStatus.DONE  # type: ignore[arg-type]


# L1, L2


@pytest.mark.parametrize(
    ("fields", "lane"),
    [
        ({"status": LedgerStatus.BUSY}, "one"),
        ({"status": LedgerStatus.DONE}, "one"),
        ({"not_before": NOW + 1}, "one"),
        ({}, "two"),
    ],
)
def test_only_an_idle_due_chunk_of_the_lane_is_leased(fields: dict[str, Any], lane: str) -> None:
    assert rules.acquire(ledger((Q, 0), **fields), lane=lane, owner="me", now=NOW, until=NOW + 5) is None


def test_a_lease_counts_its_epoch_and_begins_its_sequence() -> None:
    got = rules.acquire(ledger((Q, 0), epoch=4, seq=9, not_before=NOW), lane="one", owner="me", now=NOW, until=NOW + 5)
    assert got is not None
    assert (got.status, got.owner, got.epoch, got.seq, got.until, got.version) == (
        LedgerStatus.BUSY,
        "me",
        5,
        0,
        NOW + 5,
        2,
    )


def test_a_claim_merges_the_last_window_and_takes_the_first_queued_of_the_fewest_attempts() -> None:
    held = busy((C, 1), (Q, 0), (R, 1), (Q, 2), (Q, 0))
    new, claimed = rules.claim(held, [Entry(0, 1, Kind.ACCEPTED, "id")], 2, route=ROUTE, at_lane="one")
    assert claimed == [1, 4]
    assert [new.cell(i) for i in range(5)] == [(S, 1), (C, 1), (R, 1), (Q, 2), (C, 1)]
    assert (new.seq, new.version, new.dirty) == (2, 2, True)
    assert by(new, "one") == {"tried": 2, "accepted": 1}


def test_a_claim_never_exceeds_the_limit_of_attempts() -> None:
    new, claimed = rules.claim(busy((Q, 6), (Q, 5)), [], 2, route=ROUTE, at_lane="one")
    assert claimed == [1]
    assert new.cell(0) == (Q, 6)


# L3


@pytest.mark.parametrize(
    ("kind", "holder", "late"),
    [
        (Kind.ACCEPTED, Cell.SENT, Cell.SENT),
        (Kind.RELAYED, Cell.RELAYED, Cell.RELAYED),
        (Kind.REFUSED, Cell.FAILED, Cell.FAILED),
        (Kind.INVALID, Cell.SKIPPED, Cell.SKIPPED),
        (Kind.UNKNOWN, Cell.UNKNOWN, Cell.UNKNOWN),
        (Kind.NOT_SENT, Cell.RETRY, Cell.DROPPED),
        (Kind.RISKED, Cell.RETRY, Cell.UNKNOWN),
    ],
)
def test_what_an_outcome_makes_of_a_claimed_cell(kind: Kind, holder: Cell, late: Cell) -> None:
    entry = [Entry(0, 2, kind)]
    assert rules.merge(busy((C, 2)), entry, holder=True, route=ROUTE, at_lane="one").cell(0) == (holder, 2)
    assert rules.merge(busy((C, 2)), entry, holder=False, route=ROUTE, at_lane="one").cell(0) == (late, 2)


def test_a_doubt_that_no_try_is_left_for_is_no_failure() -> None:
    entries = [Entry(0, 2, Kind.RISKED), Entry(1, 3, Kind.RISKED)]
    x = rules.merge(busy((C, 2), (C, 3), limit=3), entries, holder=True, route=ROUTE, at_lane="one")
    assert [x.cell(i) for i in range(2)] == [(R, 2), (U, 3)]


def test_a_late_word_never_undoes_a_higher_one_nor_touches_another_attempt() -> None:
    entry = [Entry(i, 1, Kind.NOT_SENT) for i in range(5)]
    x = busy((U, 1), (S, 1), (Q, 1), (C, 2), (Cell.DELIVERED, 1))
    late = rules.merge(x, entry, holder=False, route=ROUTE, at_lane="one")
    assert [late.cell(i) for i in range(5)] == [(D, 1), (D, 1), (Q, 1), (C, 2), (Cell.DELIVERED, 1)]
    accepted = [Entry(i, 1, Kind.ACCEPTED) for i in range(5)]
    late = rules.merge(x, accepted, holder=False, route=ROUTE, at_lane="one")
    assert [late.cell(i) for i in range(5)] == [(S, 1), (S, 1), (Q, 1), (C, 2), (Cell.DELIVERED, 1)]


def test_a_requeued_recipient_uses_its_attempt_again() -> None:
    x, _ = rules.claim(busy((Q, 2)), [], 1, route=ROUTE, at_lane="one")
    back = rules.merge(x, [], holder=True, route=ROUTE, at_lane="one", requeued=[0])
    assert back.cell(0) == (Q, 2)
    assert by(back, "one") == {}


# L4


def test_queued_work_keeps_its_lane_and_retries_wait_for_it() -> None:
    out = passes.release(busy((Q, 0), (R, 1)), passing())
    assert (out.status, out.lane, out.not_before, out.owner, out.until) == (LedgerStatus.IDLE, "one", 0, "", 0)
    assert states(out) == [Q, R]
    assert out.released_at == NOW


def test_a_pass_goes_on_to_the_next_credential_that_is_usable() -> None:
    out = passes.release(busy((R, 1), (S, 1)), passing())
    assert (out.lane, out.tried, out.not_before, states(out)) == ("two", (0,), NOW, [Q, S])
    out = passes.release(busy((R, 1)), passing(usable=lambda c: c != "two"))
    assert out.lane == "three"


def test_the_route_is_tried_once_around_then_rests_and_starts_where_it_began() -> None:
    x = busy((R, 1), lane="two", first_lane="two")
    lanes = []
    for _ in range(4):
        out = passes.release(x, passing())
        lanes.append((out.lane, out.rounds, out.not_before))
        x = replace(out, cells=bytes([out.cells[0] & 0xF0 | R]), status=LedgerStatus.BUSY)
    assert lanes == [("three", 0, NOW), ("one", 0, NOW), ("two", 1, NOW + 10_000), ("three", 1, NOW)]


def test_a_route_of_one_waits_between_rounds() -> None:
    out = passes.release(ledger((R, 1), route=("one",), status=LedgerStatus.BUSY), passing(route=("one",)))
    assert (out.lane, out.rounds, out.not_before, out.status) == ("one", 1, NOW + 10_000, LedgerStatus.IDLE)


def test_a_recipient_at_the_limit_is_given_up() -> None:
    out = passes.release(busy((R, 6), (R, 5)), passing())
    assert states(out) == [D, Q]
    out = passes.release(busy((R, 6), (S, 1)), passing())
    assert (states(out), out.status) == ([D, S], LedgerStatus.DONE)


def test_a_provider_that_asks_to_wait_is_left_alone_until_then() -> None:
    out = passes.release(busy((Q, 0)), passing(throttled_until=NOW + 700))
    assert out.not_before == NOW + 700
    assert passes.release(busy((S, 1)), passing(throttled_until=NOW + 700)).not_before == 0


def test_a_provider_that_throttles_again_and_again_is_left_without_an_attempt() -> None:
    x, asked = busy((Q, 0), (Q, 1), (S, 1)), NOW + 2000
    for row in range(1, THROTTLED):
        out = passes.release(x, passing(throttled=True, throttled_until=asked))
        assert (out.lane, out.throttled, out.not_before, states(out)) == ("one", row, asked, [Q, Q, S])
        x = replace(out, status=LedgerStatus.BUSY)
    assert passes.release(x, passing(throttled_until=asked)).throttled == 0, "it took something meanwhile"
    out = passes.release(x, passing(throttled=True, throttled_until=asked))
    assert (out.lane, out.throttled, out.tried, out.not_before) == ("two", 0, (0,), NOW)
    assert [out.cell(i) for i in range(3)] == [(Q, 0), (Q, 1), (S, 1)]


def test_a_provider_that_asks_for_a_long_wait_is_left_at_once() -> None:
    x = busy((Q, 0))
    assert passes.release(x, passing(throttled=True, throttled_until=NOW + LONG_WAIT)).lane == "one"
    out = passes.release(x, passing(throttled=True, throttled_until=NOW + LONG_WAIT + 1))
    assert (out.lane, out.not_before) == ("two", NOW)
    alone = ledger((Q, 0), route=("one",), status=LedgerStatus.BUSY)
    out = passes.release(alone, passing(route=("one",), throttled=True, throttled_until=NOW + 3_600_000))
    assert (out.lane, out.rounds, out.not_before, out.throttled) == ("one", 1, NOW + 3_600_000, 0)


def test_a_released_ledger_is_what_its_item_says() -> None:
    out = passes.release(busy((R, 1), seq=4), passing())
    assert codec.ledger(codec.ledger_item(out)) == out


# L5


def test_a_takeover_believes_the_detail_of_the_attempt_and_nothing_else() -> None:
    x = busy((C, 1), (C, 2), (C, 1), (C, 1), (Q, 0), until=NOW - 1)
    proof = {
        0: Entry(0, 1, Kind.ACCEPTED),
        1: Entry(1, 1, Kind.ACCEPTED),
        2: Entry(2, 1, Kind.RISKED),
        4: Entry(4, 1, Kind.ACCEPTED),
    }
    out = passes.take_over(x, proof, passing())
    assert out is not None
    assert states(out) == [S, U, U, U, Q]
    assert (out.status, out.epoch, out.owner) == (LedgerStatus.IDLE, 2, "")


def test_a_takeover_starts_the_next_pass() -> None:
    out = passes.take_over(busy((C, 1), until=NOW - 1), {0: Entry(0, 1, Kind.NOT_SENT)}, passing())
    assert out is not None
    assert (states(out), out.lane) == ([Q], "two")


@pytest.mark.parametrize("x", [busy((C, 1), until=NOW), ledger((C, 1), until=NOW - 1)])
def test_only_a_lease_that_ran_out_is_taken_over(x: Ledger) -> None:
    assert passes.take_over(x, {}, passing()) is None


# J2, J4


def test_a_fold_carries_the_difference_once() -> None:
    x = rules.merge(busy((C, 1), (Q, 0)), [Entry(0, 1, Kind.ACCEPTED)], holder=True, route=ROUTE, at_lane="two")
    x = replace(x, folded=rules.histogram(bytes([Q, Q])) + (0,) * 12)
    folded = rules.fold(x)
    assert folded is not None
    new, delta = folded
    assert dict(zip(COUNT_KEYS, delta, strict=False)) == {**dict.fromkeys(COUNT_KEYS, 0), "queued": -1, "sent": 1}
    assert delta[len(COUNT_KEYS) + len(BY_KEYS) :][:4] == (0, 1, 0, 0)
    assert rules.fold(new) is None
    assert not new.dirty


def test_a_retry_reopens_the_wanted_cells_at_the_first_lane() -> None:
    x = ledger((D, 2), (U, 1), (F, 1), (S, 1), lane="three", first_lane="two", tried=(0,), rounds=2)
    out = retries.reopen(replace(x, status=LedgerStatus.DONE), (D,), 6)
    assert out is not None
    assert states(out) == [Q, U, F, S]
    assert (out.lane, out.tried, out.rounds, out.limit, out.retries) == ("two", (), 0, 8, 1)
    assert out.status is LedgerStatus.IDLE
    assert retries.reopen(x, (Cell.BOUNCED,), 6) is None
    assert retries.reopen(replace(x, status=LedgerStatus.BUSY), (D,), 6) is None
    assert retries.reopen(ledger((D, 15)), (D,), 6) is None


@given(
    st.lists(st.tuples(st.sampled_from([Q, D, S]), st.integers(0, 15)), min_size=2, max_size=4),
    st.integers(1, 15),
    st.integers(1, 15),
)
def test_whatever_a_retry_queues_can_be_claimed(cells: list[tuple[Cell, int]], limit: int, max_attempts: int) -> None:
    """A cell that waits for an attempt it may not have would keep its job open, and its lane busy, for ever."""
    x = ledger(*(c for c in cells if c[0] is not Q or c[1] < limit), limit=limit)
    out = retries.reopen(x, (D,), max_attempts)
    if out is not None:
        queued = out.having(Q)
        assert rules.claim(out, [], 500, route=ROUTE, at_lane="one")[1] == queued
        assert out.limit <= MAX_ATTEMPTS


def test_only_waiting_recipients_are_dropped_from_a_list() -> None:
    x = ledger((Q, 0), (R, 1), (C, 1), (S, 1))
    out = runs.drop(x, range(4))
    assert out is not None
    assert states(out) == [Cell.SKIPPED, Cell.SKIPPED, C, S]
    assert out.status is LedgerStatus.IDLE
    assert runs.drop(x, [3]) is None
    last = runs.drop(ledger((Q, 0), (S, 1)), [0])
    assert last is not None
    assert last.status is LedgerStatus.DONE


# All of them together

OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(
            ["acquire", "claim", "release", "throttle", "expire", "word", "late", "reopen", "drop", "fold"]
        ),
        st.integers(0, 7),
        st.integers(1, 15),
        st.sampled_from(Kind),
        st.sampled_from([Cell.SENT, Cell.DELIVERED, Cell.BOUNCED, Cell.DROPPED]),
    ),
    max_size=40,
)


def apply(x: Ledger, operation: Any, now: int) -> Ledger | None:
    """Do one thing to a ledger, as its holder, its claimant come late, a provider or the owner would."""
    name, index, attempt, kind, word = operation
    entries = [Entry(i, x.cells[i] >> 4, kind) for i in x.having(C)]
    if x.status is LedgerStatus.BUSY and name in ("claim", "release", "throttle"):
        if name == "claim":
            return rules.claim(x, entries, index, route=ROUTE, at_lane=x.lane)[0]
        requeued = x.having(C) if name == "throttle" else []
        known = [] if requeued else entries
        merged = rules.merge(x, known, holder=True, route=ROUTE, at_lane=x.lane, requeued=requeued)
        return passes.release(rules.give_up(merged, route=ROUTE), passing(now))
    does: dict[str, Callable[[], Ledger | None]] = {
        "acquire": lambda: rules.acquire(x, lane=x.lane, owner="me", now=x.not_before, until=now + 500),
        "expire": lambda: passes.take_over(x, {e.index: e for e in entries[: index + 1]}, passing(now)),
        "word": lambda: rules.join_words(x, [(index, attempt, word)], route=ROUTE, credential="two"),
        "late": lambda: rules.merge(x, [Entry(index, attempt, kind)], holder=False, route=ROUTE, at_lane="one"),
        "reopen": lambda: retries.reopen(x, (D,), 6),
        "drop": lambda: runs.drop(x, [index]),
    }
    return does[name]() if name in does else None


@settings(max_examples=examples(150))
@given(OPERATIONS)
def test_histograms_add_up_and_no_cell_is_left_claimed_whatever_happens(operations: list[Any]) -> None:
    size, now = 8, NOW
    x: Ledger = ledger(*[(Q, 0)] * size)
    x = replace(x, folded=rules.figures(x))
    counts = list(rules.figures(x))
    for operation in operations:
        now += 1000
        folded = rules.fold(x) if operation[0] == "fold" else None
        if folded is not None:
            counts = [a + b for a, b in zip(counts, folded[1], strict=True)]
        new = folded[0] if folded is not None else apply(x, operation, now)
        x = new or x
        assert sum(rules.histogram(x.cells)) == size
        assert sum(counts[: len(COUNT_KEYS)]) == size
        assert all(b & 15 in list(Cell) for b in x.cells)
        assert x.having(C) == [] or x.status is LedgerStatus.BUSY
        assert x.status is not LedgerStatus.DONE or not x.unfinished
    folded = rules.fold(x)
    if folded is not None:
        counts = [a + b for a, b in zip(counts, folded[1], strict=True)]
    assert tuple(counts) == rules.figures(x)
