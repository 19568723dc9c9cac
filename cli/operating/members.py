"""`posthaste member`: who may use the console for an account, straight to the deployment's table of people."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.deployment import Aws, OperatedDeployment, Stage
from cli.errors import Misused, NotFound
from cli.operating.accounts import Account
from cli.operating.opened import AccountService, opened, resolve
from cli.output import Json, emit, emit_all, emit_or_say, moment, say, surroundings, table
from shared.contracts import ENV_CONSOLE, ENV_PEOPLE_TABLE
from shared.contracts.console import ConsoleSettings
from shared.domain.audit import EVERYONE, Act, audited
from shared.domain.people import Role, User, first_keys, is_login
from shared.ports import Clock

if TYPE_CHECKING:
    from shared.adapters.dynamo.people.people import DynamoPeople

member_app = typer.Typer(help="People who may use the console for an account.", no_args_is_help=True)

Who = Annotated[
    str, typer.Argument(metavar="MEMBER", help="The login, or the user ID if the login could be another person's now.")
]
Login = Annotated[str, typer.Argument(metavar="LOGIN", help="The name by which the person signs in.")]
RoleOf = Annotated[Role, typer.Argument(metavar="ROLE", help="viewer, sender or admin.")]

PEOPLE_OUTPUT: Final = "PeopleTable"
PROVIDER_OUTPUT: Final = "ConsoleProvider"


@dataclass(frozen=True, slots=True)
class MemberService:
    """The people of a deployment. `provider`: by which they sign in, as in the settings."""

    people: "DynamoPeople"
    provider: str
    service: AccountService

    def member(self, account: str, who: str) -> User | None:
        """Return the member of an account with a login or an id; None if there is none.

        Args:
            who: the login of their last sign-in, or the id of the user.

        Raises:
            Misused: two members have signed in by the login.
        """
        members = [user for user, _ in self.people.members(account)]
        found = [user for user in members if who == user.id or user.login.lower() == who.lower()]
        if len(found) > 1:
            ids = ", ".join(user.id for user in found)
            raise Misused(f"{len(found)} members have signed in by {who}: use a user ID, one of {ids}")
        return found[0] if found else None

    def keys_left(self, user: User, account: str) -> list[str]:
        """Return commands that revoke what a person made with their own account."""
        keys = first_keys(user, account, self.service.accounts.list_keys(account)) if account else []
        return [f"posthaste key revoke {account} {key}" for key in keys]


@contextmanager
def _people(ctx: typer.Context, stage: str, *, aws: bool) -> Iterator[MemberService]:
    """Yield the deployment's people. NotFound if it has no console."""
    with opened(ctx, stage, aws=aws) as service:
        table_name, provider = _console(service.found)
        yield MemberService(_table(service.found, table_name, surroundings(ctx).clock), provider, service)


def _table(found: OperatedDeployment, name: str, clock: Clock) -> "DynamoPeople":
    from shared.adapters.dynamo.people.people import DynamoPeople  # noqa: PLC0415 - loads botocore

    return DynamoPeople(found.dynamo(clock), name, clock, records=found.table())


def _console(found: OperatedDeployment) -> tuple[str, str]:
    """Return the table of people, and the provider by which they sign in."""
    name, settings = os.environ.get(ENV_PEOPLE_TABLE, ""), os.environ.get(ENV_CONSOLE, "")
    if found.records and name and settings:
        return name, ConsoleSettings.loads(settings).provider
    outputs = {x["OutputKey"]: str(x["OutputValue"]) for x in found.stack().get("Outputs", [])}
    if PEOPLE_OUTPUT not in outputs:
        raise NotFound(f"stage {found.stage} in {found.where} has no console: see docs/console.md")
    return outputs[PEOPLE_OUTPUT], outputs[PROVIDER_OUTPUT]


def _login(text: str) -> str:
    """Return a login; Misused if it cannot be one."""
    found = text.strip().removeprefix("@")
    if not is_login(found):
        raise Misused("a login is the name by which a person signs in, as in octocat")
    return found


def _unknown(login: str, account: str) -> NotFound:
    return NotFound(f"{login} is no member of {account}: see `posthaste member list {account}`")


