"""Style, scripts and pictures, which are public."""

from typing import Final

from functions.console.call import ConsoleCall
from functions.console.screen import PageRoute, absent
from shared.web.http import Answer


def file(call: ConsoleCall) -> Answer:
    """Return a file."""
    found = call.services.assets.get(call.path["name"])
    if found is None:
        raise absent("file")
    return found.answer(call.path["digest"])


ROUTES: Final = (PageRoute("GET", "/console/static/{digest}/{name}", "file", file, public=True),)
