"""`posthaste message ID`: what happened to one message, in words and in order. `message find` looks for it."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from cli.account.finding import find
from cli.account.suppressions import told
from cli.client import connect, path_of
from cli.errors import Misused
from cli.output import Json, emit, say
from shared.domain.lanes.meanings import in_words

OUTCOMES: Final[Mapping[str, str]] = {
    "accepted": "accepted it",
    "refused": "refused it",
    "invalid": "was not called: the message cannot be sent",
    "not_sent": "did not take it",
    "unknown": "gave no answer: it may or may not have the message",
}
EVENTS: Final[Mapping[str, str]] = {
    "accepted": "accepted it",
    "deferred": "could not deliver it yet and tries again",
    "delivered": "delivered it",
    "bounced": "reports a permanent bounce",
    "complained": "reports that the recipient complained",
    "dropped": "gave it up without trying",
    "blocked": "reports that the receiver refused it",
    "failed_temporarily": "gave it up after trying for long",
    "pressed": "reports that the recipient pressed a key",
    "absent": "reports that it never had the message",
}


class MessageCommands(TyperGroup):
    """`message ID` is `message show ID`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `show` before words that begin with no command."""
        named = not args or args[0] in (*self.commands, "--help")
        return super().parse_args(ctx, args if named else ["show", *args])


app = typer.Typer(cls=MessageCommands, no_args_is_help=True)
app.command("find")(find)


@app.callback()
def _group() -> None:
    """One message: `message ID` shows what happened to it, and `message find` looks for it."""


@app.command("show")
def message(
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="ID", help="As `campaign logs` and `batch logs` show it: JOB/MESSAGE.")
    ],
    json: Json = False,
) -> None:
    """Show what happened to one message: each attempt with the provider's answer, and each later event."""
    job, slash, position = name.partition("/")
    if not (job and slash and position):
        raise Misused("a message's id is JOB/MESSAGE, as `posthaste campaign logs` and `posthaste batch logs` show it")
    found = connect(ctx).get(path_of("jobs", job, path_of("logs", position)))
    if json:
        emit(found)
        return
    say(f"message {name} to {found.get('recipient')} is {found.get('state')}")
    for line in _labels(found):
        say(line)
    events = sorted(_events(found), key=lambda event: event[0])
    for _, at, words in events:
        say(f"  {_short(at)}  {words}")
    if not events:
        say("  no provider has had it yet" if found.get("state") == "queued" else "  no provider has had it")
    for line in _remarks(found):
        say(line)


def _labels(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the batch's owner calls the message; nothing of what is empty."""
    if found.get("reference"):
        yield f"reference: {found['reference']}"
    if found.get("tags"):
        yield f"tags: {', '.join(map(str, found['tags']))}"
    for name, value in (found.get("metadata") or {}).items():
        yield f"metadata: {name}={value}"


def _events(found: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield each event: by which time it is sorted, its time, and words.

    A provider's events have whole seconds, of its own clock: none comes before the attempt that it is about.
    """
    for attempt in found.get("attempts") or ():
        where = attempt.get("credential_id")
        given = f" (its id: {attempt['provider_message_id']})" if attempt.get("provider_message_id") else ""
        outcome = OUTCOMES.get(attempt.get("outcome"), attempt.get("outcome"))
        at = str(attempt.get("at"))
        yield at, at, f"attempt {attempt.get('n')}: {where} {outcome}{_why(attempt.get('code'))}{given}"
        for event in attempt.get("feedback") or ():
            words = EVENTS.get(event.get("word"), event.get("word"))
            heard = str(event.get("at"))
            yield max(at, heard), heard, f"{where} {words}{_why(event.get('code'))}"


def _why(code: object) -> str:
    return f": {in_words(str(code))}" if code else ""


def _remarks(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is to be said besides."""
    if found.get("error"):
        yield f"why: {in_words(str(found['error']))}"
    if found.get("suppression"):
        yield f"the address is on the list {found['suppression'].get('scope')} {told(found['suppression'])}"
    if found.get("error_detail"):
        yield f"the provider wrote: {found['error_detail']}"
    if found.get("may_duplicate"):
        yield "it may have arrived twice: it was sent again after an attempt with an unknown outcome"
    if found.get("unacknowledged"):
        yield "the provider's report is overdue"


def _short(at: str) -> str:
    """Return an RFC 3339 time without its fraction."""
    return at.replace("T", " ").partition(".")[0].removesuffix("Z") + " UTC"
