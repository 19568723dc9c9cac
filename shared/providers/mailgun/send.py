"""Mailgun: mail by the v3 API; `events` reads its feedback, `lookup` its list of events.

Sources: documentation.mailgun.com/docs/mailgun and the old user manual.

- api-reference/send/mailgun/messages: fields and limits;
- user-manual/sending-messages/batch-sending: `recipient-variables`;
- quickstart-guide/responses: statuses;
- "Attaching Data to Messages": a `v:` value may be a recipient variable, `v:x` = `%recipient.x%`.

The secret: `api_key`, `domain` (the sending domain), and `webhook_signing_key` for the feedback.

In a call of several, Mailgun itself replaces `%recipient.…%` in subject and bodies: the only variable there is `ref`.
"""

import base64
import binascii
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote_plus

from shared.domain.content.content import Attachment, Content
from shared.domain.content.streams import Stream
from shared.domain.jobs.outcomes import Accepted, Finding, Outcome, Rejected, Throttled, Unknown, cannot_carry
from shared.domain.recipients.local_parts import is_quoted
from shared.domain.times import Seconds
from shared.frozen import dataclass
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
    wait,
)
from shared.providers._mailbox import QUOTED_APART
from shared.providers._not_taken import unlisted
from shared.providers._texts import clean, own_words, worded
from shared.providers._vendor import NO_API_KEY, Vendor, VendorCall, api_key, get, lacking, not_repeated
from shared.providers.mailgun.events import MAX_MESSAGE_ID, MailgunWebhooks
from shared.providers.mailgun.lookup import RESOLVES_WITHIN, look_up
from shared.providers.mailgun.multipart import escaped, parts
from shared.providers.mailgun.needs import NEEDS
from shared.providers.registry import Needs, SecretField

BASE_URL: Final = "https://api.mailgun.net"
"""`https://api.eu.mailgun.net` for domains in the EU."""
PER_CALL: Final = 1000
MAX_OPTIONS: Final = 16 * 1024
"""Bytes of all names and values that begin with `o:`, `h:`, `v:` or `t:`."""
VARIABLE: Final = "ref"
_DOMAIN: Final = re.compile(r"(?=.{1,253}$)[a-z0-9](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_-]{1,63})+", re.IGNORECASE)

# What an answer means

OPTIONS_TOO_LARGE: Final = ErrorRule("options_too_large", about_message=True)
REFUSALS: Final[Mapping[int, ErrorRule]] = {
    400: ErrorRule("bad_request", about_message=True, scoped=True),
    401: ErrorRule("unauthorized", provider_down=True),
    402: ErrorRule("payment_required", provider_down=True),
    403: ErrorRule("forbidden", provider_down=True),
    404: ErrorRule("domain_not_found", provider_down=True),
    413: ErrorRule("too_large", permanent=True),
    422: ErrorRule("unprocessable", permanent=True, scoped=True),
}
"""Status → meaning, if the text does not say more. 420 and 429 are throttling; all others: see `_common.fault`."""
THROTTLED: Final = frozenset({420, 429})
"""Users meet 420 where 429 is documented (github.com/mailgun/mailgun-java/issues/50)."""
SPECIAL: Final = THROTTLED | {400, 401, 403}
"""Statuses whose text may say more."""
TEXTS: Final = (
    (re.compile(r"disabled|suspended", re.IGNORECASE), ErrorRule("account_disabled", provider_down=True)),
    (
        re.compile(r"limit exceeded|try again after|too fast|rate limit|limited to \d+ messages", re.IGNORECASE),
        None,
    ),
    (
        re.compile(r"large batches|recipients per request|too many recipients", re.IGNORECASE),
        ErrorRule("batch_not_allowed", provider_down=True),
    ),
    (re.compile(r"not allowed to send", re.IGNORECASE), ErrorRule("domain_not_allowed", provider_down=True)),
    (re.compile(r"^\W*to\W+parameter", re.IGNORECASE), ErrorRule("invalid_recipient", permanent=True, scoped=True)),
    (re.compile(r"^\W*b?cc\W+parameter", re.IGNORECASE), ErrorRule("invalid_copy", permanent=True)),
    (re.compile(r"^\W*from\W+parameter", re.IGNORECASE), ErrorRule("invalid_from", permanent=True)),
    (re.compile(r"at least one of\W+text", re.IGNORECASE), ErrorRule("invalid_content", permanent=True)),
    (re.compile(r"^header ", re.IGNORECASE), ErrorRule("invalid_headers", permanent=True)),
    (re.compile(r"limited to 16 ?kb", re.IGNORECASE), OPTIONS_TOO_LARGE),
)
"""Texts of a 400, 401, 403, 420 or 429 that say more than the status, the first that fits; None: throttled. Mailgun
returns 400 also for a used-up allowance and for a fault of the account or domain. Neither may condemn a message, so a
message with another text leaves by another credential. `batch_not_allowed`: a new account may not send to many in a
call; set the credential's `per_call`."""
_AFTER: Final = re.compile(r"try again after ([A-Za-z]{3}, [^\"]{10,40}? (?:UTC|GMT))")
_LOST: Final = b"Mailgun Magnificent API"
"""Mailgun answers 200 with this to a path it does not know: nothing was sent."""

