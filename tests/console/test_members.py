"""Members: admins invite and remove, the audit log says so, and nobody else may."""

import html
import re
from urllib.parse import quote

from functions.console import lists
from shared.domain.people import Identity, Role
from tests.console.conftest import ANN, Console

BEN = Identity("github", "2", "ben")


def test_an_admin_invites_and_removes(console: Console) -> None:
    console.member()
    assert console.post(f"/{console.account}/members/invite", login="@Ben", role="sender").status == 303
    page = console.shown("/members")
    assert "<small>invited</small>" in page
    admin = dict(console.cookies)
    console.cookies.clear()
    assert console.sign_in(BEN).status == 303
    assert console.get(f"/{console.account}").status == 200
    assert "Invite, or change a role" not in console.shown("/members")
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
    assert done == {("member.removed", "user:Ann"), ("member.invited", "user:Ann")}


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


def test_nobody_removes_themselves_and_wrong_forms_change_nothing(console: Console) -> None:
    console.member()
    ((ann, _),) = console.services.people.members(console.account)
    assert console.post(f"/{console.account}/members/remove", user=ann.id).status == 409
    assert console.get(f"/{console.account}/members/remove?user={quote(ann.id)}").status == 409
    for unknown in ("", "?user=", "?user=U%23other"):
        assert console.get(f"/{console.account}/members/remove{unknown}").status == 404
    assert console.post(f"/{console.account}/members/remove", user="U#other").status == 303
    for login, role in (("", "admin"), ("a b", "admin"), ("ben", "king"), ("ben", "")):
        assert console.post(f"/{console.account}/members/invite", login=login, role=role).status == 422
    assert console.services.people.waiting(console.account) == []


def test_only_an_admin_may(console: Console) -> None:
    console.member(ANN, Role.SENDER)
    for action in ("invite", "withdraw", "remove"):
        assert console.post(f"/{console.account}/members/{action}", login="ben", role="admin").status == 403
    assert console.services.people.waiting(console.account) == []


def test_the_role_of_a_member_changes_with_their_next_page(console: Console) -> None:
    console.member()
    admin = dict(console.cookies)
    console.cookies.clear()
    console.member(BEN, Role.VIEWER)
    ben = dict(console.cookies)
    console.cookies = admin
    assert console.post(f"/{console.account}/members/invite", login="BEN", role="admin").status == 303
    assert console.services.people.waiting(console.account) == []
    console.cookies = ben
    assert "Invite, or change a role" in console.shown("/members")
    console.cookies = admin
    assert console.post(f"/{console.account}/members/invite", login="ann", role="viewer").status == 409
    assert "Invite, or change a role" in console.shown("/members")


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
