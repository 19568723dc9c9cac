"""Provider accounts that are open to an account."""

from typing import Final

from functions.api.credential_views import CredentialPage, credential_view
from functions.api.http import Answer
from functions.api.routing import AnyRoute, Call, Nothing, Route
from shared.domain.accounts import Scope


def pages(call: Call[Nothing, Nothing]) -> Answer:
    """Return the credentials open to the account, with their rate, what is in flight, and their breaker."""
    mine = [c for c in call.services.settings.credentials if c.open_to(call.key.account)]
    states = call.services.credentials.read([c.id for c in mine])
    return CredentialPage(items=[credential_view(c, states[c.id]) for c in mine], next_cursor=None).answer()


ROUTES: Final[tuple[AnyRoute, ...]] = (
    Route(
        method="GET",
        path="/credentials",
        name="listCredentials",
        tag="Credentials",
        summary="Rates, what is in flight, and breakers",
        scope=Scope.READ,
        handler=pages,
        query=Nothing,
        body=Nothing,
        answers={200: CredentialPage},
    ),
)
