"""`posthaste erase ADDRESS`: finds a person's data, removes or hashes them, and says what was done and what stays."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Final

import typer

from cli.asking import Yes, check_can_ask, confirm
from cli.deployment import Aws, OperatedDeployment, Stage
from cli.operating.door import OperatorClient, door
from cli.output import Json, counted, emit, say, surroundings, table, tell
from cli.progress.meters import meter

DONE: Final[Mapping[str, tuple[str, str]]] = {
    "recipients blanked": ("rows of lists and batches", "emptied; their messages still count"),
    "texts of providers removed": (
        "texts of providers about messages to this person",
        "deleted; results and codes stay",
    ),
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
FIRST: Final[Mapping[str, str]] = {"run": "", "step": "lists", "after": ""}
"""The fields of the first request."""
MESSAGES: Final = "messages"
ARCHIVE: Final = "archive"
"""Steps of an erasure."""
LISTS: Final = "files of lists deleted"
"""The count of lists. Each counts once, in however many requests it was found."""
UNIT_BYTES: Final = 8192
"""Bytes of an eventually consistent read unit."""
RATE_BYTES: Final = 8_000_000
"""Bytes that one scan reads in a second, about."""
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
    whom = {"address": address.strip(), "start": start}
    asks = not (yes or dry_run)
    with door(ctx, stage, aws=aws) as (client, found), _going_on() as place:
        there = client.send("POST", "/erase/look", {**whom, "count": asks})
        if not json:
            tell(_estimate(there["bytes"], there["items"]))
        if asks:
            confirm(around, _question(there, found), yes=yes, json=json)
        run = _Run(client, {**whom, "dry_run": dry_run}, place)
        with meter("reading", terminal=around.terminal, quiet=json) as shown:
            while run.step not in (ARCHIVE, ""):
                if run.items:
                    shown(0.0, counted(run.items, "item"))
                run.go()
            shown(1.0, counted(run.items, "item"))
        with meter("archive", terminal=around.terminal, quiet=json) as shown:
            while run.step:
                if run.bytes:
                    shown(0.0, f"{run.bytes / 1e6:,.0f} MB")
                run.go()
            shown(1.0, f"{run.bytes / 1e6:,.0f} MB")
    _show(run, dry=dry_run, json=json)


class _Run:
    """An erasure, request by request, and what all of them report.

    Args:
        asked: the person, as operators' routes take it.
        place: a cell for the place in the table that was reached.

    Attributes:
        step: what comes next; empty at the end.
        items: of the table, that were read.
        bytes: of archived files, that were read.
        kept: what stays for now, and why.
    """

    def __init__(self, client: OperatorClient, asked: Mapping[str, Any], place: list[str]) -> None:
        self._client = client
        self._asked = asked
        self._place = place
        self._next = FIRST
        self._lists: set[str] = set()
        self.items = self.bytes = 0
        self.erased: dict[str, int] = {}
        self.jobs: set[str] = set()
        self.accounts: set[str] = set()
        self.kept: list[str] = []

    @property
    def step(self) -> str:
        return self._next["step"]

    def go(self) -> None:
        """Make one request."""
        done = self._client.send("POST", "/erase/run", {**self._asked, **self._next})
        self._next = {name: done[name] for name in self._next}
        self._place[0] = done["after"] if self.step == MESSAGES else ""
        self.items += done["items"]
        self.bytes += done["bytes"]
        self.jobs |= set(done["jobs"])
        self.accounts |= set(done["accounts"])
        self._lists |= set(done["lists"])
        self.kept += [x for x in done["kept"] if x not in self.kept]
        for kind, count in done["erased"].items():
            self.erased[kind] = len(self._lists) if kind == LISTS else self.erased.get(kind, 0) + count


def _question(there: Mapping[str, Any], found: OperatedDeployment) -> str:
    """Return the question, with how much is found without reading the table, if there was time to count it."""
    known = f"entries of {counted(there['accounts'], 'account')} are not counted yet"
    if there["erased"] is not None:
        counts = [f"{DONE[kind][0]}: {count:,}" for kind, count in sorted(there["erased"].items())]
        known = ", ".join(counts) or "no entries by address"
    asked = f"Erase this person ({known}; and what messages and lists have of them)"
    return f"{asked} in all accounts of stage {found.stage}, {found.where}, for good?"


def _estimate(size: int, items: int) -> str:
    units, minutes = size // UNIT_BYTES + 1, size // RATE_BYTES // 60
    lasts = counted(minutes + 1, "minute") if minutes else "less than a minute"
    return (
        f"messages and lists are found by reading the table: {counted(items, 'item')}, {size / 1e6:,.0f} MB, about "
        f"{counted(units, 'read unit')} and {lasts}; --dry-run counts them first"
    )


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


def _show(report: _Run, *, dry: bool, json: bool) -> None:
    kept = [*report.kept, *(_sentence(*row) for row in STAYS)]
    if json:
        document = {"erased": report.erased, "jobs": sorted(report.jobs), "accounts": sorted(report.accounts)}
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
