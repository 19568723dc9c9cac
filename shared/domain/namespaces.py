"""Namespaces: under which name something is kept that an account has twice, for its live keys and for its test keys.

An account's id has no `#`, so no other account's namespace is among them. Source: docs/adr/0084.
"""

from typing import Final

TEST: Final = "#TEST"


def namespace(account: str, *, test: bool) -> str:
    """Return the namespace of an account's live keys, which is its id, or of its test keys."""
    return f"{account}{TEST}" if test else account
