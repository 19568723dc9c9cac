"""What stops messages to an address: a suppression, all; an unsubscription, campaigns; a stop, one channel."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from shared.domain.jobs.outcomes import STOPPED, SUPPRESSED, UNSUBSCRIBED


class Reach(StrEnum):
    """What is no longer sent to an address. The lists are kept apart, and an address may be on several."""

    ALL = "all"
    """Everything: the mailbox does not exist, its owner complained, the account's owner wants it so."""
    CAMPAIGNS = "campaigns"
    """Campaigns, and batches that offer an unsubscription: its owner has unsubscribed."""
    SMS = "sms"
    """SMS: its owner answered STOP."""
    VOICE = "voice"
    """Calls: its owner pressed 9 in one."""
    WHATSAPP = "whatsapp"
    """WhatsApp: its owner answered STOP there."""

    @property
    def code(self) -> str:
        """The code of a message that is skipped for it."""
        return CODES[self]


CODES: Final = {
    Reach.ALL: SUPPRESSED,
    Reach.CAMPAIGNS: UNSUBSCRIBED,
    Reach.SMS: STOPPED,
    Reach.VOICE: STOPPED,
    Reach.WHATSAPP: STOPPED,
}
"""In the order of their weight: an address on several lists has the code of the first."""
BY_CHANNEL: Final = {reach.value: reach for reach in (Reach.SMS, Reach.VOICE, Reach.WHATSAPP)}
"""Channel → the list of those who want no more messages by it; of e-mail there is none."""


def reaches(channel: str, *, unsubscribable: bool) -> tuple[Reach, ...]:
    """Return the lists that a message heeds.

    Args:
        channel: that the message goes by.
        unsubscribable: it is a campaign's, or offers an unsubscription.
    """
    own = BY_CHANNEL.get(channel)
    found = (Reach.ALL, Reach.CAMPAIGNS) if unsubscribable else (Reach.ALL,)
    return found if own is None else (*found, own)


@dataclass(frozen=True, slots=True)
class Suppression:
    """A suppressed address, or one that unsubscribed.

    Attributes:
        address: normalised.
        reason: `one_click` and `page` of who unsubscribed by a link, by the mailbox provider's button or on the page.
        at: Unix milliseconds.
        job: whose message it came from, or empty.
        channel: by which that went, or empty: of old entries, and of those that no message made.
    """

    address: str
    reason: str
    at: int
    job: str = ""
    channel: str = ""
