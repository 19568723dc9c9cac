"""A worker delivers what is due to an endpoint."""

import base64
import hashlib
import hmac
from dataclasses import replace

import pytest

from shared.domain.audit import Log
from shared.domain.hooks.delivery import CONTENT_GONE, DELAYS_MS, DeliveryState, HookAttempt, attempted, ended
from shared.domain.hooks.endpoint import LISTENER_MS, EndpointState, rotated
from shared.domain.hooks.signature import secret_of
from shared.domain.hooks.work import ReplayOrder
from shared.ports import HookAnswer, Retriable
from tests.domain.hooks.examples import ACCOUNT, HOOK
from tests.engine.hooks.calling import Caller
from tests.fakes.faults import When
from tests.fakes.hooks.outside import CallHint, FakeHookSecrets, HookPost

DAY_MS = 86_400_000


def test_what_is_due_is_posted_once_and_kept() -> None:
    caller = Caller()
    caller.add(60)
    run = caller.work()
    assert sorted(caller.posted()) == [f"evt_{i:05d}" for i in range(60)]
    assert len(caller.over(DeliveryState.DELIVERED)) == run.delivered == 60
    assert (caller.waiting(), caller.state.wake, caller.state.owner) == ([], 0, "")


def test_a_post_is_signed_by_both_secrets_after_a_rotation() -> None:
    caller = Caller()
    caller.endpoints.put(rotated(caller.endpoint, caller.clock.ms))
    caller.add(1)
    caller.work()
    [post] = caller.client.posts
    signed = f"evt_00000.{int(caller.clock.now())}.".encode() + post.body
    for version, signature in zip((2, 1), post.headers["webhook-signature"].split(), strict=True):
        key = base64.b64decode(secret_of(FakeHookSecrets().master(), HOOK, version)[6:])
        assert signature == "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert post.headers["webhook-timestamp"] == str(int(caller.clock.now()))
    assert (post.headers["user-agent"], post.headers["accept"]) == ("Posthaste-Hooks/1", "*/*"), "firewalls want both"


def test_new_deliveries_send_one_hint_unless_a_worker_has_the_lease() -> None:
    caller = Caller()
    caller.add(3)
    assert caller.hints.calls == [CallHint(HOOK)]
    caller.works.acquire(HOOK, "other", now=caller.clock.ms, until=caller.clock.ms + 60_000)
    caller.add(3, 3)
    assert caller.hints.calls == [CallHint(HOOK)]
    assert caller.work().delivered == 0, "another has the lease"


def test_what_is_added_while_a_worker_posts_is_not_left_behind() -> None:
    caller = Caller()
    caller.add(1)

    def answer(post: HookPost) -> HookAnswer:
        if post.headers["webhook-id"] == "evt_00000":
            caller.add(1, 1)
        return HookAnswer(200, 1)

    caller.client.answer = answer
    caller.work()
    assert caller.posted() == ["evt_00000", "evt_00001"]
    assert caller.state.wake == 0


def test_a_failed_attempt_is_made_again_after_its_delay() -> None:
    caller = Caller()
    caller.answers(500, ms=0)
    caller.add(1)
    caller.work()
    [one] = caller.waiting()
    assert one.due == caller.clock.ms + DELAYS_MS[0]
    assert one.attempts == (HookAttempt(caller.clock.ms, 500, 0, "text"),)
    assert caller.hints.calls[-1] == CallHint(HOOK, delay=5.0, apart=True)
    caller.answers(200)
    caller.clock.advance(5)
    caller.work(apart=True)
    assert caller.over(DeliveryState.DELIVERED) == ["evt_00000"]
    assert [x.body for x in caller.client.posts] == [b"evt_00000"] * 2


@pytest.mark.slow
def test_a_delivery_is_tried_ten_times_over_three_days() -> None:
    caller = Caller()
    caller.answers(500)
    caller.add(1)
    caller.live(4 * 86_400)
    assert len(caller.queue.over) == 1
    [one] = caller.queue.over.values()
    assert (one.state, len(one.attempts)) == (DeliveryState.FAILED, 10)
    between = [b.at - a.at for a, b in zip(one.attempts, one.attempts[1:], strict=False)]
    assert all(d <= x <= d + 360_000 for d, x in zip(DELAYS_MS, between, strict=True)), "a walk or a breaker later"


def test_an_endpoint_that_does_not_answer_is_tried_again() -> None:
    caller = Caller()
    caller.hangs()
    caller.add(1)
    caller.work(apart=True)
    [one] = caller.waiting()
    assert one.attempts == (HookAttempt(caller.clock.ms - 10_000, ms=10_000, error="read_timeout"),)
    assert caller.state.slow


