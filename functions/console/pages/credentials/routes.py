"""Credentials of the deployment, for operators: rates, breakers and pauses."""

from typing import Final

from functions.console import lists
from functions.console.call import Look
from functions.console.pages.alarms import raised
from functions.console.pages.credentials.view import CONDITIONS, lanes
from functions.console.screen import PageRoute
from shared.web.http import Answer


def credentials(look: Look) -> Answer:
    """Show a page of the credentials."""
    state, services = lists.chosen(look, "state", CONDITIONS), look.services
    channels = tuple(sorted({c.channel for c in services.settings.credentials}))
    channel = lists.chosen(look, "channel", channels)
    rows, everything = lanes(look, [c for c in services.settings.credentials if channel in ("", c.channel)])
    shown, after = lists.cut(look, [x for x in rows if state in ("", x.shown.condition)])
    context = {
        "rows": shown,
        "everything": everything,
        "alarms": raised(look),
        "count": len(services.settings.credentials),
        "state": state,
        "states": CONDITIONS,
        "channel": channel,
        "channels": channels,
        "paging": lists.paging(look, after, state=state, channel=channel),
    }
    return services.pages.page(look, "credentials/credentials.html", context)


ROUTES: Final = (PageRoute("GET", "/console/credentials", "credentials", credentials, operators=True),)
