import json
from datetime import UTC, datetime

import pytest

from tests.api.conftest import Api, event
from tests.fakes.clock import FakeClock


def test_the_same_call_with_the_same_key_gets_the_first_answer_again(api: Api) -> None:
    headers = {"Idempotency-Key": "order-17"}
    first = api.batch(http=headers)
    before = api.stored()
    again = api.batch(http=headers)
    assert (again.status, again.text) == (202, first.text)
    assert again.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    assert api.stored() == before


def test_the_same_key_with_another_body_is_refused(api: Api) -> None:
    headers = {"Idempotency-Key": "order-17"}
    api.batch(http=headers)
    before = api.stored()
    got = api.batch(["b@example.org"], http=headers)
    assert (got.status, got.code) == (422, "idempotency_mismatch")
    assert api.stored() == before


def test_the_first_answer_is_repeated_though_the_request_became_invalid(api: Api, clock: FakeClock) -> None:
    when = datetime.fromtimestamp(clock.now() + 3600, UTC).isoformat()
    headers = {"Idempotency-Key": "order-17"}
    first = api.batch(scheduled_at=when, http=headers)
    clock.advance(7200)
    api.call("PUT", "/suppressions/a@example.org", {})
    api.services.accounts.remove_sender(api.account, "example.com")
    again = api.batch(scheduled_at=when, http=headers)
    assert (again.status, again.text) == (202, first.text)
    assert again.headers["idempotency-replayed"] == "true"


def test_only_success_is_replayed(api: Api) -> None:
    headers = {"Idempotency-Key": "order-17"}
    assert api.batch(from_="a@bank.example", http=headers).status == 422
    api.services.accounts.add_sender(api.account, "bank.example")
    assert api.batch(from_="a@bank.example", http=headers).status == 202


def test_a_key_is_kept_for_a_day_past_the_last_send(api: Api, clock: FakeClock) -> None:
    headers = {"Idempotency-Key": "order-17"}
    first = api.batch(http=headers)
    clock.advance(86_400 - 1)
    assert api.batch(http=headers).json == first.json
    clock.advance(2)
    assert api.batch(http=headers).json["job_id"] != first.json["job_id"]


def test_idempotency_keys_of_accounts_and_of_test_keys_are_apart(api: Api) -> None:
    headers = {"Idempotency-Key": "order-17"}
    jobs = {api.batch(http=headers, key=k).json["job_id"] for k in (api.key, api.other(), api.test_key())}
    assert len(jobs) == 3


@pytest.mark.parametrize("key", ["", "x" * 256, "ü", "a\tb"])
def test_an_idempotency_key_has_a_form(api: Api, key: str) -> None:
    got = api.batch(http={"Idempotency-Key": key})
    assert (got.status, got.code) == (400, "bad_idempotency_key")
    assert api.batch(http={"Idempotency-Key": "x" * 255}).status == 202


@pytest.mark.promise(7)
def test_an_event_delivered_twice_changes_nothing(api: Api) -> None:
    same = event(
        "POST",
        "/batches",
        body=api.body(),
        headers={"Authorization": f"Bearer {api.key}", "Idempotency-Key": "k"},
    )
    first = api.handle(same)
    before = api.stored()
    second = api.handle(json.loads(json.dumps(same)))
    assert (second.status, second.text) == (first.status, first.text)
    assert api.stored() == before
