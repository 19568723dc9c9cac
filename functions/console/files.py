"""Style, scripts and pictures, which everybody may have."""

from dataclasses import replace
from typing import Final

from functions.console.screen import Look, Screen, absent
from shared.web.http import Answer


def file(look: Look) -> Answer:
    """Return a file."""
    found = look.services.assets.get(look.path["name"])
    if found is None:
        raise absent("file")
    answer = found.answer(look.path["digest"])
    return replace(answer, compressed="gzip" in look.request.headers.get("accept-encoding", ""))


ROUTES: Final = (Screen("GET", "/console/static/{digest}/{name}", "file", file, everybody=True),)
