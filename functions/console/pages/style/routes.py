"""The look of the console on one page: type, colours, spacing and every component, as all pages use them."""

from typing import Final

from functions.console import charts
from functions.console.call import ConsoleCall
from functions.console.screen import PageRoute
from shared.domain.jobs.states import MessageState
from shared.web.http import Answer

SAMPLE: Final = {"delivered": 1_204, "sent": 310, "queued": 402, "failed": 61, "skipped": 23}
DAYS: Final = (
    ("2026-01-01", {"success": 820, "queued": 40, "failure": 12}),
    ("2026-01-02", {"success": 1_320, "queued": 90, "failure": 30}),
    ("2026-01-03", {"success": 640, "queued": 20, "failure": 140}),
    ("2026-01-04", {"success": 1_910, "queued": 310, "failure": 22}),
)
PROVIDERS: Final = ("first", "second", "third", "fourth", "fifth", "sixth")
BY_PROVIDER: Final = tuple(
    (day, {name: (at + 1) * (200 + 40 * i) for i, name in enumerate(PROVIDERS)}) for at, (day, _) in enumerate(DAYS)
)


def style(call: ConsoleCall) -> Answer:
    """Show the look."""
    context = {
        "states": [state.value for state in MessageState],
        "bar": charts.bar(SAMPLE),
        "flow": charts.flow(DAYS),
        "several": charts.flow(BY_PROVIDER, PROVIDERS),
        "moment": call.services.now,
    }
    return call.services.pages.page(call, "style/style.html", context)


ROUTES: Final = (PageRoute("GET", "/console/style", "style", style, public=True),)
