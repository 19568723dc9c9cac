"""Signing in and out: who may, what a forged or stale answer does, and how sessions end."""

import hashlib
import hmac
import re
from dataclasses import replace
from typing import Any

import pytest

from functions.console.limits import NETWORK_BURST, network
from shared.adapters.dynamo.people.people import DynamoPeople
from shared.domain.people import OPERATOR_MS, SESSION_MS, Identity, Role
from shared.domain.sealing import Keys
from shared.web.sessions import COOKIE, SIGNING_IN, Sessions
from tests.console.console import ANN, KEYS, Console
from tests.fakes.clock import FakeClock

STRANGER = Identity("github", "9", "mallory")


def stored(console: Console, prefix: str) -> list[str]:
    items = console.client.scan(TableName=console.people_table)["Items"]
    return [x["pk"]["S"] for x in items if x["pk"]["S"].startswith(prefix)]


def test_a_page_is_seen_after_signing_in_and_leads_back_to_what_was_asked_for(console: Console) -> None:
    got = console.get(f"/{console.account}/jobs")
    assert (got.status, got.headers["location"]) == (303, f"../sign-in?back={console.account}/jobs")
    console.services.people.invite("github", "ANN", console.account, Role.VIEWER)
    got = console.sign_in(back=f"{console.account}/jobs")
    assert (got.status, got.headers["location"]) == (303, f"./{console.account}/jobs")
    assert console.get(f"/{console.account}/jobs").status == 200
    assert console.get("").headers["location"] == f"console/{console.account}"


@pytest.mark.parametrize(
    ("page", "back"),
    [
        ("{account}/members", "?back={account}/members"),
        ("{account}/campaigns/new?channel=sms", "?back={account}/campaigns/new"),
        ("{account}/members/invite", ""),
        ("nonsense/of/another/site", ""),
        ("", ""),
    ],
)
def test_a_form_of_a_session_that_has_ended_leads_back_to_its_page(console: Console, page: str, back: str) -> None:
    account = console.account
    referer = {"referer": f"https://here.example/x/console/{page.format(account=account)}"}
    got = console.ask("POST", f"/{account}/members/invite", form={"login": "ben"}, headers=referer)
    assert got.status == 303
    assert got.headers["location"] == "../../sign-in" + back.format(account=account)


@pytest.mark.parametrize(
    "back", ["//evil.example", "https://evil.example", "../../evil", "\\evil", "javascript:a", "a//b"]
)
def test_a_sign_in_leads_to_no_other_place(console: Console, back: str) -> None:
    assert console.sign_in(back=back).headers["location"] == "./../console"


@pytest.mark.parametrize(
    ("identity", "allowed"),
    [
        (ANN, True),
        (Identity("github", "2", "somebody", organizations=frozenset({"acme"})), True),
        (Identity("github", "3", "Olga"), True),
        (Identity("github", "4", "acme"), False),
        (Identity("github", "5", "somebody", organizations=frozenset({"ann"})), False),
        (STRANGER, False),
    ],
)
def test_only_who_is_allowed_gets_a_session_and_nothing_is_stored_of_others(
    console: Console, identity: Identity, *, allowed: bool
) -> None:
    got = console.sign_in(identity)
    assert got.status == (303 if allowed else 403)
    assert bool(stored(console, "S#")) is allowed
    assert bool(stored(console, "U#")) is allowed
    assert bool(console.cookies.get(COOKIE)) is allowed


def test_cookies_are_out_of_reach_of_scripts_other_sites_and_plain_connections(console: Console) -> None:
    console.services.people.invite("github", "ann", console.account, Role.VIEWER)
    state = console.begin()
    got = console.services.sessions.begin("user", 0)[1]
    assert {part.strip() for part in got.split(";")[1:]} == {
        "Max-Age=43200",
        "Path=/",
        "HttpOnly",
        "SameSite=Lax",
        "Secure",
    }
    assert {name[:7] for name in (COOKIE, SIGNING_IN)} == {"__Host-"}, "no neighbouring domain can plant one"
    console.get(f"/signed-in?code=good&state={state}")
    (session,) = stored(console, "S#")
    assert console.cookies[COOKIE] not in session, "the table cannot be used to make cookies"


@pytest.mark.parametrize("change", ["state", "cookie", "late", "none"])
def test_a_sign_in_ends_in_the_browser_that_began_it(console: Console, clock: FakeClock, change: str) -> None:
    state = console.begin()
    if change == "state":
        state = "another"
    elif change == "cookie":
        console.cookies[SIGNING_IN] = console.cookies[SIGNING_IN].swapcase()
    elif change == "none":
        console.cookies.clear()
    else:
        clock.advance(601)
    got = console.get(f"/signed-in?code=good&state={state}")
    assert got.status == 400
    assert stored(console, "S#") == []


