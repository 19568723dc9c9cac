"""Dead letters of the deployment's queues: how many, and the command that works on them again. For operators."""

from typing import Final

from functions.console.listing import Asked, Filters, ListFilter, ListRows, listed
from shared.contracts import QUEUES, TEST_CREDENTIAL
from shared.frozen import dataclass

ONLY: Final = "with dead letters"


@dataclass(frozen=True, slots=True)
class QueueRow:
    """A queue. `dead`: about how many dead letters it has."""

    name: str
    dead: int


FILTERS: Final[Filters[QueueRow]] = (
    ListFilter("only", "Queues", (ONLY,), "every queue", lambda x: ONLY if x.dead else ""),
)


def _dead_letters(at: Asked) -> ListRows[QueueRow]:
    """Return the queues, those with the most dead letters first."""
    services = at.call.services
    lanes = dict.fromkeys(f"lane-{c}" for c in (*(x.id for x in services.settings.credentials), TEST_CREDENTIAL))
    names = (*QUEUES, *lanes)
    counts = services.reads.map(services.use_cases.dead_letters, names)
    rows = sorted(map(QueueRow, names, counts), key=lambda x: -x.dead)
    return ListRows(rows, whole=True, more={"total": sum(x.dead for x in rows), "queues": len(rows)})


ROUTES: Final = (
    listed(
        "/console/dead-letters",
        "dead letters",
        "dead_letters/dead_letters.html",
        FILTERS,
        _dead_letters,
        operators=True,
    ),
)
