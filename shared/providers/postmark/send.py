"""Postmark: mail by its batch API; its feedback is read in `events`, its list of messages in `lookup`.

Sources (postmarkapp.com): developer/api/overview (statuses, error codes), …/api/email-api (fields, limits of
`/email/batch`), support/article/1125-custom-metadata-faq and 1180-what-does-errorcode-300-mean.
The secret: `api_key` (the server's token), `message_stream`, and `webhook_auth` for the feedback.

A call carries up to 500 messages, each whole. Its answer has one result for each, in order.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from shared.domain.content.content import Content
from shared.domain.jobs.outcomes import Accepted, Finding, Outcome, Unknown
from shared.domain.times import Seconds
from shared.ports import Clock, Http, Response, Target
from shared.providers._common import (
    BATCH_REFUSED,
    JOIN,
    REF_ARG,
    TO_ARG,
    ErrorRule,
    PerContent,
    copies,
    digest,
    own_answer,
    parsed,
)
from shared.providers._mailbox import mailbox, unfit, unfit_content
from shared.providers._not_taken import unlisted
from shared.providers._texts import MAX_ID, MAX_TEXT, clean, own_words, worded
from shared.providers._vendor import JsonVendor, VendorCall
from shared.providers.postmark.events import PostmarkWebhooks
from shared.providers.postmark.lookup import RESOLVES_WITHIN, look_up
from shared.providers.registry import SecretField

BASE_URL: Final = "https://api.postmarkapp.com"
PER_CALL: Final = 500
MAX_CALL: Final = 10 * 2**20
"""Bytes of a call that carries several messages. Postmark takes 50 MB. A smaller call loses less if its fate is not
known, and leaves sooner."""
STREAM: Final = "outbound"
"""The message stream that every server has, for transactional mail."""

# What an answer means

CODES: Final[Mapping[int, ErrorRule]] = {
    10: ErrorRule("bad_api_token", provider_down=True),  # bad or missing API token
    100: ErrorRule("maintenance"),  # the API is offline for maintenance
    300: ErrorRule("invalid_request", permanent=True, scoped=True),  # a field of the message is invalid: see `TEXTS`
    400: ErrorRule("sender_not_verified", about_message=True, scoped=True),  # no Sender Signature for this `From`
    401: ErrorRule("sender_not_verified", about_message=True, scoped=True),  # its Sender Signature is not confirmed
    402: ErrorRule("invalid_json", permanent=True, scoped=True),  # received invalid JSON
    403: ErrorRule("incompatible_json", permanent=True, scoped=True),  # a field is unknown or has the wrong type
    405: ErrorRule("not_allowed_to_send", provider_down=True),  # the credits are used up
    406: ErrorRule("inactive_recipient", permanent=True, unwanted=True, scoped=True),  # bounced, complained or left
    409: ErrorRule("json_required", provider_down=True),  # wrong `Accept` or `Content-Type`
    410: ErrorRule("too_many_messages", about_message=True, scoped=True),  # more than 500 in a call
    411: ErrorRule("forbidden_attachment", permanent=True, scoped=True),  # forbidden type of attachment
    412: ErrorRule("account_pending", provider_down=True),  # the account is not approved yet
    413: ErrorRule("account_may_not_send", provider_down=True),  # the account may not send
    1235: ErrorRule("unknown_message_stream", provider_down=True),  # no such `MessageStream` on this server
}
"""ErrorCode → meaning; 429 is throttling. Postmark returns 406 only if the message has no other recipient."""
REFUSED: Final = ErrorRule("refused", about_message=True, scoped=True)
"""For a code that is not in the table: Postmark did not take the message, and whose fault it is is not known."""
STATUSES: Final[Mapping[int, ErrorRule]] = {
    401: ErrorRule("unauthorized", provider_down=True),
    413: ErrorRule("too_large", permanent=True, scoped=True),
    422: ErrorRule("unprocessable", permanent=True, scoped=True),
}
"""Status → meaning, where the body has no code. All others leave the fate open, except those in `_not_taken`."""
TEXTS: Final = (
    (re.compile(r"'to'"), "invalid_recipient"),
    (re.compile(r"'b?cc'"), "invalid_copy"),
    (re.compile(r"'from'"), "invalid_from"),
    (re.compile(r"'reply_to'"), "invalid_reply_to"),
    (re.compile(r"\bheaders?\b"), "invalid_headers"),
    (re.compile(r"\battachments?\b"), "invalid_attachments"),
)
"""Texts of code 300, in lower case → code, the first that fits."""
_INVALID: Final = 300
_THROTTLED: Final = 429
_ANSWERED: Final = 200


class Postmark(JsonVendor):
    """Mail through one Postmark server. Implements `ports.Sized` and `Resolver` also."""

    name = "postmark"
    per_call = PER_CALL
    resolves_within = RESOLVES_WITHIN
    resends = False
    address = BASE_URL
    sends = "/email/batch"
    asks = "/server"  # the server's own settings
    key_header = ("X-Postmark-Server-Token", "{}")

    def __init__(self, http: Http, base_url: str, secret: Mapping[str, str], clock: Clock) -> None:
        super().__init__(http, base_url, secret, clock)
        stream = secret.get("message_stream", "").strip() or STREAM
        self._common = PerContent(lambda content: _common(content, stream))

    def per_call_of(self, content: Content) -> int:
        """Return how many messages with this content fit into one call."""
        return max(1, min(PER_CALL, MAX_CALL // (len(self._common(content)) + JOIN // PER_CALL)))

    def resolve(self, content: Content, target: Target, *, at: Seconds, deadline: Seconds) -> Finding:  # noqa: ARG002 - of the port
        """Look for the attempt among the messages of the server; it only reads. See `ports.Resolver`."""
        if self._lacks:
            return Unknown(self._lacks.code)
        age, url = self._clock.now() - at, f"{self._base}/messages/outbound"
        return look_up(self._http, url, self._headers, target, age=age, deadline=deadline)

    def _apart(self, content: Content, targets: Sequence[Target]) -> Sequence[Outcome | None]:
        refusal = unfit_content(content)
        return [refusal or unfit(t.recipient.address) for t in targets]

    def _call(self, content: Content, targets: Sequence[Target]) -> VendorCall:
        return VendorCall(self._url, self._headers, _batch(content, targets, self._common(content)))

    def _judged(self, response: Response, content: Content, targets: Sequence[Target]) -> list[Outcome]:
        if response.status != _ANSWERED:
            return self._failure(response, content, targets)
        results = _results(response.body)
        if results is None or len(results) != len(targets):
            return [Unknown("malformed_answer")] * len(targets)
        return [self._outcome(result, content, t) for result, t in zip(results, targets, strict=True)]

    def _outcome(self, result: Mapping[str, Any], content: Content, target: Target) -> Outcome:
        """Judge the result of one message."""
        code = result.get("ErrorCode")
        if type(code) is not int:
            return Unknown("malformed_answer")
        if code == 0:
            message = clean(result.get("MessageID"), MAX_ID)
            return Accepted(message) if message else Unknown("malformed_answer")
        if code == _THROTTLED:
            return self._throttled({})
        return worded(
            _refused(code, result, content, [target]), lambda: result.get("Message"), target.recipient.address
        )

    def _failure(self, response: Response, content: Content, targets: Sequence[Target]) -> list[Outcome]:
        """Judge a call that Postmark refused as a whole, or whose fate is open."""
        status, n = response.status, len(targets)
        if status == _THROTTLED:
            return [self._throttled(response.headers)] * n
        answer = own_answer(response.body) if 400 <= status < 500 else {}  # noqa: PLR2004 - the codes are of 4xx
        code = answer.get("ErrorCode")
        rule = CODES.get(code) if type(code) is int else None
        rule = rule or STATUSES.get(status)
        if rule is None:
            return [unlisted(self.name, status, own_answer(response.body))] * n
        if rule.scoped and n > 1:
            return [BATCH_REFUSED] * n
        refused = _refused(code, answer, content, targets) if code in CODES else rule.rejected()
        return [worded(refused, lambda: answer.get("Message"), t.recipient.address) for t in targets]


def _refused(code: Any, answer: Mapping[str, Any], content: Content, targets: Sequence[Target]) -> Outcome:
    """Return the outcome of an error code; that of an invalid message names the part that its text names."""
    rule = CODES.get(code)
    if rule is None:
        return REFUSED.rejected(f"refused_{code}"[:MAX_ID])
    if code != _INVALID:
        return rule.rejected()
    text = clean(answer.get("Message"), MAX_TEXT).lower().replace("'replyto'", "'reply_to'")  # as `own_words` knows it
    said = f" {own_words(text, content, targets)} "
    return rule.rejected(next((name for pattern, name in TEXTS if pattern.search(said)), ""))


# The request


def _batch(content: Content, targets: Sequence[Target], common: bytes) -> bytes | tuple[bytes, ...]:
    """Return an array of messages, in parts if they are long, so that all share one copy of the content."""
    parts: list[bytes] = []
    for n, target in enumerate(targets):
        parts += [b"[" if n == 0 else b",", _own(content, target), common]
    parts.append(b"]")
    return b"".join(parts) if len(common) * len(targets) <= JOIN else tuple(parts)


def _own(content: Content, target: Target) -> bytes:
    """Serialise what is the recipient's own: the beginning of the message's object."""
    to = target.recipient
    mail: dict[str, Any] = {"To": mailbox(to.address, to.display)}
    metadata = {REF_ARG: target.ref}
    if content.copied:
        for role, boxes in copies(content, to.address):
            name = role.capitalize()
            first = [mail[name]] if name in mail else []
            mail[name] = ", ".join([*first, *(mailbox(b.address, b.display) for b in boxes)])
        metadata[TO_ARG] = digest(target.ref, to.address)
    return _json(mail | {"Metadata": metadata})[:-1] + b","


def _common(content: Content, stream: str) -> bytes:
    """Serialise what all messages of a content share: the end of the message's object, without its opening brace."""
    sender = mailbox(content.sender.address, content.sender.display)
    mail: dict[str, Any] = {"From": sender, "Subject": content.subject, "MessageStream": stream}
    if content.reply_to:
        mail["ReplyTo"] = mailbox(content.reply_to.address, content.reply_to.display)
    mail |= {name: value for name, value in (("HtmlBody", content.html), ("TextBody", content.text)) if value}
    if content.headers:
        mail["Headers"] = [{"Name": name, "Value": value} for name, value in content.headers]
    if content.attachments:
        mail["Attachments"] = [
            {
                "Name": a.filename,
                "Content": a.data,
                "ContentType": a.content_type,
                **({"ContentID": f"cid:{a.content_id}"} if a.content_id else {}),
            }
            for a in content.attachments
        ]
    return _json(mail)[1:]


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _results(body: bytes) -> list[Mapping[str, Any]] | None:
    """Return the results of a batch; None if the body is not Postmark's."""
    found = parsed(body)
    return found if isinstance(found, list) and all(isinstance(x, dict) for x in found) else None


PROVIDER: Final = Postmark.of
RESOLVES: Final = True
WEBHOOKS: Final = PostmarkWebhooks
SECRET: Final = (
    SecretField("api_key", "the server's API token"),
    SecretField("message_stream", "the ID of the message stream; by default `outbound`", required=False),
    SecretField("webhook_auth", "user name and password in the webhook's URL, as user:password", feedback=True),
)
