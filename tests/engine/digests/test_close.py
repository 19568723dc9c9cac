"""Windows close at their time: by a hint, else by the walk that the sweeper has made, which nothing holds up."""

from contextlib import suppress

import pytest

from shared.domain.digests.window import WindowState
from shared.domain.times import DAY_MS
from shared.engine.digests.close import LATE_MS, MAX_PAUSE_MS, MIN_PAUSE_MS
from shared.engine.digests.hints import AnnouncedHints
from shared.ports import Retriable
from tests.engine.digests.hub import KEY, DigestHub, event
from tests.fakes.faults import Crash

MINUTE = 60


def made(hub: DigestHub, name: str) -> bool:
    return hub.window(name).state is WindowState.PROCESSED


# Hints


def test_a_hint_makes_a_window_at_its_time() -> None:
    hub = DigestHub()
    name = hub.add(event("a", "ann"))
    hub.close(299)
    assert hub.window(name).state is WindowState.OPEN
    hub.close(1)
    assert made(hub, name)


def test_a_hint_that_is_early_is_sent_again() -> None:
    hub = DigestHub(window=180)
    name = hub.add(event("a", "ann"))
    hub.clock.advance(160)
    hub.add(event("b", "ann"))
    end = hub.window(name).closes_at
    assert end == hub.window(name).opened_at + 240_000
    hub.close(20)
    assert hub.window(name).state is WindowState.OPEN
    assert [m.due * 1000 for m in hub.queue.sent] == [end - 60_000, end]
    hub.close(60)
    hub.send()
    assert hub.mails() == {"ann": [("a", "b")]}


def test_a_window_of_hours_is_announced_and_closes_within_two_seconds() -> None:
    hub = DigestHub(window=3_600, max_age=3_600)
    hub.clock.advance(0.3)
    name = hub.add(event("a", "ann"))
    end = hub.window(name).closes_at
    assert (hub.queue.sent, hub.due_queue.sent, len(hub.scheduler.set_for)) == ([], [], 1)
    hub.clock.advance(3_600 - 180)
    hub.live(190)
    assert 0 <= hub.window(name).processed_at - end <= 2_000
    assert (hub.overdue, hub.scheduler.set_for) == ([], {})
    assert len(hub.queue.sent) == 2, "its minute, and its hint"


def test_all_windows_of_a_minute_have_one_schedule_and_each_its_second() -> None:
    hub = DigestHub(window=3_600, max_age=3_600)
    hub.clock.advance(60 - hub.clock.now() % 60)
    names = []
    for n in range(60):
        names.append(hub.add(event("a", "ann"), key=f"acme/{n}"))
        hub.clock.advance(0.9)
    assert len(hub.scheduler.set_for) == 1
    assert [call for call in hub.tap.calls if call.startswith("scheduler")] == ["scheduler.set_once"]
    hub.clock.advance(3_600 - 240)
    hub.live(240)
    assert all(0 <= hub.window(x).processed_at - hub.window(x).closes_at <= 2_000 for x in names)


def test_a_process_announces_a_minute_once_and_another_s_is_no_second_schedule() -> None:
    hub = DigestHub(window=3_600, max_age=3_600)
    for _ in range(3):
        other = AnnouncedHints(hub.queue, hub.announcer(hub.clock), hub.clock)
        for n in range(100):
            other.opened(f"{n:032x}-1", hub.clock.ms + 3_600_000)
    assert len(hub.scheduler.set_for) == 1
    assert [call for call in hub.tap.calls if call.startswith("scheduler")] == ["scheduler.set_once"] * 3


@pytest.mark.parametrize("lost", ["schedule", "minute", "hint"])
def test_a_schedule_or_a_message_that_is_lost_costs_two_minutes_at_most(lost: str) -> None:
    hub = DigestHub(window=600, max_age=600)
    name = hub.add(event("a", "ann"))
    end = hub.window(name).closes_at
    if lost == "schedule":
        hub.scheduler.set_for.clear()
        hub.scheduler.bodies.clear()
    hub.clock.advance(600 - 120)
    while hub.clock.ms < end - 1_000:
        hub.clock.advance(1)
        hub.scheduler.fire(hub.clock.now(), hub.due_queue)
        if lost == "minute":
            hub.due_queue.lose()
        hub.serve()
        if lost == "hint":
            hub.queue.lose()
    assert hub.window(name).state is WindowState.OPEN
    hub.live(120)
    assert end + 2_000 < hub.window(name).processed_at <= end + 120_000
    assert hub.overdue


