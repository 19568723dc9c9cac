"""Resend's feedback: one event per post, signed as Standard Webhooks are (by Svix).

Sources (resend.com/docs): webhooks/verify-webhooks-requests (signature), webhooks/retries-and-replays,
webhooks/event-types and webhooks/emails/* (events), dashboard/emails/email-bounces (types); the specification of the
signature: standardwebhooks.com. The secret's `webhook_signing_secret`: `whsec_` and base64; several, separated by
commas, while it is rotated.
"""

import base64
import binascii
import hmac
from collections.abc import Mapping, Sequence
from typing import Any, Final

from shared.contracts import ProviderEvent
from shared.domain.ids import Ref
from shared.domain.jobs.feedback import ProviderEventKind
from shared.domain.times import Seconds
from shared.ports import BadEvents, BadSignature, Reading
from shared.providers._common import REF_ARG, TO_ARG, digest, keys, posted_json
from shared.providers._texts import MAX_ID, MAX_TEXT, check_age, clean, digits, iso_seconds, redacted

ID_HEADER: Final = "svix-id"
TIMESTAMP_HEADER: Final = "svix-timestamp"
SIGNATURE_HEADER: Final = "svix-signature"
PREFIX: Final = "whsec_"
MAX_AGE: Final = 300.0
"""Seconds, as the vendor's SDKs have it: each try of a post is signed anew, with its own time."""
MAX_SIGNATURES: Final = 16
"""More than a rotation needs; any further one is ignored."""

EVENTS: Final[Mapping[str, ProviderEventKind]] = {
    "email.sent": ProviderEventKind.ACCEPTED,
    "email.delivered": ProviderEventKind.DELIVERED,
    "email.delivery_delayed": ProviderEventKind.DEFERRED,
    "email.complained": ProviderEventKind.COMPLAINED,
    "email.suppressed": ProviderEventKind.BOUNCED,
    "email.failed": ProviderEventKind.DROPPED,
}
"""The type divides `email.bounced`. `email.suppressed`: Resend remembers that the address bounced, complained or was
taken off by hand. That is true for every provider, so the word is hard and suppresses. `email.failed` (a quota is used
up, the domain is not verified) is about this account. The others (scheduled, opened, clicked, received) change no
state, and neither do events of domains, contacts and suppressions."""
REFUSED: Final = frozenset({"messagetoolarge", "contentrejected", "attachmentrejected", "messagerejected"})
"""Subtypes of a bounce, in lower case, that are about the message: the mailbox may be as good as any."""
DETAILS: Final = ("bounce", "suppressed", "failed")
"""Where an event says why, by the name of the object."""


class ResendWebhooks:
    """Reads Resend's posts. Implements `ports.WebhookReader`; safe for threads."""

    def verify(self, headers: Mapping[str, str], body: bytes, secret: Mapping[str, str], now: Seconds) -> None:
        """Check HMAC-SHA256 over `id.timestamp.body` with any of the secret's keys, in constant time.

        Raises:
            BadSignature: `no_key`, `unsigned`, `too_old`, `too_new` or `wrong_signature`.
        """
        known = [key for key in map(_key, keys(secret.get("webhook_signing_secret", ""))) if key]
        if not known:
            raise BadSignature("no_key")
        name, timestamp = headers.get(ID_HEADER, ""), headers.get(TIMESTAMP_HEADER, "")
        signatures = _signatures(headers.get(SIGNATURE_HEADER, ""))
        if not name or not digits(timestamp) or not signatures:
            raise BadSignature("unsigned")
        check_age(int(timestamp), now, most=MAX_AGE)
        signed = b"%s.%s.%s" % (name.encode("utf-8", "replace"), timestamp.encode(), body)
        if not _signed_by_one(known, signed, signatures):
            raise BadSignature("wrong_signature")

    def words(self, headers: Mapping[str, str], body: bytes) -> Reading:
        """Return the word of a post, if it is ours. An event without a time of its own gets that of the post.

        Raises:
            BadEvents: the body is not a JSON object with a text `type` and an object `data`.
        """
        post = posted_json(body)
        if (
            not isinstance(post, dict)
            or not isinstance(post.get("type"), str)
            or not isinstance(post.get("data"), dict)
        ):
            raise BadEvents("no_event")
        sent = headers.get(TIMESTAMP_HEADER, "")
        word = _word(
            post["type"], post["data"], iso_seconds(post.get("created_at")) or (int(sent) if digits(sent) else 0)
        )
        return Reading(1, [] if word is None else [word])


