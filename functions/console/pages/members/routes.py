"""Members of an account: who they are, who is invited, and what adds and removes them."""

from typing import Final

from functions.console.call import ConsoleCall
from functions.console.listing import Asked, Filters, ListFilter, ListRows, listed
from functions.console.pages.asking import Question, ask
from functions.console.screen import Denial, PageRoute, absent, leave_for
from shared.domain.accounts import Scope
from shared.domain.people import Role, first_keys, is_login
from shared.frozen import dataclass
from shared.web.http import Answer

SECTION: Final = "Members"
ROLES: Final = tuple(role.value for role in Role)
NO_LOGIN: Final = Denial(422, "This is no login", "Type the name by which the person signs in, as in octocat.")
MEMBER: Final = Denial(
    409,
    "This person is a member already",
    "Change their role in the list. If the login is another person's now, remove the member first.",
)
OWN_ROLE: Final = Denial(409, "You cannot change your own role", "Ask another admin of the account to do it.")
YOURSELF: Final = Denial(409, "You cannot remove yourself", "Ask another admin of the account to do it.")


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A member, or a login that is invited.

    Attributes:
        login: at the provider.
        name: of the person.
        role: in the account.
        user: the member's id; empty: invited.
        seen_at: when they signed in last, Unix milliseconds.
    """

    login: str
    name: str
    role: str
    user: str = ""
    seen_at: int = 0


FILTERS: Final[Filters[MemberRow]] = (ListFilter("role", "Role", ROLES, "every role", lambda x: x.role),)


def _members(at: Asked) -> ListRows[MemberRow]:
    """Return the account's members, and those who are invited."""
    rows = _rows(at.call)
    return ListRows(rows, whole=True, bare=not rows, more={"roles": ROLES, "provider": at.call.services.provider})


def _rows(call: ConsoleCall) -> list[MemberRow]:
    people = call.services.people
    members = ((user, found.role.value) for user, found in people.members(call.account))
    rows = [MemberRow(user.login, user.name or user.login, role, user.id, user.seen_at) for user, role in members]
    return rows + [MemberRow(login, login, role.value) for login, role in people.waiting(call.account)]


def invite(call: ConsoleCall) -> Answer:
    """Invite somebody by their login; a membership that there is stays as it is."""
    login, role = call.form.get("login", "").strip().removeprefix("@"), call.form.get("role", "")
    if not is_login(login) or role not in ROLES:
        raise NO_LOGIN
    people, user = call.services.people, call.who.person.user
    if login.lower() in {found.login.lower() for found, _ in people.members(call.account)}:
        raise MEMBER
    people.invite(call.services.console.provider, login, call.account, Role(role), by=user.actor)
    return _back(call)


def ask_to_change(call: ConsoleCall) -> Answer:
    """Ask whether a member gets another role; the member is a person, also after a change of their login."""
    role, found = call.request.query.get("role", ""), _member(call, call.request.query.get("user", ""), OWN_ROLE)
    if role not in ROLES:
        raise absent("role")
    what = f"member, {found.login}, has the role {found.role}, and is {role} from their next page on."
    title, fields = f"Make {found.name} {role}?", {"user": found.user, "role": role}
    return ask(call, Question(SECTION, title, 1, what, "Change the role", _back_to(call), fields, danger=False))


def change(call: ConsoleCall) -> Answer:
    """Give a member another role."""
    found, role = _member(call, call.form.get("user", ""), OWN_ROLE), call.form.get("role", "")
    if role not in ROLES or not call.services.people.change(found.user, call.account, Role(role), by=call.actor):
        raise absent("member")
    return _back(call)


def _member(call: ConsoleCall, user: str, own: Denial) -> MemberRow:
    """Return a member by their id.

    Args:
        own: what is raised if that is the visitor.

    Raises:
        Denial: there is none, or it is the visitor.
    """
    if user == call.who.person.user.id:
        raise own
    found = next((x for x in _rows(call) if user and x.user == user), None)
    if found is None:
        raise absent("member")
    return found


def ask_to_withdraw(call: ConsoleCall) -> Answer:
    """Ask whether an invitation is taken back."""
    login = call.request.query.get("login", "")
    found = next((x for x in _rows(call) if x.login == login and not x.user), None)
    if found is None:
        raise absent("invitation")
    what = f"invitation, as {found.role}, is taken back. When {found.login} signs in, this account is not there."
    title, fields = f"Withdraw the invitation of {found.login}?", {"login": found.login}
    return ask(call, Question(SECTION, title, 1, what, "Withdraw", _back_to(call), fields))


def withdraw(call: ConsoleCall) -> Answer:
    """Take an invitation back."""
    login = call.form.get("login", "")
    if not is_login(login):
        raise NO_LOGIN
    provider = call.services.console.provider
    call.services.people.withdraw(provider, login, call.account, by=call.actor)
    return _back(call)


def ask_to_remove(call: ConsoleCall) -> Answer:
    """Ask whether a member is removed."""
    found = _member(call, call.request.query.get("user", ""), YOURSELF)
    what = f"member, {found.login} with the role {found.role}, is out with their next page. What they sent goes on."
    what += "".join(f" {x}" for x in _keys_left(call, found.user))
    title, fields = f"Remove {found.name}?", {"user": found.user}
    return ask(call, Question(SECTION, title, 1, what, "Remove", _back_to(call), fields))


def _keys_left(call: ConsoleCall, user: str) -> list[str]:
    """Return sentences about keys that a person made with their own account, which a removal does not end."""
    person = next(found for found, _ in call.services.people.members(call.account) if found.id == user)
    keys = first_keys(person, call.account, call.services.accounts.list_keys(call.account))
    return [f"Their first key {key} still works: posthaste key revoke {call.account} {key}." for key in keys]


def remove(call: ConsoleCall) -> Answer:
    """Take a membership away; one's own stays, so that an account is not left without an admin by mistake."""
    user = call.form.get("user", "")
    if user == call.who.person.user.id:
        raise YOURSELF
    if user in {found.id for found, _ in call.services.people.members(call.account)}:  # removed twice is removed
        call.services.people.remove(user, call.account, by=call.actor)
    return _back(call)


def _back(call: ConsoleCall) -> Answer:
    return leave_for(call, "members")


def _back_to(call: ConsoleCall) -> str:
    return f"{call.account}/members"


_PATH: Final = "/console/{account}/members"
ROUTES: Final = (
    listed(_PATH, "members", "members/members.html", FILTERS, _members),
    PageRoute("POST", f"{_PATH}/invite", "invite a member", invite, Scope.ADMIN),
    PageRoute("GET", f"{_PATH}/role", "ask to change a member's role", ask_to_change, Scope.ADMIN),
    PageRoute("POST", f"{_PATH}/role", "change a member's role", change, Scope.ADMIN),
    PageRoute("GET", f"{_PATH}/withdraw", "ask to withdraw an invitation", ask_to_withdraw, Scope.ADMIN),
    PageRoute("POST", f"{_PATH}/withdraw", "withdraw an invitation", withdraw, Scope.ADMIN, ends=True),
    PageRoute("GET", f"{_PATH}/remove", "ask to remove a member", ask_to_remove, Scope.ADMIN),
    PageRoute("POST", f"{_PATH}/remove", "remove a member", remove, Scope.ADMIN, ends=True),
)
