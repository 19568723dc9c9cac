"""Members: admins invite and remove, the audit log says so, and nobody else may."""

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
    assert console.post(f"/{console.account}/members/remove", user=ben.id).status == 303
    console.cookies = member
    assert console.get(f"/{console.account}").status == 404, "with the next page"
    entries = console.api.call("GET", "/audit").json["items"]
    done = {(e["action"], e["actor"]) for e in entries if e["action"].startswith("member.") and e["actor"] != "system"}
    assert done == {("member.removed", "user:Ann"), ("member.invited", "user:Ann")}


def test_an_invitation_is_withdrawn(console: Console) -> None:
    console.member()
    console.post(f"/{console.account}/members/invite", login="ben", role="admin")
    assert console.post(f"/{console.account}/members/withdraw", login="ben").status == 303
    assert console.services.people.waiting(console.account) == []
    console.cookies.clear()
    console.sign_in(BEN)
    assert console.get(f"/{console.account}").status == 404


def test_nobody_removes_themselves_and_wrong_forms_change_nothing(console: Console) -> None:
    console.member()
    ((ann, _),) = console.services.people.members(console.account)
    assert console.post(f"/{console.account}/members/remove", user=ann.id).status == 409
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
