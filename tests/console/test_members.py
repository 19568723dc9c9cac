"""Members: admins invite and remove, the audit log says so, and nobody else may."""

import html
import re
from dataclasses import replace
from urllib.parse import quote

import pytest

from functions.console import lists
from shared.domain.people import Identity, Role
from tests.console.console import ANN, Console

BEN = Identity("github", "2", "ben")


@pytest.mark.slow
def test_an_admin_invites_and_removes(console: Console) -> None:
    console.member()
    assert console.post(f"/{console.account}/members/invite", login="@Ben", role="sender").status == 303
    page = console.shown("/members")
    assert "<small>invited</small>" in page
    admin = dict(console.cookies)
    console.cookies.clear()
    assert console.sign_in(BEN).status == 303
    assert console.get(f"/{console.account}").status == 200
    assert 'id="invite"' not in console.shown("/members")
    member = dict(console.cookies)
    console.cookies = admin
    page = console.shown("/members")
    assert "<small>invited</small>" not in page
    ((ben, membership),) = [x for x in console.services.people.members(console.account) if x[0].login == "ben"]
    assert membership.role is Role.SENDER
    (link,) = re.findall(rf'href="[^"]*/members/(remove\?user={re.escape(quote(ben.id))})"', page)
    asked = console.shown(f"/members/{html.unescape(link)}")
    assert "Remove ben?" in asked
    assert "<b>1</b> member, ben with the role sender" in asked
    assert f'name="user" value="{html.escape(ben.id)}"' in asked
    assert [user.login for user, _ in console.services.people.members(console.account)] == ["Ann", "ben"]
    assert console.post(f"/{console.account}/members/remove", user=ben.id).status == 303
    console.cookies = member
    assert console.get(f"/{console.account}").status == 404, "with the next page"
    entries = console.api.call("GET", "/audit").json["items"]
    done = {(e["action"], e["actor"]) for e in entries if e["action"].startswith("member.") and e["actor"] != "system"}
    joined = {("member.joined", "user:Ann"), ("member.joined", "user:ben")}
    assert done == {("member.removed", "user:Ann"), ("member.invited", "user:Ann")} | joined


@pytest.mark.slow
def test_an_invitation_is_withdrawn(console: Console) -> None:
    console.member()
    console.post(f"/{console.account}/members/invite", login="ben", role="admin")
    asked = console.shown("/members/withdraw?login=ben")
    assert "<b>1</b> invitation, as admin" in asked
    assert len(console.services.people.waiting(console.account)) == 1
    assert console.post(f"/{console.account}/members/withdraw", login="ben").status == 303
    assert console.get(f"/{console.account}/members/withdraw?login=ben").status == 404
    assert console.services.people.waiting(console.account) == []
    console.cookies.clear()
    console.sign_in(BEN)
    assert console.get(f"/{console.account}").status == 404


@pytest.mark.slow
def test_nobody_removes_themselves_and_wrong_forms_change_nothing(console: Console) -> None:
    console.member()
    ((ann, _),) = console.services.people.members(console.account)
    assert console.post(f"/{console.account}/members/remove", user=ann.id).status == 409
    assert console.get(f"/{console.account}/members/remove?user={quote(ann.id)}").status == 409
    for unknown in ("", "?user=", "?user=U%23other"):
        assert console.get(f"/{console.account}/members/remove{unknown}").status == 404
    assert console.post(f"/{console.account}/members/remove", user="U#other").status == 303
    assert console.post(f"/{console.account}/members/remove", user="u" * 1_100).status == 303
    assert console.post(f"/{console.account}/members/role", user="u" * 1_100, role="admin").status == 404
    for login, role in (("", "admin"), ("a b", "admin"), ("ben", "king"), ("ben", "")):
        assert console.post(f"/{console.account}/members/invite", login=login, role=role).status == 422
    assert console.services.people.waiting(console.account) == []


@pytest.mark.slow
def test_only_an_admin_may(console: Console) -> None:
    console.member(ANN, Role.SENDER)
    for action in ("invite", "role", "withdraw", "remove"):
        assert console.post(f"/{console.account}/members/{action}", login="ben", role="admin").status == 403
    assert console.services.people.waiting(console.account) == []


def joined(console: Console, who: Identity, role: Role) -> tuple[str, dict[str, str]]:
    """Make somebody a member; return their id and their cookies, and be the admin again."""
    admin = dict(console.cookies)
    console.cookies.clear()
    console.member(who, role)
    cookies, console.cookies = dict(console.cookies), admin
    (user,) = [user.id for user, _ in console.services.people.members(console.account) if user.subject == who.subject]
    return user, cookies


