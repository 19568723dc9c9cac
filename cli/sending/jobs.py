"""Commands that batches and campaigns share: a job's log, its export, stop, resume and retry."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cli.asking import NOTHING, Yes, check_can_ask, confirm
from cli.client import LARGEST_PAGE, Body, connect, path_of
from cli.errors import Failed, Misused
from cli.output import Json, counted, emit, emit_or_say, say, surroundings, tables, tell
from cli.progress.polling import asked
from cli.progress.words import UNSENT, left_of, state_words
from cli.sending import exports, moments
from cli.sending.running import how_to_send
from shared.domain.jobs.states import JobState, MessageState, Status
from shared.domain.lanes.meanings import in_words

if TYPE_CHECKING:
    from shared.ports import Clock

PATIENCE: Final = 300.0
"""Seconds that a command waits for a stop: a lease ends within two minutes, and the sweeper looks every minute."""
STOPPING: Final = "stopping"
"""The problem of a resume or retry that comes while its job is being stopped."""
INCLUDED: Final[Mapping[str, Sequence[MessageState]]] = {
    "unsent": (),
    "failed": (MessageState.FAILED,),
    "unknown": (MessageState.UNKNOWN,),
}
"""Value of `--include` → states that a retry then sends, besides the unsent messages, which every retry sends."""
DEFAULT: Final = ("unsent", "failed")
LOG: Final = ("id", "state", "attempts", "recipient", "providers", "error")

_STOPPED: Final = frozenset({JobState.STOPPED, JobState.LOGGED})
"""States of a job that a resume or a retry may open again."""

Name = Annotated[str, typer.Argument(metavar="ID", help="Its id.")]
State = Annotated[list[MessageState] | None, typer.Option(help="Only messages in this state. Repeatable.")]
OfStatus = Annotated[Status | None, typer.Option(help="Only messages of this status.")]
Recipient = Annotated[str, typer.Option(metavar="ADDRESS", help="Only messages to this address.")]
Out = Annotated[Path | None, typer.Option(metavar="FILE", help="The file to write. Default: named after the id, here.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
Include = Annotated[
    list[str] | None,
    typer.Option(
        metavar="unsent|failed|unknown",
        help="What to send again. Repeatable; default: unsent and failed. Unsent messages are always sent.",
    ),
]


@dataclass(frozen=True, slots=True)
class _Jobs:
    """A kind of job in the API.

    Attributes:
        kind: `batch` or `campaign`.
        root: its collection.
        stats: what follows the path of one to its counts.
    """

    kind: str
    root: str
    stats: str

    def ask(
        self, ctx: typer.Context, name: str, wording: str, states: Sequence[MessageState], *, yes: bool, json: bool
    ) -> None:
        """Ask before messages are sent; the question names how many, and the API.

        Args:
            wording: of the question, with `{amount}` and `{what}`.
            states: of the messages that it is about.
        """
        around = surroundings(ctx)
        check_can_ask(around, yes=yes, json=json)
        if yes:
            return
        api = connect(ctx)
        found = api.get(path_of(self.root, name, self.stats))
        counts, what = found.get("counts") or {}, f"{self.kind} {name}"
        amount = counted(sum(int(counts.get(state) or 0) for state in states), "message")
        waits = _scheduled(found, around.clock.now())
        asked = f"{waits}{wording.format(amount=amount, what=what)} through {api.place}?"
        rest = f"{NOTHING}; {what} is {state_words(found.get('state'), left_of(counts))}"
        confirm(around, asked, yes=yes, json=json, otherwise=(rest,))

    def again(self, ctx: typer.Context, name: str, rest: str, body: Body = b"{}", *, json: bool) -> None:
        """Resume or retry, once what is being stopped has stopped.

        Not repeated when the answer is lost: the first request may have been heard, and the second would be refused.

        Args:
            rest: `/resume` or `/retry`.
        """
        api, path = connect(ctx), path_of(self.root, name, rest)
        answer = _once_stopped(lambda: api.post(path, body, again=False), surroundings(ctx).clock)
        emit_or_say(answer, json=json, text=_queued_again(self.kind, name, answer))


def add_to(app: typer.Typer, kind: str, root: str, *, log: str, stats: str = "") -> None:
    """Add these commands to those of a kind of job.

    Args:
        app: the commands of the kind.
        kind: `batch` or `campaign`.
        root: their collection's path in the API.
        log: what follows the path of one to its messages.
        stats: what follows the path of one to its counts.
    """
    jobs = _Jobs(kind, root, stats)

    @app.command()
    def logs(
        ctx: typer.Context,
        name: Name,
        state: State = None,
        status: OfStatus = None,
        recipient: Recipient = "",
        json: Json = False,
    ) -> None:
        """Show each message's outcome, in list order. `posthaste message ID` shows what happened to one."""
        query = {
            "limit": LARGEST_PAGE,
            "state": ",".join(state or ()),
            "status": status.value if status else "",
            "recipient": recipient,
        }
        found = connect(ctx).pages(path_of(root, name, log), {k: v for k, v in query.items() if v})
        empty = "no such messages" if state or status or recipient else "no messages"
        tables(LOG, found, json=json, empty=empty, row=lambda line: _shown(line, name))

    @app.command(help=f"Store every message of a {kind} as a row of a CSV file. A running one exports as it is now.")
    def export(ctx: typer.Context, name: Name, out: Out = None, force: Force = False, json: Json = False) -> None:
        path = path_of(root, name, "/export")
        target = exports.place(out, kind, name, replace=force)
        exports.fetch(connect(ctx), surroundings(ctx), path=path, target=target, json=json)

    @app.command(
        help=f"Stop a {kind}: what has not been handed to a provider stays queued. A finished one stays as it is."
    )
    def stop(ctx: typer.Context, name: Name, json: Json = False) -> None:
        api, clock = connect(ctx), surroundings(ctx).clock
        answer = api.post(path_of(root, name, "/stop"), again=True)
        if json:
            emit(answer)
            return
        found = answer
        if answer.get("state") == JobState.STOPPED:
            tell("stopping. Waiting for messages already handed to the provider")
        if stats or answer.get("state") == JobState.STOPPED:
            found = _stopped(lambda: api.get(path_of(root, name, stats)), clock)
        left = left_of(found.get("counts"))
        words = state_words(found.get("state"), left)
        rest = f"; to send the rest:  posthaste {kind} resume {name}" if left else ""
        say(f"{kind} {name} is {words}{rest}")

    @app.command(help=f"Send what a stopped {kind} has not sent. It asks first.")
    def resume(ctx: typer.Context, name: Name, yes: Yes = False, json: Json = False) -> None:
        jobs.ask(ctx, name, "Send {amount} that are left of {what}", UNSENT, yes=yes, json=json)
        jobs.again(ctx, name, "/resume", json=json)

    @app.command()
    def retry(ctx: typer.Context, name: Name, include: Include = None, yes: Yes = False, json: Json = False) -> None:
        """Send again messages that were not sent or failed temporarily. It asks first.

        Permanent bounces are never sent again. Use --include unknown to also send messages with an unknown outcome:
        some people can get them twice.
        """
        body = _to_include(include)
        wanted = [*UNSENT, *(state for word in dict.fromkeys(include or DEFAULT) for state in INCLUDED[word])]
        twice = "Some people can get {what} twice. " if MessageState.UNKNOWN in wanted else ""
        jobs.ask(ctx, name, twice + "Send up to {amount} of {what} again", wanted, yes=yes, json=json)
        jobs.again(ctx, name, "/retry", body, json=json)

    moments.add_to(app, kind, root, stats)
    _add_override(app, jobs)


