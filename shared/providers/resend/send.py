"""Resend: mail by its API; its feedback is read in `resend_events`.

Sources (resend.com/docs): api-reference/introduction (`User-Agent` is required), …/emails/send-email (fields, limits),
…/errors (names), …/rate-limit (headers), dashboard/emails/idempotency-keys.
The secret: `api_key`, and `webhook_signing_secret` for the feedback.

Resend keeps a call's idempotency key for a day. The very same call resolves an attempt of unknown fate
(docs/adr/0018-idempotency-key-is-the-attempt.md). One key covers one whole call, so each message has a call of its
own. A batch could only be asked about as the batch it was.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from shared.domain.content.content import Content, Mailbox
from shared.domain.jobs.outcomes import Accepted, Finding, Outcome, Unknown
from shared.domain.times import Seconds
from shared.frozen import dataclass
from shared.ports import Clock, Http, Response, Target
from shared.providers._common import (
    REF_ARG,
    TO_ARG,
    ErrorRule,
    PerContent,
    copies,
    digest,
    doubt,
    fault,
    joined,
    own_answer,
    reset,
)
from shared.providers._mailbox import mailbox, unfit, unfit_content
from shared.providers._texts import MAX_ID, clean, own_words, worded
from shared.providers._vendor import JsonVendor, VendorCall
from shared.providers.registry import SecretField
from shared.providers.resend.events import ResendWebhooks

BASE_URL: Final = "https://api.resend.com"
RESOLVES_WITHIN: Final = 23 * 3600.0
"""Seconds; a key lives 24 hours, and an attempt may be a little older than its record."""

# What an answer means

REFUSALS: Final[Mapping[str, ErrorRule]] = {
    "invalid_idempotency_key": ErrorRule("invalid_idempotency_key", about_message=True),  # not 1 to 256 characters
    "validation_error": ErrorRule("validation_error", permanent=True),  # a field is invalid: see `TEXTS`
    "security_error": ErrorRule("security_error", about_message=True),  # the request may be a security issue
    "invalid_attachment": ErrorRule("invalid_attachments", permanent=True),  # neither `content` nor `path`
    "invalid_parameter": ErrorRule("invalid_parameter", permanent=True),  # a parameter is malformed
    "invalid_from_address": ErrorRule("invalid_from", permanent=True),  # the `from` field is malformed
    "missing_required_field": ErrorRule("missing_required_field", permanent=True),  # a field is missing
    "missing_api_key": ErrorRule("missing_api_key", provider_down=True),  # no key in the authorization header
    "invalid_api_key": ErrorRule("invalid_api_key", provider_down=True),  # the key is invalid
    "restricted_api_key": ErrorRule("restricted_api_key", provider_down=True),  # the key may not do this
    "suspended_api_key": ErrorRule("suspended_api_key", provider_down=True),  # the key is suspended
    "invalid_permission": ErrorRule("invalid_permission", provider_down=True),  # the key's permission is invalid
}
"""Name of a 4xx → meaning. For any other name the status decides."""
QUOTAS: Final = frozenset({"daily_quota_exceeded", "monthly_quota_exceeded"})
"""Names of a 429 that say that the messages of a day or month are used up."""
STATUSES: Final[Mapping[int, ErrorRule]] = {
    400: ErrorRule("bad_request", permanent=True),
    401: ErrorRule("unauthorized", provider_down=True),
    403: ErrorRule("forbidden", provider_down=True),
    413: ErrorRule("too_large", permanent=True),
    422: ErrorRule("unprocessable", permanent=True),
}
"""Status → meaning. 429 is throttling. A 409 leaves the attempt's fate open. All others: see `_common.fault`."""
TEXTS: Final = (
    (re.compile(r"domain is not verified|only send testing emails", re.IGNORECASE), "sender_not_verified"),
    (re.compile(r"\W(?:to|recipient)\W+field", re.IGNORECASE), "invalid_recipient"),
    (re.compile(r"\Wb?cc\W+field", re.IGNORECASE), "invalid_copy"),
    (re.compile(r"\Wfrom\W+field", re.IGNORECASE), "invalid_from"),
    (re.compile(r"\Wreply_to\W+field", re.IGNORECASE), "invalid_reply_to"),
    (re.compile(r"\Wheaders?\W", re.IGNORECASE), "invalid_headers"),
    (re.compile(r"\Wattachments?\W", re.IGNORECASE), "invalid_attachments"),
)
"""Texts of a `validation_error` → code, the first that fits."""
SENDER_NOT_VERIFIED: Final = ErrorRule("sender_not_verified", about_message=True)
"""This account has not verified the sender's domain. Other senders are not affected: the breaker stays closed."""
CONFLICTS: Final[Mapping[str, str]] = {"concurrent_idempotent_requests": "in_progress"}
"""Names of a 409 → why the fate is not known; others keep their name. A key that was used with another body was used,
so Resend may have taken the attempt."""

UNKNOWN_TYPE: Final = "application/octet-stream"
"""Left out: Resend then reads the type from the file's name. It silently drops mails whose type contradicts the name
(anymail)."""
_ACCEPTED: Final = 200
_CONFLICT: Final = 409
_THROTTLED: Final = 429


@dataclass(frozen=True, slots=True)
class _Error:
    """An error of Resend's; empty if the answer is not Resend's."""

    name: str = ""
    message: str = ""


