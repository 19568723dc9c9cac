"""What lists of the console share: kinds of jobs, and places to go on from, sealed for their account."""

import re
from typing import Final

from functions.console.call import Look
from functions.console.screen import Denial
from shared.domain.jobs.job import DIGEST, MAIL, NOTICE

KINDS: Final = ("batch", "campaign", DIGEST, NOTICE, MAIL)
"""Kinds of jobs; each has its own place in the index."""
PAGE: Final = 50
_PLACE: Final = re.compile(r"[^\x00-\x1f]{1,400}")
BAD_PLACE: Final = Denial(400, "This page of the list is gone", "Begin at the first page.")


def place(look: Look) -> str:
    """Return where a page of a list begins; empty at its beginning."""
    cursor = look.request.query.get("cursor", "")
    if not cursor:
        return ""
    found = look.services.links.unseal(_use(look), cursor)
    if found is None or not _PLACE.fullmatch(found):
        raise BAD_PLACE
    return found


def cursor(look: Look, after: str) -> str:
    """Return the cursor of a place; empty at the end of a list."""
    return look.services.links.seal(_use(look), after) if after else ""


def chosen(look: Look, name: str, among: tuple[str, ...]) -> str:
    """Return what a filter is set to; empty: everything.

    Args:
        look: the visit.
        name: of the filter.
        among: what it may be set to.
    """
    found = look.request.query.get(name, "")
    return found if found in among else ""


def _use(look: Look) -> str:
    return f"posthaste console cursor 1 {look.account}"
