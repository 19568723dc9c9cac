"""Events that come again: the same id with the same content, or with another one."""

from typing import Any

import pytest

from tests.api.conftest import Api
from tests.api.test_digests import event, post, put, windows
from tests.fakes.clock import FakeClock

CHANGES: dict[str, Any] = {
    "recipients": ["ben@example.org"],
    "event_type": "task.succeeded",
    "data": {"task": "another"},
    "timestamp": "2026-11-20T10:00:00Z",
}


@pytest.mark.parametrize("urgent", [False, True])
@pytest.mark.parametrize("name", CHANGES)
def test_an_id_with_other_content_is_refused_in_another_request(api: Api, name: str, *, urgent: bool) -> None:
    put(api)
    one = event(event_id="run-1", urgent=urgent)
    other = {**one, name: CHANGES[name]}
    assert post(api, one).status == 202
    got = post(api, event(7, event_id="run-2"), other, event(8))
    assert (got.status, got.code, got.fields) == (422, "event_id_taken", ["1.event_id"])
    assert post(api, one).status == 202
    assert sum(x["events"] for x in windows(api)) == (1 if urgent else 2), "nothing of the refused request is stored"
    alone = api.call("POST", "/events", other)
    assert (alone.code, alone.fields) == ("event_id_taken", ["event_id"])


@pytest.mark.parametrize("urgent", [False, True])
def test_an_id_with_other_content_is_refused_in_the_same_request(api: Api, *, urgent: bool) -> None:
    put(api)
    one = event(event_id="run-1", urgent=urgent)
    got = post(api, one, {**one, "recipients": ["ben@example.org"]}, event(event_id="run-2"), one)
    assert (got.status, got.code, got.fields) == (422, "event_id_taken", ["1.event_id"])
    assert windows(api) == []


def test_an_id_is_of_one_batch_key(api: Api) -> None:
    put(api)
    got = post(api, event(event_id="run-1"), event(1, event_id="run-1", batch_key="acme/development"))
    assert got.status == 202


def test_a_repeat_may_order_its_people_and_data_otherwise_and_leave_the_time_to_us(api: Api, clock: FakeClock) -> None:
    put(api)
    one = event(event_id="run-1", timestamp=None, data={"a": 1, "b": 2})
    assert post(api, one).status == 202
    clock.advance(60)
    again = {**one, "recipients": one["recipients"][::-1], "data": {"b": 2, "a": 1}}
    assert post(api, again, again).status == 202


def test_an_id_may_come_back_with_other_content_after_an_hour(api: Api, clock: FakeClock) -> None:
    put(api, window=60, max_age=60)
    assert post(api, event(event_id="run-1")).status == 202
    clock.advance(61)
    assert post(api, event(1, event_id="run-2")).status == 202, "the window of run-1 is closed by now"
    assert post(api, event(1, event_id="run-1")).code == "event_id_taken"
    clock.advance(3601)
    assert post(api, event(1, event_id="run-1")).status == 202


def test_a_key_with_another_body_is_refused_and_a_repeat_is_carried_out(api: Api, clock: FakeClock) -> None:
    put(api)
    http = {"Idempotency-Key": "k"}
    assert post(api, event(batch_key="none"), http=http).code == "no_policy", "what is refused takes no key"
    first = post(api, event(1), http=http)
    got = post(api, event(2), http=http)
    assert (got.status, got.code) == (422, "idempotency_mismatch")
    assert post(api, event(1), http=http).json == first.json
    assert sum(x["events"] for x in windows(api)) == 2, "the second one is left out when the digest is made"
    clock.advance(3601)
    assert post(api, event(2), http=http).status == 202
