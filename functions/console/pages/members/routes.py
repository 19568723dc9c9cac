"""Members of an account: who they are, who is invited, and what adds and removes them."""

from typing import Final

from functions.console.call import Look
from functions.console.screen import Denial, PageRoute, leave_for
from shared.domain.accounts import Scope
from shared.domain.people import Role, is_login
from shared.web.http import Answer

ROLES: Final = tuple(role.value for role in Role)
NO_LOGIN: Final = Denial(422, "This is no login", "Type the name by which the person signs in, as in octocat.")
OWN_ROLE: Final = Denial(409, "You cannot change your own role", "Ask another admin of the account to do it.")
YOURSELF: Final = Denial(409, "You cannot remove yourself", "Ask another admin of the account to do it.")


def members(look: Look) -> Answer:
    """Show the account's members, and those who are invited."""
    people = look.services.people
    context = {"members": people.members(look.account), "waiting": people.waiting(look.account), "roles": ROLES}
    return look.services.pages.page(look, "members/members.html", {**context, "provider": look.services.provider})


def invite(look: Look) -> Answer:
    """Invite somebody by their login, or change the role of a member, at once."""
    login, role = look.form.get("login", "").strip().removeprefix("@"), look.form.get("role", "")
    if not is_login(login) or role not in ROLES:
        raise NO_LOGIN
    people, user = look.services.people, look.who.person.user
    members = (found for found, _ in people.members(look.account) if found.login.lower() == login.lower())
    member = next(members, None)
    if member is None:
        people.invite(look.services.console.provider, login, look.account, Role(role), by=user.actor)
    elif member.id == user.id:
        raise OWN_ROLE
    else:
        people.change(member.id, look.account, Role(role), by=user.actor)
    return _back(look)


def withdraw(look: Look) -> Answer:
    """Take an invitation back."""
    login = look.form.get("login", "")
    if not is_login(login):
        raise NO_LOGIN
    provider = look.services.console.provider
    look.services.people.withdraw(provider, login, look.account, by=look.actor)
    return _back(look)


def remove(look: Look) -> Answer:
    """Take a membership away; one's own stays, so that an account is not left without an admin by mistake."""
    user = look.form.get("user", "")
    if user == look.who.person.user.id:
        raise YOURSELF
    if user in {member.id for member, _ in look.services.people.members(look.account)}:
        look.services.people.remove(user, look.account, by=look.actor)
    return _back(look)


def _back(look: Look) -> Answer:
    return leave_for(look, "members")


_PATH: Final = "/console/{account}/members"
ROUTES: Final = (
    PageRoute("GET", _PATH, "members", members),
    PageRoute("POST", f"{_PATH}/invite", "invite a member", invite, Scope.ADMIN),
    PageRoute("POST", f"{_PATH}/withdraw", "withdraw an invitation", withdraw, Scope.ADMIN),
    PageRoute("POST", f"{_PATH}/remove", "remove a member", remove, Scope.ADMIN),
)
