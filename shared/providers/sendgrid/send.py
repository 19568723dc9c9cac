"""SendGrid: mail by the v3 API; `events` reads its feedback, `lookup` its logs.

Sources (twilio.com/docs/sendgrid): api-reference/mail-send (limits), …/mail-send/errors (messages and fields).
The secret: `api_key`, and `webhook_public_key` for the feedback.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from shared.domain.content.content import Content, Mailbox
from shared.domain.jobs.outcomes import Accepted, Finding, Outcome, Rejected, Unknown
from shared.domain.times import Seconds
from shared.ports import Clock, Http, Response, Target
from shared.providers._common import (
    BATCH_REFUSED,
    REF_ARG,
    SMTPUTF8,
    TO_ARG,
    ErrorRule,
    PerContent,
    copies,
    digest,
    joined,
    own_answer,
    reset,
)
from shared.providers._mailbox import in_ascii
from shared.providers._not_taken import unlisted
from shared.providers._texts import own_words, worded
from shared.providers._vendor import JsonVendor, VendorCall, not_repeated
from shared.providers.registry import SecretField
from shared.providers.sendgrid.events import SendGridWebhooks
from shared.providers.sendgrid.lookup import RESOLVES_WITHIN, look_up

BASE_URL: Final = "https://api.sendgrid.com"
"""`https://api.eu.sendgrid.com` for subusers in the EU."""
PER_CALL: Final = 1000

# What an answer means


# change: the meaning of a status of SendGrid, such as 413
REFUSALS: Final[Mapping[int, ErrorRule]] = {
    400: ErrorRule("bad_request", permanent=True, scoped=True),
    401: ErrorRule("unauthorized", provider_down=True),
    402: ErrorRule("payment_required", provider_down=True),
    403: ErrorRule("forbidden", provider_down=True),
    413: ErrorRule("too_large", permanent=True),
    422: ErrorRule("unprocessable", permanent=True, scoped=True),
}
"""Status → meaning. 429 is throttling; all others: see `_common.fault`."""
CREDITS_EXCEEDED: Final = ErrorRule("credits_exceeded", provider_down=True)
"""The plan's messages are used up."""
MESSAGES: Final = (
    (re.compile("credits exceeded", re.IGNORECASE), CREDITS_EXCEEDED),
    (re.compile("verified sender identity", re.IGNORECASE), ErrorRule("sender_not_verified", about_message=True)),
)
"""Texts of 401 and 403 that say more than the status. If this account has not verified a sender, other senders are not
affected: the breaker stays closed."""
SHARED: Final = frozenset({"from", "reply_to", "subject", "content", "attachments", "headers"})
"""Fields that all recipients of a call share: what is wrong with one of them is wrong for each."""
ONE_LINK: Final = {"subscription_tracking": {"enable": False}}
"""Where a content offers its own unsubscription, the account's setting must not add another: …/mail-send/mail-send."""
_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_PLACE: Final = re.compile(r"personalizations\.(\d{1,4})(?:\.|$)")

_ACCEPTED: Final = 202


class SendGrid(JsonVendor):
    """Mail through one SendGrid account. Implements `ports.Resolver` also.

    A call has one personalization per target, so that none sees another. SendGrid refuses a whole call in which an
    address is repeated. It refuses addresses beyond ASCII, or takes and drops them: they are for another provider
    (github.com/sendgrid/sendgrid-csharp/issues/656). cc and bcc need a call of one target.
    """

    name = "sendgrid"
    per_call = PER_CALL
    resolves_within = RESOLVES_WITHIN
    resends = False
    address = BASE_URL
    sends = "/v3/mail/send"
    asks = "/v3/scopes"  # the rights of the key, which every key may see

    def __init__(self, http: Http, base_url: str, secret: Mapping[str, str], clock: Clock) -> None:
        super().__init__(http, base_url, secret, clock)
        self._common = PerContent(_common)

    def resolve(self, content: Content, target: Target, *, at: Seconds, deadline: Seconds) -> Finding:  # noqa: ARG002 - of the port
        """Look for the attempt in the Email Logs, see `lookup`; it only reads. See `ports.Resolver`."""
        if self._lacks:
            return Unknown(self._lacks.code)
        url, now = f"{self._base}/v3/logs", self._clock.now()
        return look_up(self._http, url, self._headers, target, at=at, now=now, deadline=deadline)

    def _refused(self, content: Content) -> Rejected | None:
        return self._lacks or (None if in_ascii(content) else SMTPUTF8)

    def _apart(self, content: Content, targets: Sequence[Target]) -> Sequence[Outcome | None]:  # noqa: ARG002 - of the base
        return not_repeated([None if t.recipient.address.isascii() else SMTPUTF8 for t in targets], targets)

    def _call(self, content: Content, targets: Sequence[Target]) -> VendorCall:
        return VendorCall(self._url, self._headers, self._body(content, targets))

    def _judged(self, response: Response, content: Content, targets: Sequence[Target]) -> list[Outcome]:
        n = len(targets)
        if response.status == _ACCEPTED:
            message = response.headers.get("x-message-id", "")
            return [Accepted(message) if message else Unknown("malformed_answer")] * n
        outcomes, errors = self._failure(response, content, targets), _errors(response.body)
        return [worded(o, partial(_said, errors, i, n), targets[i].recipient.address) for i, o in enumerate(outcomes)]

    def _body(self, content: Content, targets: Sequence[Target]) -> bytes | tuple[bytes, ...]:
        common = self._common(content)
        personal = ",".join([_personalization(content, t, alone=len(targets) == 1) for t in targets])
        return joined(f'{{"personalizations":[{personal}],'.encode(), common)

    def _failure(self, response: Response, content: Content, targets: Sequence[Target]) -> list[Outcome]:
        status, n = response.status, len(targets)
        if status == 429:  # noqa: PLR2004 - Too Many Requests
            at = reset(response.headers.get("x-ratelimit-reset", ""))  # Unix seconds
            return [self._throttled(response.headers, at - self._clock.now() if at else 0.0)] * n
        errors = _errors(response.body)
        if status in (401, 403):
            said = own_words(" ".join([e["message"] for e in errors]), content, targets)
            rule = _account_refused(status, said)
            return [self._over_quota(response.headers) if rule is CREDITS_EXCEEDED else rule.rejected()] * n
        refusal = REFUSALS.get(status)
        if refusal is None:
            return [unlisted(self.name, status, own_answer(response.body))] * n
        if not refusal.scoped:
            return [refusal.rejected()] * n
        return _scoped(refusal, errors, n)