def _add_override(app: typer.Typer, jobs: _Jobs) -> None:
    kind = jobs.kind

    @app.command(
        "override-bounce-guard",
        help=f"Turn off the bounce guard of a {kind} permanently. Then run `{kind} resume`.",
    )
    def override_guard(ctx: typer.Context, name: Name, yes: Yes = False, json: Json = False) -> None:
        around = surroundings(ctx)
        check_can_ask(around, yes=yes, json=json)
        api = connect(ctx)
        if not yes:
            left = counted(left_of(api.get(path_of(jobs.root, name, jobs.stats)).get("counts")), "message")
            asked = f"Turn off the bounce guard of this {kind} of {api.place} for good, with {left} left?"
            confirm(around, asked, yes=yes, json=json)
        answer = api.post(path_of(jobs.root, name, "/override-bounce-guard"), again=True)
        text = f"{kind} {name} is sent whatever bounces; go on:  posthaste {kind} resume {name}"
        emit_or_say(answer, json=json, text=text)


def _scheduled(found: Mapping[str, Any], now: float) -> str:
    """Return until when stopped messages wait after a resume, as a sentence; empty if they are sent at once.

    Args:
        found: a batch, or the counts of a campaign with its jobs.
        now: Unix seconds.
    """
    stopped = (job for job in found.get("jobs") or [found] if job.get("state") in _STOPPED)
    times = sorted({str(job["scheduled_at"]) for job in stopped if job.get("scheduled_at")})
    ahead = [time for time in times if datetime.fromisoformat(time).timestamp() > now]
    return f"Scheduled for {' and '.join(ahead)}, not sent before. " if ahead else ""


