"""A test key, also one with every scope, reads and changes what is live.

Then: suppressions were an account's. A test key read them, and took one away, so that somebody who had complained got
mail again; what it put there kept live mail back. Stored templates were an account's, too: the next live campaign said
what a test key had written. The audit log was shown to test keys whole, and had none of all this.
"""

from typing import Any

import pytest

from shared.domain.accounts import ALL_SCOPES
from tests.api.conftest import Api

ANN = "ann@example.org"
SCOPES = pytest.mark.parametrize("scope", ["all", "campaigns"])
SAID = {"from": "news@example.com", "subject": "Hello", "body": "<p>Ours</p>"}


@pytest.fixture
def tester(api: Api) -> str:
    """A test key with every scope."""
    return api.services.accounts.create_key(api.account, test=True, scopes=ALL_SCOPES)[0]


def fate(api: Api, to: str, *, key: str | None = None) -> str:
    """Post a batch to somebody and somebody else that offers an unsubscription; return why the first gets none."""
    job = api.batch([to, "else@example.org"], key=key, unsubscribe=True).json["job_id"]
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


@pytest.mark.slow
@SCOPES
@pytest.mark.promise(9)
def test_what_a_test_key_suppresses_keeps_no_live_mail_back(api: Api, tester: str, scope: str) -> None:
    query = {"scope": scope}
    later = api.accepted([ANN], scheduled_at="2026-09-22T00:00:00Z", unsubscribe=True)
    assert api.call("PUT", f"/suppressions/{ANN}", {"reason": "x"}, query=query, key=tester).status == 200
    assert api.call("GET", f"/suppressions/{ANN}", query=query).code == "not_found"
    assert fate(api, ANN) == ""
    api.world.clock.advance(86_400)
    api.world.settle()
    assert api.world.counts(later) == {"sent": 1}


@pytest.mark.slow
@SCOPES
@pytest.mark.promise(9)
def test_test_keys_jobs_use_their_separate_suppressions(api: Api, tester: str, scope: str) -> None:
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


def template(api: Api, key: str | None = None) -> str:
    """Store a template and return its id."""
    got = api.call("POST", "/templates", {"name": "Welcome", "channel": "email", **SAID}, key=key)
    assert got.status == 201, got.text
    name: str = got.json["template_id"]
    return name


@pytest.mark.promise(9)
def test_a_test_key_neither_reads_nor_changes_a_live_template(api: Api, tester: str) -> None:
    url = f"/templates/{template(api)}"
    before = api.call("GET", url).json
    theirs = SAID | {"body": "<p>Theirs</p>"}
    for method, path, body in (
        ("GET", url, None),
        ("GET", f"{url}/versions", None),
        ("PUT", url, theirs),
        ("DELETE", url, None),
    ):
        assert api.call(method, path, body, key=tester).code == "not_found"
    assert api.call("GET", "/templates", key=tester).json["items"] == []
    assert api.call("GET", url).json == before


@pytest.mark.promise(9)
def test_no_live_campaign_says_what_a_test_key_has_stored(api: Api, tester: str) -> None:
    tried = template(api, tester)
    assert api.call("GET", f"/templates/{tried}").code == "not_found"
    assert api.call("GET", "/templates").json["items"] == []
    campaign = {"name": "x", "channel": "email", "template_id": tried}
    assert api.call("POST", "/campaigns", campaign).code == "not_found"
    change = {"template_id": tried}
    assert api.call("PUT", f"/campaigns/{api.campaign()}/template", change).code == "not_found"
    assert [x["template_id"] for x in api.call("GET", "/templates", key=tester).json["items"]] == [tried]
    assert api.call("POST", "/campaigns", campaign, key=tester).status == 201
    assert api.call("PUT", f"/templates/{tried}", SAID, key=tester).json["version"] == 2
    assert api.call("DELETE", f"/templates/{tried}", key=tester).json == {"deleted": True}


def key_id(api: Api, key: str) -> str:
    found = api.services.accounts.find_by_key(key)
    assert found is not None
    return found.id


def log(api: Api, key: str | None = None, **query: Any) -> list[tuple[str, str]]:
    """Return the audit log that a key sees, newest first: action and subject."""
    got = api.call("GET", "/audit", query=query, key=key)
    assert got.status == 200, got.text
    return [(x["action"], x["subject"]) for x in got.json["items"]]


@pytest.mark.promise(9)
def test_a_test_key_reads_only_what_was_done_to_test_keys_things(api: Api, tester: str) -> None:
    live, tried = api.accepted(), api.accepted(key=tester)
    mine, kept = template(api, tester), template(api)
    for key, job in ((tester, tried), (None, live)):
        api.world.clock.advance(1)
        assert api.call("POST", f"/jobs/{job}/stop", key=key).status == 200
    told = log(api)
    assert told[0] == ("job.stopped", live)
    assert ("template.created", kept) in told
    assert {"account.created", "key.created"} <= {action for action, _ in told}
    hour = ("batch.accepted", key_id(api, tester))
    of_tests = [("job.stopped", tried), ("template.created", mine), hour]
    assert log(api, tester) == log(api, tester, test="true") == log(api, tester, test="false") == of_tests
    assert log(api, test="true") == of_tests, "the account's own log of them"
    assert not set(of_tests) & set(told)


@pytest.mark.promise(9)
def test_what_a_live_key_does_to_a_test_s_job_is_in_the_log_of_tests(api: Api, tester: str) -> None:
    tried = api.accepted(key=tester)
    assert api.call("POST", f"/jobs/{tried}/stop").status == 200
    wanted = [("job.stopped", tried), ("batch.accepted", key_id(api, tester))]
    assert log(api, tester) == log(api, test="true") == wanted
