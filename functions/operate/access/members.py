"""People who may use the console for an account: invited, listed, changed, removed, signed out."""

from collections.abc import Iterable
from typing import Annotated, Final

from pydantic import AfterValidator

from functions.operate.accounts import AccountBody, AccountQuery, owner_of, resolve
from functions.operate.call import Call, OperateBody, OperateView, route
from functions.operate.services import OperateServices
from shared.contracts import ENV_CONSOLE
from shared.contracts.console import ConsoleSettings
from shared.domain.audit import EVERYONE, Act, audited
from shared.domain.people import Role, User, first_keys, is_login
from shared.web.http import Answer
from shared.web.problems import Problem, invalid
from shared.web.routing import Nothing


def _login(text: str) -> str:
    found = text.strip().removeprefix("@")
    if not is_login(found):
        raise ValueError("A login is the name by which a person signs in, as in octocat")
    return found


Login = Annotated[str, AfterValidator(_login)]
"""The name by which a person signs in; where a member is meant, also the id of the user."""


class LoginBody(OperateBody):
    """Whose login is meant."""

    login: Login


class MemberBody(AccountBody):
    """A member of an account, or a login that is invited."""

    login: Login


class MemberRole(MemberBody):
    """A role in an account."""

    role: Role


class OperatedMember(OperateView):
    """A member, or a login that is invited. `user_id`: None of an invited one."""

    login: str
    role: Role
    state: str
    name: str
    last_signed_in_at: int
    user_id: str | None


class OperatedMembers(OperateView):
    """The members of an account, and the logins that are invited."""

    account_id: str
    items: list[OperatedMember]


class MemberState(OperateView):
    """A role in an account, now. `provider`: by which people sign in."""

    account_id: str
    login: str
    role: Role
    state: str
    provider: str


class KeyLeft(OperateView):
    """A key that a person made with their own account. It works without them."""

    account_id: str
    key_id: str


class MemberRemoved(OperateView):
    """Somebody who may no longer see an account."""

    account_id: str
    login: str
    keys: list[KeyLeft]


class SignedOut(OperateView):
    """The users whose sessions are over."""

    login: str
    users: list[str]
    keys: list[KeyLeft]


class LoginReleased(OperateView):
    """A login that the next person gets who signs in by it."""

    login: str


def list_members(call: Call[AccountQuery, Nothing]) -> Answer:
    """Return the members of an account, and the logins that are invited."""
    _provider(call.services)
    whose, people = resolve(call.services, call.query.account), call.services.people
    rows = [
        OperatedMember(
            login=user.login,
            role=membership.role,
            state="member",
            name=user.name,
            last_signed_in_at=user.seen_at,
            user_id=user.id,
        )
        for user, membership in people.members(whose)
    ]
    rows += [
        OperatedMember(login=login, role=role, state="invited", name="", last_signed_in_at=0, user_id=None)
        for login, role in people.waiting(whose)
    ]
    return OperatedMembers(account_id=whose, items=rows).answer()


def invite_member(call: Call[Nothing, MemberRole]) -> Answer:
    """Invite a login to an account."""
    provider, body = _provider(call.services), call.body
    whose = owner_of(call)
    if _member(call.services, whose, body.login) is not None:
        change = f"posthaste member role {whose} {body.login} ROLE"
        raise invalid("login", f"{body.login} is a member already: change the role with `{change}`.")
    call.services.people.invite(provider, body.login, whose, body.role, by=call.key.id)
    return MemberState(account_id=whose, login=body.login, role=body.role, state="invited", provider=provider).answer()


def change_role(call: Call[Nothing, MemberRole]) -> Answer:
    """Change what a member may do, from the next page on."""
    provider, body = _provider(call.services), call.body
    whose = owner_of(call)
    user = _member(call.services, whose, body.login)
    if user is None or not call.services.people.change(user.id, whose, body.role, by=call.key.id):
        raise _unknown(body.login, whose)
    return MemberState(account_id=whose, login=user.login, role=body.role, state="member", provider=provider).answer()


