"""`posthaste erase ADDRESS`: finds a person's data, removes or hashes them, and says what was done and what stays."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cli.asking import Yes, check_can_ask, confirm
from cli.deployment import Aws, OperatedDeployment, Stage, aws_errors, deployment
from cli.errors import Misused
from cli.output import Json, counted, emit, say, surroundings, table, tell
from cli.progress.meters import meter
from shared.contracts import ENV_BUCKET
from shared.domain.accounts import is_account_id
from shared.domain.audit import EVERYONE, Act, audited, operator, person
from shared.domain.channels.lookup import CHANNELS
from shared.domain.namespaces import owner
from shared.domain.recipients.reader import RecipientFault
from shared.domain.times import Millis
from shared.ports import Clock

if TYPE_CHECKING:
    from shared.adapters.dynamo.erasure.erasing import Eraser

BUCKET_OUTPUT: Final = "BucketName"
DONE: Final[Mapping[str, tuple[str, str]]] = {
    "recipients blanked": ("rows of lists and batches", "emptied; their messages still count"),
    "contents of single messages blanked": ("messages to this person alone", "content emptied"),
    "copies (cc, bcc) removed": ("messages with this person in copy", "copy removed"),
    "suppressions hashed": ("suppressions", "address replaced by its hash; still respected"),
    "unsubscriptions hashed": ("unsubscriptions", "address replaced by its hash; still respected"),
    "stops hashed": ("stops of a channel", "number replaced by its hash; still respected"),
    "guests removed": ("guests of an account", "removed from its list"),
    "texts removed": ("texts that this person wrote", "deleted"),
    "notices blanked": ("notices", "emptied; those that waited are cancelled"),
    "records of notifiers blanked": ("uploaded records of notices", "emptied"),
    "refused rows blanked": ("shown values of refused rows", "deleted"),
    "deliveries of webhooks blanked": ("deliveries to webhooks", "emptied"),
    "events blanked": ("events of digests", "person removed"),
    "rows of archived files blanked": ("rows of archived messages", "emptied"),
    "files of mails deleted": ("files of finished mails", "deleted"),
    "files of lists deleted": ("uploaded lists", "file deleted"),
    "exports deleted": ("exported files", "deleted; export again without this person"),
}
"""The counts of an erasure, for people: what was counted, and what was done to it."""
LOOKED_AT: Final = 500
"""Accounts whose entries the question counts: some seconds of reads."""
LEFT: Final = ("stays_for_now", "how_long", "what_you_do")
STAYS: Final = (
    ("counts, states, times, message ids", "as long as their jobs", "nothing: they name no one"),
    ("backups of the tables", "35 days", "after a restore, erase again"),
    ("change streams of the tables", "1 day", "nothing"),
    (
        "files of lists that were not read, or that name the person in a refused row",
        "retention.uploads_days + 7",
        "nothing",
    ),
    ("finished mails to several people, or not committed; notifications of failures", "14 days", "nothing"),
    ("providers' events that wait in a queue", "4 days; in its dead letters 14", "nothing"),
    ("sender and reply-to addresses", "as long as their jobs", "posthaste sender remove ends their use"),
    ("copies that providers keep", "as each provider says", "ask the providers to erase them"),
    (
        "values in other people's rows, and texts for many, that name the person",
        "as long as their jobs",
        "look for them",
    ),
)
"""Data that stays for now: what, how long, and what you do about it."""


def erase(
    ctx: typer.Context,
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="An e-mail address, or a number as +14155550100.")],
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be erased, and change nothing.")] = False,
    yes: Yes = False,
    start: Annotated[str, typer.Option("--from", metavar="PLACE", help="Continue where an earlier run ended.")] = "",
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Erase a person's data in all accounts. You can repeat and interrupt it at any time."""
    around = surroundings(ctx)
    check_can_ask(around, yes=yes or dry_run, json=json)
    key = _key(address)
    begin = _checked(start)
    found = deployment(stage, aws=aws)
    with aws_errors(found.where), _going_on() as place:
        eraser = _eraser(found, around.clock, key, address.strip(), dry=dry_run)
        size, items = eraser.size()
        if not json:
            tell(_estimate(size, items))
        accounts = [x.id for x in found.accounts(around.clock).list_accounts()]
        if not (yes or dry_run):
            looks = _eraser(found, around.clock, key, address.strip(), dry=True)
            asked = _question(looks, found, accounts, int(around.clock.now() * 1000))
            confirm(around, asked, yes=yes, json=json)
        note = _notes(found, around.clock, key, dry=dry_run)
        note(Act.ERASING, [EVERYONE])
        eraser.lists(accounts)
        eraser.notices(accounts, int(around.clock.now() * 1000))
        with meter("reading", terminal=around.terminal, quiet=json) as shown:
            read = 0

            def reached(after: str, items: int) -> None:
                nonlocal read
                place[0], read = after, read + items
                shown(0.0 if after else 1.0, counted(read, "item"))

            eraser.scan(begin, reached)
        if not dry_run:  # a record may have become a notice before the scan reached it
            eraser.notices(accounts, int(around.clock.now() * 1000))
        with meter("archive", terminal=around.terminal, quiet=json) as shown:
            size = 0

            def more(of: int) -> None:
                nonlocal size
                size += of
                shown(0.0, f"{size / 1e6:,.0f} MB")

            eraser.archived(more)
            shown(1.0, f"{size / 1e6:,.0f} MB")
        report = eraser.report
        owners = sorted(filter(is_account_id, set(map(owner, report.accounts))))
        note(Act.ERASED, [*owners, EVERYONE], dict(report.erased))
    _show(eraser, dry=dry_run, json=json)


