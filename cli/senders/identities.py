"""`posthaste sender identities | forget`: domains that Posthaste made known to providers, and the end of those unused.

Functions may not remove a domain at a provider. These commands do, with the operator's own rights.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cli.asking import Yes, check_can_ask, confirm
from cli.deployment import Aws, Stage
from cli.errors import Failed, Misused, NotFound
from cli.operating.accounts import AccountService, opened, resolve
from cli.output import Json, Surroundings, emit, emit_all, moment, say, surroundings, table
from cli.parts import CHECKOUT
from shared.domain.accounts import sender_of
from shared.domain.identities import OwnedIdentity, signs_for
from shared.ports import Clock, IdentityChanged, IdentityUnanswered

if TYPE_CHECKING:
    from shared.adapters.dynamo.accounts.made_identities import DynamoOwnedIdentities
    from shared.ports import DomainIdentities

COLUMNS: Final = ("domain", "provider", "region", "made_at", "made_for", "used_by")
Unused = Annotated[bool, typer.Option("--unused", help="Only those that no account uses.")]
MadeFor = Annotated[
    str, typer.Option("--account", metavar="ACCOUNT", help="Only those made for this account, by its id or name.")
]


@dataclass(frozen=True, slots=True)
class IdentityRoom:
    """The identities that one deployment made known to providers, and their users."""

    service: AccountService
    clock: Clock

    @property
    def made(self) -> "DynamoOwnedIdentities":
        """The notes of what was made."""
        from shared.adapters.dynamo.accounts.made_identities import DynamoOwnedIdentities  # noqa: PLC0415 - botocore

        return DynamoOwnedIdentities(self.service.found.dynamo(self.clock), self.service.found.table(), self.clock)

    def at(self, made: OwnedIdentity) -> "DomainIdentities":
        """Return the provider that knows a domain, as the operator reaches it; Failed without its module."""
        from shared.providers.registry import identities  # noqa: PLC0415 - loads the provider

        try:
            factory = identities(made.provider)
        except ModuleNotFoundError:
            raise Failed(CHECKOUT) from None
        return factory(self.service.found.client, made.region)

    def senders(self) -> Mapping[str, list[str]]:
        """Return what each account may send from or claims: what operators granted, and its domains."""
        from shared.adapters.dynamo.accounts.claims import DynamoClaims  # noqa: PLC0415 - loads botocore

        accounts = self.service.accounts
        claims = DynamoClaims(self.service.found.dynamo(self.clock), self.service.found.table(), self.clock)
        return {
            a.id: [*accounts.list_senders(a.id), *(c.domain for c in claims.list(a.id))]
            for a in accounts.list_accounts()
        }


def users(senders: Mapping[str, list[str]], domain: str) -> list[str]:
    """Return the accounts whose mail a domain is needed for, also that from domains below it."""
    return [account for account, those in senders.items() if any(signs_for(domain, x) for x in those)]


def list_identities(
    ctx: typer.Context,
    unused: Unused = False,
    account: MadeFor = "",
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """List the domains that Posthaste made known to providers, with the accounts that use them."""
    with opened(ctx, stage, aws=aws) as service:
        room = IdentityRoom(service, surroundings(ctx).clock)
        of = account and resolve(service.accounts, account)
        senders = room.senders()
        rows: list[dict[str, Any]] = [
            {
                "domain": x.domain,
                "provider": x.provider,
                "region": x.region,
                "made_at": moment(x.made_at),
                "made_for": x.account,
                "used_by": users(senders, x.domain),
            }
            for x in room.made.list()
            if of in ("", x.account)
        ]
    rows = [row for row in rows if not (unused and row["used_by"])]
    if json:
        emit_all(rows)
        return
    shown = [{**row, "used_by": ", ".join(row["used_by"]) or "no account"} for row in rows]
    table(COLUMNS, shown, empty=f"no domains ({service.where})")


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
    with opened(ctx, stage, aws=aws) as service:
        room = IdentityRoom(service, around.clock)
        if unused:
            wanted = _Wanted(region, account and resolve(service.accounts, account))
            return _forget_unused(around, room, wanted, yes=yes, json=json)
        made = _chosen(room, domain, region)
        _refuse_used(room, made)
        place = room.at(made)
        with _answers(made):
            state = place.read(made.domain).state.value
        since = f"made for {made.account} on {moment(made.made_at)}, DKIM: {state}"
        asked = (
            f"Have {made.provider} in {made.region} forget {made.domain} ({since}), so that it takes no mail from it?"
        )
        confirm(around, f"{asked} ({service.where})", yes=yes, json=json)
        _refuse_used(room, made)
        with _answers(made):
            place.remove(made.domain)
        room.made.forget(made)
    _print_forgotten(made, json=json)
    return None


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which of the unused domains are meant; empty: all."""

    region: str
    account: str

    def has(self, made: OwnedIdentity) -> bool:
        return self.region in ("", made.region) and self.account in ("", made.account)


