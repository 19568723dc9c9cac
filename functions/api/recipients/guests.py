"""Guests: whom the account's team keys may send to. They are the account's, and only a live key changes them."""

from typing import Any, Final

from pydantic import Field

from functions.api.call import Call
from functions.api.recipients.addresses import address_of
from shared.domain.accounts import Scope
from shared.domain.namespaces import KeyKind
from shared.web.http import Answer
from shared.web.problems import Problem
from shared.web.routing import Nothing, Route, section
from shared.web.views import Stamp, View


class GuestView(View):
    """An address that team keys may send to."""

    address: str = Field(description="An e-mail address or a telephone number, normalised.")
    created_at: Stamp = Field(validation_alias="added_at")


class GuestList(View):
    """All guests of an account: at most 100."""

    items: list[GuestView]
    next_cursor: None = Field(None, description="Always null: all guests are in one answer.")


class GuestRemoved(View):
    """Team keys no longer send to the address."""

    address: str
    removed: bool = Field(description="False: it was not a guest.")


def _account(call: Call[Any, Any], *kinds: KeyKind) -> str:
    """Return the caller's account; Problem live_key_needed unless its key is of one of some kinds."""
    if call.key.kind not in kinds:
        raise Problem("live_key_needed")
    return call.key.account


def pages(call: Call[Nothing, Nothing]) -> Answer:
    """Return all guests in the order of their addresses."""
    account = _account(call, KeyKind.LIVE, KeyKind.TEAM)
    return GuestList(
        items=[GuestView.model_validate(x) for x in call.services.guests.list(account)], next_cursor=None
    ).answer()


def read(call: Call[Nothing, Nothing]) -> Answer:
    """Return one guest."""
    account, address = _account(call, KeyKind.LIVE, KeyKind.TEAM), address_of(call)
    found = next((x for x in call.services.guests.list(account) if x.address == address), None)
    if found is None:
        raise Problem("not_found", f"{address} is not a guest. GET /guests lists those who are.")
    return GuestView.model_validate(found).answer()


def put(call: Call[Nothing, Nothing]) -> Answer:
    """Add a guest."""
    account, address = _account(call, KeyKind.LIVE), address_of(call)
    added = call.services.guests.add(account, address, by=call.key.id)
    if added is None:
        raise Problem("too_many_guests")
    return GuestView.model_validate(added).answer()


def delete(call: Call[Nothing, Nothing]) -> Answer:
    """Remove a guest."""
    account, address = _account(call, KeyKind.LIVE), address_of(call)
    removed = call.services.guests.remove(account, address, by=call.key.id)
    return GuestRemoved(address=address, removed=removed).answer()


ROUTES: Final = section(
    "Guests",
    Route(
        method="GET",
        path="/guests",
        name="listGuests",
        summary="Addresses that team keys may send to",
        description="An account has at most 100 guests, all in one answer. Live keys and team keys read them.",
        scope=Scope.READ,
        handler=pages,
        answers={200: GuestList},
        problems=("live_key_needed",),
    ),
    Route(
        method="GET",
        path="/guests/{address}",
        name="getGuest",
        summary="Whether team keys may send to an address",
        scope=Scope.READ,
        handler=read,
        answers={200: GuestView},
        problems=("not_found", "live_key_needed"),
    ),
    Route(
        method="PUT",
        path="/guests/{address}",
        name="putGuest",
        summary="Let team keys send to an address",
        description="An e-mail address, or a telephone number with its country code. Needs a live key: a team key "
        "cannot choose its own recipients. Repeating it changes nothing.",
        scope=Scope.ADMIN,
        handler=put,
        answers={200: GuestView},
        problems=("too_many_guests", "live_key_needed"),
    ),
    Route(
        method="DELETE",
        path="/guests/{address}",
        name="deleteGuest",
        summary="Stop team keys from sending to an address",
        description="Needs a live key. Messages of team keys that wait for the address are skipped as "
        "`not_a_guest`, as soon as their chunk is taken up.",
        scope=Scope.ADMIN,
        handler=delete,
        answers={200: GuestRemoved},
        problems=("live_key_needed",),
    ),
)
