"""A client's batch becomes the engine's: what depends on the account, its senders, suppressions and credentials."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from functions.api.call import Call
from functions.api.requests import MAX_COPIES, MAX_RECIPIENTS, NewBatch
from shared.contracts import TEST_CREDENTIAL, Routing
from shared.domain.content.content import Attachment, Content, Mailbox
from shared.domain.content.unsubscribe import PATH
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.job import OnAmbiguous, Policy
from shared.domain.recipients.addresses import Address, Invalid, parse, parse_many, split_list
from shared.domain.recipients.suppressions import reaches
from shared.engine.intake.accept import BatchRequest
from shared.web.problems import Problem, invalid
from shared.web.routing import Nothing

CHANNEL: Final = "email"
PAST: Final = 300
"""Seconds that a scheduled time may lie in the past, for clocks that are late; then it means now."""
FUTURE: Final = 366 * 86_400


def compose(call: Call[Nothing, NewBatch], key: str, fingerprint: str) -> BatchRequest:
    """Return what the engine accepts; reads senders and suppressions, writes nothing.

    Raises:
        Problem: the batch cannot be accepted.
    """
    body = call.body
    if not body.body and not body.text:
        raise invalid("body", "At least one of body and text is needed.")
    not_before = begin_at(call, call.body.scheduled_at)
    sender = address_of("from", body.from_)
    check_sender(call, sender)
    route = _route(call)
    found = parse_many(_entries("to", body.to, MAX_RECIPIENTS, "too_many_recipients"))
    copies = _copies(body, found.recipients)
    unwanted = _unwanted(call, [*found.recipients, *(a for _, a in copies)])
    for field, copy in copies:
        if copy.key in unwanted:
            raise invalid(field, "An address is suppressed.")
    recipients = tuple(_recipient(r, unwanted) for r in found.recipients)
    if all(r.skip for r in recipients):
        raise Problem("no_valid_recipient", errors=[("to", "Nobody is left to send to.")])
    return BatchRequest(
        account=call.key.account,
        test=call.key.test,
        channel=CHANNEL,
        route=route,
        ordered=_ordered(call),
        content=_content(call, sender, copies),
        recipients=recipients,
        duplicates=found.duplicates,
        policy=_policy(body),
        name=body.name or "",
        not_before=not_before,
        idempotency_key=key,
        fingerprint=fingerprint,
        by=call.key.id,
    )


def _policy(body: NewBatch) -> Policy:
    given: dict[str, Any] = {}
    if body.retry_on is not None:
        given["retry_on"] = tuple(body.retry_on)
    if body.deferred_after is not None:
        given["deferred_after"] = body.deferred_after
    return Policy(max_attempts=body.max_attempts, on_ambiguous=OnAmbiguous(body.on_ambiguous), **given)


def begin_at(call: Call[Any, Any], wanted: datetime | None) -> int:
    """Return when sending is to begin, Unix milliseconds, 0 for now; Problem if that is no time to wait for."""
    if wanted is None:
        return 0
    now = call.services.clock.now()
    if not now - PAST <= wanted.timestamp() <= now + FUTURE:
        moment = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
        raise invalid("scheduled_at", f"A time from now on, within a year; it is {moment}.")
    return int(wanted.timestamp() * 1000)


def address_of(field: str, text: str) -> Address:
    """Return an address, or the Problem of its field."""
    found = parse(text)
    if isinstance(found, Invalid):
        raise invalid(field, found.reason)
    return found


def check_sender(call: Call[Any, Any], sender: Address, field: str = "from") -> None:
    """Problem unless the account may send from an address, and is not suspended."""
    check = call.services.accounts.check_sender(call.key.account, sender.key)
    if check.suspended:
        raise Problem("account_suspended")
    if not check.allowed:
        raise Problem("from_not_allowed", errors=[(field, "Not on the account's list of senders.")])


def _route(call: Call[Nothing, NewBatch]) -> tuple[str, ...]:
    """Return the credentials to use; a test key's batch takes the built-in one, but names only what a live one may."""
    declared = {c.id: c for c in call.services.settings.credentials if c.open_to(call.key.account)}
    wanted: Sequence[str] | None = call.body.route
    if wanted is None:
        default = call.services.settings.routes.get(CHANNEL, ())
        route = tuple(c for c in default if c in declared)
    else:
        for name in wanted:
            if name not in declared:
                raise Problem("credential_not_found", errors=[("route", "Not a credential open to the account.")])
            if declared[name].channel != CHANNEL:
                raise invalid("route", "A credential is not one for e-mail.")
        route = tuple(wanted)
    if call.key.test:
        return (TEST_CREDENTIAL,)
    if not route:
        raise Problem("no_route", errors=[("route", "No credential is open to the account.")])
    return route


