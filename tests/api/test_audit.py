"""Who did what: every act of a key is in its account's audit log, with what it did, once, and without an address."""

from typing import Any

import pytest

from shared.domain.accounts import Scope
from shared.domain.recipients.address_names import person
from shared.domain.recipients.addresses import address_hash
from tests.api.conftest import SENDER, Api


def entries(api: Api, **query: Any) -> list[dict[str, Any]]:
    got = api.call("GET", "/audit", query=query)
    assert got.status == 200, got.text
    found: list[dict[str, Any]] = got.json["items"]
    return found


@pytest.mark.slow
@pytest.mark.promise(7)
def test_actions_of_keys_are_audited_once_with_the_actor(api: Api) -> None:
    secret, key = api.services.accounts.create_key(api.account, scopes=[Scope.SEND], name="night shift")
    job = api.accepted(["ann@example.org", "ben@example.org"], key=secret)
    assert api.call("GET", f"/jobs/{job}").json["created_by"] == key.id
    for _ in range(2):
        assert api.call("POST", f"/jobs/{job}/stop", key=secret).status == 200
    api.world.settle()
    api.world.clock.advance(1)
    assert api.call("POST", f"/batches/{job}/resume", key=secret).json["messages"] == 2
    api.world.settle()
    assert api.call("POST", f"/batches/{job}/resume", key=secret).json["messages"] == 0
    campaign = api.campaign(key=secret)
    api.listed(campaign, key=secret)
    api.world.clock.advance(1)
    sent = api.sent(campaign, key=secret)
    api.world.clock.advance(1)
    api.call("POST", f"/campaigns/{campaign}/stop", key=secret)
    api.world.clock.advance(1)
    for _ in range(2):
        api.call("POST", f"/campaigns/{campaign}/override-bounce-guard", key=secret)
    api.world.settle()
    api.world.clock.advance(1)
    assert api.call("POST", f"/campaigns/{campaign}/retry", key=secret).json["messages"] == 2
    written = ("campaign.created", "campaign.list_added")
    done = [
        (x["action"], x["subject"], x["data"])
        for x in entries(api)
        if x["actor"] == key.id and x["action"] not in written
    ]
    of = {"campaign": campaign}
    assert done == [
        ("job.retried", sent, {**of, "include": "failed unsent"}),
        ("campaign.guard_overridden", campaign, {}),
        ("job.stopped", sent, of),
        ("job.created", sent, {**of, "messages": 2, "not_before": 0}),
        ("job.resumed", job, {}),
        ("job.stopped", job, {}),
        ("batch.accepted", key.id, {"first": "2026-09-21T14:13:20.000Z"}),
    ]
    assert "@" not in api.call("GET", "/audit").text


def test_a_cancelled_schedule_is_audited(api: Api) -> None:
    job = api.accepted(scheduled_at="2026-09-22T00:00:00Z")
    assert api.call("DELETE", f"/schedules/{job}").status == 200
    assert api.call("DELETE", f"/schedules/{job}").status == 200
    assert [(x["action"], x["subject"]) for x in entries(api, action="job.stopped")] == [("job.stopped", job)]


@pytest.mark.slow
def test_pages_are_newest_first_and_a_filter_leaves_nothing_out(api: Api) -> None:
    accounts = api.services.accounts
    for i in range(7):
        api.world.clock.advance(1)
        (accounts.unsuspend if i % 2 else accounts.suspend)(api.account)
    whole = [x["at"] for x in entries(api)]
    assert whole == sorted(whole, reverse=True)
    assert len(whole) == 3 + 7
    for query, size in (("limit=3", 10), ("limit=3&action=account.suspended", 4)):
        found, cursor = [], None
        while True:
            page = api.call("GET", "/audit", query=query + (f"&cursor={cursor}" if cursor else "")).json
            assert len(page["items"]) <= 3
            found += page["items"]
            cursor = page["next_cursor"]
            if not cursor:
                break
        assert len(found) == len({str(x) for x in found}) == size
    assert entries(api, action="job.stopped") == []
    for query in ("cursor=x", "action=Nonsense", "limit=0"):
        assert api.call("GET", "/audit", query=query).status in (400, 422)


