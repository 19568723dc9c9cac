"""A test key, also one with every scope, reads and changes what is live.

Then: suppressions were an account's. A test key read them, and took one away, so that somebody who had complained got
mail again; what it put there kept live mail back.
"""

import pytest

from shared.domain.accounts import ALL_SCOPES
from tests.api.conftest import Api

ANN = "ann@example.org"
SCOPES = pytest.mark.parametrize("scope", ["all", "campaigns"])
BOUNCES = "bounce@test.posthaste"


@pytest.fixture
def tester(api: Api) -> str:
    """A test key with every scope."""
    return api.services.accounts.create_key(api.account, test=True, scopes=ALL_SCOPES)[0]


def fate(api: Api, to: str, *, key: str | None = None) -> str:
    """Post a batch to somebody and somebody else that offers an unsubscription; return why the first gets none."""
    job = api.logged([to, "else@example.org"], key=key, unsubscribe=True)
    got = api.call("GET", f"/batches/{job}/logs", key=key)
    return got.json["items"][0]["error"] or ""


@SCOPES
@pytest.mark.promise(9)
def test_a_test_key_neither_sees_nor_ends_a_live_suppression(api: Api, tester: str, scope: str) -> None:
    query = {"scope": scope}
    api.call("PUT", f"/suppressions/{ANN}", {"reason": "complained"}, query=query)
    assert api.call("GET", "/suppressions", query=query, key=tester).json["items"] == []
    assert api.call("GET", f"/suppressions/{ANN}", query=query, key=tester).code == "not_found"
    assert not api.call("DELETE", f"/suppressions/{ANN}", query=query, key=tester).json["removed"]
    assert api.call("GET", f"/suppressions/{ANN}", query=query).json["reason"] == "complained"
    assert fate(api, ANN) in ("suppressed", "unsubscribed")


@SCOPES
@pytest.mark.promise(9)
def test_what_a_test_key_suppresses_keeps_no_live_mail_back(api: Api, tester: str, scope: str) -> None:
    query = {"scope": scope}
    later = api.accepted([ANN], scheduled_at="2026-09-22T00:00:00Z", unsubscribe=True)
    assert api.call("PUT", f"/suppressions/{ANN}", {"reason": "x"}, query=query, key=tester).status == 200
    assert api.call("GET", f"/suppressions/{ANN}", query=query).code == "not_found"
    api.world.clock.advance(86_400)
    assert fate(api, ANN) == ""
    assert api.world.counts(later) == {"sent": 1}


@SCOPES
@pytest.mark.promise(9)
def test_a_test_key_has_suppressions_of_its_own_which_its_jobs_heed(api: Api, tester: str, scope: str) -> None:
    query, code = {"scope": scope}, {"all": "suppressed", "campaigns": "unsubscribed"}[scope]
    ben = "ben@example.org"
    api.call("PUT", f"/suppressions/{ben}", query=query)
    assert api.call("PUT", f"/suppressions/{ANN}", query=query, key=tester).status == 200
    (only,) = api.call("GET", "/suppressions", query=query, key=tester).json["items"]
    assert only["address"] == ANN
    assert fate(api, ANN, key=tester) == code
    assert api.batch([ANN], unsubscribe=True, key=tester).code == "no_valid_recipient"
    tried = api.campaign(key=tester)
    body = {"recipient": ANN}
    assert api.call("POST", f"/campaigns/{tried}/test", body, key=tester).code == "no_valid_recipient"
    upload = api.listed(tried, {"recipient": ANN, "name": "Ann"}, {"recipient": ben, "name": "Ben"}, key=tester)
    assert api.call("GET", f"/campaigns/{tried}/uploads/{upload}", key=tester).json["skipped"] == {code: 1}
    assert fate(api, ben, key=tester) == "", "a live suppression is none of theirs"
    assert api.call("DELETE", f"/suppressions/{ANN}", query=query, key=tester).json["removed"]
    assert fate(api, ANN, key=tester) == ""


@pytest.mark.promise(9)
def test_a_magic_recipient_bounces_each_time_and_is_suppressed_nowhere(api: Api, tester: str) -> None:
    for _ in range(2):
        job = api.logged([BOUNCES], key=tester)
        assert api.world.counts(job) == {"failed": 1}
    for key in (tester, api.key):
        assert api.call("GET", "/suppressions", key=key).json["items"] == []