def _forget_unused(around: Surroundings, room: IdentityRoom, wanted: _Wanted, *, yes: bool, json: bool) -> None:
    """Have the providers forget all domains that no account uses, one after the other.

    A domain that was changed since stays, and is named at the end. A repeat continues after a fault.

    Args:
        room: what was made, and who uses it.

    Raises:
        Failed: some of them stay, or a provider does not answer.
    """
    senders = room.senders()
    found = [x for x in room.made.list() if wanted.has(x) and not users(senders, x.domain)]
    if not found:
        return None if json else say(f"no domains ({room.service.where})")
    names = ", ".join(f"{x.domain} ({x.region})" for x in found)
    asked = f"Have the providers forget these {len(found)} domains, so that they take no mail from them: {names}?"
    confirm(around, f"{asked} ({room.service.where})", yes=yes, json=json)
    stay = [why for made in found if (why := _forget_one(room, made, json=json))]
    if stay:
        raise Failed("; ".join(stay))
    return None


def _forget_one(room: IdentityRoom, made: OwnedIdentity, *, json: bool) -> str:
    """Have a provider forget a domain that no account uses; return why it stays, if it does."""
    if users(room.senders(), made.domain):
        return ""  # an account has claimed it meanwhile
    try:
        with _answers(made):
            room.at(made).remove(made.domain)
    except _Changed as changed:
        return str(changed)
    room.made.forget(made)
    _print_forgotten(made, json=json)
    return ""


def _print_forgotten(made: OwnedIdentity, *, json: bool) -> None:
    if json:
        emit({"domain": made.domain, "provider": made.provider, "region": made.region, "removed": True})
    else:
        say(f"{made.provider} in {made.region} no longer knows {made.domain}")


def _chosen(room: IdentityRoom, text: str, region: str) -> OwnedIdentity:
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
    found = [x for x in room.made.list() if x.domain == domain and region in ("", x.region)]
    if not found:
        raise NotFound(
            f"Posthaste has not made {domain} known: see `posthaste sender identities` ({room.service.where})"
        )
    if len(found) > 1:
        raise Misused(f"{domain} is known in {', '.join(x.region for x in found)}: add --region")
    return found[0]


def _refuse_used(room: IdentityRoom, made: OwnedIdentity) -> None:
    used = users(room.senders(), made.domain)
    if used:
        raise Failed(
            f"{made.domain} is used by {', '.join(used)}: they give it up with `posthaste domain remove`, or you end "
            "a grant with `posthaste sender remove`"
        )


class _Changed(Failed):
    """Somebody else made or changed the domain."""


@contextmanager
def _answers(made: OwnedIdentity) -> Iterator[None]:
    """Turn what a provider refuses or does not answer into one line."""
    where = f"{made.provider} in {made.region}"
    try:
        yield
    except IdentityChanged as changed:
        raise _Changed(
            f"{made.domain} has {changed} at {where}: somebody else made or changed it, so it stays; remove it there"
        ) from None
    except IdentityUnanswered as error:
        raise Failed(f"{where} did not answer ({error}): check the AWS identity, or try again in a minute") from None


def add_to(app: typer.Typer) -> None:
    """Add the commands to `posthaste sender`."""
    app.command("identities")(list_identities)
    app.command("forget")(forget)
