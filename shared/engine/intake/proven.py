"""The senders that an account may use: those that operators have granted, and domains whose DNS names the account.

Functions write claims, and claims grant nothing: each use asks DNS, with a memory of minutes. So a function that is
taken over cannot make a sender (docs/adr/0080). Removing the record ends its use.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from shared.domain.accounts import AccountStatus, SenderCheck
from shared.domain.namespaces import TEST
from shared.domain.senders import proves, record_name
from shared.domain.times import Seconds
from shared.ports import AccountStatuses, Claims, Clock, Dns, DnsUnanswered, Senders

FRESH: Final = 300.0
"""Seconds that a proof is remembered."""
STALE: Final = 86_400.0
"""Seconds that it still counts while DNS does not answer."""
CACHE: Final = 30.0
"""Seconds that an account's right is remembered, as that of a granted sender."""
MOST: Final = 10_000
"""Names kept in memory."""


class Proofs:
    """Whether a domain's DNS lets an account send, as one process remembers it. Safe for threads.

    Args:
        claims: the domains that accounts claim; DNS is asked about no other.
        dns: makes the resolver, when it is first needed.
    """

    def __init__(self, *, claims: Claims, dns: Callable[[], Dns], clock: Clock) -> None:
        self._claims = claims
        self._dns = dns
        self._clock = clock
        self._found: dict[tuple[str, str], Seconds] = {}
        self._lock = threading.Lock()

    def claimed(self, account: str, domain: str) -> bool:
        """Return whether an account claims a domain."""
        return self._claims.get(account, domain) is not None

    def proven(self, account: str, domain: str) -> bool:
        """Return whether an account claims a domain whose DNS lets it send.

        Raises:
            DnsUnanswered: DNS does not answer, and has not for a day.
        """
        if not self.claimed(account, domain):
            return False
        now, name = self._clock.now(), (account, domain)
        found = self._found.get(name)
        if found is not None and now < found + FRESH:
            return True
        try:
            holds = proves(self._dns().texts(record_name(domain)), account)
        except DnsUnanswered:
            if found is not None and now < found + STALE:
                return True
            raise
        self._note(name, now if holds else None)
        return holds

    def _note(self, name: tuple[str, str], at: Seconds | None) -> None:
        with self._lock:
            if len(self._found) >= MOST:
                self._found.clear()
            self._found.pop(name, None)
            if at is not None:
                self._found[name] = at


class ProvenSenders:
    """`ports.Senders`: senders that operators granted, and proven domains; test keys also use those not proven yet.

    Args:
        granted: what operators have granted, and which accounts they suspended.
    """

    def __init__(self, *, granted: Senders, proofs: Proofs, clock: Clock) -> None:
        self._granted = granted
        self._proofs = proofs
        self._clock = clock
        self._known: dict[tuple[str, str], Seconds] = {}

    def suspended(self, account: str) -> bool:
        """Return whether an operator has suspended an account."""
        return self._granted.suspended(account)

    def opened(self, account: str, channel: str) -> bool:
        """Return whether an account may send by a channel whose messages name no sender; a proven domain opens none."""
        return self._granted.opened(account, channel)

    def check_sender(self, account: str, address_key: str) -> SenderCheck:
        """Return whether an account may send now, and from an address.

        Args:
            address_key: the normalised address.

        Raises:
            DnsUnanswered: the address is of a claimed domain, and DNS does not answer.
        """
        whose, domain = account.removesuffix(TEST), address_key.rpartition("@")[2]
        known = self._known.get((account, domain))
        if known is not None and self._clock.now() < known:
            return SenderCheck(suspended=False, allowed=True)
        check = self._granted.check_sender(whose, address_key)
        if check.allowed or check.suspended:
            return check
        holds = self._proofs.claimed if account != whose else self._proofs.proven
        if not holds(whose, domain):
            return check
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[account, domain] = self._clock.now() + CACHE
        return replace(check, allowed=True)


class ProvenAccountStatuses:
    """`ports.AccountStatuses`: of granted senders and of proven domains.

    Args:
        granted: keys, and what operators have granted.
    """

    def __init__(self, *, granted: AccountStatuses, proofs: Proofs) -> None:
        self._granted = granted
        self._proofs = proofs

    def opened(self, account: str, channel: str) -> bool:
        """Return whether an account may send by a channel whose messages name no sender."""
        return self._granted.opened(account, channel)

    def read(self, account: str, key: str, sender: str) -> AccountStatus:
        """Return whether a key and a sender are still there.

        Args:
            key: id of an API key, empty for none.
            sender: an address, empty for none.

        Raises:
            DnsUnanswered: the sender is of a claimed domain, and DNS does not answer.
        """
        whose = account.removesuffix(TEST)
        found = self._granted.read(whose, key, sender)
        if found.sender or not sender:
            return found
        holds = self._proofs.claimed if account != whose else self._proofs.proven
        return replace(found, sender=holds(whose, sender.lower().rpartition("@")[2]))
