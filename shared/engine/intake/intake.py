"""The rules of acceptance, the same for every door: accounts, senders, suppressions, routes, templates, times.

They read and write nothing of a job. They return it ready to be stored, or the reason why it is not accepted.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from shared.contracts import Routing, Settings
from shared.domain.campaigns.campaign import Campaign, Message
from shared.domain.campaigns.variants import Variants
from shared.domain.channels.channel import Channel
from shared.domain.channels.email import EMAIL
from shared.domain.channels.lookup import channel_of
from shared.domain.content.content import Content, Mailbox
from shared.domain.content.posting import Posting
from shared.domain.content.unsubscribe import PATH
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.outcomes import NOT_A_GUEST
from shared.domain.recipients.addresses import Address, Invalid, parse_many
from shared.domain.recipients.suppressions import reaches
from shared.engine.intake import posted, routes
from shared.engine.intake.accept import BatchRequest
from shared.engine.intake.addresses import (
    MAX_RECIPIENTS,
    address_of,
    check_sender,
    copies_of,
    entries,
    mailbox,
    misleading,
    none_left,
    read_again,
    with_own,
)
from shared.engine.intake.declined import (
    NO_GUEST,
    Decline,
    FieldFault,
    as_value,
    invalid,
    no_credential,
)
from shared.engine.intake.message import (
    Draft,
    by_template,
    check_mail,
    check_subject,
    check_variants,
    message_of,
    names_in,
    sender_in,
)
from shared.engine.intake.numbers import numbers_of, short_content
from shared.engine.intake.opened import check_open
from shared.engine.intake.posted import PostedBy
from shared.engine.intake.request import SendRequest
from shared.frozen import dataclass
from shared.ports import Clock, Senders, SuppressionList


@dataclass(frozen=True, slots=True)
class _Accepted:
    """A batch as its channel reads it. `not_before`: Unix milliseconds, 0 for now."""

    route: tuple[str, ...]
    not_before: int
    content: Content
    recipients: tuple[Recipient, ...]
    duplicates: int


class Intake:
    """Decides what is accepted.

    Args:
        unwanted: recipients that are not to be sent to.
        address: the API's public one, without a slash at its end, for links to unsubscribe.
        bounds: provider, as in the settings → how many people it takes in one message.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        senders: Senders,
        unwanted: SuppressionList,
        clock: Clock,
        address: str,
        bounds: Callable[[str], routes.MessageBounds],
    ) -> None:
        self._settings = settings
        self._senders = senders
        self._unwanted = unwanted
        self._clock = clock
        self._address = address
        self._carriers = routes.Carriers(settings, bounds)

    @as_value
    def batch(self, asked: SendRequest) -> BatchRequest:
        """Return what the engine accepts; reads senders and suppressions, writes nothing."""
        by = channel_of(asked.channel)
        if asked.hours is not None and asked.hours.by_recipient and not by.numbers:
            raise invalid("hours.zone", f"{by.noun} of a batch tells no zone. Name one, or send a campaign.")
        asked = by_template(asked, by)
        found = self._numbered(asked, by) if by.numbers else self._mailed(asked, by)
        if all(r.skip for r in found.recipients):
            codes = {r.key: r.skip for r in found.recipients}
            texts = entries("to", asked.to, MAX_RECIPIENTS)
            left = read_again(by, asked.region, texts, codes, "to")
            space, offered = asked.namespace, asked.unsubscribe
            raise none_left(left, self._unwanted, space, asked.channel, field="to", offered=offered)
        template, version = asked.of_template
        return BatchRequest(
            account=asked.account,
            test=asked.test,
            channel=asked.channel,
            route=found.route,
            ordered=routes.ordered(asked, asked.channel, self._settings),
            content=found.content,
            recipients=found.recipients,
            duplicates=found.duplicates,
            policy=asked.policy,
            name=asked.name,
            not_before=found.not_before,
            idempotency_key=asked.idempotency_key,
            fingerprint=asked.fingerprint,
            by=asked.by,
            hours=asked.hours,
            urgent=asked.urgent,
            labels=asked.labels,
            template=template,
            template_version=version,
        )

    @as_value
    def posted(self, asked: Posting, by: PostedBy, template: Message | None) -> BatchRequest:
        """Return what the engine accepts of a request in another service's terms; writes nothing.

        Args:
            template: the stored template that it names; None if it names none.
        """
        not_before = posted.begin(asked, self._clock.now())
        self._check_sender(by.namespace, posted.box_address(asked.sender), asked.sender.field)
        route = routes.credentials_for(by.account, None, EMAIL.name, self._settings, test=by.test)
        messages = posted.read(asked)
        keys = [a.key for m in messages for a in m.all]
        codes = self._codes(by.namespace, EMAIL.name, keys, offered=False)
        for left in (m.left(codes) for m in messages):
            if left.to:
                route = self._carriers.of(route, len(left.all), len(left.to), left.asked.to_field)
        made = posted.request_of(asked, by, messages, codes, template)
        if all(r.skip for r in made.recipients):
            gone = posted.left_out(messages, codes)
            raise none_left(gone, self._unwanted, by.namespace, EMAIL.name, field=gone[0].field)
        ordered = self._settings.routing.get(EMAIL.name, "") == Routing.ORDERED
        return replace(made, route=route, ordered=ordered, not_before=not_before)

    def _mailed(self, asked: SendRequest, by: Channel) -> "_Accepted":
        check_mail(asked)
        not_before = routes.begin_at(asked.scheduled_at, self._clock.now())
        sender = self._sender(asked)
        route = routes.route_of(asked, asked.channel, self._settings)
        found = parse_many(entries("to", asked.to, MAX_RECIPIENTS, "too_many_recipients"))
        copies = copies_of((("cc", asked.cc), ("bcc", asked.bcc)), found.recipients)
        route = self._carriers.of(route, 1 + len(copies), 1, copies[-1][0] if copies else "to")
        addresses = [*found.recipients, *(a for _, a in copies)]
        keys = [r.key for r in addresses if isinstance(r, Address)]
        codes = self._codes(asked.namespace, asked.channel, keys, offered=asked.unsubscribe)
        for field, copy in copies:
            if copy.key in codes:
                said = NO_GUEST if codes[copy.key] == NOT_A_GUEST else "An address in this field is suppressed."
                raise invalid(field, said)
        recipients = tuple(_recipient(r, codes) for r in found.recipients)
        content = self._content(asked, sender, copies)
        recipients = with_own(asked, recipients, found.places, names_in(content, by))
        return _Accepted(route, not_before, content, recipients, found.duplicates)

    def _numbered(self, asked: SendRequest, by: Channel) -> "_Accepted":
        content = short_content(asked, by)
        not_before = routes.begin_at(asked.scheduled_at, self._clock.now())
        self._check_active(asked.account)
        check_open(self._senders, asked.account, asked.channel, test=asked.test)
        route = routes.route_of(asked, asked.channel, self._settings)
        texts = entries("to", asked.to, MAX_RECIPIENTS, "too_many_recipients")
        found, places = numbers_of(texts, by, asked.region)
        keys = [r.key for r in found if not r.skip]
        codes = self._codes(asked.namespace, asked.channel, keys, offered=asked.unsubscribe)
        recipients = tuple(replace(r, skip=codes.get(r.key, "")) if not r.skip else r for r in found)
        duplicates = len(texts) - len(recipients)
        recipients = with_own(asked, recipients, places, names_in(content, by))
        return _Accepted(route, not_before, content, recipients, duplicates)

    @as_value
    def begin_at(self, wanted: datetime | None) -> int:
        """Return when sending begins, Unix milliseconds, 0 for now."""
        return routes.begin_at(wanted, self._clock.now())

    @as_value
    def credential(self, account: str, channel: str, wanted: str | None, *, test: bool) -> str:
        """Return the credential of a campaign.

        Args:
            wanted: the credential as requested; None for the default.
            test: whether a test key asks.
        """
        return routes.credential_of(account, channel, wanted, self._settings, test=test)

    @as_value
    def message(self, account: str, channel: str, draft: Draft, prefix: str = "") -> Message:
        """Return what a template says.

        Args:
            account: the namespace whose senders count.
            draft: as the client wrote it.
            prefix: of the fields' names in faults, for example `template.`.
        """
        check_subject(draft, channel, prefix)
        sender = sender_in(draft, channel, prefix)
        if sender is not None:
            self._check_sender(account, sender, f"{prefix}from")
        return message_of(draft, channel, sender, prefix)

    @as_value
    def variants(self, channel: str, asked: Variants) -> Variants:
        """Return what a stored template of a channel says by other channels."""
        check_variants(channel, asked)
        return asked

    @as_value
    def sender(self, account: str, text: str, field: str) -> None:
        """Check that an account may send from an address. Raises Decline.

        Args:
            text: the sender as requested, with or without a name.
            field: the field's path in the request.
        """
        self._check_sender(account, address_of(field, text), field)

    @as_value
    def active(self, account: str) -> None:
        """Check that no operator has suspended an account."""
        self._check_active(account)

    @as_value
    def sendable(self, campaign: Campaign) -> None:
        """Check that a campaign's account may send, through its credential and from its sender, as of today."""
        if not campaign.test:
            mine = [c.id for c in self._settings.credentials if c.open_to(campaign.account)]
            if campaign.credential not in mine:
                raise no_credential("credential_id", campaign.credential)
        self._check_active(campaign.account)
        check_open(self._senders, campaign.account, campaign.channel, test=campaign.test)
        if channel_of(campaign.channel).names_sender:
            if campaign.message.sender is None:
                raise Decline("from_missing")
            box = campaign.message.sender
            self._check_sender(
                campaign.namespace, replace(address_of("from", box.address), display=box.display), "from"
            )

    @as_value
    def wanted(self, campaign: Campaign, identity: str) -> None:
        """Check that a recipient, given as a normalised key, neither is suppressed nor has unsubscribed."""
        if self._unwanted.strangers(campaign.namespace, [identity]):
            raise Decline("no_valid_recipient", FieldFault("recipient", NO_GUEST))
        for reach in reaches(campaign.channel, unsubscribable=campaign.unsubscribe):
            if self._unwanted.check(campaign.namespace, [identity], reach=reach):
                raise Decline("no_valid_recipient", FieldFault("recipient", f"The recipient is {reach.code}."))

    def _check_active(self, account: str) -> None:
        if self._senders.suspended(account):
            raise Decline("account_suspended")

    def _check_sender(self, account: str, sender: Address, field: str) -> None:
        check_sender(self._senders, account, sender, field)
        said = misleading(self._senders, account, sender)
        if said:
            raise invalid(field, said)

    def _codes(self, namespace: str, channel: str, keys: Sequence[str], *, offered: bool) -> dict[str, str]:
        """Return normalised key → code of the recipients that are not to be sent to; the weightiest of several codes.

        Args:
            keys: normalised addresses or numbers.
            offered: whether the messages offer an unsubscription.
        """
        codes: dict[str, str] = {}
        for reach in reaches(channel, unsubscribable=offered) if keys else ():
            stored = self._unwanted.check(namespace, keys, reach=reach)
            codes = dict.fromkeys(stored, reach.code) | codes
        return codes | dict.fromkeys(self._unwanted.strangers(namespace, keys), NOT_A_GUEST)

    def _sender(self, asked: SendRequest) -> Address:
        """Return who a mail is from: the request says it, else its template."""
        box = asked.template.message.sender if asked.template is not None else None
        if asked.sender or box is None:
            sender, field = address_of("from", asked.sender), "from"
        else:
            sender, field = replace(address_of("template_id", box.address), display=box.display), "template_id"
        self._check_sender(asked.namespace, sender, field)
        return sender

    def _content(self, asked: SendRequest, sender: Address, copies: Sequence[tuple[str, Address]]) -> Content:
        return Content(
            sender=mailbox(sender),
            subject=asked.subject,
            html=asked.html,
            text=asked.text,
            reply_to=mailbox(address_of("reply_to", asked.reply_to)) if asked.reply_to else _answers(asked),
            merge=asked.template is not None,
            cc=tuple(mailbox(a) for field, a in copies if field == "cc"),
            bcc=tuple(mailbox(a) for field, a in copies if field == "bcc"),
            headers=tuple(asked.headers.items()),
            attachments=asked.attachments,
            unsubscribe=self._address + PATH if asked.unsubscribe else "",
        )


def _answers(asked: SendRequest) -> Mailbox | None:
    return asked.template.message.reply_to if asked.template is not None else None


def _recipient(found: Address | Invalid, codes: Mapping[str, str]) -> Recipient:
    if isinstance(found, Invalid):
        return Recipient(found.text, found.text, skip=found.code.value)
    return Recipient(found.address, found.key, found.display, codes.get(found.key, ""))
