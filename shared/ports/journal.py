"""Where events are kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from shared.ports.common import After, Limit

if TYPE_CHECKING:
    from shared.domain.audit import Act, Event, Log


class Journal(Protocol):
    """Accounts' audit logs and events. The engine writes its own together with what they tell: `Records.change`."""

    def write(self, event: Event) -> None:
        """Keep an event; a repeat changes nothing."""

    def since(self, account: str, log: Log, at: int) -> Iterator[Event]:
        """Walk an account's events from a moment on, oldest first, consistently.

        Args:
            at: the earliest moment, Unix milliseconds.
        """

    def page(
        self, account: str, *, kind: str = "", actor: str = "", after: After = "", limit: Limit
    ) -> tuple[list[Event], str]:
        """Return entries of an account's audit log, newest first, and the place to continue from, empty at the end.

        Args:
            kind: only entries of this kind, empty for all; a page may then be short although there are more.
            actor: only entries of this actor, as `kind`.
        """


class Acceptances(Protocol):
    """Audit entries about accepted requests: one for each hour, actor and kind of request."""

    def note(self, account: str, act: Act, name: str, actor: str, why: str = "") -> None:
        """Note a request before it is accepted, unless this hour has the entry already.

        A request that is not stored after all leaves an entry that says too much; none is accepted without one.

        Args:
            actor: who asks, for the entry.
            why: of a refusal, for the entry; empty: none.

        Raises:
            Retriable: it is not noted, so the request must not be accepted.
        """