def _personalization(content: Content, target: Target, *, alone: bool) -> str:
    to = target.recipient
    who = f'{{"email":{json.dumps(to.address)}' + (f',"name":{json.dumps(to.display)}}}' if to.display else "}")
    if not alone or not content.copied:
        return f'{{"to":[{who}],"custom_args":{{"{REF_ARG}":"{target.ref}"}}}}'
    args = f'"{REF_ARG}":"{target.ref}","{TO_ARG}":"{digest(target.ref, to.address)}"'
    others = dict(copies(content, to.address))
    beside = "".join([f",{json.dumps(_mailbox(b))}" for b in others.pop("to", ())])
    roles = "".join([f',"{r}":{json.dumps([_mailbox(b) for b in bs])}' for r, bs in others.items()])
    return f'{{"to":[{who}{beside}]{roles},"custom_args":{{{args}}}}}'


def _mailbox(box: Mailbox) -> dict[str, str]:
    return {"email": box.address, "name": box.display} if box.display else {"email": box.address}


def _common(content: Content) -> bytes:
    """Serialise what all calls of a content share: the end of the request's object, without its opening brace.

    It serialises long texts by themselves, which takes half the time: a campaign's content is each recipient's own.
    """
    parts = (("text/plain", content.text), ("text/html", content.html))  # SendGrid wants the text first
    bodies = ",".join([f'{{"type":"{kind}","value":{_json(value)}}}' for kind, value in parts if value])
    mail: dict[str, Any] = {"from": _mailbox(content.sender), "subject": content.subject}
    if content.reply_to:
        mail["reply_to"] = _mailbox(content.reply_to)
    if content.headers:
        mail["headers"] = dict(content.headers)
    if content.unsubscribe:
        mail["tracking_settings"] = ONE_LINK
    if content.attachments:
        mail["attachments"] = [
            {
                "content": a.data,
                "type": a.content_type,
                "filename": a.filename,
                "disposition": "inline" if a.content_id else "attachment",
                **({"content_id": a.content_id} if a.content_id else {}),
            }
            for a in content.attachments
        ]
    return f'"content":[{bodies}],{_json(mail)[1:]}'.encode("utf-8", "replace")


def _errors(body: bytes) -> list[dict[str, str]]:
    """Return SendGrid's own errors, `message` and `field` as texts; none if the body is not SendGrid's."""
    errors = own_answer(body).get("errors")
    if not isinstance(errors, list):
        return []
    return [
        {"message": e["message"], "field": e["field"] if isinstance(e.get("field"), str) else ""}
        for e in errors
        if isinstance(e, dict) and isinstance(e.get("message"), str)
    ]


def _said(errors: Sequence[Mapping[str, str]], index: int, n: int) -> str:
    """Return the words of errors to one recipient of a call.

    Args:
        index: the recipient's, from 0.
        n: recipients of the call.
    """
    places = [(_PLACE.match(e["field"]), e["message"]) for e in errors]
    return " ".join(text for place, text in places if n == 1 or place is None or int(place[1]) == index)


def _scoped(refusal: ErrorRule, errors: Sequence[Mapping[str, str]], n: int) -> list[Outcome]:
    """Condemn the recipients that the errors name; all of them for what they share, or if there is but one.

    An error that names neither may be about any of them: the others of the call are tried apart.
    """
    shared = [e["field"] for e in errors if e["field"].partition(".")[0] in SHARED]
    if n == 1 or shared:
        field = shared[0] if shared else errors[0]["field"] if errors else ""
        return [refusal.rejected(_code(refusal, field))] * n
    outcomes: list[Outcome] = [BATCH_REFUSED] * n
    for e in errors:
        place = _PLACE.match(e["field"])
        if place and int(place[1]) < n:
            outcomes[int(place[1])] = refusal.rejected(_code(refusal, e["field"]))
    return outcomes


def _code(refusal: ErrorRule, field: str) -> str:
    name = field.partition(".")[0]
    if name == "personalizations":
        return "invalid_recipient"
    return f"invalid_{name}" if name in SHARED else refusal.code


PROVIDER: Final = SendGrid.of
RESOLVES: Final = True
WEBHOOKS: Final = SendGridWebhooks
SECRET: Final = (
    SecretField("api_key", "the API key, SG.…; with the right to read Email Logs it also settles doubts"),
    SecretField("webhook_public_key", "the verification key of the signed event webhook", feedback=True),
)


def _account_refused(status: int, said: str) -> ErrorRule:
    """Return what a refusal of the account means, by its words or its status."""
    return next((refusal for pattern, refusal in MESSAGES if pattern.search(said)), REFUSALS[status])
