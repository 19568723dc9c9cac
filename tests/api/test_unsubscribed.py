"""Who has unsubscribed: left out of campaigns, and of batches that offer it, whoever asks for it and whenever."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import pytest

from shared.domain.content.content import Content
from shared.engine.reports.message_log import Filter
from tests.api.conftest import ADDRESS, Api
from tests.api.lists import as_body
from tests.api.test_unsubscribe import ONE_CLICK, visit
from tests.fakes.clock import FakeClock

LINK = {"from": "news@example.com", "subject": "x", "body": "{{ unsubscribe_url }}"}
PEOPLE = [{"recipient": f"{x}@example.org", "name": x} for x in ("ann", "ben")]
POST = "List-Unsubscribe=One-Click"


def links(api: Api) -> list[str]:
    """Return the path of the link in each message that was sent, in order; checks its headers."""
    found = []
    for content in (c for p in api.world.providers.values() for c in p.said):
        headers = dict(content.headers)
        link = headers["List-Unsubscribe"]
        assert (link[0], link[-1], headers["List-Unsubscribe-Post"]) == ("<", ">", POST)
        assert link[1:].startswith(f"{ADDRESS}/unsubscribe/")
        found.append(link[1:-1].removeprefix(ADDRESS))
    return found


def click(api: Api, link: str) -> None:
    """Unsubscribe as a mailbox provider does."""
    assert visit(api, "POST", link, ONE_CLICK).status == 200


def codes(api: Api, job: str) -> list[str | None]:
    """Return the error of each message of a job, in list order; those skipped were handed to no provider."""
    lines, _ = api.world.logs.lines(api.world.job(job), Filter())
    assert [x.state for x in lines] == ["skipped" if x.error else "sent" for x in lines]
    sent = [t.address for t in api.world.oracle.taken if t.ref.job == job]
    assert sorted(sent) == sorted(x.recipient for x in lines if not x.error)
    return [x.error for x in lines]


@pytest.mark.slow
@pytest.mark.promise(11)
def test_one_click_in_a_campaign_keeps_its_owner_out_of_the_next_lists(api: Api) -> None:
    name = api.campaign()
    api.listed(name, *PEOPLE)
    api.sent(name)
    api.world.settle()
    first, _ = sorted(links(api), key=len)
    offered = api.campaign()
    api.listed(offered, *PEOPLE)
    for link in links(api):
        click(api, link)
    visit(api, "POST", f"{first}/undo", ONE_CLICK)
    assert len(api.call("GET", "/suppressions", query={"scope": "campaigns"}).json["items"]) == 1
    late = api.sent(offered)
    api.world.settle()
    assert sorted(map(str, codes(api, late))) == ["None", "unsubscribed"], "it is looked at again at claim"
    later = api.campaign()
    upload = api.listed(later, *PEOPLE)
    found = api.call("GET", f"/campaigns/{later}/uploads/{upload}").json
    assert (found["accepted"], found["skipped"]) == (2, {"unsubscribed": 1})
    job = api.sent(later)
    api.world.settle()
    assert codes(api, job) == codes(api, late)


@pytest.mark.slow
@pytest.mark.promise(11)
def test_a_previews_link_has_no_effect_and_a_test_messages_link_works(api: Api) -> None:
    name = api.campaign()
    api.listed(name, *PEOPLE)
    shown = api.call("GET", f"/campaigns/{name}/preview", query={"row": 1}).json
    assert shown["recipient"] == "ann@example.org"
    looked_at = shown["headers"]["List-Unsubscribe"].strip("<>").removeprefix(ADDRESS)
    click(api, looked_at)
    assert "This link is from a test: nothing was changed" in visit(api, "GET", looked_at).text
    off: Any = {"query": {"scope": "campaigns"}}
    assert api.call("GET", "/suppressions", **off).json["items"] == []
    got = api.call("POST", f"/campaigns/{name}/test", {"recipient": "ben@example.org"})
    api.world.jobs.append(got.json["job_id"])
    api.world.settle()
    click(api, *links(api))
    assert [x["address"] for x in api.call("GET", "/suppressions", **off).json["items"]] == ["ben@example.org"]
    job = api.sent(name)
    api.world.settle()
    assert codes(api, job) == [None, "unsubscribed"]


@pytest.mark.slow
@pytest.mark.promise(11)
def test_a_batch_offers_it_on_request_and_heeds_it_then_alone(api: Api) -> None:
    to = ["ann@example.org", "ben@example.org"]
    assert codes(api, api.logged(to, unsubscribe=True)) == [None, None]
    first, second = links(api)
    assert first != second
    click(api, first)
    assert len({c.headers for c in said(api)}) == 2
    job = api.logged(to, unsubscribe=True)
    assert sorted(map(str, codes(api, job))) == ["None", "unsubscribed"]
    assert api.call("GET", f"/batches/{job}").json["counts"]["skipped"] == 1
    assert codes(api, api.logged(to)) == [None, None]
    assert [c.headers for c in said(api)[-1:]] == [()]
    waiting = api.accepted(to, unsubscribe=True)
    click(api, second)
    api.world.settle()
    assert codes(api, waiting) == ["unsubscribed", "unsubscribed"]
    got = api.batch(to, unsubscribe=True)
    assert (got.status, got.code) == (422, "no_valid_recipient")
    assert api.batch(to, unsubscribe=False).status == 202


def said(api: Api) -> list[Content]:
    """Return what was sent, in order."""
    return [c for p in api.world.providers.values() for c in p.said]


@pytest.mark.slow
def test_a_suppressed_and_unsubscribed_recipient_is_suppressed(api: Api) -> None:
    for scope in ("all", "campaigns"):
        api.call("PUT", "/suppressions/ann@example.org", query={"scope": scope})
    job = api.logged(["ann@example.org", "ben@example.org"], unsubscribe=True)
    assert codes(api, job) == ["suppressed", None]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"unsubscribe": True, "cc": "cleo@example.org"}, "unsubscribe"),
        ({"unsubscribe": True, "bcc": ["cleo@example.org"]}, "unsubscribe"),
        ({"unsubscribe": "true"}, "unsubscribe"),
        ({"unsubscribe": True, "headers": {"List-Unsubscribe": "<https://example.com>"}}, "headers"),
        ({"headers": {"list-unsubscribe-post": POST}}, "headers"),
    ],
)
def test_what_collides_with_the_link_is_refused(calm: Api, given: dict[str, Any], field: str) -> None:
    got = calm.batch(**given)
    assert (got.status, got.code, got.fields) == (422, "validation_failed", [field])
    if field == "headers":
        assert "`unsubscribe`" in got.json["errors"][0]["message"]


def test_a_list_that_was_read_without_a_look_is_not_sent_with_an_offer(api: Api) -> None:
    name = api.campaign(unsubscribe=False)
    api.call("PUT", "/suppressions/ann@example.org", query={"scope": "campaigns"})
    api.listed(name, *PEOPLE)
    got = api.call("PATCH", f"/campaigns/{name}", {"unsubscribe": True})
    assert (got.status, got.code) == (409, "campaign_has_list")
    assert api.call("PATCH", f"/campaigns/{name}", {"unsubscribe": False}).status == 200
    job = api.sent(name)
    api.world.settle()
    assert codes(api, job) == [None, None]
    assert {c.headers for c in said(api)} == {()}
    assert api.call("PATCH", f"/campaigns/{name}", {"unsubscribe": True}).status == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    "campaign",
    [
        {
            "unsubscribe": False,
            "template": {"from": "news@example.com", "subject": "x", "body": "{{ unsubscribe_url }}"},
        },
        {"channel": "sms", "template": {"body": "{{ unsubscribe_url }}"}},
    ],
)
def test_where_no_unsubscription_is_offered_its_link_needs_a_column(api: Api, campaign: Mapping[str, Any]) -> None:
    name = api.campaign(**campaign)
    sms = "channel" in campaign
    people = [{"recipient": "+14155550123" if sms else "ann@example.org"}]
    api.call("PUT", f"/campaigns/{name}/recipients", as_body(people))
    api.lists.read()
    assert api.call("GET", f"/campaigns/{name}").json["missing"] == ["unsubscribe_url"]
    assert api.call("POST", f"/campaigns/{name}/send").code == "missing_columns"
    own = "https://example.com/u"
    api.listed(name, people[0] | {"unsubscribe_url": own})
    api.sent(name)
    api.world.settle()
    (content,) = said(api)
    assert own in (content.html or content.text)


# The list of them


@pytest.mark.slow
def test_unsubscriptions_are_a_list_beside_suppressions(api: Api, clock: FakeClock) -> None:
    api.logged(["ann@example.org"], unsubscribe=True)
    (link,) = links(api)
    click(api, link)
    clock.advance(1)
    other = api.call("PUT", "/suppressions/ben@example.org", {"reason": "asked by phone"}, query={"scope": "campaigns"})
    assert other.status == 200
    page = api.call("GET", "/suppressions", query={"scope": "campaigns", "limit": 1}).json
    assert page["items"] == [other.json]
    (ann,) = api.call(
        "GET", "/suppressions", query={"scope": "campaigns", "cursor": page["next_cursor"], "limit": 1}
    ).json["items"]
    assert (ann["address"], ann["scope"], ann["reason"]) == ("ann@example.org", "campaigns", "one_click")
    assert ann["job_id"] == api.world.jobs[0]
    assert (other.json["reason"], other.json["job_id"]) == ("asked by phone", None)
    assert api.call("GET", "/suppressions/ANN@example.org", query={"scope": "campaigns"}).json == ann
    assert api.call("GET", "/suppressions").json["items"] == []
    assert api.call("GET", "/suppressions/ann@example.org").code == "not_found"
    assert api.call("DELETE", "/suppressions/ann@example.org").json["removed"] is False
    assert api.call("DELETE", "/suppressions/ann@example.org", query={"scope": "campaigns"}).json["removed"] is True
    assert codes(api, api.logged(["ann@example.org"], unsubscribe=True)) == [None]
    assert api.call("GET", "/suppressions", query={"scope": "some"}).fields == ["scope"]


def test_a_telephone_number_is_allowed_again(api: Api) -> None:
    api.world.records.suppress(api.account, "+14155550123", "unsubscribed", api.world.clock.ms)
    for path in ("+14155550123", quote("+1 415 555-0123")):
        assert api.call("GET", f"/suppressions/{path}").json["address"] == "+14155550123"
    assert api.call("DELETE", "/suppressions/+14155550123").json["removed"] is True
    assert api.call("PUT", "/suppressions/+1").fields == ["address"]
