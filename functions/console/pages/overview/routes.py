"""The first page of an account."""

from typing import Final

from functions.console.call import Look
from functions.console.pages.overview.view import overview
from functions.console.screen import PageRoute
from shared.web.http import Answer


def show(look: Look) -> Answer:
    """Show the account at a glance."""
    return look.services.pages.page(look, "overview/overview.html", {"overview": overview(look)})


ROUTES: Final = (PageRoute("GET", "/console/{account}", "overview", show),)