def _queued_again(kind: str, name: str, answer: Mapping[str, Any]) -> str:
    """Return what a resume or a retry has done, for people.

    Args:
        kind: `batch` or `campaign`.
    """
    messages = int(answer.get("messages") or 0)
    if messages:
        return f"{kind} {name}: {counted(messages, 'message')} queued again; posthaste {kind} watch {name}"
    return how_to_send(name) if answer.get("state") == "ready" else f"{kind} {name}: nothing to send"


def _stopped(read: Callable[[], dict[str, Any]], clock: "Clock") -> dict[str, Any]:
    """Wait until what is being stopped has stopped, for a while; return it."""
    end = clock.now() + PATIENCE
    for found in asked(read, clock):
        if found.get("state") != JobState.STOPPED or clock.now() > end:
            return found
    raise AssertionError("the readings never end")


def _once_stopped(send: Callable[[], dict[str, Any]], clock: "Clock") -> dict[str, Any]:
    """Send a request, again and again while what it is about is being stopped."""
    end = clock.now() + PATIENCE

    def tried() -> dict[str, Any] | None:
        try:
            return send()
        except Failed as error:
            if error.problem != STOPPING or clock.now() > end:
                raise
            return None

    for n, answer in enumerate(asked(tried, clock)):
        if answer is not None:
            return answer
        if not n:
            tell("the job is being stopped. Waiting until it has stopped")
    raise AssertionError("the readings never end")


def _shown(line: Mapping[str, Any], job: str) -> dict[str, Any]:
    """Return a line of a log as a row; `job`: that of a line that names none, which is of a batch."""
    tried = [name for name, was in (line.get("providers") or {}).items() if was]
    attempts = line.get("attempts")
    return {
        "id": f"{line.get('job_id') or job}/{line.get('message')}",
        "state": line.get("state"),
        "attempts": len(attempts) if isinstance(attempts, list) else attempts,
        "recipient": line.get("recipient"),
        "providers": ",".join(tried) or "-",
        "error": _fault(line),
    }


def _fault(line: Mapping[str, Any]) -> str:
    twice = "may have arrived twice" if line.get("may_duplicate") else ""
    return "; ".join(x for x in (in_words(str(line.get("error") or "")), twice) if x)


def _to_include(include: list[str] | None) -> dict[str, list[str]]:
    """Return the body of a retry; Misused if a word is unknown."""
    wanted = include or []
    if set(wanted) - set(INCLUDED):
        raise Misused("--include takes unsent, failed or unknown")
    return {"include": wanted} if wanted else {}
