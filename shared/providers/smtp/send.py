"""An SMTP relay: mail by RFC 5321 to a server of the operator's choice, which reports nothing later.

Sources: RFC 5321 4.2 (reply codes), 3463 with the IANA registry of enhanced status codes, and what Postfix, Exim,
Exchange, Amazon SES and Gmail say. The secret: `username` and `password`, or `auth` = `none` for a relay that asks for
neither. The base URL: `smtp://host:587` (STARTTLS, required), `smtps://host:465` (TLS from the first byte), or
`smtp+plain://host:25`, which the settings allow only for loopback and private addresses.

One message is one transaction: its recipient, cc and bcc get the same mail, or none of them does.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from shared.domain.content.content import Content, Mailbox
from shared.domain.content.smtp import Mail, Relay, Reply, SmtpStep, Tls, is_path
from shared.domain.content.streams import Stream
from shared.domain.jobs.outcomes import Accepted, NotStarted, Outcome, Rejected, Throttled, Unknown
from shared.domain.mails.outgoing import outgoing
from shared.domain.times import Seconds
from shared.ports import AnswerLost, Clock, NoTime, NotSent, Smtp, Target, Unfit
from shared.providers._common import ErrorRule, PerContent, copies, wait
from shared.providers._finished import HEADER_NOT_ALLOWED, envelope_of, instructs
from shared.providers._texts import MAX_ID, own_words, refusal_words
from shared.providers.registry import Needs, SecretField
from shared.providers.smtp.finished import submit
from shared.providers.smtp.message import Unsendable, common, message_id, own
from shared.providers.smtp.needs import NEEDS

SCHEMES: Final[Mapping[str, tuple[Tls, int]]] = {
    "smtp": (Tls.STARTTLS, 587),
    "smtps": (Tls.IMPLICIT, 465),
    "smtp+plain": (Tls.NONE, 25),
}
"""Scheme of the base URL → TLS and the port if it names none."""
HARMLESS: Final = frozenset({"list-unsubscribe", "list-unsubscribe-post"})
"""Headers that are made here."""
PAUSE: Final = 30.0
"""Seconds to wait when a server wants fewer mails or connections and does not say until when."""

# What a reply means

UNAUTHORIZED: Final = Rejected("unauthorized", permanent=False, provider_down=True)
UNFIT: Final[Mapping[str, ErrorRule]] = {
    "smtputf8_not_offered": ErrorRule("smtputf8_not_offered", permanent=True),
    "eight_bit_not_offered": ErrorRule("eight_bit_not_offered", about_message=True),
    "too_large": ErrorRule("too_large", permanent=True),
}
TEXTS: Final = (
    (
        re.compile(
            r"relay(?:ing)?\b.{0,20}\b(?:denied|not permitted|not allowed|prohibited)|unable to relay|cannot relay"
            r"|authentication (?:is )?required|not authenticated",
            re.IGNORECASE,
        ),
        ErrorRule("relay_denied", provider_down=True),
    ),
    (
        re.compile(
            r"sending .{0,20}\b(?:paused|suspended|disabled|blocked)"
            r"|(?:your|this) (?:account|user) .{0,10}\b(?:paused|suspended|disabled|blocked|deactivated)",
            re.IGNORECASE,
        ),
        ErrorRule("account_disabled", provider_down=True),
    ),
    (
        re.compile(
            r"\b(?:rate|sending|daily|hourly|submission) ?(?:sending )?(?:rate|limit|quota)|quota ?exceeded|throttl"
            r"|slow down|too (?:many (?!recipients|hops|errors|received)|fast|quick|much mail)|concurrent connections",
            re.IGNORECASE,
        ),
        None,
    ),
)
"""Texts that say more than the code, the first that fits. None: too fast if the code is 4xx, a used-up allowance if it
is 5xx. None of them may condemn a message. Not asked of what enhanced codes x.1 and x.2 say of one mailbox."""
SUBJECTS: Final[Mapping[str, ErrorRule]] = {
    "1": ErrorRule("", permanent=True),  # address
    "2": ErrorRule("", permanent=True),  # mailbox
    "3": ErrorRule(""),  # the server itself
    "4": ErrorRule("", permanent=True),  # routing
    "5": ErrorRule(""),  # protocol
    "6": ErrorRule("", permanent=True),  # content
    "7": ErrorRule("", about_message=True),  # policy of this server: another may think better of the message
}
"""Subject of an enhanced code 5.x.y → meaning."""
OF_MESSAGE: Final = frozenset("1267")
"""Subjects of an enhanced code 4.x.y that say nothing against the server: a mailbox that is full, a grey list."""
MISFITS: Final = frozenset({"starttls_not_offered", "auth_not_offered", "auth_needs_tls"})
"""Codes that refuse every message of this credential."""
TOO_LARGE: Final = frozenset({"5.2.3", "5.3.4"})
BASIC: Final = frozenset({550, 551, 552, 553, 554})
"""Codes of RCPT that condemn the recipient, where no enhanced code says more. 500 to 504 are about the command."""
SETUP: Final = frozenset({SmtpStep.GREETING, SmtpStep.EHLO, SmtpStep.STARTTLS, SmtpStep.AUTH})
"""Steps before there is a message."""
_TOO_BIG: Final = 552
_BUSY: Final = 450
_PERMANENT: Final = 500
_SUCCESS: Final = 300
_AUTH_WANTED: Final = 530
_ENHANCED: Final = re.compile(r"([245]\.\d{1,3}\.\d{1,3})\b")
_AFTER: Final = re.compile(r"\b(?:in|after) (\d{1,5}) ?(s|m)(?:ec|in)?", re.IGNORECASE)

# What a server calls the message

IDS: Final = (
    re.compile(r"\bqueued as <?([^\s<>;,]+)", re.IGNORECASE),  # Postfix and those that speak like it
    re.compile(r"\bid=<?([^\s<>;,]+)"),  # Exim
    re.compile(r"\bInternalId=(\d+)"),  # Exchange
    re.compile(r"^(?:2\.\d\.\d )?(\S+) Message accepted for delivery", re.IGNORECASE),  # Sendmail, OpenSMTPD
    re.compile(r"\bqp (\d+)"),  # qmail
    re.compile(r"^(?:2\.\d\.\d )?Ok:? +(?!id=|queued\b)([A-Za-z0-9-]{12,100})$", re.IGNORECASE),  # Amazon SES
)
"""The first that fits the reply to the final dot; none: our Message-ID."""


class SmtpRelay:
    """Mail through one SMTP server. Implements `ports.Provider`, `FinishedSender` and `Pingable`; safe for threads.

    Args:
        base_url: see `SCHEMES`; without it every message is refused, and nothing is sent.
        secret: with `username` and `password`, or `auth` = `none`; without them the same.
        headers: names of the headers that clients may set. A header may instruct a relay: to add recipients, say. So
            a message with another one is left to other credentials.
    """

    name = "smtp"
    per_call = 1
    has_feedback = False
    finished_bytes = NEEDS.finished_bytes

    def __init__(
        self, smtp: Smtp, base_url: str, secret: Mapping[str, str], clock: Clock, headers: Iterable[str] = ()
    ) -> None:
        self._smtp = smtp
        self._clock = clock
        found = _relay(base_url, secret)
        self._relay = found if isinstance(found, Relay) else None
        self._missing = Rejected(found if isinstance(found, str) else "", permanent=False, provider_down=True)
        self._allowed = HARMLESS | {name.lower() for name in headers}
        self._common = PerContent(lambda content: _common(content, self._allowed))

    def send(self, content: Content, targets: Sequence[Target], *, deadline: Seconds) -> list[Outcome]:
        """Make one transaction, for the only target. Arguments and result: see `ports.Provider`."""
        if self._relay is None:
            return [self._missing] * len(targets)
        first, *others = targets
        return [self._send(self._relay, content, first, deadline)] + [NotStarted() for _ in others]

    def _send(self, relay: Relay, content: Content, target: Target, deadline: Seconds) -> Outcome:
        shared = self._common(content)
        if isinstance(shared, Rejected):
            return shared
        mail = self._mail(content, shared, target)
        if isinstance(mail, Rejected):
            return mail
        named = message_id(target.ref, content.sender.address).strip("<>")
        return _outcome(lambda: self._smtp.submit(relay, mail, deadline=deadline), content, target, named)

    def send_finished(self, content: Content, message: Stream, target: Target, *, deadline: Seconds) -> Outcome:
        """Make one transaction with a finished message; see `ports.FinishedSender`."""
        relay, envelope, leaving = self._relay, envelope_of(content), outgoing(message)
        if relay is None:
            return self._missing
        if instructs(leaving, self._allowed):
            return HEADER_NOT_ALLOWED
        if envelope.mail_from and not is_path(envelope.mail_from):
            return Rejected("invalid_mail_from", permanent=True)
        if not is_path(target.recipient.address):
            return Rejected("invalid_recipient", permanent=True)
        return _outcome(
            lambda: submit(self._smtp, relay, envelope, leaving, target, deadline=deadline), content, target, target.ref
        )

    def ping(self, *, deadline: Seconds) -> str:
        """Connect, say EHLO and log in. A server that is busy or closes (4xx) is not there. See `ports.Pingable`."""
        if self._relay is None:
            return ""
        try:
            refused = self._smtp.greet(self._relay, deadline=deadline)
        except NoTime:
            return ""
        except NotSent as error:
            return "" if str(error) in MISFITS else str(error) or "not_sent"
        return f"smtp_{refused.code}" if refused and refused.code < _PERMANENT else ""

    def _mail(self, content: Content, shared: bytes, target: Target) -> Mail | Rejected:
        to = target.recipient.address
        roles = dict(copies(content, to))
        others = [box for boxes in roles.values() for box in boxes]
        sender = content.sender.address
        for address, code in [(sender, "invalid_from"), (to, "invalid_recipient")] + [
            (box.address, "invalid_copy") for box in others
        ]:
            if not is_path(address):
                return Rejected(code, permanent=True)
        shown = Mailbox(to, target.recipient.display)
        head = own((shown, *roles.get("to", [])), roles.get("cc", []), target.ref, sender, self._clock.now())
        written = "".join([sender, to, *(box.address for box in others)])
        utf8 = not (written.isascii() and (content.reply_to is None or content.reply_to.address.isascii()))
        return Mail(sender, (to, *(box.address for box in others)), (head, shared), utf8)


def _outcome(submitted: Callable[[], Reply], content: Content, target: Target, named: str) -> Outcome:
    """Make a transaction and judge it.

    Args:
        named: what an accepted message is called if the server does not name it.
    """
    try:
        reply = submitted()
    except NotSent as error:
        return _not_sent(error)
    except AnswerLost as error:
        return Unknown(str(error) or "answer_lost")
    if reply.code < _SUCCESS:
        return Accepted(queue_id(reply.text) or named)
    judgement = judged(reply, own_words(reply.text, content, [target]))
    if isinstance(judgement, Rejected):
        said = refusal_words(f"{reply.code} {reply.text}", target.recipient.address)
        return replace(judgement, detail=said)
    return judgement


def _not_sent(error: NotSent) -> Outcome:
    """Judge a transaction that surely was not made."""
    match error:
        case NoTime():
            return NotStarted()
        case Unfit():
            return UNFIT.get(str(error), ErrorRule("not_sent")).rejected()
        case _:
            return Rejected(str(error) or "not_sent", permanent=False, provider_down=str(error) in MISFITS)


def _relay(base_url: str, secret: Mapping[str, str]) -> Relay | str:
    """Return whom to connect to, or the code of what is missing."""
    parts = urlsplit(base_url)
    if parts.scheme not in SCHEMES or not parts.hostname:
        return "no_base_url"
    tls, usual = SCHEMES[parts.scheme]
    try:
        relay = Relay(parts.hostname, parts.port or usual, tls)
    except ValueError:  # the port
        return "no_base_url"
    username, password = secret.get("username", "").strip(), secret.get("password", "")
    if username and password:
        return Relay(relay.host, relay.port, tls, username, password)
    return relay if secret.get("auth", "").strip().lower() == "none" else "no_password"


def _common(content: Content, allowed: Collection[str]) -> bytes | Rejected:
    if any(name.lower() not in allowed for name, _ in content.headers):
        return HEADER_NOT_ALLOWED
    try:
        return common(content)
    except Unsendable as error:
        return Rejected(str(error), permanent=True)


def queue_id(text: str) -> str:
    """Return what a server calls the message in its reply to the final dot; empty if it does not say."""
    found = next((match for pattern in IDS if (match := pattern.search(text))), None)
    name = found[1].rstrip(".)]") if found else ""
    return name if len(name) <= MAX_ID and name.isascii() and name.isprintable() else ""


def _status(reply: Reply) -> str:
    """Return the enhanced status of a reply, as in `5.1.1`; empty if it has none of its class."""
    first = _ENHANCED.match(reply.text.lstrip())
    return first[1] if first and first[1][0] == str(reply.code)[0] else ""


def _about_message(reply: Reply, status: str) -> bool:
    """Tell whether a refusal for the moment concerns only this message."""
    mailbox_busy = reply.step is SmtpStep.RCPT and reply.code == _BUSY and not status
    return mailbox_busy or status[2:3] in OF_MESSAGE


def judged(reply: Reply, said: str) -> Outcome:
    """Return what a refusal means: surely not sent, and whether another try or another provider may do better.

    `said`: its text as `own_words` returns it, the only text that is searched.
    """
    if reply.code == _AUTH_WANTED:
        return UNAUTHORIZED
    status = _status(reply)
    code = status or f"smtp_{reply.code}"
    of_mailbox = reply.step is SmtpStep.RCPT and status[2:3] in ("1", "2")
    special = None if of_mailbox else next((pair for pair in TEXTS if pair[0].search(said)), None)
    quoted = reply.step not in SETUP  # there is a message whose words it may quote
    if special:
        return _by_text(special[1], reply, said, quoted=quoted)
    if reply.step in SETUP:
        return _of_setup(reply, code)
    if reply.code < _PERMANENT:
        return Rejected(code, permanent=False, about_message=_about_message(reply, status))
    return _final(reply, status, code)


def _by_text(rule: ErrorRule | None, reply: Reply, said: str, *, quoted: bool) -> Outcome:
    """Return what a refusal means whose words have a rule, or speak of a limit (None)."""
    if rule:
        return rule.rejected(by_text=quoted)
    if reply.code >= _PERMANENT:
        return Rejected("quota_exceeded", permanent=False, provider_down=True, by_text=quoted)
    return Throttled(_pause(said))


def _of_setup(reply: Reply, code: str) -> Outcome:
    """Return what a refusal means that came before the envelope: it concerns the account or the relay."""
    if reply.step is SmtpStep.AUTH and reply.code >= _PERMANENT:
        return UNAUTHORIZED
    return Rejected(code, permanent=False, provider_down=reply.code >= _PERMANENT)


def _final(reply: Reply, status: str, code: str) -> Rejected:
    """Judge a 5xx of the transaction: whether it condemns the recipient or the content, or only this way of sending."""
    if status in TOO_LARGE or (reply.code == _TOO_BIG and not status and reply.step is not SmtpStep.RCPT):
        return Rejected("too_large", permanent=True)
    if reply.step is SmtpStep.MAIL:
        return Rejected("sender_refused", permanent=False, about_message=True)  # others may let this sender
    if reply.step is SmtpStep.RCPT:
        unsaid = ErrorRule("", permanent=reply.code in BASIC)
        code = "invalid_copy" if reply.recipient else code  # nobody gets the mail without the copy
    else:
        unsaid = ErrorRule("", about_message=True)
    return SUBJECTS.get(status[2:3], unsaid).rejected(code)


def _pause(text: str) -> float:
    """Return the seconds that a text asks for: "try again in 5 minutes"."""
    found = _AFTER.search(text)
    seconds = float(found[1]) * (60 if found[2].lower() == "m" else 1) if found else PAUSE
    return wait("", 0.0, otherwise=seconds)


def _build(needs: Needs) -> SmtpRelay:
    if needs.smtp is None:
        raise ValueError("the SMTP relay needs its transport")
    headers = needs.credential.headers if needs.credential else ()
    return SmtpRelay(needs.smtp, needs.base_url, needs.secret, needs.clock, headers)


PROVIDER: Final = _build
WEBHOOKS: Final = None
SECRET: Final = (
    SecretField("username", "the user name", required=False),
    SecretField("password", "the password", required=False),
    SecretField("auth", "`none` for a relay that asks for neither", required=False),
)
