"""The suppressions' part of `ports.Records`."""

from collections.abc import Collection, Iterable, Sequence

from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.recipients import guests, suppressions, watermarks
from shared.domain.recipients.suppressions import AnyReach, Barrier, NotAGuest, Reach, Suppression
from shared.domain.times import Millis
from shared.ports import Listeners, Recent


class SuppressionWrites:
    """`ports.SuppressionRecords` over `records`, for the class that holds the client and the table's name."""

    _db: Dynamo
    _records: str
    _listeners: Listeners | None = None
    """Which namespaces have webhooks; None: all may have some."""
    _noted: tuple[str, int, AnyReach] = ("", 0, Reach.ALL)
    """Account, moment (Unix ms) and reach of the latest suppression that this process has noted."""

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
        if self._noted != (namespace, now, reach):  # those of one batch of words have one moment
            watermarks.suppressing(self._db, self._records, namespace, now, reach)
            self._noted = (namespace, now, reach)
        heard = self._listeners is None or self._listeners.has(namespace)
        new = Suppression(key, reason, now, job, channel)
        suppressions.add(self._db, self._records, reach, namespace, new, heard=heard)

    def allow(self, namespace: str, key: str, *, reach: AnyReach = Reach.ALL, reason: str = "") -> bool:
        wanted = (lambda found: found.reason == reason) if reason else (lambda _: True)
        return suppressions.remove(self._db, self._records, reach, namespace, key, wanted)

    def suppressed(
        self, namespace: str, addresses: Collection[str], reaches: Collection[AnyReach] = (Reach.ALL,)
    ) -> dict[str, Barrier]:
        others = guests.strangers(self._db, self._records, namespace, addresses)
        known = [address for address in addresses if address not in others]
        found = suppressions.among(self._db, self._records, namespace, known, reaches) if known else {}
        return {**found, **dict.fromkeys(others, NotAGuest())}

    def suppressed_since(self, namespace: str, since: int, *, reach: AnyReach = Reach.ALL) -> Recent:
        return suppressions.since(self._db, self._records, reach, namespace, since)

    def names_of(self, addresses: Iterable[str], generation: int) -> Sequence[str]:
        return self._db.names.of(addresses, generation)