_ACCEPTED: Final = 200


@dataclass(frozen=True, slots=True)
class _Common:
    """The part that all calls of a content share. `boundary`: of a multipart body; empty: a form. `options`: bytes."""

    kind: str
    boundary: str
    body: bytes
    options: int
    invalid: str = ""


class Mailgun(Vendor):
    """Mail through one domain of a Mailgun account. Implements `ports.FinishedSender`, `Resolver` and `Pingable` also.

    Several targets of a call have `recipient-variables`, so that none sees another. One bad address refuses a whole
    call, and Mailgun does not say which: its targets are tried in other calls. So is a target whose address is in the
    call already. cc and bcc need a call of one target.

    Args:
        base_url: empty for Mailgun's own in the US.
        secret: with `api_key` and `domain`; without them every message is refused, and nothing is sent.
    """

    name = "mailgun"
    per_call = PER_CALL
    finished_bytes = NEEDS.finished_bytes
    resolves_within = RESOLVES_WITHIN
    resends = False

    def __init__(self, http: Http, base_url: str, secret: Mapping[str, str], clock: Clock) -> None:
        key, domain = secret.get("api_key", "").strip(), secret.get("domain", "").strip()
        lacks = None if _DOMAIN.fullmatch(domain) else lacking("no_domain")
        super().__init__(http, clock, lacks if api_key(secret) else NO_API_KEY)
        self._base, self._domain = (base_url or BASE_URL).rstrip("/"), domain
        self._url = f"{self._base}/v3/{domain}/messages"
        self._authorization = "Basic " + base64.b64encode(f"api:{key}".encode("utf-8", "replace")).decode()
        self._common = PerContent(_common)

    def send_finished(self, content: Content, message: Stream, target: Target, *, deadline: Seconds) -> Outcome:
        """Call `POST /v3/{domain}/messages.mime` once with a finished message; see `ports.FinishedSender`."""
        from shared.providers.mailgun.finished import mime  # noqa: PLC0415 - most senders never meet one

        if refused := self._refused(content):
            return refused
        made = mime(message, target)
        if isinstance(made, Rejected):
            return made
        return self._finished(
            VendorCall(f"{self._url}.mime", self._headers(made.kind), made.body), content, target, deadline
        )

    def resolve(self, content: Content, target: Target, *, at: Seconds, deadline: Seconds) -> Finding:  # noqa: ARG002 - of the port
        """Look for the attempt at Mailgun, see `lookup`; it only reads. See `ports.Resolver`."""
        if self._lacks:
            return Unknown(self._lacks.code)
        headers, now = {"Authorization": self._authorization}, self._clock.now()
        return look_up(self._http, self._base, self._domain, headers, target, at=at, now=now, deadline=deadline)

    def ping(self, *, deadline: Seconds) -> str:
        """Ask for the domain (`GET /v4/domains/{domain}`), which a key of the domain may not. See `ports.Pingable`."""
        headers = {"Authorization": self._authorization}
        return get(self._http, f"{self._base}/v4/domains/{self._domain}", headers, deadline=deadline)

    def _headers(self, kind: str) -> Mapping[str, str]:
        return {"Authorization": self._authorization, "Content-Type": kind}

    def _refused(self, content: Content) -> Rejected | None:
        """Refuse a sender beyond ASCII also: Mailgun writes a broken From (anymail, "Mailgun quirks")."""
        return self._lacks or (None if content.sender.address.isascii() else SMTPUTF8)

    def _apart(self, content: Content, targets: Sequence[Target]) -> Sequence[Outcome | None]:  # noqa: ARG002 - of the base
        if len(targets) == 1:
            return [None]
        return not_repeated([QUOTED_APART if is_quoted(t.recipient.address) else None for t in targets], targets)

    def _call(self, content: Content, targets: Sequence[Target]) -> VendorCall | Outcome:
        common = self._common(content)
        if common.invalid:
            return Rejected(common.invalid, permanent=True)
        own = _own(content, targets)
        if common.options + _options(own) > MAX_OPTIONS:
            return cannot_carry("options_too_large")
        start = parts(own, common.boundary) if common.boundary else _form(own) + b"&"
        return VendorCall(self._url, self._headers(common.kind), joined(start, common.body))

    def _judged(self, response: Response, content: Content, targets: Sequence[Target]) -> list[Outcome]:
        answer = own_answer(response.body)
        outcomes = self._outcomes(response, answer, content, targets)
        return [
            worded(o, lambda: answer.get("message"), t.recipient.address)
            for o, t in zip(outcomes, targets, strict=True)
        ]

    def _outcomes(
        self, response: Response, answer: Mapping[str, Any], content: Content, targets: Sequence[Target]
    ) -> list[Outcome]:
        n = len(targets)
        status = response.status
        if status == _ACCEPTED:
            return [_accepted(answer, response.body)] * n
        said = own_words(_said(answer, response.body), content, targets)
        refusal = REFUSALS.get(status)
        if status in SPECIAL:
            refusal = _special(status, said, refusal)
            if refusal is None:
                return [Throttled(self._wait(response.headers, said))] * n
        if refusal is None:
            return [unlisted(self.name, status, answer)] * n
        if refusal.scoped and n > 1:
            return [BATCH_REFUSED] * n
        coded = REFUSALS.get(status)
        return [refusal.rejected(by_text=coded is None or not coded.provider_down)] * n

    def _wait(self, headers: Mapping[str, str], said: str) -> float:
        """Return the seconds that an answer asks for: Retry-After, else "try again after" a date."""
        found = _AFTER.search(said)
        date = found[1].replace("UTC", "GMT") if found else ""
        return wait(headers.get("retry-after", "") or date, self._clock.now())


