"""`posthaste notifier …`: machines that upload notices, straight in the deployment's table."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from cli.deployment import Aws, Stage
from cli.errors import CommandError, Failed, Misused, NotFound
from cli.operating.opened import AccountService, opened, resolve
from cli.output import Json, emit, emit_all, moment, say, surroundings, table, tell
from shared.domain.namespaces import namespaces_of
from shared.domain.notices.notifier import Contact, Notifier, is_name
from shared.engine.intake.declined import Declined
from shared.engine.notices.notifiers import NotifierDraft, NotifierService
from shared.ports import Clock

if TYPE_CHECKING:
    from shared.adapters.dynamo.notices.notifiers import DynamoNotifiers

app = typer.Typer(help="Notifiers: machines that upload messages for later delivery.", no_args_is_help=True)

T = TypeVar("T")
PAGE: Final = 100
HOUR_MS: Final = 3_600_000
_HOURS: Final = re.compile(r"(\d{1,2})-(\d{1,2})", re.ASCII)
_SPAN: Final = re.compile(r"(0|[1-9][0-9]{0,3})([hd])", re.ASCII)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The notifier's user name.")]
Owner = Annotated[str, typer.Option("--account", metavar="ACCOUNT", help="The account's id, or its unique name.")]


@dataclass(frozen=True, slots=True)
class Office:
    """Notifiers of a deployment. `service`: its accounts."""

    store: "DynamoNotifiers"
    notifiers: NotifierService
    service: AccountService

    def found(self, name: str) -> Notifier:
        """Return a notifier; NotFound if there is none."""
        known = self.store.get(name) if is_name(name) else None
        if known is None or known.deleted:
            raise NotFound(f"no notifier {name}: see `posthaste notifier list`")
        return known


@contextmanager
def opened_office(ctx: typer.Context, stage: str, *, aws: bool) -> Iterator[Office]:
    """Yield the notifiers of a deployment. Errors of AWS become one line.

    Args:
        stage: the stage's name; empty for the default one.
        aws: whether AWS is meant even if a local cloud is up.
    """
    with opened(ctx, stage, aws=aws) as service:
        yield office_of(service, surroundings(ctx).clock)


def office_of(service: AccountService, clock: Clock) -> Office:
    """Return the notifiers of a deployment."""
    from shared.adapters.dynamo.notices.notifiers import DynamoNotifiers  # noqa: PLC0415 - loads botocore

    store = DynamoNotifiers(service.found.dynamo(clock), records=service.found.table())
    settings = service.found.settings()
    return Office(
        store, NotifierService(store=store, senders=service.accounts, settings=settings, clock=clock), service
    )


@app.command("create")
def create_notifier(
    ctx: typer.Context,
    name: Name,
    *,
    account: Owner,
    timezone: Annotated[str, typer.Option(metavar="ZONE", help="IANA name, such as Australia/Sydney.")],
    hours: Annotated[str, typer.Option(metavar="FROM-TO", help="Reasonable hours of a day.")] = "9-21",
    expiry_days: Annotated[int, typer.Option(help="Days from the delivery date to the expiry.")] = 7,
    conflict_tries: Annotated[int, typer.Option(help="Tries to withdraw a message for an update or cancel.")] = 5,
    country: Annotated[str, typer.Option(metavar="COUNTRY", help="Of numbers without a country code, like AU.")] = "",
    route: Annotated[
        list[str] | None, typer.Option(metavar="CHANNEL=CREDENTIAL", help="sms=… or voice=…. Repeatable, in order.")
    ] = None,
    test: Annotated[bool, typer.Option("--test", help="Its messages never reach a provider.")] = False,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Create a notifier. Its password is shown once, here: only its hash is stored."""
    draft = NotifierDraft(
        timezone=timezone,
        hours=hours_of(hours),
        routes=routes_of(route or ()),
        expiry_days=expiry_days,
        conflict_tries=conflict_tries,
        country=country.upper(),
    )
    with opened_office(ctx, stage, aws=aws) as office:
        owner = resolve(office.service.accounts, account)
        made = done(office.notifiers.create(name, owner, draft, test=test, by=office.service.by))
    if json:
        emit({**row_of(made.notifier, Contact()), "password": made.password})
        return
    say(made.password)
    tell(f"notifier {name} of {owner}, {timezone}: its password is shown once, keep it now")