def remove_member(call: Call[Nothing, MemberBody]) -> Answer:
    """Remove a member from an account, or take an invitation back."""
    services, login = call.services, call.body.login
    provider, whose = _provider(services), owner_of(call)
    user = _member(services, whose, login)
    left = _keys_left(services, [(user, whose)]) if user else []
    if user is not None:
        services.people.remove(user.id, whose, by=call.key.id)
    elif login.lower() in {waiting for waiting, _ in services.people.waiting(whose)}:
        services.people.withdraw(provider, login, whose, by=call.key.id)
    else:
        raise _unknown(login, whose)
    return MemberRemoved(account_id=whose, login=login, keys=left).answer()


def withdraw_all(services: OperateServices, account: str, *, by: str) -> None:
    """Remove all members of an account, and take its invitations back, where there is a console."""
    if ENV_CONSOLE not in services.env:
        return
    for user, _ in services.people.members(account):
        services.people.remove(user.id, account, by=by)
    for login, _ in services.people.waiting(account):
        services.people.withdraw(_provider(services), login, account, by=by)


def sign_out(call: Call[Nothing, LoginBody]) -> Answer:
    """End all sessions of a login, in all browsers."""
    services, login = call.services, call.body.login
    _provider(services)
    users = services.people.named(login)
    if not users:
        stage = services.settings.stage
        raise Problem("not_found", f"{login} has never signed in to the console of stage {stage}.")
    for user in users:
        services.people.end_all(user.id)
        at = int(services.clock.now() * 1000)
        services.journal.write(audited(EVERYONE, at, user.id, Act.MEMBER_SIGNED_OUT, call.key.id))
    left = _keys_left(services, [(user, user.own) for user in users if user.own])
    return SignedOut(login=login, users=[user.id for user in users], keys=left).answer()


def release_login(call: Call[Nothing, LoginBody]) -> Answer:
    """Let a login of the settings become the next person's who signs in by it."""
    login = call.body.login
    if not call.services.people.release(_provider(call.services), login, by=call.key.id):
        said = f"The login {login} has no owner yet: the next person who signs in by it gets it."
        raise Problem("not_found", said)
    return LoginReleased(login=login).answer()


def _provider(services: OperateServices) -> str:
    """Return the provider by which people sign in; Problem not_found without a console."""
    if ENV_CONSOLE not in services.env:
        raise Problem("not_found", f"Stage {services.settings.stage} has no console: see docs/console.md.")
    return ConsoleSettings.loads(services.env[ENV_CONSOLE]).provider


def _member(services: OperateServices, account: str, who: str) -> User | None:
    """Return the member of an account by the login of their last sign-in, or by the user's id; None: there is none.

    Raises:
        Problem: validation_failed: two members have signed in by the login.
    """
    members = [user for user, _ in services.people.members(account)]
    found = [user for user in members if who == user.id or user.login.lower() == who.lower()]
    if len(found) > 1:
        ids = ", ".join(user.id for user in found)
        raise invalid("login", f"{len(found)} members have signed in by {who}: use a user ID, one of {ids}.")
    return found[0] if found else None


def _keys_left(services: OperateServices, some: Iterable[tuple[User, str]]) -> list[KeyLeft]:
    """Return the keys that people made with their own accounts."""
    return [
        KeyLeft(account_id=account, key_id=key)
        for user, account in some
        for key in first_keys(user, account, services.accounts.list_keys(account))
    ]


def _unknown(login: str, account: str) -> Problem:
    return Problem("not_found", f"{login} is no member of {account}: see `posthaste member list {account}`.")


ROUTES: Final = (
    route("GET", "/members", "Members of an account", list_members, OperatedMembers, "not_found"),
    route("POST", "/members/invite", "Invite a login", invite_member, MemberState, "not_found"),
    route("POST", "/members/role", "Change what a member may do", change_role, MemberState, "not_found"),
    route("POST", "/members/remove", "Remove a member", remove_member, MemberRemoved, "not_found"),
    route("POST", "/members/sign-out", "End all sessions of a login", sign_out, SignedOut, "not_found"),
    route("POST", "/members/release", "Release a login", release_login, LoginReleased, "not_found"),
)