def _key(address: str) -> str:
    """Return the normalised address or number."""
    for channel in CHANNELS.values():
        got = channel.reader()(address.strip())
        if not isinstance(got, RecipientFault):
            return got[1]
    raise Misused("this is neither an e-mail address nor a phone number with its country code (+14155550100)")


def _question(eraser: "Eraser", found: OperatedDeployment, accounts: list[str], now: Millis) -> str:
    """Return the question, with how much is found without reading the table, in at most `LOOKED_AT` accounts."""
    known = f"entries of {counted(len(accounts), 'account')} are not counted yet"
    if len(accounts) <= LOOKED_AT:
        eraser.lists(accounts)
        eraser.notices(accounts, now)
        counts = [f"{DONE[kind][0]}: {count:,}" for kind, count in sorted(eraser.report.erased.items())]
        known = ", ".join(counts) or "no entries by address"
    asked = f"Erase this person ({known}; and what messages and lists have of them)"
    return f"{asked} in all accounts of stage {found.stage}, {found.where}, for good?"


def _estimate(size: int, items: int) -> str:
    from shared.adapters.dynamo.erasure.erasing import RATE_BYTES, UNIT_BYTES  # noqa: PLC0415 - loads botocore

    units, minutes = size // UNIT_BYTES + 1, size // RATE_BYTES // 60
    lasts = counted(minutes + 1, "minute") if minutes else "less than a minute"
    return (
        f"messages and lists are found by reading the table: {counted(items, 'item')}, {size / 1e6:,.0f} MB, about "
        f"{counted(units, 'read unit')} and {lasts}; --dry-run counts them first"
    )


def _checked(start: str) -> str:
    from shared.adapters.dynamo.erasure.scanned import place_of  # noqa: PLC0415 - loads botocore

    try:
        if start:
            place_of(start)
    except (ValueError, TypeError):
        raise Misused("--from takes the value that an interrupted run printed") from None
    return start


def _eraser(found: OperatedDeployment, clock: Clock, key: str, raw: str, *, dry: bool) -> "Eraser":
    from shared.adapters.dynamo.client import Dynamo  # noqa: PLC0415 - loads botocore
    from shared.adapters.dynamo.erasure.erasing import Eraser  # noqa: PLC0415

    bucket = os.environ.get(ENV_BUCKET) or found.output(BUCKET_OUTPUT)
    dynamo = Dynamo(found.client("dynamodb"), sleep=clock.sleep)
    return Eraser(dynamo, found.table(), lambda: found.client("s3"), bucket, key=key, raw=raw, dry=dry)


def _notes(found: OperatedDeployment, clock: Clock, key: str, *, dry: bool) -> Any:
    """Return what writes to audit logs: of the deployment before anything is done, of each account when it is."""
    journal = found.journal(clock)
    who = operator(found.who())

    def note(act: Act, accounts: list[str], data: dict[str, int] | None = None) -> None:
        for account in () if dry else accounts:
            journal.write(audited(account, int(clock.now() * 1000), person(key), act, who, {**(data or {})}))

    return note


@contextmanager
def _going_on() -> Iterator[list[str]]:
    """Yield a cell for the place that was reached; after an interruption, print how to continue from there."""
    place = [""]
    try:
        yield place
    except BaseException:  # Ctrl-C, too; it is raised again
        if place[0]:
            tell(f"interrupted; what was erased stays erased. To continue, repeat the command with  --from {place[0]}")
        raise


def _show(eraser: "Eraser", *, dry: bool, json: bool) -> None:
    report = eraser.report
    kept = [*report.kept, *(_sentence(*row) for row in STAYS)]
    if json:
        document = {"erased": dict(report.erased), "jobs": sorted(report.jobs), "accounts": sorted(report.accounts)}
        emit({"dry_run": dry, **document, "kept": kept})
        return
    rows = [_counted(kind, count) for kind, count in sorted(report.erased.items())]
    table(("count", "what", "would_be" if dry else "done"), rows, empty="nothing was found")
    if report.jobs:
        jobs = counted(len(report.jobs), "job")
        say(f"in {jobs} of {', '.join(sorted(report.accounts))}" + (" (dry run)" if dry else ""))
    for sentence in report.kept:
        tell(sentence)
    say("")
    stays = [dict(zip(LEFT, row, strict=True)) for row in STAYS]
    table(LEFT, stays, empty="")


def _counted(kind: str, count: int) -> dict[str, object]:
    what, done = DONE[kind]
    return {"count": f"{count:,}", "what": what, "done": done, "would_be": done}


def _sentence(what: str, until: str, to_do: str) -> str:
    """Return a row of what stays as a sentence."""
    return f"{what}: {until}" + (f" ({to_do})" if to_do else "")
