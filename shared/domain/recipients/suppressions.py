"""What stops mail to an address: a suppression, everything; an unsubscription, what asks to leave such people out."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from shared.domain.jobs.outcomes import SUPPRESSED, UNSUBSCRIBED


class Reach(StrEnum):
    """What is no longer sent to an address; the two are kept apart, and one address may have both."""

    ALL = "all"
    """Everything: the mailbox does not exist, its owner complained, the account's owner wants it so."""
    CAMPAIGNS = "campaigns"
    """Campaigns, and batches that offer an unsubscription: its owner has unsubscribed."""

    @property
    def code(self) -> str:
        """The code of a message that is skipped for it."""
        return CODES[self]


CODES: Final = {Reach.ALL: SUPPRESSED, Reach.CAMPAIGNS: UNSUBSCRIBED}
"""In the order of their weight: who has both is `suppressed`."""


def reaches(*, unsubscribable: bool) -> tuple[Reach, ...]:
    """Return what a message has to heed; `unsubscribable`: it is a campaign's, or offers an unsubscription."""
    return tuple(Reach) if unsubscribable else (Reach.ALL,)


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
