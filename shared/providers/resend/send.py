"""Resend: mail by its API; its feedback is read in `resend_events`.

Sources (resend.com/docs): api-reference/introduction (`User-Agent` is required), …/emails/send-email (fields, limits),
…/errors (names), …/rate-limit (headers), dashboard/emails/idempotency-keys.
The secret: `api_key`, and `webhook_signing_secret` for the feedback.

A call goes out under an idempotency key that Resend keeps for a day, so an attempt of unknown fate is resolved by the
very same call (docs/adr/0018-idempotency-key-is-the-attempt.md). One key covers one call, whole: each message goes in a
call of its own, because a batch could only be asked about as the batch it was.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shared.domain.content.content import Content, Mailbox
from shared.domain.jobs.outcomes import Accepted, Finding, Outcome, Rejected, Throttled, Unknown
from shared.domain.times import Seconds
from shared.ports import Clock, Http, Response, Steps, Target
from shared.providers._common import (
    MAX_ID,
    REF_ARG,
    TO_ARG,
    ErrorRule,
    PerContent,
    ask,
    clean,
    copies,
    digest,
    doubt,
    fault,
    joined,
    own_answer,
    own_words,
    perform,
    wait,
    worded,
)
from shared.providers._mailbox import mailbox, unfit, unfit_content
from shared.providers._ping import get
from shared.providers.registry import Needs, SecretField
from shared.providers.resend.events import ResendWebhooks

BASE_URL: Final = "https://api.resend.com"
RESOLVES_WITHIN: Final = 23 * 3600.0
"""Seconds; a key lives 24 hours, and an attempt may be a little older than its record."""

# What an answer means

REFUSALS: Final[Mapping[str, ErrorRule]] = {
    "invalid_idempotency_key": ErrorRule("invalid_idempotency_key", about_message=True),
    "validation_error": ErrorRule("validation_error", permanent=True),
    "security_error": ErrorRule("security_error", about_message=True),
    "invalid_attachment": ErrorRule("invalid_attachments", permanent=True),
    "invalid_parameter": ErrorRule("invalid_parameter", permanent=True),
    "invalid_from_address": ErrorRule("invalid_from", permanent=True),
    "missing_required_field": ErrorRule("missing_required_field", permanent=True),
    "missing_api_key": ErrorRule("missing_api_key", provider_down=True),
    "invalid_api_key": ErrorRule("invalid_api_key", provider_down=True),
    "restricted_api_key": ErrorRule("restricted_api_key", provider_down=True),
    "suspended_api_key": ErrorRule("suspended_api_key", provider_down=True),
    "invalid_permission": ErrorRule("invalid_permission", provider_down=True),
    "daily_quota_exceeded": ErrorRule("daily_quota_exceeded", provider_down=True),
    "monthly_quota_exceeded": ErrorRule("monthly_quota_exceeded", provider_down=True),
}
"""Name of a 4xx → meaning; what is not named here is judged by its status."""
STATUSES: Final[Mapping[int, ErrorRule]] = {
    400: ErrorRule("bad_request", permanent=True),
    401: ErrorRule("unauthorized", provider_down=True),
    403: ErrorRule("forbidden", provider_down=True),
    413: ErrorRule("too_large", permanent=True),
    422: ErrorRule("unprocessable", permanent=True),
}
"""Status → meaning. 429 is throttling; a 409 leaves the attempt's fate open; all others: see `_common.fault`."""
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
"""A sender whose domain this account has not verified concerns that sender alone: the breaker stays closed."""
CONFLICTS: Final[Mapping[str, str]] = {"concurrent_idempotent_requests": "in_progress"}
"""Names of a 409 → why the fate is not known; others keep their name. A key that was used with another body was used:
the attempt may have been taken."""

UNKNOWN_TYPE: Final = "application/octet-stream"
"""Left out: Resend then goes by the file's name, and drops mails, silently, whose type contradicts it (anymail)."""
_ACCEPTED: Final = 200
_CONFLICT: Final = 409
_THROTTLED: Final = 429