@pytest.mark.slow
def test_the_role_of_a_member_changes_after_a_question_with_their_next_page(console: Console) -> None:
    console.member()
    ben, cookies = joined(console, BEN, Role.VIEWER)
    page = console.shown("/members")
    assert f"members/role?user={quote(ben)}&amp;role=admin" in page
    asked = console.shown(f"/members/role?user={ben}&role=admin")
    assert "Make ben admin?" in asked
    assert console.post(f"/{console.account}/members/role", user=ben, role="admin").status == 303
    console.cookies, admin = cookies, console.cookies
    assert 'id="invite"' in console.shown("/members")
    console.cookies = admin
    ann = next(u.id for u, _ in console.services.people.members(console.account) if u.login == "Ann")
    assert console.post(f"/{console.account}/members/role", user=ann, role="viewer").status == 409
    assert console.get(f"/{console.account}/members/role?user={ann}&role=viewer").status == 409
    for user, role in ((ben, "king"), ("0" * 26, "admin"), ("", "admin")):
        assert console.post(f"/{console.account}/members/role", user=user, role=role).status == 404


@pytest.mark.slow
def test_an_invitation_of_a_login_that_became_another_s_promotes_nobody(console: Console) -> None:
    console.member()
    old, cookies = joined(console, BEN, Role.VIEWER)
    refused = console.post(f"/{console.account}/members/invite", login="BEN", role="admin")
    assert (refused.status, "is a member already" in refused.text) == (409, True)
    console.services.people.invite("github", "ben", console.account, Role.ADMIN)
    new, _ = joined(console, Identity("github", "56", "ben", organizations=frozenset({"acme"})), Role.ADMIN)
    roles = {user.id: found.role for user, found in console.services.people.members(console.account)}
    assert (roles[old], roles[new]) == (Role.VIEWER, Role.ADMIN)
    console.cookies = cookies
    assert console.get(f"/{console.account}/keys").status == 403


@pytest.mark.slow
def test_who_is_a_member_keeps_their_role_whatever_waits_for_their_login(console: Console) -> None:
    console.member()
    ben, _ = joined(console, BEN, Role.VIEWER)
    console.services.people.invite("github", "ben", console.account, Role.ADMIN)
    console.sign_in(BEN)
    roles = {user.id: found.role for user, found in console.services.people.members(console.account)}
    assert roles[ben] is Role.VIEWER
    assert console.services.people.waiting(console.account) == []


@pytest.mark.slow
def test_nothing_is_withdrawn_or_removed_that_is_not_there(console: Console) -> None:
    console.member()
    before = console.api.call("GET", "/audit").json["items"]
    assert console.post(f"/{console.account}/members/withdraw", login="nobody-at-all").status == 303
    assert console.post(f"/{console.account}/members/remove", user="0" * 26).status == 303
    assert console.api.call("GET", "/audit").json["items"] == before


@pytest.mark.slow
def test_removing_a_person_says_which_of_their_keys_still_works(console: Console) -> None:
    console.sign_in(BEN)
    page = console.get("").text
    form = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page[page.index('id="own"') :]))
    console.ask("POST", "/join", form={name: html.unescape(value) for name, value in form.items()})
    people = console.services.people
    ((account, ben),) = [(a.id, people.members(a.id)[0][0]) for a in console.services.accounts.list_accounts() if a.own]
    (key,) = console.services.accounts.list_keys(account)
    assert key.name == "first key of ben"
    console.cookies.clear()
    people.invite("github", "ann", account, Role.ADMIN)
    console.sign_in(ANN)
    asked = console.get(f"/{account}/members/remove?user={ben.id}").text
    assert f"posthaste key revoke {account} {key.id}" in asked


def test_a_person_whom_the_settings_no_longer_name_makes_no_account(console: Console) -> None:
    console.sign_in(BEN)
    page = console.get("").text
    form = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page[page.index('id="own"') :]))
    console.services = replace(console.services, console=replace(console.services.console, users=()))
    got = console.ask("POST", "/join", form={name: html.unescape(value) for name, value in form.items()})
    assert got.status == 303
    assert not [a for a in console.services.accounts.list_accounts() if a.own]


@pytest.mark.slow
def test_the_list_filters_by_role_and_pages(console: Console) -> None:
    console.member()
    for i in range(lists.PAGE):
        console.services.people.invite("github", f"person{i}", console.account, Role.SENDER)
    page = console.shown("/members")
    assert page.count("<small>invited</small>") == lists.PAGE - 1
    (following,) = re.findall(r'href="(\?cursor=[^"]+)">Next page', page)
    assert console.shown(f"/members{html.unescape(following)}").count("<small>invited</small>") == 1
    admins = console.shown("/members?role=admin")
    assert admins.count('<th scope="row">') == 1
    assert "Ann" in admins
    assert "No such members" in console.shown("/members?role=viewer")
    assert console.shown("/members?role=king").count('<th scope="row">') == lists.PAGE