@pytest.mark.slow
def test_ten_thousand_events_to_a_dead_endpoint_cost_few_calls_and_arrive_later() -> None:
    caller = Caller()
    caller.answers(503)
    caller.add(10_000)
    caller.live(60)
    assert 5 <= len(caller.client.posts) <= 20
    caller.live(3_600)
    assert len(caller.client.posts) <= 40
    caller.answers(200, ms=1)
    caller.live(900)
    assert len(caller.over(DeliveryState.DELIVERED)) == 10_000
    assert caller.state.fails == 0


def test_an_endpoint_that_asks_for_time_gets_it() -> None:
    caller = Caller()
    caller.answers(429, ms=0, retry_after=600_000)
    caller.add(1)
    caller.work()
    assert caller.waiting()[0].due == caller.clock.ms + 600_000
    caller.answers(200)
    caller.add(1, 1)
    caller.live(590)
    assert len(caller.client.posts) == 1
    caller.live(120)
    assert len(caller.over(DeliveryState.DELIVERED)) == 2


def test_an_endpoint_that_answers_410_is_disabled_and_its_deliveries_wait() -> None:
    caller = Caller()
    caller.answers(410)
    caller.add(20)
    caller.live(7_200)
    assert len(caller.client.posts) == 8
    assert (caller.endpoint.state, caller.endpoint.reason) == (EndpointState.DISABLED, "gone")
    assert (len(caller.waiting()), caller.state.wake) == (20, 0)
    assert [x.kind for x in caller.journal.since(ACCOUNT, Log.AUDIT, 0)] == ["hook.disabled"]


@pytest.mark.slow
def test_an_endpoint_that_only_fails_for_five_days_is_disabled() -> None:
    caller = Caller()
    caller.answers(500)
    for day in range(6):
        assert not caller.endpoint.disabled_at, day
        caller.add(1, day)
        caller.live(86_400)
    assert caller.endpoint.reason == "failing"
    assert [x.data for x in caller.journal.since(ACCOUNT, Log.AUDIT, 0)] == [{"reason": "failing"}]


@pytest.mark.slow
def test_one_answer_in_five_days_keeps_an_endpoint() -> None:
    caller = Caller()
    for day in range(12):
        caller.answers(200 if day == 4 else 500)
        caller.add(1, day)
        caller.live(86_400 / 2)
    assert not caller.endpoint.disabled_at


def test_a_delivery_that_waited_behind_a_breaker_for_too_long_fails_without_a_post() -> None:
    caller = Caller()
    caller.add(1)
    caller.clock.advance(92 * 3_600)
    assert caller.work().dropped == 1
    [one] = caller.queue.over.values()
    assert (one.state, one.attempts[-1].error, caller.client.posts) == (DeliveryState.FAILED, "expired", [])


def test_a_delivery_about_removed_messages_fails_without_a_post() -> None:
    caller = Caller()
    caller.bodies["content"] = b""
    caller.add(2)
    caller.work()
    assert {x.attempts[-1].error for x in caller.queue.over.values()} == {CONTENT_GONE}
    assert (caller.client.posts, caller.state.fails) == ([], 0)


def test_a_new_endpoint_gets_its_test_event_only_until_it_answers() -> None:
    caller = Caller(proven=False)
    caller.add(60)
    caller.add(1, 99, kind="test", data="{}", cells=())
    caller.answers(500)
    caller.work()
    assert caller.posted() == ["evt_00099"]
    assert not caller.endpoint.proven
    caller.answers(204)
    caller.live(20)
    assert caller.endpoint.state is EndpointState.ENABLED
    assert len(caller.over(DeliveryState.DELIVERED)) == 61
    assert [x.kind for x in caller.journal.since(ACCOUNT, Log.AUDIT, 0)] == ["hook.enabled"]


def test_an_answer_proves_the_url_that_was_asked_and_no_other() -> None:
    caller = Caller(proven=False)
    caller.add(1, kind="test", data="{}", cells=())

    def answer(_post: HookPost) -> HookAnswer:
        caller.change(url="https://other.example.org/")
        return HookAnswer(200, 1)

    caller.client.answer = answer
    caller.work()
    assert caller.endpoint.state is EndpointState.PROVING


@pytest.mark.parametrize("gone", ["disabled", "deleted"])
def test_nothing_is_posted_to_an_endpoint_that_is_disabled_or_deleted(gone: str) -> None:
    caller = Caller()
    caller.add(3)
    if gone == "disabled":
        caller.change(disabled_at=caller.clock.ms)
    else:
        del caller.endpoints.items[HOOK]
    caller.work()
    assert caller.client.posts == []
    assert (HOOK in caller.queue.works) == (gone == "disabled")
    assert list(caller.works.waking(caller.state.shard, 10**14) if gone == "disabled" else []) == []


