"""What the commands of batches and campaigns have in common: a job's log, stop, resume and retry."""

import json as codec
from typing import Annotated, Any, Final

import typer

from cli.client import connect
from cli.errors import Misused
from cli.output import counted, emit, say, table, tell
from shared.domain.states import MessageState, Status

PAGE: Final = "1000"

State = Annotated[list[MessageState] | None, typer.Option(help="Only messages in this state. Repeatable.")]
OfStatus = Annotated[Status | None, typer.Option(help="Only messages of this status.")]
Recipient = Annotated[str, typer.Option(metavar="ADDRESS", help="Only messages to this address.")]
Include = Annotated[
    list[str] | None,
    typer.Option(metavar="unsent|failed|unknown", help="What to send again. Repeatable; default: unsent and failed."),
]


def show_log(
    ctx: typer.Context,
    path: str,
    *,
    state: list[MessageState] | None,
    status: Status | None,
    recipient: str,
    json: bool,
) -> None:
    """Print what became of each message, in list order."""
    query = {
        "limit": PAGE,
        "state": ",".join(state or ()),
        "status": status.value if status else "",
        "recipient": recipient,
    }
    columns = ("message", "state", "attempts", "recipient", "providers", "error")
    shown = 0
    for lines in connect(ctx).pages(path, {k: v for k, v in query.items() if v}):
        if json:
            for line in lines:
                emit(line)
        elif lines:
            table(columns, [_shown(line) for line in lines], empty="", header=not shown)
        shown += len(lines)
    if not shown:
        tell("no such messages" if state or status or recipient else "no messages")


def _shown(line: dict[str, Any]) -> dict[str, Any]:
    tried = [name for name, was in (line.get("providers") or {}).items() if was]
    error = line.get("error") or ""
    twice = "may have arrived twice" if line.get("may_duplicate") else ""
    attempts = line.get("attempts")
    return {
        "message": line.get("message"),
        "state": line.get("state"),
        "attempts": len(attempts) if isinstance(attempts, list) else attempts,
        "recipient": line.get("recipient"),
        "providers": ",".join(tried) or "-",
        "error": "; ".join(x for x in (error, twice) if x),
    }


def stop(ctx: typer.Context, kind: str, name: str, path: str, *, json: bool) -> None:
    """Stop a job; what has not been handed to a provider stays queued."""
    answer = connect(ctx).post(f"{path}/stop", again=True)
    told(answer, json=json, text=f"{kind} {name} is {answer.get('state')}; go on:  posthaste {kind} resume {name}")


def again(ctx: typer.Context, kind: str, name: str, path: str, word: str, body: bytes = b"{}", *, json: bool) -> None:
    """Resume or retry.

    Not repeated when the answer is lost: the first request may have been heard, and the second would be refused.
    """
    answer = connect(ctx).post(f"{path}/{word}", body, again=False)
    if answer.get("messages") == 0:
        text = f"{kind} {name}: nothing to send"
    else:
        queued = counted(answer.get("messages", 0), "message")
        text = f"{kind} {name}: {queued} queued again; posthaste {kind} watch {name}"
    told(answer, json=json, text=text)


def to_include(include: list[str] | None) -> bytes:
    """Return the body of a retry; Misused if a word is unknown."""
    wanted = include or []
    if set(wanted) - {"unsent", "failed", "unknown"}:
        raise Misused("--include takes unsent, failed or unknown")
    return codec.dumps({"include": wanted} if wanted else {}).encode()


def told(answer: dict[str, Any], *, json: bool, text: str) -> None:
    """Print an answer, for programs or for people."""
    if json:
        emit(answer)
    else:
        say(text)
