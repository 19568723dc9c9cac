"""Credentials of the deployment, for operators: rates, breakers and pauses."""

from typing import Final

from functions.console.call import ConsoleCall
from functions.console.listing import Asked, Filters, ListFilter, ListRows, answer, states
from functions.console.pages.alarms import raised
from functions.console.pages.credentials.view import CONDITIONS, LaneRow, lanes
from functions.console.screen import PageRoute
from shared.web.http import Answer


def credentials(call: ConsoleCall) -> Answer:
    """Show a page of the credentials."""
    channels = sorted({c.channel for c in call.services.settings.credentials})
    filters: Filters[LaneRow] = (
        states(CONDITIONS, lambda x: x.shown.condition),
        ListFilter("channel", "Channel", channels, "every channel"),
    )
    return answer(call, "credentials/credentials.html", filters, _credentials)


def _credentials(at: Asked) -> ListRows[LaneRow]:
    declared = at.call.services.settings.credentials
    rows, everything = lanes(at.call, [c for c in declared if at["channel"] in ("", c.channel)])
    return ListRows(rows, whole=True, bare=not declared, more={"everything": everything, "alarms": raised(at.call)})


ROUTES: Final = (PageRoute("GET", "/console/credentials", "credentials", credentials, operators=True),)