@dataclass(frozen=True, slots=True)
class _Error:
    """What Resend says of a refusal; empty if the answer is not Resend's."""

    name: str = ""
    message: str = ""


class Resend:
    """Mail through one Resend account. Implements `ports.Provider`, `Resolver` and `Pingable`; safe for threads.

    Args:
        base_url: empty for Resend's own.
        secret: with `api_key`; without it every message is refused, and nothing is sent.
        clock: for `Retry-After` as a date.
    """

    name = "resend"
    per_call = 1
    has_feedback = True
    resolves_within = RESOLVES_WITHIN
    resends = True

    def __init__(self, http: Http, base_url: str, secret: Mapping[str, str], clock: Clock) -> None:
        self._http = http
        self._clock = clock
        base = (base_url or BASE_URL).rstrip("/")
        self._url, self._domains = f"{base}/emails", f"{base}/domains"
        key = secret.get("api_key", "").strip()
        usable = bool(key) and key.isascii() and key.isprintable()
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"} if usable else {}
        self._common = PerContent(_common)

    def send(self, content: Content, targets: Sequence[Target], *, deadline: Seconds) -> list[Outcome]:
        """Call the provider once, see `steps`. Result: see `ports.Provider`."""
        return perform(self._http, self.steps(content, targets, deadline=deadline))

    def steps(self, content: Content, targets: Sequence[Target], *, deadline: Seconds) -> Steps[list[Outcome]]:
        """Call `POST /emails` once, under the attempt's own key. Arguments and result: see `ports.Provider`."""
        (target,) = targets
        if not self._headers:
            return [Rejected("no_api_key", permanent=False, provider_down=True)]
        if refusal := unfit(target.recipient.address) or unfit_content(content):
            return [refusal]
        headers = {**self._headers, "Idempotency-Key": target.ref}
        body = joined(_own(content, target), self._common(content))
        response = yield from ask("POST", self._url, headers=headers, body=body, deadline=deadline)
        if not isinstance(response, Response):
            return [response]
        outcome = self._outcome(response, content, target)
        return [worded(outcome, lambda: _error(response.body).message, target.recipient.address)]

    def resolve(self, content: Content, target: Target, *, at: Seconds, deadline: Seconds) -> Finding:
        """Make the very same call again: Resend answers as it did, or takes the message now, once either way.

        No answer proves absence: a refusal is about this call, and the first may still have been taken. See
        `ports.Resolver`.
        """
        if self._clock.now() - at > RESOLVES_WITHIN:
            return Unknown("too_late")
        (outcome,) = self.send(content, [target], deadline=deadline)
        return outcome if isinstance(outcome, Accepted) else doubt(outcome)

    def ping(self, *, deadline: Seconds) -> str:
        """Ask for the domains (`GET /domains`), which a key for sending only may not. See `ports.Pingable`."""
        return get(self._http, self._domains, self._headers, deadline=deadline)

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
            return Throttled(self._wait(response.headers))
        refusal = _refusal(status, error.name)
        if refusal is None:
            return fault(status)
        if error.name != "validation_error":
            return refusal.rejected()
        return _invalid(refusal, own_words(error.message, content, [target]))

    def _wait(self, headers: Mapping[str, str]) -> float:
        """Return the seconds that a 429 asks for: Retry-After, else RateLimit-Reset (seconds)."""
        reset = headers.get("ratelimit-reset", "")
        otherwise = float(reset[:9]) if reset.isascii() and reset.isdigit() else 0.0
        return wait(headers.get("retry-after", ""), self._clock.now(), otherwise=otherwise)


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


def _build(needs: Needs) -> Resend:
    return Resend(needs.http, needs.base_url, needs.secret, needs.clock)


PROVIDER: Final = _build
RESOLVES: Final = True
WEBHOOKS: Final = ResendWebhooks
SECRET: Final = (
    SecretField("api_key", "the API key, re_…"),
    SecretField("webhook_signing_secret", "the signing secret of the webhook, whsec_…", feedback=True),
)
