"""How an account is stored: its profile, and its entry in the operators' list, which has the same attributes."""

from typing import Final

from shared.adapters.dynamo.client import Item
from shared.adapters.dynamo.codec import number, quiet, text
from shared.domain.accounts import Account, Place

OWN: Final[Item] = {"own": {"BOOL": True}}
"""Marks an account that a person made for themselves."""


def account_of(account: str, profile: Item, control: Item | None = None) -> Account:
    """Return an account.

    Args:
        profile: its profile, or its entry in the list.
        control: whether it is paused or suspended; None: it is not known.
    """
    return Account(
        account,
        text(profile, "name"),
        number(profile, "created_at"),
        suspended="suspended" in (control or {}),
        paused="paused" in (control or {}),
        region=text(profile, "region"),
        own="own" in profile,
        quiet=quiet(control or {}),
        unsearched="unsearched" in profile,
        channels=frozenset(profile.get("channels", {}).get("SS", ())),
        leaves_at=number(profile, "leaves_at"),
        leaving="leaving" in profile,
        deleted_at=number(profile, "deleted_at"),
        place=Place(text(profile, "place")),
        elsewhere=text(profile, "elsewhere"),
    )