@app.command("rotate")
def rotate_notifier(
    ctx: typer.Context,
    name: Name,
    overlap: Annotated[str, typer.Option(metavar="SPAN", help="How long the old password stays: 24h, 7d, 0h.")] = "24h",
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Give a notifier a second password. The old one ends after the overlap."""
    until = int(surroundings(ctx).clock.now() * 1000) + _span(overlap)
    with opened_office(ctx, stage, aws=aws) as office:
        made = done(office.notifiers.rotate(office.found(name), until=until, by=office.service.by))
    if json:
        emit({**row_of(made.notifier, Contact()), "password": made.password, "previous_password_until": moment(until)})
        return
    say(made.password)
    tell(f"new password of {name}: shown once, keep it now; the old one ends {moment(until)}")


@app.command("disable")
def disable_notifier(ctx: typer.Context, name: Name, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """Refuse a notifier's calls, within 30 seconds. Its stored notices are still delivered."""
    _switch(ctx, name, stage, aws=aws, json=json, disabled=True)


@app.command("enable")
def enable_notifier(ctx: typer.Context, name: Name, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """Accept a notifier's calls again."""
    _switch(ctx, name, stage, aws=aws, json=json, disabled=False)


@app.command("list")
def list_notifiers(
    ctx: typer.Context,
    account: Annotated[str, typer.Option(metavar="ACCOUNT", help="Only this account's; default: all.")] = "",
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """List notifiers, and when they were last there, to the minute."""
    with opened_office(ctx, stage, aws=aws) as office:
        found = _listed(office, account)
        contacts = office.store.contacts([x.name for x in found])
        rows = [row_of(x, contacts.get(x.name, Contact())) for x in found]
    if json:
        emit_all(rows)
        return
    shown = [{**row, "state": _state(row)} for row in rows]
    columns = ("name", "account_id", "timezone", "last_seen_at", "last_status_at", "state")
    table(columns, shown, empty="no notifiers: make one with `posthaste notifier create NAME --account ACCOUNT`")


def _state(row: dict[str, Any]) -> str:
    if row["disabled"]:
        return "disabled"
    return "test" if row["test"] else ""


def _listed(office: Office, account: str) -> list[Notifier]:
    """Return the notifiers of an account, or of all."""
    accounts = office.service.accounts
    owners = [resolve(accounts, account)] if account else [x.id for x in accounts.list_accounts()]
    return [x for owner in owners for name in namespaces_of(owner) for x in _of(office, name)]


def _of(office: Office, whose: str) -> Iterator[Notifier]:
    after = ""
    while True:
        found, after = office.store.page(whose, after=after, limit=PAGE)
        yield from found
        if not after:
            return


def _switch(ctx: typer.Context, name: str, stage: str, *, aws: bool, json: bool, disabled: bool) -> None:
    with opened_office(ctx, stage, aws=aws) as office:
        changed = done(office.notifiers.switch(office.found(name), disabled=disabled, by=office.service.by))
    if json:
        emit(row_of(changed, Contact()))
    elif disabled:
        say(f"{name} is refused within 30 seconds; its stored notices are still delivered")
    else:
        say(f"{name} is accepted again")


def done(found: T | Declined) -> T:
    """Return what a service did; raises what ends the command if it refused."""
    if isinstance(found, Declined):
        raise _refusal(found)
    return found


def _refusal(found: Declined) -> CommandError:
    if found.code == "not_found":
        return NotFound("the notifier has been deleted")
    from shared.web.problems import CODES  # noqa: PLC0415 - loads pydantic

    text = "; ".join(f"{x.field}: {x.text.rstrip('.')}" for x in found.faults) or CODES[found.code][1].rstrip(".")
    return Failed(text) if found.code in ("notifier_exists", "notices_waiting") else Misused(text)


def hours_of(text: str) -> tuple[int, int]:
    """Return the first reasonable hour and the end of the last one; Misused if the text is not like `9-21`."""
    form = _HOURS.fullmatch(text)
    if form is None:
        raise Misused("hours are two numbers from 0 to 24, like 9-21")
    return int(form[1]), int(form[2])


def routes_of(given: Sequence[str]) -> dict[str, list[str]]:
    """Return credentials by channel from `sms=texts`; Misused if one is of another form."""
    routes: dict[str, list[str]] = {}
    for text in given:
        channel, _, credential = text.partition("=")
        if not credential:
            raise Misused("a route is CHANNEL=CREDENTIAL, like sms=texts")
        routes.setdefault(channel, []).append(credential)
    return routes


def _span(text: str) -> int:
    """Return milliseconds from `24h` or `7d`."""
    form = _SPAN.fullmatch(text)
    if form is None:
        raise Misused("an overlap is a number of hours or days, like 24h or 7d")
    return int(form[1]) * (24 if form[2] == "d" else 1) * HOUR_MS


def row_of(x: Notifier, contact: Contact) -> dict[str, Any]:
    """Return a notifier as --json shows it. `contact`: when it called last."""
    return {
        "name": x.name,
        "account_id": x.account,
        "timezone": x.timezone,
        "reasonable_hours": f"{x.opens}-{x.closes}",
        "route": {channel: list(route) for channel, route in x.routes.items()},
        "days_until_expiry": x.expiry_days,
        "conflict_tries": x.conflict_tries,
        "country": x.country or None,
        "test": x.test,
        "disabled": x.disabled,
        "created_at": moment(x.created_at),
        "last_seen_at": moment(contact.seen_at),
        "last_status_at": moment(contact.status_at),
    }
