"""Amazon SES: mail by the v2 API; `events` reads its feedback.

Sources (docs.aws.amazon.com/ses/latest): APIReference-V2/API_SendEmail, …/API_SendBulkEmail (limits, errors, statuses
of entries), …/CommonErrors, dg/send-personalized-email-api (1 MB), dg/manage-sending-quotas-errors (texts).
The secret may stay empty: then the sender function's role signs. Otherwise `access_key_id` and `secret_access_key`
(and `session_token`), and `region` if it is neither the settings' nor the deployment's.

One recipient is sent to by SendEmail, several by SendBulkEmail. There each recipient has an entry and a status of its
own and sees no other. The content is an inline template: text that Handlebars takes for a tag is passed as a value.
Requests are signed here and leave by our own transport: botocore's client repeats calls and hides how they failed.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from shared.domain.content.content import Content
from shared.domain.content.streams import Stream
from shared.domain.jobs.outcomes import Accepted, NotStarted, Outcome, Rejected, Unknown, cannot_carry
from shared.domain.times import Seconds
from shared.ports import Clock, Http, Response, Target
from shared.providers._aws import NO_KEYS, SECRET_FIELDS, endpoint, keys_of, region_of
from shared.providers._common import BATCH_REFUSED, JOIN, SMTPUTF8, ErrorRule, PerContent, fault, own_answer
from shared.providers._texts import MAX_ID, clean, own_words, worded
from shared.providers._vendor import Vendor, VendorCall, get, lacking
from shared.providers.registry import Needs
from shared.providers.ses.events import SesWebhooks
from shared.providers.ses.needs import NEEDS
from shared.providers.ses.request import bulk, entries, entry, simple
from shared.sigv4 import EMPTY_HASH, AwsKeys, Signer

PER_CALL: Final = 50
"""Entries of one SendBulkEmail."""
MAX_INLINE: Final = 900_000
"""Bytes of a content in a call of several: SES takes 1 MB with an inline template, and the entries need their part."""
_REGION: Final = re.compile(r"[a-z]{2,4}(?:-[a-z]+){1,2}-\d")

# What an answer means

_DOWN: Final = {"provider_down": True}
_DAILY: Final = re.compile(r"daily (?:message|sending) quota", re.IGNORECASE)
DAILY_QUOTA: Final = ErrorRule("daily_quota_exceeded", **_DOWN)
"""The messages of 24 hours are used up, if the name of the error is about the account. A text may quote others."""
ERRORS: Final[Mapping[str, ErrorRule | None]] = {
    "TooManyRequestsException": None,
    "ThrottlingException": None,
    "Throttling": None,
    "LimitExceededException": None,
    "AccountSuspendedException": ErrorRule("account_suspended", **_DOWN),
    "SendingPausedException": ErrorRule("sending_paused", **_DOWN),
    "MailFromDomainNotVerifiedException": ErrorRule("mail_from_not_verified", about_message=True),
    "MessageRejected": ErrorRule("message_rejected", permanent=True, scoped=True),
    "BadRequestException": ErrorRule("bad_request", permanent=True, scoped=True),
    "ValidationException": ErrorRule("bad_request", permanent=True, scoped=True),
    "NotFoundException": ErrorRule("configuration_set_not_found", **_DOWN),
    "RequestEntityTooLargeException": ErrorRule("too_large", permanent=True),
}
"""Name of an error → meaning, if its text does not say more; None: throttled."""
ENTRIES: Final[Mapping[str, ErrorRule | None]] = {
    "MESSAGE_REJECTED": ErrorRule("message_rejected", permanent=True),
    "MAIL_FROM_DOMAIN_NOT_VERIFIED": ErrorRule("mail_from_not_verified", about_message=True),
    "CONFIGURATION_SET_NOT_FOUND": ErrorRule("configuration_set_not_found", **_DOWN),
    "CONFIGURATION_SET_DOES_NOT_EXIST": ErrorRule("configuration_set_not_found", **_DOWN),
    "TEMPLATE_NOT_FOUND": ErrorRule("template_not_found", about_message=True),
    "TEMPLATE_DOES_NOT_EXIST": ErrorRule("template_not_found", about_message=True),
    "ACCOUNT_SUSPENDED": ErrorRule("account_suspended", **_DOWN),
    "ACCOUNT_THROTTLED": None,
    "ACCOUNT_DAILY_QUOTA_EXCEEDED": DAILY_QUOTA,
    "INVALID_SENDING_POOL_NAME": ErrorRule("invalid_sending_pool", **_DOWN),
    "ACCOUNT_SENDING_PAUSED": ErrorRule("sending_paused", **_DOWN),
    "CONFIGURATION_SET_SENDING_PAUSED": ErrorRule("sending_paused", **_DOWN),
    "INVALID_PARAMETER": ErrorRule("bad_request", permanent=True),
    "TRANSIENT_FAILURE": ErrorRule("transient_failure"),
    "FAILED": ErrorRule("failed"),
}
"""Status of an entry → meaning; all but SUCCESS are surely not sent. None: throttled. The reference has two names for
what does not exist: those of its list of values and those of its text."""
TEXTS: Final = (
    (_DAILY, DAILY_QUOTA),
    (
        re.compile(r"not verified|failed the check", re.IGNORECASE),
        ErrorRule("identity_not_verified", about_message=True),
    ),
    (re.compile(r"sending paused|sending is disabled", re.IGNORECASE), ErrorRule("sending_paused", **_DOWN)),
)
"""Texts that say more than a name. An identity that this account has not verified is the sender, or in the sandbox the
recipient. Other messages are not affected, and another provider may know the identity."""
CODES: Final[Mapping[int, str]] = {401: "unauthorized", 403: "forbidden"}

_ACCEPTED: Final = 200
_LOST: Final = Unknown("malformed_answer")
_DOMAIN: Final = cannot_carry("domain_not_listed")
"""Its sender's role may not send it: SES would refuse as if the whole credential were refused."""


