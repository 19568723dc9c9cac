"""One key, or many notifiers, in a loop take what the account's other calls need.

Then: all live keys of an account had one request bucket, so 1,100 requests by a `read` key made the account's
`POST /batches` 429; and each notifier had a bucket of its own beside it, so ten of them made 2,100 requests more at
that instant, and nothing bounded their number.
"""

import pytest

from shared.domain.accounts import NOTIFIER_BURST, PARTS, REQUEST_BURST, Scope
from shared.domain.notices.notifier import MAX_NOTIFIERS
from tests.api.conftest import Api

LOOP = REQUEST_BURST + 100


def reads(api: Api, key: str, times: int = LOOP) -> list[int]:
    """Ask for credentials by a key, and return the statuses."""
    return [api.call("GET", "/credentials", key=key).status for _ in range(times)]


@pytest.mark.slow
@pytest.mark.promise(9)
def test_a_read_key_in_a_loop_does_not_keep_its_account_from_sending(api: Api) -> None:
    reader = api.scoped(Scope.READ)
    made = reads(api, reader)
    assert set(made) == {200, 429}
    assert made.count(200) < REQUEST_BURST * (PARTS - 1) // PARTS
    refused = api.call("GET", "/credentials", key=reader)
    assert refused.code == "rate_limited"
    assert "this API key may make 80 a second" in refused.json["detail"]
    assert int(refused.headers["retry-after"]) >= 1
    assert api.call("GET", "/credentials").status == 200, "nor its other keys from reading"
    assert api.batch().status == 202


@pytest.mark.slow
@pytest.mark.promise(9)
def test_many_read_keys_in_a_loop_do_not_keep_their_account_from_sending(api: Api) -> None:
    sender = api.scoped(Scope.SEND)
    made = [reads(api, api.scoped(Scope.READ), REQUEST_BURST // 2) for _ in range(3)]
    assert set(made[-1]) == {429}
    refused = api.call("GET", "/credentials")
    assert "this account may make 100 a second" in refused.json["detail"]
    assert [api.batch(key=sender).status for _ in range(20)] == [202] * 20


@pytest.mark.slow
@pytest.mark.promise(9)
def test_a_read_key_that_asks_to_send_in_a_loop_does_not_use_what_is_kept_for_it(api: Api) -> None:
    readers = [api.scoped(Scope.READ) for _ in range(2)]
    made = [[api.batch(key=key).status for _ in range(LOOP)] for key in readers]
    assert {x for key in made for x in key} == {403, 429}
    assert api.batch(key=api.scoped(Scope.SEND)).status == 202


@pytest.mark.slow
@pytest.mark.promise(9)
def test_notifiers_do_not_multiply_the_allowance_of_their_account(api: Api) -> None:
    logins = [api.notifier(f"clinic-{i}") for i in range(10)]
    made = [api.basic("PUT", "/messages", login, []).status for login in logins for _ in range(NOTIFIER_BURST + 10)]
    assert set(made) == {200, 429}
    assert made.count(200) <= REQUEST_BURST
    assert api.batch().status == 202
    again = [api.basic("PUT", "/messages", login, []).status for login in logins for _ in range(NOTIFIER_BURST)]
    assert set(again) == {429}


def test_an_account_has_a_bounded_number_of_notifiers(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_NOTIFIERS == 1_000
    monkeypatch.setattr("shared.engine.notices.notifiers.MAX_NOTIFIERS", 3)
    for i in range(3):
        api.notifier(f"clinic-{i}")
    wanted = {"name": "clinic-3", "timezone": "Australia/Sydney"}
    assert api.call("POST", "/notifiers", wanted).code == "too_many_notifiers"
    tester, _ = api.services.accounts.create_key(api.account, test=True, scopes=[Scope.ADMIN])
    assert api.call("POST", "/notifiers", wanted, key=tester).status == 201, "those of test keys are apart"
    assert api.call("DELETE", "/notifiers/clinic-0").status == 200
    assert api.call("POST", "/notifiers", wanted | {"name": "clinic-4"}).status == 201
