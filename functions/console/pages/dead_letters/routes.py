"""Dead letters of the deployment's queues: how many there are, and how they are worked on again. For operators."""

from typing import Final

from functions.console.call import ConsoleCall
from functions.console.listing import Asked, Filters, ListFilter, ListRows, listed
from functions.console.pages.pressing import may_press
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
    services, names = at.call.services, names_of(at.call)
    counts = services.reads.map(services.use_cases.dead_letters, names)
    rows = sorted(map(QueueRow, names, counts), key=lambda x: -x.dead)
    more = {"total": sum(x.dead for x in rows), "queues": len(rows), "buttons": may_press(at.call)}
    return ListRows(rows, whole=True, more=more)


def names_of(call: ConsoleCall) -> tuple[str, ...]:
    """Return the names of all queues with dead letters, without their prefix."""
    ids = (*(x.id for x in call.services.settings.credentials), TEST_CREDENTIAL)
    return (*QUEUES, *dict.fromkeys(f"lane-{c}" for c in ids))


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