def test_a_crash_between_the_window_and_its_schedule_costs_two_minutes_at_most() -> None:
    hub = DigestHub(window=600, max_age=600)
    hub.tap.arm_at("scheduler.set_once", error=Crash)
    with pytest.raises(Crash):
        hub.add(event("a", "ann"))
    (name,) = hub.windows.items
    hub.reboot()
    hub.live(720)
    assert 0 < hub.window(name).processed_at - hub.window(name).closes_at <= 120_000


def test_a_window_whose_minute_cannot_be_announced_has_a_hint_of_its_own() -> None:
    hub = DigestHub(window=1_200, max_age=1_200)
    hub.tap.arm_at("scheduler.set_once", error=lambda: Retriable("ThrottlingException"))
    names = [hub.add(event("a", "ann"), key=f"acme/{n}") for n in range(2)]
    assert [call for call in hub.tap.calls if call.startswith("scheduler")] == ["scheduler.set_once"], (
        "no request waits"
    )
    assert hub.scheduler.set_for == {}
    hub.live(1_203)
    assert all(0 <= hub.window(x).processed_at - hub.window(x).closes_at <= 2_000 for x in names)
    hub.add(event("b", "ann"), key="acme/later")
    assert len(hub.scheduler.set_for) == 1, "it is tried again"


def test_a_window_that_is_extended_far_is_closed_at_its_new_end() -> None:
    hub = DigestHub(window=600, max_age=7_200, near=60, extend=3_000)
    name = hub.add(event("a", "ann"))
    hub.live(560)
    hub.add(event("b", "ann"))
    end = hub.window(name).closes_at
    assert end == hub.window(name).opened_at + 3_600_000
    hub.clock.advance(40)
    for _ in range(4):
        hub.serve()
        hub.clock.advance(900)
    hub.serve()
    assert end <= hub.window(name).processed_at <= end + 600_000
    assert hub.window(name).state is WindowState.PROCESSED


def test_nothing_wakes_the_function_if_nothing_is_due() -> None:
    hub = DigestHub(window=7_200, max_age=7_200)
    hub.add(event("a", "ann"))
    hub.live(3_600)
    assert (hub.overdue, hub.queue.sent, hub.due_queue.sent) == ([], [], [])


def test_a_hint_for_what_is_made_or_cancelled_or_gone_does_nothing() -> None:
    hub = DigestHub()
    name, other = hub.add(event("a", "ann")), hub.add(event("b", "ann"), key="acme/other")
    hub.windows.cancel(other, hub.clock.ms)
    hub.close()
    jobs = dict(hub.records.jobs)  # type: ignore[attr-defined]
    assert len(jobs) == 1
    for again in (name, other, "0" * 32 + "-9"):
        hub.hints.at(again, 0)
    hub.serve()
    assert hub.records.jobs == jobs  # type: ignore[attr-defined]


def test_a_hint_that_cannot_be_sent_is_no_fault() -> None:
    hub = DigestHub(window=120)
    hub.tap.arm_at("queue.send", error=lambda: Retriable("queue"))
    name = hub.add(event("a", "ann"))
    assert hub.queue.waiting == []
    hub.clock.advance(120 + MINUTE)
    hub.minute()
    assert made(hub, name)


def test_an_urgent_event_is_made_at_once_beside_the_open_window() -> None:
    hub = DigestHub()
    name = hub.add(event("a", "ann"))
    hub.urgent(event("now", "ann"))
    hub.serve()
    hub.send()
    assert hub.mails() == {"ann": [("now",)]}
    assert hub.window(name).state is WindowState.OPEN


# Every minute


