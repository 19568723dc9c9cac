"""A team key, also one with every scope, tries to reach somebody who is no guest, through every door.

The oracle is what the provider was called with, not what the API answered.
"""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.adapters.dynamo.accounts.api_keys import CACHE
from shared.adapters.dynamo.accounts.standings import DynamoAccountStatuses
from shared.adapters.dynamo.client import Dynamo
from shared.domain.accounts import AccountStatus
from shared.domain.namespaces import team_space
from shared.domain.recipients.addresses import Address, parse
from tests.api.conftest import Api, Reply
from tests.api.team import team_key
from tests.api.test_digests import put as put_policy
from tests.api.test_doors import mail, taken
from tests.tiers import examples

GUEST, EVE = "ann@example.org", "eve@example.net"
PLAIN = "From: news@example.com\r\nTo: eve@example.net\r\nCc: eve@example.net\r\n\r\nHello\r\n"
FORMS = [
    "eve@example.net",
    "ann+eve@example.org",
    "an.n@example.org",
    "Ann <eve@example.net>",
    '"ann@example.org" <eve@example.net>',
    "ann@example.org.example.net",
    "\u0430nn@example.org",
    "ann@ex\u0430mple.org",
    "ann@sub.example.org",
    "ann%example.org@example.net",
    "=?utf-8?q?ann=40example=2Eorg?= <eve@example.net>",
    "ann\u200b@example.org",
]
"""Addresses that look like a guest's, and are another mailbox."""


@pytest.fixture
def team(api: Api) -> str:
    return team_key(api, GUEST)


def reached(api: Api) -> set[str]:
    """Have everything sent, and return all whom a provider was given."""
    api.lists.read()
    api.world.settle()
    said = [content for provider in api.world.providers.values() for content in provider.said]
    copies = {box.address.lower() for c in said for box in (*c.beside, *c.cc, *c.bcc)}
    return copies | {t.address.lower() for t in api.world.oracle.taken}


def batch(api: Api, team: str, to: Any, **changes: Any) -> Reply:
    return api.batch(to, key=team, **changes)


@pytest.mark.slow
@pytest.mark.promise(13)
@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_an_address_passes_for_a_guest(api: Api, team: str, form: str) -> None:
    assert batch(api, team, [form]).status == 422
    got = batch(api, team, [GUEST, form])
    assert got.status == 202
    assert got.json["skipped"] == 1
    assert reached(api) == {GUEST}


@pytest.mark.promise(13)
@pytest.mark.parametrize("form", ["ANN@EXAMPLE.ORG", " ann@example.org ", "Ann <Ann@Example.Org>", "<ann@example.org>"])
def test_other_spellings_of_a_guest_are_the_guest(api: Api, team: str, form: str) -> None:
    assert batch(api, team, [form]).status == 202
    assert reached(api) == {GUEST}


@pytest.mark.promise(13)
@pytest.mark.parametrize("field", ["cc", "bcc"])
@pytest.mark.parametrize("copies", [[EVE], [GUEST, EVE], "ann@example.org, Eve <eve@example.net>"])
def test_no_copy_goes_to_a_stranger(api: Api, team: str, field: str, copies: Any) -> None:
    got = batch(api, team, ["ANN@example.org"], **{field: copies})
    assert (got.code, got.fields) == ("validation_failed", [field])
    assert "guest" in got.json["errors"][0]["message"]
    assert reached(api) == set()


@pytest.mark.slow
@pytest.mark.promise(13)
@pytest.mark.parametrize("place", ["to", "cc", "bcc"])
@pytest.mark.parametrize("messages", [1, 2])
def test_a_message_of_the_drop_in_door_goes_to_its_guests_only(api: Api, team: str, place: str, messages: int) -> None:
    assert api.call("PUT", "/guests/ben@example.org").status == 200
    boxes: dict[str, list[dict[str, str]]] = {"to": [{"email": GUEST}]}
    boxes[place] = [*boxes.get(place, []), {"email": EVE}, {"email": "ben@example.org"}]
    strange: dict[str, Any] = {"to": [{"email": "adam@example.net"}], "cc": [{"email": "adele@example.net"}]}
    taken(api, mail(*[boxes, strange][:messages]), key=team)
    assert reached(api) == {GUEST, "ben@example.org"}


