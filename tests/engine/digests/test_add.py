"""Events are added to the windows of their keys: each once, with as few calls as possible."""

from dataclasses import replace

import pytest

from shared.domain.digests.window import WindowState
from shared.engine.digests import add
from shared.engine.digests.add import NoPolicy, PostedEvent
from shared.ports import Retriable
from tests.domain.digests.examples import ACCOUNT, KEY, NOW, event
from tests.engine.digests.adding import AddingWorld, some
from tests.fakes.faults import When

S = 1000
HOT = ["windows.put_parts", "windows.join"]


def test_a_first_event_opens_a_window_and_hints_at_its_end() -> None:
    w = AddingWorld()
    (added,) = w.add(event())
    (one,) = w.all()
    assert (added.key, added.window_id, added.closes_at, added.accepted) == (KEY, one.id, NOW + 300 * S, 1)
    assert (one.state, one.number, one.prefix, one.policy_version) == (WindowState.OPEN, 1, "acme/", 1)
    assert w.hints.sent == [(one.id, NOW + 300 * S)]


def test_a_hot_key_costs_two_writes_and_no_read() -> None:
    w = AddingWorld()
    w.add(event())
    w.add(event(1))
    w.calls()
    for n in range(2, 9):
        w.add(event(n))
        assert w.calls() == HOT
    assert w.collected() == [[f"t{n}" for n in range(9)]]


def test_another_process_reads_the_window_once() -> None:
    w = AddingWorld()
    w.add(event())
    other = w.process()
    w.calls()
    other.add(ACCOUNT, [PostedEvent(KEY, event(1))], test=False)
    assert "windows.last" in w.calls()
    w.calls()
    other.add(ACCOUNT, [PostedEvent(KEY, event(2))], test=False)
    assert w.calls() == HOT


def test_nothing_is_stored_without_a_policy() -> None:
    w = AddingWorld()
    posted = [PostedEvent(KEY, event()), PostedEvent("other", event(1)), PostedEvent("another", event(2), urgent=True)]
    assert w.adder.add(ACCOUNT, posted, test=False) == NoPolicy(("other", "another"))
    assert (w.windows.items, w.windows.stored) == ({}, {})
    assert w.adder.add(ACCOUNT, posted[:1], test=True) == NoPolicy((KEY,))


def test_keys_and_kinds_of_keys_have_windows_of_their_own() -> None:
    w = AddingWorld()
    w.put(namespace=f"{ACCOUNT}#TEST")
    posted = [PostedEvent(f"acme/{n % 3}", event(n)) for n in range(9)]
    added = w.post(posted)
    assert [(x.key, x.accepted) for x in added] == [("acme/0", 3), ("acme/1", 3), ("acme/2", 3)]
    w.post(posted, test=True)
    assert len({x.id for x in w.windows.items.values()}) == 6
    assert w.collected("acme/1")[0] == ["t1", "t4", "t7"]


def test_the_next_window_is_opened_after_the_end() -> None:
    w = AddingWorld()
    w.add(event())
    w.clock.advance(300)
    w.add(event(1))
    one, two = w.all()
    assert (one.state, one.closed_at, two.state, two.number) == (WindowState.CLOSED, NOW + 300 * S, WindowState.OPEN, 2)
    assert w.collected() == [["t0"], ["t1"]]
    assert (one.id, NOW + 300 * S) in w.hints.sent[1:], "it is made at once"


def test_an_event_near_the_end_moves_it_and_a_stale_memory_does_not_move_it_back() -> None:
    w = AddingWorld()
    w.add(event())
    stale = w.process()
    stale.add(ACCOUNT, [PostedEvent(KEY, event(1))], test=False)
    w.clock.advance(280)
    (added,) = w.add(event(2))
    assert added.closes_at == NOW + 360 * S
    w.clock.advance(60)
    assert w.add(event(3))[0].closes_at == NOW + 420 * S
    w.clock.advance(5)
    stale.add(ACCOUNT, [PostedEvent(KEY, event(4))], test=False)
    (one,) = w.all()
    assert one.closes_at == NOW + 420 * S
    assert one.events == 5


