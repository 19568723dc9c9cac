"""The suppressions as the engine reads and writes them, beside a job's records."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from shared.domain.recipients.suppressions import AnyReach, Barrier, Reach
from shared.domain.texts import ReceivedText
from shared.domain.times import Millis
from shared.frozen import dataclass
from shared.ports.common import After, Limit


@dataclass(frozen=True, slots=True)
class Recent:
    """Suppressions since a moment. `names`: of the addresses; `reached`: Unix ms to read on from, or None."""

    names: Sequence[str]
    reached: int | None


class SuppressionRecords(Protocol):
    """Suppressed and unsubscribed addresses, by namespace: that of an account's live keys, or of its test keys."""

    def suppress(
        self,
        namespace: str,
        key: str,
        reason: str,
        now: Millis,
        *,
        reach: AnyReach = Reach.ALL,
        job: str = "",
        channel: str = "",
    ) -> None:
        """Add an address to the suppressions, or to those who unsubscribed; an existing entry stays.

        The channel is stored and not used yet: a number that no text reaches may still answer calls.

        Args:
            key: the normalised address.
            reason: why, as in `hard_bounce`.
            reach: the list to add it to.
            job: the job whose message was the cause; empty for none.
            channel: the channel of that message; empty for none.
        """

    def allow(self, namespace: str, key: str, *, reach: AnyReach = Reach.ALL, reason: str = "") -> bool:
        """Remove an address from a list. False: it was not there, or for another reason.

        Args:
            key: the normalised address.
            reach: the list to remove it from.
            reason: the only reason for which it is removed; empty for any.
        """

    def suppressed(
        self, namespace: str, addresses: Collection[str], reaches: Collection[AnyReach] = (Reach.ALL,)
    ) -> dict[str, Barrier]:
        """Return which addresses are suppressed or have unsubscribed, read consistently. `ALL` wins over other lists.

        In the space of team keys these are also all addresses that are no guests of their account.

        Args:
            addresses: normalised addresses.
        """

    def suppressed_since(self, namespace: str, since: int, *, reach: AnyReach = Reach.ALL) -> Recent:
        """Return what was suppressed from a moment on, oldest first, one page at most, read consistently.

        Args:
            since: the earliest moment, Unix milliseconds.
        """

    def names_of(self, addresses: Iterable[str], generation: int) -> Sequence[str]:
        """Return the names of normalised addresses in a generation (`recipients.address_names`), in order."""


class Texts(Protocol):
    """Texts that recipients wrote to numbers of credentials, by account, for 30 days."""

    def add(self, received: ReceivedText) -> None:
        """Store a text with its event; one with the same id that is stored already stays as it is."""

    def page(self, account: str, *, after: After, limit: Limit, now: int) -> tuple[list[ReceivedText], str]:
        """Return texts to an account, newest first, and the place to continue from, empty at the end.

        Args:
            now: Unix milliseconds; texts whose time is over are left out, so a page may be short.
        """
