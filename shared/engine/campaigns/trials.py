"""Campaigns are tried out: one real message, apart from the list, under the same rules."""

from collections.abc import Mapping

from shared.domain.campaigns.campaign import Campaign
from shared.domain.channels.lookup import channel_of
from shared.domain.content.content import Content
from shared.domain.content.templates import RECIPIENT, variables
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.job import Policy
from shared.domain.lists.header import placeholder_name
from shared.domain.recipients import reader
from shared.engine.campaigns.preview import Previews
from shared.engine.intake.accept import BatchRequest
from shared.engine.intake.declined import INVALID, Decline, Declined, FieldFault, as_value, invalid
from shared.engine.intake.intake import Intake
from shared.engine.lane.compose import CannotCompose
from shared.frozen import dataclass


@dataclass(frozen=True, slots=True)
class TrialOrder:
    """One message to try a campaign out.

    Attributes:
        to: an address or a number, as typed.
        values: of the variables, by the names of columns (`header.column_name`).
        region: country of numbers without a country code; empty: none.
        idempotency_key: the client's, or empty; `fingerprint`: hash of the request, for the key.
        by: the actor.
    """

    to: str
    values: Mapping[str, str]
    region: str
    idempotency_key: str
    fingerprint: str
    by: str


class Trials:
    """Decides whether a campaign may be tried out, and makes the request of its message; stores nothing."""

    def __init__(self, *, intake: Intake, previews: Previews) -> None:
        self._intake = intake
        self._previews = previews

    @as_value
    def request(self, campaign: Campaign, content: Content, order: TrialOrder) -> BatchRequest:
        """Return the request of one message, or why it may not be sent or cannot be made.

        Args:
            order: to whom, with which values.
        """
        _passed(self._intake.sendable(campaign))
        recipient = self._recipient(campaign, order)
        made = self._previews.made(campaign, content, recipient)
        if isinstance(made.content, CannotCompose):
            raise invalid("params", f"These values do not make a message: {made.content.code}.")
        return BatchRequest(
            account=campaign.account,
            test=campaign.test,
            channel=campaign.channel,
            route=(campaign.credential,),
            content=content,
            recipients=(recipient,),
            duplicates=0,
            policy=Policy(),
            name=f"Test: {campaign.name}"[:100],
            idempotency_key=order.idempotency_key,
            fingerprint=order.fingerprint,
            by=order.by,
            tries=campaign.id,
        )

    def _recipient(self, campaign: Campaign, order: TrialOrder) -> Recipient:
        """Return the recipient of the test; Decline if it is no valid recipient, or one that must not be sent to."""
        found = channel_of(campaign.channel).reader(order.region)(order.to)
        if isinstance(found, reader.RecipientFault):
            raise invalid("recipient", found.detail)
        address, identity, display = found
        named = {*variables(campaign.message.templates(campaign.channel)), *campaign.columns, RECIPIENT}
        values = {name if name in named else placeholder_name(name): value for name, value in order.values.items()}
        strange = [name for name in values if name not in named]
        if strange:
            said = "Neither the template nor the list has this name."
            raise Decline(INVALID, *(FieldFault(f"params.{name}", said) for name in strange))
        _passed(self._intake.wanted(campaign, identity))
        return Recipient(address, identity, display, values=values)


def _passed(found: Declined | None) -> None:
    if found is not None:
        raise Decline(found.code, *found.faults)
