"""Addresses that an account does not send to."""

from typing import Any, Final

from functions.api import cursors
from functions.api.http import Answer
from functions.api.models import NewSuppression, Paging
from functions.api.problems import Problem, invalid
from functions.api.routing import AnyRoute, Call, Nothing, Route
from functions.api.views import Removed, SuppressionPage, SuppressionView, suppression_view
from shared.domain import addresses
from shared.domain.accounts import Scope


def _address(call: Call[Any, Any]) -> str:
    parsed = addresses.parse(call.path["address"])
    if isinstance(parsed, addresses.Invalid):
        raise invalid("address", f"Not an address: {parsed.reason}.")
    return parsed.key


def pages(call: Call[Paging, Nothing]) -> Answer:
    """Return a page of suppressions, newest first."""
    place = cursors.suppressions(call.query.cursor)
    found, after = call.services.suppressions.page(call.key.account, after=place, limit=call.query.limit)
    return SuppressionPage(items=[suppression_view(x) for x in found], next_cursor=cursors.write(after)).answer()


def read(call: Call[Nothing, Nothing]) -> Answer:
    """Return one suppression."""
    found = call.services.suppressions.get(call.key.account, _address(call))
    if found is None:
        raise Problem("not_found")
    return suppression_view(found).answer()


def put(call: Call[Nothing, NewSuppression]) -> Answer:
    """Suppress an address."""
    return suppression_view(call.services.suppressions.put(call.key.account, _address(call), call.body.reason)).answer()


def delete(call: Call[Nothing, Nothing]) -> Answer:
    """Allow an address again."""
    address = _address(call)
    return Removed(address=address, removed=call.services.suppressions.delete(call.key.account, address)).answer()


ROUTES: Final[tuple[AnyRoute, ...]] = (
    Route(
        method="GET",
        path="/suppressions",
        name="listSuppressions",
        tag="Suppressions",
        summary="Suppressed addresses, newest first",
        scope=Scope.READ,
        handler=pages,
        query=Paging,
        body=Nothing,
        answers={200: SuppressionPage},
        problems=("bad_cursor",),
    ),
    Route(
        method="GET",
        path="/suppressions/{address}",
        name="getSuppression",
        tag="Suppressions",
        summary="Whether an address is suppressed, and why",
        scope=Scope.READ,
        handler=read,
        query=Nothing,
        body=Nothing,
        answers={200: SuppressionView},
        problems=("not_found",),
    ),
    Route(
        method="PUT",
        path="/suppressions/{address}",
        name="putSuppression",
        tag="Suppressions",
        summary="Suppress an address",
        description="From now on: messages that still wait are skipped too, as soon as their chunk is taken up. "
        "Repeating it changes at most the reason.",
        scope=Scope.ADMIN,
        handler=put,
        query=Nothing,
        body=NewSuppression,
        answers={200: SuppressionView},
    ),
    Route(
        method="DELETE",
        path="/suppressions/{address}",
        name="deleteSuppression",
        tag="Suppressions",
        summary="Allow an address again",
        scope=Scope.ADMIN,
        handler=delete,
        query=Nothing,
        body=Nothing,
        answers={200: Removed},
    ),
)
