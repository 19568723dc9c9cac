"""Functions that no schedule has woken: the sweeper wakes them if something of their kind is overdue.

It is the net below `shared.engine.minutes`. A lost schedule, or one that could not be made, costs a minute or two.
Source: docs/adr/0276.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from shared.contracts import DueKind, DueMinute
from shared.frozen import dataclass
from shared.ports import Queue

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OverdueWork:
    """Wakes the functions of what is overdue.

    Attributes:
        looks: kind → returns whether something of this kind is overdue.
        queue: of jobs whose time has come, which wakes the functions.
        tell: counts that something of a kind was overdue.
    """

    looks: Mapping[DueKind, Callable[[], bool]]
    queue: Queue
    tell: Callable[[DueKind], None]

    def walk(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Yield each kind with what looks for its overdue work."""
        for kind in self.looks:
            yield f"overdue {kind}", partial(self.look, kind)

    def look(self, kind: DueKind) -> None:
        """Wake the function of a kind if something is overdue."""
        if self.looks[kind]():
            self.tell(kind)
            self.queue.send([DueMinute(kind).dumps()])
            _LOG.info("overdue", extra={"kind": kind})
