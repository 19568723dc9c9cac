"""Outcomes of provider calls, as values: the type shows whether and where to try again, not an `if` elsewhere."""

from dataclasses import field
from enum import StrEnum
from typing import Final

from shared.frozen import dataclass

RECIPIENT: Final = "<recipient>"
"""In a provider's text, the substitute for the address to which the message was sent, with its brackets."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The provider took the message. `id`: the provider's message id."""

    id: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """The provider refused; the message is surely not sent.

    Attributes:
        code: the provider's code, or ours in snake_case.
        permanent: true if no provider would take this message (bad recipient, bad content); false if another try,
            here or elsewhere, may succeed.
        provider_down: true if the provider refuses the account, not the message (authentication, suspended). Any other
            message would also fail, so it opens the breaker at once. It is false if the provider could not be reached,
            or failed: such calls open the breaker when there are several in a row.
        about_message: true if it is not permanent, but concerns only this message, its sender or its call. It is no
            evidence against the provider.
        unwanted: true if the recipient has asked the provider to send no more. Like a complaint, it suppresses the
            address.
        by_text: true if `provider_down` results only from the answer's text, not from its code: a client may have
            written that text.
        detail: the provider's text, for people, without addresses: `RECIPIENT` replaces the message's own. It decides
            nothing, so equality ignores it.
    """

    code: str
    permanent: bool
    provider_down: bool = False
    about_message: bool = False
    unwanted: bool = False
    by_text: bool = False
    detail: str = field(default="", compare=False)


CANNOT_CARRY: Final = frozenset(
    {
        "attachments_not_allowed",
        "domain_not_listed",
        "finished_not_supported",
        "header_not_allowed",
        "headers_not_allowed",
        "keys_not_supported",
        "options_too_large",
        "quoted_address_not_supported",
        "smtputf8_not_supported",
        "too_large",
        "voice_not_supported",
    }
)
"""Codes of what an adapter refuses by itself, before any call: it would refuse the same message each time. No answer of
a provider that may change has one of them."""


def cannot_carry(code: str) -> Rejected:
    """Return an adapter's own refusal of a message that another credential may take. `code`: of `CANNOT_CARRY`."""
    if code not in CANNOT_CARRY:
        raise ValueError(f"{code} is none of CANNOT_CARRY")
    return Rejected(code, permanent=False, about_message=True)


@dataclass(frozen=True, slots=True)
class Throttled:
    """Too fast; surely not sent. `retry_after` in seconds."""

    retry_after: float


@dataclass(frozen=True, slots=True)
class OverQuota(Throttled):
    """The account's quota is used up; surely not sent.

    `retry_after` and `per` say until when; 0 and empty if the provider does not.

    `per`: the period that the provider documents, a calendar one in UTC: `hour`, `day` or `month`.
    """

    retry_after: float = 0.0
    per: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The provider may or may not have the message; `reason` in snake_case."""

    reason: str


@dataclass(frozen=True, slots=True)
class NotStarted:
    """The call was never begun (no time left): surely not sent, and the attempt's number is used again."""


@dataclass(frozen=True, slots=True)
class NotTogether:
    """The call of several did not send this message because of the others in it: surely not sent.

    The provider refused the call as a whole, and named no message, or named others. Or the call left the message out,
    since it may not share a call with another. The attempt's number is used again at once, in smaller calls. `code`:
    ours, in snake_case. Never the outcome of a call for one message.
    """

    code: str


Outcome = Accepted | Rejected | Throttled | Unknown | NotStarted | NotTogether


@dataclass(frozen=True, slots=True)
class Absent:
    """The provider proves that it never took the attempt: it is surely not sent."""


Finding = Accepted | Absent | Unknown
"""A provider's answer about an attempt of unknown fate; Unknown: the provider cannot tell, or not yet."""


class Kind(StrEnum):
    """The outcome's letter in a window detail. An outcome after which the attempt's number is used again has none."""

    ACCEPTED = "a"
    RELAYED = "r"
    REFUSED = "p"
    INVALID = "i"
    NOT_SENT = "t"
    UNKNOWN = "u"
    RISKED = "x"
    """Ambiguous, and tried again because the job prefers a duplicate to a wait."""


SUPPRESSED: Final = "suppressed"
"""The code of an INVALID entry that is no attempt: its recipient was suppressed before a claim. Its attempt is that
of the cell, 0 if there was none."""
UNSUBSCRIBED: Final = "unsubscribed"
"""The same of one who had unsubscribed."""
STOPPED: Final = "stopped"
"""The same of one who wants no more messages by this channel."""
NOT_A_GUEST: Final = "not_a_guest"
"""The same of one to whom team keys do not send."""
ERASED: Final = "erased"
"""The same of one whose data were erased."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The record of one attempt in a window detail."""

    index: int
    attempt: int
    kind: Kind
    id: str = ""
    code: str = ""
    detail: str = ""
    """The provider's text, as in `Rejected`."""