class Ses(Vendor):
    """Mail through SES in one region of one AWS account. Implements `ports.FinishedSender` and `Pingable` also.

    Targets beyond the number that the content allows come back as not started. A malformed address refuses a whole
    call and SES does not say which: such a call is to be divided.

    Args:
        url: of the API, without the path.
        region: that requests are signed for; unknown: every message is refused, and nothing is sent.
        keys: return those that sign; None: the same.
        configuration_set: publishes the events; empty: there are no events.
        credential: its id, which travels with the events.
        domains: that it may send from, their subdomains included; none: any.
    """

    name = "ses"
    per_call = PER_CALL
    finished_bytes = NEEDS.finished_bytes

    def __init__(
        self,
        http: Http,
        url: str,
        *,
        region: str,
        keys: Callable[[], AwsKeys | None],
        configuration_set: str,
        credential: str,
        clock: Clock,
        domains: Sequence[str] = (),
    ) -> None:
        super().__init__(http, clock, None if _REGION.fullmatch(region) else lacking("no_region"))
        self._keys = keys
        self._one = _Operation(url + "/v2/email/outbound-emails", region)
        self._many = _Operation(url + "/v2/email/outbound-bulk-emails", region)
        self._account = _Operation(url + "/v2/email/account", region, "GET")
        self._configuration_set = configuration_set
        self._credential = credential
        self._domains = tuple(domains)
        self._simple = PerContent(lambda content: simple(content, configuration_set))
        self._bulk = PerContent(lambda content: bulk(content, configuration_set))

    def per_call_of(self, content: Content) -> int:
        """Return the most recipients in a call with this content; see `ports.Sized`."""
        least = len(content.html) + len(content.text) + sum([len(a.data) for a in content.attachments])
        if content.copied or least > MAX_INLINE or len(self._bulk(content).body) > MAX_INLINE:
            return 1
        return PER_CALL

    def send_finished(self, content: Content, message: Stream, target: Target, *, deadline: Seconds) -> Outcome:
        """Call SendEmail once with a finished message; see `ports.FinishedSender`."""
        from shared.providers.ses.finished import hash_of, raw  # noqa: PLC0415 - most senders never meet one

        keys = self._keys()
        if (refused := self._refused(content)) or keys is None:
            return refused or NO_KEYS
        body = raw(message, target, self._configuration_set, self._credential)
        if isinstance(body, Rejected):
            return body
        headers = self._one.signer.headers(keys, hash_of(body), self._clock.now())
        return self._finished(VendorCall(self._one.url, headers, body), content, target, deadline)

    def ping(self, *, deadline: Seconds) -> str:
        """Ask for the account (GetAccount). See `ports.Pingable`.

        Args:
            deadline: Unix seconds by which the answer must have come.
        """
        keys = self._keys()
        if keys is None or self._lacks:
            return ""
        headers = self._account.signer.headers(keys, EMPTY_HASH, self._clock.now())
        return get(self._http, self._account.url, headers, deadline=deadline)

    def _refused(self, content: Content) -> Rejected | None:
        if self._lacks or not self._domains:
            return self._lacks
        domain = content.sender.address.rpartition("@")[2].lower()
        return None if any(domain == d or domain.endswith(f".{d}") for d in self._domains) else _DOMAIN

    def _apart(self, content: Content, targets: Sequence[Target]) -> Sequence[Outcome | None]:
        begun = targets[: self.per_call_of(content) if len(targets) > 1 else 1]
        apart: list[Outcome | None] = [None if t.recipient.address.isascii() else SMTPUTF8 for t in begun]
        return apart + [NotStarted()] * (len(targets) - len(begun))

    def _call(self, content: Content, targets: Sequence[Target]) -> VendorCall | Outcome:
        n, keys = len(targets), self._keys()
        if keys is None:
            return NO_KEYS
        part = self._simple(content) if n == 1 else self._bulk(content)
        if part.refused is not None:
            return part.refused
        own = entry(content, targets[0], self._credential) if n == 1 else entries(targets, self._credential)
        whole = part.hash.copy()
        whole.update(own)
        operation = self._one if n == 1 else self._many
        headers = operation.signer.headers(keys, whole.hexdigest(), self._clock.now())
        return VendorCall(operation.url, headers, part.body + own if len(part.body) <= JOIN else (part.body, own))

    def _judged(self, response: Response, content: Content, targets: Sequence[Target]) -> list[Outcome]:
        n = len(targets)

        def own(said: str) -> str:
            return own_words(said, content, targets)

        answer = own_answer(response.body)
        if response.status != _ACCEPTED:
            failure = self._failure(response, answer, n, own)
            return [worded(failure, lambda: _message(answer), t.recipient.address) for t in targets]
        if n == 1:
            return [_accepted(answer)]
        results = answer.get("BulkEmailEntryResults")
        if not isinstance(results, list) or len(results) != n:
            return [_LOST] * n
        pairs = zip(results, targets, strict=True)
        return [self._result(r, own, t) if isinstance(r, dict) else _LOST for r, t in pairs]

    def _result(self, result: Mapping[str, Any], own: Callable[[str], str], target: Target) -> Outcome:
        status = result.get("Status")
        if status == "SUCCESS":
            return _accepted(result)
        if not isinstance(status, str) or status not in ENTRIES:
            return _LOST
        said = _text(result, "Error")
        return worded(self._meaning(ENTRIES[status], own(said), {}), lambda: said, target.recipient.address)

    def _failure(self, response: Response, answer: Mapping[str, Any], n: int, own: Callable[[str], str]) -> Outcome:
        status = response.status
        name = _error_name(response.headers.get("x-amzn-errortype", ""), answer)
        said = own(_message(answer))
        if status in CODES:
            return lacking(CODES[status])
        if status == 429:  # noqa: PLR2004 - Too Many Requests
            return self._meaning(None, said, response.headers)
        if status == 413:  # noqa: PLR2004 - Content Too Large
            name = name or "RequestEntityTooLargeException"
        if status >= 500 or name not in ERRORS:  # noqa: PLR2004 - a server's fault
            return fault(status)
        refusal = ERRORS[name]
        judged = self._meaning(refusal, said, response.headers)
        return BATCH_REFUSED if n > 1 and _of_one(refusal, judged) else judged

    def _meaning(self, refusal: ErrorRule | None, said: str, headers: Mapping[str, str]) -> Outcome:
        if refusal is DAILY_QUOTA or (refusal is None and _DAILY.search(said)):
            return self._over_quota(headers)
        special = next((found for pattern, found in TEXTS if pattern.search(said)), None)
        if special is not None:
            return special.rejected(by_text=refusal is None or not refusal.provider_down)
        if refusal is None:
            return self._throttled(headers)
        return refusal.rejected()