# The request


def _own(content: Content, targets: Sequence[Target]) -> list[tuple[str, str]]:
    """Return a call's own fields: recipients and our ref, one for each of them."""
    if len(targets) == 1:
        (target,) = targets
        to = target.recipient.address
        fields = [("to", _mailbox(to, target.recipient.display)), (f"v:{REF_ARG}", target.ref)]
        if content.copied:
            fields += [(role, _mailbox(b.address, b.display)) for role, boxes in copies(content, to) for b in boxes]
            fields.append((f"v:{TO_ARG}", digest(target.ref, to)))
        return fields
    fields = [("to", _mailbox(t.recipient.address, t.recipient.display)) for t in targets]
    variables = {t.recipient.address: {VARIABLE: t.ref} for t in targets}
    fields.append(("recipient-variables", json.dumps(variables, separators=(",", ":"))))
    fields.append((f"v:{REF_ARG}", f"%recipient.{VARIABLE}%"))
    return fields


def _mailbox(address: str, display: str) -> str:
    """Return an address with its name as a quoted string (RFC 5322, 3.2.4); Mailgun encodes what is not ASCII."""
    if not display:
        return address
    name = clean(display, len(display)).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{name}" <{address}>'


def _common(content: Content) -> _Common:
    """Serialise what all calls of a content share; the end of a body, that a call's own fields come before."""
    fields = [("from", _mailbox(content.sender.address, content.sender.display)), ("subject", content.subject)]
    fields += [(name, value) for name, value in (("text", content.text), ("html", content.html)) if value]
    if content.reply_to:
        fields.append(("h:Reply-To", _mailbox(content.reply_to.address, content.reply_to.display)))
    fields += [(f"h:{name}", value) for name, value in content.headers]
    options = _options(fields)
    if not content.attachments:
        return _Common("application/x-www-form-urlencoded", "", _form(fields), options)
    boundary = f"posthaste-{secrets.token_hex(16)}"
    try:
        files = b"".join([_file(a, boundary) for a in content.attachments])
    except (binascii.Error, ValueError):
        return _Common("", "", b"", 0, invalid="invalid_attachments")
    body = parts(fields, boundary) + files + f"--{boundary}--\r\n".encode()
    return _Common(f"multipart/form-data; boundary={boundary}", boundary, body, options)


