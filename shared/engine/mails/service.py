"""Where mails are handed in: a place for the content, its check, and the commit that queues all destinations."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from shared.contracts import MAIL_CONTENTS, Settings
from shared.domain.channels.email import EMAIL
from shared.domain.content.content import Content, Finished, Mailbox
from shared.domain.ids import new_id
from shared.domain.jobs.labels import NO_LABELS, Labels
from shared.domain.jobs.outcomes import NOT_A_GUEST
from shared.domain.mails.destination import MAX_METADATA
from shared.domain.mails.envelope import NULL, return_path
from shared.domain.mails.mail import LIFE_MS, MAX_DESTINATIONS, MailState, StoredMail, opened
from shared.domain.mails.message import MessageFacts, MessageRefusal, check, joined, normalised
from shared.domain.mails.queue import MailSchedule, NewDestination
from shared.domain.namespaces import namespace
from shared.domain.recipients.addresses import Address, Invalid
from shared.domain.recipients.suppressions import reaches
from shared.domain.times import PAST, Millis
from shared.engine.intake.addresses import LeftOutRecipient, address_of, check_sender, misleading, none_left
from shared.engine.intake.declined import Decline, FieldFault, as_value, invalid
from shared.engine.intake.routes import mail_route
from shared.engine.mails.queueing import MailQueuer, OutgoingMail
from shared.frozen import dataclass
from shared.ports import (
    Clock,
    FileChanged,
    FileFacts,
    Idempotency,
    MailFiles,
    Mails,
    Mismatch,
    OpenPlaces,
    PlaceKind,
    Replay,
    Retriable,
    Senders,
    SuppressionList,
)

MEDIA: Final = "message/rfc822"
PLACE_S: Final = 3_600
"""Seconds for which a place takes an upload."""
SAYS: Final[Mapping[str, str]] = {
    "too_large": "A mail has at most 40 MB.",
    "empty": "The mail is empty.",
    "bare_lf": "A line ends in LF. Mails have lines that end in CRLF.",
    "bare_cr": "A line has a CR that no LF follows. Mails have lines that end in CRLF.",
    "nul_byte": "A line has a NUL byte.",
    "not_a_header": "The line is no header field.",
    "no_from": "The header has no From field.",
    "several_from": "The header has several From fields.",
    "invalid_from": "An address in the From field is not valid.",
    "invalid_sender": "An address in a Sender, Resent-From or Resent-Sender field is not valid.",
    "misleading_name": "A sender's name has another's address, or a character that turns the direction of its letters.",
    "header_too_large": "The header is too large.",
}
"""Code of a refusal → a sentence for people."""


@dataclass(frozen=True, slots=True)
class AskedDestination:
    """A destination as asked for. `at`: Unix milliseconds, 0: at once."""

    address: str
    at: Millis = 0
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class AskedMail:
    """An envelope as asked for.

    Attributes:
        account: whose mail it is.
        test: asked for with a test key.
        mail_from: the envelope's sender; empty: the null return path, by which nothing is notified.
        destinations: in their order.
        until: when it expires, Unix milliseconds; 0: as late as it may.
        by: the actor.
        size: bytes of the content that is uploaded, 0: not known.
        labels: its owner's reference and tags.
    """

    account: str
    test: bool
    mail_from: str
    destinations: Sequence[AskedDestination]
    until: Millis = 0
    by: str = ""
    size: int = 0
    labels: Labels = NO_LABELS


@dataclass(frozen=True, slots=True)
class MailPlace:
    """A place for the content of an open mail. `expires_at`: Unix milliseconds."""

    mail: StoredMail
    url: str
    headers: Mapping[str, str]
    expires_at: Millis


@dataclass(frozen=True, slots=True)
class RawRules:
    """The providers' rules for finished messages.

    Attributes:
        takes: the most bytes that a credential takes, by its id; 0: it takes none.
        barred: beginnings of names of header fields that would instruct a provider.
    """

    takes: Callable[[str], int]
    barred: tuple[str, ...]


class MailService:
    """Takes mails.

    Args:
        files: the mails' bytes.
        places: those for contents that are open.
        unwanted: recipients that are not to be sent to.
        rules: the providers' rules for finished messages.
    """

    def __init__(
        self,
        *,
        mails: Mails,
        files: MailFiles,
        places: OpenPlaces,
        queuer: MailQueuer,
        senders: Senders,
        unwanted: SuppressionList,
        settings: Settings,
        rules: RawRules,
        clock: Clock,
    ) -> None:
        self._mails = mails
        self._files = files
        self._places = places
        self._queuer = queuer
        self._senders = senders
        self._unwanted = unwanted
        self._settings = settings
        self._rules = rules
        self._clock = clock

    @as_value
    def open(
        self, asked: AskedMail, answer: Callable[[MailPlace], Idempotency | None]
    ) -> MailPlace | Replay | Mismatch:
        """Store an envelope, and give a place for the content. Nothing is queued.

        Args:
            answer: makes the request's idempotency record of the place; None without a key.

        Returns:
            The place; a refusal as a value `Declined`.
        """
        mail, destinations = self._opened(asked)
        self._route(mail, 1)
        until = self._now() + PLACE_S * 1000
        if not self._places.take(mail.namespace, PlaceKind.MAILS, mail.id, until, self._committed):
            raise Decline("too_many_uploads")
        self._files.put(mail.envelope, _packed(destinations))
        url, headers = self._files.place(mail.upload, content_type=MEDIA, seconds=PLACE_S, size=asked.size)
        place = MailPlace(mail, url, headers, until)
        stored = self._mails.open(mail, answer(place))
        return stored if isinstance(stored, Replay | Mismatch) else place

    @as_value
    def commit(self, mail: StoredMail, etag: str, *, normalise: bool = False) -> StoredMail:
        """Check the content of a mail, and queue all its destinations; what is committed already stays as it is.

        Args:
            etag: of the content that the client has uploaded; empty: of what is there.
            normalise: make every line end CRLF.

        Returns:
            The mail as it is stored; a refusal as a value `Declined`.
        """
        if mail.state is not MailState.OPEN:
            return mail
        facts = self._files.facts(mail.upload)
        envelope = self._files.get(mail.envelope)
        if facts is None or envelope is None:
            raise Decline("upload_missing")
        if etag and etag.strip('"') != facts.etag:
            raise Decline("etag_mismatch")
        destinations = _unpacked(envelope)
        try:
            found, route, finished = self._taken(mail, facts, normalise=normalise)
        except FileChanged:
            raise Decline("etag_mismatch") from None
        content = _content(mail, found, finished)
        skip = self._skipped(mail, destinations)
        queued = self._queued(OutgoingMail(mail, content, destinations, route, skip=skip), finished, None)
        if isinstance(queued, StoredMail):
            return queued
        self._files.remove(finished.name)
        latest = self._mails.get(mail.id)
        if latest is None or latest.state is MailState.OPEN:
            raise Retriable("the mail was not committed")
        return latest

    @as_value
    def post(
        self, asked: AskedMail, data: Iterable[bytes], answer: Callable[[StoredMail], Idempotency | None]
    ) -> StoredMail | Replay | Mismatch:
        """Take a mail with its content, and queue all its destinations.

        Args:
            answer: makes the request's idempotency record of the mail; None without a key.

        Returns:
            The mail as it is stored; a refusal as a value `Declined`.
        """
        mail, destinations = self._opened(asked)
        body = b"".join(data)
        found = self._checked(mail, [body])
        route = self._route(mail, found.size)
        skip = self._skipped(mail, destinations)
        finished = self._stored(mail, body)
        content = _content(mail, found, finished)
        asked_for = OutgoingMail(mail, content, destinations, route, new=True, skip=skip)
        queued = self._queued(asked_for, finished, answer(mail))
        if isinstance(queued, StoredMail):
            return queued
        self._files.remove(finished.name)
        if queued is None:
            raise Retriable("the mail was not queued")
        return queued

    def _queued(
        self, asked: OutgoingMail, finished: Finished, key: Idempotency | None
    ) -> StoredMail | Replay | Mismatch | None:
        """Queue a mail; the content of one that a limit of the day keeps out is removed."""
        try:
            return self._queuer.queue(asked, key)
        except Decline:
            self._files.remove(finished.name)
            raise

    def _committed(self, names: Sequence[str]) -> list[str]:
        """Return those mails whose content is said to be there."""
        found = [self._mails.get(name) for name in names]
        return [mail.id for mail in found if mail is not None and mail.state is not MailState.OPEN]

    # Contents

    def _taken(
        self, mail: StoredMail, facts: FileFacts, *, normalise: bool
    ) -> tuple[MessageFacts, tuple[str, ...], Finished]:
        """Check an upload, and keep under a name of its own what was checked; return it with its route."""
        uploaded = self._files.read(mail.upload, etag=facts.etag, start=0)
        if normalise:
            body = joined(normalised(uploaded))
            found = self._checked(mail, [body])
            return found, self._route(mail, found.size), self._stored(mail, body)
        found = self._checked(mail, uploaded)
        route = self._route(mail, found.size)
        name = self._name(mail)
        copied = self._files.copy(mail.upload, etag=facts.etag, to=name)
        return found, route, Finished(mail.mail_from, name, copied.etag, copied.size)

    def _stored(self, mail: StoredMail, body: bytes) -> Finished:
        """Store a content that was checked."""
        name = self._name(mail)
        self._files.put(name, body)
        stored = self._files.facts(name)
        if stored is None:
            raise Retriable("the content was not stored")
        return Finished(mail.mail_from, name, stored.etag, stored.size)

    def _name(self, mail: StoredMail) -> str:
        return f"{MAIL_CONTENTS}{mail.id}/{new_id(self._now())}"

    # Checks

    def _opened(self, asked: AskedMail) -> tuple[StoredMail, Sequence[NewDestination]]:
        now = self._now()
        if not 1 <= len(asked.destinations) <= MAX_DESTINATIONS:
            raise invalid("destinations", f"A mail has from 1 to {MAX_DESTINATIONS:,} destinations.")
        if asked.until and not now < asked.until <= now + LIFE_MS:
            raise invalid("expires_at", "A mail expires within two days.")
        sender = _return_path(asked.mail_from)
        if sender is not None:
            check_sender(self._senders, namespace(asked.account, test=asked.test), sender, "mail_from")
        destinations = self._destinations(asked, now, asked.until or now + LIFE_MS)
        mail = opened(
            mail=new_id(now),
            account=asked.account,
            test=asked.test,
            mail_from=sender.address if sender is not None else "",
            addresses=[x.address for x in destinations],
            by=asked.by,
            now=now,
            until=asked.until,
        )
        return replace(mail, reference=asked.labels.reference, tags=asked.labels.tags), destinations

    def _destinations(self, asked: AskedMail, now: Millis, until: Millis) -> list[NewDestination]:
        out: list[NewDestination] = []
        seen: set[str] = set()
        for i, x in enumerate(asked.destinations):
            where = f"destinations.{i}"
            address = address_of(f"{where}.address", x.address)
            if address.key in seen:
                raise invalid(f"{where}.address", "Each destination is named once.")
            seen.add(address.key)
            if x.at and not now - PAST * 1000 <= x.at < until:
                raise invalid(f"{where}.schedule_at", "Choose a time from now on, before the mail expires.")
            metadata = x.metadata or {}
            if len(_json(metadata)) > MAX_METADATA:
                raise invalid(f"{where}.metadata", f"Metadata have at most {MAX_METADATA:,} bytes of JSON.")
            out.append(NewDestination(address.address, MailSchedule(x.at), metadata))
        return out

    def _skipped(self, mail: StoredMail, destinations: Sequence[NewDestination]) -> dict[str, str]:
        """Return address in lower case → code of the destinations that are not to be sent to."""
        codes: dict[str, str] = {}
        keys = [x.address.lower() for x in destinations]
        for reach in reaches(EMAIL.name, unsubscribable=False):
            codes |= dict.fromkeys(self._unwanted.check(mail.namespace, keys, reach=reach), reach.code)
        codes |= dict.fromkeys(self._unwanted.strangers(mail.namespace, keys), NOT_A_GUEST)
        if len(codes) == len(keys):
            left = [
                LeftOutRecipient(f"destinations.{i}.address", x.address, codes[key], key)
                for i, (x, key) in enumerate(zip(destinations, keys, strict=True))
            ]
            raise none_left(left, self._unwanted, mail.namespace, EMAIL.name, field="destinations")
        return codes

    def _checked(self, mail: StoredMail, blocks: Iterable[bytes]) -> MessageFacts:
        """Check a content: its form, its senders, and that it instructs no provider."""
        found = check(blocks)
        if isinstance(found, MessageRefusal):
            said = SAYS.get(found.code, "The mail is not valid.")
            raise Decline("invalid_mail", FieldFault("content", said, found.code, line=found.line or None))
        for name in sorted(found.names):
            if name.startswith(self._rules.barred):
                text = f"The header field {name} instructs a provider."
                raise Decline("invalid_mail", FieldFault("content", text, "header_not_allowed"))
        self._check_claims(mail.namespace, found.claims)
        return found

    def _check_claims(self, account: str, boxes: Sequence[Mailbox]) -> None:
        """Check the mailboxes that readers show as the sender: first their addresses, then their names."""
        named = [replace(address_of("content.from", x.address), display=x.display) for x in boxes]
        for address in named:
            check_sender(self._senders, account, address, "content.from")
        for address in named:
            said = misleading(self._senders, account, address)
            if said:
                raise Decline("invalid_mail", FieldFault("content", said, "misleading_name"))

    def _route(self, mail: StoredMail, size: int) -> tuple[str, ...]:
        """Return the credentials that take a mail of a size, in their order."""
        every = mail_route(mail.account, self._settings, test=mail.test)
        able = tuple(c for c in every if self._rules.takes(c) > 0)
        if not able:
            raise Decline("no_route", FieldFault("destinations", "No credential of the account takes finished mails."))
        route = tuple(c for c in able if self._rules.takes(c) >= size)
        if not route:
            raise Decline(
                "invalid_mail", FieldFault("content", "No credential takes a mail of this size.", "too_large")
            )
        return route

    def _now(self) -> Millis:
        return int(self._clock.now() * 1000)


def _content(mail: StoredMail, found: MessageFacts, finished: Finished) -> Content:
    sender = found.senders[0] if found.senders else Mailbox(mail.mail_from)
    return Content(sender, found.subject, finished=finished)


def _return_path(given: str) -> Address | None:
    """Return the envelope's sender, None for the null return path; `Decline` for what is none."""
    if given.strip() in ("", NULL):
        return None
    found = return_path(given)
    if isinstance(found, Invalid):
        raise invalid("mail_from", found.reason)
    return found


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _packed(destinations: Sequence[NewDestination]) -> bytes:
    return _json([[x.address, x.schedule.at, x.metadata] for x in destinations])


def _unpacked(data: bytes) -> list[NewDestination]:
    return [NewDestination(address, MailSchedule(at), metadata) for address, at, metadata in json.loads(data)]