class _Operation:
    """An operation's address and signer."""

    def __init__(self, url: str, region: str, method: str = "POST") -> None:
        self.url = url
        self.signer = Signer(url, region=region, service="ses", content_type="application/json", method=method)


def _text(answer: Mapping[str, Any], name: str) -> str:
    value = answer.get(name)
    return value if isinstance(value, str) else ""


def _message(answer: Mapping[str, Any]) -> str:
    """Return the words of an error; empty if it has none."""
    return _text(answer, "message") or _text(answer, "Message")


def _error_name(header: str, answer: Mapping[str, Any]) -> str:
    """Return the name of an error: `aws.protocols#Name:http://…` in a header, or in the body; empty: not SES's."""
    text = header or _text(answer, "__type") or _text(answer, "code")
    return text.partition(":")[0].rpartition("#")[2].strip()


def _accepted(answer: Mapping[str, Any]) -> Outcome:
    message = clean(answer.get("MessageId"), MAX_ID)
    return Accepted(message) if message else _LOST


def _of_one(refusal: ErrorRule | None, judged: Outcome) -> bool:
    """Tell whether a call was refused for good for one of its recipients."""
    return refusal is not None and refusal.scoped and isinstance(judged, Rejected) and judged.permanent


def _build(needs: Needs) -> Ses:
    declared, region = needs.credential, region_of(needs)
    return Ses(
        needs.http,
        endpoint(needs, "email", region),
        region=region,
        keys=keys_of(needs),
        configuration_set=declared.configuration_set if declared else "",
        credential=declared.id if declared else "",
        clock=needs.clock,
        domains=declared.domains if declared else (),
    )


PROVIDER: Final = _build
WEBHOOKS: Final = SesWebhooks
SECRET: Final = SECRET_FIELDS
