"""`posthaste account depart` and `arrive`: a file carries an account from one cell to another.

The file has a line of JSON for its head, one for each page, and one for its end. So a file that was cut is known.
"""

import json as encoding
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import typer
import urllib3

from cli.asking import Yes, check_can_ask, confirm
from cli.deployment import Aws, Stage
from cli.errors import Failed, Misused, Unreachable
from cli.operating.accounts import Account
from cli.operating.door import OperatorClient, door
from cli.output import Json, Surroundings, counted, emit, say, surroundings, tell
from cli.progress.meters import meter
from shared.contracts import CALLER_PATH

FORM: Final = 1
HERE: Final = 204
ELSEWHERE: Final = 404
SECONDS: Final = 10.0
_DIGEST: Final = "digest"
SLACK_MS: Final = 3_600_000
"""By so much the clock of an operator's machine may be ahead."""

File = Annotated[Path, typer.Argument(metavar="FILE", help="The file that carries the account.", show_default=False)]


def add_to(app: typer.Typer) -> None:
    """Add the commands to those of accounts."""
    app.command("depart")(depart)
    app.command("arrive")(arrive)


def depart(
    ctx: typer.Context,
    account: Account,
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="The file that carries the account.")] = None,
    *,
    to: Annotated[str, typer.Option(metavar="URL", help="Begin: the address of the other cell's API.")] = "",
    left: Annotated[
        bool, typer.Option("--left", help="The account is in the other cell: let it be gone here.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Carry what people refused since then.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Let the account stay, which has not left.")] = False,
    yes: Yes = False,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Move an account to another cell, where you let it arrive: first --to, later --left. You can repeat each step.

    It sends nothing from the first step on, until it is opened in the other cell.
    """
    _check_steps(to, left, again, cancel, file)
    around, carrier = surroundings(ctx), Carrier(file or Path())
    if to or left:
        check_can_ask(around, yes=yes, json=json)
    with door(ctx, stage, aws=aws) as (client, found):
        if cancel:
            done = client.send("POST", "/erase/moves/cancel", {"account": account})
            _said(done, "stays here" if done["changed"] else "did not move", json=json)
        elif left:
            head, _ = carrier.read()
            _check_there(head["elsewhere"], carrier.digests(), here=True)
            confirm(around, f"Let {account} be gone from {found.full_name}?", yes=yes, json=json)
            _said(client.send("POST", "/erase/moves/leave", {"account": account}), "is gone from here", json=json)
        else:
            since = 0
            if again:
                head, _ = carrier.read()
                since = max(1, int(head["packed_at"]) - SLACK_MS)
            else:
                asked = f"Move {account} away from {found.full_name}? It sends nothing until it has arrived."
                confirm(around, asked, yes=yes, json=json)
                head = _begun(client, around, account, to.rstrip("/"))
                head["origin"] = found.api_url()
            with meter("packing", terminal=around.terminal, quiet=json) as shown:
                pages = _packed(client, head["account_id"], since, lambda text: shown(0.0, text))
                _say_packed(head["account_id"], file, carrier.write(head, pages), json=json)


def _check_steps(to: str, left: bool, again: bool, cancel: bool, file: Path | None) -> None:
    if sum((bool(to), left, again, cancel)) != 1:
        raise Misused("choose one of --to, --left, --again and --cancel")
    if not cancel and file is None:
        raise Misused("name the file that carries the account")


def _begun(client: OperatorClient, around: Surroundings, account: str, to: str) -> dict[str, Any]:
    """Begin a move, and wait until nothing of the account is on its way; return the head of its file."""
    state = client.send("POST", "/erase/moves/begin", {"account": account, "to": to})
    wait = state["ready_at"] / 1000 - around.clock.now()
    if wait > 0:
        tell(f"waiting {wait:.0f} s for requests that are still on their way")
        around.clock.sleep(wait)
    named = {name: state[name] for name in ("account_id", "name", "elsewhere", "names")}
    return {"form": FORM, **named, "packed_at": int(around.clock.now() * 1000)}


def _say_packed(account: str, file: Path | None, count: int, *, json: bool) -> None:
    if json:
        emit({"account_id": account, "items": count, "file": str(file)})
        return
    say(f"{counted(count, 'item')} of {account} are in {file}")
    say(f"in the other cell:    posthaste account arrive {file}")


def arrive(
    ctx: typer.Context,
    file: File,
    *,
    opening: Annotated[bool, typer.Option("--open", help="Let it send: it is gone from the other cell.")] = False,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Let an account arrive that comes in a file, and at last --open it. You can repeat each step."""
    around = surroundings(ctx)
    carrier = Carrier(file)
    head, pages = carrier.read()
    with door(ctx, stage, aws=aws) as (client, _):
        if opening:
            _check_there(head["origin"], carrier.digests(), here=False)
            done = client.send("POST", "/erase/moves/open", {"account": head["account_id"]})
            _said(done, "is open here" if done["changed"] else "was open already", json=json)
            return
        put, number = 0, 0
        carried = {name: head[name] for name in ("account_id", "origin", "names")}
        with meter("unpacking", terminal=around.terminal, quiet=json) as shown:
            for items in pages:
                put += client.send("POST", "/erase/moves/unpack", {**carried, "items": items})["put"]
                number += len(items)
                shown(0.0, counted(number, "item"))
    if json:
        emit({"account_id": head["account_id"], "items": number, "put": put})
        return
    say(f"{head['account_id']} ({head['name']}) has arrived: {counted(number, 'item')}, of which {put:,} are new")
    say(f"in its old cell:      posthaste account depart {head['account_id']} {file} --left")
    say(f"then here:            posthaste account arrive {file} --open")