def _ordered(call: Call[Nothing, NewBatch]) -> bool:
    """Tell whether the first usable credential takes all: as the batch says, or else the deployment of its route."""
    default = "" if call.body.route is not None else call.services.settings.routing.get(CHANNEL, "")
    return (call.body.routing or default) == Routing.ORDERED


def _entries(field: str, given: str | Sequence[str], most: int, code: str = "validation_failed") -> list[str]:
    entries = split_list(given) if isinstance(given, str) else list(given)
    if len(entries) > most:
        raise Problem(code, errors=[(field, f"At most {most} addresses.")])
    if not entries:
        raise invalid(field, "At least one address is needed.")
    return entries


def _copies(body: NewBatch, recipients: Sequence[Address | Invalid]) -> list[tuple[str, Address]]:
    """Return (field, address) of cc and bcc, each address once: a provider refuses one that stands twice in a call."""
    fields = [(field, given) for field, given in (("cc", body.cc), ("bcc", body.bcc)) if given is not None]
    if fields and len(recipients) != 1:
        raise Problem(
            "cc_needs_one_recipient", errors=[(field, "Only with exactly one recipient.") for field, _ in fields]
        )
    seen = {r.key for r in recipients if isinstance(r, Address)}
    out: list[tuple[str, Address]] = []
    for field, given in fields:
        for i, text in enumerate(_entries(field, given, MAX_COPIES)):
            found = address_of(f"{field}.{i}", text)
            if found.key not in seen:
                seen.add(found.key)
                out.append((field, found))
    return out


def _unwanted(call: Call[Nothing, NewBatch], found: Sequence[Address | Invalid]) -> dict[str, str]:
    """Return who is not to be sent to, by normalised key, and the code of each; the weightier of two."""
    keys = [r.key for r in found if isinstance(r, Address)]
    codes: dict[str, str] = {}
    for reach in reaches(unsubscribable=call.body.unsubscribe) if keys else ():
        stored = call.services.suppressions.check(call.key.namespace, keys, reach=reach)
        codes = dict.fromkeys(stored, reach.code) | codes
    return codes


def _recipient(found: Address | Invalid, unwanted: Mapping[str, str]) -> Recipient:
    if isinstance(found, Invalid):
        return Recipient(found.text, found.text, skip=found.code.value)
    return Recipient(found.address, found.key, found.display, unwanted.get(found.key, ""))


def _content(call: Call[Nothing, NewBatch], sender: Address, copies: Sequence[tuple[str, Address]]) -> Content:
    body = call.body
    return Content(
        sender=mailbox(sender),
        subject=body.subject,
        html=body.body or "",
        text=body.text or "",
        reply_to=mailbox(address_of("reply_to", body.reply_to)) if body.reply_to else None,
        cc=tuple(mailbox(a) for field, a in copies if field == "cc"),
        bcc=tuple(mailbox(a) for field, a in copies if field == "bcc"),
        headers=tuple((body.headers or {}).items()),
        attachments=tuple(Attachment(a.filename, a.content_type, a.data, a.content_id) for a in body.attachments or ()),
        unsubscribe=call.services.address + PATH if body.unsubscribe else "",
    )


def mailbox(address: Address) -> Mailbox:
    """Return an address as contents have it."""
    return Mailbox(address.address, address.display)