@pytest.mark.slow
@pytest.mark.promise(13)
@pytest.mark.parametrize("place", ["to", "cc", "bcc"])
def test_a_message_of_the_drop_in_door_looks_at_the_guests_of_its_time(api: Api, team: str, place: str) -> None:
    assert api.call("PUT", "/guests/ben@example.org").status == 200
    boxes: dict[str, Any] = {"to": [{"email": GUEST}]}
    boxes[place] = [*boxes.get(place, []), {"email": "ben@example.org"}]
    other = {"to": [{"email": "cleo@example.org"}]}
    assert api.call("PUT", "/guests/cleo@example.org").status == 200
    taken(api, mail(boxes, other, send_at=int(api.world.clock.now()) + 3600), key=team)
    assert api.call("DELETE", "/guests/ben@example.org").status == 200
    api.world.clock.advance(3600)
    assert reached(api) == {"cleo@example.org"}


@pytest.mark.promise(13)
def test_a_campaign_s_list_and_its_test_reach_guests_only(api: Api, team: str) -> None:
    campaign = api.campaign(key=team)
    assert api.call("POST", f"/campaigns/{campaign}/test", {"recipient": EVE}, key=team).code == "no_valid_recipient"
    people = [{"recipient": x, "name": "X"} for x in (GUEST, EVE, "Ann+1@example.org", "Ann <eve@example.net>")]
    upload = api.listed(campaign, *people, key=team)
    found = api.call("GET", f"/campaigns/{campaign}/uploads/{upload}", key=team).json
    assert found["skipped"] == {"not_a_guest": found["accepted"] - 1}
    job = api.sent(campaign, key=team)
    assert reached(api) == {GUEST}
    assert api.call("GET", f"/jobs/{job}", key=team).json["key_kind"] == "team"


@pytest.mark.slow
@pytest.mark.promise(13)
def test_a_mail_goes_to_its_envelope_s_guests_whatever_its_headers_say(api: Api, team: str) -> None:
    body: dict[str, Any] = {"mail_from": "news@example.com", "content": PLAIN}
    refused = api.call("POST", "/mails", {**body, "destinations": [{"address": EVE}]}, key=team)
    assert refused.code == "no_valid_recipient"
    both = [{"address": EVE}, {"address": "Ann@example.org"}]
    mail = api.call("POST", "/mails", {**body, "destinations": both}, key=team).json["mail_id"]
    api.world.run(seconds=60)  # its lanes have no messages
    ends = {x["address"]: x["error"] for x in api.call("GET", f"/mails/{mail}", key=team).json["destinations"]}
    assert ends == {EVE: "not_a_guest", "Ann@example.org": "content_gone"}


@pytest.mark.slow
@pytest.mark.promise(13)
@pytest.mark.parametrize("removed", ["before its time", "and added again by the team key"])
def test_a_scheduled_message_looks_at_the_guests_of_its_time(api: Api, team: str, removed: str) -> None:
    job = api.accepted([GUEST], key=team, scheduled_at="2026-09-22T00:00:00Z")
    assert api.call("DELETE", f"/guests/{GUEST}").json == {"address": GUEST, "removed": True}
    if removed.startswith("and"):
        assert api.call("PUT", f"/guests/{GUEST}", key=team).code == "live_key_needed"
    api.world.clock.advance(86_400)
    assert reached(api) == set()
    assert api.call("GET", f"/jobs/{job}", key=team).json["counts"]["skipped"] == 1


@pytest.mark.promise(13)
def test_a_team_key_does_not_change_the_guest_list(api: Api, team: str) -> None:
    assert api.call("PUT", f"/guests/{EVE}", key=team).code == "live_key_needed"
    assert api.call("DELETE", f"/guests/{GUEST}", key=team).code == "live_key_needed"
    assert [x["address"] for x in api.call("GET", "/guests", key=team).json["items"]] == [GUEST]
    for method, path in (("GET", "/guests"), ("GET", f"/guests/{GUEST}"), ("PUT", f"/guests/{EVE}")):
        assert api.call(method, path, key=api.test_key()).status == 403
    assert [x["address"] for x in api.call("GET", "/guests").json["items"]] == [GUEST]


