"""Times to send at, checked before anything is asked of the API, as the API itself checks them; and another time."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import typer

from cli.asking import NOTHING, Yes, check_can_ask, confirm
from cli.client import connect, path_of
from cli.errors import Failed, Misused
from cli.output import Json, counted, emit_or_say, surroundings
from cli.progress.words import left_of
from shared.domain.jobs.states import JobState
from shared.domain.times import PAST, USE_WITHIN_DAYS, Seconds, is_rfc_3339, may_begin

WAITING: Final = frozenset({"scheduled", "hours"})
"""Reasons for which a job waits that can get another time."""
At = Annotated[
    str, typer.Option(metavar="TIME", help="Send it then, RFC 3339 with an offset: 2026-12-01T09:00:00+01:00.")
]

_EXAMPLE: Final = "2026-12-01T09:00:00+01:00"


def check_time(at: str, now: Seconds) -> None:
    """Refuse a time at which the API would send no list.

    Args:
        at: as it was typed; empty for now.

    Raises:
        Misused: it is no time with an offset, or it is over, or too late for a list of today.
    """
    if not at:
        return
    wanted = _time(at)
    if not may_begin(wanted, now) or wanted.timestamp() > now + PAST + USE_WITHIN_DAYS * 86_400:
        moment = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
        raise Misused(f"choose a time for --at from now on and within {USE_WITHIN_DAYS} days; it is {moment}")


def _time(at: str) -> datetime:
    wanted: datetime | None = None
    if is_rfc_3339(at):
        with suppress(ValueError):
            wanted = datetime.fromisoformat(at.upper().replace(" ", "T"))
    if wanted is None:
        raise Misused(f"{at!r} is no time of RFC 3339 with its offset\nwrite --at like {_EXAMPLE}")
    return wanted


def add_to(app: typer.Typer, kind: str, root: str, stats: str) -> None:
    """Add this command to those of a kind of job.

    Args:
        app: the commands of the kind.
        kind: `batch` or `campaign`.
        root: their collection's path in the API.
        stats: what follows the path of one to its counts.
    """

    @app.command(
        help=f"Send a {kind} that waits for its time at another one, or now. It asks first. To send none of it, use "
        f"`{kind} stop`."
    )
    def reschedule(
        ctx: typer.Context,
        name: Annotated[str, typer.Argument(metavar="ID", help="Its id.")],
        at: At = "",
        now: Annotated[bool, typer.Option("--now", help="Send it now.")] = False,
        yes: Yes = False,
        json: Json = False,
    ) -> None:
        around = surroundings(ctx)
        if bool(at) == now:
            raise Misused("choose either --at TIME or --now")
        check_can_ask(around, yes=yes, json=json)
        check_time(at, around.clock.now())
        api, what = connect(ctx), f"{kind} {name}"
        body: dict[str, Any] = {"scheduled_at": at or None}
        if not yes:
            waiting = _waiting(api.get(path_of(root, name, stats)))
            if not waiting:
                raise Failed(f"{what} does not wait for its time\ncode: already_started", problem="already_started")
            times = _times(waiting)
            amount = counted(sum(left_of(job.get("counts")) for job in waiting), "message")
            then = f"at {at}" if at else "now"
            asked = f"Send {amount} of {what} {then}, instead of at {' and '.join(times)}, through {api.place}?"
            confirm(around, asked, json=json, yes=yes, otherwise=(f"{NOTHING}; {what} waits for its time",))
            body |= {"instead_of": times[0]} if len(times) == 1 else {}
        answer = api.post(path_of(root, name, "/reschedule"), body, again=False)
        emit_or_say(answer, json=json, text=_said(kind, name, answer))


def _said(kind: str, name: str, answer: Mapping[str, Any]) -> str:
    """Return what was done, for people."""
    times = _times(_waiting(answer))
    if times:
        return f"{kind} {name} is sent at {' and '.join(times)}"
    return f"{kind} {name} is sent now; posthaste {kind} watch {name}"


def _waiting(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the jobs of an answer that wait for their time. `found`: a batch, or a campaign's jobs."""
    jobs = found.get("jobs") or [found]
    return [job for job in jobs if job.get("state") == JobState.READY and job.get("waiting_for") in WAITING]


def _times(jobs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return for what jobs wait, each time once: that of their owner, or the opening of their hours."""
    return sorted({str(job.get("scheduled_at") or job.get("until")) for job in jobs})