@pytest.mark.parametrize("full", [False, True])
def test_the_walk_makes_what_no_hint_has(full: bool) -> None:  # noqa: FBT001 - of the test
    hub = DigestHub(max_events=2)
    name = hub.add(event("a", "ann"))
    if full:
        hub.add(event("b", "ann"))
        assert hub.window(name).state is WindowState.CLOSED
    else:
        hub.clock.advance(300)
    while hub.queue.receive() is not None:
        pass  # lost
    hub.minute()
    assert not made(hub, name), "its hint may be on its way"
    hub.clock.advance(MINUTE)
    hub.minute()
    assert made(hub, name)
    assert hub.late == []


def test_the_walk_leaves_windows_alone_whose_end_has_moved() -> None:
    hub = DigestHub()
    name = hub.add(event("a", "ann"))
    hub.clock.advance(280)
    hub.add(event("b", "ann"))
    hub.clock.advance(50)
    hub.minute()
    assert hub.window(name).state is WindowState.OPEN


def test_what_cannot_be_made_holds_nothing_up_and_is_heard_of() -> None:
    hub = DigestHub()
    bad = hub.add(event("a", "ann"), key="acme/bad")
    good = hub.add(event("b", "ann"))
    hub.windows.stored.pop("part0")
    hub.clock.advance(300 + MINUTE)
    hub.minute()
    assert made(hub, good)
    assert (hub.window(bad).state, hub.window(bad).fault) == (WindowState.CLOSED, "events_gone")
    assert hub.late == []
    tries = 0
    for _ in range(20):
        hub.clock.advance(MINUTE)
        before = hub.window(bad).due_at
        hub.minute()
        tries += hub.window(bad).due_at != before
    assert bad in hub.late
    assert 5 <= tries <= 15
    assert MIN_PAUSE_MS <= hub.window(bad).due_at - hub.clock.ms <= MAX_PAUSE_MS


@pytest.mark.slow
def test_a_late_window_is_heard_of_in_every_five_minutes() -> None:
    hub = DigestHub()
    hub.add(event("a", "ann"))
    hub.windows.stored.clear()
    hub.clock.advance(300 + LATE_MS / 1000)
    for _ in range(100):
        hub.late.clear()
        for _ in range(5):
            hub.clock.advance(MINUTE)
            hub.minute()
        assert hub.late


def test_a_defect_in_one_window_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = DigestHub()
    bad, good = hub.add(event("a", "ann"), key="acme/bad"), hub.add(event("b", "ann"))
    make = hub.maker.make

    def failing(window: object) -> None:
        if getattr(window, "id", "") == bad:
            raise ZeroDivisionError
        make(window)  # type: ignore[arg-type]

    monkeypatch.setattr(hub.maker, "make", failing)
    hub.clock.advance(300 + MINUTE)
    ended = False
    with suppress(ZeroDivisionError):
        hub.minute()
        ended = True
    assert ended
    assert made(hub, good)
    assert hub.window(bad).fault == "internal_fault"


