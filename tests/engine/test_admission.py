import pytest

from shared.domain.jobs.outcomes import NotStarted, Outcome, Throttled, Unknown
from shared.domain.lanes.breaker import Breaker, BreakerState
from shared.domain.lanes.health import FIRST, IDLE, RUN, SPAN
from shared.domain.lanes.pacing import pace
from shared.engine.lane.admission import BOUND, CAREFUL, FULL, SHUT, Admission
from shared.engine.lane.breaker_cache import KEPT
from shared.ports import Retriable
from tests.engine.admitting import DOWN, REFUSED, SAID, TAKEN, Lane, call, end, room
from tests.fakes.faults import When


@pytest.fixture
def lane() -> Lane:
    return Lane()


def test_few_calls_begin_until_one_succeeds_and_many_after_it(lane: Lane) -> None:
    gate = lane.gate()
    first = room(gate)
    assert len(first) == CAREFUL
    assert gate.enter("me") == FULL
    end(gate, first[:1], TAKEN)
    assert len(room(gate)) == BOUND - CAREFUL + 1


def test_the_bound_doubles_while_more_is_wanted_and_only_then(lane: Lane) -> None:
    gate = lane.gate()
    call(gate, TAKEN)
    for _ in range(5):
        call(gate, TAKEN)
    tickets = room(gate)
    assert len(tickets) == BOUND
    end(gate, tickets[:1], TAKEN)
    assert len(room(gate)) == BOUND + 1


def test_failures_in_a_row_make_careful_and_a_success_forgets_them(lane: Lane) -> None:
    gate = lane.gate()
    call(gate, TAKEN)
    for _ in range(FIRST - 1):
        call(gate, DOWN)
    tickets = room(gate)
    assert len(tickets) == BOUND
    end(gate, tickets, [NotStarted()])
    call(gate, DOWN)
    tickets = room(gate)
    assert len(tickets) == CAREFUL
    end(gate, tickets[:1], TAKEN)
    assert len(room(gate)) > CAREFUL


def test_a_lane_that_was_idle_is_careful_again(lane: Lane) -> None:
    gate = lane.gate()
    call(gate, TAKEN)
    lane.clock.advance(IDLE + 0.1)
    assert len(room(gate)) == CAREFUL


@pytest.mark.parametrize("said", [[Throttled(1)], [NotStarted()], []])
def test_what_says_nothing_changes_nothing(lane: Lane, said: list[Outcome]) -> None:
    gate = lane.gate()
    for _ in range(3 * FIRST):
        call(gate, said)
    assert lane.tap.calls == []
    assert len(room(gate)) == CAREFUL


@pytest.mark.parametrize(("proven", "works", "row"), [(False, False, FIRST), (True, False, RUN), (False, True, RUN)])
def test_failures_in_a_row_shut_the_gate_and_open_the_breaker_once(
    lane: Lane, *, proven: bool, works: bool, row: int
) -> None:
    gate = lane.gate(works=works)
    if proven:
        call(gate, DOWN)
        call(gate, TAKEN)
    for _ in range(row - 1):
        call(gate, DOWN)
    assert lane.stored == Breaker("one")
    late = room(gate, most=3)
    call(gate, [Unknown("read_timeout")])
    end(gate, late, DOWN)
    assert gate.enter("me") == SHUT
    assert gate.bars("me")
    assert (lane.stored.state, lane.stored.reason, lane.stored.failures) == (BreakerState.OPEN, "read_timeout", row)
    assert lane.tap.calls == ["breakers.swap"]


def test_calls_that_hang_and_end_together_are_not_failures_in_a_row(lane: Lane) -> None:
    gate = lane.gate()
    call(gate, TAKEN)
    hung = room(gate, most=2 * RUN)
    for _ in range(3 * RUN):
        call(gate, TAKEN)
    end(gate, hung, [Unknown("read_timeout")])
    assert lane.stored == Breaker("one")
    assert gate.enter("me") > 0


