"""Addresses that an account does not send to, and those that have unsubscribed: two lists of one making."""

from typing import Final

from functions.api.call import Call
from functions.api.recipients.addresses import address_of
from functions.api.requests import EntryQuery, NewSuppression, SuppressionQuery
from functions.api.views import Removed, SuppressionPage, SuppressionView, suppression_view
from shared.domain.accounts import Scope
from shared.web import cursors
from shared.web.http import Answer
from shared.web.problems import Problem
from shared.web.routing import Nothing, Route, section


def pages(call: Call[SuppressionQuery, Nothing]) -> Answer:
    """Return a page of suppressions, newest first."""
    place, reach = cursors.suppressions(call), call.query.scope
    found, after = call.services.suppressions.page(call.key.namespace, after=place, limit=call.query.limit, reach=reach)
    items = [suppression_view(x, reach) for x in found]
    return SuppressionPage(items=items, next_cursor=cursors.seal(call, after)).answer()


def read(call: Call[EntryQuery, Nothing]) -> Answer:
    """Return one suppression."""
    reach = call.query.reach
    address = address_of(call)
    found = call.services.suppressions.get(call.key.namespace, address, reach=reach)
    if found is None:
        raise Problem("not_found", f"{address} is not suppressed in the scope `{call.query.scope.value}`.")
    return suppression_view(found, reach).answer()


def put(call: Call[EntryQuery, NewSuppression]) -> Answer:
    """Suppress an address."""
    reach = call.query.reach
    store, reason = call.services.suppressions, call.body.reason
    made = store.put(call.key.namespace, address_of(call), reason, reach=reach, by=call.key.id)
    return suppression_view(made, reach).answer()


def delete(call: Call[EntryQuery, Nothing]) -> Answer:
    """Allow an address again."""
    address = address_of(call)
    store = call.services.suppressions
    removed = store.delete(call.key.namespace, address, reach=call.query.reach, by=call.key.id)
    return Removed(address=address, removed=removed).answer()


ROUTES: Final = section(
    "Suppressions",
    Route(
        method="GET",
        path="/suppressions",
        name="listSuppressions",
        summary="Suppressed addresses, newest first",
        description="With `scope=campaigns`: those that have unsubscribed; with `scope=digests`: those that have "
        "unsubscribed from the digests of a policy, which each entry names.",
        scope=Scope.READ,
        handler=pages,
        answers={200: SuppressionPage},
        problems=("bad_cursor",),
    ),
    Route(
        method="GET",
        path="/suppressions/{address}",
        name="getSuppression",
        summary="Whether an address is suppressed, and why",
        scope=Scope.READ,
        handler=read,
        answers={200: SuppressionView},
        problems=("not_found",),
    ),
    Route(
        method="PUT",
        path="/suppressions/{address}",
        name="putSuppression",
        summary="Suppress an address, or unsubscribe it",
        description="An e-mail address, or a telephone number with its country code. From now on: messages that still "
        "wait are skipped too, as soon as their chunk is taken up. Repeating it changes at most the reason.",
        scope=Scope.ADMIN,
        handler=put,
        answers={200: SuppressionView},
        while_suspended=True,
    ),
    Route(
        method="DELETE",
        path="/suppressions/{address}",
        name="deleteSuppression",
        summary="Allow an address again",
        scope=Scope.ADMIN,
        handler=delete,
        answers={200: Removed},
        while_suspended=False,
    ),
)
