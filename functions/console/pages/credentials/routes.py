"""Credentials of the deployment, for operators: rates, breakers and pauses."""

from typing import Final

from functions.console.call import Look
from functions.console.listing import Asked, Filters, ListFilter, ListRows, answer, states
from functions.console.pages.alarms import raised
from functions.console.pages.credentials.view import CONDITIONS, LaneRow, lanes
from functions.console.screen import PageRoute
from shared.web.http import Answer


def credentials(look: Look) -> Answer:
    """Show a page of the credentials."""
    channels = sorted({c.channel for c in look.services.settings.credentials})
    filters: Filters[LaneRow] = (
        states(CONDITIONS, lambda x: x.shown.condition),
        ListFilter("channel", "Channel", channels, "every channel"),
    )
    return answer(look, "credentials/credentials.html", filters, _credentials)


def _credentials(at: Asked) -> ListRows[LaneRow]:
    declared = at.look.services.settings.credentials
    rows, everything = lanes(at.look, [c for c in declared if at["channel"] in ("", c.channel)])
    return ListRows(rows, whole=True, bare=not declared, more={"everything": everything, "alarms": raised(at.look)})


ROUTES: Final = (PageRoute("GET", "/console/credentials", "credentials", credentials, operators=True),)
