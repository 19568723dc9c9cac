from dataclasses import replace
from typing import Any

import pytest

from shared.domain.digests import window as rules
from shared.domain.digests.events import MAX_BYTES
from shared.domain.digests.window import (
    MAX_PARTS,
    DigestWindow,
    WindowState,
    admits,
    closed,
    is_window_id,
    joined,
    joining,
    opened,
    room,
    shard_of,
    urgent,
)
from tests.domain.digests.examples import ACCOUNT, KEY, NOW, POLICY, part, policy, window

S = 1000


def many(**changes: Any) -> DigestWindow:
    return replace(window(), parts=tuple(f"{i:016d}" for i in range(100, 150)), **changes)


def test_a_window_has_its_policys_length() -> None:
    made = window()
    assert (made.state, made.closes_at, made.due_at) == (WindowState.OPEN, NOW + 300 * S, NOW + 300 * S)
    assert (made.events, made.parts, made.namespace) == (1, (part(1).id,), ACCOUNT)
    assert window(test=True).id != made.id
    assert window(test=True).namespace == f"{ACCOUNT}#TEST"


def test_a_window_that_is_full_at_once_is_closed() -> None:
    made = opened((ACCOUNT, False), KEY, 3, policy(max_events=5), part(0, 5), NOW)
    assert (made.state, made.closed_at, made.due_at) == (WindowState.CLOSED, NOW, NOW)


def test_an_urgent_event_has_a_closed_window_of_its_own() -> None:
    made = urgent((ACCOUNT, False), KEY, POLICY, part(), NOW)
    again = urgent((ACCOUNT, False), KEY, POLICY, part(1), NOW)
    assert (made.state, made.closes_at, made.closed_at, made.due_at) == (WindowState.CLOSED, NOW, NOW, NOW)
    assert (made.number, made.urgent) == (0, True)
    assert made.id != again.id


def test_ids_name_the_place() -> None:
    one, other = window(), window(key="acme/development")
    assert is_window_id(one.id)
    assert is_window_id(urgent((ACCOUNT, False), KEY, POLICY, part(), NOW).id)
    for wrong in ("", one.id[:-1], f"{one.id}x", one.id.replace("-1", "-0"), one.id.upper(), "x" * 34):
        assert not is_window_id(wrong) or wrong == one.id
    assert rules.place_of(one.id) == rules.place_of(window(2).id) != rules.place_of(other.id)
    assert rules.place("a#TEST", "x") != rules.place("a", "#TESTx") != rules.place("a", "TEST#x")
    assert 0 <= shard_of(one.id) < rules.SHARDS


def test_a_part_joins_an_open_window_once() -> None:
    one, join = window(), joining(window(), part(7), POLICY, NOW + S)
    assert admits(one, join)
    after = joined(one, join)
    assert (after.parts, after.events, after.version) == ((part(1).id, part(7).id), 2, 2)
    assert after.size == one.size + part(7).size
    assert after.closes_at == one.closes_at
    assert not admits(after, join), "it is in already"
    assert not admits(closed(one, NOW), join)


@pytest.mark.parametrize("late_ms", [0, 1])
def test_no_part_joins_from_the_end_on(late_ms: int) -> None:
    one = window()
    join = joining(one, part(7), policy(near=0), NOW)
    assert admits(one, replace(join, now=one.closes_at - 1))
    assert not admits(one, replace(join, now=one.closes_at + late_ms))


def test_an_event_near_the_end_moves_it() -> None:
    one = window()
    assert joining(one, part(7), POLICY, NOW + 269 * S).closes_at == 0
    join = joining(one, part(7), POLICY, NOW + 270 * S)
    assert (join.closes_at, join.seen) == (NOW + 360 * S, one.closes_at)
    assert joined(one, join).closes_at == NOW + 360 * S
    assert joined(one, join).due_at == one.due_at, "its place in the index stays"


def test_the_end_is_never_moved_beyond_the_greatest_age() -> None:
    last = window(closes_at=NOW + 1790 * S)
    assert joining(last, part(7), POLICY, NOW + 1780 * S).closes_at == NOW + 1800 * S
    over = window(closes_at=NOW + 1800 * S)
    assert joining(over, part(7), POLICY, NOW + 1799 * S).closes_at == 0


def test_an_end_that_was_remembered_moves_nothing_back() -> None:
    join = joining(window(), part(7), POLICY, NOW + 280 * S)
    assert not admits(window(closes_at=NOW + 400 * S), join)


@pytest.mark.parametrize(
    ("one", "full_policy"),
    [
        (many(events=59), policy(max_events=60)),
        (replace(window(), parts=tuple(str(i) for i in range(MAX_PARTS - 1))), POLICY),
        (many(size=MAX_BYTES - part(7).size), POLICY),
    ],
)
def test_a_write_that_fills_a_window_closes_it(one: DigestWindow, full_policy: Any) -> None:
    join = joining(one, part(7), full_policy, NOW + S)
    assert join.version == one.version
    after = joined(one, join)
    assert (after.state, after.closed_at, after.due_at) == (WindowState.CLOSED, NOW + S, NOW + S)
    assert after.version == one.version + 1
    assert not admits(replace(one, version=one.version + 1), join), "others have added meanwhile"
    unaware = replace(join, version=0)
    assert not admits(one, unaware), "a write that does not close fills no window"


def test_room_is_counted_in_events() -> None:
    assert room(window(), part(7, 5), POLICY) == 5
    assert room(window(events=998), part(7, 5), POLICY) == 2
    assert room(window(events=1000), part(7, 5), POLICY) == 0
    assert room(window(size=MAX_BYTES), part(7, 5), POLICY) == 0
    assert room(replace(window(), parts=("x",) * MAX_PARTS), part(7, 5), POLICY) == 0


def test_a_closed_window_is_due_at_once_if_it_closes_early() -> None:
    one = window()
    assert closed(one, NOW + 5, early=True).due_at == NOW + 5
    assert closed(one, NOW + 301 * S).due_at == one.due_at
    assert rules.cancelled(one, NOW + 5).state is WindowState.CANCELLED


def test_a_window_is_processed_or_postponed() -> None:
    done = rules.processed(closed(window(), NOW), NOW + 9, job="j", groups=2, duplicates=1, due_at=NOW + 99)
    assert (done.state, done.job, done.groups, done.duplicates) == (WindowState.PROCESSED, "j", 2, 1)
    assert (done.processed_at, done.due_at, done.version) == (NOW + 9, NOW + 99, 3)
    late = rules.postponed(closed(window(), NOW), NOW + 60 * S, "no_route")
    assert (late.due_at, late.failures, late.fault) == (NOW + 60 * S, 1, "no_route")
    assert rules.postponed(late, 0).failures == 1
