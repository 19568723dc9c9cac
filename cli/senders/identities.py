"""`posthaste sender identities | forget`: domains that Posthaste made known to providers, and the end of those unused.

No function may remove a domain at a provider. `forget` does, with the operator's own right there.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cli.asking import Yes, check_can_ask, confirm
from cli.deployment import Aws, OperatedDeployment, Stage
from cli.errors import Failed, Misused, NotFound
from cli.operating.door import OperatorClient, door, timed
from cli.output import Json, Surroundings, emit, emit_all, moment, say, surroundings, table
from cli.parts import CHECKOUT
from shared.domain.accounts import sender_of
from shared.ports import IdentityChanged, IdentityUnanswered

if TYPE_CHECKING:
    from shared.ports import DomainIdentities

Row = dict[str, Any]
COLUMNS: Final = ("domain", "provider", "region", "made_at", "made_for", "used_by")
Unused = Annotated[bool, typer.Option("--unused", help="Only those that no account uses.")]
MadeFor = Annotated[
    str, typer.Option("--account", metavar="ACCOUNT", help="Only those made for this account, by its id or name.")
]


@dataclass(frozen=True, slots=True)
class IdentityRoom:
    """The identities that one deployment made known to providers: its notes by the door, and the providers."""

    client: OperatorClient
    found: OperatedDeployment

    def rows(self, account: str = "") -> list[Row]:
        """Return what was made, each with its users. `account`: only those made for it; empty: all."""
        return list(self.client.get("/senders/identities", {"account": account})["items"])

    def users(self, made: Row) -> list[str]:
        """Return the accounts that use a domain now."""
        place = _place(made)
        return next((row["used_by"] for row in self.rows() if _place(row) == place), [])

    def at(self, made: Row) -> "DomainIdentities":
        """Return the provider that knows a domain, as the operator reaches it; Failed without its module."""
        from shared.providers.registry import identities  # noqa: PLC0415 - loads the provider

        try:
            factory = identities(made["provider"])
        except ModuleNotFoundError:
            raise Failed(CHECKOUT) from None
        return factory(self.found.client, made["region"])

    def forget(self, made: Row) -> None:
        """Note that a domain was removed at its provider."""
        self.client.send("POST", "/senders/identities/forget", _place(made))


def _place(made: Row) -> dict[str, str]:
    return {name: made[name] for name in ("domain", "provider", "region")}


def list_identities(
    ctx: typer.Context,
    unused: Unused = False,
    account: MadeFor = "",
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """List the domains that Posthaste made known to providers, with the accounts that use them."""
    with door(ctx, stage, aws=aws) as (client, found):
        rows = [timed(row, "made_at") for row in IdentityRoom(client, found).rows(account)]
    rows = [row for row in rows if not (unused and row["used_by"])]
    if json:
        emit_all(rows)
        return
    shown = [{**row, "used_by": ", ".join(row["used_by"]) or "no account"} for row in rows]
    table(COLUMNS, shown, empty=f"no domains ({found.full_name})")


def forget(
    ctx: typer.Context,
    domain: Annotated[str, typer.Argument(metavar="[DOMAIN]", help="As `posthaste sender identities` shows it.")] = "",
    *,
    region: Annotated[str, typer.Option(help="Of the provider. Needed if it knows the domain in several.")] = "",
    unused: Annotated[bool, typer.Option("--unused", help="All that no account uses, instead of one.")] = False,
    account: MadeFor = "",
    yes: Yes = False,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Have a provider forget a domain that Posthaste made known to it and that no account uses, or all of them."""
    around = surroundings(ctx)
    if bool(domain) == unused:
        raise Misused("name a domain, or add --unused for all that no account uses")
    if account and not unused:
        raise Misused("--account needs --unused")
    check_can_ask(around, yes=yes, json=json)
    with door(ctx, stage, aws=aws) as (client, found):
        room = IdentityRoom(client, found)
        if unused:
            return _forget_unused(around, room, account, region, yes=yes, json=json)
        made = _chosen(room, domain, region)
        _refuse_used(made["domain"], made["used_by"])
        place = room.at(made)
        with _answers(made):
            state = place.read(made["domain"]).state.value
        since = f"made for {made['made_for']} on {moment(made['made_at'])}, DKIM: {state}"
        what = f"{made['provider']} in {made['region']} forget {made['domain']} ({since})"
        confirm(around, f"Have {what}, so that it takes no mail from it? ({found.full_name})", yes=yes, json=json)
        _refuse_used(made["domain"], room.users(made))
        with _answers(made):
            place.remove(made["domain"])
        room.forget(made)
    _print_forgotten(made, json=json)
    return None


