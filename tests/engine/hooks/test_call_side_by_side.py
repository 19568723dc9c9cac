"""Posts of one worker side by side, and faults of ours between them."""

import pytest

from shared.domain.hooks.delivery import FAULT, DeliveryState
from shared.domain.hooks.work import AT_ONCE, MOST_AT_ONCE
from shared.ports import HookAnswer, HookUnreachable, Retriable
from tests.domain.hooks.examples import HOOK
from tests.engine.hooks.calling import Caller
from tests.fakes.hooks.outside import CallHint, HookPost

ANSWER_S = 0.05


class Receiver:
    """An endpoint that takes its time.

    Attributes:
        most: posts that were under way at once.
        ended: delivery's id → when it was answered.
    """

    def __init__(self, caller: Caller) -> None:
        self._clock = caller.clock
        self._now = 0
        self.most = 0
        self.slow: dict[str, float] = {}
        self.statuses: dict[str, int] = {}
        self.ended: dict[str, float] = {}
        caller.client.answer = self._answer

    def _answer(self, post: HookPost) -> HookAnswer:
        name = post.headers["webhook-id"]
        self._now += 1
        self.most = max(self.most, self._now)
        self._clock.sleep(seconds := self.slow.get(name, ANSWER_S))
        self._now -= 1
        self.ended[name] = self._clock.now()
        return HookAnswer(self.statuses.get(name, 204), int(seconds * 1000))


@pytest.fixture
def caller() -> Caller:
    return Caller()


def seconds(caller: Caller) -> float:
    """Work for one turn, and return how long that takes."""
    began = caller.clock.now()
    caller.clock.run(caller.work)
    return caller.clock.now() - began


@pytest.mark.slow
def test_an_endpoint_that_takes_all_is_sent_ever_more_at_once(caller: Caller) -> None:
    receiver = Receiver(caller)
    caller.add(400)
    assert seconds(caller) < 1.1
    assert receiver.most == MOST_AT_ONCE
    assert len(caller.over(DeliveryState.DELIVERED)) == 400
    assert len(set(caller.posted())) == len(caller.posted())


@pytest.mark.slow
def test_an_endpoint_is_sent_few_at_once_to_begin_with_and_after_a_failure(caller: Caller) -> None:
    receiver = Receiver(caller)
    caller.add(2 * AT_ONCE)
    seconds(caller)
    assert receiver.most == AT_ONCE
    caller.add(200, 100)
    receiver.statuses["evt_00298"] = 500
    seconds(caller)
    caller.add(100, 300)
    receiver.most = 0
    caller.clock.run(lambda: caller.work(apart=True))
    assert receiver.most < MOST_AT_ONCE


@pytest.mark.slow
def test_a_place_is_taken_again_as_soon_as_it_is_free(caller: Caller) -> None:
    receiver = Receiver(caller)
    caller.add(200)
    receiver.slow["evt_00003"] = 3.0
    began = caller.clock.now()
    caller.clock.run(caller.work)
    others = [at for name, at in receiver.ended.items() if name != "evt_00003"]
    assert len(others) == 199
    assert max(others) - began < 1
    assert len(caller.over(DeliveryState.DELIVERED)) == 200


def test_posts_that_were_under_way_when_the_breaker_opened_do_not_prolong_its_pause(caller: Caller) -> None:
    receiver = Receiver(caller)
    caller.add(300)
    receiver.statuses |= {f"evt_{i:05d}": 500 for i in range(200, 300)}
    seconds(caller)
    assert len(receiver.ended) > 200 + AT_ONCE
    assert 0 < caller.state.open_until - caller.clock.ms <= 5_000


def test_a_delivery_that_cannot_be_posted_by_a_fault_of_ours_holds_up_no_other(caller: Caller) -> None:
    caller.faults["evt_00005"] = KeyError("no such field")
    caller.add(60)
    with pytest.raises(ExceptionGroup) as raised:
        caller.work()
    assert [type(x) for x in raised.value.exceptions] == [KeyError]
    assert len(caller.over(DeliveryState.DELIVERED)) == 59
    (left,) = caller.waiting()
    assert (left.id, left.attempts[-1].error, left.tries) == ("evt_00005", FAULT, 1)
    assert left.due > caller.clock.ms
    assert (caller.state.fails, caller.state.owner) == (0, "")
    caller.faults.clear()
    caller.live(200)
    assert len(caller.over(DeliveryState.DELIVERED)) == 60


def test_what_cannot_be_read_now_is_left_as_it_is_and_the_lease_is_handed_back(caller: Caller) -> None:
    caller.faults["evt_00005"] = Retriable("busy")
    caller.add(60)
    with pytest.raises(Retriable):
        caller.work()
    assert len(caller.over(DeliveryState.DELIVERED)) == AT_ONCE - 1
    assert caller.waiting()[0].tries == 0
    assert caller.state.until <= caller.clock.ms


@pytest.mark.parametrize("call", ["endpoints.get", "hook_queue.pending", "hook_queue.settle_put", "works.release"])
def test_a_fault_that_none_has_foreseen_hands_the_lease_back(caller: Caller, call: str) -> None:
    caller.add(1)
    caller.tap.arm_at(call, error=lambda: KeyError("body"))
    with pytest.raises(KeyError):
        caller.work()
    assert caller.state.until <= caller.clock.ms
    caller.work()
    assert caller.over(DeliveryState.DELIVERED) == ["evt_00000"]


def test_a_worker_for_quick_endpoints_waits_a_second_for_one_that_it_does_not_know(caller: Caller) -> None:
    def answer(post: HookPost) -> HookAnswer:
        seconds = 3.0 if post.headers["webhook-id"] == "evt_00000" else ANSWER_S
        left = caller.client.until - caller.clock.now()
        caller.clock.sleep(min(seconds, left))
        if seconds > left:
            raise HookUnreachable("read_timeout", int(left * 1000))
        return HookAnswer(204, int(seconds * 1000))

    caller.client.answer = answer
    caller.add(1)
    began = caller.clock.now()
    caller.clock.run(caller.work)
    assert caller.clock.now() - began < 1.2
    (left,) = caller.waiting()
    assert (left.tries, left.attempts, caller.state.fails) == (0, (), 0), "what is given up is no attempt"
    assert caller.hints.calls[-1] == CallHint(HOOK, apart=True)
    caller.clock.run(lambda: caller.work(apart=True))
    assert caller.over(DeliveryState.DELIVERED) == ["evt_00000"]
    assert caller.state.apart, "it was slow"


def test_an_endpoint_that_has_just_taken_something_is_waited_for(caller: Caller) -> None:
    receiver = Receiver(caller)
    caller.add(9)
    receiver.slow["evt_00008"] = 3.0
    seconds(caller)
    assert len(caller.over(DeliveryState.DELIVERED)) == 9
    assert len(caller.posted()) == 9
