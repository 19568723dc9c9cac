"""Doors that providers declare: each takes a vendor's own request, and answers as that vendor does."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from functions.api.call import Call
from functions.api.campaigns.rules import owned_template
from functions.api.declined import accepted
from functions.api.requests import UNSUBSCRIPTION, header_fault
from shared.domain.accounts import Scope
from shared.domain.campaigns.campaign import Message
from shared.domain.channels.email import EMAIL
from shared.domain.content.posting import Posting
from shared.engine.intake.posted import PostedBy
from shared.ports import Mismatch, Replay
from shared.providers.doors import Door, DoorFault, DoorRefusal, Uncarried, doors
from shared.web.http import Answer
from shared.web.idempotency import earlier, fingerprint_of, idempotency_key
from shared.web.problems import CODES, Problem, invalid, type_of
from shared.web.routing import Form, Nothing, Route


def post(door: Door, call: Call[Nothing, Any]) -> Answer:
    """Accept a request as one job, or refuse it; nothing is stored unless it is accepted.

    Args:
        call: the request, valid in the vendor's terms.
    """
    posting = _read(door, call)
    acting = replace(call, key=replace(call.key, test=True)) if posting.rehearsed else call
    by = PostedBy(
        account=acting.key.account,
        test=acting.key.test,
        by=acting.key.id,
        idempotency_key=idempotency_key(acting),
        fingerprint=fingerprint_of(acting),
    )
    try:
        request = accepted(call.services.intake.posted(posting, by, _template(call, posting)))
        found = call.services.acceptor.accept(request)
        stored = found if isinstance(found, Replay | Mismatch) else accepted(found)
    except Problem:
        # What was valid when it was accepted may no longer be; the first answer is given all the same.
        before = earlier(acting, 202)
        if before is None:
            raise
        return _taken(door, posting, before.body, replayed=True)
    if isinstance(stored, Mismatch):
        raise Problem("idempotency_mismatch")
    return _taken(door, posting, stored.answer, replayed=isinstance(stored, Replay))


def _read(door: Door, call: Call[Nothing, Any]) -> Posting:
    try:
        posting = door.read(call.body)
    except Uncarried as found:
        raise Problem("validation_failed", errors=[(x.field, x.text) for x in found.faults]) from None
    _check_headers(posting.fields["headers"], posting.headers)
    for message in posting.messages:
        _check_headers(f"{message.place}.headers", message.headers)
    return posting


def _check_headers(field: str, headers: tuple[tuple[str, str], ...]) -> None:
    """Refuse headers that instruct a provider, or of which readers could not make anything.

    A client brings its own link for unsubscribing: the answer names no other way.
    """
    seen: set[str] = set()
    for name, value in headers:
        lower = name.lower()
        fault = header_fault(f"X-{name}" if lower in UNSUBSCRIPTION else name, value)
        if lower in seen:
            fault = "A header is given twice"
        if fault:
            raise invalid(f"{field}.{name}" if name.isascii() and name.isprintable() else field, f"{fault}.")
        seen.add(lower)


def _template(call: Call[Nothing, Any], posting: Posting) -> Message | None:
    """Return the stored template that a request names; None if it names none."""
    if not posting.template:
        return None
    where = posting.fields["template"]
    try:
        found = owned_template(call, posting.template)
    except Problem:
        text = "This account has no such template. Store it here (POST /templates), and send the ID of the answer."
        raise invalid(where, text) from None
    if found.channel != EMAIL.name:
        raise invalid(where, "The template is of another channel.")
    return found.message


def _taken(door: Door, posting: Posting, answer: str, *, replayed: bool) -> Answer:
    job = str(json.loads(answer)["job_id"])
    status, headers = door.taken(posting, job)
    again = {"Idempotency-Replayed": "true"} if replayed else {"Location": f"/batches/{job}"}
    return Answer(status, "", {**headers, **again})


def _refused(door: Door, found: Problem, request_id: str) -> Answer:
    """Return a problem in a vendor's form."""
    said = found.detail or CODES[found.code][1]
    if found.code == "internal_error":
        said = f"{said} request_id: {request_id}"
    faults = [DoorFault(e.field, e.message) for e in found.field_errors] or [DoorFault("", said)]
    status = door.status(found.code, found.status)
    refusal = DoorRefusal(found.code, found.status, faults, type_of(found.code))
    return Answer(status, door.refused(refusal), found.headers)


def _form(door: Door) -> Form:
    return Form(door.refusal, lambda code: door.status(code, CODES[code][0]), partial(_refused, door))


def _route(door: Door) -> Route:
    def handler(call: Call[Nothing, Any]) -> Answer:
        return post(door, call)

    return Route(
        method="POST",
        path=door.path,
        name=door.name,
        summary=door.summary,
        description=door.description,
        scope=Scope.SEND,
        handler=handler,
        body=door.body,
        answers=dict.fromkeys(door.statuses, Nothing),
        problems=(
            *("account_suspended", "from_not_allowed", "no_valid_recipient", "too_many_in_message", "no_route"),
            "quota_exceeded",
        ),
        idempotent=True,
        form=_form(door),
        headers=door.headers,
        tag=door.tag,
        while_suspended=True,  # it asks with the sender's right
    )


ROUTES: Final[tuple[Route, ...]] = tuple(_route(door) for door in doors())
FORMS: Final[Mapping[str, Form]] = {route.path.strip("/"): route.form for route in ROUTES if route.form is not None}
"""Path, without slashes at its ends → the form of its problems: also of those that are found before the route is."""
