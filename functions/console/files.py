"""Style, scripts and pictures, which are public."""

from typing import Final

from functions.console.call import Look
from functions.console.screen import PageRoute, absent
from shared.web.http import Answer


def file(look: Look) -> Answer:
    """Return a file."""
    found = look.services.assets.get(look.path["name"])
    if found is None:
        raise absent("file")
    return found.answer(look.path["digest"])


ROUTES: Final = (PageRoute("GET", "/console/static/{digest}/{name}", "file", file, public=True),)