def _options(fields: Sequence[tuple[str, str]]) -> int:
    """Count the bytes of the fields that Mailgun limits together."""
    return sum([len(n.encode()) + len(v.encode("utf-8", "replace")) for n, v in fields if n[1:2] == ":"])


def _form(fields: Sequence[tuple[str, str]]) -> bytes:
    pairs = [f"{quote_plus(name)}={quote_plus(value, errors='replace')}" for name, value in fields]
    return "&".join(pairs).encode()


def _file(attachment: Attachment, boundary: str) -> bytes:
    """Serialise a file. Mailgun finds an inline image by its file name, so that is its content id."""
    name, file = ("inline", attachment.content_id) if attachment.content_id else ("attachment", attachment.filename)
    kind = clean(attachment.content_type, 200) or "application/octet-stream"
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{escaped(file)}"\r\n'
        f"Content-Type: {kind}\r\n\r\n"
    )
    return head.encode("utf-8", "replace") + base64.b64decode(attachment.data) + b"\r\n"


# The answer


def _said(answer: Mapping[str, Any], body: bytes) -> str:
    """Return the text of an answer: Mailgun's message, or the body's beginning if it has none."""
    text = answer.get("message")
    return text if text and isinstance(text, str) else body[:1000].decode("utf-8", "replace")


def _special(status: int, said: str, refusal: ErrorRule | None) -> ErrorRule | None:
    """Return what an answer of one of the `SPECIAL` statuses means by its text, or its status; None: throttling."""
    for text, rule in TEXTS:
        if text.search(said):
            return rule
    return None if status in THROTTLED else refusal


def _accepted(answer: Mapping[str, Any], body: bytes) -> Outcome:
    message = clean(answer.get("id"), MAX_MESSAGE_ID).strip("<> ")
    if message:
        return Accepted(message)
    if _LOST in body:
        return Rejected("wrong_base_url", permanent=False, provider_down=True)
    return Unknown("malformed_answer")


def _build(needs: Needs) -> Mailgun:
    return Mailgun(needs.http, needs.base_url, needs.secret, needs.clock)


PROVIDER: Final = _build
RESOLVES: Final = True
WEBHOOKS: Final = MailgunWebhooks
SECRET: Final = (
    SecretField("api_key", "the API key, or a key of the domain that sends"),
    SecretField("domain", "the sending domain"),
    SecretField("webhook_signing_key", "the HTTP webhook signing key", feedback=True),
)
