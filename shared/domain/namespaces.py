"""Namespaces: names under which an account's things are kept separately for its live, team and test keys.

A team key acts as an account of its own, the account's *team space*. Its name is the account's id with an ending.
Things that only the account has (its senders, keys, credentials, pause and suspension) are found under `owner`. An
account's id has neither `#` nor `-`, so no other account's namespace is among them. Source: docs/adr/0084 and 0148.
"""

from enum import StrEnum
from typing import Final

from shared.contracts import TEAM_ENDING

TEST: Final = "#TEST"
TEAM: Final = TEAM_ENDING


class KeyKind(StrEnum):
    """Kinds of API keys, and of what they make."""

    LIVE = "live"
    """It sends to anybody."""
    TEAM = "team"
    """It sends to the account's guests only."""
    TEST = "test"
    """It reaches no provider."""


def namespace(account: str, *, test: bool) -> str:
    """Return the namespace of an account's live keys, which is its id, or of its test keys; of a team space itself.

    A team space has no test keys. Rehearsals with its keys stay in it, and follow its guests and suppressions.
    """
    return f"{account}{TEST}" if test and not is_team(account) else account


def team_space(account: str) -> str:
    """Return as which account the team keys of an account act; of such a space itself the same."""
    return f"{owner(account)}{TEAM}"


def is_team(account: str) -> bool:
    """Tell whether an account or a namespace is a team space."""
    return account.endswith(TEAM)


def owner(account: str) -> str:
    """Return the account of a team space or of a namespace; an account as it is."""
    return account.removesuffix(TEST).removesuffix(TEAM)


def kind_of(account: str, *, test: bool) -> KeyKind:
    """Return the kind of the keys that make things of an account, as it is stored with them."""
    if test:
        return KeyKind.TEST
    return KeyKind.TEAM if is_team(account) else KeyKind.LIVE


def accounts_of(account: str) -> tuple[str, str]:
    """Return an account and its team space."""
    return account, team_space(account)


def namespaces_of(account: str) -> tuple[str, ...]:
    """Return all namespaces of an account."""
    return (*accounts_of(account), namespace(account, test=True))
