"""Names of addresses by keys, over tables of a test."""

from collections.abc import Mapping
from typing import Any

from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.homes import Homes
from shared.adapters.dynamo.recipients.moving_names import NamesMover
from shared.adapters.dynamo.recipients.stored_names import KeyedNames
from shared.domain.recipients.address_names import MOVE_MS
from tests.fakes.clock import FakeClock
from tests.fakes.tables import Tables

FIRST = "first" * 12
SECOND = "second" * 11
BY = "operator:1:user/ann"


class Keyring:
    """A deployment's secret, and its processes.

    Attributes:
        secret: its fields.
        read: how often it was read.
    """

    def __init__(self, tables: Tables, clock: FakeClock) -> None:
        self.secret: Mapping[str, str] = {"current": FIRST}
        self.read = 0
        self._tables = tables
        self._clock = clock

    def _fields(self, _kept: float) -> Mapping[str, str]:
        self.read += 1
        return self.secret

    def names(self, client: Any) -> KeyedNames:
        """Return the names of another process."""
        caller = Dynamo(client, sleep=self._clock.sleep, homes=self._tables.alone)
        return KeyedNames(caller, self._tables.records, self._fields, self._clock)

    def process(self, client: Any, *, homes: Homes | None = None) -> Dynamo:
        """Return the caller of another process, with its names."""
        homes = homes or self._tables.alone
        return Dynamo(client, sleep=self._clock.sleep, homes=homes, names=self.names(client))

    def mover(self, client: Any, *, calls: int = 1_000_000) -> NamesMover:
        """Return a mover of a process of its own, which has enough after so many looks."""
        looks = iter(range(calls))
        caller = Dynamo(client, sleep=self._clock.sleep, homes=self._tables.homes)
        return NamesMover(caller, self._tables.records, self.names(client), BY, lambda: next(looks, None) is None)

    def move(self, client: Any, *accounts: str) -> None:
        """Announce the latest key, and move all names of accounts to it."""
        self.names(client).announce(BY)
        self._clock.advance(MOVE_MS / 1000)
        assert self.mover(client).move(lambda: accounts).settled