def test_an_endpoint_that_is_disabled_meanwhile_gets_nothing_more() -> None:
    caller = Caller()
    caller.add(100)

    def answer(_post: HookPost) -> HookAnswer:
        if len(caller.client.posts) == 1:
            caller.change(disabled_at=caller.clock.ms)
        return HookAnswer(200, 1)

    caller.client.answer = answer
    caller.work()
    assert len(caller.client.posts) <= 48, "the page that was read"


def test_a_worker_for_quick_endpoints_leaves_one_that_fails_to_others() -> None:
    caller = Caller()
    caller.hangs()
    caller.add(100)
    caller.work()
    assert caller.hints.calls[-1].apart
    assert len(caller.client.posts) == 8
    caller.call.work(HOOK, apart=False, stop_at=caller.clock.now() + 100)
    assert len(caller.client.posts) == 8


def test_a_worker_for_quick_endpoints_leaves_one_that_is_slow_to_others() -> None:
    caller = Caller()
    caller.client.answer = lambda _post: HookAnswer(200, 6_000)
    caller.add(100)
    caller.work()
    assert (len(caller.client.posts), caller.hints.calls[-1]) == (8, CallHint(HOOK, apart=True))
    caller.work(apart=True)
    assert len(caller.client.posts) == 100


def test_a_busy_endpoint_is_handed_back_so_that_others_have_their_turn() -> None:
    caller = Caller()
    caller.answers(200, ms=100)
    caller.add(200)
    caller.work()
    assert 50 <= len(caller.client.posts) <= 58
    assert caller.hints.calls[-1] == CallHint(HOOK)
    assert caller.state.until <= caller.clock.ms
    caller.live(60)
    assert len(caller.over(DeliveryState.DELIVERED)) == 200


def test_nothing_is_posted_after_the_time_to_stop() -> None:
    caller = Caller()
    caller.add(1)
    caller.call.work(HOOK, apart=False, stop_at=caller.clock.now())
    assert caller.client.posts == []
    assert caller.hints.calls[-1] == CallHint(HOOK)


def test_a_lease_that_was_lost_is_given_up() -> None:
    caller = Caller()
    caller.add(100)

    def answer(_post: HookPost) -> HookAnswer:
        caller.clock.advance(8)
        if caller.clock.ms >= caller.state.until:
            caller.queue.works[HOOK] = replace(caller.state, owner="other")
        return HookAnswer(500, 1)

    caller.client.answer = answer
    caller.work(apart=True)
    assert caller.state.owner == "other"


@pytest.mark.parametrize("state", [DeliveryState.FAILED, None])
def test_a_replay_delivers_again_under_the_same_ids(state: DeliveryState | None) -> None:
    caller = Caller()
    new = caller.new(250)
    for i, one in enumerate(new):
        how = DeliveryState.FAILED if i % 2 else DeliveryState.DELIVERED
        done = ended(attempted(one, HookAttempt(1, 500)), how, one.due)
        caller.queue.settle([(one, replace(done, created_at=one.created_at + i))])
    caller.clock.advance(86_400)
    now = caller.clock.ms
    order = ReplayOrder(new[0].created_at + 50, now, now, state)
    assert caller.works.order(HOOK, order, wake=now)
    caller.live(70)
    wanted = [f"evt_{i:05d}" for i in range(50, 250) if state is None or i % 2]
    assert sorted(caller.posted()) == wanted
    assert caller.state.replay is None
    assert len(caller.queue.over) == 250
    again = caller.queue.over[HOOK, new[51].created_at + 51, "evt_00051"]
    assert ([x.status for x in again.attempts], again.state) == ([500, 204], DeliveryState.DELIVERED)


def test_a_listener_is_removed_when_no_command_polls_it() -> None:
    caller = Caller(url="")
    caller.add(2)
    assert caller.hints.calls == []
    caller.live(LISTENER_MS / 1000 - 120)
    assert HOOK in caller.endpoints.items
    caller.live(300)
    assert caller.endpoints.items == {}
    assert HOOK not in caller.queue.works
    assert caller.client.posts == []


def test_a_lost_hint_is_made_up_for_within_two_minutes() -> None:
    caller = Caller()
    caller.add(1)
    caller.hints.calls.clear()
    caller.live(125)
    assert caller.over(DeliveryState.DELIVERED) == ["evt_00000"]


@pytest.mark.parametrize("call", ["endpoints.get", "hook_queue.pending", "hook_queue.settle_put", "works.release"])
def test_a_store_that_fails_for_now_leaves_the_lease_to_the_next(call: str) -> None:
    caller = Caller()
    caller.add(1)
    caller.tap.arm_at(call, When.BEFORE, lambda: Retriable("busy"))
    with pytest.raises(Retriable):
        caller.work()
    assert caller.state.until <= caller.clock.ms
    caller.work()
    assert caller.over(DeliveryState.DELIVERED) == ["evt_00000"]
