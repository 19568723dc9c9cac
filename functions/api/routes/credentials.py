"""Provider accounts that are open to an account."""

from typing import Final

from functions.api import cursors
from functions.api.credential_views import CredentialPage, credential_view
from functions.api.http import Answer
from functions.api.models import Paging
from functions.api.routing import AnyRoute, Call, Nothing, Route
from shared.domain.accounts import Scope


def pages(call: Call[Paging, Nothing]) -> Answer:
    """Return a page of the credentials open to the account, with their rate, what is in flight, and their breaker."""
    mine = [c for c in call.services.settings.credentials if c.open_to(call.key.account)]
    start = cursors.number(call.query.cursor)
    end = start + call.query.limit
    some = mine[start:end]
    states = call.services.credentials.read([c.id for c in some])
    after = cursors.write(str(end)) if end < len(mine) else None
    return CredentialPage(items=[credential_view(c, states[c.id]) for c in some], next_cursor=after).answer()


ROUTES: Final[tuple[AnyRoute, ...]] = (
    Route(
        method="GET",
        path="/credentials",
        name="listCredentials",
        tag="Credentials",
        summary="Rates, what is in flight, and breakers",
        scope=Scope.READ,
        handler=pages,
        query=Paging,
        body=Nothing,
        answers={200: CredentialPage},
        problems=("bad_cursor",),
    ),
)