def test_a_provider_that_refuses_signs_nobody_in(console: Console) -> None:
    assert console.sign_in(None).status == 502
    state = console.begin()
    got = console.get(f"/signed-in?error=access_denied&state={state}")
    assert got.status == 403
    assert "You did not sign in" in got.text


def test_one_sign_in_is_tried_three_times_and_the_provider_is_not_asked_again(console: Console) -> None:
    console.provider.next = None
    state = console.begin()
    tries = [console.get(f"/signed-in?code=good&state={state}").status for _ in range(5)]
    assert tries == [502, 502, 502, 429, 429]
    console.provider.next = ANN
    assert console.get(f"/signed-in?code=good&state={state}").status == 429
    assert console.sign_in().status == 303, "one that is begun anew has an allowance of its own"


@pytest.mark.slow
def test_one_person_of_a_network_does_not_lock_out_its_others(console: Console) -> None:
    console.address = "192.0.2.7"
    assert {console.sign_in(None).status for _ in range(100)} == {502}
    assert console.sign_in().status == 303


@pytest.mark.slow
def test_a_network_that_tries_too_often_waits_and_others_do_not(console: Console, clock: FakeClock) -> None:
    console.address = "2001:db8:0:1::1"
    limits = console.services.limits
    assert console.sign_in(None).status == 502
    for _ in range(NETWORK_BURST - 1):
        assert limits.networks.take(limits._digest(network(console.address))) is None
    console.address = "2001:db8:0:1:ffff::2"
    refused = console.sign_in()
    assert (refused.status, console.cookies.get(COOKIE)) == (429, None)
    assert "Too many sign-ins" in refused.text
    console.address = "2001:db8:0:2::1"
    assert console.sign_in().status == 303
    console.address = "2001:db8:0:1::1"
    clock.advance(10)
    assert console.sign_in().status == 303
    kept = stored(console, "R#")
    assert kept
    assert not [x for x in kept if re.search("2001:?0?db8", x)], "no address is stored, however it is written"
    guessed = hashlib.sha256(b"posthaste sign-in 2001:db8:0:1::/64").hexdigest()
    assert not [x for x in kept if guessed in x], "nor a hash that could be guessed without the key"
    keyed = hmac.digest(KEYS.current.encode(), b"posthaste sign-in 2001:db8:0:1::/64", "sha256").hex()
    assert [x for x in kept if keyed in x]


@pytest.mark.slow
def test_a_session_that_a_browser_had_before_is_not_the_one_of_who_signs_in(console: Console) -> None:
    console.sign_in(Identity("github", "2", "ben"))
    planted = console.cookies[COOKIE]
    console.member()
    assert console.cookies[COOKIE] != planted
    assert console.get(f"/{console.account}").status == 200
    console.cookies[COOKIE] = planted
    assert console.get(f"/{console.account}").status == 404, "the planted session is still another person's"


