"""The parts that a sender takes turns by: lane queues, time slots, breakers, ledgers; and the signer of its links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Protocol

from shared.domain.lanes.refusals import NO_CALLS, RefusalTally
from shared.domain.times import Millis, Seconds
from shared.frozen import dataclass

if TYPE_CHECKING:
    from shared.domain.content.unsubscribe import Unsubscription
    from shared.domain.lanes.breaker import Breaker
    from shared.domain.lanes.depth import QueueDepth
    from shared.domain.lanes.lease_hints import LeaseHint
    from shared.domain.lanes.pacing import Pace, Slots
    from shared.domain.lanes.quotas import Headroom, Spend, Unused
    from shared.domain.lanes.switches import Hold, ThrottledRate


class Queue(Protocol):
    """A queue of messages."""

    def send(self, bodies: Sequence[str], *, delay: Seconds = 0, group: str = "") -> None:
        """Send messages.

        Args:
            bodies: the messages, any number.
            delay: seconds until they are visible, at most 900.
            group: the group for fair shares; empty for none.
        """


@dataclass(frozen=True, slots=True)
class Report:
    """An event source's report about a batch of records that it gave up. `receipt`: with it the report is deleted."""

    id: str
    body: str
    receipt: str


class Reports(Protocol):
    """The reports of batches of the ledgers' stream that were given up."""

    def receive(self) -> Sequence[Report]:
        """Take some reports in hand that have rested for a minute; empty if there seem to be none."""

    def ledgers(self, report: Report) -> set[tuple[str, int]] | None:
        """Return the chunks `(job, number)` of the records that a report names; None if they cannot be read."""

    def settle(self, report: Report) -> None:
        """Delete a report whose ledgers are folded."""


class Lane(Protocol):
    """A lane's two queues: that of jobs of a few messages, and that of all others."""

    def send(self, bodies: Sequence[str], *, delay: Seconds = 0, group: str = "", express: bool = False) -> None:
        """Send messages to one of the two queues.

        Args:
            bodies: the messages, any number.
            delay: seconds until they are visible, at most 900.
            group: the group for fair shares; empty for none.
        """

    def depth(self, *, express: bool) -> QueueDepth:
        """Return about how many messages one of them holds."""


class Links(Protocol):
    """Signs unsubscription links, seals data that clients hold for us, and recognises its own again."""

    def sign(self, wanted: Unsubscription) -> str:
        """Return the token of a link; the same every time, while the key is."""

    def read(self, token: str) -> Unsubscription | None:
        """Return what a token says; None if it was not signed here."""

    def seal(self, use: str, text: str) -> str:
        """Return a text so that only this deployment can read it, and only for that use; equal texts look equal."""

    def unseal(self, use: str, sealed: str) -> str | None:
        """Return a text that was sealed for that use; None if it was not sealed here."""


class Lanes(Protocol):
    """The lanes by credential."""

    def __getitem__(self, credential: str) -> Lane:
        """Return a lane's queues; those of a credential that is not declared take everything and hold nothing."""

    def __contains__(self, credential: object, /) -> bool:
        """Tell whether a credential is declared, so that its lane is there."""


class Pacer(Protocol):
    """Time slots of one credential."""

    def reserve(
        self,
        credential: str,
        k: int,
        pace: Pace,
        *,
        lead: float,
        until: Seconds = inf,
        job: str = "",
        hint: LeaseHint | None = None,
        ended: RefusalTally = NO_CALLS,
        spend: Spend | None = None,
    ) -> Slots:
        """Reserve k slots and return them; waits while the credential is reserved further ahead than `pace` allows.

        Args:
            k: how many; more than `pace.window` only for one message that takes them all.
            lead: seconds that the caller needs before it can use the first slot.
            until: Unix seconds after which the first slot is of no use: none is reserved, `first` says when one can be.
            job: whose they are; it counts if the pace is that of a job with a lower rate of its own.
            hint: the lease that they are for, noted by the same write.
            ended: calls at this pace that ended since the last reservation of this process, noted likewise.
            spend: the units that the messages take of the credential's quotas, counted by the same write; None: no
                message is sent in these slots.

        Returns:
            None of them (`count` 0), and `switches`, if the credential is paused or the pace is not by what is stored.
            The write that reserves judges that. None if the job's turn is more than `OWN_WAIT` away, at `first`. None,
            and `room`, if that is too little for all units.

        Raises:
            Retriable: the store did not answer, or this process's clock is wrong; do not send by that clock.
        """

    def lower(self, credential: str, lowered: ThrottledRate, past: ThrottledRate) -> ThrottledRate:
        """Store what a refusal left of the rate, once for all calls under way: a newer value stays, and is returned.

        Args:
            past: what was known when the refused call had its slots.
        """

    def fill(self, credential: str, until: Millis, step: int) -> None:
        """Store that a lane is full until then (Unix milliseconds), unless a later time is stored.

        Args:
            step: how often in a row its provider has said so without a time; 0: by the credential's quotas.
        """

    def give_back(self, credential: str, unused: Unused) -> None:
        """Take units off that were counted and surely not called. A period that is over keeps them."""

    def room(self, credential: str, spend: Spend) -> Headroom:
        """Return what a lane may send now, consistently; `spend`: what is to be sent."""

    def skew(self) -> float:
        """Return the most seconds that slots were too far ahead, or a clock off, since this was last asked."""


class Hints(Protocol):
    """Where leases were last seen, as the pacer noted it."""

    def read(self, credentials: Sequence[str]) -> list[tuple[str, LeaseHint]]:
        """Return the hints of some credentials, each with its credential; consistently."""

    def forget(self, credential: str, hint: LeaseHint) -> None:
        """Remove a hint, unless its worker has noted another since."""


class Holds(Protocol):
    """What operators hold back."""

    def read(self, account: str, lane: str) -> Hold:
        """Return whether an account's work on a lane is held back, consistently; an empty lane is none."""


class Bookmarks(Protocol):
    """How far the sweeper's walks are, kept from one run to the next."""

    def load(self) -> dict[str, str]:
        """Return what is noted, by walk; consistent."""

    def save(self, notes: Mapping[str, str]) -> None:
        """Note how far some walks are; others keep theirs."""


class Breakers(Protocol):
    """The circuit breakers of credentials, shared by all processes."""

    def read(self, credentials: Sequence[str]) -> dict[str, Breaker]:
        """Return the breaker of each credential, closed if it was never opened; in one call, a moment old."""

    def swap(self, old: Breaker, new: Breaker) -> Breaker:
        """Write `new` if the stored version is that of `old`; returns what is stored then, `new` or another's."""