def test_events_never_keep_a_window_open_beyond_its_greatest_age() -> None:
    w = AddingWorld()
    w.add(event())
    for n in range(1, 200):
        w.clock.advance(20)
        w.add(event(n))
    windows = w.all()
    assert len(windows) > 1
    assert all(x.closes_at <= x.opened_at + 1800 * S for x in windows)
    assert windows[0].closes_at == windows[0].opened_at + 1800 * S
    assert [t for x in w.collected() for t in x] == [f"t{n}" for n in range(200)]


def test_a_full_window_is_closed_by_the_write_that_fills_it() -> None:
    w = AddingWorld(max_events=3)
    for n in range(7):
        w.add(event(n))
    assert w.collected() == [["t0", "t1", "t2"], ["t3", "t4", "t5"], ["t6"]]
    assert [x.state for x in w.all()] == [WindowState.CLOSED, WindowState.CLOSED, WindowState.OPEN]
    assert [x for x in w.hints.sent if x[1] == NOW] == [(x.id, NOW) for x in w.all()[:2]]


def test_two_hundred_parts_fill_a_window() -> None:
    w = AddingWorld()
    for n in range(201):
        w.add(event(n))
    assert [len(x.parts) for x in w.all()] == [200, 1]


def test_a_request_that_exceeds_the_room_is_split() -> None:
    w = AddingWorld(max_events=10)
    w.add(*some(4))
    added = w.add(*some(28, 4))
    assert [x.accepted for x in added] == [6, 10, 10, 2]
    assert [x.window_id for x in added] == [x.id for x in w.all()]
    assert [t for x in w.collected() for t in x] == [f"t{n}" for n in range(32)]


def test_a_stale_memory_of_the_room_is_read_again() -> None:
    w = AddingWorld(max_events=10)
    w.add(*some(4))
    w.process().add(ACCOUNT, [PostedEvent(KEY, x) for x in some(4, 4)], test=False)
    assert [x.accepted for x in w.add(*some(4, 8))] == [2, 2]
    assert [x.events for x in w.all()] == [10, 2]


def test_a_window_without_room_for_the_bytes_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    w = AddingWorld()
    big = event(1, data={"task": "t1", "x": "y" * 3_000_000})
    w.add(big)
    w.add(replace(big, data={**big.data, "task": "t2"}))
    assert w.collected() == [["t1"], ["t2"]]
    assert [x.state for x in w.all()] == [WindowState.CLOSED, WindowState.OPEN]


def test_a_window_keeps_the_policy_that_it_was_opened_with() -> None:
    w = AddingWorld()
    w.add(event())
    w.put(version=2, window=10, near=0)
    assert w.add(event(1))[0].closes_at == NOW + 300 * S
    w.clock.advance(300)
    (added,) = w.add(event(2))
    assert added.closes_at == w.clock.ms + 10 * S
    assert [x.policy_version for x in w.all()] == [1, 2]


def test_a_new_policy_of_fewer_events_splits_what_opens_its_window() -> None:
    w = AddingWorld()
    w.add(event())
    w.put(version=2, max_events=2)
    w.clock.advance(300)
    assert [x.accepted for x in w.add(*some(5, 1))] == [2, 2, 1]


def test_a_deleted_policy_takes_no_events_once_its_window_is_over() -> None:
    w = AddingWorld()
    w.add(event())
    w.put(version=2, deleted=True)
    assert w.add(event(1))
    w.clock.advance(300)
    assert w.adder.add(ACCOUNT, [PostedEvent(KEY, event(2))], test=False) == NoPolicy((KEY,))


def test_a_cancelled_window_is_followed_by_the_next() -> None:
    w = AddingWorld()
    (added,) = w.add(event())
    w.windows.cancel(added.window_id, w.clock.ms)
    w.add(event(1))
    assert [x.state for x in w.all()] == [WindowState.CANCELLED, WindowState.OPEN]


