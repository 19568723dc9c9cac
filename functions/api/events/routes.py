"""Events, which are collected in windows and sent as digests."""

import secrets
from typing import Final

from pydantic import Field

from functions.api.call import Call
from functions.api.declined import accepted
from functions.api.events.requests import NewEvent, NewEvents
from shared.domain.accounts import Scope
from shared.domain.audit import Act
from shared.domain.digests.events import MAX_EVENT_BYTES, MAX_KEYS, DigestEvent, event_id, flatten, raw_size
from shared.domain.digests.window import LOOK_BACK_MS
from shared.engine.digests.add import NoPolicy, OtherContent, PostedEvent
from shared.ports import Mismatch
from shared.web.http import Answer
from shared.web.idempotency import idempotency_key, record_of
from shared.web.problems import Problem, invalid
from shared.web.routing import Nothing, Route, section
from shared.web.views import Time, View, moment

_MOST_ERRORS: Final = 20


class AcceptedPiece(View):
    """Events of one batch key that joined one window."""

    batch_key: str
    window_id: str
    closes_at: Time = Field(description="The window's end. Events near it move it; a full window closes earlier.")
    accepted: int = Field(description="Events, repeats included.")


class AcceptedEvents(View):
    """Where the events of a request are."""

    items: list[AcceptedPiece] = Field(description="A key whose events are in several windows has an entry for each.")


def post(call: Call[Nothing, NewEvents]) -> Answer:
    """Add events to the windows of their batch keys: all of them, or an error that a repeat makes good."""
    key = idempotency_key(call)
    accepted(call.services.intake.active(call.key.account))
    posted = [_posted(call, i, event, key) for i, event in enumerate(call.body.events)]
    _check_keys(call.body)
    adder = call.services.digests().adder
    added = adder.add(call.key.account, posted, test=call.key.test, begin=lambda: _begin(call))
    if isinstance(added, NoPolicy):
        raise _no_policy(call.body, added)
    if isinstance(added, OtherContent):
        raise _other_content(call.body, added)
    pieces = [
        AcceptedPiece(
            batch_key=piece.key,
            window_id=piece.window_id,
            closes_at=moment(piece.closes_at),
            accepted=piece.accepted,
        )
        for piece in added
    ]
    return AcceptedEvents(items=pieces).answer(202)


def _begin(call: Call[Nothing, NewEvents]) -> None:
    """Note whose events are accepted, once nothing is left to refuse."""
    _claim_key(call)
    key = call.key
    call.services.acceptances.note(key.namespace, Act.EVENTS_ACCEPTED, key.id, key.id)


def _claim_key(call: Call[Nothing, NewEvents]) -> None:
    """Note what a request under an Idempotency-Key asks for; Problem idempotency_mismatch.

    A repeat is carried out again, since the first call may have ended before all of its events were stored.
    """
    record = record_of(call, "", LOOK_BACK_MS)
    found = call.services.answers.keep(record, secrets.token_hex(16)) if record else None
    if isinstance(found, Mismatch):
        raise Problem("idempotency_mismatch")


def _posted(call: Call[Nothing, NewEvents], index: int, event: NewEvent, key: str) -> PostedEvent:
    try:
        data = flatten(event.data or {})
    except ValueError as found:
        raise invalid(call.body.field(index, "data"), f"{str(found)[:1].upper()}{str(found)[1:]}.") from None
    at = event.timestamp.timestamp() if event.timestamp is not None else call.services.clock.now()
    made = DigestEvent(
        type=event.event_type,
        recipients=tuple(event.recipients),
        at=int(at * 1000),
        data=data,
        id=event_id(event.event_id or "", key, index),
        dated=event.timestamp is not None,
    )
    if raw_size(made) > MAX_EVENT_BYTES:
        raise invalid(call.body.field(index, "data"), f"An event has at most {MAX_EVENT_BYTES:,} bytes.")
    return PostedEvent(key=event.batch_key, event=made, urgent=event.urgent, named=event.event_id is not None)


def _check_keys(body: NewEvents) -> None:
    """Refuse a request with too many batch keys, at the first event that has one too many."""
    seen: set[str] = set()
    for index, event in enumerate(body.events):
        seen.add(event.batch_key)
        if len(seen) > MAX_KEYS:
            raise invalid(body.field(index, "batch_key"), f"A request has at most {MAX_KEYS} different batch keys.")


def _no_policy(body: NewEvents, found: NoPolicy) -> Problem:
    """Return the problem of keys without a policy; it names the first event of each."""
    errors: dict[str, tuple[str, str]] = {}
    for index, event in enumerate(body.events):
        if event.batch_key in found.keys and event.batch_key not in errors:
            field = body.field(index, "batch_key")
            errors[event.batch_key] = (field, "No digest policy has a prefix of this batch key.")
    return Problem("no_policy", errors=list(errors.values())[:_MOST_ERRORS])


def _other_content(body: NewEvents, found: OtherContent) -> Problem:
    """Return the problem of events under ids that are taken."""
    text = "An earlier event of this batch key has this id and another content."
    errors = [(body.field(index, "event_id"), text) for index in found.places]
    return Problem("event_id_taken", errors=errors[:_MOST_ERRORS])


ROUTES: Final = section(
    "Events",
    Route(
        method="POST",
        path="/events",
        name="postEvents",
        summary="Add events to digests",
        description="One event, or an array of at most 5,000 with at most 200 batch keys. The events of a batch key "
        "are collected in a window. When it closes, each recipient gets one message about all of theirs. The longest "
        "policy prefix of the key decides how. After a lost answer or a 5xx, repeat the request as it is: with "
        "`event_id` or an `Idempotency-Key` no event is in two digests. Another content under one `event_id` is an "
        "error.",
        scope=Scope.SEND,
        handler=post,
        answers={202: AcceptedEvents},
        problems=("account_suspended", "no_policy", "event_id_taken", "idempotency_mismatch"),
        key_use="Names the events that have no `event_id`, by their position. A repeat within an hour is accepted, and "
        "its events are left out of the digest. Another request with the same key is an error.",
        while_suspended=True,  # it asks with the sender's right
    ),
)
