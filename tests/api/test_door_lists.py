"""SendGrid's lists of bounces and unsubscribes, from the suppressions that are stored here."""

from typing import Any

import pytest
from python_http_client.exceptions import HTTPError
from sendgrid import SendGridAPIClient

import functions.api.doors.lists as door
from shared.domain.accounts import Scope
from shared.domain.audit import Act
from shared.domain.recipients.suppressions import Reach
from tests.api.conftest import Api
from tests.api.site import pages
from tests.api.test_doors import errors
from tests.fakes.clock import FakeClock

BOUNCES = "/v3/suppression/bounces"
UNSUBSCRIBES = "/v3/suppression/unsubscribes"
GLOBAL = "/v3/asm/suppressions/global"


@pytest.fixture
def known(api: Api, clock: FakeClock) -> Api:
    """Return an API whose account has bounces of three addresses, and what is no bounce."""
    start, records = int(clock.now()), api.world.records
    for n, (address, reason, job) in enumerate(
        (
            ("old@example.org", "bounced", "j1"),
            ("mid@example.org", "bounced", "j1"),
            ("spam@example.org", "complained", "j1"),
            ("mine@example.org", "asked us to", ""),
            ("+4915112345678", "bounced", "j1"),
            ("new@example.org", "dropped", "j2"),
        )
    ):
        records.suppress(api.account, address, reason, (start + n) * 1000, job=job)
    records.suppress(api.account, "left@example.org", "one_click", start * 1000, reach=Reach.CAMPAIGNS, job="j1")
    return api


def shown(api: Api, path: str = BOUNCES, **query: Any) -> list[str]:
    got = api.call("GET", path, query=query)
    assert got.status == 200, got.text
    return [x["email"] for x in got.json]


def test_bounces_are_what_messages_led_to(known: Api, clock: FakeClock) -> None:
    got = known.call("GET", BOUNCES)
    start = int(clock.now())
    assert got.json == [
        {"created": start + 5, "email": "new@example.org", "reason": "dropped", "status": ""},
        {"created": start + 1, "email": "mid@example.org", "reason": "bounced", "status": ""},
        {"created": start, "email": "old@example.org", "reason": "bounced", "status": ""},
    ]
    assert known.call("GET", UNSUBSCRIBES).json == [{"created": start, "email": "left@example.org"}]


def test_a_page_is_a_part_of_the_list(known: Api, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    start = int(clock.now())
    assert shown(known, limit=1) == ["new@example.org"]
    assert shown(known, limit=1, offset=1) == ["mid@example.org"]
    assert shown(known, start_time=start + 1) == ["new@example.org", "mid@example.org"]
    assert shown(known, end_time=start) == ["old@example.org"]
    assert shown(known, offset=9) == []
    monkeypatch.setattr(door, "READ", 2)
    assert shown(known) == ["new@example.org", "mid@example.org", "old@example.org"]
    monkeypatch.setattr(door, "MAX_READ", 4)
    assert shown(known, limit=1) == ["new@example.org"]
    got = known.call("GET", BOUNCES)
    said = "The list is too long for this. Page through GET /suppressions by its cursor."
    assert (got.status, errors(got)) == (400, [("offset", said)])


@pytest.mark.parametrize(
    ("field", "query"), [("limit", {"limit": 501}), ("offset", {"offset": -1}), ("email", {"email": "a"})]
)
def test_what_a_list_does_not_know_is_refused(api: Api, field: str, query: dict[str, Any]) -> None:
    got = api.call("GET", BOUNCES, query=query)
    assert (got.status, errors(got)[0][0]) == (400, field)


def test_who_is_removed_may_be_sent_to_again(known: Api) -> None:
    got = known.call("DELETE", f"{BOUNCES}/old@example.org")
    assert (got.status, got.text) == (204, "")
    assert known.call("DELETE", f"{GLOBAL}/left@example.org").status == 204
    assert shown(known) == ["new@example.org", "mid@example.org"]
    assert shown(known, UNSUBSCRIBES) == []
    assert known.call("GET", "/suppressions/old@example.org").code == "not_found"
    for other in (f"{BOUNCES}/old@example.org", f"{BOUNCES}/mine@example.org", f"{BOUNCES}/spam@example.org"):
        assert known.call("DELETE", other).status == 204
    assert [known.call("GET", f"/suppressions/{x}@example.org").status for x in ("mine", "spam")] == [200, 200]
    events = known.call("GET", "/audit").json["items"]
    assert [e["action"] for e in events].count(Act.SUPPRESSION_REMOVED) == 2


@pytest.mark.promise(9)
def test_another_account_and_a_key_without_the_right_see_nothing(known: Api) -> None:
    assert known.call("GET", BOUNCES, key=known.other()).json == []
    assert known.call("GET", BOUNCES, key=known.test_key()).json == []
    got = known.call("DELETE", f"{BOUNCES}/old@example.org", key=known.scoped(Scope.READ))
    assert (got.status, got.code) == (403, "missing_scope")
    assert known.call("GET", BOUNCES, key=known.scoped(Scope.SUPPRESSIONS)).status == 200
    assert len(shown(known)) == 3


def test_the_vendors_sdk_reads_and_removes(known: Api) -> None:
    with pages(known) as address:
        client = SendGridAPIClient(known.key, host=address).client
        bounces = client.suppression.bounces
        assert [x["email"] for x in bounces.get(query_params={"limit": 2}).to_dict] == [
            "new@example.org",
            "mid@example.org",
        ]
        assert bounces._("mid@example.org").delete().status_code == 204
        assert client.suppression.unsubscribes.get().to_dict[0]["email"] == "left@example.org"
        assert client.asm.suppressions._("global")._("left@example.org").delete().status_code == 204
        with pytest.raises(HTTPError) as found:
            bounces._("nobody").delete()
        assert found.value.status_code == 400