class Resend(JsonVendor):
    """Mail through one Resend account. Implements `ports.Resolver` also."""

    name = "resend"
    resolves_within = RESOLVES_WITHIN
    resends = True
    address = BASE_URL
    sends = "/emails"
    asks = "/domains"  # a key that may only send gets a refusal, which is an answer

    def __init__(self, http: Http, base_url: str, secret: Mapping[str, str], clock: Clock) -> None:
        super().__init__(http, base_url, secret, clock)
        self._common = PerContent(_common)

    def resolve(self, content: Content, target: Target, *, at: Seconds, deadline: Seconds) -> Finding:
        """Make the very same call again: Resend answers as it did, or takes the message now, once either way.

        No answer proves absence: a refusal is about this call, and Resend may have taken the first one. See
        `ports.Resolver`.
        """
        if self._clock.now() - at > RESOLVES_WITHIN:
            return Unknown("too_late")
        (outcome,) = self.send(content, [target], deadline=deadline)
        return outcome if isinstance(outcome, Accepted) else doubt(outcome)

    def _apart(self, content: Content, targets: Sequence[Target]) -> Sequence[Outcome | None]:
        (target,) = targets
        return [unfit(target.recipient.address) or unfit_content(content)]

    def _call(self, content: Content, targets: Sequence[Target]) -> VendorCall:
        (target,) = targets
        headers = {**self._headers, "Idempotency-Key": target.ref}
        return VendorCall(self._url, headers, joined(_own(content, target), self._common(content)))

    def _judged(self, response: Response, content: Content, targets: Sequence[Target]) -> list[Outcome]:
        (target,) = targets
        outcome = self._outcome(response, content, target)
        return [worded(outcome, lambda: _error(response.body).message, target.recipient.address)]

    def _outcome(self, response: Response, content: Content, target: Target) -> Outcome:
        status = response.status
        if status == _ACCEPTED:
            return _accepted(response.body)
        error = _error(response.body)
        if status == _CONFLICT:
            return Unknown(CONFLICTS.get(error.name, error.name or "http_409"))
        if status == 500:  # noqa: PLR2004 - it says only that something broke there, perhaps after it was taken
            return Unknown(error.name or "http_500")
        if status == _THROTTLED and error.name not in REFUSALS:
            return self._limited(error.name, response.headers)
        refusal = _refusal(status, error.name)
        if refusal is None:
            return fault(status)
        if error.name != "validation_error":
            return refusal.rejected()
        return _invalid(refusal, own_words(error.message, content, [target]))

    def _limited(self, name: str, headers: Mapping[str, str]) -> Outcome:
        """Return what a 429 means, by the name of its error."""
        if name in QUOTAS:
            return self._over_quota(headers)
        return self._throttled(headers, reset(headers.get("ratelimit-reset", "")))


# The request: the same attempt always gives the same bytes, as its key demands


def _own(content: Content, target: Target) -> bytes:
    """Serialise what is the recipient's own: the beginning of the request's object."""
    to = target.recipient
    mail: dict[str, Any] = {"to": [mailbox(to.address, to.display)]}
    tags = {REF_ARG: target.ref}
    if content.copied:
        for role, boxes in copies(content, to.address):
            mail[role] = [*mail.get(role, ()), *(mailbox(b.address, b.display) for b in boxes)]
        tags[TO_ARG] = digest(target.ref, to.address)
    mail["tags"] = [{"name": name, "value": value} for name, value in tags.items()]
    return _json(mail)[:-1] + b","


def _common(content: Content) -> bytes:
    """Serialise what all calls of a content share: the end of the request's object, without its opening brace."""
    mail: dict[str, Any] = {"from": _box(content.sender), "subject": content.subject}
    if content.reply_to:
        mail["reply_to"] = _box(content.reply_to)
    mail |= {name: value for name, value in (("html", content.html), ("text", content.text)) if value}
    if content.headers:
        mail["headers"] = dict(content.headers)
    if content.attachments:
        mail["attachments"] = [
            {
                "filename": a.filename,
                "content": a.data,
                **({"content_type": a.content_type} if a.content_type != UNKNOWN_TYPE else {}),
                **({"content_id": a.content_id} if a.content_id else {}),
            }
            for a in content.attachments
        ]
    return _json(mail)[1:]


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _box(box: Mailbox) -> str:
    return mailbox(box.address, box.display)


# The answer


def _invalid(refusal: ErrorRule, said: str) -> Outcome:
    """Return what a validation error means by its words."""
    code = next((code for pattern, code in TEXTS if pattern.search(said)), "")
    return SENDER_NOT_VERIFIED.rejected() if code == SENDER_NOT_VERIFIED.code else refusal.rejected(code)


def _accepted(body: bytes) -> Outcome:
    answer = own_answer(body)
    message = clean(answer.get("id"), MAX_ID)
    return Accepted(message) if message else Unknown("malformed_answer")


def _refusal(status: int, name: str) -> ErrorRule | None:
    """Return what the name of an error means, else its status; None if neither says."""
    named = REFUSALS.get(name) if 400 <= status < 500 else None  # noqa: PLR2004 - the table is of 4xx
    return named or STATUSES.get(status)


def _error(body: bytes) -> _Error:
    answer = own_answer(body)
    name, message = answer.get("name"), answer.get("message")
    if not isinstance(name, str) or not isinstance(message, str):
        return _Error()
    return _Error(name[:MAX_ID] if re.fullmatch(r"[a-z_]+", name) else "", message[:1000])


PROVIDER: Final = Resend.of
RESOLVES: Final = True
WEBHOOKS: Final = ResendWebhooks
SECRET: Final = (
    SecretField("api_key", "the API key, re_…"),
    SecretField("webhook_signing_secret", "the signing secret of the webhook, whsec_…", feedback=True),
)
