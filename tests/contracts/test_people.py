"""Users, memberships and sessions on DynamoDB."""

from collections.abc import Mapping
from typing import Any

import pytest

from shared.adapters.dynamo.audit import DynamoJournal
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.people.people import DynamoPeople
from shared.domain.people import INVITED_MS, SESSION_MS, Identity, Role, WebSession
from tests.fakes.clock import FakeClock
from tests.fakes.people import create_people

ANN = Identity("github", "1", "Ann", "Ann Example")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def people(moto_dynamo: Any, clock: FakeClock, request: pytest.FixtureRequest) -> DynamoPeople:
    table = f"people-{abs(hash(request.node.nodeid))}"
    create_people(moto_dynamo, table)
    return DynamoPeople(Dynamo(moto_dynamo, sleep=clock.sleep), table, clock)


def audit_of(people: DynamoPeople, account: str) -> list[tuple[str, str, Mapping[str, str | int]]]:
    found, _ = DynamoJournal(people._db, people._table).page(account, limit=50)
    return [(e.kind, e.id, e.data) for e in found]


def begun(people: DynamoPeople, user: str, now: int, digest: str = "d") -> WebSession:
    session = WebSession(digest, user, now, now + SESSION_MS)
    people.begin(session)
    return session


def test_the_same_identity_is_the_same_user_whatever_its_login(people: DynamoPeople, clock: FakeClock) -> None:
    first = people.signed_in(ANN)
    clock.advance(60)
    again = people.signed_in(Identity("github", "1", "Anna", "Anna"), operator="ann")
    assert (again.id, again.login, again.name, again.operator) == (first.id, "Anna", "Anna", True)
    assert again.created_at == first.created_at
    assert again.seen_at == first.seen_at + 60_000
    assert people.signed_in(Identity("github", "2", "Ann")).id != first.id


def test_two_sign_ins_at_once_make_one_user(people: DynamoPeople, monkeypatch: pytest.MonkeyPatch) -> None:
    first = people.signed_in(ANN)
    answers = iter([None])
    known = people._known
    monkeypatch.setattr(people, "_known", lambda *a, **k: next(answers, known(*a, **k)))
    assert people.signed_in(ANN).id == first.id


def test_what_waits_for_a_login_is_claimed_once(people: DynamoPeople) -> None:
    people.invite("github", "ANN", "acc_1", Role.VIEWER)
    user = people.signed_in(ANN)
    begun(people, user.id, user.seen_at)
    found = people.session("d")
    assert found is not None
    assert found[1].role_in("acc_1") is Role.VIEWER
    assert found[1].role_in("acc_2") is None
    people.signed_in(Identity("github", "2", "ann"))
    assert [(u.id, m.role) for u, m in people.members("acc_1")] == [(user.id, Role.VIEWER)]
    people.invite("github", "ann", "acc_1", Role.ADMIN)
    people.signed_in(ANN)
    assert [m.role for _, m in people.members("acc_1")] == [Role.VIEWER], "an invitation changes no membership"
    assert people.waiting("acc_1") == []


def test_an_invitation_ends_after_thirty_days(people: DynamoPeople, clock: FakeClock) -> None:
    people.invite("github", "ann", "acc_1", Role.ADMIN)
    clock.advance(INVITED_MS / 1000 - 1)
    assert people.waiting("acc_1") == [("ann", Role.ADMIN)]
    clock.advance(1)
    assert people.waiting("acc_1") == []
    people.signed_in(ANN)
    assert people.members("acc_1") == []
    people.invite("github", "ann", "acc_1", Role.VIEWER)
    people.signed_in(ANN)
    assert [m.role for _, m in people.members("acc_1")] == [Role.VIEWER], "they may be invited again"


def test_what_was_not_there_is_not_removed_in_the_audit_log(people: DynamoPeople) -> None:
    user = people.signed_in(ANN)
    assert not people.withdraw("github", "nobody-at-all", "acc_1", by="user:olga")
    assert not people.remove(user.id, "acc_1", by="user:olga")
    assert audit_of(people, "acc_1") == []
    people.invite("github", "ann", "acc_1", Role.VIEWER, by="user:olga")
    people.signed_in(ANN)
    assert people.remove(user.id, "acc_1", by="user:olga")
    kinds = [(kind, name) for kind, name, _ in audit_of(people, "acc_1")]
    assert sorted(kinds) == [("member.invited", "user:ann"), ("member.joined", user.id), ("member.removed", user.id)]
    (told,) = [data for kind, _, data in audit_of(people, "acc_1") if kind == "member.joined"]
    assert told == {"login": "Ann", "role": "viewer"}


def test_a_session_ends_alone_or_with_all_others(people: DynamoPeople, clock: FakeClock) -> None:
    user = people.signed_in(ANN)
    one, other = begun(people, user.id, user.seen_at, "one"), begun(people, user.id, user.seen_at, "other")
    people.end(one.digest)
    assert people.session("one") is None
    assert people.session("nobody's") is None
    found = people.session("other")
    assert found is not None
    assert found[0] == other
    assert found[0].valid_at(user.seen_at, found[1].user)
    assert not found[0].valid_at(other.expires, found[1].user)
    people.end_all(user.id)
    found = people.session("other")
    assert found is not None
    assert not found[0].valid_at(user.seen_at, found[1].user)
    clock.advance(1)
    begun(people, user.id, user.seen_at + 1000, "new")
    found = people.session("new")
    assert found is not None
    assert found[0].valid_at(user.seen_at + 1000, found[1].user), "one begins anew"


def test_a_role_changes_at_once_and_only_that_of_a_member(people: DynamoPeople) -> None:
    people.invite("github", "ann", "acc_1", Role.VIEWER)
    user = people.signed_in(ANN)
    begun(people, user.id, user.seen_at)
    assert people.change(user.id, "acc_1", Role.ADMIN, by="user:olga")
    found = people.session("d")
    assert found is not None
    assert found[1].role_in("acc_1") is Role.ADMIN
    assert [m.role for _, m in people.members("acc_1")] == [Role.ADMIN]
    assert not people.change(user.id, "acc_2", Role.ADMIN, by="user:olga")
    assert people.members("acc_2") == []
    people.remove(user.id, "acc_1", by="user:olga")
    assert not people.change(user.id, "acc_1", Role.ADMIN, by="user:olga"), "a change brings nobody back"


def test_an_account_of_one_s_own_is_settled_in_once(people: DynamoPeople) -> None:
    user = people.signed_in(ANN)
    assert people.settle(user, "acc_1")
    assert not people.settle(user, "acc_1")
    assert not people.settle(user, "acc_2")
    assert [(u.own, m.role) for u, m in people.members("acc_1")] == [("acc_1", Role.ADMIN)]
    assert people.members("acc_2") == []


def test_users_are_found_by_the_login_of_their_last_sign_in(people: DynamoPeople) -> None:
    user = people.signed_in(ANN)
    other = people.signed_in(Identity("github", "2", "ANN"))
    people.signed_in(Identity("github", "3", "ben"))
    assert {x.id for x in people.named("ann")} == {user.id, other.id}
    assert people.named("carl") == []
