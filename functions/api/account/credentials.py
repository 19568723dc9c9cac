"""Provider accounts that are open to an account."""

from typing import Final

from functions.api.account.credential_views import CredentialPage, credential_view
from functions.api.call import Call
from shared.domain.accounts import Scope
from shared.web import cursors
from shared.web.http import Answer
from shared.web.inputs import Paging
from shared.web.routing import Nothing, Route, section


def pages(call: Call[Paging, Nothing]) -> Answer:
    """Return a page of the credentials open to the account, with their rate, what is in flight, and their breaker."""
    mine = [c for c in call.services.settings.credentials if c.open_to(call.key.account)]
    start = cursors.number(call.query.cursor)
    end = start + call.query.limit
    some = mine[start:end]
    states = call.services.credentials.read([c.id for c in some])
    after = cursors.write(str(end)) if end < len(mine) else None
    return CredentialPage(items=[credential_view(c, states[c.id]) for c in some], next_cursor=after).answer()


ROUTES: Final = section(
    "Credentials",
    Route(
        method="GET",
        path="/credentials",
        name="listCredentials",
        summary="Rates, what is in flight, and breakers",
        scope=Scope.READ,
        handler=pages,
        answers={200: CredentialPage},
        problems=("bad_cursor",),
    ),
)
