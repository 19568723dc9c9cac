"""Refusals of an account that moves between deployments: it waits, where a suspended one is refused."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from functions.api.services import ApiServices
from shared.domain.accounts import Place
from shared.domain.namespaces import owner
from shared.web.authentication import SUSPENDED, KeyRefused
from shared.web.problems import AWAY, MOVED, Problem

MOVING: Final = {"Retry-After": "5"}


@contextmanager
def says_where(services: ApiServices, account: str = "") -> Iterator[None]:
    """Refuse a request of an account that moves as one that is to be repeated. Only a refusal costs a read.

    Args:
        account: whose request it is, where the refusal does not say.
    """
    try:
        yield
    except Problem as refused:
        key = refused.key if isinstance(refused, KeyRefused) else None
        whose = key.account if key else account
        if refused.code != SUSPENDED or not whose:
            raise
        found = services.accounts.get(owner(whose))
        if found is None or found.place is Place.HERE:
            raise
        if found.place is Place.MOVED:
            raise Problem(MOVED, headers=AWAY) from None
        raise Problem("account_moving", headers=MOVING) from None