def test_half_of_forty_calls_open_the_breaker_and_less_do_not(lane: Lane) -> None:
    gate = lane.gate()
    for _ in range(8):
        for _ in range(2):
            call(gate, DOWN)
        for _ in range(3):
            call(gate, TAKEN)
    assert lane.stored == Breaker("one")  # 16 of 40
    for _ in range(8):
        call(gate, DOWN)
    assert (lane.stored.state, lane.stored.failures) == (BreakerState.OPEN, 24)


def test_a_provider_that_fails_at_times_is_called_more_slowly(lane: Lane) -> None:
    usual = pace(150, 1)
    gate = lane.gate()
    for _ in range(15):
        call(gate, TAKEN)
        call(gate, TAKEN)
        call(gate, DOWN)
    eased = gate.narrow(usual)
    assert usual.slots * 0.8 < eased.slots < usual.slots * 0.85
    assert eased.window == int(usual.window * eased.slots / usual.slots)
    assert gate.narrow(pace(0.5, 1)).window == 1
    lane.clock.advance(SPAN + 1)
    assert gate.narrow(usual) == usual


def test_a_refused_account_shuts_the_gate_at_once(lane: Lane) -> None:
    gate = lane.gate()
    call(gate, REFUSED)
    assert gate.enter("me") == SHUT
    assert (lane.stored.state, lane.stored.failures) == (BreakerState.OPEN, 1)


def test_words_alone_refuse_our_account_only_after_messages_of_two(lane: Lane) -> None:
    gate = lane.gate()
    for _ in range(FIRST - 1):
        call(gate, SAID, account="mallory")
    assert lane.state() == "CLOSED"
    call(gate, SAID, account="ann")
    assert gate.enter("me") == SHUT
    assert (lane.stored.state, lane.stored.failures) == (BreakerState.OPEN, FIRST)


def test_words_met_by_two_accounts_open_the_breaker_beside_calls_that_say_nothing(lane: Lane) -> None:
    gate = lane.gate()
    call(gate, SAID, account="mallory")
    call(gate, [NotStarted()])
    call(gate, SAID, account="ann")
    assert (lane.stored.state, lane.stored.reason, lane.stored.failures) == (BreakerState.OPEN, "relay_denied", 1)


def test_words_are_forgotten_once_a_later_call_succeeds_or_the_breaker_has_changed(lane: Lane) -> None:
    gate = lane.gate()
    call(gate, SAID, account="mallory")
    call(gate, TAKEN)
    call(gate, SAID, account="ann")
    assert lane.state() == "CLOSED"
    call(gate, REFUSED)
    lane.due()
    assert gate.admit("me")
    for outcomes in (TAKEN, TAKEN):
        call(gate, outcomes)
    assert lane.state() == "CLOSED"
    call(gate, SAID, account="mallory")
    assert lane.state() == "CLOSED"


def test_words_of_a_call_that_began_before_one_that_succeeded_count(lane: Lane) -> None:
    gate = lane.gate()
    early, late = room(gate)[:2]
    gate.leave(late, "me", SAID, account="mallory")
    gate.leave(early, "me", TAKEN)
    call(gate, SAID, account="ann")
    assert lane.state() == "OPEN"


def test_what_another_process_opened_shuts_this_gate_when_it_is_seen(lane: Lane) -> None:
    theirs, ours = lane.gate(), lane.gate()
    call(theirs, REFUSED)
    assert ours.enter("me") > 0
    ours.see(lane.stored)
    assert ours.enter("me") == SHUT
    assert ours.bars("me")
    ours.see(Breaker("one"))  # an older read
    assert ours.enter("me") == SHUT


