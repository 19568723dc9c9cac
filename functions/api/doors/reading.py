"""Requests of doors, read by the rules that hold for each of them: headers, templates, idempotency keys."""

from typing import Any

from functions.api.call import Call
from functions.api.campaigns.rules import owned_template
from functions.api.declined import accepted
from functions.api.requests import UNSUBSCRIPTION, header_fault
from shared.domain.campaigns.campaign import Message
from shared.domain.channels.email import EMAIL
from shared.domain.content.posting import Posting
from shared.engine.intake.accept import BatchRequest
from shared.engine.intake.posted import PostedBy
from shared.providers.doors import Door, DoorFault, DoorRefusal, Uncarried
from shared.web.authentication import KeyRefused
from shared.web.idempotency import fingerprint_of
from shared.web.problems import CODES, Problem, invalid, type_of
from shared.web.routing import Nothing


def posting_of(door: Door, body: Any) -> Posting:
    """Return what a message asks for; Problem for what cannot be carried. `body`: valid in the vendor's terms."""
    try:
        posting = door.read(body)
    except Uncarried as found:
        raise Problem("validation_failed", errors=[(x.field, x.text) for x in found.faults]) from None
    _check_headers(posting.fields["headers"], posting.headers)
    for message in posting.messages:
        _check_headers(f"{message.place}.headers", message.headers)
    return posting


def request_of(call: Call[Nothing, Any], posting: Posting, key: str) -> BatchRequest:
    """Return the job that a message asks for; Problem if it is not accepted. `key`: of its idempotency, or empty."""
    by = PostedBy(
        account=call.key.account,
        test=call.key.test,
        by=call.key.id,
        idempotency_key=key,
        fingerprint=fingerprint_of(call),
    )
    return accepted(call.services.intake.posted(posting, by, _template(call, posting)))


def refusal_of(found: Problem, request_id: str) -> DoorRefusal:
    """Return a problem as a door's vendor is to tell it."""
    said = found.detail or CODES[found.code][1]
    if found.code == "internal_error":
        said = f"{said} request_id: {request_id}"
    faults = [DoorFault(e.field, e.message) for e in found.field_errors] or [DoorFault("", said)]
    keyless = found.code == "unauthorized" and not isinstance(found, KeyRefused)
    return DoorRefusal(found.code, found.status, faults, type_of(found.code), keyless)


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
