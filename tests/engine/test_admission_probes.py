import pytest

from shared.domain.jobs.outcomes import Throttled
from shared.domain.lanes.breaker import ENOUGH, PROBES, BreakerState
from shared.domain.lanes.pacing import pace
from shared.engine.lane.admission import CAREFUL, FULL, SHUT, Admission
from tests.engine.admitting import DOWN, REFUSED, TAKEN, Lane, call, end, room


@pytest.fixture
def lane() -> Lane:
    return Lane()


def probing(lane: Lane) -> Admission:
    gate = lane.gate()
    call(gate, REFUSED)
    lane.due()
    assert not gate.bars("me")
    assert gate.enter("me") == SHUT  # the probes are to be asked for
    assert gate.admit("me")
    return gate


def test_probes_are_made_one_after_the_other_by_the_lease_that_has_them(lane: Lane) -> None:
    gate = probing(lane)
    assert gate.enter("you") == SHUT
    assert not gate.admit("you")
    assert gate.bars("you")
    tickets = room(gate)
    assert len(tickets) == 1
    assert gate.enter("me") == FULL
    end(gate, tickets, TAKEN)
    assert lane.state() == "HALF_OPEN"
    call(gate, TAKEN)
    assert lane.state() == "CLOSED"
    assert len(room(gate, "you")) == CAREFUL


def test_a_first_probe_that_fails_is_the_last_one(lane: Lane) -> None:
    gate = probing(lane)
    call(gate, DOWN)
    assert gate.enter("me") == SHUT
    assert (lane.stored.state, lane.stored.delay) == (BreakerState.OPEN, 20_000)


def test_a_probe_that_fails_takes_one_success_back(lane: Lane) -> None:
    gate = probing(lane)
    call(gate, TAKEN)
    call(gate, DOWN)
    call(gate, TAKEN)
    assert gate.enter("me") == SHUT
    gate.hand_on("me")
    assert (lane.state(), lane.stored.successes, lane.stored.prober) == ("HALF_OPEN", 1, "")
    assert gate.admit("you")
    call(gate, TAKEN, "you")
    assert lane.state() == "CLOSED"


def test_an_account_refused_while_probing_is_the_last_probe(lane: Lane) -> None:
    gate = probing(lane)
    call(gate, TAKEN)
    call(gate, REFUSED)
    assert (lane.stored.state, lane.stored.delay) == (BreakerState.OPEN, 20_000)


def test_probes_of_leases_of_one_message_close_the_breaker_together(lane: Lane) -> None:
    gate, other = probing(lane), lane.gate()
    call(gate, TAKEN)
    gate.hand_on("me")
    other.see(lane.stored)
    assert not other.bars("you")
    assert other.admit("you")
    assert gate.enter("me") == SHUT
    call(other, TAKEN, "you")
    other.hand_on("you")
    assert (lane.state(), lane.stored.successes) == ("CLOSED", 0)


def test_probes_that_were_not_made_are_handed_on_and_those_that_said_nothing_are_not(lane: Lane) -> None:
    gate = probing(lane)
    gate.hand_on("me")
    assert lane.stored.prober == ""
    assert gate.admit("you")
    call(gate, [Throttled(1)], "you")
    gate.hand_on("you")
    assert lane.stored.prober == "you"


def test_probes_are_bounded_whatever_they_say(lane: Lane) -> None:
    gate = probing(lane)
    for _ in range(PROBES):
        call(gate, [Throttled(1)])
    assert gate.enter("me") == SHUT
    assert lane.state() == "HALF_OPEN"
    assert ENOUGH < PROBES


def test_only_one_process_gets_the_probes(lane: Lane) -> None:
    ours = probing(lane)
    theirs = lane.gate()
    theirs.see(lane.stored)
    assert theirs.bars("them")
    assert not theirs.admit("them")
    lane.due()
    assert theirs.admit("them")
    call(ours, TAKEN)
    call(ours, TAKEN)  # too late: they are not its probes any more
    assert lane.stored.prober == "them"
    assert ours.enter("me") == SHUT


def test_calls_of_before_say_nothing_about_now(lane: Lane) -> None:
    gate = lane.gate()
    hung = room(gate, most=2)
    call(gate, REFUSED)
    lane.due()
    assert gate.admit("me")
    assert gate.enter("me") == FULL  # they are still there
    end(gate, hung, DOWN)
    assert lane.state() == "HALF_OPEN"
    call(gate, TAKEN)
    call(gate, TAKEN)
    assert lane.state() == "CLOSED"


def test_a_window_of_probes_is_small_and_of_single_recipients(lane: Lane) -> None:
    usual = pace(1000, 1000)
    gate = lane.gate()
    assert gate.narrow(usual) == usual
    call(gate, REFUSED)
    narrow = gate.narrow(usual)
    assert (narrow.per_call, narrow.window, narrow.spacing) == (1, PROBES, usual.spacing)
    assert gate.narrow(pace(2, 1)).window == 1
