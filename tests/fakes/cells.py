"""Routes of callers to cells, in memory; and cells that a router talks to, over the real wire form of their answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from shared.domain.content.streams import Body, whole
from shared.domain.times import Seconds
from shared.ports import Http, Response
from shared.ports.cells import CellRoutes


@dataclass
class FakeCellRoutes(CellRoutes):
    notes: dict[str, str] = field(default_factory=dict)
    reads: int = 0

    def get(self, caller: str) -> str | None:
        self.reads += 1
        return self.notes.get(caller)

    def put(self, caller: str, cell: str) -> None:
        self.notes[caller] = cell


@dataclass(frozen=True)
class Sent:
    """A request that came to a cell."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class FakeCells(Http):
    """Cells by their address.

    Attributes:
        cells: address → what answers; it may raise NotSent or AnswerLost.
    """

    cells: Mapping[str, Callable[[Sent], Response]]
    sent: list[tuple[str, Sent]] = field(default_factory=list)

    def request(self, method: str, url: str, *, headers: Mapping[str, str], body: Body, deadline: Seconds) -> Response:
        address = next(x for x in self.cells if url.startswith(f"{x}/"))
        sent = Sent(method, url.removeprefix(address), headers, whole(body))
        self.sent.append((address, sent))
        return self.cells[address](sent)
