"""Barriers to messages: a suppression stops all, an unsubscription campaigns or digests, a stop one channel."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, TypeAlias

from shared.domain.jobs.outcomes import NOT_A_GUEST, STOPPED, SUPPRESSED, UNSUBSCRIBED
from shared.frozen import dataclass


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
    DIGESTS = "digests"
    """Digests of single policies: its owner has unsubscribed from each. An entry is in a `DigestsOf`."""

    @property
    def kind(self) -> "Reach":
        """The list itself; of a `DigestsOf` the list that it is a part of."""
        return self

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
    Reach.DIGESTS: UNSUBSCRIBED,
}
"""In the order of their weight: an address on several lists has the code of the first."""
BY_CHANNEL: Final = {reach.value: reach for reach in (Reach.SMS, Reach.VOICE, Reach.WHATSAPP)}
"""Channel → the list of those who want no more messages by it; of e-mail there is none."""


@dataclass(frozen=True, slots=True)
class DigestsOf:
    """The part of the list `DIGESTS` that is about one policy. `policy`: its prefix."""

    policy: str

    @property
    def kind(self) -> Reach:
        """The list that it is a part of."""
        return Reach.DIGESTS

    @property
    def code(self) -> str:
        """The code of a message that is skipped for it."""
        return self.kind.code


AnyReach: TypeAlias = Reach | DigestsOf
"""Where an entry is."""


@dataclass(frozen=True, slots=True)
class NotAGuest:
    """Stops messages of team keys to all whom their account has not on its guest list. It is in the place of a list."""

    @property
    def code(self) -> str:
        """The code of a message that is skipped for it."""
        return NOT_A_GUEST


Barrier: TypeAlias = AnyReach | NotAGuest
"""Why an address gets no message."""


def reaches(channel: str, *, unsubscribable: bool, policy: str = "") -> tuple[AnyReach, ...]:
    """Return the lists that can stop a message.

    Args:
        channel: the channel of the message.
        unsubscribable: it is a campaign's, or offers an unsubscription.
        policy: of a digest, the prefix of its policy: the list of that policy applies, and not that of campaigns.
    """
    own: tuple[AnyReach, ...] = (BY_CHANNEL[channel],) if channel in BY_CHANNEL else ()
    if policy:
        return (Reach.ALL, DigestsOf(policy), *own)
    return (Reach.ALL, Reach.CAMPAIGNS, *own) if unsubscribable else (Reach.ALL, *own)


def left(policy: str) -> AnyReach:
    """Return the list of those who leave the digests of a policy, by its prefix; empty: those who leave campaigns."""
    return DigestsOf(policy) if policy else Reach.CAMPAIGNS


class SuppressionCause(StrEnum):
    """Why an address is on a list."""

    BOUNCED = "bounced"
    COMPLAINED = "complained"
    UNSUBSCRIBED = "unsubscribed"
    STOPPED = "stopped"
    MANUAL = "manual"


_BY_REASON: Final = {cause.value: cause for cause in SuppressionCause} | dict.fromkeys(
    ("one_click", "page"), SuppressionCause.UNSUBSCRIBED
)
CAUSE_WORDS: Final = {
    SuppressionCause.BOUNCED: "a message to it bounced",
    SuppressionCause.COMPLAINED: "its owner complained",
    SuppressionCause.UNSUBSCRIBED: "its owner has unsubscribed",
    SuppressionCause.STOPPED: "its owner wants no more messages by this channel",
    SuppressionCause.MANUAL: "added by hand",
}


@dataclass(frozen=True, slots=True)
class Suppression:
    """A suppressed address, or one that unsubscribed.

    Attributes:
        address: normalised.
        reason: `one_click` or `page` if the person unsubscribed by a link: by the mailbox provider's button, or on the
            page.
        at: Unix milliseconds.
        job: the job of the message that led to it, or empty.
        channel: the channel of that message, or empty: of old entries, and of those that no message made.
        policy: of an entry about digests, the prefix of their policy.
    """

    address: str
    reason: str
    at: int
    job: str = ""
    channel: str = ""
    policy: str = ""

    @property
    def cause(self) -> SuppressionCause:
        """Why it is there: an event, if the entry names a job or channel; else somebody added it."""
        told = self.job or self.channel or self.reason == STOPPED  # old entries of a STOP have neither
        return _BY_REASON.get(self.reason, SuppressionCause.MANUAL) if told else SuppressionCause.MANUAL

    @property
    def since(self) -> str:
        """Since when and why it is there: `since 2026-11-20: a message to it bounced`."""
        day = datetime.fromtimestamp(self.at / 1000, UTC).date()
        return f"since {day.isoformat()}: {CAUSE_WORDS[self.cause]}"
