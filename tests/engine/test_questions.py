"""A provider that can be asked without a message is asked before messages are risked."""

import pytest

from shared.domain.jobs.outcomes import NotStarted, Outcome, Unknown
from shared.domain.lanes.breaker import TRY_ANYWAY, BreakerState
from shared.domain.lanes.health import IDLE
from shared.engine.lane.admission import BETWEEN, CAREFUL, FULL, SHUT, SILENCE, SLOW, Admission
from shared.ports import Retriable
from tests.engine.admitting import DOWN, REFUSED, TAKEN, Lane, call, end, room
from tests.fakes.faults import When
from tests.fakes.provider import AskedProvider

CLOSED: list[Outcome] = [Unknown("connection_closed")]


@pytest.fixture
def lane() -> Lane:
    return Lane()


def made(lane: Lane, silence: str) -> tuple[Admission, AskedProvider]:
    provider = lane.asked(lambda: silence)
    return lane.gate(provider), provider


# At the start of an outage


def test_one_call_begins_until_one_succeeds(lane: Lane) -> None:
    gate, provider = made(lane, "")
    first = room(gate)
    assert len(first) == 1
    end(gate, first, TAKEN)
    assert len(room(gate)) > CAREFUL
    assert provider.asked == []


@pytest.mark.parametrize("failed", [DOWN, CLOSED])
def test_a_first_call_that_fails_and_questions_without_an_answer_open_the_breaker(
    lane: Lane, failed: list[Outcome]
) -> None:
    gate, provider = made(lane, "connection_refused")
    call(gate, failed)
    assert gate.enter("me") == FULL
    began = lane.clock.now()
    gate.wait("me", lane.rest)
    assert len(provider.asked) == SILENCE
    assert lane.clock.now() - began == pytest.approx((SILENCE - 1) * BETWEEN)
    assert gate.enter("me") == SHUT
    assert gate.bars("me")
    assert (lane.state(), lane.stored.failures) == ("OPEN", 1)
    assert lane.stored.reason in ("http_503", "connection_closed")


def test_an_answer_lets_calls_go_on_as_if_there_were_no_questions(lane: Lane) -> None:
    gate, provider = made(lane, "")
    call(gate, CLOSED)
    gate.wait("me", lane.rest)
    assert len(room(gate)) == CAREFUL
    assert len(provider.asked) == 1
    assert lane.tap.calls == []


def test_one_answer_in_three_is_enough(lane: Lane) -> None:
    said = iter(["read_timeout", "http_502", ""])
    gate = lane.gate(lane.asked(lambda: next(said)))
    call(gate, CLOSED)
    gate.wait("me", lane.rest)
    assert gate.enter("me") > 0
    assert lane.tap.calls == []


def test_a_provider_that_has_answered_is_not_asked_again_for_a_while(lane: Lane) -> None:
    gate, provider = made(lane, "")
    call(gate, TAKEN)
    call(gate, DOWN)
    gate.wait("me", lane.rest)
    call(gate, DOWN)
    end(gate, room(gate, most=1), [NotStarted()])
    assert len(provider.asked) == 1
    lane.clock.advance(IDLE + 0.1)
    call(gate, DOWN)
    gate.wait("me", lane.rest)
    assert len(provider.asked) == 2


def test_a_first_call_that_hangs_is_reason_enough_to_ask(lane: Lane) -> None:
    gate, provider = made(lane, "connect_timeout")
    hung = room(gate)
    assert gate.enter("you") == FULL
    began = lane.clock.now()
    gate.wait("you", lane.rest)
    assert provider.asked[0] - began == pytest.approx(SLOW, abs=0.1)
    assert (lane.state(), lane.stored.reason) == ("OPEN", "connect_timeout")
    end(gate, hung, CLOSED)
    assert lane.stored.version == 1


def test_a_success_ends_the_doubt(lane: Lane) -> None:
    gate, provider = made(lane, "http_500")
    call(gate, TAKEN)
    early, late = room(gate, most=2)
    end(gate, [early], CLOSED)
    assert gate.enter("me") == FULL
    end(gate, [late], TAKEN)
    assert gate.enter("me") > 0
    assert provider.asked == []


def test_a_fault_of_an_adapter_says_nothing(lane: Lane) -> None:
    gate, provider = made(lane, "")
    provider.silence = lambda: str(1 // 0)
    call(gate, CLOSED)
    gate.wait("me", lane.rest)
    assert gate.enter("me") > 0
    assert lane.tap.calls == []


# Probes


def due(lane: Lane, silence: str) -> tuple[Admission, AskedProvider]:
    gate, provider = made(lane, silence)
    call(gate, REFUSED)
    lane.due()
    return gate, provider


def test_messages_probe_only_after_an_answer(lane: Lane) -> None:
    gate, provider = due(lane, "connection_refused")
    assert not gate.bars("me")
    assert not gate.admit("me")
    assert (lane.state(), lane.stored.reason, lane.stored.delay) == ("OPEN", "connection_refused", 10_000)
    provider.silence = str
    lane.due()
    assert gate.admit("me")
    assert lane.state() == "HALF_OPEN"
    call(gate, TAKEN)
    call(gate, TAKEN)
    assert lane.state() == "CLOSED"
    assert len(provider.asked) == 2


def test_a_probe_that_fails_after_an_answer_waits_twice_as_long(lane: Lane) -> None:
    gate, _ = due(lane, "")
    assert gate.admit("me")
    call(gate, CLOSED)
    assert (lane.stored.state, lane.stored.delay) == (BreakerState.OPEN, 20_000)


def test_a_message_probes_in_the_end_though_questions_have_no_answer(lane: Lane) -> None:
    gate, provider = due(lane, "http_500")
    lane.clock.advance(TRY_ANYWAY / 1000)
    assert gate.admit("me")
    assert provider.asked == []
    call(gate, DOWN)
    lane.due()
    assert not gate.admit("me")


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_no_message_probes_if_that_silence_could_not_be_written(lane: Lane, when: When) -> None:
    gate, provider = due(lane, "http_500")

    def silence() -> str:
        lane.tap.arm_at("breakers.swap", when, Retriable)
        return "http_500"

    provider.silence = silence
    assert not gate.admit("me")
    lane.clock.advance(31)
    provider.silence = str
    assert gate.admit("me")


def test_leases_that_continue_the_probes_do_not_ask_again(lane: Lane) -> None:
    gate, provider = due(lane, "")
    assert gate.admit("me")
    call(gate, TAKEN)
    gate.hand_on("me")
    other = lane.gate(provider)
    other.see(lane.stored)
    assert other.admit("you")
    assert len(provider.asked) == 1
