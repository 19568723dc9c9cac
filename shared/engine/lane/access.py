"""The stores of a sender's lane, and the access to its provider."""

from collections.abc import Callable
from typing import Final

from shared.contracts import CredentialQuota
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.times import Seconds
from shared.frozen import dataclass
from shared.ports import AccountStatuses, FinishedMessages, Lanes, Pacer, Provider, Records, Wire

CALL_TIMEOUT: Final = 10.0
"""Seconds that a provider call may take; what is slower than that is `unknown`."""


@dataclass(frozen=True, slots=True)
class LaneStores:
    """The stores that the workers of a lane share with everything else.

    `standings`: returns the keys and senders of accounts; only mails that waited need them.
    `quotas`: returns those of a credential.
    """

    records: Records
    ledgers: LedgerQueue
    pacer: Pacer
    lanes: Lanes
    standings: Callable[[], AccountStatuses]
    quotas: Callable[[str], tuple[CredentialQuota, ...]] = lambda _credential: ()


@dataclass(frozen=True, slots=True)
class ProviderAccess:
    """The way to a credential's provider.

    Attributes:
        provider: the service, under the present key.
        call_timeout: seconds that a call may take.
        wire: makes the connections of calls that run side by side; None: each call has a thread.
        renew: reads the key again when the provider refuses it, and returns the provider under a new one, if any.
        messages: the bytes of finished messages; None: none can be sent here.
    """

    provider: Provider
    call_timeout: Seconds = CALL_TIMEOUT
    wire: Callable[[], Wire] | None = None
    renew: Callable[[], Provider | None] = lambda: None
    messages: FinishedMessages | None = None