def test_two_processes_that_open_it_agree(lane: Lane) -> None:
    theirs, ours = lane.gate(), lane.gate()
    call(theirs, REFUSED)
    for _ in range(FIRST):
        call(ours, DOWN)
    assert lane.stored.reason == "unauthorized"
    assert lane.stored.version == 1
    assert ours.bars("me")


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_a_failed_write_is_repeated_by_the_next_caller(lane: Lane, when: When) -> None:
    gate = lane.gate()
    lane.tap.arm_at("breakers.swap", when, Retriable)
    call(gate, REFUSED)
    assert gate.enter("me") == SHUT
    assert not gate.admit("me")
    assert gate.bars("me")
    assert (lane.stored.state, lane.stored.version) == (BreakerState.OPEN, 1)
    lane.due()
    assert not gate.bars("me")
    assert gate.admit("me")


def test_a_gate_waits_for_room_and_no_longer_than_it_must(lane: Lane) -> None:
    gate = lane.gate()

    def hold() -> float:
        tickets = room(gate)
        lane.clock.sleep(0.3)
        end(gate, tickets, TAKEN)
        return lane.clock.now()

    def wait() -> float:
        lane.clock.sleep(0.01)
        gate.wait("me", lane.rest)
        return lane.clock.now()

    held, waited = lane.clock.run(hold, wait)
    assert isinstance(held, float)
    assert isinstance(waited, float)
    assert held <= waited < held + 0.02


# What a process knows


def test_breakers_are_read_together_and_believed_for_a_while(lane: Lane) -> None:
    breaker_cache = lane.breaker_cache()
    route = ["one", "two", "three"]
    assert all(breaker_cache.usable(c, route) for c in route)
    assert lane.tap.calls == ["breakers.read"]
    lane.clock.advance(KEPT + 0.1)
    assert breaker_cache.open_to(route) == route
    assert lane.tap.calls == ["breakers.read"] * 2


def test_what_cannot_be_read_is_as_it_was_known(lane: Lane) -> None:
    breaker_cache = lane.breaker_cache()
    breaker_cache.open("one", "http_503", 5)
    lane.clock.advance(KEPT + 0.1)
    lane.tap.arm_at("breakers.read", error=Retriable)
    assert breaker_cache.open_to(["one", "two"]) == ["two"]
    assert lane.tap.fired == 1


def test_an_older_read_does_not_overwrite_what_is_known(lane: Lane) -> None:
    breaker_cache = lane.breaker_cache()
    opened = breaker_cache.open("one", "http_503", 5)
    assert breaker_cache.learn(Breaker("one")) == opened
    assert not breaker_cache.usable("one")


# Keys


class Key:
    """A secret that can be read again."""

    def __init__(self, *, changed: bool) -> None:
        self.changed = changed
        self.reads = 0

    def __call__(self) -> bool:
        self.reads += 1
        changed, self.changed = self.changed, False
        return changed


def test_a_key_that_was_replaced_opens_nothing(lane: Lane) -> None:
    key = Key(changed=True)
    gate = Admission("one", lane.breaker_cache(), lane.clock, key)
    call(gate, TAKEN)
    old = room(gate, most=7)
    end(gate, old, REFUSED)
    assert (key.reads, lane.stored) == (1, Breaker("one"))
    call(gate, TAKEN)
    assert lane.tap.calls == []


def test_a_key_that_is_refused_and_the_same_opens_the_breaker(lane: Lane) -> None:
    key = Key(changed=False)
    gate = Admission("one", lane.breaker_cache(), lane.clock, key)
    call(gate, REFUSED)
    assert (key.reads, lane.state()) == (1, "OPEN")


def test_a_key_that_is_replaced_while_the_breaker_is_open_is_found_by_the_next_probe(lane: Lane) -> None:
    key = Key(changed=False)
    gate = Admission("one", lane.breaker_cache(), lane.clock, key)
    call(gate, REFUSED)
    lane.due()
    assert gate.admit("me")
    key.changed = True
    call(gate, REFUSED)
    assert lane.state() == "HALF_OPEN"
    gate.hand_on("me")
    assert gate.admit("you")
    call(gate, TAKEN, "you")
    call(gate, TAKEN, "you")
    assert lane.state() == "CLOSED"