def test_a_memory_of_a_removed_window_is_dropped() -> None:
    w = AddingWorld()
    (added,) = w.add(event())
    other = w.process()
    w.windows.close(added.window_id, w.clock.ms, early=True)
    other.add(ACCOUNT, [PostedEvent(KEY, event(1))], test=False)
    del w.windows.items[added.window_id]
    w.add(event(2))
    assert w.collected() == [["t1", "t2"]]


@pytest.mark.parametrize("when", list(When))
@pytest.mark.parametrize("call", ["windows.put_parts", "windows.join", "windows.open", "windows.close"])
def test_a_write_that_goes_wrong_adds_no_event_twice_by_itself(call: str, when: When) -> None:
    w = AddingWorld()
    if call == "windows.join":
        w.add(event(5))
    if call == "windows.close":
        w.add(event(5))
        w.clock.advance(300)
    w.tap.arm_at(call, when, lambda: Retriable("lost"))
    try:
        w.add(event(1))
    except Retriable:
        assert when is not When.REPEATED
        w.add(event(1))
    parts = [p for x in w.all() for p in x.parts]
    assert len(parts) == len(set(parts))
    held = [x.data["task"] for window in w.all() for x in w.events(window)]
    repeats = when is When.AFTER and call in ("windows.join", "windows.open")
    assert held.count("t1") == 1 + repeats, "the client's repeat, which has the same id"
    assert sum(x.state is WindowState.OPEN for x in w.all()) <= 1


def test_a_hint_that_is_lost_harms_nothing() -> None:
    w = AddingWorld()
    w.tap.arm_at("digest_hints.at", When.BEFORE, lambda: Retriable("lost"))
    assert w.add(event())


def test_adders_that_fail_each_other_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    w = AddingWorld()
    w.add(event())
    monkeypatch.setattr(add, "TRIES", 5)
    monkeypatch.setattr(w.windows, "join", lambda name, _join: (False, w.windows.items[name]))
    with pytest.raises(Retriable):
        w.add(event(1))


def test_urgent_events_have_closed_windows_of_their_own() -> None:
    w = AddingWorld()
    w.add(event())
    first, second = w.add(event(1), event(2), urgent=True)
    assert first.window_id != second.window_id
    one = w.windows.items[first.window_id]
    assert (one.state, one.events, one.number, first.closes_at) == (WindowState.CLOSED, 1, 0, NOW)
    assert set(w.hints.sent[1:]) == {(first.window_id, NOW), (second.window_id, NOW)}
    assert w.add(event(3))[0].window_id == w.windows.last(ACCOUNT, KEY).id  # type: ignore[union-attr]


def test_a_repeated_urgent_event_is_accepted_and_stored_once() -> None:
    w = AddingWorld()
    (first,) = w.add(event(1), urgent=True)
    w.clock.advance(3_599)
    (again,) = w.process().add(ACCOUNT, [PostedEvent(KEY, event(1), urgent=True)], test=False)  # type: ignore[misc]
    assert again == first
    w.clock.advance(1)
    (later,) = w.add(event(1), urgent=True)
    assert later.window_id != first.window_id
    unnamed = [w.add(event(9, id=""), urgent=True)[0].window_id for _ in range(2)]
    assert len(set(unnamed)) == 2


def test_urgent_events_have_the_present_policy() -> None:
    w = AddingWorld()
    w.add(event())
    w.put(version=2)
    (added,) = w.add(event(1), urgent=True)
    assert w.windows.items[added.window_id].policy_version == 2


def test_parts_are_kept_for_the_policys_time() -> None:
    w = AddingWorld(max_age=600, retention=3 * 86_400)
    w.add(event())
    (held,) = w.windows.stored.values()
    assert held.ttl == NOW // S + 600 + 3 * 86_400


def test_a_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(add, "REMEMBERED", 3)
    w = AddingWorld()
    for n in range(10):
        w.add(event(n), key=f"acme/{n}")
    assert len(w.adder._open) <= 3