@pytest.mark.slow
@pytest.mark.promise(7)
@pytest.mark.parametrize("test", [False, True])
def test_suppression_changes_are_audited_without_addresses(api: Api, test: bool) -> None:  # noqa: FBT001
    secret, key = api.services.accounts.create_key(api.account, test=test, scopes=[Scope.ADMIN])
    for address in ("ann@example.org", "+14155550123"):
        for method, reason, query in (
            ("PUT", f"{address} complained", {}),
            ("PUT", f"{address} complained", {}),
            ("PUT", "by phone", {}),
            ("DELETE", "", {}),
            ("DELETE", "", {}),
            ("PUT", "left", {"scope": "campaigns"}),
        ):
            api.world.clock.advance(1)
            body = {"reason": reason} if reason else None
            assert api.call(method, f"/suppressions/{address}", body, query=query, key=secret).status == 200
        got = api.call("GET", "/audit", key=secret)
        done = [x for x in got.json["items"] if x["subject"] == person(address_hash(address))]
        assert [(x["action"], x["data"]) for x in done] == [
            ("suppression.added", {"scope": "campaigns"}),
            ("suppression.removed", {"scope": "all"}),
            ("suppression.changed", {"scope": "all"}),
            ("suppression.added", {"scope": "all"}),
        ]
        assert {x["actor"] for x in done} == {key.id}
        assert address not in got.text


@pytest.mark.promise(7)
def test_template_changes_are_audited_once_without_content(api: Api) -> None:
    said = {"from": SENDER, "subject": "Hello", "body": "<p>Hi</p>"}
    first = {"name": "Welcome", "channel": "email", **said}
    for _ in range(2):
        got = api.call("POST", "/templates", first, headers={"Idempotency-Key": "k"})
        api.world.clock.advance(1)
    url = f"/templates/{got.json['template_id']}"
    for _ in range(2):
        assert api.call("PUT", url, said, headers={"Idempotency-Key": "p"}).json["version"] == 2
        api.world.clock.advance(1)
    assert [api.call("DELETE", url).status for _ in range(2)] == [200, 404]
    of = {"channel": "email"}
    told = [(x["action"], x["data"]) for x in entries(api) if x["subject"] == got.json["template_id"]]
    assert told == [
        ("template.deleted", {**of, "version": 2}),
        ("template.changed", {**of, "version": 2}),
        ("template.created", {**of, "version": 1}),
    ]
    assert "Welcome" not in api.call("GET", "/audit").text


@pytest.mark.promise(7)
@pytest.mark.parametrize("test", [False, True])
def test_drafts_and_their_lists_are_audited_once_without_content(api: Api, test: bool) -> None:  # noqa: FBT001
    secret, key = api.services.accounts.create_key(api.account, test=test, scopes=[Scope.ADMIN, Scope.SEND])

    def done(method: str, url: str, body: Any = None, *, twice: tuple[int, int], once: str = "") -> dict[str, Any]:
        headers = {"Idempotency-Key": once} if once else {}
        got = [api.call(method, url, body, key=secret, headers=headers) for _ in range(2)]
        api.world.clock.advance(1)
        assert tuple(x.status for x in got) == twice
        found: dict[str, Any] = got[0].json
        return found

    said = {"from": SENDER, "subject": "Secret", "body": "<p>{{ name }}</p>"}
    draft = {"name": "Surprise", "channel": "email", "template": said}
    name = done("POST", "/campaigns", draft, twice=(201, 201), once="c")["campaign_id"]
    url = f"/campaigns/{name}"
    done("PATCH", url, {"name": "Later", "unsubscribe": True}, twice=(200, 200))
    done("PUT", f"{url}/template", {**said, "subject": "Other"}, twice=(200, 200))
    trial = {"recipient": "ann@example.org", "params": {"name": "Ann"}}
    job = done("POST", f"{url}/test", trial, twice=(202, 202), once="t")["job_id"]
    place = done("POST", f"{url}/uploads", {}, twice=(201, 201), once="u")["upload_id"]
    api.lists.files.put(f"uploads/{api.account}/{name}/{place}", b"recipient,name\r\nann@example.org,Ann\r\n")
    done("POST", f"{url}/uploads/{place}/complete", {}, twice=(202, 202))
    done("DELETE", f"{url}/uploads/{place}", twice=(200, 200))
    rows = {"recipients": [{"recipient": "ann@example.org", "name": "Ann"}]}
    small = done("PUT", f"{url}/recipients", rows, twice=(202, 202), once="p")["upload_id"]
    done("DELETE", f"{url}/uploads/{small}", twice=(200, 200))
    done("DELETE", url, twice=(200, 404))
    got = api.call("GET", "/audit", key=secret)
    found = [x for x in got.json["items"] if x["actor"] == key.id]
    assert {x["subject"] for x in found} == {name}
    assert [(x["action"], x["data"]) for x in reversed(found)] == [
        ("campaign.created", {"channel": "email"}),
        ("campaign.changed", {"fields": "name"}),
        ("campaign.changed", {"fields": "message"}),
        ("campaign.tested", {"job": job}),
        ("campaign.list_added", {"list": place}),
        ("campaign.list_withdrawn", {"list": place}),
        ("campaign.list_added", {"list": small}),
        ("campaign.list_withdrawn", {"list": small}),
        ("campaign.deleted", {}),
    ]
    for secret_text in ("Surprise", "Later", "Secret", "Other", "ann@", "Ann"):
        assert secret_text not in got.text
