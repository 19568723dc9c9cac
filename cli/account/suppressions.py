"""`posthaste suppression …`: addresses that are not sent to, and people who have unsubscribed."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer

from cli.client import LARGEST_PAGE, connect, path_of
from cli.output import Json, emit, emit_or_say, say, tables
from shared.domain.recipients.suppressions import CAUSE_WORDS, Reach

app = typer.Typer(help="Addresses that get no messages, and people who have unsubscribed.", no_args_is_help=True)

COLUMNS: Final = ("address", "scope", "cause", "reason", "created_at", "job_id")
REASONS: Final = {
    Reach.ALL: "nothing is sent to it",
    Reach.CAMPAIGNS: "no campaign is sent to it",
    Reach.DIGESTS: "no digest of this policy is sent to it",
}
Address = Annotated[str, typer.Argument(metavar="ADDRESS", help="An e-mail address, or a number as +14155550100.")]
Scope = Annotated[
    Reach,
    typer.Option(
        help="all: nothing is sent. campaigns: it has unsubscribed. sms, voice, whatsapp: no messages by this channel. "
        "digests: no digests of --policy."
    ),
]
Policy = Annotated[str, typer.Option(metavar="PREFIX", help="With --scope digests: the digest policy.")]


def _query(scope: Reach, policy: str) -> dict[str, str]:
    return {"scope": scope.value, **({"policy": policy} if policy else {})}


def _words(scope: Reach) -> str:
    return REASONS.get(scope, f"nothing is sent to it by {scope.value}")


def told(found: Mapping[str, Any]) -> str:
    """Return since when an address is on a list, and what led to it, of the API's entry."""
    cause, reason = str(found.get("cause") or ""), str(found.get("reason") or "")
    words = {str(known): f": {said}" for known, said in CAUSE_WORDS.items()}.get(cause, "")
    own = f" ({reason})" if reason != cause else ""
    job = f", of job {found['job_id']}" if found.get("job_id") else ""
    return f"since {found.get('created_at')}{words}{own}{job}"


@app.command("list")
def list_suppressions(ctx: typer.Context, scope: Scope = Reach.ALL, json: Json = False) -> None:
    """List the addresses of one scope, newest first."""
    pages = connect(ctx).pages("/suppressions", {"scope": scope.value, "limit": LARGEST_PAGE})
    tables(COLUMNS, pages, json=json, empty=f"no suppressed addresses of scope {scope.value}")


@app.command()
def show(
    ctx: typer.Context, address: Address, scope: Scope = Reach.ALL, policy: Policy = "", json: Json = False
) -> None:
    """Show whether an address is suppressed, and why. Exit code 3 if it is not."""
    found = connect(ctx).get(path_of("suppressions", address), _query(scope, policy))
    if json:
        emit(found)
        return
    say(f"{found.get('address')}: {_words(scope)} {told(found)}")


@app.command()
def add(
    ctx: typer.Context,
    address: Address,
    scope: Scope = Reach.ALL,
    policy: Policy = "",
    reason: Annotated[str, typer.Option(help="Why, for colleagues.")] = "manual",
    json: Json = False,
) -> None:
    """Send nothing more to an address. Messages that still wait are skipped too."""
    found = connect(ctx).put(path_of("suppressions", address), {"reason": reason}, _query(scope, policy))
    emit_or_say(found, json=json, text=f"{found.get('address')} is suppressed: {_words(scope)}")


@app.command()
def remove(
    ctx: typer.Context, address: Address, scope: Scope = Reach.ALL, policy: Policy = "", json: Json = False
) -> None:
    """Send to an address again."""
    found: dict[str, Any] = connect(ctx).delete(path_of("suppressions", address), _query(scope, policy))
    words = "may be sent to again" if found.get("removed") else "was not suppressed"
    emit_or_say(found, json=json, text=f"{found.get('address')} {words}")
