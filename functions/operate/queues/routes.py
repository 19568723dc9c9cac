"""Queues and their dead letters: how many there are, what they are about, and how they are worked on again."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from pydantic import Field

from functions.operate.call import Call, OperateBody, OperateQuery, OperateView, route
from functions.operate.queues.subjects import Reader
from functions.operate.services import OperateServices
from shared.contracts import ENV_LANE_URL_PREFIX, EXPRESS_SUFFIX, prefix
from shared.contracts.names import DEAD_ENDING
from shared.domain.audit import EVERYONE, Act, audited
from shared.domain.queues.dead_letters import LANE, Letter, QueuePlace, Redriven, places
from shared.web.http import Answer
from shared.web.problems import Problem
from shared.web.routing import Nothing

WORK_SECONDS: Final = 5
"""For so long one request begins to redrive further messages; the client asks again while there are more."""
NO_ERROR: Final = "none in the logs: its function died, ran out of time, or was not called"


class QueueState(OperateView):
    """What is in a queue. Ages of the oldest are in seconds; None: not known, or it has no such queue."""

    queue: str
    waiting: int | None
    in_flight: int | None
    delayed: int | None
    oldest: int | None
    dead: int | None
    dead_oldest: int | None


class QueueStates(OperateView):
    """All queues."""

    items: list[QueueState]


class LettersQuery(OperateQuery):
    """How many dead letters."""

    limit: int = Field(20, ge=1, le=1000)


class LetterRow(OperateView):
    """A dead message. `what`: None if it cannot be read."""

    message_id: str
    since: int
    deliveries: int
    redrives: int
    what: str | None
    state: str
    error: str


class LetterRows(OperateView):
    """Dead messages, oldest first. `count`: about as many there are, `held`: and as many are in somebody's hand."""

    queue: str
    count: int
    held: int
    items: list[LetterRow]


class RedriveRequest(OperateBody):
    """How much is redriven. `run`: of the answer before, of a redrive that takes several requests."""

    run: str = Field("", pattern=r"^([0-9a-f]{32})?$")
    limit: int = Field(ge=1, le=1_000_000)
    discard: bool = Field(False, description="Delete messages that cannot be read or used, instead of leaving them.")


class LeftRow(OperateView):
    """A message that stays."""

    message_id: str
    since: int
    why: str


class RedriveResult(OperateView):
    """What a request has done. `more`: its time was over; ask again, with the same run."""

    queue: str
    run: str
    moved: int
    discarded: int
    left: list[LeftRow]
    more: bool


def queues(call: Call[Nothing, Nothing]) -> Answer:
    """Return what is in every queue."""
    services = call.services
    rows = services.dead_letters.rows(_known(services), services.clock.now())
    return QueueStates(items=[QueueState(**row) for row in rows]).answer()


def letters(call: Call[LettersQuery, Nothing]) -> Answer:
    """Return dead messages of a queue, and give all of them back."""
    services, place = call.services, _place(call.services, call.path["queue"])
    counts = services.dead_letters.counts(place.dead)
    found = services.dead_letters.look(place.dead, call.query.limit)
    return LetterRows(
        queue=place.name,
        count=max(counts["waiting"], len(found)),
        held=counts["in_flight"],
        items=_rows(services, place, found),
    ).answer()


def redrive(call: Call[Nothing, RedriveRequest]) -> Answer:
    """Have dead messages worked on again. A repeat is safe: nothing is sent twice (promise 8)."""
    services, body, place = call.services, call.body, _place(call.services, call.path["queue"])
    run = body.run or uuid.uuid4().hex
    reader = Reader.of(services)
    work = services.redrive(place, run, lambda text: reader.about(place.kind, text) is not None, discard=body.discard)
    until = services.clock.now() + WORK_SECONDS
    with _audited(call, place, run, work.tally):
        work.go(body.limit, lambda: services.clock.now() >= until)
    done = work.tally
    return RedriveResult(
        queue=place.name,
        run=run,
        moved=done.moved,
        discarded=done.discarded,
        left=[LeftRow(message_id=x.id, since=x.sent_at, why=why) for x, why in done.left],
        more=done.more,
    ).answer()


@contextmanager
def _audited(call: Call[Nothing, RedriveRequest], place: QueuePlace, run: str, tally: Redriven) -> Iterator[None]:
    """Note in the deployment's audit log that a redrive begins, and how it ended, however it did."""
    services = call.services

    def write(act: Act, data: Mapping[str, int]) -> None:
        at = int(services.clock.now() * 1000)
        services.journal.write(audited(EVERYONE, at, place.name, act, call.key.id, {"run": run, **data}))

    write(Act.REDRIVE_BEGUN, {})
    try:
        yield
    finally:
        write(Act.REDRIVE_ENDED, {"moved": tally.moved, "discarded": tally.discarded, "left": len(tally.left)})


def _known(services: OperateServices) -> list[QueuePlace]:
    return places(services.env[ENV_LANE_URL_PREFIX], services.served)


def _place(services: OperateServices, queue: str) -> QueuePlace:
    """Return the queue that somebody means, who may have its name from an alarm or from the console."""
    name = queue.removeprefix(f"{prefix(services.settings.stage)}-").removesuffix(DEAD_ENDING)
    name = name.removesuffix(EXPRESS_SUFFIX)  # what is dead of it lies with the lane's
    known = [place for place in _known(services) if place.dead]
    for place in known:
        if place.name in (name, f"{LANE}{name}"):
            return place
    raise Problem("not_found", f"There is no queue {queue}; there are {', '.join(x.name for x in known)}.")


def _rows(services: OperateServices, place: QueuePlace, found: list[Letter]) -> list[LetterRow]:
    """Return dead messages with what they are about, and their errors."""
    reader = Reader.of(services)
    said: Mapping[str, str] = {}
    unknown = ""
    if place.url and found:
        said = services.dead_letters.errors(place.url, min(x.first_at or x.sent_at for x in found))
        unknown = NO_ERROR
    return [_row(reader, place, x, said.get(x.id) or x.fault or unknown) for x in found]


def _row(reader: Reader, place: QueuePlace, letter: Letter, error: str) -> LetterRow:
    about = reader.about(place.kind, letter.body)
    return LetterRow(
        message_id=letter.id,
        since=letter.sent_at,
        deliveries=letter.deliveries,
        redrives=letter.redrives,
        what=about.what if about else None,
        state=about.state if about else "cannot be read",
        error=error,
    )


ROUTES: Final = (
    route("GET", "/queues", "What is in every queue", queues, QueueStates),
    route("GET", "/queues/{queue}/letters", "What is dead in a queue, and why", letters, LetterRows, "not_found"),
    route("POST", "/queues/{queue}/redrive", "Have it worked on again", redrive, RedriveResult, "not_found"),
)