def _forget_unused(
    around: Surroundings, room: IdentityRoom, account: str, region: str, *, yes: bool, json: bool
) -> None:
    """Have the providers forget all domains that no account uses, one after the other.

    A domain that was changed since stays, and is named at the end. A repeat continues after a fault.

    Args:
        room: what was made, and who uses it.
        account: only those made for it; empty: all.
        region: only those of this region; empty: all.

    Raises:
        Failed: some of them stay, or a provider does not answer.
    """
    found = [x for x in room.rows(account) if region in ("", x["region"]) and not x["used_by"]]
    if not found:
        return None if json else say(f"no domains ({room.found.full_name})")
    names = ", ".join(f"{x['domain']} ({x['region']})" for x in found)
    asked = f"Have the providers forget these {len(found)} domains, so that they take no mail from them: {names}?"
    confirm(around, f"{asked} ({room.found.full_name})", yes=yes, json=json)
    stay = [why for made in found if (why := _forget_one(room, made, json=json))]
    if stay:
        raise Failed("; ".join(stay))
    return None


def _forget_one(room: IdentityRoom, made: Row, *, json: bool) -> str:
    """Have a provider forget a domain that no account uses; return why it stays, if it does."""
    if room.users(made):
        return ""  # an account has claimed it meanwhile
    try:
        with _answers(made):
            room.at(made).remove(made["domain"])
    except _Changed as changed:
        return str(changed)
    room.forget(made)
    _print_forgotten(made, json=json)
    return ""


def _print_forgotten(made: Row, *, json: bool) -> None:
    if json:
        emit({**_place(made), "removed": True})
    else:
        say(f"{made['provider']} in {made['region']} no longer knows {made['domain']}")


def _chosen(room: IdentityRoom, text: str, region: str) -> Row:
    """Return what a domain and a region name.

    Args:
        region: of the provider; empty: the only one.

    Raises:
        NotFound: Posthaste made no such domain known.
        Misused: it is none, or it is known in several regions.
    """
    try:
        domain = sender_of(text)
    except ValueError:
        raise Misused("this is no domain") from None
    found = [x for x in room.rows() if x["domain"] == domain and region in ("", x["region"])]
    if not found:
        where = room.found.full_name
        raise NotFound(f"Posthaste has not made {domain} known: see `posthaste sender identities` ({where})")
    if len(found) > 1:
        raise Misused(f"{domain} is known in {', '.join(x['region'] for x in found)}: add --region")
    return found[0]


def _refuse_used(domain: str, used: list[str]) -> None:
    if used:
        raise Failed(
            f"{domain} is used by {', '.join(used)}: they give it up with `posthaste domain remove`, or you end "
            "a grant with `posthaste sender remove`"
        )


class _Changed(Failed):
    """Somebody else made or changed the domain."""


@contextmanager
def _answers(made: Row) -> Iterator[None]:
    """Turn what a provider refuses or does not answer into one line."""
    where = f"{made['provider']} in {made['region']}"
    try:
        yield
    except IdentityChanged as changed:
        raise _Changed(
            f"{made['domain']} has {changed} at {where}: somebody else made or changed it, so it stays; remove it there"
        ) from None
    except IdentityUnanswered as error:
        raise Failed(f"{where} did not answer ({error}): check the AWS identity, or try again in a minute") from None


def add_to(app: typer.Typer) -> None:
    """Add the commands to `posthaste sender`."""
    app.command("identities")(list_identities)
    app.command("forget")(forget)
