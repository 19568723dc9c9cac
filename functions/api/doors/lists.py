"""Lists of addresses that are not sent to, as other services show them."""

import json
from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from functions.api.call import Call
from functions.api.recipients.addresses import address_of
from shared.domain.accounts import Scope
from shared.domain.recipients.suppressions import Suppression
from shared.providers.doors import TAG, ListDoor
from shared.web.http import Answer
from shared.web.problems import invalid
from shared.web.routing import Form, Nothing, Route

PAGE: Final = 500
"""Entries of an answer, at most."""
READ: Final = 1000
"""Entries that are read at once."""
MAX_READ: Final = 20_000
"""Entries that a request may have read: an offset costs as much as what it skips."""


class DoorListQuery(BaseModel):
    """Which entries of a list, newest first."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True, defer_build=True)

    start_time: Annotated[int, Field(ge=0, le=10**11)] = 0
    end_time: Annotated[int, Field(ge=0, le=10**11)] = 10**11
    limit: Annotated[int, Field(ge=1, le=PAGE)] = PAGE
    offset: Annotated[int, Field(ge=0, le=MAX_READ)] = 0


def _entries(door: ListDoor, call: Call[DoorListQuery, Nothing]) -> Iterator[Suppression]:
    """Yield a list's entries of the asked time, newest first."""
    asked, after, count = call.query, "", 0
    while count < MAX_READ:
        page, after = call.services.suppressions.page(call.key.namespace, after=after, limit=READ, reach=door.reach)
        for found in page:
            if found.at // 1000 < asked.start_time:
                return
            if found.at // 1000 <= asked.end_time and door.holds(found):
                yield found
        count += len(page)
        if not after:
            return
    raise invalid("offset", "The list is too long for this. Page through GET /suppressions by its cursor.")


def _shown(door: ListDoor, call: Call[DoorListQuery, Nothing]) -> Answer:
    found: list[Suppression] = []
    for n, entry in enumerate(_entries(door, call)):
        if n >= call.query.offset:
            found.append(entry)
        if len(found) == call.query.limit:
            break
    return Answer(200, json.dumps([door.shown(x) for x in found]))


def _removed(door: ListDoor, call: Call[Nothing, Nothing]) -> Answer:
    """Take an address off the list; what another list of the vendor's would hold stays."""
    address, store = address_of(call), call.services.suppressions
    found = store.get(call.key.namespace, address, reach=door.reach)
    if found is not None and door.holds(found):
        store.delete(call.key.namespace, address, reach=door.reach, by=call.key.id)
    return Answer(204, "")


def routes_of(door: ListDoor, form: Form) -> tuple[Route, Route]:
    """Return the operations on a list. `form`: of their problems."""

    def show(call: Call[DoorListQuery, Nothing]) -> Answer:
        return _shown(door, call)

    def remove(call: Call[Nothing, Nothing]) -> Answer:
        return _removed(door, call)

    return (
        Route(
            method="GET",
            path=door.path,
            name=door.list_name,
            summary=door.summary,
            scope=Scope.READ,
            handler=show,
            answers={200: Nothing},
            form=form,
            tag=TAG,
            brief=True,
        ),
        Route(
            method="DELETE",
            path=door.entry_path,
            name=door.delete_name,
            summary="Allow an address again",
            scope=Scope.ADMIN,
            handler=remove,
            answers={204: Nothing},
            form=form,
            tag=TAG,
            while_suspended=False,
            brief=True,
        ),
    )