def test_a_window_that_kills_its_function_does_not_do_so_in_the_next_run(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = DigestHub()
    names = [hub.add(event("a", "ann"), key=f"acme/{n}") for n in range(8)]
    killer = min(names, key=lambda x: (hub.window(x).due_at, x))

    def deadly() -> None:
        make = hub.maker.make

        def killing(window: object) -> None:
            if getattr(window, "id", "") == killer:
                raise Crash
            make(window)  # type: ignore[arg-type]

        monkeypatch.setattr(hub.maker, "make", killing)

    hub.clock.advance(300 + MINUTE)
    deadly()
    with pytest.raises(Crash):
        hub.minute()
    hub.reboot()
    deadly()
    with suppress(Crash):
        hub.minute()
    assert all(made(hub, x) for x in names if x != killer)


def test_a_fault_of_the_stores_is_the_run_s() -> None:
    hub = DigestHub()
    hub.add(event("a", "ann"))
    hub.clock.advance(300 + MINUTE)
    hub.tap.arm_at("windows.parts", error=lambda: Retriable("store"))
    with pytest.raises(Retriable):
        hub.minute()


def test_events_of_what_cannot_be_made_are_kept_for_longer_each_day() -> None:
    hub = DigestHub(retention=2 * 86_400)
    hub.add(event("e", "ann", id="E" * 22))
    hub.close()
    name = hub.add(event("a", "ann", id="A" * 22))
    hub.world.standings.removed.add("digest@example.com")
    hub.clock.advance(300)
    for _ in range(10 * 24):
        hub.clock.advance(3_600)
        hub.minute()
        now = hub.clock.now()
        assert min(x.ttl for x in hub.windows.stored.values()) > now + 86_400, "those before it, too, for their ids"
    assert hub.window(name).fault == "from_not_allowed"
    hub.world.standings.removed.clear()
    hub.clock.advance(600)
    hub.minute()
    assert made(hub, name)
    assert not any(call == "windows.keep_parts" for call in hub.tap.calls[-8:])


def test_events_are_kept_when_the_function_was_away_for_days() -> None:
    hub = DigestHub(retention=2 * 86_400)
    hub.add(event("a", "ann"))
    hub.policies.versions.clear()
    hub.clock.advance(300 + 86_400 * 1.9)
    hub.minute()
    assert min(x.ttl for x in hub.windows.stored.values()) > hub.clock.now() + 86_400


# Cleaning


def old(hub: DigestHub, days: float) -> None:
    hub.clock.advance(days * DAY_MS / 1000)
    hub.minute()


def test_a_window_is_removed_after_its_retention_unless_it_is_the_last() -> None:
    hub = DigestHub()
    first = hub.add(event("a", "ann"))
    hub.close()
    last = hub.add(event("b", "ann"))
    hub.close()
    urgent = hub.urgent(event("u", "ann"))
    hub.serve()
    old(hub, 6.9)
    assert set(hub.windows.items) == {first, last, urgent}
    old(hub, 0.2)
    assert set(hub.windows.items) == {last}
    old(hub, 30)
    third = hub.add(event("c", "ann"))
    assert hub.window(third).number == 3, "no number is given twice"
    hub.close()
    old(hub, 7.1)
    assert set(hub.windows.items) == {third}


def test_a_window_is_kept_until_its_retention_is_over() -> None:
    hub = DigestHub()
    first = hub.add(event("a", "ann"))
    hub.close()
    hub.add(event("b", "ann"))
    hub.close()
    hub.cleaner.look(first)
    assert first in hub.windows.items, "the index named it too early"
    hub.clock.advance(hub.policy.retention)
    hub.cleaner.look(first)
    assert first not in hub.windows.items


def test_a_window_is_kept_while_a_later_one_looks_back_at_it() -> None:
    hub = DigestHub()
    first = hub.add(event("a", "ann", id="A" * 22))
    hub.close()
    bad = hub.add(event("b", "ann", id="B" * 22))
    gone = hub.windows.stored.pop("part1")
    hub.close()
    third = hub.add(event("c", "ann"))
    hub.close()
    old(hub, 20)
    assert set(hub.windows.items) == {first, bad, third}
    hub.windows.stored[gone.id] = gone
    hub.clock.advance(600)
    hub.minute()
    assert made(hub, bad)
    old(hub, 8)
    assert set(hub.windows.items) == {third}


def test_a_window_far_before_one_that_is_stuck_is_removed() -> None:
    hub = DigestHub()
    first = hub.add(event("a", "ann"))
    hub.close()
    hub.clock.advance(3_700)
    stuck = hub.add(event("b", "ann"))
    hub.windows.stored.pop("part1")
    hub.clock.advance(300)
    old(hub, 8)
    assert first not in hub.windows.items
    assert hub.window(stuck).state is WindowState.CLOSED


def test_cancelled_windows_are_removed_too() -> None:
    hub = DigestHub()
    name = hub.add(event("a", "ann"))
    hub.windows.cancel(name, hub.clock.ms)
    last = hub.add(event("b", "ann"), key=KEY)
    hub.close()
    old(hub, 8)
    assert set(hub.windows.items) == {last}
