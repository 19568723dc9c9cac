"""Team keys of an API under test."""

from shared.domain.accounts import ALL_SCOPES
from tests.api.conftest import Api


def team_key(api: Api, *guests: str) -> str:
    """Return a team key of the account with every scope, after having added guests."""
    if "team" not in api.keys:
        api.keys["team"], _ = api.services.accounts.create_key(api.account, team=True, scopes=ALL_SCOPES)
    for guest in guests:
        assert api.call("PUT", f"/guests/{guest}").status == 200
    return api.keys["team"]
