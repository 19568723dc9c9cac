"""Checks the password of a notifier's request, and notes that the notifier called.

A request costs at most two reads: of the notifier, and of its account's control. The process remembers both for CACHE
seconds. So a disabled notifier, or one of a suspended account, works for up to that much longer. If a remembered
notifier refuses a password, the stored one is asked, so a new password works at once.
"""

import hmac
import logging
from dataclasses import replace
from typing import Final

from shared.adapters.dynamo import keys as every
from shared.adapters.dynamo.accounts.accounts import CACHE, MAX_CACHED
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.notices.notifiers import MINUTE_MS, DynamoNotifiers
from shared.domain.notices.notifier import Contact, Notifier, is_name, is_password
from shared.ports import Clock, Retriable

_LOG: Final = logging.getLogger(__name__)


class Logins:
    """Notifiers that make requests."""

    def __init__(self, dynamo: Dynamo, table: str, clock: Clock) -> None:
        self._db = dynamo
        self._table = table
        self._clock = clock
        self._store = DynamoNotifiers(dynamo, records=table)
        self._known: dict[str, tuple[float, Notifier]] = {}
        self._noted: dict[str, Contact] = {}

    def find(self, name: str, password: str) -> Notifier | None:
        """Return the notifier that has this name and password.

        None: there is none, it is disabled, its password has expired, or its account is suspended.
        """
        if not is_name(name) or not is_password(password):
            return None
        until, known = self._known.get(name, (0.0, None))
        if known is not None and self._clock.now() < until and known.accepts(password, self._now()):
            return known
        stored = self._store.get(name)
        if stored is None or not stored.accepts(password, self._now()) or self._suspended(stored.account):
            self._known.pop(name, None)
            return None
        if len(self._known) >= MAX_CACHED:
            self._known.clear()
        self._known[name] = (self._clock.now() + CACHE, stored)
        return stored

    def knows(self, name: str, digest: str) -> bool:
        """Tell whether a notifier of that name has a password with a SHA-256, hex, also if it may not call now."""
        stored = self._store.get(name) if is_name(name) else None
        return stored is not None and any(hmac.compare_digest(x.sha256, digest) for x in stored.passwords)

    def note_call(self, name: str, *, status: bool) -> None:
        """Note that a notifier calls, at most once a minute in a process.

        `status`: it asks for updates or the status of a notice. A fault is logged and fails nothing: the next call
        notes it.
        """
        now = self._now()
        noted = self._noted.get(name, Contact())
        if now - (noted.status_at if status else noted.seen_at) < MINUTE_MS:
            return
        try:
            self._store.note(name, now, status=status)
        except Retriable:
            _LOG.warning("call of a notifier not noted", extra={"notifier": name})
            return
        if len(self._noted) >= MAX_CACHED:
            self._noted.clear()
        self._noted[name] = replace(noted, seen_at=now, status_at=now if status else noted.status_at)

    def _suspended(self, account: str) -> bool:
        return "suspended" in (self._db.get(self._table, every.account_control(account)) or {})

    def _now(self) -> int:
        return int(self._clock.now() * 1000)
