"""`posthaste member`: who may use the console for an account, by the operators' door."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from cli.deployment import Aws, Stage
from cli.operating.accounts import Account
from cli.operating.door import door, timed
from cli.output import Json, emit, emit_all, emit_or_say, say, table
from shared.domain.people import Role

member_app = typer.Typer(help="People who may use the console for an account.", no_args_is_help=True)

Who = Annotated[
    str, typer.Argument(metavar="MEMBER", help="The login, or the user ID if the login could be another person's now.")
]
Login = Annotated[str, typer.Argument(metavar="LOGIN", help="The name by which the person signs in.")]
RoleOf = Annotated[Role, typer.Argument(metavar="ROLE", help="viewer, sender or admin.")]


def _changed(ctx: typer.Context, stage: str, what: str, *, aws: bool, **body: str) -> dict[str, Any]:
    """Have something changed and return the answer. `what`: the end of the route's path."""
    with door(ctx, stage, aws=aws) as (client, _):
        return client.send("POST", f"/members/{what}", body)


def _left(done: Mapping[str, Any]) -> list[str]:
    """Return commands that revoke what a person made with their own account."""
    return [f"posthaste key revoke {x['account_id']} {x['key_id']}" for x in done["keys"]]


@member_app.command("list")
def list_members(ctx: typer.Context, account: Account, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """List the members of an account, and the logins that are invited."""
    with door(ctx, stage, aws=aws) as (client, _):
        found = client.get("/members", {"account": account})
    rows = [timed(row, "last_signed_in_at") for row in found["items"]]
    if json:
        emit_all(rows)
        return
    columns = ("login", "role", "state", "last_signed_in_at", "user_id", "name")
    table(columns, rows, empty=f"no members: invite one with `posthaste member invite {found['account_id']} LOGIN`")


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
    done = _changed(ctx, stage, "invite", aws=aws, account=account, login=login, role=role.value)
    provider = done.pop("provider")
    who = f"{done['login']} becomes {role.value} of {done['account_id']}"
    emit_or_say(done, json=json, text=f"{who} at the next sign-in by {provider}")


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
    done = _changed(ctx, stage, "role", aws=aws, account=account, login=login, role=role.value)
    del done["provider"]
    emit_or_say(done, json=json, text=f"{done['login']} is {role.value} of {done['account_id']} now")


@member_app.command("remove")
def remove_member(
    ctx: typer.Context, account: Account, login: Who, stage: Stage = "", aws: Aws = False, json: Json = False
) -> None:
    """Remove a member from an account, or take an invitation back. The next page refuses them."""
    done = _changed(ctx, stage, "remove", aws=aws, account=account, login=login)
    left = _left(done)
    if json:
        emit({"account_id": done["account_id"], "login": done["login"], "removed": True, "revoke": left})
        return
    say(f"{done['login']} may no longer see {done['account_id']}")
    _say_left(left)


def _say_left(commands: list[str]) -> None:
    """Say that keys still work without the person who made them."""
    for command in commands:
        say(f"a key that this person made still works; to revoke it:  {command}")


@member_app.command("sign-out")
def sign_out(ctx: typer.Context, login: Login, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """End all sessions of a login, in all browsers. Without a membership or the settings it does not come back."""
    done = _changed(ctx, stage, "sign-out", aws=aws, login=login)
    left = _left(done)
    if json:
        emit({"login": done["login"], "users": done["users"], "signed_out": True, "revoke": left})
        return
    say(f"all sessions of {done['login']} are over")
    _say_left(left)


@member_app.command("release")
def release_login(ctx: typer.Context, login: Login, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """Let a login of the settings become the next person's who signs in by it. Be sure whose it is now."""
    who = _changed(ctx, stage, "release", aws=aws, login=login)["login"]
    said = f"{who} becomes the next person's who signs in by it, with all that `console` in cdk.json gives that login"
    emit_or_say({"login": who, "released": True}, json=json, text=said)
