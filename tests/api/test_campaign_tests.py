import pytest

from tests.api.conftest import Api
from tests.fakes.clock import FakeClock


def test_numbers_of_any_length_are_a_clear_answer(api: Api) -> None:
    name = api.campaign()
    for digits, status in ((300, 202), (5000, 400)):
        body = f'{{"recipients": [{{"recipient": "a@example.org", "name": {"9" * digits}}}]}}'
        assert api.call("PUT", f"/campaigns/{name}/recipients", body).status == status


def test_a_test_refuses_suppressed_recipients_and_unmakeable_messages(api: Api) -> None:
    name = api.campaign()
    url = f"/campaigns/{name}/test"
    api.call("PUT", "/suppressions/sup@example.org")
    before = api.stored()
    got = api.call("POST", url, {"recipient": "sup@example.org", "params": {"name": "x"}})
    assert (got.status, got.code) == (422, "no_valid_recipient")
    got = api.call("POST", url, {"recipient": "a@example.org", "params": {"name": "x" * 1000}})
    assert (got.status, got.code, got.fields) == (422, "validation_failed", ["params"])
    assert "subject_too_long" in got.text
    got = api.call("POST", url, {"recipient": "a@example.org", "params": {"name": "x", " Name": "y"}})
    assert (got.status, got.fields) == (422, ["params"])
    assert api.stored() == before


@pytest.mark.slow
def test_a_test_refuses_a_name_that_neither_template_nor_list_has(api: Api) -> None:
    name = api.campaign()
    url = f"/campaigns/{name}/test"
    typo = {"recipient": "a@example.org", "params": {"nmae": "Ann", "name": "Ann", "city": "Ulm"}}
    got = api.call("POST", url, typo)
    assert (got.status, got.code, got.fields) == (422, "validation_failed", ["params.nmae", "params.city"])
    api.listed(name, {"recipient": "b@example.org", "name": "Ben", "city": "Bonn"})
    row = {"recipient": "a@example.org", "params": {"recipient": "a@example.org", "Name": "Ann", "CITY": "Ulm"}}
    assert api.call("POST", url, row).status == 202


def test_tests_are_no_way_to_send_a_list(api: Api, clock: FakeClock) -> None:
    name = api.campaign()
    body = {"recipient": "a@example.org", "params": {"name": "x"}}
    key = {"Idempotency-Key": "k"}
    url = f"/campaigns/{name}/test"
    assert api.call("POST", url, body, headers=key).status == 202
    trials = api.services.campaigns().trials
    assert [trials.take(api.account) for _ in range(18)] == [None] * 18
    assert [api.call("POST", url, body).status for _ in range(2)] == [202, 429]
    refused = api.call("POST", f"/campaigns/{api.campaign()}/test", body)
    assert (refused.status, refused.code, refused.headers["retry-after"]) == (429, "too_many_tests", "60")
    assert api.call("POST", url, body, headers=key).headers["idempotency-replayed"] == "true"
    clock.advance(60)
    assert [api.call("POST", url, body).status for _ in range(2)] == [202, 429]
