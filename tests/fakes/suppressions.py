"""Whom not to send to, in memory."""

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from shared.domain.namespaces import is_team, owner, team_space
from shared.domain.recipients.address_names import Names
from shared.domain.recipients.addresses import address_hash
from shared.domain.recipients.suppressions import AnyReach, Barrier, NotAGuest, Reach
from shared.ports import Recent
from tests.fakes.faults import Atomic, Tap


@dataclass(frozen=True, slots=True)
class Suppression:
    """Why and since when an address is suppressed; `at` in Unix milliseconds, `job` where it came from."""

    reason: str
    at: int
    job: str = ""
    channel: str = ""


class FakeSuppressions:
    """The part of `ports.Records` that knows who is suppressed and who has unsubscribed.

    Attributes:
        suppressions: (namespace, reach, address key) → why.
        suppressed_at: namespace → when an address was last suppressed, and when one unsubscribed.
        guests: account → addresses that its team keys may send to.
        recent_page: suppressions since a moment that are returned together.
    """

    def __init__(self, lock: AbstractContextManager[object], tap: Tap) -> None:
        self.suppressions: dict[tuple[str, AnyReach, str], Suppression] = {}
        self.suppressed_at: dict[str, dict[Reach, int]] = {}
        self.guests: dict[str, set[str]] = {}
        self.recent_page = 4000
        self._atomic = Atomic("records", lock, tap)

    def suppress(
        self,
        namespace: str,
        key: str,
        reason: str,
        now: int,
        *,
        reach: AnyReach = Reach.ALL,
        job: str = "",
        channel: str = "",
    ) -> None:
        def add() -> None:
            self.suppressions.setdefault((namespace, reach, key), Suppression(reason, now, job, channel))
            latest = self.suppressed_at.setdefault(namespace, {})
            latest[reach.kind] = max(now, latest.get(reach.kind, 0))

        self._atomic("suppress", add)

    def uninvite(self, account: str, key: str, now: int) -> None:
        """Remove a guest, as the API does. `now`: Unix milliseconds."""
        self.guests[account].discard(key)
        self.suppressed_at.setdefault(team_space(account), {})[Reach.ALL] = now

    def allow(self, namespace: str, key: str, *, reach: AnyReach = Reach.ALL, reason: str = "") -> bool:
        def take() -> bool:
            known = self.suppressions.get((namespace, reach, key))
            if known is None or reason not in ("", known.reason):
                return False
            del self.suppressions[namespace, reach, key]
            return True

        return self._atomic("allow", take)

    def suppressed(
        self, namespace: str, addresses: Collection[str], reaches: Collection[AnyReach] = (Reach.ALL,)
    ) -> dict[str, Barrier]:
        def found() -> dict[str, Barrier]:
            wanted = sorted(reaches, key=lambda r: list(Reach).index(r.kind))
            there = [(r, k) for r in wanted for k in addresses if (namespace, r, k) in self.suppressions]
            others = set(addresses) - self.guests.get(owner(namespace), set()) if is_team(namespace) else set()
            return {**{k: r for r, k in reversed(there)}, **dict.fromkeys(others, NotAGuest())}

        return self._atomic("suppressed", found)

    def suppressed_since(self, namespace: str, since: int, *, reach: AnyReach = Reach.ALL) -> Recent:
        def found() -> Recent:
            mine = [(x.at, k) for (owner, r, k), x in self.suppressions.items() if (owner, r) == (namespace, reach)]
            there = sorted((at, key) for at, key in mine if at >= since)
            page = there[: self.recent_page]
            more = len(page) < len(there)
            return Recent([address_hash(key) for _, key in page], page[-1][0] if more else None)

        return self._atomic("suppressed_since", found)

    def names_of(self, addresses: Iterable[str], generation: int) -> Sequence[str]:
        return Names().of(addresses, generation)