def _signed_by_one(known: Sequence[bytes], signed: bytes, signatures: Sequence[bytes]) -> bool:
    """Check whether one of some signatures is that of a text with one of some keys."""
    made = [hmac.digest(key, signed, "sha256") for key in known]
    # No early end: how long it takes tells nothing about which key or signature came near.
    return bool(sum([hmac.compare_digest(ours, theirs) for ours in made for theirs in signatures]))


def _key(text: str) -> bytes:
    """Return a signing secret's bytes; none if it is not one."""
    try:
        return base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _signatures(text: str) -> list[bytes]:
    """Return the signatures of version 1, of those separated by spaces; other versions are other schemes."""
    found = []
    for part in text.split(" ", MAX_SIGNATURES)[:MAX_SIGNATURES]:
        version, _, signature = part.partition(",")
        if version == "v1":
            try:
                found.append(base64.b64decode(signature, validate=True))
            except (binascii.Error, ValueError):
                continue
    return [signature for signature in found if signature]


def _word(name: str, data: Mapping[str, Any], at: int) -> ProviderEvent | None:
    """Normalise one event; None if it is not ours or changes nothing."""
    tags = _inner(data, "tags")
    ref = tags.get(REF_ARG)
    if not isinstance(ref, str) or Ref.parse(ref) is None:
        return None
    kind = _bounce(_inner(data, "bounce")) if name == "email.bounced" else EVENTS.get(name)
    if kind is None:
        return None
    why: Mapping[str, Any] = next((inner for place in DETAILS if (inner := _inner(data, place))), {})
    code = _code(name, why)
    detail = redacted(clean(_said(why), MAX_TEXT))
    return ProviderEvent(
        ref, kind.value, at, clean(data.get("email_id"), MAX_ID), code, detail, _secondary(ref, tags, data)
    )


def _bounce(bounce: Mapping[str, Any]) -> ProviderEventKind:
    """Judge a bounce by type and subtype; an undetermined one says nothing against the mailbox.

    One without a type, as older posts are, is what the event says: the receiver refused the mail for good.
    """
    kind, subtype = bounce.get("type"), bounce.get("subType")
    if isinstance(subtype, str) and subtype.lower() in REFUSED:
        return ProviderEventKind.BLOCKED
    if kind == "Permanent" or not kind:
        return ProviderEventKind.BOUNCED
    return ProviderEventKind.FAILED_TEMPORARILY if kind in ("Transient", "Temporary") else ProviderEventKind.BLOCKED


def _secondary(ref: str, tags: Mapping[str, Any], data: Mapping[str, Any]) -> bool:
    """Tell whether an event is only about copies: `to` names the recipients that it is about."""
    to = data.get("to")
    if TO_ARG not in tags or not isinstance(to, list) or not to:
        return False
    addresses = [str(one).rpartition("<")[2].rstrip("> ") for one in to]
    return tags[TO_ARG] not in [digest(ref, address) for address in addresses]


def _inner(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an object within an object; empty if there is none."""
    inner = value.get(name)
    return inner if isinstance(inner, dict) else {}


def _said(why: Mapping[str, Any]) -> object:
    """Return the words of the receiver's server, else Resend's own."""
    reports = why.get("diagnosticCode")
    first = reports[0] if isinstance(reports, list) and reports else reports
    return first if first and isinstance(first, str) else why.get("message")


def _code(name: str, why: Mapping[str, Any]) -> str:
    """Return the code of an event; of a bounce that is not permanent with its type before."""
    code = clean(why.get("subType") or why.get("type") or why.get("reason"), MAX_ID)
    if name == "email.bounced" and why.get("type") != "Permanent":
        return f"{clean(why.get('type'), MAX_ID)}_{code}".strip("_")[:MAX_ID]
    return code