@pytest.mark.slow
@pytest.mark.promise(13)
def test_a_live_key_cannot_turn_a_team_job_into_a_live_one(api: Api, team: str) -> None:
    job = batch(api, team, [GUEST, EVE]).json["job_id"]
    reached(api)
    for path in (f"/jobs/{job}", f"/jobs/{job}/retry", f"/jobs/{job}/resume", f"/batches/{job}/stop"):
        assert api.call("GET" if path.count("/") == 2 else "POST", path).code == "not_found"
    assert api.call("POST", f"/jobs/{job}/retry", {"include": ["unsent", "failed", "unknown"]}, key=team).status == 200
    assert reached(api) == {GUEST}


@pytest.mark.promise(13)
def test_digests_of_a_team_key_reach_guests_only(api: Api, team: str) -> None:
    assert put_policy(api, key=team).status == 200
    event = {"event_type": "build.failed", "batch_key": "acme/one", "recipients": [GUEST, EVE], "urgent": True}
    assert api.call("POST", "/events", event, key=team).status == 202
    api.world.settle()
    space = team_space(api.account)
    assert set(api.services.records.suppressed(space, [GUEST, EVE])) == {EVE}, "the list that digests are made by"


@pytest.mark.slow
@pytest.mark.promise(13)
def test_a_link_of_a_team_mail_unsubscribes_from_team_mail_alone(api: Api, team: str) -> None:
    job = batch(api, team, [GUEST], unsubscribe=True).json["job_id"]
    assert reached(api) == {GUEST}
    assert api.world.records.job(job).account == team_space(api.account)  # type: ignore[union-attr]
    api.services.suppressions.put(team_space(api.account), GUEST, "page")
    assert api.call("GET", f"/suppressions/{GUEST}").code == "not_found"
    assert batch(api, team, [GUEST]).code == "no_valid_recipient"
    assert api.batch([GUEST]).status == 202


@pytest.mark.slow
@pytest.mark.promise(13)
def test_senders_credentials_and_a_suspension_are_those_of_the_account(api: Api, team: str) -> None:
    assert batch(api, team, [GUEST], from_="eve@example.net").code == "from_not_allowed"
    assert batch(api, team, [GUEST], route=["theirs"]).code == "credential_not_found"
    waiting = api.accepted([GUEST], key=team)
    api.services.accounts.suspend(api.account)
    api.world.clock.advance(CACHE)
    assert batch(api, team, [GUEST]).code == "account_suspended"
    api.world.run(seconds=60)
    assert api.world.oracle.taken == []
    api.services.accounts.unsuspend(api.account)
    assert reached(api) == {GUEST}
    assert api.call("GET", f"/jobs/{waiting}", key=team).json["counts"]["sent"] == 1


@pytest.mark.promise(13)
def test_a_revoked_or_expired_team_key_does_nothing(api: Api, team: str) -> None:
    (key,) = [x for x in api.services.accounts.list_keys(api.account) if x.kind == "team"]
    later = api.accepted([GUEST], key=team, scheduled_at="2026-09-22T00:00:00Z")
    assert api.services.accounts.revoke_key(api.account, key.id)
    api.world.clock.advance(86_400)
    assert api.call("GET", "/jobs", key=team).status == 401
    functions = Dynamo(api.client, sleep=api.world.clock.sleep, homes=api.tables.alone)
    job = api.world.job(later)
    standing = DynamoAccountStatuses(functions, api.tables.records)
    assert standing.read(job.account, job.created_by, job.sender) == AccountStatus(key=False, sender=True)


@pytest.mark.promise(13)
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.one_of(st.text(max_size=40), st.from_regex(r"\A[aAnN.+<> \"]{0,8}@[eExamplE.orgnt]{3,14}>?\Z")))
def test_whatever_text_is_accepted_is_a_guest(api: Api, team: str, text: str) -> None:
    got = batch(api, team, [text, GUEST])
    assert got.status in (202, 422), got.text
    found = parse(text)
    if isinstance(found, Address) and found.key != GUEST and got.status == 202:
        assert got.json["skipped"] >= 1