class Carrier:
    """A file that carries an account. It has addresses and hashes of keys, so only its owner may read it."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def write(self, head: dict[str, Any], pages: Iterator[list[dict[str, Any]]]) -> int:
        """Write it whole or not at all; return how many items it has."""
        draft, count = self._file.with_name(f"{self._file.name}.part"), 0
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
            out.write(encoding.dumps(head) + "\n")
            for items in pages:
                out.write(encoding.dumps({"items": items}) + "\n")
                count += len(items)
            out.write(encoding.dumps({"end": count}) + "\n")
        draft.replace(self._file)
        return count

    def read(self) -> tuple[dict[str, Any], Iterator[list[dict[str, Any]]]]:
        """Return its head and its pages; Misused if it is no whole file of this kind."""
        lines = self._lines()
        head, end = next(lines, {}), {}
        count = 0
        for end in lines:
            count += len(end.get("items", ()))
        if head.get("form") != FORM or end.get("end") != count:
            raise Misused(f"{self._file} carries no account, or was cut: pack the account again")
        pages = (line["items"] for line in self._lines() if "items" in line)
        return head, pages

    def digests(self) -> list[str]:
        """Return the hashes of the keys that it carries."""
        _, pages = self.read()
        items = (x["item"] for page in pages for x in page if x["table"] == "identities")
        return [item[_DIGEST]["S"] for item in items if _DIGEST in item]

    def _lines(self) -> Iterator[dict[str, Any]]:
        try:
            with self._file.open(encoding="utf-8") as lines:
                for line in lines:
                    found = encoding.loads(line)
                    yield found if isinstance(found, dict) else {}
        except (OSError, ValueError) as error:
            raise Misused(f"{self._file} cannot be read: {type(error).__name__}") from None


def _packed(client: OperatorClient, account: str, since: int, told: Any) -> Iterator[list[dict[str, Any]]]:
    request: dict[str, Any] = {"account": account, "since": since, "after": ""}
    count = 0
    while True:
        page = client.send("POST", "/erase/moves/pack", request)
        count += len(page["items"])
        told(counted(count, "item"))
        yield page["items"]
        if not page["after"]:
            return
        request["after"] = page["after"]


def _check_there(address: str, digests: list[str], *, here: bool) -> None:
    """Check that the other cell has all keys of an account, or none: so it never accepts in both."""
    pool = urllib3.PoolManager(retries=False)
    for digest in digests:
        try:
            url = address + CALLER_PATH.format(digest=digest)
            status = pool.request("GET", url, timeout=SECONDS, redirect=False).status
        except urllib3.exceptions.HTTPError:
            raise Unreachable(f"{address} does not answer, so nothing was changed: repeat the command") from None
        if status not in (HERE, ELSEWHERE):
            raise Failed(f"{address} answers with {status}, not as a cell does: is this its API's address?")
        if (status == HERE) is not here:
            missing = "lacks a key of the account: let it arrive there first"
            raise Failed(f"{address} {missing if here else 'still has the account: use --left there first'}")


def _said(done: dict[str, Any], what: str, *, json: bool) -> None:
    if json:
        emit(done)
    else:
        say(f"{done['account_id']} {what}")
