"""Work on an item under a lease, such as a list or an export: one invocation at a time, checkpoints, and an end.

An invocation that dies leaves a checkpoint from which the next one continues. One that lost its lease notices that at
its next write. Source: docs/adr/0213.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Generic, Protocol, Self, TypeVar

from shared.domain.times import Millis, Seconds
from shared.ports import AccountTurns, Clock, Retriable, TurnKind

MAX_STARTS: Final = 12
"""Leases that may bring work no further before it is given up: six hours of faults."""
_SHORTEST: Final[Seconds] = 30
_LONGEST: Final[Seconds] = 3600
_LOG: Final = logging.getLogger(__name__)


class WorkResult(StrEnum):
    """The result of an invocation."""

    NOTHING = "nothing"
    """There is no such work, or it has ended."""
    HELD = "held"
    """Another has the lease, or the work rests after a fault."""
    WAITING = "waiting"
    """Another piece of its account's work is done first; then this one is called again."""
    LOST = "lost"
    """The lease was lost."""
    HANDED_OVER = "handed_over"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class OneByOne:
    """Has an account's work of one kind done piece after piece, in order.

    Attributes:
        kind: of the work.
        call: has a piece of an account begin, by a message that names it.
        under_way: tells whether an invocation works on a piece.
    """

    turns: AccountTurns
    kind: TurnKind
    call: Callable[[str, str], None]
    under_way: Callable[[str], bool]

    def run(self, account: str, name: str, work: Callable[[], WorkResult]) -> WorkResult:
        """Work on a piece if it is its turn; else it waits in line. A piece that died has no turn any longer.

        Raises:
            Exception: any fault of the work; then the next one begins.
        """
        first = self.turns.enter(account, self.kind, name, self.under_way)
        if first != name:
            self._begin(account, first)
            return WorkResult.WAITING
        try:
            did = work()
        except Exception:  # whatever it was: it rests, and the next one begins
            self.end(account, name)
            raise
        if did is WorkResult.HANDED_OVER:
            self.turns.enter(account, self.kind, name, self.under_way)  # its turn lasts until the next invocation
        elif did not in _OF_OTHERS:
            self.end(account, name)
        return did

    def end(self, account: str, name: str) -> None:
        """Give the turn of a piece to the next one; a fault is logged, and that one is called again later."""
        try:
            self._begin(account, self.turns.leave(account, self.kind, name))
        except Retriable:
            _LOG.warning("turn not passed on", extra={"account": account, "kind": self.kind.value})

    def _begin(self, account: str, name: str) -> None:
        if name:
            self.call(account, name)


class LeaseLost(Exception):
    """Another invocation has the lease."""


class Leased(Protocol):
    """An item with the fields `owner`, `until` and `starts`."""

    @property
    def starts(self) -> int:
        """Leases taken since the work last came further."""

    def changed(self, **changes: Any) -> Self:
        """Return it with changes, one version on."""


_OF_OTHERS: Final = frozenset({WorkResult.HELD, WorkResult.LOST})
"""Results with which another invocation works on the same piece, or it rests."""
T = TypeVar("T", bound=Leased)


class LeasedWork(ABC, Generic[T]):
    """One invocation's work on an item.

    Args:
        found: the item as read, whose lease is free.
        save: writes an item if it is as this invocation read or wrote it last; False if another has written it.
        deadline: Unix seconds when the invocation ends.
        last: seconds before that in which it begins nothing more; a quarter of its time where that is less.

    Attributes:
        held: the item as this invocation wrote it last.
        stop: Unix seconds after which it begins nothing more.
    """

    def __init__(
        self, found: T, save: Callable[[T, T], bool], clock: Clock, *, deadline: Seconds, last: Seconds
    ) -> None:
        self.held = found
        self._write = save
        self._clock = clock
        self.stop = deadline - min(last, (deadline - clock.now()) / 4)

    @abstractmethod
    def until(self) -> Millis:
        """Return when the lease ends that is written now."""

    @abstractmethod
    def work(self) -> WorkResult:
        """Continue from the checkpoint until the end, or until there is no time left."""

    @abstractmethod
    def give_up(self) -> WorkResult:
        """End work that came no further with its last leases."""

    @abstractmethod
    def rest(self, until: Millis) -> None:
        """Give the lease back; no invocation may take it before `until`."""

    def run(self, owner: str, **changes: Any) -> WorkResult:
        """Take the lease and work.

        Args:
            owner: of this invocation, unique.
            changes: written with the lease.

        Raises:
            Exception: any fault; the work rests first, longer after each.
        """
        try:
            self.save(owner=owner, starts=self.held.starts + 1, **changes)
        except LeaseLost:
            return WorkResult.HELD
        try:
            return self.give_up() if self.held.starts > MAX_STARTS else self.work()
        except LeaseLost:
            return WorkResult.LOST
        except Exception:  # any fault: raised again once the work rests
            pause = min(_LONGEST, _SHORTEST * 2.0**self.held.starts)
            with suppress(LeaseLost):  # then the fault is all that is left to say
                self.rest(round((self._clock.now() + pause) * 1000))
            raise

    def save(self, **changes: Any) -> None:
        """Write the item, and renew the lease unless `changes` end it.

        Raises:
            LeaseLost: another invocation has written it.
        """
        new = self.held.changed(**{"until": self.until(), **changes})
        if not self._write(self.held, new):
            raise LeaseLost
        self.held = new

    def checkpoint(self, **changes: Any) -> None:
        """Write how far the work has come: what was begun in vain before is forgiven."""
        self.save(starts=0, **changes)