@member_app.command("list")
def list_members(ctx: typer.Context, account: Account, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """List the members of an account, and the logins that are invited."""
    with _people(ctx, stage, aws=aws) as service:
        owner = resolve(service.service.accounts, account)
        rows = [
            {
                "login": user.login,
                "role": membership.role.value,
                "state": "member",
                "name": user.name,
                "last_signed_in_at": moment(user.seen_at),
                "user_id": user.id,
            }
            for user, membership in service.people.members(owner)
        ]
        rows += [
            {
                "login": login,
                "role": role.value,
                "state": "invited",
                "name": "",
                "last_signed_in_at": None,
                "user_id": None,
            }
            for login, role in service.people.waiting(owner)
        ]
    if json:
        emit_all(rows)
        return
    columns = ("login", "role", "state", "last_signed_in_at", "user_id", "name")
    table(columns, rows, empty=f"no members: invite one with `posthaste member invite {owner} LOGIN`")


@member_app.command("invite")
def invite_member(
    ctx: typer.Context,
    account: Account,
    login: Login,
    role: Annotated[Role, typer.Option(help="What they may do: viewer, sender or admin.")] = Role.VIEWER,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Invite a login to an account. It becomes a member when it signs in next."""
    who = _login(login)
    with _people(ctx, stage, aws=aws) as service:
        owner = resolve(service.service.accounts, account)
        if service.member(owner, who) is not None:
            raise Misused(f"{who} is a member already: change the role with `posthaste member role {owner} {who} ROLE`")
        service.people.invite(service.provider, who, owner, role, by=service.service.by)
    emit_or_say(
        {"account_id": owner, "login": who, "role": role.value, "state": "invited"},
        json=json,
        text=f"{who} becomes {role.value} of {owner} at the next sign-in by {service.provider}",
    )


@member_app.command("role")
def change_role(
    ctx: typer.Context,
    account: Account,
    login: Who,
    role: RoleOf,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Change what a member may do, from the next page on."""
    who = _login(login)
    with _people(ctx, stage, aws=aws) as service:
        owner = resolve(service.service.accounts, account)
        user = service.member(owner, who)
        if user is None or not service.people.change(user.id, owner, role, by=service.service.by):
            raise _unknown(who, owner)
    answer = {"account_id": owner, "login": user.login, "role": role.value, "state": "member"}
    emit_or_say(answer, json=json, text=f"{user.login} is {role.value} of {owner} now")


@member_app.command("remove")
def remove_member(
    ctx: typer.Context, account: Account, login: Who, stage: Stage = "", aws: Aws = False, json: Json = False
) -> None:
    """Remove a member from an account, or take an invitation back. The next page refuses them."""
    who = _login(login)
    with _people(ctx, stage, aws=aws) as service:
        owner = resolve(service.service.accounts, account)
        user = service.member(owner, who)
        left = service.keys_left(user, owner) if user else []
        if user is not None:
            service.people.remove(user.id, owner, by=service.service.by)
        elif who.lower() in {waiting for waiting, _ in service.people.waiting(owner)}:
            service.people.withdraw(service.provider, who, owner, by=service.service.by)
        else:
            raise _unknown(who, owner)
    if json:
        emit({"account_id": owner, "login": who, "removed": True, "revoke": left})
        return
    say(f"{who} may no longer see {owner}")
    _say_left(left)


def _say_left(commands: Sequence[str]) -> None:
    """Say that keys still work without the person who made them."""
    for command in commands:
        say(f"a key that this person made still works; to revoke it:  {command}")


@member_app.command("sign-out")
def sign_out(ctx: typer.Context, login: Login, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """End all sessions of a login, in all browsers. Without a membership or the settings it does not come back."""
    who = _login(login)
    clock = surroundings(ctx).clock
    with _people(ctx, stage, aws=aws) as service:
        users = service.people.named(who)
        if not users:
            raise NotFound(f"{who} has never signed in to the console of stage {service.service.found.stage}")
        journal, by = service.service.found.journal(clock), service.service.by
        for user in users:
            service.people.end_all(user.id)
            journal.write(audited(EVERYONE, int(clock.now() * 1000), user.id, Act.MEMBER_SIGNED_OUT, by))
        left = [command for user in users for command in service.keys_left(user, user.own)]
    if json:
        emit({"login": who, "users": [user.id for user in users], "signed_out": True, "revoke": left})
        return
    say(f"all sessions of {who} are over")
    _say_left(left)


@member_app.command("release")
def release_login(ctx: typer.Context, login: Login, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """Let a login of the settings become the next person's who signs in by it. Be sure whose it is now."""
    who = _login(login)
    with _people(ctx, stage, aws=aws) as service:
        if not service.people.release(service.provider, who, by=service.service.by):
            raise NotFound(f"the login {who} has no owner yet: the next person who signs in by it gets it")
    said = f"{who} becomes the next person's who signs in by it, with all that `console` in cdk.json gives that login"
    emit_or_say({"login": who, "released": True}, json=json, text=said)
