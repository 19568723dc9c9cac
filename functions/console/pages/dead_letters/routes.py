"""Dead letters of the deployment's queues: how many, and the command that works on them again. For operators."""

from dataclasses import dataclass
from typing import Final

from functions.console import lists
from functions.console.call import Look
from functions.console.screen import PageRoute
from shared.contracts import QUEUES, TEST_CREDENTIAL
from shared.web.http import Answer

ONLY: Final = ("with dead letters",)


@dataclass(frozen=True, slots=True)
class QueueRow:
    """A queue. `dead`: about how many dead letters it has."""

    name: str
    dead: int


def dead_letters(look: Look) -> Answer:
    """Show a page of the queues, those with the most dead letters first."""
    only, services = lists.chosen(look, "only", ONLY), look.services
    lanes = dict.fromkeys(f"lane-{c}" for c in (*(x.id for x in services.settings.credentials), TEST_CREDENTIAL))
    names = (*QUEUES, *lanes)
    counts = services.reads.map(services.desks.dead_letters, names)
    every = [QueueRow(name, dead) for name, dead in zip(names, counts, strict=True)]
    fitting = [x for x in every if x.dead or not only]
    rows, after = lists.cut(look, sorted(fitting, key=lambda x: -x.dead))
    context = {
        "rows": rows,
        "total": sum(x.dead for x in every),
        "queues": len(every),
        "only": only,
        "choices": ONLY,
        "paging": lists.paging(look, after, only=only),
    }
    return services.pages.page(look, "dead_letters/dead_letters.html", context)


ROUTES: Final = (PageRoute("GET", "/console/dead-letters", "dead letters", dead_letters, operators=True),)