@pytest.mark.parametrize("how", ["expired", "ended", "everywhere", "forged", "stolen half"])
def test_a_session_that_is_over_shows_nothing(console: Console, clock: FakeClock, how: str) -> None:
    console.member()
    page = f"/{console.account}"
    assert console.get(page).status == 200
    kept = console.cookies[COOKIE]
    if how == "expired":
        clock.advance(SESSION_MS / 1000)
    elif how == "ended":
        assert console.post("/sign-out").status == 303
        assert console.cookies[COOKIE] == ""
        console.cookies[COOKIE] = kept
    elif how == "everywhere":
        clock.advance(1)
        console.post("/sign-out-everywhere")
        console.cookies[COOKIE] = kept
    elif how == "forged":
        console.cookies[COOKIE] = "A" * 60
    else:
        console.cookies[COOKIE] = kept[: len(kept) // 2]
    got = console.get(page)
    assert (got.status, got.text) == (303, "")
    live = console.get(page, headers={"hx-request": "true"})
    assert live.headers["hx-redirect"].startswith("./sign-in"), "what renews itself leads to the sign-in, too"


def test_one_person_is_one_user_by_any_login_and_their_role_follows_the_settings(console: Console) -> None:
    console.sign_in(Identity("github", "7", "ben", organizations=frozenset({"keepers"})))
    assert console.get("").status == 200
    assert "· operator" in console.get("").text
    console.sign_in(Identity("github", "7", "ann"))
    assert len(stored(console, "I#")) == 1
    assert "· operator" not in console.get("").text


@pytest.mark.slow
def test_an_invitation_is_for_whoever_first_signs_in_by_that_login(console: Console) -> None:
    console.member(role=Role.SENDER)
    ((user, membership),) = console.services.people.members(console.account)
    assert (user.login, membership.role) == ("Ann", Role.SENDER)
    console.sign_in(Identity("github", "8", "ANN"))
    assert len(console.services.people.members(console.account)) == 1, "a login that became another's gives nothing"


def changed(console: Console, **changes: Any) -> None:
    """Deploy other settings."""
    console.services = replace(console.services, console=replace(console.services.console, **changes))


@pytest.mark.parametrize("login", ["olga", "ann"])
def test_a_login_that_became_another_s_gives_neither_entry_nor_the_role(console: Console, login: str) -> None:
    console.sign_in(Identity("github", "100", login))
    assert ("· operator" in console.get("").text) is (login == "olga")
    console.cookies.clear()
    got = console.sign_in(Identity("github", "666", login.upper(), "Stranger"))
    assert got.status == 403
    assert f"posthaste member release {login.upper()}" in got.text
    assert not console.cookies.get(COOKIE)
    assert console.sign_in(Identity("github", "100", login)).status == 303, "the first person still may"


def test_a_stranger_with_an_operator_s_old_login_is_what_their_organization_makes_them(console: Console) -> None:
    console.sign_in(Identity("github", "100", "olga"))
    console.cookies.clear()
    assert console.sign_in(Identity("github", "666", "olga", organizations=frozenset({"acme"}))).status == 303
    assert "· operator" not in console.get("").text
    assert console.get("/credentials").status == 404


def test_a_login_that_an_operator_releases_is_the_next_person_s(console: Console) -> None:
    console.sign_in(Identity("github", "100", "olga"))
    people = console.services.people
    assert isinstance(people, DynamoPeople)
    assert people.release("github", "OLGA", by="operator:1:ops")
    assert not people.release("github", "olga", by="operator:1:ops")
    assert console.sign_in(Identity("github", "101", "olga")).status == 303
    assert "· operator" in console.get("").text
    assert console.sign_in(Identity("github", "100", "olga")).status == 403


def test_an_id_of_the_settings_is_one_person_by_any_login(console: Console) -> None:
    changed(console, users=("id:7",), organizations=(), roles={"id:8": "operator"})
    assert console.sign_in(Identity("github", "7", "anything")).status == 303
    assert "· operator" not in console.get("").text
    console.sign_in(Identity("github", "8", "ann"))
    assert "· operator" in console.get("").text
    assert console.sign_in(Identity("github", "9", "id:7")).status == 403
    assert console.sign_in(Identity("github", "77", "7")).status == 403


@pytest.mark.parametrize("who", ["olga", "keepers", "100"])
def test_an_operator_whom_the_settings_no_longer_name_is_none_with_the_next_page(console: Console, who: str) -> None:
    changed(console, users=("olga",), organizations=("keepers",), roles={"id:100" if who == "100" else who: "operator"})
    console.sign_in(Identity("github", "100", "olga", organizations=frozenset({"keepers"})))
    assert console.get("/credentials").status == 200
    changed(console, roles={})
    assert console.get("/credentials").status in (303, 404)
    assert console.get(f"/{console.account}").status in (303, 404)
    console.sign_in(Identity("github", "100", "olga", organizations=frozenset({"keepers"})))
    assert console.get("/credentials").status == 404


def test_a_person_whom_the_settings_no_longer_name_is_out_with_the_next_page(console: Console) -> None:
    console.member()
    changed(console, users=("ben",))
    got = console.get(f"/{console.account}")
    assert (got.status, "sign-in" in got.headers["location"]) == (303, True)
    assert console.sign_in().status == 403


def test_an_operator_by_an_organization_signs_in_again_every_hour(console: Console, clock: FakeClock) -> None:
    console.sign_in(Identity("github", "7", "ben", organizations=frozenset({"keepers"})))
    clock.advance(OPERATOR_MS / 1000 - 1)
    assert console.get("/credentials").status == 200
    clock.advance(1)
    got = console.get("/credentials")
    assert (got.status, got.headers["location"]) == (303, "./sign-in?back=credentials")
    console.sign_in(Identity("github", "8", "olga"))
    clock.advance(OPERATOR_MS / 1000)
    assert console.get("/credentials").status == 200, "whom the settings name are compared with them on each page"


def test_a_new_key_without_the_previous_one_ends_every_session(console: Console) -> None:
    console.member()
    rotated = Sessions(lambda: Keys("n" * 40, (KEYS.current,)))
    console.services = replace(console.services, sessions=rotated)
    assert console.get(f"/{console.account}").status == 200
    console.services = replace(console.services, sessions=Sessions(lambda: Keys("n" * 40)))
    assert console.get(f"/{console.account}").status == 303
